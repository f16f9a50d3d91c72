"""What confusing facts must meet before people see them (section 3.2.2)."""

import re
from collections.abc import Sequence
from typing import Protocol

from flows.construct.embed import Embedder
from flows.construct.retrieve import ngram_cosine
from flows.families.lveval.library import count, is_yes_or_no
from flows.families.lveval.pool import names
from flows.language import language_of
from flows.llm.model import Problem
from schemas.base import odd_character
from schemas.lveval import LONGEST_FACT, Changed

LEAST_SHARED = 2
"""Content words of the question that a confusing fact holds."""
MOST_ASKED = 0.6
"""Share of the question's other content words in a sentence on the same subject, from which it may well answer it."""
MOST_SAID = 0.5
"""Share of the original fact's other content words in one on the same subject, from which it may contradict it."""
LONGEST = {"en": 80, "zh": 160}
"""Words (characters); the paper's examples have up to 100 words (figure A10)."""

LEAST_NEAR = {"en": 0.4, "zh": 0.15}
"""Cosine with the original fact or the question from which a fact is near in meaning (in Chinese, of their bigrams)."""

_DECLARED = {"en": re.compile(r"[.!][\"'”’)\]]*$"), "zh": re.compile(r"[。！．][”’」』）)》\"]*$")}
_STARTS = re.compile(r"^[\"'“‘「『《〈]*[A-Z0-9À-Þ㐀-鿿豈-﫿]")
_LEANS = {
    "en": re.compile(
        r"(additionally|again|also|another|as a result|but|fifth|finally|first|firstly|for example|for instance|fourth|"
        r"furthermore|hence|however|in addition|in contrast|instead|later|likewise|meanwhile|moreover|nevertheless|"
        r"next|other|otherwise|second|secondly|similarly|still|such|that|then|therefore|third|thirdly|thus|"
        r"unfortunately|yet)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        "但|不过|然而|因此|因而|所以|此外|另外|同时|其后|随后|之后|后来|接着|最后|而|并|也|又|参见|例如|如|"
        "有些|有一些|一些|其他|一般来说|本(?![田州])"
    ),
}
"""Words at the beginning of a sentence that goes on from the one before it."""
_DATES = re.compile(r"[\d年月日]+")
"""What Chinese texts on anything have in common."""
_BRACKETS = (("(", ")"), ("（", "）"), ("“", "”"), ("「", "」"), ("《", "》"), ("[", "]"))


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
    return (
        _form_problem(asked, fact)
        or answer_problem(asked.language, asked.answers, fact)
        or _subject_problem(asked, changes, fact)
    )


def _form_problem(asked: Asked, fact: str) -> Problem:
    language = language_of(asked.language)
    if not _is_declarative(fact, asked.language):
        return "fact is no declarative sentence", fact
    if count(fact, asked.language) > LONGEST[asked.language] or len(fact) > LONGEST_FACT:
        return "fact too long", f"at most {LONGEST[asked.language]} words, or characters in Chinese"
    if _plain(fact) == _plain(asked.fact):
        return "fact repeats the original", fact
    if language.dangling_subject(fact) is not None or _LEANS[asked.language].match(fact):
        return "fact cannot be understood alone", fact
    shared = language.content_words(asked.question) & language.content_words(fact)
    if len(shared) < LEAST_SHARED:
        return "fact is not like the question", f"it shares {len(shared)} words; {LEAST_SHARED} are wanted"
    return None


def _is_declarative(fact: str, language: str) -> bool:
    """Whether it begins and ends as a sentence does, and no bracket or quotation mark is alone in it."""
    paired = fact.count('"') % 2 == 0 and all(fact.count(opening) == fact.count(end) for opening, end in _BRACKETS)
    return bool(paired and odd_character(fact) is None and _DECLARED[language].search(fact) and _STARTS.search(fact))


def answer_problem(language: str, answers: Sequence[str], fact: str) -> Problem:
    """Why a confusing fact gives the answer away."""
    for answer in answers:
        if not is_yes_or_no(answer) and language_of(language).contains(fact, answer):
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


def nearness(asked: Asked, facts: Sequence[str], embedder: Embedder) -> list[float]:
    """How near each fact is in meaning to the original fact or to the question, whichever is nearer; up to 1.

    0 for a text in a language that the embedder does not read.
    """
    originals = (asked.fact, asked.question)
    if asked.language == "zh":
        undated = [_DATES.sub("", original) for original in originals]
        return [max(ngram_cosine(_DATES.sub("", fact), original) for original in undated) for fact in facts]
    if not all(map(embedder.reads, originals)):
        return [0.0] * len(facts)
    readable = [fact for fact in facts if embedder.reads(fact)]
    if not readable:
        return [0.0] * len(facts)
    vectors = embedder.embed([*originals, *readable])
    near = dict(zip(readable, (vectors[2:] @ vectors[:2].T).max(axis=1).tolist(), strict=True))
    return [near.get(fact, 0.0) for fact in facts]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
