"""Scores replies to questions on documents: exact match and F1 of the words, with the passage and without it.

    python documents.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Part of Touchstone; Apache License 2.0. Needs Python 3.10.

Every value lies in 0..1; n is the number of questions that it is taken over. A question is asked closed_book (without
its passage) and with its evidence; a reply is compared with the row's answer by its words, for a list in any order.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flows.scoring.qa import exact_match, f1
from flows.scoring.scorer import (
    Account,
    Row,
    Scores,
    Value,
    command_line,
    group_of,
    matched,
    means,
    predictions_of,
    rows_of,
    run,
    show,
)

COLUMNS = ("id", "question", "answer", "kind", "language")
OPTIONAL = ("places",)
VARIANTS = ("closed_book", "evidence")
FORM = {"id": "THE ROW'S id", "variant": "evidence", "prediction": "28 days"}
"""A row of predictions."""
ALL = "all kinds"
EXACT = "exact match"


def score(rows: Iterable[Row], predictions: Iterable[Row], partial: bool = False) -> Scores:
    """Return the tables, by model and kind. Raises `CannotScore` for predictions that do not fit the rows."""
    items, account = {row["id"]: row for row in rows}, Account()
    graded = list(matched(items, lambda row: VARIANTS, predictions, partial, _graded, account))
    tables = {
        variant: means(cell for reply in graded if reply.variant == variant for cell in _cells(reply))
        for variant in VARIANTS
    }
    values = [
        Value(reply.group, EXACT, variant, reply.id, reply.document, reply.exact)
        for variant in VARIANTS
        for reply in graded
        if reply.variant == variant
    ]
    return Scores(tables, [], account, values)


class Graded(NamedTuple):
    """A reply to a question, with its measures."""

    id: str
    document: str
    variant: str
    group: str
    kind: str
    exact: float
    f1: float


def _graded(row: Row, prediction: Row) -> Graded:
    answers, language = [row["answer"]], row["language"]
    reply, places = prediction["prediction"], row.get("places")
    return Graded(
        row["id"],
        places[0]["document"] if places else row["id"],
        prediction["variant"],
        group_of(prediction),
        row["kind"],
        exact_match(reply, answers, language),
        f1(reply, answers, language),
    )


def _cells(reply: Graded) -> Iterator[tuple[tuple[str, str], float]]:
    for name in (ALL, reply.kind):
        yield (f"{reply.group} / {name}", EXACT), reply.exact
        yield (f"{reply.group} / {name}", "F1"), reply.f1


def grade(row: Row, variant: str, reply: str) -> float:
    """Return for Inspect whether a reply to a question is an exact match."""
    return exact_match(reply, [row["answer"]], row["language"])


def process_results(doc: Row, results: list[str]) -> dict[str, float]:
    """Score the replies to a question for lm-evaluation-harness, in the order of its variants."""
    scores: dict[str, float] = {}
    for variant, reply in zip(VARIANTS, results, strict=True):
        scores[f"em_{variant}"] = exact_match(reply, [doc["answer"]], doc["language"])
        scores[f"f1_{variant}"] = f1(reply, [doc["answer"]], doc["language"])
    return scores


def main() -> None:
    """Score a file of predictions."""
    arguments = command_line(__doc__).parse_args()
    rows = rows_of(arguments.data, COLUMNS, OPTIONAL)
    show(score(rows, predictions_of(arguments.predictions, FORM), arguments.partial), arguments.output)


if __name__ == "__main__":
    run(main)
