"""The values of documents that lm-evaluation-harness averages are those of the scorers' tables."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from flows.families.charpeval import score as charpeval
from flows.families.reeval import score as reeval
from flows.families.uraq import score as uraq
from schemas.uraq import NEEDS, SETTINGS
from tests.released import enriched_cases, replies, right_in_part, swap_cases, uraq_rows


def averaged(documents: Iterable[Mapping[str, float]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for document in documents:
        for name, value in document.items():
            values.setdefault(name, []).append(value)
    return {name: sum(of_name) / len(of_name) for name, of_name in values.items()}


def over(cells: Iterable[Any]) -> float:
    """The mean over all columns of a table, each by its number."""
    kept = [(value, n) for _, _, value, n in cells if n]
    return float(sum(value * n for value, n in kept) / sum(n for _, n in kept))


def test_the_harness_s_values_of_uraq_are_the_tables() -> None:
    rows = [row.model_dump(mode="json") for row in uraq_rows((1, 10))]
    predictions = right_in_part(uraq_rows((1, 10)), 3)
    said = {(one["id"], one["variant"]): one["prediction"] for one in predictions}
    documents: dict[Any, list[Any]] = {}
    for row in rows:
        documents.setdefault((row["item_id"], row["n_contexts"]), []).append(row)
    found = averaged(
        uraq.process_results({"rows": of_item}, [said[row["id"], need] for row in of_item for need in NEEDS])
        for of_item in documents.values()
    )
    tables = uraq.score(rows, predictions).tables
    assert found["overall"] == pytest.approx(over(tables["overall accuracy"]))
    assert found["untagged"] == pytest.approx(over(tables["replies without <output>"]))
    for need in NEEDS:
        cells = [cell for cell in tables["case-level accuracy"] if need in cell[0]]
        assert found[f"case_{need}"] == pytest.approx(over(cells))
        for setting in SETTINGS:
            cells = [cell for cell in tables["setting-specific accuracy"] if cell[0].endswith(f"{need} / {setting}")]
            assert found[f"{need}_{setting}"] == pytest.approx(over(cells))
        for setting in ("conflict", "irrelevant"):
            table = tables["setting-specific accuracy, also right under match"]
            cells = [cell for cell in table if cell[0].endswith(f"{need} / {setting}")]
            assert found[f"{need}_{setting}_and_match"] == pytest.approx(over(cells))


def test_an_item_without_one_of_its_settings_has_no_value_that_takes_it() -> None:
    rows = [row.model_dump(mode="json") for row in uraq_rows((1,))[:3] if row.setting != "conflict"]
    right = [f"<output>{row['expected'][need]}</output>" for row in rows for need in NEEDS]
    values = uraq.process_results({"rows": rows}, right)
    assert set(values) == {
        "untagged",
        *(f"{need}_{setting}" for need in NEEDS for setting in ("match", "irrelevant", "irrelevant_and_match")),
    }
    assert values["memory-first_irrelevant_and_match"] == 1.0


@pytest.mark.parametrize("faithful", [False, True])
def test_the_harness_s_values_of_reeval_are_the_tables(faithful: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reeval, "cross_encoder", lambda name: ends_alike)
    reeval._judge.cache_clear()
    for cases, title in ((swap_cases(), "category 1"), (enriched_cases(), "category 2")):
        variants = reeval.VARIANTS[title][int(faithful) :]
        predictions = [
            {**one, **({"prompting": "faithful"} if faithful else {})}
            for one in replies({case.id: variants for case in cases}.items(), 5)
        ]
        said = {(one["id"], one["variant"]): one["prediction"] for one in predictions}
        rows = [case.model_dump(mode="json") for case in cases]
        found = averaged(
            reeval.process_results(row, [said[row["id"], variant] for variant in variants], "a model") for row in rows
        )
        cells = {
            (name, column): value
            for name, of_table in reeval.score(rows, predictions, judge=ends_alike).tables.items()
            for row, column, value, _ in of_table
            if title == "category 2" or "all sources" in row
        }
        assert found.get("norm_entail") == cells[title, "Norm. entail."]
        for name, column in (("em", "EM"), ("f1", "F1"), ("entail", "Entail.")):
            assert found[name] == pytest.approx(cells[title, column])
            assert found[f"{name}_original"] == pytest.approx(cells[f"{title}, original evidence", column])
            assert (f"{name}_closed_book" in found) != faithful
            if title == "category 2":
                alone = cells["category 2, evidence-focused alone", column]
                assert found[f"{name}_evidence_focused"] == pytest.approx(alone)
    reeval._judge.cache_clear()


def ends_alike(pairs: Iterable[tuple[str, str]]) -> list[bool]:
    """A judge that goes by the last character but one."""
    return [premise[-2] < hypothesis[-2] for premise, hypothesis in pairs]


def test_without_a_cross_encoder_there_is_no_entailment() -> None:
    case = swap_cases()[0].model_dump(mode="json")
    values = reeval.process_results(case, ["", case["original_answer"], case["answer"]])
    assert values == {
        "em": 1.0, "f1": 1.0, "em_closed_book": 0.0, "f1_closed_book": 0.0, "em_original": 1.0, "f1_original": 1.0,
    }  # fmt: skip


def test_options_are_weighed_by_sum_mean_and_sequence() -> None:
    # Of 2 tokens each but the last, of 8: its sum is the least, its mean the largest; the prompt has 10, of -20
    results = [(-6.0, False), (-7.0, False), (-8.0, False), (-9.0, False), (-10.0, False), (-12.0, False)]
    counts = [2, 2, 2, 2, 2, 8, 10]
    values = charpeval.process_results({"counts": counts}, [*results, (-20.0, False)])
    assert {name for name, share in values.items() if share == 1} == {"sum", "mean_COEX", "sequence_COEX"}
    assert set(charpeval.process_results({"counts": []}, results)) == {
        "sum", *(f"sum_{kind}" for kind in charpeval.OPTION_TYPES[1:])
    }  # fmt: skip
