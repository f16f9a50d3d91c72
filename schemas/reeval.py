"""ReEval's records (Yu et al., 2024): seed cases, swapped answers, enriched contexts."""

from typing import ClassVar, Literal

from pydantic import Field

from schemas.base import Frozen, Provenance, Record

AnswerPosition = Literal["first", "middle", "last"]


class Edit(Frozen):
    """A stretch of the original evidence, and what stands in its place; `old` as it stood there."""

    old: str
    new: str


class Case(Record):
    """A question with one answer and its evidence, past the paper's filters (section 4.1)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("question", "answer", "aliases", "evidence", "title", "language", "pivot")

    question: str
    answer: str
    aliases: tuple[str, ...] = Field((), description="Other wordings of the answer that the source gives")
    evidence: str
    title: str | None = Field(None, description="Title of the page that the evidence is of")
    language: str = "en"
    pivot: str = Field(description="Role or model that decides on the case and perturbs it")
    source: str = Field(description="Format and name of the source: `squad:dev.json`")
    provenance: Provenance


class SwapCase(Record):
    """Category 1: the answer swapped for another throughout the evidence (section 3.1)."""

    DEFINES: ClassVar[tuple[str, ...]] = (
        "question", "answer", "original_answer", "evidence", "original_evidence", "pivot",
    )  # fmt: skip
    SHOWS: ClassVar[tuple[str, ...]] = ("question", "answer", "evidence")
    TEXTS: ClassVar[tuple[str, ...]] = ("question", "evidence", "original_evidence")
    BOOKKEEPING: ClassVar[tuple[str, ...]] = ("pivot", "source")

    question: str = Field(description="As the source asks it")
    answer: str = Field(description="The new answer, which the evidence supports")
    original_answer: str = Field(description="The source's answer")
    aliases: tuple[str, ...] = Field((), description="Other wordings of the original answer that the source gives")
    evidence: str = Field(description="With the new answer")
    original_evidence: str = Field(description="As the source has it")
    replacements: tuple[Edit, ...] = Field(
        description="The mentions of the original answer that were replaced, in order"
    )
    agreement: tuple[Edit, ...] = Field(
        (), description="Words outside them changed to agree with the new answer, in order"
    )
    answer_position: AnswerPosition | None = Field(
        description="Third of the evidence in which the answer starts; null where it does not occur exactly once"
    )
    language: str = Field("en", description="Code of its language")
    pivot: str = Field(description="Role or model that perturbed it")
    source: str = Field(description="Format and name of the source: `squad:dev.json`")
    provenance: Provenance = Field(
        description="Where it comes from: sources, prompts and models, the records it was made of, the seed"
    )


class PassageRef(Frozen):
    """A passage that an evidence was enriched with."""

    id: str
    title: str | None
    text: str


class EnrichedCase(Record):
    """Category 2: the evidence replaced by its supporting sentence among related passages (section 3.2)."""

    DEFINES: ClassVar[tuple[str, ...]] = (
        "question", "answer", "original_evidence", "evidence_question_focused", "evidence_evidence_focused", "pivot",
    )  # fmt: skip
    SHOWS: ClassVar[tuple[str, ...]] = (
        "question", "answer", "evidence_question_focused", "evidence_evidence_focused",
    )  # fmt: skip
    TEXTS: ClassVar[tuple[str, ...]] = (
        "question",
        "original_evidence",
        "evidence_question_focused",
        "evidence_evidence_focused",
    )
    BOOKKEEPING: ClassVar[tuple[str, ...]] = ("pivot", "source")

    question: str = Field(description="As the source asks it")
    answer: str = Field(description="The source's answer")
    aliases: tuple[str, ...] = Field((), description="Other wordings of the answer that the source gives")
    title: str | None = Field(None, description="Title of the page that the original evidence is of")
    original_evidence: str = Field(description="As the source has it")
    supporting_sentence: str = Field(description="As it stands in the original evidence")
    supporting_sentence_resolved: str = Field(description="The same, understood without what stood before it")
    evidence_question_focused: str = Field(description="The supporting sentence among passages near the question")
    evidence_evidence_focused: str = Field(description="The supporting sentence among passages near the evidence")
    passages_question_focused: tuple[PassageRef, ...] = Field(description="Those passages")
    passages_evidence_focused: tuple[PassageRef, ...] = Field(description="Those passages")
    language: str = Field("en", description="Code of its language")
    pivot: str = Field(description="Role or model that perturbed it")
    source: str = Field(description="Format and name of the source: `squad:dev.json`")
    provenance: Provenance = Field(
        description="Where it comes from: sources, prompts and models, the records it was made of, the seed"
    )
