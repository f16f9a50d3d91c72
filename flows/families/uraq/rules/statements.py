"""Statements and their manipulated variants (appendix A.1 to A.3), and conflicting evidence (section 4.1).

A statement outside the table of facts gets another number, another word from a list, or a negation.
"""

import random
import re
from collections.abc import Sequence
from functools import cache

from flows.families.uraq.prompts import (
    Contradiction,
    Manipulated,
    Statements,
    StatementsWanted,
    ToContradict,
    ToManipulate,
)
from flows.families.uraq.rules.facts import column, fact_of, facts, people
from flows.families.uraq.rules.operations import SERIES
from flows.families.uraq.rules.questions import COMMON_HOPS, assigned
from flows.language import CannotReplace, en
from flows.llm.model import Invalid
from schemas.base import content_hash

SWAPS: tuple[tuple[str, ...], ...] = (
    SERIES["month"],
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("north", "east", "south", "west"),
    ("northern", "eastern", "southern", "western"),
    ("largest", "smallest"),
    ("longest", "shortest"),
    ("highest", "lowest"),
    ("oldest", "youngest"),
    ("fastest", "slowest"),
    ("before", "after"),
    ("above", "below"),
    ("summer", "winter"),
)
"""Lists of words: a substitution takes the next word of a list, and the first after the last."""
AUXILIARIES = re.compile(r"\b(is|are|was|were|can|could|will|would|must|should|has|have|had)\b")
BOUND = re.compile(
    r"\b(?:more than|less than|fewer than|at least|at most|over|under|above|below|up to|nearly)\s+$", re.IGNORECASE
)
"""Words before a number that make it a bound. Two such statements can both be true."""
FULL_VERBS = {"has": "does not have", "have": "do not have", "had": "did not have"}
"""How `has` is negated if it is not the auxiliary of the perfect."""
PARTICIPLE = re.compile(r"\s+(been|\w+ed|\w+en|become|begun|come|done|found|gone|had|led|lost|made|met|run|set|won)\b")
SEVERAL_CLAUSES = re.compile(
    r"[,;:]|\b(when|while|if|although|though|because|since|until|unless|after|before|that|who|which|where|but|only)\b",
    re.IGNORECASE,
)
MAX_SUBJECT_WORDS = 6
"""The most words before the auxiliary: a longer subject mostly hides a clause."""
NEGATED = re.compile(r"\b(not|never|no|cannot|none|neither|nor|without|nothing|nobody)\b|n't\b", re.IGNORECASE)


def write_statements(wanted: StatementsWanted, rng: random.Random) -> Statements:
    """The next `count` unknown statements of a topic; none when the topic is exhausted.

    If no statement is known, earlier rounds are assumed to have taken the slices before.
    """
    earlier = {" ".join(statement.split()) for statement in wanted.known}
    rest = [statement for statement in statements_of(wanted.topic) if statement not in earlier]
    start = 0 if earlier else wanted.round * wanted.count
    return Statements(statements=tuple(rest[start : start + wanted.count]))


@cache
def statements_of(topic: str) -> tuple[str, ...]:
    """The statements of a topic: first those that have a question, the kinds of fact mixed."""
    asked = {*assigned(COMMON_HOPS, yes_no=False), *assigned(COMMON_HOPS, yes_no=True)}
    ordered = sorted(facts(), key=lambda fact: (fact.id not in asked, content_hash(fact.id)))
    return tuple(fact.statement for fact in ordered if fact.topic == topic)


def manipulate(asked: ToManipulate, rng: random.Random) -> Manipulated:
    """The wrong variant of a fact of the table; for any other statement, the result of the surface rules."""
    statement = asked.statement
    if (fact := fact_of(statement)) is not None:
        manipulation = "negation" if fact.kind == "yesno" else "substitution"
        return Manipulated(manipulated=fact.statement_with(fact.wrong), manipulation=manipulation)
    if (substituted := with_other_number(statement) or with_other_word(statement)) is not None:
        return Manipulated(manipulated=substituted, manipulation="substitution")
    if (negated := with_negation(statement)) is not None:
        return Manipulated(manipulated=negated, manipulation="negation")
    raise Invalid("no rule for this statement", statement)


# ---- surface rules ----


def with_other_number(statement: str) -> str | None:
    """The statement with its number changed, written as before; None unless exactly one number can change."""
    match = re.search(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.,]*\w)", statement)
    if match is None or len(re.findall(r"\d+(?:[.,]\d+)*", statement)) > 1:
        return None  # no number, a range, or figures that belong together
    if match[0] == "1" or BOUND.search(statement[: match.start()]):
        return None  # the noun would have to agree, or a larger number could be right as well
    return statement[: match.start()] + other_number(match[0]) + statement[match.end() :]


