"""Proves that the supporting documents answer the question, and that nothing else does."""

from collections.abc import Iterator
from itertools import pairwise

from flows.families.lveval.datasets import Dataset
from flows.families.lveval.verify.case import Case
from flows.families.lveval.verify.search import SearchableTexts
from flows.families.lveval.verify.texts import around, plain, says_something, short, yes_or_no
from flows.language import keywords, language_of
from flows.language.boundaries import boundaries
from flows.scoring.words import WORDS, released_blacklist


def answer_problems(case: Case, distracting: SearchableTexts) -> Iterator[str]:
    """Check that the supporting documents answer the question, and that nothing else does."""
    row = case.row
    if not any(map(says_something, row.answers)):
        yield "it has no answer"
    elif row.answer_test == "none":
        if not all(map(yes_or_no, row.answers)):
            yield f"nothing was made sure of its answer, though {row.answers[0]!r} is no yes or no"
    else:
        supports = [case.text(position) for position, _ in case.of_kind("support")]
        if not any(case.language.contains(text, answer) for text in supports for answer in row.answers):
            yield f"no supporting document holds the answer {row.answers[0]!r}"
        asked = _asked(case) if row.answer_test == "with-question-word" else None
        for answer in dict.fromkeys(row.answers):
            if not yes_or_no(answer):
                yield from _answered_elsewhere(answer, asked, case, distracting)


def _answered_elsewhere(
    answer: str, asked: frozenset[str] | None, case: Case, distracting: SearchableTexts
) -> Iterator[str]:
    """Yield the confusing facts that hold the answer, and the first distracting document that answers."""
    for fact in case.row.confusing_facts:
        if case.language.contains(fact, answer):
            yield f"the confusing fact {short(fact)} holds the answer {answer!r}"
    for text in distracting.holding(answer):
        if not _answer_stands(text, answer, case):
            continue
        if asked is None:
            yield f"the answer {answer!r} stands in a distracting document: {around(text, answer)}"
            return
        if (sentence := _answering(text, answer, asked, case)) is not None:
            yield f"the answer {answer!r} stands in a distracting document with a word asked for: {sentence!r}"
            return


def _asked(case: Case) -> frozenset[str]:
    """Return the content words of the question before replacement that are in no answer."""
    answers = (case.language.content_words(case.undone(answer)) for answer in case.row.answers)
    return case.language.content_words(case.undone(case.row.input)).difference(*answers)


def _answering(text: str, answer: str, asked: frozenset[str], case: Case) -> str | None:
    """Return the first sentence that holds the answer and a word asked for, before replacement."""
    text, answer, language = case.undone(text), case.undone(answer), case.language
    for start, end in pairwise((0, *boundaries(text, case.code), len(text))):
        if _answer_stands(text[start:end], answer, case) and asked & language.content_words(text[start:end]):
            return " ".join(text[start:end].split())
    return None


def _answer_stands(text: str, answer: str, case: Case) -> bool:
    """Return whether the answer stands in a distracting text as whole words: "Neal" does not in "O'Neal"."""
    if case.code == "zh":
        return case.language.contains(text, answer)
    return bool(keywords.occurs(text, [answer], case.code))


def keyword_problems(marked: str, answer: str, dataset: Dataset) -> Iterator[str]:
    """Check that each keyword is a word of the answer."""
    if marked and not dataset.keywords:
        yield f"{dataset.released} has no answer keywords, and here they are {marked!r}"
    language = language_of(dataset.language)
    for keyword in marked.split():
        if not (language.contains(answer, keyword) if dataset.language == "en" else plain(keyword) in plain(answer)):
            yield f"the keyword {keyword!r} is no word of the answer {answer!r}"
    telling = set(WORDS[dataset.language](marked)) - released_blacklist(dataset.language)
    if marked.strip() and not telling:
        yield f"the keywords {marked!r} count for nothing: they are on the blacklist"
