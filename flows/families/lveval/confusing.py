"""What confusing facts must meet before people see them (section 3.2.2)."""

import re
from typing import Protocol

from flows.families.lveval.library import count, is_yes_or_no
from flows.families.lveval.pool import names
from flows.language import language_of
from flows.llm.model import Problem
from schemas.lveval import Changed

LEAST_SHARED = 2
"""Content words of the question that a confusing fact holds."""
MOST_ASKED = 0.6
"""Share of the question's other content words in a sentence on the same subject, from which it may well answer it."""
MOST_SAID = 0.5
"""Share of the original fact's other content words in one on the same subject, from which it may contradict it."""
LONGEST_FACT = {"en": 80, "zh": 160}
"""Words (characters); the paper's examples have up to 100 words (figure A10)."""

_DECLARED = {"en": re.compile(r"[.!][\"'”’)\]]*$"), "zh": re.compile(r"[。！．][”’」』）)》\"]*$")}
_STARTS = re.compile(r"^[\"'“‘(（「『《〈]*[A-Z0-9À-Þ㐀-鿿豈-﫿]")


class Asked(Protocol):
    """A question, its answers and the fact that supports them."""

    @property
    def question(self) -> str: ...
    @property
    def answers(self) -> tuple[str, ...]: ...
    @property
    def fact(self) -> str: ...
    @property
    def language(self) -> str: ...


def facts_problem(asked: Asked, subject: str, other: str) -> Problem:
    """Why the two are no confusing facts."""
    if _plain(subject) == _plain(other):
        return "the facts are one", subject
    return fact_problem(asked, "subject", subject) or fact_problem(asked, "object", other)


def fact_problem(asked: Asked, changes: Changed, fact: str) -> Problem:
    """Why `fact` is no confusing fact: its form, its likeness, the answer in it, or what it says of the subject."""
    return _form_problem(asked, fact) or _answer_problem(asked, fact) or _subject_problem(asked, changes, fact)


def _form_problem(asked: Asked, fact: str) -> Problem:
    language = language_of(asked.language)
    if not _DECLARED[asked.language].search(fact) or not _STARTS.search(fact) or "\n" in fact:
        return "fact is no declarative sentence", fact
    if count(fact, asked.language) > LONGEST_FACT[asked.language]:
        return "fact too long", f"at most {LONGEST_FACT[asked.language]} words, or characters in Chinese"
    if _plain(fact) == _plain(asked.fact):
        return "fact repeats the original", fact
    if language.dangling_subject(fact) is not None:
        return "fact cannot be understood alone", fact
    shared = language.content_words(asked.question) & language.content_words(fact)
    if len(shared) < LEAST_SHARED:
        return "fact is not like the question", f"it shares {len(shared)} words; {LEAST_SHARED} are wanted"
    return None


def _answer_problem(asked: Asked, fact: str) -> Problem:
    language = language_of(asked.language)
    for answer in asked.answers:
        if not is_yes_or_no(answer) and language.contains(fact, answer):
            return "fact holds the answer", f"{answer!r} must not stand in it"
    return None


def _subject_problem(asked: Asked, changes: Changed, fact: str) -> Problem:
    """The question's names tell whom it is about: one of them changes, or what is said of them does."""
    language = language_of(asked.language)
    own = [name for name, _ in names(asked.language, asked.question)]
    kept = [name for name in own if language.contains(fact, name)]
    if changes == "subject":
        if own and len(kept) == len(own):
            return "fact has the same subject", f"another is wanted than {', '.join(own)}"
        if own:
            return None
    elif own and not kept:
        return "fact has another subject", f"one of {', '.join(own)} is wanted"
    named = frozenset[str]().union(*map(language.content_words, own))
    said = language.content_words(fact) - named
    for text, most, reason in (
        (asked.question, MOST_ASKED, "fact may answer the question"),
        (asked.fact, MOST_SAID, "fact may contradict the original"),
    ):
        wanted = language.content_words(text) - named
        if wanted and len(said & wanted) >= most * len(wanted):
            return reason, f"it says {', '.join(sorted(said & wanted))} of the same subject"
    return None


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