def other_number(text: str) -> str:
    """Another number in the same style: a year moves by some years, anything else grows by about half."""
    value = float(text.replace(",", ""))
    if re.fullmatch(r"1\d{3}|20\d\d", text):
        return str(int(value) + (17 if value < 2000 else -17))
    decimals = len(text.partition(".")[2])
    changed = value * 1.5 + (0 if decimals else 1)
    return f"{changed:,.{decimals}f}" if "," in text else f"{changed if decimals else int(changed):.{decimals}f}"


def with_other_word(statement: str) -> str | None:
    """The statement with its first word of `SWAPS` swapped; None if there is none."""
    following = {word: row[(place + 1) % len(row)] for row in SWAPS for place, word in enumerate(row)}
    for match in re.finditer(r"\w+", statement):
        # "May" at the start of a sentence is seldom the month.
        if match[0] in following and not (match[0] == "May" and match.start() == 0):
            return statement[: match.start()] + following[match[0]] + statement[match.end() :]
    return None


def with_negation(statement: str) -> str | None:
    """The statement with its auxiliary negated.

    None if there is no auxiliary, a negation already, or more than one clause: surface rules cannot know which
    clause to negate.
    """
    match = AUXILIARIES.search(statement)
    if match is None or NEGATED.search(statement) or SEVERAL_CLAUSES.search(statement):
        return None
    if AUXILIARIES.search(statement, match.end()) or len(statement[: match.start()].split()) > MAX_SUBJECT_WORDS:
        return None
    word = match[1]
    perfect = PARTICIPLE.match(statement, match.end())
    negated = "cannot" if word == "can" else FULL_VERBS.get(word, "") if not perfect else ""
    return statement[: match.start()] + (negated or f"{word} not") + statement[match.end() :]


# ---- conflicting evidence ----


def contradict(asked: ToContradict, rng: random.Random) -> Contradiction:
    """Another answer of the same kind, put in place of the old answer throughout the evidence."""
    if asked.answer.lower() in ("yes", "no"):
        raise Invalid("no rule for a yes/no answer", asked.answer)
    if not en.contains(asked.evidence, asked.answer):
        raise Invalid("answer is not in the evidence", asked.answer)
    other = _other_answer(asked, rng)
    try:
        return Contradiction(answer=other, evidence=en.replace(asked.evidence, asked.answer, other).text)
    except CannotReplace as error:
        raise Invalid("answer cannot be replaced", str(error)) from error


def _other_answer(asked: ToContradict, rng: random.Random) -> str:
    """A different answer of the same type that the evidence does not contain; raises `Invalid`."""
    answer = asked.answer
    if re.fullmatch(r"\d+(?:,\d{3})*(?:\.\d+)?", answer):
        candidates: Sequence[str] = [other_number(answer), other_number(other_number(answer))]
    elif row := next((row for row in SWAPS if answer in row), None):
        candidates = row
    elif re.search(r"\d", answer):
        candidates = [re.sub(r"\d+(?:,\d{3})*", lambda match: other_number(match[0]), answer)]
    else:
        candidates = _names_like(asked)
    taken = _words(f"{asked.evidence} {asked.question} {answer}")
    free = [name for name in candidates if not _words(name) & taken]
    if not free:
        raise Invalid("no other answer of the same kind", answer)
    return rng.choice(free)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))


def _names_like(asked: ToContradict) -> Sequence[str]:
    """Packaged names of the kind that the question asks for, a place or a person; none of any other kind."""
    answer, question = asked.answer, asked.question.lower()
    countries = tuple(column("known_countries", "name", "name"))
    states = tuple(column("known_states", "name", "name"))
    capitals = tuple(dict.fromkeys(column("known_countries", "name", "capital").values()))
    if not answer[0].isupper():
        return ()
    if answer in countries or answer in states:
        return countries if answer in countries else states
    if (place := re.search(r"\b(?:what|which) (city|town|capital|country)\b", question)) or answer in capitals:
        return countries if place and place[1] == "country" else capitals
    if en.answer_type(answer, asked.question) != "person" or en.gender(answer) is None:
        return ()
    size = len(answer.split())
    return tuple(name for name in people() if len(name.split()) == size and en.gender(name) == en.gender(answer))
