"""What a family declares: parts, and the steps their records go through.

A step has one of four shapes. `each` takes one record to one record; `expand` takes one record to a
declared list of slots; `all_` takes a set to a set; `rows` takes a set to finished files, for rows too
long to be handed around as records. A step refuses a record by raising `Drop`. That is the whole
contract: running, sharding, counting and storing are the engine's (`flows/construct/stages.py`).
"""

import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from data.sources import SourceSpec
from flows.construct.embed import Embedder
from flows.construct.evaluation import Evaluation
from flows.construct.people import People
from flows.construct.view import Chart, View
from flows.llm.model import Model, Out, Prompt, Usage
from schemas.base import Dropped, Frozen, PromptRef, Provenance, Record, SourceRef, content_hash
from schemas.verdict import Verdict

R_co = TypeVar("R_co", bound=Record, covariant=True)
Slot = Mapping[str, str | int]
"""Names one of the records that `expand` makes of one: `{"setting": "match", "n_contexts": 10}`."""


class Drop(Exception):  # noqa: N818 - a refusal, not a fault
    """Raised by a step that refuses its record.

    `reason` is a short phrase out of a small set, to be counted; `evidence` shows it; `related_id` and
    `value` name what it collides with and how closely.
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
        """The drop as a record."""
        return Dropped(
            item_id=record.id,
            key=key or record.key,
            step=step,
            reason=self.reason,
            evidence=self.evidence,
            related_id=self.related_id,
            value=self.value,
        )


class FamilySettings(BaseModel):
    """What every family's block of the configuration has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    parts: tuple[str, ...] | None = Field(
        None, min_length=1, description="Parts to build; what they stand on is built too. All of them by default"
    )


class Records(Protocol[R_co]):
    """A finished stage as steps see it: read-only, sized, on disk."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[R_co]: ...


def seeded(seed: int, *what: str | int) -> random.Random:
    """A generator seeded from the run seed and from `what` it is for."""
    return random.Random(content_hash(seed, *what))


@dataclass(frozen=True)
class StepContext:
    """What a step may read, the same for all its records."""

    settings: Any
    """The family's settings: an instance of its `settings` class."""
    seed: int
    limit: int | None
    """The pilot's size (`--limit`): how many records of each source are taken, or statements written."""
    inputs: Records[Any]
    """All records the step runs over."""
    uses: Mapping[str, Records[Any]]
    """The parts that `Part.uses` names."""
    reviewed: Callable[[str], frozenset[str]]
    """Of one of them, the keys of the records that people accepted or mended."""
    embedder: Embedder
    models: Mapping[str, Model]
    """By role, and by the model's name in the configuration."""
    prompts: Mapping[str, Prompt[Any]]
    """The family's prompts by name, with the user's templates where there are any."""
    called: Callable[[Usage], None] = lambda usage: None
    """Told of each prompt that was answered, or given up: what it took."""


@dataclass(frozen=True)
class Context:
    """What a step may read and ask while it works on one record."""

    step: StepContext
    step_name: str
    key: str
    """The key of the record to be made."""
    prepared: Any
    """What the step's `prepare` gave."""
    usage: dict[str, Usage]
    """What was asked, by prompt name."""
    asked: list[PromptRef] = field(default_factory=list)

    @property
    def settings(self) -> Any:
        """The family's settings."""
        return self.step.settings

    def random(self, *seeds: str | int) -> random.Random:
        """A generator seeded from (run seed, step, `seeds`): order and parallelism change nothing.

        `seeds` are the key of what goes in and whatever else tells one choice from another.
        """
        return seeded(self.step.seed, self.step_name, *seeds)

    async def ask(self, prompt: Prompt[Out], inputs: BaseModel, *, model: str | None = None, draw: int = 0) -> Out:
        """Ask the prompt's role, or the named model. A higher `draw` asks anew."""
        one = self.step.models[model or prompt.role]
        prompt = self.step.prompts[prompt.name]
        took = Usage()
        try:
            answer = await one.complete(prompt, inputs, draw=draw, usage=took)
        finally:
            self.usage.setdefault(prompt.name, Usage()).add(took)
            self.step.called(took)
        self.note_asked(prompt, model=model)
        return answer

    def note_asked(self, prompt: Prompt[Any], *, model: str | None = None) -> None:
        """Name a prompt in the record's provenance; `ask` does, but where every answer was refused.

        A method that keeps a part of a refused answer does it itself.
        """
        role = model or prompt.role
        used = self.step.prompts[prompt.name]
        ref = PromptRef(name=used.name, version=used.fingerprint, role=role, model=self.step.models[role].name)
        if ref not in self.asked:
            self.asked.append(ref)

    def asked_of(self, provenance: Provenance) -> Provenance:
        """The provenance of a record that passed here unchanged, with what was asked about it."""
        return provenance.model_copy(update={"prompts": _unique([*provenance.prompts, *self.asked])})

    def provenance(self, *parents: Record, sources: Iterable[SourceRef] = (), notes: Sequence[str] = ()) -> Provenance:
        """Provenance of a record made here: the parents', and what was asked."""
        inherited = [parent.provenance for parent in parents if hasattr(parent, "provenance")]
        return Provenance(
            sources=_unique([*(one for each in inherited for one in each.sources), *sources]),
            prompts=_unique([*(one for each in inherited for one in each.prompts), *self.asked]),
            parents=_unique([parent.id for parent in parents]),
            seed=self.step.seed,
            notes=_unique([*(one for each in inherited for one in each.notes), *notes]),
        )


