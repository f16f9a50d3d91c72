"""ConflictQA: questions with a model's own answer, a counter-answer, and a text for each (Xie et al. 2024)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec

SIDES = (("memory_answer", "parametric_memory"), ("counter_answer", "counter_memory"))
"""Answer and evidence of the two sides.

Not `*_aligned_evidence`: there one side is the gold facts of the source data set, which leave the
inference open, and the other a text that was written to argue for its answer, so that the style alone
tells the true side. These two have the same author, and the data set's makers kept those that entail
their answer.
"""


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Each question with both sides, as the source words them; the rows have no ids, only places."""
    for row in json_rows(spec.path):
        question = row.text("question")
        values = {
            "question": question.strip(),
            "answers": row.texts("ground_truth"),
            "sides": tuple((row.text(answer).strip(), row.text(text).strip()) for answer, text in SIDES),
        }
        yield Entry(row.place, values, evidence=question)
