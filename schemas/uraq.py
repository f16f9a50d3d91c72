"""URAQ's records: pairs of statements, questions on them, and evaluation rows (paper, appendix A)."""

from typing import ClassVar, Literal

from pydantic import Field

from schemas.base import Frozen, Provenance, Record, RowProvenance

AnswerType = Literal["number", "boolean", "entity"]
Manipulation = Literal["substitution", "negation"]
StepKind = Literal["recall", "arithmetic", "comparison", "logic"]
Setting = Literal["match", "conflict", "irrelevant"]
Need = Literal["context-exclusive", "context-first", "memory-first"]

SETTINGS: tuple[Setting, ...] = ("match", "conflict", "irrelevant")
NEEDS: tuple[Need, ...] = ("context-exclusive", "context-first", "memory-first")
DONT_KNOW = "I don't know"
MAX_HOPS = 5  # appendix A.4: "between 1 to 5 reasoning steps"


class StatementPair(Record):
    """A statement kept by dedupe and its manipulated variant (appendix A.2 and A.3)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("original", "manipulated", "manipulation")
    TEXTS: ClassVar[tuple[str, ...]] = ("original", "manipulated")

    original: str
    manipulated: str
    manipulation: Manipulation
    topic: str | None = None
    provenance: Provenance


class Step(Frozen):
    """One inference the answer depends on, and what it gives from either statement."""

    kind: StepKind = Field(
        description="recall: read off the statement or known; arithmetic: computed; "
        "comparison: of entities or quantities; logic: anything else that follows"
    )
    text: str = Field(min_length=1, description="The inference in words, without its result")
    original: str = Field(description="Its result when the original statement holds")
    manipulated: str = Field(description="Its result when the manipulated statement holds")


class UraqItem(Record):
    """A question with an answer from either statement (appendix A.4 to A.6)."""

    DEFINES: ClassVar[tuple[str, ...]] = (
        "original", "manipulated", "question", "steps", "answer_type", "answer_original", "answer_manipulated",
    )  # fmt: skip
    SHOWS: ClassVar[tuple[str, ...]] = DEFINES
    TEXTS: ClassVar[tuple[str, ...]] = ("question", "original", "manipulated")

    original: str = Field(description="The true statement")
    manipulated: str = Field(description="The same statement, made false")
    manipulation: Manipulation = Field(description="How it was made false")
    question: str = Field(description="Of several steps, with one answer from each statement")
    hops: int = Field(ge=1, le=MAX_HOPS, description="Steps that the answer depends on")
    steps: tuple[Step, ...] = Field(description="Them, in order")
    answer_type: AnswerType = Field(description="What kind of answer is asked for")
    answer_original: str = Field(description="The ground truth (appendix A.6)")
    answer_manipulated: str = Field(description="The answer where the manipulated statement holds")
    single_hop_question: str = Field(description="Asks for the original statement's fact alone; for pre-screening")
    single_hop_answer: str = Field(description="Its answer")
    topic: str | None = Field(None, description="What the statement is about; null where it came without")
    provenance: RowProvenance


class Conflict(Record):
    """A question of another data set, with evidence for its answer and for a conflicting one."""

    DEFINES: ClassVar[tuple[str, ...]] = (
        "question", "original", "manipulated", "answer_type", "answer_original", "answer_manipulated",
    )  # fmt: skip
    SHOWS: ClassVar[tuple[str, ...]] = DEFINES
    TEXTS: ClassVar[tuple[str, ...]] = ("question", "original", "manipulated")

    question: str
    original: str = Field(description="The evidence that supports the ground truth")
    manipulated: str = Field(description="The evidence that supports the other answer")
    answer_original: str
    answer_manipulated: str
    answer_type: AnswerType
    source: str = Field(description="The source's format and file")
    provenance: Provenance


class EvaluationRow(Record):
    """A question in one context setting, among `n_contexts` contexts (sections 3 and 4.2)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("item_id", "setting", "n_contexts", "contexts", "question", "expected")
    TEXTS: ClassVar[tuple[str, ...]] = ("question", "contexts")
    BOOKKEEPING: ClassVar[tuple[str, ...]] = ("item_id",)

    item_id: str = Field(description="A row of items or of conflicts")
    setting: Setting = Field(description="What the contexts hold: the right evidence, the conflicting one, or none")
    n_contexts: int = Field(ge=1, description="How many contexts there are")
    contexts: tuple[str, ...] = Field(description="What a model is given, in this order")
    relevant_index: int | None = Field(description="Place of the relevant context; null in irrelevant")
    question: str = Field(description="What it is asked")
    answer_type: AnswerType = Field(description="What kind of answer is asked for")
    dataset: str = Field(description="`uraq`, or the source of the conflict it asks about")
    expected: dict[Need, str] = Field(description="The right answer under each user need (figure 2)")
    provenance: RowProvenance
