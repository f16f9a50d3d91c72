"""NQ-Open with passages of Wikipedia, as "Lost in the Middle" gives it (Kwiatkowski et al. 2019; Liu et al. 2024)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec, shortened


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Each question with its gold passage as the evidence; the rows have no ids, only places.

    The answers are those of NQ-Open, by which it is scored, not `nq_annotated_gold.short_answers`, which are
    of one annotator. The source says nothing of where they stand.
    """
    for row in json_rows(spec.path):
        question = row.text("question")
        gold = next((context for context in row.rows("ctxs", "context") if context.flag("isgold")), None)
        if gold is None:
            yield Entry(row.place, refused="no gold passage", evidence=question)
            continue
        values = {
            "question": question.strip(),
            "answers": row.texts("answers"),
            "evidence": gold.text("text"),
            "title": gold.title(),
        }
        yield Entry(row.place, values, evidence=question)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Each passage of each row, gold or not, under its place; their own ids are there for some alone."""
    for row in json_rows(spec.path):
        for context in row.rows("ctxs", "context"):
            text = context.text("text")
            yield Entry(context.place, {"text": text, "title": context.title()}, evidence=shortened(text))
