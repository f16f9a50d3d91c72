"""ReEval's prompts to its pivot (tables 8 and 9, in our own words), with the form of each answer."""

from pathlib import Path
from typing import Any

from pydantic import Field

from flows.families.reeval.checks.alternative import alternative_problem, repeated_problem
from flows.families.reeval.checks.passage import condensed_problem, merged_problem, objection_problem
from flows.families.reeval.checks.sentence import resolved_problem, sentence_problem
from flows.families.reeval.checks.swap import restored, swap_problem
from flows.families.reeval.inference import ANSWERS
from flows.llm.model import Prompt, require
from schemas.base import Frozen

HERE = Path(__file__).parent


class ToAlter(Frozen):
    """An answer to be exchanged for another."""

    question: str
    answer: str
    aliases: tuple[str, ...]
    evidence: str
    language: str
    title: str | None = None
    others: tuple[str, ...] = Field((), description="For the rules: numbers or dates of its kind that others ask for")
    before: tuple[str, ...] = Field((), description="The alternatives of earlier versions, none of which is wanted")
    seed: str = Field("", description="For the rules: seeds the choice among the alternatives")


class Alternative(Frozen):
    """A wrong answer of the same type."""

    answer: str = Field(description="Empty where no other fits the passage")


class ToReplace(Frozen):
    """An evidence in which one answer is to be replaced by another."""

    answer: str
    aliases: tuple[str, ...]
    alternative: str
    evidence: str
    language: str


class Replaced(Frozen):
    """The evidence with the other answer."""

    evidence: str


class ToSelect(Frozen):
    """An evidence of which one sentence is to be selected."""

    question: str
    answer: str
    evidence: str
    language: str


class Sentence(Frozen):
    """One sentence."""

    sentence: str


class ToResolve(Frozen):
    """A sentence with words that may need the text before it."""

    question: str
    sentence: str
    leaning: str | None = Field(description="What in it certainly does")
    before: str = Field(description="The sentence before it; empty where it is the first")
    evidence: str
    title: str | None
    answer: str
    language: str


class ToCondense(Frozen):
    """Passages to be condensed into one."""

    question: str = Field(description="What the text made of them must give no other answer to")
    answer: str
    passages: tuple[str, ...]
    titles: tuple[str | None, ...] = Field((), description="Of their pages, as far as they have any")
    most: int = Field(description="Words of the text, or characters in Chinese, at the most")
    language: str


class Objection(Frozen):
    """What an editor objects to in a passage."""

    sentence: str = Field(description="Word for word as in the passage")
    reason: str


class ToMerge(Frozen):
    """A supporting sentence to be worked into a condensed text."""

    question: str
    sentence: str
    condensed: str
    passages: tuple[str, ...] = Field(description="What the text was condensed from, for the checks")
    answer: str
    place: float = Field(description="Where the sentence goes: 0 for the start, 1 for the end")
    language: str
    most: int = Field(description="Words, or characters, that the two may have when they are merged")
    evidence: str = Field("", description="What the sentence is from, to mend an objection with")
    merged: str = Field("", description="What was made of them before, where it was objected to")
    objections: tuple[Objection, ...] = ()


class Passage(Frozen):
    """One passage."""

    text: str = Field(description="Empty where what it is to be made of does not go together")


class ToRead(Frozen):
    """A passage as its readers see it, with nothing beside it."""

    passage: str
    language: str


class Reading(Frozen):
    """What an editor would have to be mended before a passage is printed."""

    objections: tuple[Objection, ...]


def _check_alternative(asked: ToAlter, answer: Alternative) -> None:
    if answer.answer:
        require(alternative_problem(asked, answer.answer))
        require(repeated_problem(answer.answer, asked.before, asked.language))


def _check_replaced(asked: ToReplace, answer: Replaced) -> None:
    evidence = restored(asked.evidence, answer.evidence)
    require(swap_problem(asked.language, asked.evidence, asked.answer, asked.aliases, asked.alternative, evidence))


def _check_sentence(asked: ToSelect, answer: Sentence) -> None:
    require(sentence_problem(asked.language, asked.evidence, asked.answer, answer.sentence))


def _check_resolved(asked: ToResolve, answer: Sentence) -> None:
    require(
        resolved_problem(
            asked.language, asked.question, asked.sentence, asked.answer, answer.sentence, asked.title, asked.evidence
        )
    )


def _check_condensed(asked: ToCondense, answer: Passage) -> None:
    if answer.text.strip():
        require(condensed_problem(asked.language, asked.passages, answer.text))


def _check_merged(asked: ToMerge, answer: Passage) -> None:
    if answer.text.strip():
        require(
            merged_problem(
                asked.language, asked.sentence, asked.condensed, asked.answer, answer.text, asked.passages, asked.most,
                objected=[objection.sentence for objection in asked.objections],
            )
        )  # fmt: skip


def _check_reading(asked: ToRead, answer: Reading) -> None:
    for objection in answer.objections:
        require(objection_problem(asked.passage, objection.sentence))


# methods/reeval.md: generation at temperature 1, with 100 tokens for an answer, 3,000 for a rewrite and 1,000
# in category 2. A JSON object takes some more than its text.
ALTERNATIVE_ANSWER = Prompt(
    "alternative_answer", 5, Alternative, HERE, role="pivot", checks=(_check_alternative,), max_tokens=128,
    inputs=ToAlter,
)  # fmt: skip
REPLACE_ANSWER = Prompt(
    "replace_answer", 3, Replaced, HERE, role="pivot", checks=(_check_replaced,), max_tokens=3072, inputs=ToReplace
)
SELECT_SENTENCE = Prompt(
    "select_sentence", 4, Sentence, HERE, role="pivot", checks=(_check_sentence,), max_tokens=1024, inputs=ToSelect
)
RESOLVE_SENTENCE = Prompt(
    "resolve_sentence", 8, Sentence, HERE, role="pivot", checks=(_check_resolved,), max_tokens=1024, inputs=ToResolve
)
CONDENSE = Prompt(
    "condense", 7, Passage, HERE, role="pivot", checks=(_check_condensed,), max_tokens=1024, inputs=ToCondense
)
MERGE = Prompt("merge", 7, Passage, HERE, role="pivot", checks=(_check_merged,), max_tokens=1024, inputs=ToMerge)
READ_PASSAGE = Prompt(
    "read_passage", 1, Reading, HERE, checks=(_check_reading,), temperature=0.0, max_tokens=1024, inputs=ToRead
)

PROMPTS: tuple[Prompt[Any], ...] = (
    *ANSWERS, ALTERNATIVE_ANSWER, REPLACE_ANSWER, SELECT_SENTENCE, RESOLVE_SENTENCE, CONDENSE, MERGE,
    READ_PASSAGE,
)  # fmt: skip
