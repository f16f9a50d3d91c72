"""An annotation task as data: what people are shown, asked and may write, and how many of them."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from schemas.base import Frozen, Record, key_of

NO_NAMES = ("true", "false", "nan", "inf", "infinity")
"""Words that Label Studio reads as values."""


def _is_name(name: str) -> str:
    if name.lower() in NO_NAMES:
        raise ValueError(f"{name!r} cannot be a name: Label Studio reads it as a value")
    return name


ENGLISH = "en"
"""The language of all texts of ours. A rubric may have its own in others too."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$"), AfterValidator(_is_name)]
"""A name that forms and tables can use as it is; people see titles and questions."""


P = TypeVar("P", bound=Frozen)


class Turn(Frozen):
    """One utterance of a dialogue."""

    speaker: str
    text: str


class Shown(Frozen):
    """A text or dialogue that people read."""

    name: Name
    title: str = Field("", description="Its heading; by default its name")
    kind: Literal["text", "dialogue"] = "text"
    around: str | None = Field(
        None, description="Name of the shown text whose occurrences in it are kept if it is too long for a page"
    )
    beside: str | None = Field(None, description="Name of the question that it is shown with")
    of_program: bool = Field(
        False, description="Whether a program wrote it, in English; forms put it into their language"
    )


class Choice(Frozen):
    """A question with options, of which one is chosen."""

    name: Name
    question: str
    options: tuple[Annotated[str, StringConstraints(pattern=r"^[^,]+$")], ...] = Field(
        min_length=2, description="Without commas, which forms use to separate them"
    )
    ordered: bool = Field(False, description="Whether the options are a scale, on which neighbours disagree less")
    ends: tuple[str, str] | None = Field(None, description="The meaning of a scale's first and last option")
    about: str | None = Field(
        None, description="Name of the text or mark that it decides on; needed if an option fixes"
    )
    labels: Mapping[str, str] = Field(
        default_factory=dict, description="By option, what people see of it; by default the option, which is stored"
    )
    accepts: tuple[str, ...] = Field((), description="Options that accept the record as it is")
    fixes: tuple[str, ...] = Field((), description="Options that accept it with the texts that people wrote")

    def label(self, option: str) -> str:
        """Return what people see of an option."""
        return self.labels.get(option, option)

    @property
    def decides(self) -> bool:
        """Whether it accepts or rejects a record; an option that neither accepts nor fixes rejects it."""
        return bool(self.accepts or self.fixes)

    @property
    def rejects(self) -> tuple[str, ...]:
        """Options that reject the record."""
        return tuple(option for option in self.options if self.decides and option not in {*self.accepts, *self.fixes})

    @model_validator(mode="after")
    def _deciding_options_are_options(self) -> Self:
        if unknown := {*self.accepts, *self.fixes}.difference(self.options):
            raise ValueError(f"{self.name}: {', '.join(sorted(unknown))} is not one of its options")
        if len(set(self.options)) < len(self.options):
            raise ValueError(f"{self.name}: an option occurs twice")
        if self.ends is not None and not self.ordered:
            raise ValueError(f"{self.name}: only a scale, whose options are ordered, has ends")
        return self


class Written(Frozen):
    """A text that people write or correct."""

    name: Name
    title: str
    hint: str = Field("", description="What to write; shown in the empty box")
    corrects: bool = Field(False, description="Whether it is a field of the record, whose text is in the box")
    required: bool = False
    note: bool = Field(False, description="Whether it is a remark, which the reviewer sees but does not judge")
    lines: int = Field(2, ge=1, description="Height of the box")


class Marked(Frozen):
    """Spans of a shown text that people mark."""

    name: Name
    title: str
    of: str = Field(description="Name of the shown text")
    corrects: bool = Field(
        False, description="Whether it is a field of the record, made of the spans with spaces between"
    )


SHOWN_TEXTS = ("title", "question", "hint")
"""The fields of a rubric's parts that people read."""


class Sample(Frozen):
    """A sample that people judge: a number of tasks of one kind."""

    name: str
    size: int = Field(ge=1)