T = TypeVar("T")


def _unique(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))


@dataclass(frozen=True)
class Step:
    """A step of a part; made by `each`, `expand`, `all_` and `rows`."""

    shape: Literal["each", "expand", "all", "rows"]
    function: Callable[..., Any]
    version: int
    prompts: tuple[Prompt[Any], ...]
    settings: tuple[str, ...]
    asks: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[StepContext], Any] | None = None
    slots: Callable[[Any, Any], Sequence[Slot]] | None = None
    creates: bool = False
    embeds: bool = False
    most: Callable[[Any], float] | None = None
    keeps: Callable[[Any], int] | None = None
    chosen: Callable[[Any], Sequence[Prompt[Any]]] | None = None
    calls: Callable[[Any], Mapping[str, float]] | None = None
    files: Callable[[StepContext, Any], Sequence["RowFile"]] | None = None
    long: str | None = None

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.function.__name__)

    def prompts_asked(self, settings: FamilySettings) -> tuple[Prompt[Any], ...]:
        """The prompts that it asks under these settings."""
        return self.prompts if self.chosen is None else tuple(self.chosen(settings))

    def models(self, settings: FamilySettings) -> tuple[str, ...]:
        """The roles and models the step asks."""
        roles = {prompt.role for prompt in self.prompts_asked(settings)}
        return tuple(sorted({name for role in roles for name in self.models_as(role, settings)}))

    def models_as(self, role: str, settings: FamilySettings) -> tuple[str, ...]:
        """Who is asked in a role: the models that a setting lists, or the role's own."""
        return tuple(getattr(settings, self.asks[role])) if role in self.asks else (role,)


def each(
    function: Callable[[Any, Context], Awaitable[Record]],
    *,
    version: int = 1,
    prompts: Sequence[Prompt[Any]] = (),
    settings: Sequence[str] = (),
    asks: Mapping[str, str] | None = None,
    prepare: Callable[[StepContext], Any] | None = None,
    embeds: bool = False,
    chosen: Callable[[Any], Sequence[Prompt[Any]]] | None = None,
    calls: Callable[[Any], Mapping[str, float]] | None = None,
) -> Step:
    """One record to one record: `async def function(record, ctx) -> record`, or `Drop`.

    `settings` names the family settings that its result depends on. `asks` names, for a role of the prompts, a
    setting that lists the models to be asked in its place. `prepare` is called once for all records.
    `embeds` says that the result depends on the embedder. `chosen(settings)` are those of the prompts that
    it asks under the settings; all of them where it is not given. `calls(settings)` is, by prompt, how often a
    record asks it at most where all goes well, for estimates; by default each model is asked once. The step's
    `version` is raised when its result changes for the same input.
    """
    return Step(
        "each", function, version, tuple(prompts), tuple(settings), asks or {}, prepare, embeds=embeds, chosen=chosen,
        calls=calls,
    )  # fmt: skip


