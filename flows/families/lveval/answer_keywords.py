"""The words of an answer that a prediction must contain (section 3.3): their checks, and their replacements."""

import re
from collections.abc import Sequence

from flows.language import language_of
from flows.language.keywords import replacer
from flows.llm.model import Problem
from flows.scoring.words import WORDS, released_blacklist


def keywords_problem(language: str, answer: str, keywords: str) -> Problem:
    """Return why these cannot be keywords of the answer. Keywords are words of it, in order, and one is informative."""
    if not keywords.strip():
        return "no keyword", "mark one word of the answer at least"
    place = 0
    for keyword in keywords.split():
        span = span_of_word(language, answer, keyword, place)
        if span is None:
            return "keyword is no word of the answer", f"{keyword!r} must stand in {answer!r}, in its order"
        place = span[1]
    if not counts_in_score(language, keywords):
        return "keywords tell nothing", f"{keywords!r} are words that stand in any answer; mark one that tells"
    return None


def counts_in_score(language: str, keywords: str) -> bool:
    """Return whether a keyword counts in the score: it is not on the blacklist, and has more than punctuation."""
    return any(word not in released_blacklist(language) for word in WORDS[language](keywords))


def span_of_word(language: str, answer: str, keyword: str, begin: int = 0) -> tuple[int, int] | None:
    """Return where the keyword occurs in the answer as a whole word in any case, from `begin` on."""
    pattern = re.escape(keyword)
    if language != "zh":
        pattern = rf"(?<!\w){pattern}(?!\w)"
    match = re.compile(pattern, re.IGNORECASE).search(answer, begin)
    if match is None or not language_of(language).contains(answer, keyword):
        return None
    return match.span()


def keywords_after(keywords: str, answer: str, sides: Sequence[tuple[str, str]], language: str) -> str:
    """Return the keywords of the answer after replacement; a substitute is always taken whole."""
    if not sides or not keywords:
        return keywords
    replacing = replacer(sides, language)
    edits = replacing.edits(answer)
    spans: list[tuple[int, int]] = []
    place = 0
    for keyword in keywords.split():
        span = span_of_word(language, answer, keyword, place)
        if span is None:
            return keywords
        place = span[1]
        touched = [edit for edit in edits if edit.start < span[1] and span[0] < edit.end]
        start = min([span[0], *(edit.start for edit in touched)])
        end = max([span[1], *(edit.end for edit in touched)])
        if spans and start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return " ".join(replacing.apply(answer[start:end]) for start, end in spans)
