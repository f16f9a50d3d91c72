"""Checks which answers can replace a case's answer (section 3.1)."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Protocol

from flows.families.reeval.filters import LANGUAGES, MOST_CHARACTERS
from flows.language import Language, language_of
from flows.language.choices import is_choice
from flows.llm.model import Problem
from flows.scoring.qa import exact_match
from schemas.base import odd_character

LEAST_SHARED = 3
"""A Chinese answer and its question name the same thing if they share this many characters in a row."""

_MARKUP = re.compile(r"<[^<>]*>|\[/?\w+\]")
_HAN = re.compile(r"[㐀-鿿豈-﫿]")
_SPACED = re.compile(r"[㐀-鿿豈-﫿]\s+[㐀-鿿豈-﫿]")
_NAME_WORD = re.compile(r"[A-ZÀ-Þ][^\W\d_]{2,}")
_JOINED = re.compile(r"[^\W\d_]+(?:[-‐‑–/][^\W\d_]+)+")
"""A compound of several words with a hyphen, a dash or a slash."""
_NO_ANSWER = re.compile(
    r"none|nothing|nobody|no one|nowhere|never|unknown|n/?a|not (?:applicable|known|available|stated)|"
    r"(?:i )?do(?:n['’]?t| not) know|(?:there is )?no (?:other )?answer|true|false|yes|no|it|he|she|they|this|that|"
    r"无|没有|未知|不知道|不详|不明|是|否|他|她|它",
    re.IGNORECASE,
)
"""Stands for a missing answer; yes and no answer other questions than ours."""


class Answered(Protocol):
    """A question with its answer, its evidence and the title of the evidence's page."""

    @property
    def question(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...
    @property
    def evidence(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def language(self) -> str: ...


def alternative_problem(case: Answered, alternative: str) -> Problem:
    """Return why `alternative` cannot replace the answer.

    It must be short plain text. It names something other than the answer and its aliases: each has a word that the
    other lacks ("South Goa" for "North Goa"). It is neither in the evidence nor in the question, unless that asks
    to choose between the two. A word that the question has too stays in it ("Goa"). A number replaces only a number,
    a date a date.
    """
    return _form_problem(case, alternative) or _meaning_problem(case, alternative) or _place_problem(case, alternative)


def _form_problem(case: Answered, alternative: str) -> Problem:
    """Return why it is not a short plain text in the passage's language."""
    limits = LANGUAGES[case.language]
    markup = _MARKUP.search(alternative)
    if (unfit := markup[0] if markup else odd_character(alternative)) is not None:
        return "alternative is no plain text", f"{unfit!r} must not stand in it"
    if case.language == "en" and _HAN.search(alternative) and not _HAN.search(case.evidence):
        return "alternative in another script", f"{alternative!r} must be in the language of the passage"
    if not any(character.isalnum() for character in alternative):
        return "no alternative answer", "it has no letter and no digit"
    if _NO_ANSWER.fullmatch(alternative.strip(" .!。！")):
        return "no alternative answer", f"{alternative!r} names nothing: leave it empty where no other answer fits"
    if language_of(case.language).count(alternative) > limits.most_answer or len(alternative) > MOST_CHARACTERS:
        return "alternative answer too long", f"{alternative!r} has over {limits.most_answer} {limits.unit}"
    return None


def _meaning_problem(case: Answered, alternative: str) -> Problem:
    """Return why it does not name a different thing of the answer's type."""
    language = language_of(case.language)
    old, new = (language.answer_type(answer, case.question) for answer in (case.answer, alternative))
    counted = old in ("number", "date")
    if (counted or new in ("number", "date")) and old != new:
        return "alternative of another type", f"{alternative!r} is a {new}, {case.answer!r} a {old}"
    for name in (case.answer, *case.aliases):
        if _names_the_same(language, name, alternative, counted=counted):
            return "alternative overlaps the answer", f"{alternative!r} may be another name of {name!r}"
    if (named := _named_in_question(case, alternative)) is not None:
        return "alternative without what the question names", f"{named!r} stands in the question too: it is to stay"
    if case.language == "zh" and _SPACED.search(alternative) and not _SPACED.search(case.answer):
        return "alternative of another form", f"{alternative!r} has blanks between Chinese characters"
    return None


def _place_problem(case: Answered, alternative: str) -> Problem:
    """Return why it is not new to the question and the evidence."""
    language = language_of(case.language)
    if language.contains(case.question, alternative) and not is_choice(case.language, case.question, case.answer):
        return "question gives the alternative away", f"{alternative!r} stands in the question"
    if language.contains(case.evidence, alternative):
        return "alternative already in the evidence", f"{alternative!r} stands in the passage"
    return None


def repeated_problem(alternative: str, before: Sequence[str], language: str) -> Problem:
    """Return why `alternative` cannot be drawn anew: an earlier version had it."""
    if not before or exact_match(alternative, before, language) == 0:
        return None
    told = "; ".join(before)
    return "alternative of an earlier version", f"the question had these already, so give another: {told}"


def _named_in_question(case: Answered, alternative: str) -> str | None:
    """A word of a name (in Chinese, characters) that the answer shares with the question and the alternative lacks."""
    if case.language == "zh":
        match = SequenceMatcher(None, case.answer, case.question, autojunk=False).find_longest_match()
        shared = case.answer[match.a : match.a + match.size]
        return shared if match.size >= LEAST_SHARED and _HAN.match(shared) and shared not in alternative else None
    words = language_of(case.language).content_words
    named, asked = map(_NAME_WORD.findall, (case.answer, case.question))
    kept = words(alternative)
    return next((word for word in named if word in asked and words(word) and not words(word) <= kept), None)


def _names_the_same(language: Language, name: str, alternative: str, *, counted: bool) -> bool:
    """Return whether two answers may mean the same: one contains or names the other, or no word distinguishes them."""
    if language.contains(name, alternative) or language.contains(alternative, name):
        return True
    named = [*language.mentions(alternative, name), *language.mentions(name, alternative)]
    old, new = language.content_words(name), language.content_words(alternative)
    if _JOINED.fullmatch(name) and _JOINED.fullmatch(alternative) and old - new and new - old:
        return False  # "Assyrian–American" for "Armenian–American": each has a word of its own
    if any(not counted or mention.form == "full" for mention in named):
        return True
    return not counted and bool(old and new) and (old <= new or new <= old)
