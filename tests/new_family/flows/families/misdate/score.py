"""Scores replies to Misdate's items: accuracy, the share of replies that hold the context's year (section 3).

python misdate.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)
"""

from collections.abc import Iterable

from flows.scoring.on_disk import Rows
from flows.scoring.scorer import (
    Account,
    Row,
    Scores,
    command_line,
    group_of,
    matched,
    means,
    predictions_of,
    rows_of,
    run,
    show,
)

COLUMNS = ("id", "answer")
VARIANT = "context"
FORM = {"id": "THE ROW'S id", "variant": VARIANT, "prediction": "1905"}
"""A row of predictions."""


def score(rows: Iterable[Row], predictions: Iterable[Row], partial: bool = False) -> Scores:
    """Return the accuracy by model. Raises `CannotScore` for predictions that do not fit the rows."""
    items, account = Rows((row["id"], row) for row in rows), Account()
    right = matched(items, lambda row: [VARIANT], predictions, partial, _graded, account)
    return Scores({"accuracy": means(right)}, [], account)


def _graded(row: Row, prediction: Row) -> tuple[tuple[str, str], float]:
    return (group_of(prediction), "accuracy"), float(row["answer"] in prediction["prediction"])


def grade(row: Row, variant: str, reply: str) -> float:
    """Score one reply for Inspect."""
    return process_results(row, [reply])["accuracy"]


def process_results(doc: Row, results: list[str]) -> dict[str, float]:
    """Score one reply for lm-evaluation-harness."""
    return {"accuracy": float(doc["answer"] in results[0])}


def main() -> None:
    """Score a file of predictions."""
    arguments = command_line(__doc__).parse_args()
    rows = rows_of(arguments.data, COLUMNS)
    show(score(rows, predictions_of(arguments.predictions, FORM), arguments.partial), arguments.output)


if __name__ == "__main__":
    run(main)
