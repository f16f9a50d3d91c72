"""The models of a configuration, and what their calls share: completion cache, prices and the money for one command.

This is the only importer of the families' `rules`: without them every family still runs against an endpoint.
"""

import asyncio
import importlib
import importlib.util
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel

from flows.construct.engine import Family
from flows.construct.settings import FamilySettings
from flows.llm.batch_records import BatchRecords
from flows.llm.cache import CompletionCache
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.likelihood import Likelihood, LikelihoodModel, Options
from flows.llm.limits import WHOLE, Budget, Limits, Share
from flows.llm.local import LocalModel, LocalSettings
from flows.llm.model import Model, Out, Prompt, RuleSet, Usage
from flows.llm.prices import Price, PriceFileError, Prices
from flows.llm.rules import Rules
from flows.project.settings import Config, ConfigError
from flows.project.yaml_file import yaml_in
from schemas.base import canonical_json
from schemas.errors import WrongInput

_log = logging.getLogger(__name__)


class Models:
    """The models that a configuration names. Each is opened when it is first used."""

    def __init__(self, path: Path, config: Config) -> None:
        self._path, self._config = path, config
        self.share: Share | None = WHOLE
        """What this process, of several, has of the limits and the money; None: nothing is asked before `take`."""
        self._sharing = threading.Lock()
        self._endpoints: dict[bytes, Endpoint] = {}
        self._begun_usd: float | None = None
        """What the cache's completions had cost when processes began to share the money."""
        self.asks = True
        """False if models are not asked, as in an estimate: those behind servers then need no key and no price."""
        self.tell: Callable[[str], None] = _log.warning
        """Gets each note on a model once; set it before models are opened."""
        self.progress: Callable[[str], None] = _log.info
        """Gets a line now and then about the batches that are waited for."""

    @cached_property
    def cache(self) -> CompletionCache:
        """The completion cache."""
        self._config.state.mkdir(parents=True, exist_ok=True)
        url = self._config.cache or f"sqlite:///{self._config.state / 'completions.sqlite'}"
        return CompletionCache(url, tell=lambda line: self.tell(line))  # noqa: PLW0108 - `tell` may be set later

    def keep(self) -> None:
        """Bring the answers that were paid for to the disk. Raises `Failed`."""
        if "cache" in self.__dict__:
            self.cache.sync()

    @cached_property
    def prices(self) -> Prices:
        """The price library, overridden by the user's prices."""
        path = self._config.prices
        if path is None:
            return Prices()
        try:
            return Prices.of_values(yaml_in(path, "name a file of prices"), path)
        except WrongInput as error:
            raise PriceFileError(f"{self._path}: prices: {error}") from error

    @cached_property
    def budget(self) -> Budget:
        """The money that one command may spend; with several processes, this one's share."""
        left = None if self.share is None else self.share.left_usd
        return Budget(self._config.budget_usd if left is None else left)

    def left_usd(self) -> float | None:
        """Return what several processes may still spend together; None without a ceiling.

        What they have spent is the growth of the cache's costs since the first call of this method.
        """
        if self._config.budget_usd is None:
            return None
        return max(0.0, self._config.budget_usd - self._spent_since_begun())

    def _spent_since_begun(self) -> float:
        spent = self.cache.spent_usd()
        if self._begun_usd is None:
            self._begun_usd = spent
        return max(0.0, spent - self._begun_usd)

    async def hold(self, share: Share | None) -> None:
        """Wait until the calls in flight leave room for other processes; this one will have the `share`, or nothing.

        Until `take`, no call begins that would leave them less. Money, and limits of a minute, are shared while no
        call is in flight. Call it on the event loop of the models.
        """
        with self._sharing:
            self.share = None
            limits = [endpoint.limits for endpoint in self.endpoints]
        room = share if self._config.budget_usd is None else None
        await asyncio.gather(*(limit.hold(room) for limit in limits))

    async def take(self, share: Share) -> None:
        """Go on with a share of the limits and the money. Call it on the event loop of the models."""
        with self._sharing:
            self.share = share
            if "budget" in self.__dict__ and share.left_usd is not None:
                self.budget.ceiling_usd = self.budget.spent_usd + share.left_usd
            for endpoint in self.endpoints:
                endpoint.limits.take(share)

    def of(self, family: Family, settings: FamilySettings, *, opened: bool = True) -> dict[str, Model]:
        """Return a family's models by role and by name; without `opened`, those behind servers open on first use."""
        roles = {prompt.role for prompt in family.prompts}
        lists = {setting for part in family.parts for step in part.steps for setting in step.asks.values()}
        named = {name for setting in sorted(lists) for name in getattr(settings, setting)}
        for name in sorted(named - set(self._config.models) - roles - {"default"}):
            raise ConfigError(
                f"{self._path}: models.{name}: is missing; families.{family.name} asks a model of that name"
            )
        return {name: self.model(name, family, opened=opened) for name in sorted(roles | named)}

    def model(self, role: str, family: Family, *, opened: bool = True) -> Model:
        """Return the model with this role or name."""
        settings = self._config.model_for(role)
        if isinstance(settings, EndpointSettings):
            return self.endpoint(settings) if opened and self.asks else OnDemand(self, settings)
        if isinstance(settings, LocalSettings):
            raise ConfigError(
                f"{self._path}: models.{role}: a model of provider local weighs options and writes nothing; "
                f"name one of provider endpoint for {family.name}"
            )
        return Rules(rules_of(family.name), self._config.seed, str(rules_version(family.name)))

    def likelihood_model(self, role: str) -> LikelihoodModel:
        """Return the model with this role or name, for weighing options."""
        settings = self._config.model_for(role)
        if isinstance(settings, EndpointSettings):
            return self.endpoint(settings) if self.asks else OnDemand(self, settings)
        if isinstance(settings, LocalSettings):
            return LocalModel(settings)
        raise ConfigError(
            f"{self._path}: models.{role}: the rules cannot weigh options; name a model of provider local "
            "(a folder, or a name on the Hugging Face Hub) or endpoint"
        )

    def endpoint(self, settings: EndpointSettings) -> Endpoint:
        """Return the endpoint that all roles with these settings share, with its limits."""
        key = canonical_json(settings.model_dump(mode="json"))
        with self._sharing:
            if key not in self._endpoints:
                limits = Limits(
                    concurrency=settings.concurrency,
                    requests_per_minute=settings.requests_per_minute,
                    tokens_per_minute=settings.tokens_per_minute,
                    share=self.share,
                )
                self._endpoints[key] = Endpoint(
                    settings, self.cache, prices=self.prices, budget=self.budget, limits=limits, tell=self.tell,
                    batches=self.batches, progress=self._show,
                )  # fmt: skip
            return self._endpoints[key]

    def _show(self, line: str) -> None:
        self.progress(line)

    @cached_property
    def batches(self) -> BatchRecords:
        """The batches that are under way."""
        return BatchRecords(self._config.state / "batches")

    @property
    def endpoints(self) -> list[Endpoint]:
        """Those that are open."""
        return list(self._endpoints.values())

    def close(self) -> float:
        """Close the cache, and return what was spent under the ceiling; 0 without one."""
        spent = 0.0
        if self._config.budget_usd is not None and "budget" in self.__dict__:
            by_workers = 0.0 if self._begun_usd is None else self._spent_since_begun()
            spent = max(self.budget.spent_usd, by_workers)
        if "cache" in self.__dict__:
            self.cache.close()
        return spent


