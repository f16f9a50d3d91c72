"""Source records: rows of somebody's data, in the shapes that families read."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from schemas.base import Frozen, PromptRef, Record, SourceRef
from schemas.rubric import Turn

SourceDate = Annotated[
    str | None,
    Field(exclude_if=lambda value: value is None, description="The day that the source states for it, `2024-01-31`"),
]


class Statement(Record):
    """A short general fact (URAQ, appendix A.1)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("text",)

    text: str = Field(min_length=1)
    topic: str | None = None
    source: SourceRef | None = Field(None, description="None where a model wrote it")
    date: SourceDate = None
    written_by: PromptRef | None = Field(None, description="None where it comes from a source")


class SupportingDocument(Frozen):
    """A whole document that supports a question's answer."""

    id: str = Field(description="The id under which the same source gives it as a passage")
    title: str | None = Field(None, description="Title of the page that it is of")
    text: str = Field(min_length=1)


class QASource(Record):
    """A question with its gold answers and evidence; with both sides of a conflict if the source has them."""

    DEFINES: ClassVar[tuple[str, ...]] = ("question", "answers", "evidence", "sides")

    question: str
    answers: tuple[str, ...]
    answer_starts: tuple[int, ...] = Field(
        (),
        description="Where each answer starts in the evidence, in characters, as the source says; empty: it says none",
    )
    evidence: str | None = Field(None, description="The supporting text; None where the source has only sides")
    documents: tuple[SupportingDocument, ...] = Field(
        (), description="The supporting documents one by one, where the source has several; empty: the evidence is it"
    )
    sentences: tuple[str, ...] = Field(
        (), exclude_if=lambda value: not value, description="Those of the evidence that the answer rests on, word for "
        "word; empty: the source does not say"
    )  # fmt: skip
    title: str | None = Field(None, description="Title of the page that the evidence is of")
    sides: tuple[tuple[str, str], ...] = Field(
        (), description="(answer, evidence) of each side of a conflict, as the source brings them"
    )
    source: SourceRef
    date: SourceDate = None
    format: str = Field(description="The source's format: squad, hotpotqa, conflictqa, ...")
    language: str = "en"
    part: str | None = Field(
        None, exclude_if=lambda value: value is None, description="Of a part of the same configuration, its name"
    )


class Place(Frozen):
    """Where a passage stands in a document."""

    document: str = Field(description="The document's path below the folder that the source names, or its address")
    title: str | None = Field(None, description="The document's title")
    headings: tuple[str, ...] = Field((), description="The headings that all of it stands under, from the top")
    page: int | None = Field(None, description="The page on which it begins, from 1; of slides the slide's number")
    start: int = Field(ge=0, description="In characters of the document's text")
    end: int = Field(ge=0, description="In characters of the document's text")
    checksum: str = Field(description="SHA-256 of the document's bytes")
    date: str | None = Field(
        None, description="The day that the document itself states, `2024-01-31`: of its last change, or of its making"
    )

    def __str__(self) -> str:
        """As people read it: `handbook.pdf, page 12, "Travel / Reimbursement"`."""
        page = f", page {self.page}" if self.page is not None else ""
        headings = f', "{" / ".join(self.headings)}"' if self.headings else ""
        return f"{self.document}{page}{headings}"

    @property
    def dated(self) -> str:
        """The same with the document's date, if it states one: `handbook.pdf, page 12 (2024-01-31)`."""
        return f"{self} ({self.date})" if self.date else str(self)


class Passage(Record):
    """A stretch of a page, to be retrieved (ReEval, section 3.2) or mixed into a context."""

    DEFINES: ClassVar[tuple[str, ...]] = ("title", "text", "language")

    title: str | None = Field(None, description="Title of the page that it is of")
    text: str = Field(min_length=1)
    source: SourceRef
    date: SourceDate = None
    language: str = "en"
    place: Place | None = Field(
        None, exclude_if=lambda value: value is None, description="Of a document's passage, where it stands in it"
    )
    part: str | None = Field(
        None, exclude_if=lambda value: value is None, description="Of a part of the same configuration, its name"
    )


class Dialogue(Record):
    """A dialogue up to a user's utterance, with knowledge, and a response that follows from it (CHARPEval, 2.1)."""

    DEFINES: ClassVar[tuple[str, ...]] = (
        "history", "last_utterance", "hard_utterance", "easy_utterance", "knowledge", "response", "distractors",
    )  # fmt: skip

    history: tuple[Turn, ...] = Field(description="Turns of `User` and `Bot` before the last utterance")
    last_utterance: str = Field("", description="The user's, as the source has it; empty where it has none")
    hard_utterance: str = Field("", description="One that the response answers by the history; empty: not given")
    easy_utterance: str = Field("", description="One that the response answers without it; empty: not given")
    knowledge: str = Field(description="As the source has it; may be empty")
    response: str = Field(description="As the source has it; may be empty")
    distractors: Mapping[str, str] = Field(
        default_factory=dict, description="Type -> wrong response, as CHARPEval published it; empty: not given"
    )
    attributed: bool = Field(False, description="The source vouches that the response follows from the knowledge")
    note: str = Field("", description="What a reader of the provenance should know: `the response is model output`")
    source: SourceRef
    date: SourceDate = None
    format: str = Field(description="The source's format: charp, faithdial, topical-chat, ...")
    language: str = "en"


class Assignment(Record):
    """Something a user gives a model to work on (RefuteBench 2.0, section 4.1): the X of an initial query."""

    DEFINES: ClassVar[tuple[str, ...]] = ("task", "given", "text", "reference", "language")

    task: str = Field("", description="What it is for, where the source says: of a released seed its task")
    given: Literal["text", "headline", "post", "prompt", "request"] = Field(
        "text", description="What the text is; a `request` is a whole query by itself"
    )
    text: str = Field(min_length=1)
    reference: str = Field("", description="What a person made of it: a translation, a summary; empty: not given")
    source: SourceRef
    date: SourceDate = None
    format: str = Field(description="The source's format: ntrex, scitldr, writingbench, ...")
    language: str = "en"
