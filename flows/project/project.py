"""Puts a build together from its configuration: models, embedder, store and stages."""

import asyncio
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from data.sources.files import json_lines_and_errors
from data.sources.pins import Pins, lock_of, with_sources
from data.sources.spec import SourceError, SourceSpec
from data.store import Store
from flows.construct.arrivals import History
from flows.construct.embed import Embedder, SentenceBert
from flows.construct.embedding_cache import CachedEmbedder
from flows.construct.engine import Family
from flows.construct.settings import FamilySettings
from flows.construct.stages import Build, FamilyBuild
from flows.families import load_family
from flows.llm.limits import Share
from flows.llm.model import BudgetSpent, Prompt, with_templates
from flows.llm.paid import DRAIN_S
from flows.project.build_note import decided_draw
from flows.project.config_checks import check_config
from flows.project.model_loop import ModelLoop
from flows.project.models import Models
from flows.project.released import draws_of, released_stages
from flows.project.settings import Config, ConfigError, load_config, parse_config
from schemas.errors import WrongInput, first_problem, nearest, raise_all
from schemas.manifest import BuildManifest
from schemas.verdict import Verdict

EMBEDDINGS = "embeddings.sqlite"
"""Database in the state folder with every vector that was computed there."""
COPIES = "sources"
"""Folder in the state folder with what URLs returned."""
STOP_S = 8.0
"""Seconds for which a closing project waits for calls that were sent: `docker stop` kills after 10."""
OPEN_AT_ONCE = 4
"""Builds that a worker process keeps open; when there are more, the oldest is closed."""


