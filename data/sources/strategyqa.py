"""StrategyQA: yes/no questions with the facts that decide them (Geva et al. 2021)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec


def statements(spec: SourceSpec) -> Iterator[Entry]:
    """Each fact of each question, under the question's id and the fact's number."""
    for row in json_rows(spec.path):
        id_, facts = row.label("qid"), row.texts("facts")
        topic = row.text("term") if "term" in row.values else None
        if not facts:
            yield Entry(id_, refused="no facts")
        for number, fact in enumerate(facts, start=1):
            yield Entry(f"{id_}#{number}", {"text": fact.strip(), "topic": topic}, evidence=fact)


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """The questions, with their facts joined as the evidence."""
    for row in json_rows(spec.path):
        values = {
            "question": row.text("question").strip(),
            "answers": ("yes" if row.flag("answer") else "no",),
            "evidence": " ".join(fact.strip() for fact in row.texts("facts")) or None,
        }
        yield Entry(row.label("qid"), values, evidence=row.text("question"))
