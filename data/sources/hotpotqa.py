"""HotpotQA (Yang et al. 2018), as its authors give it and as IRCoT reshaped it (Trivedi et al. 2023)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, Row, SourceSpec

JOINT = "\n"
"""Between the supporting paragraphs, which together are one evidence."""


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Each question with its answers, and its supporting paragraphs joined as one evidence."""
    for row in json_rows(spec.path):
        ircot = "question_text" in row.values
        id_ = row.label("question_id" if ircot else "_id")
        question = row.text("question_text" if ircot else "question")
        answers = _ircot_answers(row) if ircot else (row.text("answer"),)
        paragraphs = _ircot_supporting(row) if ircot else _supporting(row)
        refused = "" if paragraphs else "no supporting paragraph"
        values = {"question": question.strip(), "answers": answers, "evidence": JOINT.join(paragraphs)}
        yield Entry(id_, values, refused=refused, evidence=question)


def _ircot_answers(row: Row) -> tuple[str, ...]:
    return tuple(span for answer in row.rows("answers_objects") for span in answer.texts("spans"))


def _ircot_supporting(row: Row) -> list[str]:
    return [
        paragraph.text("paragraph_text").strip()
        for paragraph in row.rows("contexts")
        if paragraph.flag("is_supporting")
    ]


def _supporting(row: Row) -> list[str]:
    titles = {title for title, _ in row.pairs("supporting_facts", int)}
    return ["".join(sentences).strip() for title, sentences in row.pairs("context", list) if title in titles]
