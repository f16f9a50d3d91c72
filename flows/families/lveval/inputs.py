"""The inputs and outputs of LV-Eval's prompts."""

from pydantic import Field

from flows.families.lveval.candidates import Alternatives
from schemas.base import Frozen, Line
from schemas.lveval import LONGEST_FACT, Rule


class ToConfuse(Frozen):
    """A question with the fact that answers it, to which confusing facts are wanted."""

    question: str
    answers: tuple[str, ...] = Field(description="The gold answer, then its other wordings")
    fact: str = Field(description="The supporting sentence, as it stands in its document")
    title: str = Field(description="What its document is about: title or first words; empty where it does not say")
    language: str
    documents: tuple[str, ...] = Field((), exclude=True, description="For the rules: the supporting documents whole")
    collection: tuple[str, ...] = Field((), exclude=True, description="For the rules: all documents of the dataset")
    seed: str = Field("", exclude=True, description="For the rules: seed of their random choices")


class ConfusingFacts(Frozen):
    """Two statements that resemble the sentence and do not answer the question."""

    subject: Line = Field(max_length=LONGEST_FACT, description="Says the like of another subject")
    object: Line = Field(max_length=LONGEST_FACT, description="Says something else of the same subject")


class ToRename(Frozen):
    """A pair in whose texts names are to be replaced."""

    question: str
    answers: tuple[str, ...]
    sentences: tuple[str, ...] = Field(description="The sentences of the supporting documents that matter")
    documents: tuple[str, ...] = Field((), description="The supporting documents whole, which rules are tried on")
    language: str
    most: int = Field(description="Rules wanted at most")
    candidates: tuple[Alternatives, ...] = Field(description="What other documents name of the same kinds")


class RuleList(Frozen):
    """Replacement rules."""

    rules: tuple[Rule, ...]


class ToMark(Frozen):
    """An answer whose keywords are to be marked."""

    question: str
    answer: str
    language: str


class Keywords(Frozen):
    """Words of the answer, in its order, with single spaces between."""

    keywords: Line


class ToAnswer(Frozen):
    """A question without any document."""

    question: str
    language: str
