"""LV-Eval's tables by hand: rows few and short enough to know every score."""

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from flows.families.lveval.datasets import BY_NAME, DATASETS, VARIANTS, Ablation, ablations_of, variants_of, words_of
from flows.families.lveval.evaluation import EVALUATION, score
from flows.families.lveval.scored_reply import dataset_of, metric_of
from flows.scoring.metrics import METRICS
from flows.scoring.scorer import Row
from flows.scoring.tables import ScoreError, ScoreTables
from schemas.base import Provenance
from schemas.errors import WrongInput
from schemas.lveval import LongContext, Rule
from schemas.prediction import Prediction

Answer = Callable[[Row, str], str]
HOTPOT, LOOGLE, CMRC, DUREADER = "hotpotwikiqa-mixup", "loogle-SD-mixup", "cmrc-mixup", "dureader-mixup"


@dataclass(frozen=True)
class Settings:
    metrics: Literal["released", "paper"] = "released"
    context_windows: Mapping[str, int] | None = field(default=None)
    blacklists: Mapping[Literal["en", "zh"], str] = field(default_factory=dict)


def row(name: str, dataset: str = LOOGLE, level: str = "16k", **changes: Any) -> Row:
    released = changes.pop("released", asked_for("red green", "red green"))
    facts = changes.pop("confusing_facts", 2 if BY_NAME[dataset].confusing_facts else 0)
    return {
        "id": name, "pair_id": name, "confusing_facts": ["a fact"] * facts, "dataset": BY_NAME[dataset].at(level),
        "level": level, "depth": None, "language": BY_NAME[dataset].language, "original": released, **released,
        **changes,
    }  # fmt: skip


def asked_for(answer: str, keywords: str) -> dict[str, Any]:
    return {"answers": [answer], "answer_keywords": keywords}


def right(one: Row, variant: str) -> str:
    return str(one["answers"][0])


def wrong(one: Row, variant: str) -> str:
    return "nothing"


def replies(
    rows: Iterable[Row], answer: Answer = right, model: str = "m", prompting: Ablation | None = None,
    shots: int | None = None,
) -> list[Prediction]:  # fmt: skip
    return [
        Prediction(
            id=one["id"],
            variant=variant,
            prediction=answer(one, variant),
            model=model,
            prompting=prompting,
            shots=shots,
        )
        for one in rows
        for variant in variants_of(prompting)
        if prompting is None or prompting in ablations_of(dataset_of(one), confused=bool(one["confusing_facts"]))
    ]


def value(scored: ScoreTables, table: str, at: str, column: str) -> tuple[float | None, int]:
    (cell,) = [c for c in scored.tables if (c.table, c.row, c.column) == (table, at, column)]
    return None if cell.value is None else round(cell.value, 9), cell.n


def test_a_row_keeps_all_but_its_context() -> None:
    long = LongContext(
        key="k", input="Who?", context="### Passage 1\nBeethoven.", answers=("Beethoven", "Ludwig"), length=3,
        dataset="loogle_MIR_mixup_32k", language="en", answer_keywords="Beethoven", confusing_facts=(), pair_id="p",
        level="32k", depth=None, answer_test="whole-word", positions=(), replacements=(), sources=(),
        context_xxh3="0", provenance=Provenance(seed=1),
    )  # fmt: skip
    kept = EVALUATION.scored(long)
    assert (kept["id"], dataset_of(kept).name, kept["level"]) == (long.id, "loogle-MR-mixup", "32k")
    assert kept["original"] == {"answers": ["Beethoven"], "answer_keywords": "Beethoven"}
    assert kept["answers"][0] == "Beethoven"
    assert "Passage" not in str(kept)


def test_a_row_knows_answer_and_keywords_from_before_replacement() -> None:
    long = LongContext(
        key="k", input="Who?", context="c", answers=("Ludwig Beethoven of Ulm",), length=1,
        dataset="factrecall_en_16k", language="en", answer_keywords="Ludwig Beethoven", confusing_facts=(),
        pair_id="p", level="16k", depth=7, answer_test="none", positions=(),
        replacements=(Rule(old="Albert Einstein", new="Ludwig Beethoven"),), sources=(), context_xxh3="0",
        provenance=Provenance(seed=1),
    )  # fmt: skip
    assert EVALUATION.scored(long)["original"] == asked_for("Albert Einstein of Ulm", "Albert Einstein")


