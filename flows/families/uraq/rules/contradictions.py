"""Conflicting evidence for other question answering data (section 4.1)."""

import random
import re
from collections.abc import Sequence

from flows.families.uraq.prompts import Contradiction, ToContradict
from flows.families.uraq.rules.facts import column, people
from flows.families.uraq.rules.substitutions import SWAPS, other_number
from flows.language import CannotReplace, en
from flows.llm.model import Invalid


def contradict(asked: ToContradict, rng: random.Random) -> Contradiction:
    """Another answer of the same kind, put in place of the old one throughout the evidence."""
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
