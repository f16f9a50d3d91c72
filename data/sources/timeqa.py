"""TimeQA: questions on a page whose answers change with time (Chen et al. 2021)."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from data.sources.files import json_rows
from data.sources.spec import NO_OFFSET, Entry, Row, SourceSpec, shortened

JOINT = "\n"
"""Between the title and the paragraphs of a page."""


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each question of each page, with the paragraph of its first answer, tokenised as it is.

    An answer in another paragraph is kept, without a start. Without an answer the source gives one empty answer.
    """
    for page in _pages(spec.path):
        for asked in _questions(page):
            first = asked.places[0][0] if asked.places else 0
            starts = tuple(start if where == first else NO_OFFSET for where, start in asked.places)
            evidence = page.paragraphs[first] if asked.places else None
            yield _entry(asked, starts, evidence, page)


def page_questions(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each question of each page, with the whole page, which has all of its answers."""
    for page in _pages(spec.path):
        begin = list(accumulate((len(paragraph) + len(JOINT) for paragraph in page.paragraphs), initial=0))
        for asked in _questions(page):
            starts = tuple(NO_OFFSET if start == NO_OFFSET else begin[where] + start for where, start in asked.places)
            yield _entry(asked, starts, page.text, page)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each paragraph of each page but the first, which is the title."""
    for page in _pages(spec.path):
        for number, text in enumerate(page.paragraphs[1:], start=1):
            values = {"text": text, "title": page.title}
            yield Entry(f"{page.id}, paragraph {number}", values, evidence=shortened(text))


def page_passages(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each page whole: its title and its paragraphs, a line each."""
    for page in _pages(spec.path):
        yield Entry(page.id, {"text": page.text, "title": page.title}, evidence=shortened(page.text))


class _Page(NamedTuple):
    id: str
    paragraphs: Sequence[str]
    """The title is the first."""
    row: Row

    @property
    def title(self) -> str | None:
        return self.paragraphs[0].strip() or None

    @property
    def text(self) -> str:
        return JOINT.join(self.paragraphs)


class _Asked(NamedTuple):
    id: str
    question: str
    answers: tuple[str, ...]
    places: Sequence[tuple[int, int]]
    """For each answer, the number of its paragraph, and its start there."""


def _pages(path: str) -> Iterator[_Page]:
    for row in json_rows(path):
        id_, paragraphs = row.label("index"), row.texts("paras")
        if not paragraphs:
            raise row.error('expected field "paras" to start with the title, found an empty list', "correct the row")
        yield _Page(id_, paragraphs, row)


def _questions(page: _Page) -> Iterator[_Asked]:
    row = page.row
    for number, (question, answers_given) in enumerate(row.pairs("questions", list), start=1):
        asked = Row(row.file, f"{row.place}, question {number}", {"answers": answers_given})
        answers = [answer for answer in asked.rows("answers", "answer") if answer.text("answer").strip()]
        places = [_place(answer, page.paragraphs) for answer in answers]
        yield _Asked(f"{page.id}#{number}", question, tuple(answer.text("answer") for answer in answers), places)


def _entry(asked: _Asked, starts: tuple[int, ...], evidence: str | None, page: _Page) -> Entry:
    values = {
        "question": asked.question.strip(),
        "answers": asked.answers,
        "answer_starts": starts,
        "evidence": evidence,
        "title": page.title,
    }
    return Entry(asked.id, values, evidence=asked.question)


def _place(answer: Row, paragraphs: Sequence[str]) -> tuple[int, int]:
    number, start = answer.offset("para"), answer.offset("from")
    if not 0 <= number < len(paragraphs):
        raise answer.error(f'expected field "para" to be 0 to {len(paragraphs) - 1}, found {number}', "correct the row")
    return number, start