class Rubric(Frozen):
    """An annotation task. Its form, its guideline page and its quality checks follow from it."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)
    language: str = Field(ENGLISH, description="Of all that people read in it")
    texts: Mapping[str, Mapping[str, str]] = Field(
        default_factory=dict, description="By another language, what people read in it, by the English text"
    )
    title: str = Field("", description="Its name for annotators; by default its name")
    version: int = Field(ge=1, description="Raised when people would answer otherwise than before")
    guideline: str = Field(description="File with the guideline, in the family's folder")
    shows: tuple[Shown, ...] = Field(min_length=1)
    asks: tuple[Choice, ...] = ()
    writes: tuple[Written, ...] = ()
    marks: tuple[Marked, ...] = ()
    for_all: str = Field("", description="Option that can be chosen for all questions at once")
    listed: str = Field(
        "", description="Name of the shown text that identifies tasks in a list (of a dialogue, its last turn); by "
        "default the first"
    )  # fmt: skip
    people_per_item: int = Field(1, ge=1)
    overlaps: bool = Field(False, description="Whether the first items go to one more person, to measure agreement")
    samples: tuple[Sample, ...] = Field((), description="Empty if people see every record")
    validation_share: float = Field(0.0, ge=0, lt=1, description="Share of gold tasks in what a person sees")
    pass_share: float = Field(0.0, ge=0, le=1, description="Share of those that a person must answer correctly")

    @property
    def lists_by(self) -> str:
        """The name of the shown text that identifies tasks in a list."""
        return self.listed or self.shows[0].name

    @property
    def parts(self) -> tuple[Written | Marked, ...]:
        """The texts and marks that people make."""
        return (*self.writes, *self.marks)

    @property
    def decides(self) -> bool:
        """Whether people's answers decide on the record; ratings alone do not."""
        return bool(self.parts) or any(ask.decides for ask in self.asks)

    @property
    def judges(self) -> bool:
        """Whether people only decide on the record, and make no text or mark of it."""
        return self.decides and all(write.note for write in self.writes) and not self.marks

    @property
    def corrects(self) -> tuple[str, ...]:
        """The fields of the record that people may rewrite."""
        return tuple(part.name for part in self.parts if part.corrects)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which people can work under it."""
        return (ENGLISH, *self.texts)

    @property
    def read_texts(self) -> frozenset[str]:
        """All that people read in it."""
        parts = (*self.shows, *self.asks, *self.parts)
        texts = {getattr(part, name, "") for part in parts for name in SHOWN_TEXTS}
        options = {option for ask in self.asks for option in ask.options if not option.isdecimal()}
        return frozenset({*texts, *options, self.title, *(end for ask in self.asks for end in ask.ends or ())} - {""})

    def form_language(self, language: str) -> str:
        """Return the language of the form for items in a language: the rubric's own if it has no texts in that one."""
        return language if language in self.texts else self.language

    def in_language(self, language: str) -> Self:
        """Return the rubric with all that people read in a language; as it is if there is none in that language.

        Its name, its guideline's stem, and the names and options that answers are stored under stay.
        """
        if self.form_language(language) == self.language:
            return self
        texts = {text: self.texts[language][text] for text in self.read_texts} | {"": ""}

        def put(part: P) -> P:
            update: dict[str, object] = {
                name: texts[getattr(part, name)] for name in SHOWN_TEXTS if hasattr(part, name)
            }
            if isinstance(part, Choice):
                update["labels"] = {option: texts.get(option, option) for option in part.options}
                update["ends"] = part.ends and tuple(texts[end] for end in part.ends)
            return part.model_copy(update=update)

        parts = {name: tuple(map(put, getattr(self, name))) for name in ("shows", "asks", "writes", "marks")}
        titles = {"title": texts[self.title], "guideline": guideline_in(language, self.guideline)}
        return self.model_copy(update={"language": language, **titles, **parts})

    @model_validator(mode="after")
    def _has_all_texts(self) -> Self:
        for language, texts in self.texts.items():
            if lacking := sorted(text for text in self.read_texts if not texts.get(text)):
                raise ValueError(f"rubric {self.name}: in {language} it has no text for {lacking[0]!r}")
        return self

    @model_validator(mode="after")
    def _names_refer(self) -> Self:
        shown = [text.name for text in self.shows]
        asks = [ask.name for ask in self.asks]
        made = [part.name for part in self.parts]
        for names in (shown, asks + made, [sample.name for sample in self.samples]):
            if len(set(names)) < len(names):
                raise ValueError(f"rubric {self.name}: a name occurs twice among {', '.join(names)}")
        if not asks + made:
            raise ValueError(f"rubric {self.name}: it asks nothing")
        if self.for_all and (lacking := [ask.name for ask in self.asks if self.for_all not in ask.options]):
            raise ValueError(f"rubric {self.name}: {self.for_all} is not an option of {lacking[0]}")
        texts = {text.name for text in self.shows if text.kind == "text"}
        alone = texts - {text.name for text in self.shows if text.beside is not None}
        references: tuple[tuple[Iterable[str | None], Iterable[str], str], ...] = (
            ([mark.of for mark in self.marks], alone, "is not a shown text that can be marked"),
            ([self.listed or None], shown, "is not shown, to list tasks by"),
            ([text.beside for text in self.shows], asks, "is not a question to show something with"),
            ([ask.about for ask in self.asks], made, "is not written or marked"),
            ([text.around for text in self.shows], texts, "is not a shown text to cut around"),
        )
        for referring, allowed, problem in references:
            if unknown := [name for name in referring if name is not None and name not in allowed]:
                raise ValueError(f"rubric {self.name}: {unknown[0]} {problem}")
        return self