def test_the_metric_of_every_dataset_as_released_and_in_the_paper() -> None:
    assert {metric_of(one, "released") for one in DATASETS} <= set(METRICS)
    assert {one.name: metric_of(one, "paper") for one in DATASETS} == {
        **dict.fromkeys((one.name for one in DATASETS), "keyword_recall_f1"),
        CMRC: "f1_with_blacklist",
        DUREADER: "rouge_zh_score_blacklist",
    }


def test_scores_by_dataset_and_level() -> None:
    rows = [row("1"), row("2"), row("3", level="256k"), row("4", level="32k")]
    # "red": recall of the keywords 1/2, P = 1, R = 1/2, F1 = 2/3
    scored = score(rows, replies(rows, lambda one, _: {"1": "red", "3": "blue"}.get(one["id"], "red green")), False,
                   Settings())  # fmt: skip
    table = "score by dataset"
    assert value(scored, table, f"m / {LOOGLE}", "16k") == (round((2 / 3 + 1) / 2, 9), 2)
    assert value(scored, table, f"m / {LOOGLE}", "256k") == (0, 1)
    assert value(scored, table, f"m / {LOOGLE}", "32k") == (1, 1)
    # Over all levels it is the mean of the levels' scores, 5/6, 1 and 0, however many replies each has.
    assert value(scored, table, f"m / {LOOGLE}", "all levels") == (round((5 / 6 + 1 + 0) / 3, 9), 4)
    assert list(scored.frames[table].columns) == ["16k", "32k", "256k", "all levels"]


def test_scores_are_shown_in_per_cent_and_counts_as_they_are() -> None:
    rows = [row("1", HOTPOT), row("2", level="32k")]
    scored = score(rows, [*replies(rows), *replies(rows, prompting="no-cfi")], False, Settings())
    assert {name: scored.unit(name) for name in scored.frames} == {
        **dict.fromkeys(scored.frames, "per cent"), "words shared with answers": "count", "confusing facts": "count",
    }  # fmt: skip
    assert len(scored.frames) == 8


def test_averages_weigh_every_dataset_alike() -> None:
    rows = [row("1"), row("2"), row("3"), row("4", HOTPOT), row("5", "loogle-CR-mixup", "32k")]
    scored = score(
        rows, replies(rows, lambda one, _: "red green" if one["id"] in "34" else "nothing"), False, Settings()
    )
    # loogle-SD 1/3, hotpotwikiqa 1/1: their mean is 2/3, over 4 replies
    assert value(scored, "score by level", "m", "16k") == (round(2 / 3, 9), 4)
    assert value(scored, "score by level", "m", "32k") == (0, 1)
    # The mean of 1/3, 1 and 0
    assert value(scored, "score by level", "m", "all levels") == (round(4 / 9, 9), 5)
    assert value(scored, "score by type", "m / single-hop QA", "16k") == (round(1 / 3, 9), 3)
    assert value(scored, "score by type", "m / multi-hop CQA", "all levels") == (1, 1)
    assert value(scored, "score by type", "m / multi-hop QA", "32k") == (0, 1)
    assert list(scored.frames["score by type"].columns) == ["16k", "32k", "all levels"]


def test_the_five_types() -> None:
    rows = [row(one.name, one.name, released=asked_for("1", "1")) for one in DATASETS]
    scored = score(rows, replies(rows), False, Settings())
    assert list(scored.frames["score by type"].index) == [
        "m / fact recall", "m / multi-hop CQA", "m / multi-hop QA", "m / single-hop CQA", "m / single-hop QA",
    ]  # fmt: skip


def test_the_metric_ablation_beside_the_ceiling() -> None:
    # "在 红": of 在 红 绿 蓝 2 of 4, P = 1, R = 1/2, F1 = 2/3. The gate is at 2/4 of the answer's words; of those
    # that tell something 1/4.
    asked = asked_for("在 红 绿 蓝", "")
    rows = [row("1", CMRC, released=asked), row("2", CMRC, "64k", released=asked)]
    predictions = replies(rows, lambda one, _: "在 红")
    table, at = "metric ablation", f"m / {CMRC} / "
    scored = score(rows, predictions, False, Settings(context_windows={"m": 32_000, "other": 1}))
    assert list(scored.frames[table].index) == [
        f"{at}F1", f"{at}ceiling Lm/Ld", f"{at}with keywords", f"{at}with keywords and blacklist",
    ]  # fmt: skip
    assert value(scored, table, f"{at}F1", "16k") == (round(2 / 3, 9), 1)
    assert value(scored, table, f"{at}with keywords", "16k") == (round(2 / 3, 9), 1)
    assert value(scored, table, f"{at}with keywords and blacklist", "16k") == (0, 1)
    assert value(scored, table, f"{at}ceiling Lm/Ld", "16k") == (1, 1)
    assert value(scored, table, f"{at}ceiling Lm/Ld", "64k") == (0.5, 1)
    # In the paper there is no gate without keywords, and the F1 is of 红 and 红 绿 蓝: P = 1, R = 1/3
    scored = score(rows, predictions, False, Settings("paper"))
    assert value(scored, table, f"{at}with keywords", "16k") == (round(2 / 3, 9), 1)
    assert value(scored, table, f"{at}with keywords and blacklist", "16k") == (0.5, 1)
    assert value(scored, "score by dataset", f"m / {CMRC}", "16k") == (0.5, 1)
    assert f"{at}ceiling Lm/Ld" not in scored.frames[table].index


