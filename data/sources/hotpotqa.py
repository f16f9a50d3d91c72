"""HotpotQA (Yang et al. 2018), as its authors give it and as IRCoT reshaped it (Trivedi et al. 2023)."""

from collections.abc import Iterator
from typing import NamedTuple

from data.sources.files import json_rows
from data.sources.spec import Entry, Row, SourceSpec, shortened

JOINT = "\n"
"""Between the supporting paragraphs, which together are one evidence."""


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Each question with its answers, and its supporting paragraphs joined as one evidence.

    It has no title, since the paragraphs are of several pages.
    """
    for row in json_rows(spec.path):
        ircot = _is_ircot(row)
        question = row.text("question_text" if ircot else "question")
        answers = _ircot_answers(row) if ircot else (row.text("answer"),)
        paragraphs = [paragraph.text for paragraph in _paragraphs(row) if paragraph.supports]
        refused = "" if paragraphs else "no supporting paragraph"
        values = {"question": question.strip(), "answers": answers, "evidence": JOINT.join(paragraphs)}
        yield Entry(_id(row), values, refused=refused, evidence=question)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Each paragraph of each question, whether it supports the answer or not."""
    for row in json_rows(spec.path):
        for number, paragraph in enumerate(_paragraphs(row), start=1):
            values = {"text": paragraph.text, "title": paragraph.title}
            yield Entry(f"{_id(row)}, paragraph {number}", values, evidence=shortened(paragraph.text))


class _Paragraph(NamedTuple):
    title: str | None
    text: str
    supports: bool


def _is_ircot(row: Row) -> bool:
    return "question_text" in row.values


def _id(row: Row) -> str:
    return row.label("question_id" if _is_ircot(row) else "_id")


def _ircot_answers(row: Row) -> tuple[str, ...]:
    return tuple(span for answer in row.rows("answers_objects") for span in answer.texts("spans"))


def _paragraphs(row: Row) -> Iterator[_Paragraph]:
    if _is_ircot(row):
        for context in row.rows("contexts"):
            text = context.text("paragraph_text").strip()
            yield _Paragraph(context.title(), text, context.flag("is_supporting"))
        return
    supporting = {title for title, _ in row.pairs("supporting_facts", int)}
    for number, (title, sentences) in enumerate(row.pairs("context", list), start=1):
        paragraph = Row(row.file, f"{row.place}, context {number}", {"sentences": sentences})
        text = "".join(paragraph.texts("sentences")).strip()
        yield _Paragraph(title.strip() or None, text, title in supporting)
