"""RealTimeQA: weekly news questions of several choices, with the article as evidence (Kasai et al. 2023).

Written from its public description and untried on rows of its own. The evidence keeps the HTML that it
comes with.
"""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, Row, SourceSpec


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Each question with its right choices; the wrong ones are left out."""
    for row in json_rows(spec.path):
        question = row.text("question_sentence")
        values = {
            "question": question.strip(),
            "answers": tuple(_right_choices(row)),
            "evidence": row.optional("evidence"),
        }
        yield Entry(row.label("question_id"), values, evidence=question)


def _right_choices(row: Row) -> Iterator[str]:
    choices = row.texts("choices")
    for index in row.texts("answer"):
        if not index.isdecimal() or int(index) >= len(choices):
            raise row.error(
                f'expected field "answer" to number the choices from "0" to "{len(choices) - 1}", found {index!r}',
                "correct the row",
            )
        yield choices[int(index)]
