"""SQuAD and what has its shape: questions on the paragraphs of articles, with answers that stand in them.

SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018), XQuAD, CMRC 2018 and DRCD. They differ in where titles
and ids stand and in the order of keys; what only some of them have is optional here.
"""

from collections.abc import Iterator

from data.sources.files import json_object
from data.sources.spec import Entry, Row, SourceSpec, shortened


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Each question with its answers and its paragraph, which stays as it is: the answers' starts count in it."""
    for article, paragraph in _paragraphs(spec.path):
        context, title = paragraph.text("context"), paragraph.title() or article.title()
        for row in paragraph.rows("qas", "question"):
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
                "title": title,
            }
            yield Entry(id_, values, evidence=question)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Each paragraph, under its own id where it has one, else under its place."""
    for article, paragraph in _paragraphs(spec.path):
        id_ = paragraph.label("id") if "id" in paragraph.values else paragraph.place
        text, title = paragraph.text("context"), paragraph.title() or article.title()
        yield Entry(id_, {"text": text, "title": title}, evidence=shortened(text))


def _paragraphs(path: str) -> Iterator[tuple[Row, Row]]:
    for article in json_object(path).rows("data", "article"):
        for paragraph in article.rows("paragraphs", "paragraph"):
            yield article, paragraph
