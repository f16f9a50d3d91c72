"""What a question on a document must meet: checks of the builder's answers beyond their form."""

import re
from collections.abc import Sequence

from flows.families.documents.score import own_words
from flows.language import language_of
from flows.language.pointing import question_points_outside
from flows.language.quotes import stretch_of
from flows.llm.model import Problem
from schemas.documents import DERIVED, Kind, Span

BETWEEN = "\n\n"
"""Stands between the two passages of a row's evidence."""
MOST_QUESTION = {"en": 40, "zh": 60}
"""Words, or characters in Chinese."""
MOST_ANSWER = {"en": 20, "zh": 40}
MOST_SENTENCES = 4
YES_OR_NO = {"en": ("yes", "no"), "zh": ("是", "否")}
_SAID = {
    "yes": re.compile(r"\s*yes\b", re.IGNORECASE),
    "no": re.compile(r"\s*no\b", re.IGNORECASE),
    "是": re.compile(r"\s*是(?!否)"),
    "否": re.compile(r"\s*否"),
}
"""Yes and no where a reply begins with them."""
_FIGURES = re.compile(r"\d+(?:[.,:/]\d+)*|[$€£¥%°+±−–-]")
"""What the normal form of an answer would lose of a number: 1.5 is not 15, nor 9 to 5 the same as 5 to 9."""
_ENDS = ("?", "？")
_TALKS_OF_TEXT = {
    "en": re.compile(
        r"\b(?:passage|text|excerpt|paragraph|section|document|article|table|figure|page)\b(?! (?:number|size|break))|"
        r"\b(?:(?:the|mentioned|described|listed|shown) (?:above|below|here)|above-?mentioned|aforementioned)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile("上文|下文|文中|本文|该文|这段|此段|段落|上述|下述|本节|本章|表中|图中|文档中"),
}
"""Words that speak of a text which whoever is asked does not see."""
_UNNAMED = {
    "en": re.compile(
        r"\b(?:do|does|did|is|are|was|were|must|may|can|should|will|has|have|had) (they|he|she|we|this|these)\b|"
        r"^(?:who|what|which|when|where|how) (?!(?:makes?|made|finds?|found) it (?:\w+ly )?\w+ (?:that|to|for)\b)"
        r"\w+ (it|them|him|her|this|these|us)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile("^(他们?|她们?|它们?|我们|这个|这些)"),
}
"""Pronouns where a question has named nothing yet that they could mean."""
_PARTS = {"en": re.compile(r"\s*(?:,|;|\band\b|\bor\b)\s*"), "zh": re.compile("[、，,；;和及与]")}


def evidence_of(passages: Sequence[str]) -> str:
    """Return the evidence of a row on some passages."""
    return BETWEEN.join(passages)


def question_problem(language: str, kind: Kind, question: str, answer: str, passages: Sequence[str]) -> Problem:
    """Return why a question is none that people could ask without the passage before them; None if it is one."""
    if not question.rstrip().endswith(_ENDS) or "\n" in question.strip():
        return "not one question", question
    words = language_of(language)
    if words.count(question) > MOST_QUESTION[language]:
        return "question too long", f"{words.count(question)} words; {MOST_QUESTION[language]} at the most"
    if (talk := _TALKS_OF_TEXT[language].search(question)) and not any(talk[0] in text for text in passages):
        return "question speaks of a text", f'"{talk[0]}": whoever is asked sees no text'
    unnamed = _UNNAMED[language].search(question)
    pointing = unnamed[unnamed.lastindex or 0] if unnamed else question_points_outside(language, question)
    if pointing is not None:
        return "question needs the passage", f'"{pointing}": only the passage says what is meant'
    if kind not in DERIVED and words.contains(question, answer):
        return "question holds the answer", answer
    return None


def answer_problem(language: str, kind: Kind, answer: str, sentences: Sequence[str], steps: Sequence[str]) -> Problem:
    """Return why an answer does not follow from the sentences that are given for it; None if it does."""
    if (problem := told_problem(language, kind, answer, sentences)) is not None:
        return problem
    if kind == "two-step" and len(steps) < 2:
        return "not two steps", "write both, one from each passage"
    if kind != "yes-no" and not steps and _missing(language, kind, answer, sentences):
        return "answer is derived without steps", f'"{answer}" is in none of the sentences: write how it follows'
    return None


def told_problem(language: str, kind: Kind, answer: str, sentences: Sequence[str]) -> Problem:
    """Return why an answer has not the form of its kind, or does not stand in the sentences where it has to."""
    words = language_of(language)
    if not answer.strip():
        return "no answer", "write it"
    if words.count(answer) > MOST_ANSWER[language]:
        return "answer too long", f"{words.count(answer)} words; {MOST_ANSWER[language]} at the most"
    if kind == "yes-no" and answer not in YES_OR_NO[language]:
        return "not yes or no", f"{answer}: write {' or '.join(YES_OR_NO[language])}"
    if kind == "list" and len(_parts(language, kind, answer)) < 2:
        return "not a list", f"{answer}: name two or three things"
    if kind not in DERIVED and (missing := _missing(language, kind, answer, sentences)):
        return "answer is not in the evidence", f'"{missing[0]}" is in none of the quoted sentences'
    return None


def _missing(language: str, kind: Kind, answer: str, sentences: Sequence[str]) -> list[str]:
    text, words = "\n".join(sentences), language_of(language)
    return [part for part in _parts(language, kind, answer) if not words.contains(text, part)]


def _parts(language: str, kind: Kind, answer: str) -> list[str]:
    return [part for part in _PARTS[language].split(answer) if part] if kind == "list" else [answer]


def spans_of(passages: Sequence[str], sentences: Sequence[str]) -> list[Span] | None:
    """Return where the sentences stand in the evidence of these passages; None if one stands in none of them."""
    evidence, spans = evidence_of(passages), []
    for sentence in sentences:
        stretch = stretch_of(evidence, sentence)
        if stretch is None or BETWEEN in stretch:
            return None
        start = evidence.index(stretch)
        spans.append(Span(text=stretch, start=start, end=start + len(stretch)))
    return spans


def sentences_problem(passages: Sequence[str], sentences: Sequence[str]) -> Problem:
    """Return why the quoted sentences are no evidence in the passages; None if they are."""
    if not 1 <= len(sentences) <= MOST_SENTENCES:
        return "no evidence" if not sentences else "too much evidence", f"quote one to {MOST_SENTENCES} sentences"
    for sentence in sentences:
        if spans_of(passages, [sentence]) is None:
            return "evidence is not in the passage", f'"{sentence}" does not stand there word for word'
    if len(passages) > 1:
        unused = [text for text in passages if not any(stretch_of(text, sentence) for sentence in sentences)]
        if unused:
            return "a passage is not needed", f"no sentence is from the one that begins {unused[0][:60]!r}"
    return None


def agree(language: str, answer: str, other: str) -> bool:
    """Return whether two answers are the same by their words; other words may still say the same.

    They are if one of them adds nothing to the other but words that carry no meaning. A number, a date or a "not" that
    one alone has is for a model to weigh, however many words they share.
    """
    if answer in YES_OR_NO[language] and _SAID[answer].match(other):
        return True
    content = language_of(language).content_words
    return (
        not all(own_words(answer, other, language))
        and _FIGURES.findall(answer) == _FIGURES.findall(other)
        and content(answer) == content(other)
    )
