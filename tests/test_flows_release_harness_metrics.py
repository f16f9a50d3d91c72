"""The values that lm-evaluation-harness averages by a scorer's functions are those of its tables."""

import math
from collections.abc import Iterable
from typing import Any

import pytest

from flows.families.reeval import score as reeval
from flows.families.uraq import score as uraq
from schemas.uraq import NEEDS, SETTINGS
from tests.released import enriched_cases, replies, right_in_part, uraq_rows


def test_the_harness_s_figures_of_uraq_are_the_tables() -> None:
    rows = uraq_rows((1, 10))
    predictions = right_in_part(rows, 3)
    by_id = {row.id: row.model_dump(mode="json") for row in rows}
    values: dict[str, list[Any]] = {}
    for reply in predictions:
        for name, value in uraq.process_results(
            {**by_id[reply["id"]], "variant": reply["variant"]}, [reply["prediction"]]
        ).items():
            values.setdefault(name, []).append(value)
    tables = uraq.score(by_id.values(), predictions).tables
    assert uraq.overall(values["overall"]) == pytest.approx(over(tables["overall accuracy"]))
    for need in NEEDS:
        cells = [cell for cell in tables["case-level accuracy"] if need in cell[0]]
        assert uraq.case_level(values[f"case_{need}"]) == pytest.approx(over(cells))
        for setting in SETTINGS:
            cells = [cell for cell in tables["setting-specific accuracy"] if cell[0].endswith(f"{need} / {setting}")]
            assert sum(values[f"{need}_{setting}"]) / len(values[f"{need}_{setting}"]) == pytest.approx(over(cells))
    assert sum(values["untagged"]) / len(values["untagged"]) == pytest.approx(over(tables["replies without <output>"]))
    assert math.isnan(uraq.overall([]))


def over(cells: Iterable[Any]) -> float:
    """The mean over all columns of a table, each by its number."""
    kept = [(value, n) for _, _, value, n in cells if n]
    return sum(value * n for value, n in kept) / sum(n for _, n in kept)


def test_the_harness_s_figures_of_reeval_are_the_tables() -> None:
    cases = enriched_cases()
    predictions = replies({case.id: reeval.VARIANTS["category 2"] for case in cases}.items(), 5)
    by_id = {case.id: case.model_dump(mode="json") for case in cases}
    values: dict[str, list[Any]] = {}
    for reply in predictions:
        for name, value in reeval.process_results(
            {**by_id[reply["id"]], "variant": reply["variant"]}, [reply["prediction"]]
        ).items():
            values.setdefault(name, []).append(value)
    tables = reeval.score(by_id.values(), predictions).tables
    cells = {(name, column): value for name, rows in tables.items() for _, column, value, _ in rows}
    assert reeval.both_right(values["em_both"]) == pytest.approx(cells["category 2", "EM"])
    assert reeval.mean_of_both(values["f1_both"]) == pytest.approx(cells["category 2", "F1"])
    assert sum(values["f1_original"]) / 3 == pytest.approx(cells["category 2, original evidence", "F1"])
