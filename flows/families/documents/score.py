"""Scores replies to questions on documents, and to those on which two documents contradict each other.

    python documents.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Part of Touchstone; Apache License 2.0. Needs Python 3.10.

Every value lies in 0..1; n is the number of questions that it is taken over. A question is asked closed_book (without
its passage) and with its evidence; a reply is compared with the row's answer by its words, for a list in any order.

A conflict has two answers. It is asked with both passages, in_order and reversed, and a reply tells of an answer if it
has all words that this answer has and the other has not. Conflicts have tables and a measure of their own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flows.scoring.on_disk import Rows
from flows.scoring.qa import NORMAL_FORMS, exact_match, f1
from flows.scoring.scorer import (
    Account,
    Means,
    Row,
    Scores,
    command_line,
    group_of,
    in_order,
    matched,
    predictions_of,
    rows_of,
    run,
    show,
)
from flows.scoring.values import Value, Values

COLUMNS = ("id", "question", "kind", "language")
OPTIONAL = ("answer", "first_answer", "second_answer", "places")
"""A question has the one answer, a conflict the two others."""
VARIANTS = ("closed_book", "evidence")
CONFLICT_VARIANTS = ("in_order", "reversed")
"""The order in which a model is shown the two passages of a conflict."""
FORM = {"id": "THE ROW'S id", "variant": "evidence", "prediction": "28 days"}
"""A row of predictions."""
ALL = "all kinds"
EXACT = "exact match"
BOTH = "tells of both answers, natural conflicts"
CONFLICTS = "natural conflicts, {}"
"""The name of the table of a variant."""
TOLD = ("both answers", "the one shown first", "the one shown last", "neither")
"""What a reply tells of."""
CONFLICT_METRICS = ("both", "first", "last")
"""In lm-evaluation-harness, what a reply tells of, but for neither."""
SAID_IN_CHINESE: Mapping[str, re.Pattern[str]] = {
    "是": re.compile(r"(?<![不但可还就只而])是的?(?:$|[^\w:：])"),
    "否": re.compile(r"(?<!是)否(?:$|[^\w:：])"),
}
"""Yes and no where they are said, and are no part of another word."""


def is_conflict(row: Row) -> bool:
    """Return whether a row is a question to which two documents give different answers."""
    return row.get("second_answer") is not None


def variants_of(row: Row) -> Sequence[str]:
    """Return the variants that a row is asked under."""
    return CONFLICT_VARIANTS if is_conflict(row) else VARIANTS


def score(rows: Iterable[Row], predictions: Iterable[Row], partial: bool = False) -> Scores:
    """Return the tables, by model and kind. Raises `CannotScore` for predictions that do not fit the rows."""
    items, account, values = Rows((row["id"], row) for row in rows), Account(), Values()
    means = {variant: Means() for variant in (*VARIANTS, *CONFLICT_VARIANTS)}
    kinds = set[type]()
    for number, reply in enumerate(matched(items, variants_of, predictions, partial, _graded, account)):
        kinds.add(type(reply))
        for key, value in _cells(reply) if isinstance(reply, Graded) else _conflict_cells(reply):
            means[reply.variant].add(key, value)
        values.add([(list(means).index(reply.variant), number, _value(reply))])
    tables = {
        variant: means[variant].cells() for variant in (VARIANTS if Graded in kinds or OnConflict not in kinds else ())
    }
    for variant in CONFLICT_VARIANTS if OnConflict in kinds else ():
        tables[CONFLICTS.format(variant)] = in_order(means[variant].cells(), TOLD)
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


class OnConflict(NamedTuple):
    """A reply to a question to which two documents give different answers."""

    id: str
    documents: str
    variant: str
    group: str
    kind: str
    told: str
    """One of `TOLD`."""


def _graded(row: Row, prediction: Row) -> "Graded | OnConflict":
    if is_conflict(row):
        documents = " / ".join(sorted({place["document"] for place in row.get("places") or ()})) or row["id"]
        variant = prediction["variant"]
        told = told_of(row, variant, prediction["prediction"])
        return OnConflict(row["id"], documents, variant, group_of(prediction), row["kind"], told)
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


def _conflict_cells(reply: OnConflict) -> Iterator[tuple[tuple[str, str], float]]:
    for name in (ALL, reply.kind):
        for told in TOLD:
            yield (f"{reply.group} / {name}", told), float(reply.told == told)


def _value(reply: "Graded | OnConflict") -> Value:
    if isinstance(reply, Graded):
        return Value(reply.group, EXACT, reply.variant, reply.id, reply.document, reply.exact)
    told = float(reply.told == TOLD[0])
    return Value(reply.group, BOTH, reply.variant, reply.id, reply.documents, told)


def own_words(answer: str, other: str, language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of each of two answers that the other has not: "14" and "30" of "14 days" and "30 days"."""
    first, second = (frozenset(NORMAL_FORMS[language](text).split()) for text in (answer, other))
    return first - second, second - first


def told_of(row: Row, variant: str, reply: str) -> str:
    """Return which answers of a conflict a reply tells of: one of `TOLD`."""
    answers, language = (row["first_answer"], row["second_answer"]), row["language"]
    said = set(NORMAL_FORMS[language](reply).split())
    first, second = (
        SAID_IN_CHINESE[answer].search(reply) is not None
        if language == "zh" and answer in SAID_IN_CHINESE
        else own <= said
        for answer, own in zip(answers, own_words(*answers, language), strict=True)
    )
    if first and second:
        return TOLD[0]
    if not first and not second:
        return TOLD[3]
    return TOLD[1] if first == (variant == CONFLICT_VARIANTS[0]) else TOLD[2]


def grade(row: Row, variant: str, reply: str) -> float:
    """Return for Inspect whether a reply is an exact match; to a conflict, whether it tells of both answers."""
    if is_conflict(row):
        return float(told_of(row, variant, reply) == TOLD[0])
    return exact_match(reply, [row["answer"]], row["language"])


def process_results(doc: Row, results: list[str]) -> dict[str, float]:
    """Score the replies to a question for lm-evaluation-harness, in the order of its variants."""
    scores: dict[str, float] = {}
    if is_conflict(doc):
        for variant, reply in zip(CONFLICT_VARIANTS, results, strict=True):
            told = told_of(doc, variant, reply)
            scores |= {f"{name}_{variant}": float(told == TOLD[place]) for place, name in enumerate(CONFLICT_METRICS)}
        return scores
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
