"""What the scorers of all families share: predictions matched with rows, and values in columns."""

from collections.abc import Iterator
from typing import Any

import pytest

from flows.scoring.on_disk import Rows
from flows.scoring.scorer import Account, AllFailed, CannotScore, Row, matched, run
from flows.scoring.values import Value, Values

ROWS = Rows((id_, {"id": id_}) for id_ in "ab")


def lines_of(predictions: list[Row], account: Account, *, partial: bool = False) -> Iterator[str]:
    def line(row: Any, prediction: Row) -> str:
        return f"{row['id']} {prediction['variant']} {prediction['prediction']}"

    return matched(ROWS, lambda row: ("x", "y"), predictions, partial, line, account)


def said(id_: str, variant: str, text: str = "yes", **fields: str) -> Row:
    return {"id": id_, "variant": variant, "prediction": text, **fields}


ALL = [said(id_, variant) for id_ in "ba" for variant in "xy"]


def test_predictions_come_in_their_order_and_failures_and_empty_ones_are_counted() -> None:
    account = Account()
    predictions = [*ALL[:2], said("a", "x", " "), said("a", "y", "", failure="too long")]
    assert list(lines_of(predictions, account)) == ["b x yes", "b y yes", "a x  "]
    assert (account.failed, account.empty, account.partial) == (1, 1, [])


def test_what_is_missing_double_and_unknown_is_counted_with_the_first_of_each() -> None:
    predictions = [*ALL[:3], said("b", "y", "no"), said("b", "y", "no"), said("c", "x"), said("a", "z"), *ALL[:1]]
    counts = "1 missing (first: a y), 3 double (first: b y), 2 unknown (first: c x)"
    with pytest.raises(CannotScore, match="expected one for each of 4, found ") as raised:
        list(lines_of(predictions, Account()))
    assert counts in str(raised.value)
    account = Account()
    assert list(lines_of(predictions, account, partial=True)) == ["b x yes", "b y yes", "a x yes"]
    [partly] = account.partial
    assert partly.message == f"3 of 4 predictions are scored: {counts}"
    assert list(partly.left_out) == [*predictions[3:7], *ALL[:1]]


def test_each_model_needs_a_prediction_of_its_own() -> None:
    others = [said(line["id"], line["variant"], model="other") for line in ALL[1:]]
    with pytest.raises(CannotScore, match=r"expected one for each of 8, found 1 missing \(first: b x\)"):
        list(lines_of([*ALL, *others], Account()))


def test_failures_alone_are_no_score() -> None:
    failures = [said(line["id"], line["variant"], "", failure="too long") for line in ALL]
    with pytest.raises(AllFailed, match="all 4 failed"):
        list(lines_of(failures, Account()))


def test_values_in_columns_are_the_values_in_their_order() -> None:
    values = [
        Value("m", "right", "1k", "a", "s1", 1.0, "r1", "x"),
        Value("n", "right", "2k", "b", "s1", 0.5),
        Value("m", "right", "1k", "c", "s2", 0.0, "r3", "x"),
        Value("m", "right", "1k", "a", "s1", 1.0, "r1", "y"),
    ]
    columns = Values(iter(values))
    assert list(columns) == values
    assert list(columns) == values, "they can be read again"
    assert len(columns) == 4
    assert values[1] in columns
    assert values[1]._replace(group="o") not in columns
    assert not Values()


def test_a_scorer_that_is_stopped_says_so_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit, match="130"):
        run(stopped)
    assert capsys.readouterr() == ("", "stopped\n")