def test_a_blacklist_of_ones_own_takes_the_place_of_the_released_one(tmp_path: Path) -> None:
    # Of "red blue" and "red green": P = R = F1 = 1/2, and nothing is shared where red is left out.
    # Of "红 在" and "红 绿", without 在: P = 1, R = 1/2, F1 = 2/3.
    rows = [
        row("1", released=asked_for("red green", "red")),
        row("2", CMRC, released=asked_for("红 绿", "")),
    ]
    predictions = replies(rows, lambda one, _: "Red blue" if one["language"] == "en" else "红 在")
    (own := tmp_path / "en.txt").write_text("Red\n\n", encoding="utf-8")
    table, at = "score by dataset", "16k"
    scored = score(rows, predictions, False, Settings("paper"))
    assert value(scored, table, f"m / {LOOGLE}", at) == (0.5, 1)
    assert value(scored, table, f"m / {CMRC}", at) == (round(2 / 3, 9), 1)
    scored = score(rows, predictions, False, Settings("paper", blacklists={"en": str(own)}))
    assert value(scored, table, f"m / {LOOGLE}", at) == (0, 1)
    assert value(scored, table, f"m / {CMRC}", at) == (round(2 / 3, 9), 1), "Chinese keeps the released one"
    assert f"en: the blacklist is {own}" in scored.notes


@pytest.mark.parametrize(("text", "said"), [("", "has no words"), ("of the\n", "'of the' is more than a word")])
def test_what_is_no_blacklist_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (own := tmp_path / "en.txt").write_text(text, encoding="utf-8")
    for path, expected in ((own, said), (tmp_path / "none", "cannot be read")):
        with pytest.raises(WrongInput, match=expected):
            score([row("1")], replies([row("1")]), False, Settings(blacklists={"en": str(path)}))


def test_rouge_has_no_metric_ablation() -> None:
    rows = [row("1", DUREADER, released=asked_for("红 绿", ""))]
    scored = score(rows, replies(rows), False, Settings())
    assert "metric ablation" not in scored.frames
    assert value(scored, "score by dataset", f"m / {DUREADER}", "16k")[0] == pytest.approx(1)


def test_the_two_variants_of_the_metrics_and_what_the_tables_say_of_them() -> None:
    asked = asked_for("red green blue", "red green blue")
    rows = [row("1", released=asked), row("2", "factrecall-en", released=asked, depth=0)]
    predictions = replies(rows, lambda one, _: "red")  # recall 1/3: P = 1, R = 1/3, F1 = 1/2
    for variant, gated, recalled in (("released", 0.5, 0.5), ("paper", 0, 0)):
        scored = score(rows, predictions, False, Settings(variant))  # type: ignore[arg-type]
        assert value(scored, "score by dataset", f"m / {LOOGLE}", "16k") == (gated, 1)
        assert value(scored, "score by dataset", "m / factrecall-en", "16k") == (recalled, 1)
        assert scored.notes[0].startswith(f"{variant} metrics: ")


