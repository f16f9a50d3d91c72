"""The contract: a family declares parts and the steps that their records go through; a step is given a context.

A step has one of four shapes. `each` takes one record to one record; `expand` takes one record to a declared list of
slots; `all_` takes a set to a set; `files` takes a set to finished files, for rows too long to be passed around as
records (`files_step.py`). A step refuses a record by raising `Drop`. The engine runs, shards, counts and stores.

Types are erased in one place: a declaration keeps its functions without their parameters (`Callable[..., T]`), so that
a part can have steps over different records. `each`, `expand`, `all_` and `files` check that the functions of a step
fit each other; the caller of a declared function must pass that family's settings and that part's records.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, cast

from pydantic import BaseModel
from typing_extensions import TypeVar

from flows.construct.embed import Embedder
from flows.construct.estimates import Expected
from flows.construct.evaluation import Evaluation
from flows.construct.paper import Paper
from flows.construct.people import People
from flows.construct.proposal import Found, Proposal
from flows.construct.records import R, R_co, Records
from flows.construct.release import Released
from flows.construct.settings import FamilySettings, S, S_co
from flows.construct.verification import Fault
from flows.construct.view import Chart, View, fields_view
from flows.llm.model import CALLS_AHEAD, Model, Out, Prompt, Usage
from schemas.base import Dropped, PromptRef, Provenance, Record, SourceRef, content_hash

Given = TypeVar("Given", bound=Record)
P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True, default=object)
Slot = Mapping[str, str | int]
"""Identifies one of the records that `expand` makes from a record: `{"setting": "match", "n_contexts": 10}`."""


class Drop(Exception):  # noqa: N818 - a refusal, not a fault
    """Raised by a step that refuses its record.

    `reason` is a short phrase from a small set, so that drops can be counted; `evidence` is the text that shows it.
    `related_id` names the record that it collides with, and `value` says how close the two are.
    """

    def __init__(
        self, reason: str, evidence: str = "", related_id: str | None = None, value: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.evidence = evidence
        self.related_id = related_id
        self.value = value

    def of(self, record: Record, step: str, key: str | None = None) -> Dropped:
        """Return the drop as a record."""
        return Dropped(
            item_id=record.id, key=key or record.key, step=step, reason=self.reason, evidence=self.evidence,
            related_id=self.related_id, value=self.value,
        )  # fmt: skip


def seeded(seed: int, *what: str | int) -> random.Random:
    """Return a random generator seeded from the run seed and from `what` it is for."""
    return random.Random(content_hash(seed, *what))


@dataclass(frozen=True)
class StepContext(Generic[S_co, R_co]):
    """The data that a step may read, the same for all its records."""

    settings: S_co
    seed: int
    limit: int | None
    """The pilot's size (`--limit`): how many records of each source are taken, or statements written."""
    inputs: Records[R_co]
    """All records the step runs over."""
    uses: Mapping[str, Records[Record]]
    """The parts that `Part.uses` names; `used` gives them with their type."""
    reviewed: Callable[[str], frozenset[str]]
    """For one of these parts, the keys of the records that people accepted or fixed."""
    embedder: Embedder
    models: Mapping[str, Model]
    """By role, and by the model's name in the configuration."""
    prompts: Mapping[str, Prompt]
    """The family's prompts by name, with the user's templates if there are any."""
    called: Callable[[Usage], None] = lambda usage: None
    """Called with the usage of each prompt that was answered or given up."""
    arrival: Callable[[Record], int] = lambda record: 1
    """Returns the number of the release with which a record came (`flows/construct/arrivals.py`)."""
    released: Records[Record] = ()
    """The records that the step made for the last release; none before the first."""
    draw: str | None = None
    """The draw that a refreshed step makes its records for; None for the first, and for every other step."""
    drawn_before: Sequence[Records[Record]] = ()
    """What a refreshed step made for each release of another draw before, oldest first; none without a draw."""
    calls_ahead: float = 0
    """Calls one after the other from a record of this step to the end of the build: who has most is served first."""

    def used(self, part: str, item: type[R]) -> Records[R]:
        """Return the records of a part that `Part.uses` names, whose item type is `item`."""
        return cast("Records[R]", self.uses[part])