def expand(
    function: Callable[[Any, Slot, Context], Awaitable[Record]],
    *,
    slots: Callable[[Any, Any], Sequence[Slot]],
    most: Callable[[Any], float],
    version: int = 1,
    prompts: Sequence[Prompt[Any]] = (),
    settings: Sequence[str] = (),
    prepare: Callable[[StepContext], Any] | None = None,
    embeds: bool = False,
) -> Step:
    """One record to one for each of its slots: `async def function(record, slot, ctx)`, or `Drop` of that slot.

    `slots(record, prepared)` lists the slots, which are known before any record is made; `most(settings)`
    is how many they are at most, for estimates: on average, where records differ in it.
    """
    return Step(
        "expand", function, version, tuple(prompts), tuple(settings), {}, prepare, slots, embeds=embeds, most=most
    )


def all_(
    function: Callable[[Records[Any], "SetContext"], Any],
    *,
    version: int = 1,
    prompts: Sequence[Prompt[Any]] = (),
    settings: Sequence[str] = (),
    creates: bool = False,
    embeds: bool = False,
    most: Callable[[Any], int] | None = None,
    keeps: Callable[[Any], int] | None = None,
) -> Step:
    """A set to a set, at a barrier: `async def function(records, ctx)` yields the records that pass.

    It refuses with `ctx.drop(record, Drop(...))`. Each record it is given is yielded or dropped, once;
    a step that `creates` may yield and drop records of its own beside them; `most(settings)` is how many
    calls it takes at most where all goes well, `keeps(settings)` how many records it keeps at most, for estimates.
    """
    return Step(
        "all", function, version, tuple(prompts), tuple(settings), creates=creates, embeds=embeds, most=most,
        keeps=keeps,
    )  # fmt: skip


@dataclass(frozen=True)
class RowFile:
    """A file that a `rows` step writes."""

    name: str
    """Tells it from the part's other files: `hotpotwikiqa_mixup_16k`."""
    records: Sequence[Record]
    """What it is made from."""
    slot: Slot
    """What all its rows have in common, and other files' rows have not."""
    planned: int
    """Rows that it has, where none is dropped."""


@dataclass(frozen=True)
class RowsContext:
    """What a `rows` step may read and refuse while it writes one file."""

    prepared: Any
    """What the step's `prepare` gave."""
    key: Callable[[Record, Slot], str]
    """The key of the row that is made of a record at a slot."""
    drop: Callable[[Record, Slot, Drop], None]


def rows(
    function: Callable[[RowFile, RowsContext], Iterator[tuple[Mapping[str, Any], bytes]]],
    *,
    files: Callable[[StepContext, Any], Sequence[RowFile]],
    long: str,
    version: int = 1,
    settings: Sequence[str] = (),
    prepare: Callable[[StepContext], Any] | None = None,
) -> Step:
    """A set to finished files of rows, each with one text too long to be handed around as a record.

    It is the last step of its part. `files(context, prepared)` lists the files, which are known before any
    is written; `function(file, ctx)` yields, for each of its rows, the fields as JSON has them and the field
    `long` in UTF-8, or refuses it with `ctx.drop(record, slot, Drop(...))`. Files are written side by side,
    in threads, the last of the list first: it is to be the longest.
    """
    return Step("rows", function, version, (), tuple(settings), {}, prepare, files=files, long=long)


@dataclass(frozen=True)
class SetContext:
    """What an `all_` step may read, ask and refuse."""

    step: StepContext
    step_name: str
    drop: Callable[[Record, Drop], None]
    note: Callable[[str], None]
    """Says something that a reader of the result should know."""
    usage: dict[str, Usage]
    progress: Callable[[int, int], None]
    """Tells how far a loop is: (done, wanted)."""

    @property
    def settings(self) -> Any:
        """The family's settings."""
        return self.step.settings

    def at(self, key: str) -> Context:
        """A context for asking about the record `key`."""
        return Context(self.step, self.step_name, key, None, self.usage)


@dataclass(frozen=True)
class Released:
    """How a part's accepted records become configurations of a release."""

    together: str
    """The field that rows share which give each other away: the private share holds all of them, or none."""
    configs: tuple[str, ...] = ()
    """The fields whose values tell its configurations apart; with none of them it is one."""
    proof: tuple[str, ...] = ()
    """The other parts that its verifier reads: their rows go along, so that a download can be proved."""
    asked: Callable[[Any], bool] | None = None
    """Of a part that needs people: whether a row has anything for them to accept; None where each has."""
    mixes: Callable[[Any, Mapping[str, Any]], Iterable[SourceSpec]] | None = None
    """(settings, the values of `configs`): the sources whose text the rows of that configuration may hold. Where it is
    None, it is all that the part, its makers and the parts that these use are read from."""
    said: tuple[str, ...] = ()
    """The fields, texts or turns of a dialogue, that tell which languages a row is in; with none of them its
    `language` does."""


