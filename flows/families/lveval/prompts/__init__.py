"""The prompts of LV-Eval's builder (figure A7, sections 3.2.2 to 3.3, in our own words), and how answers are read."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flows.families.lveval import answer_keywords, confusing_facts, replacement_checks
from flows.families.lveval.inputs import ConfusingFacts, Keywords, RuleList, ToAnswer, ToConfuse, ToMark, ToRename
from flows.llm.model import Invalid, Prompt, Text, first_json_object, require
from schemas.lveval import Rule

HERE = Path(__file__).parent


def facts_in(answer: str) -> ConfusingFacts | None:
    """Return the two facts of an answer; None if it has another form."""
    try:
        return ConfusingFacts.model_validate(first_json_object(answer))
    except (ValidationError, Invalid):
        return None


def rules_in(answer: str) -> tuple[Rule, ...]:
    """Return the rules of an answer that have the form of a rule; none if it is no list of rules."""
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


def _check_facts(asked: ToConfuse, answer: ConfusingFacts) -> None:
    require(confusing_facts.facts_problem(asked, answer.subject, answer.object))


def _check_rules(asked: ToRename, answer: RuleList) -> None:
    require(replacement_checks.rules_problem(asked, answer.rules))


def _check_keywords(asked: ToMark, answer: Keywords) -> None:
    require(answer_keywords.keywords_problem(asked.language, asked.answer, answer.keywords))


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
