"""What LV-Eval asks of its builder (figure A7, sections 3.2.2 to 3.3, in our own words), and the form of an answer."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from flows.families.lveval import answer_keywords, confusing_facts, replacement_checks
from flows.families.lveval.candidates import Alternatives
from flows.llm.model import Invalid, Prompt, Text, first_json_object, require
from schemas.base import Frozen, Line
from schemas.lveval import LONGEST_FACT, Rule

HERE = Path(__file__).parent


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


def facts_in(answer: str) -> ConfusingFacts | None:
    """Return the two facts of an answer; None where it has another form."""
    try:
        return ConfusingFacts.model_validate(first_json_object(answer))
    except (ValidationError, Invalid):
        return None


def rules_in(answer: str) -> tuple[Rule, ...]:
    """Return those rules of an answer that have the form of a rule; none where it is no list of rules."""
    try:
        content = first_json_object(answer)
    except Invalid:
        return ()
    listed = content.get("rules") if isinstance(content, dict) else None
    rules = []
    for item in listed if isinstance(listed, list) else ():
        with suppress(ValidationError):
            rules.append(Rule.model_validate(item))
    return tuple(rules)


def _check_facts(asked: ToConfuse, given: ConfusingFacts) -> None:
    require(confusing_facts.facts_problem(asked, given.subject, given.object))


def _check_rules(asked: ToRename, given: RuleList) -> None:
    require(replacement_checks.rules_problem(asked, given.rules))


def _check_keywords(asked: ToMark, given: Keywords) -> None:
    require(answer_keywords.keywords_problem(asked.language, asked.answer, given.keywords))


CONFUSING_FACTS = Prompt(
    "confusing_facts", 3, ConfusingFacts, HERE, checks=(_check_facts,), max_tokens=1024, inputs=ToConfuse
)
REPLACEMENT_RULES = Prompt(
    "replacement_rules", 4, RuleList, HERE, checks=(_check_rules,), max_tokens=1024, inputs=ToRename
)
ANSWER_KEYWORDS = Prompt(
    "answer_keywords", 3, Keywords, HERE, checks=(_check_keywords,), temperature=0.0, max_tokens=128, inputs=ToMark
)
ANSWER_UNAIDED = Prompt("answer_unaided", 1, Text, HERE, temperature=0.0, max_tokens=64, inputs=ToAnswer)

BUILDER_PROMPTS: tuple[Prompt[Any], ...] = (CONFUSING_FACTS, REPLACEMENT_RULES, ANSWER_KEYWORDS, ANSWER_UNAIDED)
