"""HotpotQA (Yang et al. 2018), as its authors give it and as IRCoT reshaped it (Trivedi et al. 2023)."""

from collections.abc import Iterator
from typing import NamedTuple

from data.sources.files import json_rows
from data.sources.spec import Entry, PassageIds, Row, SourceSpec, shortened

JOINT = "\n"
"""Between the supporting paragraphs in the evidence."""


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each question with its answers, and its supporting paragraphs, one by one and joined as one evidence.

    The evidence has no title, since the paragraphs are from several pages.
    """
    passage_ids = PassageIds()
    for row in json_rows(spec.path):
        ircot = _is_ircot(row)
        question = row.text("question_text" if ircot else "question")
        answers = _ircot_answers(row) if ircot else (row.text("answer"),)
        supporting = []
        documents = {}
        for paragraph in _paragraphs(row):
            document = passage_ids.document(paragraph.id, paragraph.title, paragraph.text)
            if paragraph.supports:
                supporting.append(paragraph.text)
                if document:
                    documents[document.id] = document
        values = {
            "question": question.strip(),
            "answers": answers,
            "evidence": JOINT.join(supporting),
            "documents": tuple(documents.values()),
        }
        yield Entry(_id(row), values, refused="" if supporting else "no supporting paragraph", evidence=question)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each paragraph of each question, whether it supports the answer or not."""
    for row in json_rows(spec.path):
        for paragraph in _paragraphs(row):
            values = {"text": paragraph.text, "title": paragraph.title}
            yield Entry(paragraph.id, values, evidence=shortened(paragraph.text))


class _Paragraph(NamedTuple):
    id: str
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
    for number, (title, text, supports) in enumerate(_texts(row), start=1):
        yield _Paragraph(f"{_id(row)}, paragraph {number}", title, text, supports)


def _texts(row: Row) -> Iterator[tuple[str | None, str, bool]]:
    if _is_ircot(row):
        for context in row.rows("contexts"):
            yield context.title(), context.text("paragraph_text").strip(), context.flag("is_supporting")
        return
    supporting = {title for title, _ in row.pairs("supporting_facts", int)}
    for number, (title, sentences) in enumerate(row.pairs("context", list), start=1):
        paragraph = Row(row.file, f"{row.place}, context {number}", {"sentences": sentences})
        yield title.strip() or None, "".join(paragraph.texts("sentences")).strip(), title in supporting
