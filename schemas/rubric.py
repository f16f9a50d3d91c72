"""An annotation task as data: what people are shown, asked and may write, and how many of them."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from schemas.base import Frozen, Record, key_of

NO_NAMES = ("true", "false", "nan", "inf", "infinity")
"""Words that Label Studio reads as values."""


def _is_name(name: str) -> str:
    if name.lower() in NO_NAMES:
        raise ValueError(f"{name!r} is read as a value, and no name")
    return name


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$"), AfterValidator(_is_name)]
"""A name that forms and tables can hold as it stands; people see titles and questions."""


class Turn(Frozen):
    """What somebody says in a dialogue."""

    speaker: str
    text: str


class Shown(Frozen):
    """What people read."""

    name: Name
    title: str = Field("", description="What stands over it; the name, where there is nothing")
    kind: Literal["text", "dialogue"] = "text"
    around: str | None = Field(
        None, description="Name of the shown text around whose places it is cut, where it is too long for a page"
    )
    beside: str | None = Field(None, description="Name of the question about it, beside which it stands")


class Choice(Frozen):
    """A question with fixed answers, one of which is chosen."""

    name: Name
    question: str
    options: tuple[Annotated[str, StringConstraints(pattern=r"^[^,]+$")], ...] = Field(
        min_length=2, description="Without commas, at which forms split them"
    )
    ordered: bool = Field(False, description="The options are a scale: being one apart is no whole disagreement")
    ends: tuple[str, str] | None = Field(None, description="Of a scale: what its first and its last option stand for")
    about: str | None = Field(
        None, description="Name of what is written or marked, that it decides on: needed where an option fixes"
    )
    accepts: tuple[str, ...] = Field((), description="Options by which the record is accepted as it stands")
    fixes: tuple[str, ...] = Field((), description="Options by which it is accepted with the texts people wrote")

    @property
    def decides(self) -> bool:
        """Whether a record is accepted or rejected by it: by an option that neither accepts nor fixes, rejected."""
        return bool(self.accepts or self.fixes)

    @property
    def rejects(self) -> tuple[str, ...]:
        """Options by which the record is rejected."""
        return tuple(one for one in self.options if self.decides and one not in {*self.accepts, *self.fixes})

    @model_validator(mode="after")
    def _deciding_options_are_options(self) -> Self:
        if unknown := {*self.accepts, *self.fixes}.difference(self.options):
            raise ValueError(f"{self.name}: {', '.join(sorted(unknown))} is none of its options")
        if len(set(self.options)) < len(self.options):
            raise ValueError(f"{self.name}: an option stands twice")
        if self.ends is not None and not self.ordered:
            raise ValueError(f"{self.name}: ends are those of a scale, whose options are ordered")
        return self


class Written(Frozen):
    """A text that people write, or mend."""

    name: Name
    title: str
    hint: str = Field("", description="What to write, in the empty box")
    corrects: bool = Field(False, description="It is a field of the record, whose text stands in the box to begin with")
    required: bool = False
    note: bool = Field(False, description="A remark beside the work: shown to a reviewer, and not decided on")
    lines: int = Field(2, ge=1, description="Height of the box")


class Marked(Frozen):
    """Stretches of a shown text that people mark."""

    name: Name
    title: str
    of: str = Field(description="Name of what is shown")
    corrects: bool = Field(
        False, description="It is a field of the record, for which the stretches stand with spaces between"
    )


class Sample(Frozen):
    """A sample that people judge: so many tasks of one kind."""

    name: str
    size: int = Field(ge=1)


class Rubric(Frozen):
    """An annotation task, from which its form, its guideline page and its quality checks follow."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)
    title: str = Field("", description="What annotators call it; the name, where there is nothing")
    version: int = Field(ge=1, description="Raised when what is shown or asked, or the guideline, changes")
    guideline: str = Field(description="File with the guideline, in the family's folder")
    shows: tuple[Shown, ...] = Field(min_length=1)
    asks: tuple[Choice, ...] = ()
    writes: tuple[Written, ...] = ()
    marks: tuple[Marked, ...] = ()
    listed: str = Field(
        "", description="Name of the shown text that tells tasks apart in a list, of a dialogue its last turn; the "
        "first shown, where there is nothing"
    )  # fmt: skip
    people_per_item: int = Field(1, ge=1)
    overlaps: bool = Field(False, description="The first items go to one person more, to see how far people agree")
    samples: tuple[Sample, ...] = Field((), description="Empty: people see every record")
    validation_share: float = Field(0.0, ge=0, lt=1, description="Share of what a person sees whose answer is known")
    pass_share: float = Field(0.0, ge=0, le=1, description="Share of those that a person must answer rightly")

    @property
    def lists_by(self) -> str:
        """The name of the shown text that tells tasks apart in a list."""
        return self.listed or self.shows[0].name

    @property
    def decides(self) -> bool:
        """Whether what people answer says what becomes of the record; by ratings alone nothing does."""
        return bool(self.writes or self.marks) or any(ask.decides for ask in self.asks)

    @property
    def corrects(self) -> tuple[str, ...]:
        """The fields of the record that people may rewrite."""
        return tuple(one.name for one in self.writes if one.corrects) + tuple(
            one.name for one in self.marks if one.corrects
        )

    @model_validator(mode="after")
    def _names_are_sound(self) -> Self:
        shown = [one.name for one in self.shows]
        asked: tuple[Choice | Written | Marked, ...] = (*self.asks, *self.writes, *self.marks)
        answered = [one.name for one in asked]
        for names in (shown, answered, [one.name for one in self.samples]):
            if len(set(names)) < len(names):
                raise ValueError(f"rubric {self.name}: a name stands twice among {', '.join(names)}")
        if not answered:
            raise ValueError(f"rubric {self.name}: nothing is asked")
        if taken := {"true", "false"}.intersection(name.lower() for name in (*shown, *answered)):
            raise ValueError(f"rubric {self.name}: {min(taken)} is no name: Label Studio reads it as a value")
        texts = {one.name for one in self.shows if one.kind == "text"}
        alone = {one.name for one in self.shows if one.name in texts and one.beside is None}
        if unknown := [one.of for one in self.marks if one.of not in alone]:
            raise ValueError(f"rubric {self.name}: {unknown[0]} is no text that is shown, and cannot be marked")
        if self.listed and self.listed not in shown:
            raise ValueError(f"rubric {self.name}: {self.listed} is nothing that is shown, to list tasks by")
        asks = {one.name for one in self.asks}
        if stray := [one.beside for one in self.shows if one.beside not in {None, *asks}]:
            raise ValueError(f"rubric {self.name}: {stray[0]} is no question, to show something beside")
        made = {one.name for one in self.writes} | {one.name for one in self.marks}
        if lost := [one.about for one in self.asks if one.about not in {None, *made}]:
            raise ValueError(f"rubric {self.name}: {lost[0]} is nothing that people write or mark")
        if strange := [one.around for one in self.shows if one.around not in {None, *texts}]:
            raise ValueError(f"rubric {self.name}: {strange[0]} is no text that is shown, to be cut around")
        return self


