"""Puts a build together from its configuration: models, embedder, store, and the families' rules.

The only importer of the families' `rules.py`: without them every family still runs against an endpoint.
"""

import asyncio
import importlib
import importlib.util
import logging
import threading
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from data.sources import check_source
from data.sources.files import json_lines
from data.sources.pins import Pins, lock_of, with_sources
from data.sources.spec import SourceError, SourceSpec
from data.store import Store
from flows.construct.embed import CachedEmbedder, Embedder, SentenceBert
from flows.construct.engine import Family, Step
from flows.construct.settings import FamilySettings
from flows.construct.stages import Build, FamilyBuild
from flows.llm.cache import CompletionCache
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.limits import Budget
from flows.llm.local import LocalModel, LocalSettings
from flows.llm.model import BudgetSpent, Model, Out, Prompt, RuleSet, Usage, with_templates
from flows.llm.options import Likelihood, LikelihoodModel, Options
from flows.llm.paid import DRAIN_S
from flows.llm.prices import Price, Prices
from flows.llm.rules import Rules
from flows.project.settings import Config, ConfigError, load_config, nearest, parse_config
from schemas.base import canonical_json, content_hash
from schemas.errors import Failed, WrongInput, first_problem
from schemas.manifest import BuildManifest
from schemas.verdict import Verdict

_log = logging.getLogger(__name__)

T = TypeVar("T")
EMBEDDINGS = "embeddings.sqlite"
"""In the state folder: every vector that was ever computed there."""
COPIES = "sources"
"""In the state folder: what URLs gave."""
STOP_S = 8.0
"""How long calls that were sent are waited for when all is closed, in seconds: `docker stop` kills after 10."""
SILENT_S = 0.3
"""How long that is done without a word, in seconds."""
OPEN_AT_ONCE = 4
"""Builds that a worker process keeps open; the first of more is closed."""