def guideline_in(language: str, file: str) -> str:
    """Return the name of the file that has a guideline in a language: `guideline.survey.zh.md`."""
    return file if language == ENGLISH else f"{file.removesuffix('.md')}.{language}.md"


class Survey(Frozen):
    """A questionnaire for whoever has finished a rubric's tasks."""

    version: int = Field(1, ge=1, description="Raise it to ask everybody again")
    asks: tuple[Choice, ...] = ()
    writes: tuple[Written, ...] = ()

    @model_validator(mode="after")
    def _asks_about_no_record(self) -> Self:
        names = [*(ask.name for ask in self.asks), *(write.name for write in self.writes)]
        if not names:
            raise ValueError("a questionnaire asks something: name `asks`, `writes` or both")
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"{twice}: the name occurs twice")
        deciding = [ask.name for ask in self.asks if ask.decides or ask.about is not None]
        if deciding := [*deciding, *(write.name for write in self.writes if write.corrects)]:
            raise ValueError(f"{deciding[0]}: a questionnaire decides and corrects nothing")
        return self


class Change(Frozen):
    """A text that was changed, of which people are told."""

    title: str = Field(description="Its heading")
    before: str
    after: str


class Compared(Frozen):
    """What several people answered to the same question, or wrote into the same box."""

    title: str = Field(description="Its heading")
    answers: tuple[str, ...] = Field(description="One for each person, in the same order for all questions")


class Task(Record):
    """A record that a person is shown. `key` is made from the record and the sample, the id from what is shown."""

    DEFINES: ClassVar[tuple[str, ...]] = ("rubric", "version", "shown")

    rubric: str
    version: int = Field(description="The rubric's version")
    sample: str = Field("", description="Name of the rubric's sample; empty if people see every record")
    item_id: str
    item_key: str
    item_view: str = Field(description="The record's `view_hash`")
    language: str = Field(ENGLISH, description="Of the record")
    shown: Mapping[str, str | tuple[Turn, ...]] = Field(description="By name of the shown text")
    drafts: Mapping[str, str] = Field(
        default_factory=dict, description="The texts in the boxes at the start, by name of the box"
    )
    suggested: tuple[str, ...] = Field(
        (), description="Names of the drafts that a program suggests: not texts of the record until submitted"
    )
    left_out: Mapping[str, str] = Field(
        default_factory=dict, description="By name of the box, why a program suggests nothing for it"
    )
    returned: tuple[str, ...] = Field((), description="Names of the drafts that are the person's own, of earlier work")
    news: str = Field("", description="What its person is told first; plain text, a line for each thing")
    changes: tuple[Change, ...] = Field((), description="The changes that the news is about")
    compared: tuple[Compared, ...] = Field((), description="People's answers, shown side by side after the news")
    right_answers: Mapping[str, str] = Field(
        default_factory=dict, description="Of a gold task, by question; never shown"
    )
    why: str = Field("", description="Why the right answers are right; shown after a practice task")


def task_of(
    record: Record,
    rubric: Rubric,
    shown: Mapping[str, str | tuple[Turn, ...]],
    *,
    sample: str = "",
    drafts: Mapping[str, str] | None = None,
    suggested: Iterable[str] = (),
    left_out: Mapping[str, str] | None = None,
    right_answers: Mapping[str, str] | None = None,
) -> Task:
    """Return the task of a record.

    `drafts` are its own texts, which people may correct; `suggested` names those of a program, and `left_out` says why
    it has none for the others.
    """
    return Task(
        key=key_of("task", rubric.name, record.key, {"sample": sample} if sample else None),
        rubric=rubric.name,
        version=rubric.version,
        sample=sample,
        item_id=record.id,
        item_key=record.key,
        item_view=record.view_hash,
        language=getattr(record, "language", ENGLISH),
        shown=shown,
        drafts=drafts or {},
        suggested=tuple(sorted(suggested)),
        left_out=left_out or {},
        right_answers=right_answers or {},
    )
