"""SQuAD and data sets of its shape: questions on the paragraphs of articles, with answers out of them.

SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018), XQuAD, CMRC 2018 and DRCD. Fields that only some of them have are
optional here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from data.sources.files import json_object
from data.sources.spec import Entry, PassageIds, Row, SourceSpec, shortened
from schemas.source import SupportingDocument


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each question with its answers and its paragraph, unchanged, since the answers' starts count in it."""
    for article in _articles(spec.path):
        for paragraph in _paragraphs(article):
            yield from _questions(paragraph, ())


def article_questions(spec: SourceSpec) -> Iterator[Entry]:
    """Yield the same questions, with the paragraphs of the whole article as their documents, in its order."""
    passage_ids = PassageIds()
    for article in _articles(spec.path):
        paragraphs = list(_paragraphs(article))
        named = (passage_ids.document(paragraph.id, paragraph.title, paragraph.text) for paragraph in paragraphs)
        documents = tuple({document.id: document for document in named if document}.values())
        for paragraph in paragraphs:
            yield from _questions(paragraph, documents)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each paragraph, under its own id if it has one, else under its place."""
    for article in _articles(spec.path):
        for paragraph in _paragraphs(article):
            text = paragraph.text
            yield Entry(paragraph.id, {"text": text, "title": paragraph.title}, evidence=shortened(text))


@dataclass(frozen=True)
class _Paragraph:
    """A paragraph, whose fields are read when they are asked for."""

    article: Row
    row: Row

    @property
    def id(self) -> str:
        return self.row.label("id") if "id" in self.row.values else self.row.place

    @property
    def text(self) -> str:
        return self.row.text("context")

    @property
    def title(self) -> str | None:
        return self.row.title() or self.article.title()


def _articles(path: str) -> Iterator[Row]:
    return json_object(path).rows("data", "article")


def _paragraphs(article: Row) -> Iterator[_Paragraph]:
    return (_Paragraph(article, row) for row in article.rows("paragraphs", "paragraph"))


def _questions(paragraph: _Paragraph, documents: tuple[SupportingDocument, ...]) -> Iterator[Entry]:
    context, title = paragraph.text, paragraph.title
    for row in paragraph.row.rows("qas", "question"):
        id_, question = row.label("id"), row.text("question")
        if "is_impossible" in row.values and row.flag("is_impossible"):
            yield Entry(id_, refused="no answer", evidence=question)
            continue
        answers = list(row.rows("answers", "answer"))
        values = {
            "question": question.strip(),
            "answers": tuple(answer.text("text") for answer in answers),
            "answer_starts": tuple(answer.offset("answer_start") for answer in answers),
            "evidence": context,
            "documents": documents,
            "title": title,
        }
        yield Entry(id_, values, evidence=question)