@dataclass(frozen=True)
class Part:
    """One line of a family: what it runs over, what it makes, and how.

    `source` is a source record type, read from the settings that `sources` names (each a source, a list of
    them, a mapping of them by their place, or null), or the item types of other parts. `uses` names parts
    whose accepted records steps may read; what is only read so, a collection, is `whole`.
    """

    name: str
    source: type[Record] | tuple[type[Record], ...]
    item: type[Record]
    steps: tuple[Step, ...]
    verify: Callable[[Iterable[Any], "VerifyContext"], Iterator["Fault"]]
    sources: tuple[str, ...] = ("sources",)
    uses: tuple[str, ...] = ()
    whole: bool = False
    people: People | None = None
    planned: Callable[[Any], int] | None = None
    """How many records will come in, where that does not depend on the sources alone."""
    charts: Callable[["ChartContext"], Sequence[Chart]] | None = None
    """The part's distributions, for the build report."""
    against: Callable[[Iterable[Any], Iterable[Any], "VerifyContext"], Iterator["Fault"]] | None = None
    """`against(rows, sources, ctx)` proves the rows from the source records that its makers read, read again."""
    released: "Released | None" = None
    """How its accepted records are released; None where the part is no end in itself."""


class Fault(Frozen):
    """Something a finished row claims that does not hold."""

    id: str
    problem: str


@dataclass(frozen=True)
class VerifyContext:
    """What a verifier may read beside the rows."""

    settings: Any
    embedder: Embedder
    rows: Callable[[str], Iterable[Any]]
    """The accepted rows of another part of the family."""
    verdicts: Callable[[str], Mapping[str, Verdict]] | None = None
    """By key, what people decided on the records of a part; None where that is not there, as in a release."""


@dataclass(frozen=True)
class ChartContext:
    """What a part's charts may read of the finished part."""

    settings: Any
    seed: int
    embedder: Embedder
    records: Records[Any]
    """The accepted records."""
    columns: Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]
    """Of a part whose last step writes files of rows, some fields of all of them."""
    kept: Callable[[str], Records[Any]]
    """The records that the step of that name kept."""
    dropped: Callable[[str], Iterable[Dropped]]
    """What the step of that name dropped."""


@dataclass(frozen=True)
class Paper:
    """What a family implements."""

    title: str
    short: str
    year: int
    authors: str


@dataclass(frozen=True)
class Family:
    """One paper: the declaration from which everything else about it follows."""

    name: str
    paper: Paper
    settings: type[FamilySettings]
    prompts: tuple[Prompt[Any], ...]
    parts: tuple[Part, ...]
    show: Callable[[Record], str]
    """A record as a person reads it, in Markdown."""
    evaluation: Evaluation
    reads: str
    """The part whose records a person would read first."""
    folder: Path
    ready: Callable[[Any, Mapping[str, Model]], None] | None = None
    """Called with settings and models before anything is read: raises `WrongInput` where they cannot do."""
    view: Callable[[Record], View] | None = None
    """An item of one of the parts as the build report shows it; by its fields where there is none."""
    rules_advice: str = ""
    """What to do where the rules kept nothing of a part."""

    def part(self, name: str) -> Part:
        """The part of that name."""
        return next(part for part in self.parts if part.name == name)

    def makers(self, part: Part) -> tuple[Part, ...]:
        """The parts that the part's source records come from; empty where they come from outside."""
        kinds = part.source if isinstance(part.source, tuple) else (part.source,)
        return tuple(other for other in self.parts if other is not part and other.item in kinds)

    def wanted(self, settings: FamilySettings) -> tuple[Part, ...]:
        """The parts to build, in order: those named in the settings and what they stand on."""
        names = set(settings.parts if settings.parts is not None else [part.name for part in self.parts])
        for part in reversed(self.parts):
            if part.name in names:
                names.update(maker.name for maker in self.makers(part))
                names.update(part.uses)
        return tuple(part for part in self.parts if part.name in names)