class Project:
    """A configuration together with an output folder. Everything heavy is made when it is first used."""

    def __init__(
        self,
        config: Path,
        out: Path,
        limit: int | None = None,
        built: BuildManifest | None = None,
        store: str | None = None,
        pins: Pins | None = None,
        history: History | None = None,
        draw: str | None = None,
    ) -> None:
        """With `built` and its `store`, stages and families' settings are those of that finished build.

        A `store` alone replaces the configured store and its cache. Sources that others can change are read at
        `pins`, by default those of the configuration. `history` has the dataset's releases, by default the store's.
        `draw` is that of refreshed steps, by default the one that was decided for `out`, or that of the last version.
        """
        self.config_path = config
        self.config: Config = load_config(config) if built is None else built_config(config, built, store)
        if built is None and store is not None:
            self.config = self.config.model_copy(update={"store": store, "cache": None})
        pins = pins or Pins(lock_of(config), self.config.state / COPIES)
        try:
            self.config = at_pins(self.config, pins.pinned if built is None else pins.at_known_pin)
        except SourceError as error:
            raise ConfigError(f"{config}: {error}") from error
        self.out = out
        self.limit = limit
        self.workers = 1
        """Processes that the shards of a stage are shared among."""
        self.built = built
        self._history = history
        self._draw = draw
        self.models = Models(config, self.config)
        self.loop = ModelLoop()
        """The event loop that all model calls share."""
        self._verdicts: dict[tuple[str, str], tuple[Mapping[str, Verdict], Sequence[str]]] = {}
        self.only_keys: frozenset[str] | None = None
        """Keys of the rows that models are asked about; None: all."""
        self.run_id = uuid.uuid4().hex
        """Distinguishes this build from an earlier build of the same file, whose content may have been different."""
        self.intact: set[Path] = set()
        """Output files that are as the manifest says."""
        self._closed = False
        self._spent_usd = 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        paths = self.config_path.resolve(), self.out.resolve()
        return _reopened, (self.run_id, *paths, self.limit, self.draw)

    def spend_at_most(self, budget_usd: float) -> None:
        """Replace the configuration's `budget_usd`, before a model is asked."""
        self.config = self.config.model_copy(update={"budget_usd": budget_usd})
        self.models = Models(self.config_path, self.config)

    @property
    def spent_usd(self) -> float:
        """What was spent under the ceiling `budget_usd`, once the project is closed; 0 without one."""
        return self._spent_usd

    @property
    def manifest(self) -> BuildManifest:
        """The manifest of the finished build that was opened."""
        assert self.built is not None, "only a finished build has a manifest"
        return self.built

    @cached_property
    def settings_now(self) -> Mapping[str, FamilySettings]:
        """The families' settings in the configuration as it is now; for families it no longer has, the build's.

        Of a released version, it is the settings that the configuration has that are as it says.
        """
        if self.built is None or not self.config_path.is_file():
            return self.config.families
        now = load_config(self.config_path, may_lack_families=True).families
        if self.built.release is None:
            return {**self.config.families, **now}
        return {
            name: settings.model_copy(update=_own_settings(now[name])) if name in now else settings
            for name, settings in self.config.families.items()
        }

    @cached_property
    def store(self) -> Store:
        """The stage files."""
        try:
            return Store(self.config.store)
        except WrongInput as error:
            raise ConfigError(f"{self.config_path}: {error}") from error

    @cached_property
    def history(self) -> History:
        """The releases of the dataset, as the store knows them."""
        return self._history or History(self.store, lambda: released_stages(self.store, self.config.name))

    @cached_property
    def draw(self) -> str | None:
        """The draw of refreshed steps; None for the first."""
        if self.built is not None:
            return self.built.draw
        return self._draw or draws_of(self.store, self.config.name, decided_draw(self.out)).present

    @property
    def state(self) -> Path:
        """The local folder for databases: the store itself, if it is a folder."""
        return self.config.state

    @cached_property
    def embedder(self) -> Embedder:
        """The configured embedder behind a cache on disk."""
        if self.built is not None and not self.state.is_dir():
            return self.bert
        self.state.mkdir(parents=True, exist_ok=True)
        return CachedEmbedder(self.bert, self.state / EMBEDDINGS)

    @cached_property
    def bert(self) -> SentenceBert:
        """The configured embedder itself, for texts that are not worth remembering."""
        chosen = self.config.embedder
        return SentenceBert() if chosen == "packaged" else SentenceBert(chosen.name, languages=chosen.languages)

    def stop(self) -> None:
        """Stop running work: nothing more is asked or embedded, and what waits for models is cancelled."""
        self.loop.stop()
        self.bert.stop()

    def load_embedder(self) -> None:
        """Load the embedder's model now.

        If a step loaded it, the event loop would stand still for seconds, and calls of other steps would time out.
        """
        self.bert.load()

    @cached_property
    def build(self) -> Build:
        """The build's stages."""
        if self.built is None:
            check_config(self.config, self.models, self.config_path)
        chosen = [
            FamilyBuild(
                family,
                settings,
                self._prompts_of(family),
                self.models.of(family, settings, opened=self.built is None),
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
            history=self.history,
            draw=self.draw,
        )
        build.keep_answers = self.models.keep
        return build

    def _prompts_of(self, family: Family) -> dict[str, Prompt[Any]]:
        """Return the family's prompts by name, with the user's templates in place of ours."""
        folder = self.config.prompts
        return {
            prompt.name: with_templates(prompt, Path(folder), family.name) if folder else prompt
            for prompt in family.prompts
        }

    def verdicts(self, family: str, part: str) -> Mapping[str, Verdict]:
        """Return the verdicts of `verdicts/<family>-<part>.jsonl` by key, without those that cannot count."""
        return self._verdicts_in(family, part)[0]

    def _verdicts_in(self, family: str, part: str) -> tuple[Mapping[str, Verdict], Sequence[str]]:
        if (family, part) not in self._verdicts:
            people = load_family(family).part(part).people
            path = self.out / "verdicts" / f"{family}-{part}.jsonl"
            self._verdicts[family, part] = verdicts_in(path, people.refusal) if people else ({}, ())
        return self._verdicts[family, part]

    def wrong_verdicts(self) -> Iterator[str]:
        """Yield a line for each line of verdicts that is none, or that people of its part cannot give."""
        for family, part in self._decided_parts():
            yield from self._verdicts_in(family, part)[1]

    def unread_verdicts(self) -> Iterator[str]:
        """Yield a line for each verdict that cannot count, and each file of them that belongs to no part."""
        for problem in self.wrong_verdicts():
            yield f"{problem}; it does not count"
        names = [f"{family}-{part}.jsonl" for family, part in self._decided_parts()]
        for path in sorted((self.out / "verdicts").glob("*.jsonl")):
            if path.name not in names:
                number = len(path.read_bytes().splitlines())
                yield f"{path}: its {number:,} verdicts do not count: no part is so named; {nearest(path.name, names)}"

    def _decided_parts(self) -> Sequence[tuple[str, str]]:
        families = [configured.family for configured in self.build.families.values()]
        return [(family.name, part.name) for family in families for part in family.parts if part.people]

    def family(self, name: str) -> Family:
        """Return a family of the build. Raises `WrongInput` if the build has none of that name."""
        families = {family.name: family for family, _ in self.build.parts()}
        if name not in families:
            raise WrongInput(f"{name}: no such family in this build; {nearest(name, list(families))}")
        return families[name]

    def close(self, wait_s: float = STOP_S) -> None:
        """Stop running work, and close connections and databases.

        Waits up to `wait_s` seconds for calls that were sent, and says so; after that the sum spent is final.
        """
        self.loop.stop()
        if not self._closed:
            self._closed = True
            self.loop.close(self.models.endpoints, wait_s)
            self._spent_usd = self.models.close()

    def over_budget(self) -> BudgetSpent:
        """Close the project and return the error that gives the whole sum spent, with calls in flight at the stop."""
        self.close(DRAIN_S)
        return BudgetSpent(
            f"the ceiling of {self.config.budget_usd:g} USD is reached: {self._spent_usd:.6g} USD were spent in all, "
            "and the next call may cost more than the rest; raise budget_usd and run again: what was answered is kept, "
            "and costs nothing again"
        )


_opened: dict[str, Project] = {}
_shares: dict[str, Share] = {}
_opening = threading.Lock()


def _reopened(run_id: str, config: Path, out: Path, limit: int | None, draw: str | None) -> Project:
    """Return the project in a worker process: one for all its shards, so that they share connections and limits."""
    with _opening:
        if run_id not in _opened:
            while len(_opened) >= OPEN_AT_ONCE:
                oldest = next(iter(_opened))
                _opened.pop(oldest).close()
                _shares.pop(oldest, None)
            project = Project(config, out, limit, draw=draw)
            project.run_id, project.models.share = run_id, _shares.get(run_id)
            _opened[run_id] = project
        return _opened[run_id]


async def hold_share(run_id: str, share: Share) -> None:
    """In a worker process, wait until the calls of a build leave room for others; see `Models.hold`."""
    with _opening:
        _shares.pop(run_id, None)
        project = _opened.get(run_id)
    if project is not None:
        await asyncio.wrap_future(project.loop.submit(project.models.hold(share)))


async def take_share(run_id: str, share: Share) -> None:
    """In a worker process, go on with a share of a build's limits; before the first, no model is asked."""
    with _opening:
        _shares[run_id] = share
        project = _opened.get(run_id)
    if project is not None:
        await asyncio.wrap_future(project.loop.submit(project.models.take(share)))


def _own_settings(settings: FamilySettings) -> Mapping[str, Any]:
    """Return the settings that a configuration has, without those that it leaves as they are by default."""
    return {name: getattr(settings, name) for name in settings.model_fields_set}


def at_pins(config: Config, pinned: Callable[[SourceSpec], SourceSpec]) -> Config:
    """Return the configuration with each source that others can change at its pin."""
    families: dict[str, FamilySettings] = {}
    for name, settings in config.families.items():
        values = settings.model_dump(mode="json")
        changed = with_sources(values, pinned)
        families[name] = settings if changed == values else type(settings).model_validate(changed)
    compared = tuple(pinned(spec) for spec in config.release.contamination)
    release = config.release.model_copy(update={"contamination": compared})
    return config.model_copy(update={"families": families, "release": release})


def built_config(path: Path, built: BuildManifest, store: str | None) -> Config:
    """Return the configuration that a build was made with; models and prices are the file's, if it still exists."""
    config: dict[str, Any] = {**built.config, "store": store, "prompts": None, "prices": None}
    try:
        now = load_config(path, may_lack_families=True)
    except ConfigError:
        return parse_config(config, str(path))
    families = {name: settings.model_dump(mode="json") for name, settings in now.families.items()}
    config["families"] = _with_paths(config["families"], families)
    made = parse_config(config, str(path))
    return now.model_copy(update={"families": made.families, "seed": made.seed, "store": made.store, "name": made.name})


def _with_paths(built: Any, now: Any) -> Any:
    """Return a manifest's values, with the configuration's full path in place of a bare file name that it ends in."""
    if isinstance(built, dict) and isinstance(now, dict):
        return {key: _with_paths(value, now.get(key)) for key, value in built.items()}
    if isinstance(built, list) and isinstance(now, list) and len(built) == len(now):
        return [_with_paths(value, other) for value, other in zip(built, now, strict=True)]
    if isinstance(built, str) and isinstance(now, str) and Path(now).is_absolute() and Path(now).name == built:
        return now
    return built


def read_verdicts(path: Path) -> Mapping[str, Verdict]:
    """Return the verdicts of a file by key, the last one for each, or the last by hand; none if there is no file.

    Raises `WrongInput` with all lines that are no verdicts.
    """
    verdicts, problems = verdicts_in(path)
    raise_all(problems)
    return verdicts


def verdicts_in(
    path: Path, refusal: Callable[[Verdict], str | None] = lambda verdict: None
) -> tuple[Mapping[str, Verdict], Sequence[str]]:
    """Return the verdicts of a file by key, and what is wrong with each line that is none or is refused.

    One that was written by hand, and so has no time, counts in place of what people decided, wherever it stands.
    """
    verdicts: dict[str, Verdict] = {}
    problems: list[str] = []
    for row in json_lines_and_errors(str(path)) if path.exists() else ():
        if isinstance(row, SourceError):
            problems.append(str(row))
            continue
        try:
            verdict = Verdict.model_validate(dict(row.values))
        except ValidationError as error:
            problem: str | None = first_problem(error, "the verdict")
        else:
            problem = refusal(verdict)
            by_hand = verdict.key in verdicts and not verdicts[verdict.key].at
            if problem is None and not (verdict.at and by_hand):
                verdicts[verdict.key] = verdict
        if problem is not None:
            problems.append(str(row.error(problem, "correct the verdict")))
    return verdicts, problems
