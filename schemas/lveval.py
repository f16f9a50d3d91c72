"""LV-Eval's records (Yuan et al., 2024): pairs, what is mixed around them, and the finished contexts."""

import hashlib
import re
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from schemas.base import Frozen, Line, Provenance, Record, SourceRef

AnswerTest = Literal["whole-word", "with-question-word", "none"]
"""How it was made sure that no distracting document answers the question."""
Changed = Literal["subject", "object"]
PositionKind = Literal["support", "confusing"]

_ARROW = re.compile(r"\s*(?:->|=>|→)\s*")
_SIDES = 2
LONGEST_SIDE = 100
"""Characters of a keyword or a substitute, at most."""
LONGEST_FACT = 1000
"""Characters of a confusing fact, at most; the paper's have up to 100 words (figure A10)."""


class Document(Frozen):
    """A document that supports an answer, as it goes into a context."""

    id: str = Field(description="The source's name and its own id of the document")
    text: str = Field(min_length=1)


class Rule(Frozen):
    """A keyword or phrase, and what stands in its place everywhere (section 3.2.3)."""

    old: Line = Field(min_length=1, max_length=LONGEST_SIDE)
    new: Line = Field(min_length=1, max_length=LONGEST_SIDE)

    def __str__(self) -> str:
        """As people write it."""
        return f"{self.old} -> {self.new}"


class FactRecord(Frozen):
    """A fact to be recalled, written by hand with all that belongs to it (figures A10 and A11)."""

    question: str = Field(min_length=1)
    answers: tuple[str, ...] = Field(min_length=1)
    fact: str = Field(min_length=1, description="The supporting text, which holds the first answer")
    keywords: str = Field("", description="Words of the first answer that a prediction has to hold")
    confusing_facts: tuple[str, ...] = ()
    replacements: tuple[Rule, ...] = ()


class Pair(Record):
    """A question with its answers and supporting documents, selected for a dataset (appendix A)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("dataset", "question", "answers", "documents", "language", "written")
    SHOWS: ClassVar[tuple[str, ...]] = ("question", "answers")

    dataset: str = Field(description="Name in the configuration: `hotpotwikiqa-mixup`")
    question: str
    answers: tuple[str, ...] = Field(min_length=1)
    documents: tuple[Document, ...] = Field(min_length=1)
    sentences: tuple[str, ...] = Field(
        (), description="Those of the documents that the answer rests on; empty: the source does not say"
    )
    language: str
    source: str = Field(description="Format and name of the source: `squad:dev.json`")
    row: str = Field(description="The source's own id of its row")
    written: FactRecord | None = Field(None, description="Fact recall: what the pair was made from")
    provenance: Provenance


class PoolDocument(Record):
    """A document that may distract in the contexts of a dataset (section 3.2.1)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("dataset", "text", "language")

    dataset: str
    text: str = Field(min_length=1)
    language: str
    source: SourceRef


class Confusion(Record):
    """Two sentences that resemble what a question asks about, as the builder wrote them (figure A7)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("pair_id", "facts", "refused")

    pair_id: str
    dataset: str
    question: str
    answers: tuple[str, ...]
    original_fact: str = Field(description="The supporting sentence that they resemble")
    facts: tuple[str, str] = Field(description="One changes its subject, the other its object")
    refused: tuple[str, str] = Field(("", ""), description="Why each is no confusing fact; empty where it is one")
    language: str
    provenance: Provenance


class ConfusingFact(Record):
    """A sentence that resembles what a question asks about and does not answer it (section 3.2.2)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("pair_id", "changes", "fact")
    SHOWS: ClassVar[tuple[str, ...]] = ("question", "answers", "original_fact", "fact")

    pair_id: str
    dataset: str
    question: str
    answers: tuple[str, ...]
    original_fact: str = Field(description="The supporting sentence that it resembles")
    changes: Changed = Field(description="What of the original fact it changes")
    fact: Line = Field(min_length=1, max_length=LONGEST_FACT)
    language: str
    provenance: Provenance


