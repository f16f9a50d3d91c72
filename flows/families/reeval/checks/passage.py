"""Checks of passages that a model made: condensed from several, and merged with the supporting sentence (table 9).

Also: where a passage of the collection begins, and whether it gives the question another answer.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from flows.families.reeval.checks.alternative import Answered
from flows.families.reeval.checks.sentence import LEAST_SUPPORT, begins_leaning, is_whole, may_lean, unknown_problem
from flows.families.reeval.filters import LANGUAGES
from flows.language import Language, language_of
from flows.language.agreement import WORD
from flows.language.matter import page_name
from flows.language.pointing import points_outside, unlinked
from flows.language.quotes import holds, stretch_of
from flows.llm.model import Problem

MOST_CONDENSED = 0.5
"""Length of a condensed text, as a share of the passages'."""
LEAST_DRAWN = 3
"""Content words found only in one passage that a condensed text must have, so that it draws on each."""
RIVAL_ABOVE, UNSURE_ABOVE = 0.6, 0.4
"""Shares of the question's content words in a sentence that names something of the answer's type: above the
first it may well give another answer; above the second people should look at it."""
_SHOWN = 8
"""Words of a passage that a complaint lists as missing from a condensed text."""
SAME_ABOVE = 0.9
"""Share of words in the same order above which a text repeats another. Of 21 pairs of expansions, four were above it
and differed in at most one sentence; the next, at 0.86, had its sentences in another order."""
_DEFINES = re.compile(r"(?:An? |The )?([A-Za-z][\w-]*(?: [\w-]+){0,3}?) (?:is|are|was|were) (?:an?|any|one of) ")


def opening(language_code: str, passage: str, title: str | None) -> int | None:
    """Place of the passage's first sentence that is whole and can be understood alone; None if there is none.

    It has at most half of the passage's length, or the passage could not be condensed. A passage is of its page's
    title: a sentence that has less than half of it does not say what it is about.
    """
    language = language_of(language_code)
    most = MOST_CONDENSED * language.count(passage)
    for place, sentence in enumerate(language.sentences(passage)):
        if is_whole(sentence) and language.count(sentence) <= most and _stands_alone(language_code, sentence, title):
            return place if place == 0 or not may_lean(language_code, sentence) else None
    return None


def _stands_alone(language_code: str, sentence: str, title: str | None) -> bool:
    """Return whether a sentence names its page ("The cheetah" is the Cheetah), and needs no other text."""
    words = language_of(language_code).content_words
    titled = words(page_name(title))
    if titled and 2 * len(titled & words(sentence)) < len(titled):
        return False
    leaning = points_outside(language_code, sentence)
    return leaning is None or (leaning.startswith("The ") and words(leaning) <= titled)


def most_condensed(language_code: str, passages: Sequence[str]) -> int:
    """The greatest length of a text that condenses the passages."""
    return int(MOST_CONDENSED * sum(map(language_of(language_code).count, passages)))


def condensed_problem(language_code: str, passages: Sequence[str], condensed: str) -> Problem:
    """Return why `condensed` does not condense the passages: too long, one left out, or a pronoun at the start."""
    language = language_of(language_code)
    length, most = language.count(condensed), most_condensed(language_code, passages)
    if not 0 < length <= most:
        unit = LANGUAGES[language_code].unit
        return "condensed text has the wrong length", f"it has {length} {unit}, which should be 1 to {most}"
    if (undrawn := undrawn_problem(language, passages, condensed)) is not None:
        return undrawn
    if (leaning := begins_leaning(language_code, condensed)) is not None:
        return "condensed text cannot be understood alone", f"say by name who or what {leaning!r} is at its start"
    return unknown_problem(language, condensed, passages)


def undrawn_problem(language: Language, passages: Sequence[str], text: str) -> Problem:
    """The first passage that the text made from them leaves out."""
    held = language.content_words(text)
    words = [language.content_words(passage) for passage in passages]
    for place, of_passage in enumerate(words):
        alone = of_passage.difference(*(other for at, other in enumerate(words) if at != place))
        wanted = min(LEAST_DRAWN, len(alone))
        if len(held & alone) < wanted:
            lacking = ", ".join(sorted(alone - held)[:_SHOWN])
            return (
                "condensed text leaves a passage out",
                f"of the words that passage {place + 1} alone has it holds {len(held & alone)}, not "
                f"{wanted}: say something of {lacking}",
            )
    return None


def rival(case: Answered, passage: str) -> tuple[str, float] | None:
    """The sentence of a passage that comes nearest to giving another answer, and how near; 0..1.

    It names something of the answer's type that is neither the answer nor in the question; nearness is
    the share of the question's content words that it has.
    """
    language = language_of(case.language)
    asked = language.content_words(case.question)
    nearest: tuple[str, float] | None = None
    for sentence in language.sentences(passage):
        near = len(asked & language.content_words(sentence)) / len(asked) if asked else 0.0
        if near > UNSURE_ABOVE and (nearest is None or near > nearest[1]) and _names_another(language, case, sentence):
            nearest = sentence, near
    return nearest


def _names_another(language: Language, case: Answered, sentence: str) -> bool:
    kind = language.answer_type(case.answer, case.question)
    answers = language.mentions(sentence, case.answer, case.aliases)
    for start, end in language.spans_of_type(sentence, kind):
        is_answer = any(mention.start < end and start < mention.end for mention in answers)
        if not is_answer and not language.contains(case.question, sentence[start:end]):
            return True
    return False


# ---- merged with the supporting sentence ----


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
    """Return why `merged` does not contain both the supporting fact and the condensed text, each sentence in place.

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
    """Return why the merged sentences do not follow each other."""
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
    """The sentence after the supporting one, if it continues a sentence of the condensed text."""
    at = merged.find(sentence)
    if at < 0:
        return None
    following = next(iter(language_of(language_code).sentences(merged[at + len(sentence) :])), "").strip()
    goes_on = unlinked(language_code, following) != following or begins_leaning(language_code, following) is not None
    return following if goes_on and condensed.find(following) > 0 else None


def _defined_late(language: Language, sentence: str, merged: str) -> str | None:
    """The thing that the supporting sentence defines, if more than one sentence before it mentions that thing."""
    defined = _DEFINES.match(sentence)
    if defined is None or (at := merged.find(sentence)) < 0:
        return None
    before = [other for other in language.sentences(merged[:at]) if language.contains(other, defined[1])]
    return defined[1] if len(before) > 1 else None


def _support_in(language: Language, text: str, sentence: str) -> float:
    """Share of the sentence's content words that occur in two neighbouring sentences of the text; 0..1."""
    wanted = language.content_words(sentence)
    if not wanted or sentence in text:
        return 1.0
    words = [language.content_words(other) for other in language.sentences(text)]
    pairs = [first | second for first, second in zip(words, [*words[1:], frozenset()], strict=True)]
    return max((len(wanted & pair) for pair in pairs), default=0) / len(wanted)


def objection_problem(passage: str, quoted: str) -> Problem:
    """Return why an objection quotes nothing from the passage."""
    if stretch_of(passage, quoted) is not None:
        return None
    return "objection to what the passage does not say", f"it nowhere has {quoted!r}: copy the sentence as it stands"


def says_the_same(first: str, second: str) -> bool:
    """Return whether a text repeats another nearly word by word."""
    words, other = ([word[0] for word in WORD.finditer(text)] for text in (first, second))
    return SequenceMatcher(None, words, other, autojunk=False).ratio() > SAME_ABOVE
