"""Passages: where one opens, whether a text condenses several, and whether one answers the question otherwise."""

from collections.abc import Sequence

from flows.families.reeval.checks.alternative import Answered
from flows.families.reeval.checks.sentence import begins_leaning, is_whole, may_lean, unknown_problem
from flows.families.reeval.filters import LANGUAGES
from flows.language import Language, language_of
from flows.language.matter import page_name
from flows.language.pointing import points_outside
from flows.llm.model import Problem

MOST_CONDENSED = 0.5
"""Length of a condensed text, as a share of the passages'."""
LEAST_DRAWN = 3
"""Content words of a passage alone that a condensed text must hold, so that it draws on each."""
RIVAL_ABOVE, UNSURE_ABOVE = 0.6, 0.4
"""Shares of the question's content words in a sentence that names something of the answer's type: above the
first it may well answer the question otherwise; above the second it is for people to look at."""
_SHOWN = 8
"""Words of a passage by which a complaint tells what a condensed text lacks."""


def opening(language_code: str, passage: str, title: str | None) -> int | None:
    """Place of the passage's first sentence that is whole and stands on its own; None if there is none.

    It has at most half of the passage's length, or the passage could not be condensed. A passage is of its page's
    title: a sentence that has less than half of it does not say what it speaks of.
    """
    language = language_of(language_code)
    most = MOST_CONDENSED * language.count(passage)
    for place, sentence in enumerate(language.sentences(passage)):
        if is_whole(sentence) and language.count(sentence) <= most and _stands_alone(language_code, sentence, title):
            return place if place == 0 or not may_lean(language_code, sentence) else None
    return None


def _stands_alone(language_code: str, sentence: str, title: str | None) -> bool:
    """Whether a sentence names the page that it is from, and leans on nothing else ("The cheetah" is the Cheetah)."""
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
    """Why `condensed` does not condense the passages: it is too long, leaves one out, or begins with a pronoun."""
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
    """The first of the passages of which a text made of them says nothing."""
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
    """The sentence of a passage that comes nearest to answering the question otherwise, and how near; 0..1.

    It names something of the answer's type which is not the answer and not in the question; nearness is
    the share of the question's content words that it holds.
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