class Task(Record):
    """What one person is shown at a time. `key` is of the record and the sample; the id is that of what is seen."""

    DEFINES: ClassVar[tuple[str, ...]] = ("rubric", "version", "shown")

    rubric: str
    version: int = Field(description="The rubric's")
    sample: str = Field("", description="Of the rubric's samples; empty where people see every record")
    item_id: str
    item_key: str
    item_view: str = Field(description="The record's `view_hash`")
    shown: Mapping[str, str | tuple[Turn, ...]] = Field(description="By name of what the rubric shows")
    drafts: Mapping[str, str] = Field(
        default_factory=dict, description="Texts that stand in the boxes to begin with, by name of what is written"
    )
    suggested: tuple[str, ...] = Field(
        (), description="Names of the drafts that a program suggests: they are no text of the record until handed in"
    )
    left_out: Mapping[str, str] = Field(
        default_factory=dict, description="By name of what is written, why a program suggests nothing for it"
    )
    known: Mapping[str, str] = Field(
        default_factory=dict, description="By question, the right answer to a validation item; never shown"
    )
    why: str = Field("", description="Why the known answers are right: what a person reads after a practice task")


def task_of(
    record: Record,
    rubric: Rubric,
    shown: Mapping[str, str | tuple[Turn, ...]],
    *,
    sample: str = "",
    drafts: Mapping[str, str] | None = None,
    suggested: Iterable[str] = (),
    left_out: Mapping[str, str] | None = None,
    known: Mapping[str, str] | None = None,
    why: str = "",
) -> Task:
    """The task of a record; `drafts` are texts of its own, which people may mend, `suggested` those of a program, and
    `left_out` says why it has none for the others."""
    return Task(
        key=key_of("task", rubric.name, record.key, {"sample": sample} if sample else None),
        rubric=rubric.name,
        version=rubric.version,
        sample=sample,
        item_id=record.id,
        item_key=record.key,
        item_view=record.view_hash,
        shown=shown,
        drafts=drafts or {},
        suggested=tuple(sorted(suggested)),
        left_out=left_out or {},
        known=known or {},
        why=why,
    )