class OnDemand:
    """A model behind a server that is opened when it is first asked: reading or estimating needs no key or price."""

    def __init__(self, models: Models, settings: EndpointSettings) -> None:
        self.name = settings.name
        self.settings = settings
        self._models = models

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        """See `Endpoint`; also raises `ApiKeyError` and `UnknownPrice`."""
        return await self._models.endpoint(self.settings).complete(prompt, inputs, draw=draw, usage=usage)

    async def likelihoods(self, asked: Sequence[Options], *, usage: Usage) -> list[tuple[Likelihood, ...]]:
        """See `Endpoint`; also raises `ApiKeyError` and `UnknownPrice`."""
        return await self._models.endpoint(self.settings).likelihoods(asked, usage=usage)

    def identity(self) -> Mapping[str, object]:
        """See `Endpoint`."""
        return self.settings.identity

    @cached_property
    def full_price(self) -> Price:
        """See `Endpoint`."""
        return self._models.prices.of(self.name, self.settings.base_url)

    @cached_property
    def batch_price(self) -> Price:
        """See `Endpoint`."""
        return self._models.prices.of(self.name, self.settings.base_url, batch=True)

    @property
    def price(self) -> Price:
        """See `Endpoint`."""
        return self.batch_price if self.settings.batch else self.full_price


Served = Endpoint | OnDemand
"""A model behind a server: it has settings and a price."""


def rules_of(family: str) -> RuleSet:
    """Return a family's rules; none if it has no `rules`."""
    module = _module_of(family)
    rules: RuleSet = module.RULES if module is not None else {}
    return rules


def rules_version(family: str) -> int:
    """Return the version of a family's rules, raised when an answer changes for the same inputs; 0 if it has none."""
    module = _module_of(family)
    version: int = module.RULES_VERSION if module is not None else 0
    return version


def _module_of(family: str) -> ModuleType | None:
    name = f"flows.families.{family}.rules"
    return importlib.import_module(name) if importlib.util.find_spec(name) is not None else None