@dataclass(frozen=True)
class Context(Generic[S_co, P_co]):
    """The data and models that a step may use while it works on one record."""

    step: StepContext[S_co]
    step_name: str
    key: str
    """The key of the record to make."""
    prepared: P_co
    """The result of the step's `prepare`; None if it has none."""
    usage: dict[str, Usage]
    """By prompt name; `ask` adds to it."""
    asked: list[PromptRef] = field(default_factory=list)

    @property
    def settings(self) -> S_co:
        """The family's settings."""
        return self.step.settings

    def random(self, *seeds: str | int) -> random.Random:
        """Return a generator seeded from (run seed, step, `seeds`), so that order and parallelism change nothing.

        `seeds` are the key of the input record and whatever else distinguishes one choice from another.
        """
        return seeded(self.step.seed, self.step_name, *seeds)

    async def ask(self, prompt: Prompt[Out], inputs: BaseModel, *, model: str | None = None, draw: int = 0) -> Out:
        """Ask the prompt's role, or the named model. A higher `draw` asks for another answer."""
        prompt = cast("Prompt[Out]", self.step.prompts[prompt.name])  # another template at most: the output is the same
        usage = Usage()
        CALLS_AHEAD.set(self.step.calls_ahead)
        try:
            answer = await self.step.models[model or prompt.role].complete(prompt, inputs, draw=draw, usage=usage)
        finally:
            self.usage.setdefault(prompt.name, Usage()).add(usage)
            self.step.called(usage)
        self.note_asked(prompt, model=model)
        return answer

    def note_asked(self, prompt: Prompt, *, model: str | None = None) -> None:
        """Name a prompt in the record's provenance. `ask` does so for every answer that it returns.

        A method that keeps a part of a refused answer calls this itself.
        """
        role = model or prompt.role
        used = self.step.prompts[prompt.name]
        ref = PromptRef(name=used.name, version=used.fingerprint, role=role, model=self.step.models[role].name)
        if ref not in self.asked:
            self.asked.append(ref)

    def asked_of(self, provenance: Provenance) -> Provenance:
        """Return the provenance of a record that passed unchanged, with the prompts asked about it added."""
        return provenance.model_copy(update={"prompts": tuple(dict.fromkeys([*provenance.prompts, *self.asked]))})

    def provenance(self, *parents: Record, sources: Iterable[SourceRef] = (), notes: Sequence[str] = ()) -> Provenance:
        """Return the provenance of a record made here: its parents' provenance and the prompts asked."""
        inherited = [parent.provenance for parent in parents if hasattr(parent, "provenance")]
        return Provenance(
            sources=tuple(dict.fromkeys([*(source for before in inherited for source in before.sources), *sources])),
            prompts=tuple(dict.fromkeys([*(prompt for before in inherited for prompt in before.prompts), *self.asked])),
            parents=tuple(dict.fromkeys([parent.id for parent in parents])),
            seed=self.step.seed,
            notes=tuple(dict.fromkeys([*(note for before in inherited for note in before.notes), *notes])),
        )


@dataclass(frozen=True)
class SetContext(Generic[S_co]):
    """The data, models and callbacks of an `all_` step."""

    step: StepContext[S_co]
    step_name: str
    drop: Callable[[Record, Drop], None]
    note: Callable[[str], None]
    """Adds a note for the reader of the result."""
    usage: dict[str, Usage]
    progress: Callable[[int, int], None]
    """Reports the progress of a loop: (done, wanted)."""

    @property
    def settings(self) -> S_co:
        """The family's settings."""
        return self.step.settings

    def at(self, key: str) -> Context[S_co]:
        """Return a context for asking about the record `key`."""
        return Context(self.step, self.step_name, key, None, self.usage)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of a part; `each`, `expand`, `all_` and `files` make them."""

    name: str
    """The function's name."""
    version: int
    prompts: tuple[Prompt, ...] = ()
    settings: tuple[str, ...] = ()
    asks: Mapping[str, str] = field(default_factory=dict)
    chosen: Callable[..., Sequence[Prompt]] | None = None
    prepare: Callable[..., object] | None = None
    embeds: bool = False
    refreshed: bool = False
    expected: Expected = field(default_factory=Expected)

    @property
    def keeps_count(self) -> bool:
        """True if it plans as many records as come in."""
        return True

    def prompts_asked(self, settings: FamilySettings) -> tuple[Prompt, ...]:
        """Return the prompts that it asks under these settings."""
        return self.prompts if self.chosen is None else tuple(self.chosen(settings))

    def models(self, settings: FamilySettings) -> tuple[str, ...]:
        """Return the roles and models that the step asks."""
        roles = {prompt.role for prompt in self.prompts_asked(settings)}
        return tuple(sorted({name for role in roles for name in self.models_as(role, settings)}))

    def models_as(self, role: str, settings: FamilySettings) -> tuple[str, ...]:
        """Return the models asked in a role: those that a setting lists, or the role's own."""
        return tuple(getattr(settings, self.asks[role])) if role in self.asks else (role,)


