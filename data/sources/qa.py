"""Statements, and questions with a single text as evidence. Each function reads one shape of a format."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, Row, SourceSpec, dated, shortened

CREAK_LABELS = ("true", "false")
SIDES = (("memory_answer", "parametric_memory"), ("counter_answer", "counter_memory"))
"""Answer and evidence of ConflictQA's two sides.

Not `*_aligned_evidence`: one side there is the gold facts of the source data set, which leave the inference open, and
the other a text written to argue for its answer, so that the style alone reveals the true side. These two have the same
author, and the data set's makers kept those that entail their answer.
"""


def creak_statements(spec: SourceSpec) -> Iterator[Entry]:
    """CREAK (Onoe et al. 2021): statements of general knowledge; those labelled false are refused."""
    for row in json_rows(spec.path):
        id_, text, label = row.label("ex_id"), row.text("sentence"), row.text("label")
        if label not in CREAK_LABELS:
            raise row.error(f'expected label "true" or "false", found "{label}"', "correct the row")
        refused = "" if label == "true" else "labelled false"
        topic = row.text("entity") if "entity" in row.values else None
        values = {"text": text.strip(), "topic": topic, **dated(spec, row)}
        yield Entry(id_, values, refused=refused, evidence=text)


def strategyqa_statements(spec: SourceSpec) -> Iterator[Entry]:
    """StrategyQA (Geva et al. 2021): each fact of each question, under the question's id and the fact's number."""
    for row in json_rows(spec.path):
        id_, facts, date = row.label("qid"), row.texts("facts"), dated(spec, row)
        topic = row.text("term") if "term" in row.values else None
        if not facts:
            yield Entry(id_, refused="no facts")
        for number, fact in enumerate(facts, start=1):
            yield Entry(f"{id_}#{number}", {"text": fact.strip(), "topic": topic, **date}, evidence=fact)


def strategyqa_questions(spec: SourceSpec) -> Iterator[Entry]:
    """StrategyQA: yes/no questions, with their facts joined as the evidence."""
    for row in json_rows(spec.path):
        values = {
            "question": row.text("question").strip(),
            "answers": ("yes" if row.flag("answer") else "no",),
            "evidence": " ".join(fact.strip() for fact in row.texts("facts")) or None,
            **dated(spec, row),
        }
        yield Entry(row.label("qid"), values, evidence=row.text("question"))


def conflictqa_questions(spec: SourceSpec) -> Iterator[Entry]:
    """ConflictQA (Xie et al. 2024): questions with a model's own answer, a counter-answer and a text for each."""
    for row in json_rows(spec.path):
        question = row.text("question")
        values = {
            "question": question.strip(),
            "answers": row.texts("ground_truth"),
            "sides": tuple((row.text(answer).strip(), row.text(text).strip()) for answer, text in SIDES),
            **dated(spec, row),
        }
        yield Entry(row.place, values, evidence=question)


def nq_open_questions(spec: SourceSpec) -> Iterator[Entry]:
    """NQ-Open as "Lost in the Middle" gives it (Kwiatkowski et al. 2019; Liu et al. 2024), with the gold passage.

    The answers are those by which NQ-Open is scored, not `nq_annotated_gold.short_answers`, which one annotator gave.
    The source does not say where they are in the passage.
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
            **dated(spec, row),
        }
        yield Entry(row.place, values, evidence=question)


def nq_open_passages(spec: SourceSpec) -> Iterator[Entry]:
    """NQ-Open: each passage of each row, gold or not, under its place, since only some have ids."""
    for row in json_rows(spec.path):
        date = dated(spec, row)
        for context in row.rows("ctxs", "context"):
            text = context.text("text")
            yield Entry(context.place, {"text": text, "title": context.title(), **date}, evidence=shortened(text))


def realtimeqa_questions(spec: SourceSpec) -> Iterator[Entry]:
    """RealTimeQA (Kasai et al. 2023): news questions with their right choices, and the article, in HTML, as evidence.

    Written from the public description, and not tried on rows of RealTimeQA itself.
    """
    for row in json_rows(spec.path):
        question = row.text("question_sentence")
        values = {
            "question": question.strip(),
            "answers": tuple(_right_choices(row)),
            "evidence": row.optional("evidence"),
            **dated(spec, row),
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