def _single_spaced(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value


def _of_lines(value: object) -> object:
    """Rules as people write them, one rule per line: `keyword -> substitute`."""
    if not isinstance(value, str):
        return value
    rules = []
    for line in filter(None, map(str.strip, value.splitlines())):
        sides = _ARROW.split(line)
        if len(sides) != _SIDES or not all(sides):
            raise ValueError(f"{line!r} is no rule; write `keyword -> substitute`")
        rules.append(Rule(old=sides[0], new=sides[1]))
    return tuple(rules)


Rules = Annotated[tuple[Rule, ...], BeforeValidator(_of_lines)]


class Conflict(Frozen):
    """Where a rule does harm."""

    old: str = Field(description="The rule's keyword")
    kind: str
    excerpt: str = Field(description="The sentence that shows it, or the rule that it does not go with")

    def __str__(self) -> str:
        """As people read it."""
        return f"{self.old}: {self.kind}: {self.excerpt}"


class Replacements(Record):
    """The replacement rules of a pair. People write them, one rule per line: `keyword -> substitute`."""

    DEFINES: ClassVar[tuple[str, ...]] = ("pair_id", "rules")
    SHOWS: ClassVar[tuple[str, ...]] = ("question", "answers", "excerpts", "rules")

    pair_id: str
    dataset: str
    question: str
    answers: tuple[str, ...]
    excerpts: tuple[str, ...] = Field(description="The sentences of the supporting documents that hold a keyword")
    rules: Rules
    lost: tuple[Conflict, ...] = Field((), description="Rules of the builder that cannot be applied, and why")
    language: str
    provenance: Provenance


class RuleConflicts(Record):
    """A pair's rules with what speaks against them; people revise the rules until nothing does (section 3.2.3)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("pair_id", "rules", "conflicts")
    SHOWS: ClassVar[tuple[str, ...]] = ("question", "answers", "conflicts", "rules")

    pair_id: str
    dataset: str
    question: str
    answers: tuple[str, ...]
    rules: Rules
    conflicts: tuple[Conflict, ...]
    language: str
    provenance: Provenance


class AnswerKeywords(Record):
    """The words of an answer that a right prediction has to hold (section 3.3)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("pair_id", "keywords")
    SHOWS: ClassVar[tuple[str, ...]] = ("question", "answer", "keywords")

    pair_id: str
    dataset: str
    question: str
    answer: str
    keywords: Annotated[Line, BeforeValidator(_single_spaced)] = Field(
        description="Words of the answer, in its order, with single spaces between"
    )
    language: str
    provenance: Provenance


class Position(Frozen):
    """Where a supporting document or a confusing fact stands: `context[start:end]`, in characters."""

    kind: PositionKind
    source: str = Field(description="Id of the supporting document, or of the confusing fact")
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class SourceDocument(Frozen):
    """A supporting document before any replacement."""

    id: str
    sha256: str = Field(description="Of its text in UTF-8")

    @classmethod
    def of(cls, document: Document) -> "SourceDocument":
        """The document by its checksum."""
        return cls(id=document.id, sha256=hashlib.sha256(document.text.encode()).hexdigest())


class Features(Frozen):
    """What a reader has to know of a dataset that is none of the paper's, to ask and to score."""

    task: str = Field(description="Its type in figure 4: `single-hop-cqa`")
    metric: str = Field(description="Name of the released metric: `qa_f1_score_with_gold_ans`")
    replacements: bool = Field(description="Names are replaced throughout")


class LongContext(Record):
    """A finished row: a question, and a context of a length level that holds its answer (table 2).

    `input` to `confusing_facts` are the benchmark's own fields. All texts are as they stand after
    replacement; `replacements` undo it.
    """

    DEFINES: ClassVar[tuple[str, ...]] = (
        "pair_id", "dataset", "depth", "input", "answers", "answer_keywords", "confusing_facts", "context_xxh3",
    )  # fmt: skip
    TEXTS: ClassVar[tuple[str, ...]] = ("input", "context")
    BOOKKEEPING: ClassVar[tuple[str, ...]] = ("pair_id", "sources")

    input: str = Field(description="The question")
    context: str = Field(description="What holds its answer, and much else")
    answers: tuple[str, ...] = Field(description="The right answers; one of them is enough")
    length: int = Field(description="Words of the context (characters in Chinese), white space not counted")
    dataset: str = Field(description="The released name with its level: `hotpotwikiqa_mixup_16k`")
    language: str = Field(description="Code of its language")
    answer_keywords: str = Field(description="Empty where the dataset has none")
    confusing_facts: tuple[str, ...] = Field(description="Written to mislead, and put into the context")
    pair_id: str = Field(description="Of the question, the same at every level")
    level: str = Field(description="`16k`")
    depth: int | None = Field(description="Fact recall: which of the 200 places the fact stands at, 0 to 199")
    answer_test: AnswerTest = Field(description="How it was made sure that the answer stands in no other place")
    positions: tuple[Position, ...] = Field(description="In the order of the context")
    replacements: tuple[Rule, ...] = Field(description="Names that were replaced throughout, and by what")
    sources: tuple[SourceDocument, ...] = Field(description="The documents that support the answer, by checksum")
    context_xxh3: str = Field(
        description="XXH3 checksum of the context in UTF-8, 128 bits: what names the row has to change with it"
    )
    reviewed: bool = Field(False, description="People accepted its facts, rules and keywords")
    provenance: Provenance = Field(
        description="Where it comes from: sources, prompts and models, the records it was made of, the seed"
    )
    features: Features | None = Field(
        None, exclude_if=lambda value: value is None,
        description="Of a dataset that is none of the paper's: its task, its metric, and whether names are replaced",
    )  # fmt: skip