@dataclass(frozen=True, kw_only=True)
class RecordStep(Step):
    """An `each` step, or an `expand` step if it has `slots`: sharded, in any order."""

    function: Callable[..., Awaitable[Record]]
    slots: Callable[..., Sequence[Slot]] | None = None

    @property
    def keeps_count(self) -> bool:
        return self.slots is None


@dataclass(frozen=True, kw_only=True)
class SetStep(Step):
    """An `all_` step, which is a barrier."""

    function: Callable[..., AsyncIterator[Record]]
    creates: bool = False

    @property
    def keeps_count(self) -> bool:
        return not self.creates


def each(
    function: Callable[[Given, Context[S, P]], Awaitable[Record]],
    *,
    version: int = 1, prompts: Sequence[Prompt] = (), settings: Sequence[str] = (),
    asks: Mapping[str, str] | None = None, prepare: Callable[[StepContext[S, Given]], P] | None = None,
    embeds: bool = False, refreshed: bool = False,
    chosen: Callable[[S], Sequence[Prompt]] | None = None, expected: Expected | None = None,
) -> Step:  # fmt: skip
    """One record to one record: `async def function(record, ctx) -> record`, or `Drop`.

    `settings` names the family settings that its result depends on. `asks` names, for a role of the prompts, a setting
    that lists the models to ask instead. `prepare` is called once for all records. `embeds`: the result depends on the
    embedder. `refreshed`: it draws anew for a version that refreshes (`release.refresh`); it has a `prepare`.
    `chosen(settings)` are the prompts that it asks, by default all. Raise `version` if the result changes.
    """
    return RecordStep(
        name=function.__name__, function=function, version=version, prompts=tuple(prompts), settings=tuple(settings),
        asks=asks or {}, prepare=prepare, embeds=embeds, refreshed=refreshed, chosen=chosen,
        expected=expected or Expected(),
    )  # fmt: skip


def expand(
    function: Callable[[Given, Slot, Context[S, P]], Awaitable[Record]],
    *,
    slots: Callable[[Given, P], Sequence[Slot]],
    expected: Expected,
    version: int = 1, prompts: Sequence[Prompt] = (), settings: Sequence[str] = (),
    prepare: Callable[[StepContext[S, Given]], P] | None = None, embeds: bool = False, refreshed: bool = False,
) -> Step:  # fmt: skip
    """One record to one for each slot: `async def function(record, slot, ctx) -> record`, or `Drop` of that slot.

    `slots(record, prepared)` lists the slots before any record is made; `expected` says how many a record has.
    """
    return RecordStep(
        name=function.__name__, function=function, version=version, prompts=tuple(prompts), settings=tuple(settings),
        prepare=prepare, embeds=embeds, refreshed=refreshed, slots=slots, expected=expected,
    )  # fmt: skip