def test_fact_recall_by_depth_is_a_grid_to_be_drawn() -> None:
    asked = asked_for("Beethoven", "Beethoven")
    rows = [
        row(f"{depth} {level}", "factrecall-en", level, released=asked, depth=depth)
        for depth in (0, 5, 10, 100)
        for level in ("128k", "16k")
        if (depth, level) != (100, "16k")
    ]
    predictions = replies(rows, lambda one, _: "Beethoven" if one["depth"] == 10 else "Hahn")
    predictions += replies(rows, prompting="no-cfi")
    scored = score(rows, predictions, False, Settings())
    assert value(scored, "fact recall by depth", "m / factrecall-en / 010", "16k") == (1, 1)
    grid = scored.frames["fact recall by depth"]
    assert list(grid.columns) == ["16k", "128k"]
    of_rows, without_facts = ([f"{group} / factrecall-en / {n}" for n in ("000", "005", "010", "100")]
                              for group in ("m", "m, no-cfi"))  # fmt: skip
    assert list(grid.index) == [*of_rows, *without_facts]
    assert grid.loc[of_rows[2]].tolist() == [1, 1]
    assert math.isnan(grid.loc[of_rows[3], "16k"])
    assert grid.loc[of_rows, "128k"].tolist() == [0, 0, 1, 0]
    assert grid.loc[without_facts, "128k"].tolist() == [1, 1, 1, 1]


def test_an_ablation_stands_beside_the_rows_as_released_and_not_among_them() -> None:
    original = asked_for("blue", "blue")
    rows = [row("1", HOTPOT, original=original), row("2")]
    predictions = [
        *replies(rows, wrong),
        *replies(rows, right, prompting="no-cfi"),
        *replies(rows, lambda one, _: "blue", prompting="no-kpr"),
        *replies(rows, right, prompting="neither"),
    ]
    scored = score(rows, predictions, False, Settings())
    table, at = "CFI and KPR", f"m / {HOTPOT} / "
    assert {row: value(scored, table, row, "16k") for row in scored.frames[table].index} == {
        f"{at}as released": (0, 1),
        f"{at}neither": (0, 1),  # the answer from before replacement is asked for
        f"{at}no-cfi": (1, 1),
        f"{at}no-kpr": (1, 1),
    }
    assert list(scored.frames["score by level"].index) == ["m"]
    assert value(scored, "score by level", "m", "16k") == (0, 2)


def test_leakage_is_told_without_the_context() -> None:
    rows = [
        row(f"{number} {level}", HOTPOT, level, original=asked_for("blue", "blue"))
        for number in (1, 2)
        for level in ("16k", "32k")
    ]
    rows.append(row("3"))
    predictions = replies(rows, lambda one, variant: "red green" if variant == "context" else "nothing", shots=2)
    predictions += replies(
        rows, lambda one, variant: "blue" if one["id"][0] == "1" else "nothing", prompting="no-kpr", shots=2
    )
    scored = score(rows, predictions, False, Settings())
    table, at = "leakage", f"m, 2 shots / {HOTPOT} / "
    assert value(scored, table, f"{at}direct, with KPR", "all levels") == (0, 4)
    assert value(scored, table, f"{at}direct, without KPR", "all levels") == (0.5, 4)
    assert value(scored, table, f"{at}context, with KPR", "32k") == (1, 2)
    assert value(scored, table, f"{at}context, without KPR", "16k") == (0.5, 2)
    assert value(scored, table, f"m, 2 shots / {LOOGLE} / direct", "all levels") == (0, 1)
    assert list(scored.frames[table].columns) == ["16k", "32k", "all levels"]


def test_replies_under_an_ablation_that_changes_nothing_are_left_out_and_said() -> None:
    rows = [row("1", HOTPOT), row("2"), row("3")]
    predictions = [
        *replies(rows),
        *replies(rows, prompting="no-cfi"),
        *(Prediction(id=id_, variant="context", prediction="red", model="m", prompting="no-cfi") for id_ in "23"),
    ]
    scored = score(rows, predictions, False, Settings())
    assert scored.notes[1:] == ["2 replies under no-cfi are left out: it changes nothing in their rows"]
    assert list(scored.frames["CFI and KPR"].index) == [f"m / {HOTPOT} / as released", f"m / {HOTPOT} / no-cfi"]


