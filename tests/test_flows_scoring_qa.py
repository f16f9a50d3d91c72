"""Exact match and F1 by hand and beside the official MRQA script; numbers by their value."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from flows.scoring.metrics import METRICS
from flows.scoring.number_value import number_value
from flows.scoring.qa import exact_match, f1, normalise_answer, normalise_chinese


def test_the_normal_form_drops_case_punctuation_articles_and_extra_space() -> None:
    assert normalise_answer("  The U.S.,  a\tnation ") == "us nation"
    assert normalise_answer("Theatre") == "theatre"


def test_exact_match_is_the_best_over_the_answers() -> None:
    assert exact_match("the Sun.", ["Moon", "sun"]) == 1
    assert exact_match("sunny", ["Moon", "sun"]) == 0
    assert exact_match("the", ["a"]) == 1  # both normal forms are empty


def test_f1_worked_by_hand() -> None:
    # "old red harbour clock" / "harbour clock tower": 2 shared, P = 2/4, R = 2/3, F1 = 2·(1/3) / (7/6) = 4/7
    assert f1("the old red harbour clock", ["a harbour clock tower"]) == pytest.approx(4 / 7)
    assert f1("the old red harbour clock", ["nothing", "a harbour clock tower"]) == pytest.approx(4 / 7)
    # A repeated word counts as often as both have it: 1 shared, P = 1/3, R = 1/1, F1 = 1/2
    assert f1("ring ring ring", ["ring"]) == pytest.approx(1 / 2)


def test_f1_is_zero_where_nothing_is_shared_and_where_a_side_is_empty() -> None:
    assert f1("moon", ["sun"]) == 0
    assert f1("", ["sun"]) == 0
    assert f1("the", ["a"]) == 0


def test_no_answers_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        exact_match("sun", [])


def test_every_official_mrqa_score_is_met(shared: Path) -> None:
    rows = (shared / "vectors" / "mrqa_metrics.jsonl").read_text(encoding="utf-8").split("\n")
    cases = [json.loads(row) for row in rows if row]
    assert len(cases) == 158
    for case in cases:
        score = METRICS[case["metric"]](case["prediction"], case["answers"], case["keywords"], case["lang"])
        assert score == pytest.approx(case["score"], abs=1e-6), case["id"]


def test_a_metric_refuses_a_language_it_does_not_know() -> None:
    with pytest.raises(ValueError, match='f1 is for lang "en" and "zh", not "fr"'):
        METRICS["f1"]("soleil", ["soleil"], None, "fr")


def test_the_chinese_normal_form_has_a_token_for_each_character_and_each_latin_word() -> None:
    assert normalise_chinese("《Python ３》 ２０２４年！") == "python 3 2024 年"
    assert normalise_chinese("约 3.5 万（人）") == "约 35 万 人"
    assert normalise_chinese("。，！") == ""


def test_chinese_metrics_worked_by_hand() -> None:
    assert METRICS["exact_match"]("北京。", ["上海", "北京"], None, "zh") == 1
    assert METRICS["exact_match"]("在北京", ["北京"], None, "zh") == 0
    # 在 北 京 市 / 北 京: 2 shared, P = 2/4, R = 2/2, F1 = 2·(1/2) / (3/2) = 2/3
    assert METRICS["f1"]("在北京市", ["北京"], None, "zh") == pytest.approx(2 / 3)
    # 2024 年 3 月 / 2024 年: 2 shared, P = 2/4, R = 1, F1 = 2/3; the year is one token
    assert METRICS["f1"]("2024年3月", ["２０２４年"], None, "zh") == pytest.approx(2 / 3)
    assert METRICS["f1"]("", ["北京"], None, "zh") == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", Fraction(3)), ("3.0", Fraction(3)), (" three. ", Fraction(3)), ("Zero", Fraction(0)),
        ("1,234", Fraction(1234)), ("-1,234.50", Fraction(-2469, 2)), ("−2", Fraction(-2)), (".5", Fraction(1, 2)),
        ("3/4", Fraction(3, 4)), ("twelve", Fraction(12)), ("Twenty-five", Fraction(25)),
        ("two hundred and six", Fraction(206)), ("minus four", Fraction(-4)), ("one thousand", Fraction(1000)),
        ("nine hundred ninety-nine thousand one hundred and one", Fraction(999101)),
        ("two million and one", Fraction(2000001)),
    ],
)  # fmt: skip
def test_a_number_is_read_by_its_value(text: str, value: Fraction) -> None:
    assert number_value(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "", ".", "and", "5 km", "$5", "5%", "1,23", "1/0", "five six", "twenty eleven", "and one", "hundred",
        "seven brides", "12 34", "B12",
    ],
)  # fmt: skip
def test_what_is_not_a_number_alone_has_no_value(text: str) -> None:
    assert number_value(text) is None


def test_a_runaway_answer_is_no_number() -> None:
    assert number_value("1" * 5000) is None
    assert number_value(f"{'1' * 5000}/3") is None