def all_(
    function: Callable[[Records[Given], SetContext[S]], AsyncIterator[Record]],
    *,
    version: int = 1,
    prompts: Sequence[Prompt] = (),
    settings: Sequence[str] = (),
    asks: Mapping[str, str] | None = None,
    creates: bool = False,
    embeds: bool = False,
    expected: Expected | None = None,
) -> Step:
    """A set to a set, at a barrier: `async def function(records, ctx)` yields the records that pass.

    It yields or drops (`ctx.drop(record, Drop(...))`) each input record once; one that `creates` adds its own records.
    """
    return SetStep(
        name=function.__name__, function=function, version=version, prompts=tuple(prompts), settings=tuple(settings),
        asks=asks or {}, creates=creates, embeds=embeds, expected=expected or Expected(),
    )  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A line of a family: its source records, its items, and the steps between them.

    `source` is a source record type, read from the settings that `sources` names (each a source, a list of them, a
    mapping of them by their place, or null), or the item types of other parts. `uses` names parts whose accepted
    records the steps may read; a collection, which is read only in this way, is `whole`.
    """

    name: str
    source: type[Record] | tuple[type[Record], ...]
    item: type[Record]
    steps: tuple[Step, ...]
    verify: Callable[..., Iterator[Fault]]
    """`verify(rows, ctx)` with a `VerifyContext`: proves the finished rows from themselves."""
    sources: tuple[str, ...] = ("sources",)
    uses: tuple[str, ...] = ()
    whole: bool = False
    people: People | None = None
    planned: Callable[..., int] | None = None
    """`planned(settings)`, for estimates: the number of incoming records, if not the sources alone decide it."""
    charts: Callable[..., Sequence[Chart]] | None = None
    """`charts(ctx)` with a `ChartContext`: the part's distributions, for the build report."""
    against: Callable[..., Iterator[Fault]] | None = None
    """`against(rows, sources, ctx)` proves the rows from the source records that its makers read, read again."""
    released: Released | None = None
    """How its accepted records are released; None if they are not."""


@dataclass(frozen=True)
class Family:
    """One paper: the declaration from which everything else about it follows."""

    name: str
    paper: Paper
    settings: type[FamilySettings]
    prompts: tuple[Prompt, ...]
    parts: tuple[Part, ...]
    evaluation: Evaluation
    reads: str
    """The part whose records a person would read first."""
    folder: Path
    problems: Callable[..., Iterable[str]] | None = None
    """`problems(settings, models)` yields why they cannot work, each with its place; called before anything is read."""
    by_settings: Callable[["Family", Any], "Family"] | None = None
    """`by_settings(family, settings)` is the family as its settings change it; without it, they change only steps."""
    shortages: Callable[..., Iterable[str]] | None = None
    """`shortages(settings)` yields, after a short look, why the files at hand would give nothing; called after that."""
    view: Callable[[Record], View] | None = None
    """An item of one of the parts laid out for a reader; None shows its fields."""
    rules_advice: str = ""
    """Advice to print if the rules kept nothing of a part."""
    propose: Callable[[Found], Proposal] | None = None
    """`propose(found)` is its block for somebody's material; None if `touchstone new` leaves the family out."""
    place: int = 100
    """Its place among the proposals: after the families whose parts it reads. Equal places go by name."""

    def part(self, name: str) -> Part:
        """Return the part of that name."""
        return next(part for part in self.parts if part.name == name)

    def view_of(self, record: Record) -> View:
        """Return a record as it is shown: laid out by `view` if it is an item of a part, otherwise field by field."""
        is_item = isinstance(record, tuple(part.item for part in self.parts))
        return self.view(record) if self.view is not None and is_item else fields_view(record)

    def makers(self, part: Part) -> tuple[Part, ...]:
        """Return the parts that the part's source records come from; none if they come from outside."""
        kinds = part.source if isinstance(part.source, tuple) else (part.source,)
        return tuple(other for other in self.parts if other is not part and other.item in kinds)

    def wanted(self, settings: FamilySettings) -> tuple[Part, ...]:
        """Return the parts to build, in order: those named in the settings and the parts that they build on."""
        return self.with_makers(settings.parts if settings.parts is not None else [part.name for part in self.parts])

    def with_makers(self, names: Iterable[str]) -> tuple[Part, ...]:
        """Return the parts of these names, and those that they are made from or read, in order."""
        wanted = set(names)
        for part in reversed(self.parts):
            if part.name in wanted:
                wanted.update(maker.name for maker in self.makers(part))
                wanted.update(part.uses)
        return tuple(part for part in self.parts if part.name in wanted)
