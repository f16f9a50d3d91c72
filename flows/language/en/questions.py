"""English questions: the noun that they ask for, and the type of answer that their words call for."""

import re
from functools import lru_cache
from typing import NamedTuple

from flows.language.en.names import classes
from flows.language.en.phrases import ARTICLES, parts_of_speech
from flows.language.en.tokens import word_set
from flows.language.tables import word_list

NUMBER_QUESTION = re.compile(
    r"\bhow (?:many|much|long|old|far|tall|high|large|big|often|deep|fast|wide|heavy)\b|"
    r"\bwhat (?:percent|percentage|number|fraction|amount|is the population|was the population)",
    re.IGNORECASE,
)
DATE_QUESTION = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|month|day|century|decade|time period)", re.IGNORECASE
)
_PERSON_QUESTION = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
PLACE_QUESTION = re.compile(r"\bwhere\b|\b(?:in|to|from|at) (?:what|which) (?:place|location)", re.IGNORECASE)
TEAM_QUESTION = re.compile(
    r"\b(?:league|cup|super ?bowl|championships?|nba|nfl|mlb|nhl|world series|team|finals?|tournament|playoffs?)\b",
    re.I,
)
_FOCUS = re.compile(
    r"\b(?:what|which)\b\s*(?:(?:is|was|are|were|'s)\s+(?:the\s+)?)?((?:[\w'’-]+\s*){1,7})|^\s*(?:name|give)\s+(?:the|a)\s+((?:[\w'’-]+\s*){1,5})",
    re.IGNORECASE,
)
_FOCUS_ENDS = word_set("did do does is was were are has have had can could would will should in on at that who")
_FOCUS_SKIPPED = word_set("name names type types kind kinds sort form term word of the a an other two three")


class Focus(NamedTuple):
    """The noun that a question asks for ("which river ..."), with the type and class it calls for."""

    noun: str
    type: str | None
    group: str | None


@lru_cache(65536)
def focus(question: str) -> Focus | None:
    """Return the noun after the question word: the first that shows a type, else the last."""
    match = _FOCUS.search(question)
    if match is None:
        return None
    focuses = classes("focus")
    last = None
    for word in (match.group(1) or match.group(2) or "").lower().split():
        if word in _FOCUS_ENDS:
            break
        if word in ARTICLES and last is not None:
            return None
        if word in _FOCUS_SKIPPED:
            continue
        if word.endswith(("'s", "’s", "s'", "s’")):  # "which industry's positions": the owner is not asked for
            continue
        singular = word if word in focuses else word.removesuffix("s")
        if singular in focuses:
            return Focus(singular, *focuses[singular])
        if "NOUN" in parts_of_speech(word) and word not in NO_PART_OF_A_PHRASE:
            last = word
        elif last is not None:
            break
    return Focus(last, None, None) if last else None


def asks_person(question: str) -> bool:
    return _PERSON_QUESTION.search(question) is not None


def asked_gender(question: str) -> str:
    words = set(question.lower().split())
    if words & {"actress", "queen", "woman", "she", "her", "mother", "wife", "sister", "daughter", "princess", "girl"}:
        return "female"
    if words & {"actor", "king", "man", "he", "his", "father", "husband", "brother", "son", "prince", "pope"}:
        return "male"
    return "unknown"


def asked_sort(question: str) -> str:
    """Return the class or noun that the question asks for; empty if it names none."""
    asked = focus(question)
    if asked is not None:
        if asked.noun in _SAYS_NO_SORT or asked.type in ("number", "date"):
            return ""
        return asked.group if asked.group and asked.group not in _BROAD else asked.noun
    return "band" if BAND_QUESTION.search(question) else ""


_BROAD = frozenset(("work",))
"""Classes that the noun asked for narrows down: a song is no episode."""
BAND_QUESTION = re.compile(r"\bwho (?:sings?|sang|sung|performs?|performed|recorded|records)\b", re.IGNORECASE)
_SAYS_NO_SORT = word_list("en", "vague")
"""Words after "what" that name no sort of thing: "what was the first ...", "what is another ..."."""
NO_PART_OF_A_PHRASE = word_set("not no yes it its they their his her this these those that any some all both each")
