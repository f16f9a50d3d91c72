"""Whether a merged evidence holds the supporting fact and the condensed text, each sentence in its place (table 9)."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from flows.families.reeval.checks.passage import undrawn_problem
from flows.families.reeval.checks.sentence import LEAST_SUPPORT, begins_leaning, unknown_problem
from flows.language import Language, language_of
from flows.language.agreement import WORD
from flows.language.pointing import unlinked
from flows.language.quotes import holds, stretch_of
from flows.llm.model import Problem

SAME_ABOVE = 0.9
"""Share of words in the same order above which a text repeats another. Of 21 pairs of expansions, four were above it,
which differed in one sentence at the most; the next, at 0.86, had its sentences in another order."""
_DEFINES = re.compile(r"(?:An? |The )?([A-Za-z][\w-]*(?: [\w-]+){0,3}?) (?:is|are|was|were) (?:an?|any|one of) ")


def merged_problem(
    language_code: str,
    sentence: str,
    condensed: str,
    answer: str,
    merged: str,
    passages: Sequence[str] = (),
    most: int | None = None,
    objected: Sequence[str] = (),
) -> Problem:
    """Why `merged` does not hold both the supporting fact and the condensed text, each sentence in its place.

    Sentences that an editor `objected` to may go.
    """
    language = language_of(language_code)
    if not holds(language, merged, answer):
        return "answer is not in the new evidence", f"the passage must hold {answer!r}"
    if _support_in(language, merged, sentence) < LEAST_SUPPORT:
        return "supporting fact is not in the new evidence", f"keep what this says: {sentence}"
    words = language.content_words(condensed) - language.content_words(" ".join(objected))
    if len(words & language.content_words(merged)) < LEAST_SUPPORT * len(words):
        return "condensed text is not in the new evidence", "keep what the second passage says"
    if most is not None and (length := language.count(merged)) > most:
        return "new evidence is too long", f"it has {length}, at most {most} are wanted: leave out what matters least"
    return (
        (undrawn_problem(language, passages, merged) if passages else None)
        or _order_problem(language_code, sentence, condensed, merged)
        or unknown_problem(language, merged, (sentence, condensed))
    )


def _order_problem(language_code: str, sentence: str, condensed: str, merged: str) -> Problem:
    """Why the merged sentences do not follow each other."""
    if (parted := _parted(language_code, sentence, condensed, merged)) is not None:
        return (
            "supporting sentence parts what belongs together",
            f"{parted!r} goes on from another sentence than the first passage: put that elsewhere",
        )
    if (defined := _defined_late(language_of(language_code), sentence, merged)) is not None:
        return (
            "new evidence says too late what it speaks of",
            f"the first passage says what {defined!r} is: it must stand before what else is said of it",
        )
    if (leaning := begins_leaning(language_code, merged)) is not None:
        return "new evidence cannot be understood alone", f"say by name who or what {leaning!r} is at its start"
    return None


def _parted(language_code: str, sentence: str, condensed: str, merged: str) -> str | None:
    """The sentence after the supporting one, if it goes on from a sentence of the condensed text."""
    at = merged.find(sentence)
    if at < 0:
        return None
    following = next(iter(language_of(language_code).sentences(merged[at + len(sentence) :])), "").strip()
    goes_on = unlinked(language_code, following) != following or begins_leaning(language_code, following) is not None
    return following if goes_on and condensed.find(following) > 0 else None


def _defined_late(language: Language, sentence: str, merged: str) -> str | None:
    """The thing whose kind the supporting sentence tells, if more than one sentence before it speaks of that thing."""
    defined = _DEFINES.match(sentence)
    if defined is None or (at := merged.find(sentence)) < 0:
        return None
    before = [other for other in language.sentences(merged[:at]) if language.contains(other, defined[1])]
    return defined[1] if len(before) > 1 else None


def _support_in(language: Language, text: str, sentence: str) -> float:
    """Share of the sentence's content words that stand in two neighbouring sentences of the text; 0..1."""
    wanted = language.content_words(sentence)
    if not wanted or sentence in text:
        return 1.0
    words = [language.content_words(other) for other in language.sentences(text)]
    pairs = [first | second for first, second in zip(words, [*words[1:], frozenset()], strict=True)]
    return max((len(wanted & pair) for pair in pairs), default=0) / len(wanted)


def objection_problem(passage: str, quoted: str) -> Problem:
    """Why an objection is to nothing that the passage says."""
    if stretch_of(passage, quoted) is not None:
        return None
    return "objection to what the passage does not say", f"it nowhere has {quoted!r}: copy the sentence as it stands"


def says_the_same(first: str, second: str) -> bool:
    """Whether a text repeats another nearly word by word."""
    words, other = ([word[0] for word in WORD.finditer(text)] for text in (first, second))
    return SequenceMatcher(None, words, other, autojunk=False).ratio() > SAME_ABOVE
