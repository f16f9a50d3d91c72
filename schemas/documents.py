"""The documents family's records: questions whose answers stand in documents, and statements from them."""

from typing import ClassVar, Literal

from pydantic import Field

from schemas.base import Frozen, Provenance, Record, RowProvenance
from schemas.source import Place

Kind = Literal["fact", "number", "yes-no", "comparison", "two-step", "list"]

KINDS: tuple[Kind, ...] = ("fact", "number", "yes-no", "comparison", "two-step", "list")
Weighing = Literal[
    "contradict each other", "speak of different things", "can both be right", "do not both answer the question"
]
"""How two passages stand to each other that give different answers to a question."""
BESIDE: tuple[Weighing, ...] = ("speak of different things", "can both be right")
"""Of these, where a question's own answer holds as it is."""
DERIVED: tuple[Kind, ...] = ("yes-no", "comparison", "two-step")
"""Kinds whose answer follows from the evidence, and need not stand in it."""


class Span(Frozen):
    """A stretch of a row's evidence, word for word."""

    text: str = Field(min_length=1)
    start: int = Field(ge=0, description="In characters of the row's evidence")
    end: int = Field(ge=0, description="In characters of the row's evidence")


class DocumentPair(Record):
    """A question that people who use the documents would ask, with its answer and the passages that hold it."""

    DEFINES: ClassVar[tuple[str, ...]] = ("question", "answer", "kind", "evidence", "sentences", "steps")
    SHOWS: ClassVar[tuple[str, ...]] = ("question", "answer", "evidence", "sentences", "steps")
    TEXTS: ClassVar[tuple[str, ...]] = ("question", "evidence")
    BOOKKEEPING: ClassVar[tuple[str, ...]] = ("passages", "places")

    question: str = Field(description="Understood without the passages")
    answer: str = Field(description="In the evidence word for word, or derived from it in `steps`")
    kind: Kind = Field(description="What is asked for: a fact, a number or date, yes or no, ...")
    evidence: str = Field(description="The passage that holds the answer; two are separated by an empty line")
    sentences: tuple[Span, ...] = Field(min_length=1, description="The sentences of it that the answer rests on")
    steps: tuple[str, ...] = Field((), description="How a derived answer follows from the sentences")
    title: str | None = Field(None, description="Title of the document that the evidence is of")
    passages: tuple[str, ...] = Field(description="Keys of the passages in the evidence")
    places: tuple[Place, ...] = Field((), description="Where they stand; empty if their source has no documents")
    language: str
    provenance: RowProvenance


class OtherAnswer(Frozen):
    """What another passage answers to a question."""

    answer: str = Field(min_length=1)
    passage: str = Field(description="Key of the passage")
    weighed: Weighing | None = Field(description="How the two passages stand to each other; None if it is not known")
    why: str = Field(description="Why they stand so, or why it is not known")
    evidence: tuple[str, ...] = Field((), description="Its sentences that contradict the question's answer")


class ComparedQuestion(DocumentPair):
    """A question that was compared with the other passages, with the answers of those that give another one."""

    DEFINES: ClassVar[tuple[str, ...]] = (*DocumentPair.DEFINES, "others")

    others: tuple[OtherAnswer, ...] = Field((), description="Other passages' answers, which differ; the nearest first")

    @property
    def has_one_answer(self) -> bool:
        """Whether no other passage contradicts the question's own answer, or may do so."""
        return all(other.weighed in BESIDE for other in self.others)


class DocumentConflict(Record):
    """A question to which two passages of somebody's own documents give answers that contradict each other.

    The first is the passage that the question was asked of.
    """

    DEFINES: ClassVar[tuple[str, ...]] = (
        "question", "kind", "first_answer", "first_evidence", "first_sentences",
        "second_answer", "second_evidence", "second_sentences",
    )  # fmt: skip
    SHOWS: ClassVar[tuple[str, ...]] = (
        "question", "first_answer", "first_evidence", "first_sentences",
        "second_answer", "second_evidence", "second_sentences",
    )  # fmt: skip
    TEXTS: ClassVar[tuple[str, ...]] = ("question", "first_evidence", "second_evidence")
    BOOKKEEPING: ClassVar[tuple[str, ...]] = ("passages", "places")

    question: str = Field(description="Understood without the passages")
    kind: Kind = Field(description="What is asked for: a fact, a number or date, yes or no, ...")
    first_answer: str = Field(description="In the first evidence word for word, or derived from it")
    first_evidence: str = Field(description="The passage that holds it; two are separated by an empty line")
    first_sentences: tuple[Span, ...] = Field(min_length=1, description="The sentences of it that the answer rests on")
    first_title: str | None = Field(None, description="Title of the first document")
    second_answer: str = Field(description="In the second evidence word for word, or derived from it")
    second_evidence: str = Field(description="The passage that contradicts the first")
    second_sentences: tuple[Span, ...] = Field(min_length=1, description="The sentences of it that the answer rests on")
    second_title: str | None = Field(None, description="Title of the second document")
    passages: tuple[str, ...] = Field(min_length=2, description="Keys of the passages: the first's, and the second")
    places: tuple[Place, ...] = Field((), description="Where they stand; empty if their source has no documents")
    language: str
    provenance: RowProvenance


class DocumentStatement(Record):
    """A sentence of a document, understood wherever it stands."""

    DEFINES: ClassVar[tuple[str, ...]] = ("text", "sentence")
    TEXTS: ClassVar[tuple[str, ...]] = ("text",)

    text: str = Field(min_length=1)
    sentence: str = Field(description="The sentence of the document that it says, word for word")
    topic: str | None = Field(None, description="Title of the document")
    place: Place | None = Field(None, description="Where the passage with the sentence stands")
    language: str
    provenance: Provenance