class Project:
    """A configuration at work in an output folder. Everything heavy is made when first used."""

    def __init__(
        self,
        config: Path,
        out: Path,
        limit: int | None = None,
        workers: int = 1,
        built: BuildManifest | None = None,
        store: str | None = None,
        pins: Pins | None = None,
    ) -> None:
        """With `built` and its `store`, the stages and the families' settings are those of that finished build.

        With a `store` alone it takes the place of the configured one, and of its cache. Sources that others can
        change are those that `pins` names, by default the configuration's own.
        """
        self.config_path = config
        self.config: Config = load_config(config) if built is None else built_config(config, built, store)
        if built is None and store is not None:
            self.config = self.config.model_copy(update={"store": store, "cache": None})
        pins = pins or Pins(lock_of(config), self.config.state / COPIES)
        try:
            self.config = at_pins(self.config, pins.pinned if built is None else pins.known)
        except SourceError as error:
            raise ConfigError(f"{config}: {error}") from error
        self.out = out
        self.limit = limit
        self.workers = workers
        self.built = built
        self._loop: asyncio.AbstractEventLoop | None = None
        self._verdicts: dict[tuple[str, str], Mapping[str, Verdict]] = {}
        self._starting = threading.Lock()
        self._work: set[Future[Any]] = set()
        self.stopped = False
        """Set when a shard has failed or the build ends: shards that have not begun do not begin."""
        self.run_id = uuid.uuid4().hex
        """Tells this build from an earlier one of the same file, which may have held something else then."""
        self._closed = False
        self._spent_usd = 0.0
        self.begun_usd: float | None = None
        """What the cache's completions had cost when the command began, where that is known already."""
        self.asks = True
        """Whether models are to be asked. Where not, as in an estimate, those of servers need no key and no price."""
        self.tell: Callable[[str], None] = _log.warning
        """Is given each note on a model, once: models that are opened from now on."""

    def __reduce__(self) -> tuple[Any, ...]:
        if self.config.budget_usd is not None:
            self._begun()
        paths = self.config_path.resolve(), self.out.resolve()
        return _reopened, (self.run_id, *paths, self.limit, self.workers, self.begun_usd)

    @cached_property
    def settings_now(self) -> Mapping[str, FamilySettings]:
        """The families' settings as the configuration says now; those of the build where it says nothing any more."""
        if self.built is None or not self.config_path.is_file():
            return self.config.families
        return {**self.config.families, **load_config(self.config_path).families}

    @cached_property
    def store(self) -> Store:
        """The stage files."""
        try:
            return Store(self.config.store)
        except (ValueError, ImportError) as error:
            raise ConfigError(f"{self.config_path}: store: {error}; give a folder or an fsspec URL") from error

    @property
    def state(self) -> Path:
        """The local folder for databases: the store's own, where that is one."""
        return self.config.state

    @cached_property
    def embedder(self) -> Embedder:
        """The configured embedder behind a cache on disk."""
        if self.built is not None and not self.state.is_dir():
            return self._bert
        self.state.mkdir(parents=True, exist_ok=True)
        return CachedEmbedder(self._bert, self.state / EMBEDDINGS)

    @cached_property
    def _bert(self) -> SentenceBert:
        chosen = self.config.embedder
        return SentenceBert() if chosen == "packaged" else SentenceBert(chosen.name, languages=chosen.languages)

    def load_embedder(self) -> None:
        """Load the embedder's model here: where a step came to load it, the loop would stand still for seconds, and
        calls of other steps would time out.
        """
        self._bert.load()

    @cached_property
    def cache(self) -> CompletionCache:
        """The completion cache."""
        self.state.mkdir(parents=True, exist_ok=True)
        return CompletionCache(self.config.cache or f"sqlite:///{self.state / 'completions.sqlite'}")

    @cached_property
    def prices(self) -> Prices:
        """The price library, with the user's prices in front."""
        return Prices.from_file(Path(self.config.prices)) if self.config.prices else Prices()

    @cached_property
    def budget(self) -> Budget:
        """What one command may spend; with several workers, each has its share.

        A worker process that takes the place of another counts what was spent since the command began: it is what the
        cache holds more than it did then.
        """
        if self.config.budget_usd is None:
            return Budget(None)
        since = self.cache.spent_usd() - self._begun()
        return Budget(self.config.budget_usd / self.workers, spent_usd=max(0.0, since) / self.workers)

    def _begun(self) -> float:
        """What the cache's completions had cost when the command began."""
        if self.begun_usd is None:
            self.begun_usd = self.cache.spent_usd()
        return self.begun_usd

    def models_of(self, family: Family, settings: FamilySettings, *, opened: bool = True) -> dict[str, Model]:
        """A family's models, by role and by name; those of servers `opened`, or when they are first asked."""
        roles = {prompt.role for prompt in family.prompts}
        lists = {setting for step in _steps(family) for setting in step.asks.values()}
        named = {name for setting in sorted(lists) for name in getattr(settings, setting)}
        for name in sorted(named - set(self.config.models) - roles - {"default"}):
            raise ConfigError(
                f"{self.config_path}: models.{name}: is missing; families.{family.name} asks a model of that name"
            )
        return {name: self.model(name, family, opened=opened) for name in sorted(roles | named)}

    def model(self, role: str, family: Family, *, opened: bool = True) -> Model:
        """The model that plays `role`, or is called so in the configuration."""
        settings = self.config.model_for(role)
        if isinstance(settings, EndpointSettings):
            return self.opened(settings) if opened and self.asks else OnDemand(self, settings)
        if isinstance(settings, LocalSettings):
            raise ConfigError(
                f"{self.config_path}: models.{role}: a model of provider local weighs options and writes nothing; "
                f"name one of provider endpoint for {family.name}"
            )
        return Rules(rules_of(family.name), self.config.seed, _folder_hash(family.folder))

    def likelihood_model(self, role: str) -> LikelihoodModel:
        """The model that plays `role`, or is called so in the configuration, for weighing options."""
        settings = self.config.model_for(role)
        if isinstance(settings, EndpointSettings):
            return self.opened(settings) if self.asks else OnDemand(self, settings)
        if isinstance(settings, LocalSettings):
            return LocalModel(settings)
        raise ConfigError(
            f"{self.config_path}: models.{role}: the rules cannot weigh options; name a model of provider local "
            "(a folder, or a name on the Hugging Face Hub) or endpoint"
        )

    @cached_property
    def _endpoints(self) -> dict[bytes, Endpoint]:
        return {}

    def opened(self, settings: EndpointSettings) -> Endpoint:
        """One endpoint for all roles of the same settings, so that they share its limits."""
        share = {
            "concurrency": max(1, settings.concurrency // self.workers),
            "requests_per_minute": settings.requests_per_minute and settings.requests_per_minute / self.workers,
            "tokens_per_minute": settings.tokens_per_minute and settings.tokens_per_minute / self.workers,
        }
        settings = settings.model_copy(update=share)
        key = canonical_json(settings.model_dump(mode="json"))
        if key not in self._endpoints:
            self._endpoints[key] = Endpoint(
                settings, self.cache, prices=self.prices, budget=self.budget, tell=self.tell
            )
        return self._endpoints[key]

    def prompts_of(self, family: Family) -> dict[str, Prompt[Any]]:
        """The family's prompts by name, with the user's templates in place of ours."""
        folder = self.config.prompts
        if folder is not None and self.built is None:
            self._check_prompts(Path(folder))
        return {
            prompt.name: with_templates(prompt, Path(folder), family.name) if folder else prompt
            for prompt in family.prompts
        }

    def _check_prompts(self, folder: Path) -> None:
        """Refuse a folder of templates that is not there, and a template that stands for no prompt."""
        place = f"{self.config_path}: prompts"
        if not folder.is_dir():
            raise ConfigError(f"{place}: {folder}: no such folder; it holds templates such as uraq/manipulate.j2")
        known = {
            name
            for family, _ in self.config.chosen()
            for prompt in family.prompts
            for name in (f"{prompt.name}.j2", f"{family.name}/{prompt.name}.j2")
        }
        for path in sorted(folder.rglob("*.j2")):
            name = path.relative_to(folder).as_posix()
            if name not in known:
                raise ConfigError(f"{place}: {path}: there is no prompt of that name{nearest(name, sorted(known))}")

    @cached_property
    def build(self) -> Build:
        """The build's stages."""
        chosen = [
            FamilyBuild(
                family,
                settings,
                self.prompts_of(family),
                self.models_of(family, settings, opened=self.built is None),
            )
            for family, settings in self.config.chosen()
        ]
        build = Build(
            chosen,
            store=self.store,
            seed=self.config.seed,
            limit=self.limit,
            embedder=self.embedder,
            verdicts=self.verdicts,
            built=self.built,
        )
        if self.built is None:
            self._check_before_all(build)
        return build

    def _check_before_all(self, build: Build) -> None:
        """Refuse what could only fail later, when other things are built and paid for."""
        for one in build.families.values():
            if one.family.ready is not None:
                one.family.ready(one.settings, one.models)
        for family, part in build.parts():
            for setting, spec in build.named_sources(family, part):
                try:
                    check_source(spec, part.source)  # type: ignore[arg-type]
                except WrongInput as error:
                    raise ConfigError(f"{self.config_path}: families.{family.name}.{setting}: {error}") from error

    def verdicts(self, family: str, part: str) -> Mapping[str, Verdict]:
        """By key, the verdicts of `verdicts/<family>-<part>.jsonl`; the last one on a key counts."""
        if (family, part) not in self._verdicts:
            self._verdicts[family, part] = read_verdicts(self.out / "verdicts" / f"{family}-{part}.jsonl")
        return self._verdicts[family, part]

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin `work` on the one event loop that all model calls share. Raises `Failed` once the build is stopped."""
        if self.stopped:
            work.close()
            raise Failed("the build was stopped; run it again to go on")
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="models", daemon=True).start()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._work.add(future)
        future.add_done_callback(self._work.discard)
        if self.stopped:  # in the moment between
            future.cancel()
        return future

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on that loop, and wait for it."""
        future = self.submit(work)
        try:
            return future.result()
        finally:
            future.cancel()  # whoever is interrupted asks nothing more

    def stop(self) -> None:
        """Let nothing begin any more, and cancel what waits for models, or the threads that wait for it never end.

        Calls that were sent already are seen through to the cache by their endpoint.
        """
        self.stopped = True
        for future in list(self._work):
            future.cancel()

    def close(self, wait_s: float = STOP_S) -> None:
        """Stop what still runs, and close connections and databases; what was spent by then is known for good.

        Calls that were sent are waited for so long, which is said.
        """
        self.stop()
        if self._closed:
            return
        self._closed = True
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._close_endpoints(wait_s), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
        if self.config.budget_usd is not None and "budget" in self.__dict__:
            workers_spent = self.cache.spent_usd() - self._begun() if self.workers > 1 else 0.0
            self._spent_usd = max(self.budget.spent_usd, workers_spent)
        if "cache" in self.__dict__:
            self.cache.close()

    async def _close_endpoints(self, wait_s: float) -> None:
        """Close them side by side; what is not answered by then is given up."""
        if not self._endpoints:
            return
        closing = {asyncio.create_task(endpoint.aclose()) for endpoint in self._endpoints.values()}
        _, left = await asyncio.wait(closing, timeout=SILENT_S)
        if left:
            _log.warning("stopping: calls that were sent are waited for, %.0f s at most", wait_s)
            _, left = await asyncio.wait(left, timeout=wait_s - SILENT_S)
        if left:
            calls = asyncio.all_tasks() - closing - {asyncio.current_task()}
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        await asyncio.gather(*closing)

    def over_budget(self) -> BudgetSpent:
        """Closes the project, and tells the sum of what was spent: calls that were in flight at the stop, too."""
        self.close(DRAIN_S)
        return BudgetSpent(
            f"the ceiling of {self.config.budget_usd:g} USD is reached: {self._spent_usd:.6g} USD were spent in all, "
            "and the next call may cost more than the rest; raise budget_usd and run again: what was answered is kept, "
            "and costs nothing again"
        )


class OnDemand:
    """A server's model that is opened when it is first asked: who reads a build, or estimates one, needs no key, price
    or cache."""

    def __init__(self, project: Project, settings: EndpointSettings) -> None:
        self.name = settings.name
        self.settings = settings
        self._project = project

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        """See `Endpoint`; raises `ApiKeyError` and `UnknownPrice`, too."""
        endpoint = self._project.opened(self.settings)
        return await endpoint.complete(prompt, inputs, draw=draw, usage=usage)

    async def likelihoods(self, asked: Sequence[Options], *, usage: Usage) -> list[tuple[Likelihood, ...]]:
        """See `Endpoint`; raises `ApiKeyError` and `UnknownPrice`, too."""
        return await self._project.opened(self.settings).likelihoods(asked, usage=usage)

    def identity(self) -> Mapping[str, object]:
        """See `Endpoint`."""
        return self.settings.identity

    @cached_property
    def price(self) -> Price:
        """See `Endpoint`."""
        return self._project.prices.of(self.name, self.settings.base_url)


Served = Endpoint | OnDemand
"""A model behind a server: it has settings and a price."""


def at_pins(config: Config, pinned: Callable[[SourceSpec], SourceSpec]) -> Config:
    """The configuration with each source that others can change at its pin."""
    families: dict[str, FamilySettings] = {}
    for name, settings in config.families.items():
        values = settings.model_dump(mode="json")
        changed = with_sources(values, pinned)
        families[name] = settings if changed == values else type(settings).model_validate(changed)
    compared = tuple(pinned(spec) for spec in config.release.contamination)
    release = config.release.model_copy(update={"contamination": compared})
    return config.model_copy(update={"families": families, "release": release})


def built_config(path: Path, built: BuildManifest, store: str | None) -> Config:
    """The configuration that a build was made with; models and prices are those of the file, if it is still there."""
    config: dict[str, Any] = {**built.config, "store": store, "prompts": None, "prices": None}
    try:
        now = load_config(path)
    except ConfigError:
        return parse_config(config, str(path))
    known = {name: one.model_dump(mode="json") for name, one in now.families.items()}
    config["families"] = _with_paths(config["families"], known)
    made = parse_config(config, str(path))
    return now.model_copy(update={"families": made.families, "seed": made.seed, "store": made.store, "name": made.name})


def _with_paths(built: Any, now: Any) -> Any:
    """A manifest's values, where it has a name only with the path of that name that the configuration has there."""
    if isinstance(built, dict) and isinstance(now, dict):
        return {key: _with_paths(one, now.get(key)) for key, one in built.items()}
    if isinstance(built, list) and isinstance(now, list) and len(built) == len(now):
        return [_with_paths(one, other) for one, other in zip(built, now, strict=True)]
    if isinstance(built, str) and isinstance(now, str) and Path(now).is_absolute() and Path(now).name == built:
        return now
    return built


_opened: dict[str, Project] = {}
_opening = threading.Lock()


def _reopened(
    run_id: str, config: Path, out: Path, limit: int | None, workers: int, begun_usd: float | None
) -> Project:
    """The project in a worker process: one for all its shards, so that they share connections and limits."""
    with _opening:
        if run_id not in _opened:
            while len(_opened) >= OPEN_AT_ONCE:
                _opened.pop(next(iter(_opened))).close()
            project = Project(config, out, limit, workers)
            project.run_id, project.begun_usd = run_id, begun_usd
            _opened[run_id] = project
        return _opened[run_id]


def rules_of(family: str) -> RuleSet:
    """The family's rules; none where it has no `rules.py`."""
    name = f"flows.families.{family}.rules"
    if importlib.util.find_spec(name) is None:
        return {}
    rules: RuleSet = importlib.import_module(name).RULES
    return rules


def read_verdicts(path: Path) -> Mapping[str, Verdict]:
    """The verdicts of a file by key; empty where there is none. Raises `ConfigError` for a bad line."""
    if not path.exists():
        return {}
    verdicts: dict[str, Verdict] = {}
    for row in json_lines(str(path)):
        try:
            verdict = Verdict.model_validate(dict(row.values))
        except ValidationError as error:
            raise row.error(first_problem(error, "the verdict"), "correct the verdict") from error
        verdicts[verdict.key] = verdict
    return verdicts


def _folder_hash(folder: Path) -> str:
    """Hash of a family's code and tables. Rules cost nothing to ask again, so any change there asks again."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".tsv", ".yaml"))
    return content_hash([[str(path.relative_to(folder)), path.read_text(encoding="utf-8")] for path in files])


def _steps(family: Family) -> list[Step]:
    return [step for part in family.parts for step in part.steps]
