"""Statements and their manipulated variants (appendix A.1 to A.3)."""

import random
from functools import cache

from flows.families.uraq.prompts import Manipulated, Statements, StatementsWanted, ToManipulate
from flows.families.uraq.rules.facts import Fact, facts
from flows.families.uraq.rules.questions import COMMON_HOPS, assigned
from flows.families.uraq.rules.substitutions import with_negation, with_other_number, with_other_word
from flows.llm.model import Invalid
from schemas.base import content_hash


def write_statements(wanted: StatementsWanted, rng: random.Random) -> Statements:
    """The next `count` unknown statements of a topic; none when the topic is exhausted.

    If no statement is known, earlier rounds are assumed to have taken the slices before.
    """
    known = {" ".join(statement.split()) for statement in wanted.known}
    rest = [statement for statement in statements_of(wanted.topic) if statement not in known]
    start = 0 if known else wanted.round * wanted.count
    return Statements(statements=tuple(rest[start : start + wanted.count]))


@cache
def statements_of(topic: str) -> tuple[str, ...]:
    """The statements of a topic: first those that have a question, the kinds of fact mixed."""
    asked = {*assigned(COMMON_HOPS, yes_no=False), *assigned(COMMON_HOPS, yes_no=True)}
    ordered = sorted(facts(), key=lambda fact: (fact.id not in asked, content_hash(fact.id)))
    return tuple(fact.statement for fact in ordered if fact.topic == topic)


def manipulate(asked: ToManipulate, rng: random.Random) -> Manipulated:
    """The wrong variant of a fact of the table; of any other statement, what the surface rules give."""
    statement = asked.statement
    if (fact := fact_of(statement)) is not None:
        manipulation = "negation" if fact.kind == "yesno" else "substitution"
        return Manipulated(manipulated=fact.said(fact.wrong), manipulation=manipulation)
    if (substituted := with_other_number(statement) or with_other_word(statement)) is not None:
        return Manipulated(manipulated=substituted, manipulation="substitution")
    if (negated := with_negation(statement)) is not None:
        return Manipulated(manipulated=negated, manipulation="negation")
    raise Invalid("no rule for this statement", statement)


def fact_of(statement: str) -> Fact | None:
    """The fact whose true statement this is, whatever its white space and full stop."""
    return _facts_by_statement().get(_plain(statement))


@cache
def _facts_by_statement() -> dict[str, Fact]:
    return {_plain(fact.statement): fact for fact in facts()}


def _plain(sentence: str) -> str:
    return " ".join(sentence.split()).rstrip(".")