def test_pairs_without_confusing_facts_are_told_and_stand_in_no_ablation() -> None:
    rows = [
        row(f"{pair} {level}", HOTPOT, level, pair_id=pair, confusing_facts=facts)
        for pair, facts in (("a", 2), ("b", 1), ("c", 0), ("d", 0))
        for level in ("16k", "32k")
    ]
    rows.append(row("e"))
    predictions = [*replies(rows, lambda one, _: "red green" if one["pair_id"] in "cde" else "nothing")]
    predictions += [*replies(rows, right, prompting="no-cfi"), *replies(rows, right, prompting="no-kpr")]
    scored = score(rows, predictions, False, Settings())
    assert value(scored, "confusing facts", HOTPOT, "none") == (2, 4)
    assert value(scored, "confusing facts", HOTPOT, "one") == (1, 4)
    assert value(scored, "confusing facts", HOTPOT, "two") == (1, 4)
    assert list(scored.frames["confusing facts"].index) == [HOTPOT]
    assert f"{HOTPOT}: 2 of 4 pairs have no confusing fact; CFI and KPR is over the others" in scored.notes
    table, at = "CFI and KPR", f"m / {HOTPOT} / "
    assert value(scored, table, f"{at}as released", "16k") == (0, 2)
    assert value(scored, table, f"{at}no-cfi", "16k") == (1, 2)
    assert value(scored, table, f"{at}no-kpr", "16k") == (1, 2)
    # Without its context a question is asked without replacements whether it has confusing facts or not.
    assert value(scored, "leakage", f"{at}direct, without KPR", "16k") == (1, 4)


def test_any_other_prompting_is_a_model_of_its_own() -> None:
    rows = [row("1")]
    cot = [one.model_copy(update={"prompting": "cot"}) for one in replies(rows, wrong)]
    scored = score(rows, [*replies(rows), *cot], False, Settings())
    assert value(scored, "score by level", "m", "16k") == (1, 1)
    assert value(scored, "score by level", "m, cot", "16k") == (0, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda all_: all_[1:], "expected one for each of 4, found 1 missing (first: 1 context)"),
        (lambda all_: [*all_, all_[0]], "1 double (first: 1 context)"),
        (lambda all_: [*all_, all_[0].model_copy(update={"id": "x"})], "1 unknown (first: x context)"),
        (lambda all_: [*all_, all_[0].model_copy(update={"variant": "closed"})], "1 unknown (first: 1 closed)"),
        (lambda all_: [*all_, all_[0].model_copy(update={"prompting": "no-cfi"})], "1 missing (first: 2 context)"),
        (lambda all_: [], "found none"),
    ],
)
def test_predictions_that_do_not_fit_are_counted(
    change: Callable[[list[Prediction]], list[Prediction]], said: str
) -> None:
    rows = [row("1", HOTPOT), row("2", HOTPOT)]
    with pytest.raises(ScoreError, match=said.replace("(", r"\(").replace(")", r"\)")):
        score(rows, change(replies(rows)), False, Settings())


def test_partial_scores_what_is_there() -> None:
    rows = [row("1"), row("2")]
    predictions = [one for one in replies(rows) if (one.id, one.variant) == ("1", "context")]
    scored = score(rows, predictions, True, Settings())
    assert value(scored, "score by dataset", f"m / {LOOGLE}", "16k") == (1, 1)
    assert "leakage" not in scored.frames
    direct = [one for one in replies(rows) if one.variant == "direct"]
    assert list(score(rows, direct, True, Settings()).frames) == ["leakage"]
    hotpot = [row("3", HOTPOT)]
    for variant, named in (("context", ["CFI and KPR", "confusing facts"]), ("direct", ["confusing facts"])):
        alone = [Prediction(id="3", variant=variant, prediction="red", model="m", prompting="no-cfi")]
        assert list(score(hotpot, alone, True, Settings()).frames) == named


def test_no_rows_are_an_error() -> None:
    with pytest.raises(ScoreError, match="expected contexts, found none"):
        score([], [], False, Settings())


def test_the_order_of_rows_and_predictions_changes_nothing() -> None:
    rows = [row(f"{dataset} {level}", dataset, level) for dataset in (HOTPOT, LOOGLE) for level in ("16k", "256k")]
    predictions = [*replies(rows, wrong, "b"), *replies(rows, right, "a"), *replies(rows, right, "a", "no-kpr")]
    ours = score(rows, predictions, False, Settings()).tables
    random.Random(1).shuffle(rows)
    random.Random(2).shuffle(predictions)
    assert score(rows, predictions, False, Settings()).tables == ours


def test_the_words_of_a_level() -> None:
    assert [words_of(level) for level in ("16k", "256k", "500")] == [16_000, 256_000, 500]
    assert set(VARIANTS) == {"context", "direct"}


def test_the_words_that_replies_share_with_their_answers_are_counted() -> None:
    rows = [row("1"), row("2"), row("3")]
    scored = score(
        rows, replies(rows, lambda one, _: "the red one" if one["id"] == "1" else "red green"), False, Settings()
    )
    shared = {cell.row: cell.value for cell in scored.tables if cell.table == "words shared with answers"}
    assert shared == {"en / red": 3, "en / green": 2}
