"""LV-Eval's F1 scores by hand and beside the authors' program; where their paper differs from it."""

import json
from pathlib import Path

import pytest

from flows.scoring.metrics import METRICS
from flows.scoring.qa import english_words
from flows.scoring.words import chinese_segments, chinese_words, released_blacklist

CLOCK = "The harbour clock was repaired by Odessa Marlowe in 1987."
FIVE_EN, FIVE_ZH = "red green blue grey black", "红 绿 蓝 灰 黑"


def by(metric: str, prediction: str, answer: str, keywords: str | None = None, lang: str = "en") -> float:
    return METRICS[metric](prediction, [answer], keywords, lang)


def test_every_score_of_the_released_program_is_met(shared: Path) -> None:
    rows = (shared / "vectors" / "lveval_metrics.jsonl").read_text(encoding="utf-8").split("\n")
    cases = [json.loads(row) for row in rows if row]
    assert len(cases) == 859
    for case in cases:
        score = METRICS[case["metric"]](case["prediction"], case["answers"], case["keywords"], case["lang"])
        assert score == pytest.approx(case["score"], abs=1e-6), case["id"]


def test_the_blacklists_are_the_released_ones(shared: Path) -> None:
    released = json.loads((shared / "vectors" / "lveval_blacklist.json").read_text(encoding="utf-8"))
    assert {language: released_blacklist(language) for language in ("en", "zh")} == {
        language: frozenset(words) for language, words in released.items()
    }


def test_the_words_that_are_compared() -> None:
    assert english_words("The re-entry of a “Theatre”, in the U.S.") == ("reentry", "of", "“theatre”", "in", "us")
    assert "".join(chinese_segments("《他 说》：Ａ。")) == "《他 说》：Ａ。"
    assert chinese_words("《他 说》：PYTHON。") == ("《", "他", "说", "python")  # only the closing mark is deleted
    assert chinese_words("。 ！") == ()


def test_f1_behind_the_gate_worked_by_hand() -> None:
    # 9 words, of which the prediction has 1: P = 1, R = 1/9, F1 = 2·(1/9) / (10/9) = 1/5. Recall of the keywords: 1/3
    assert by("qa_f1_score", "Marlowe", CLOCK) == pytest.approx(1 / 5)
    assert by("qa_f1_score_factrecall", "Marlowe", CLOCK) == pytest.approx(1 / 9)
    assert by("qa_f1_score_with_gold_ans", "Marlowe", CLOCK, "Odessa Marlowe 1987") == pytest.approx(1 / 5)
    assert by("qa_f1_score_with_gold_ans", "the harbour clock", CLOCK, "Odessa Marlowe 1987") == 0
    # The paper's gate is at 0.4. Its F1 leaves out "was", "by" and "in": P = 1, R = 2/6, F1 = 2·(1/3) / (4/3) = 1/2
    assert by("keyword_recall_f1", "Marlowe", CLOCK, "Odessa Marlowe 1987") == 0
    assert by("keyword_recall_f1", "by Odessa Marlowe", CLOCK, "Odessa Marlowe 1987") == pytest.approx(1 / 2)
    # With these words P = 3/4, R = 3/9, F1 = 2·(1/4) / (13/12) = 6/13; without them P = 2/3, R = 2/6, F1 = 4/9
    assert by("paper_f1_with_keywords", "by old Odessa Marlowe", CLOCK, "Odessa Marlowe") == pytest.approx(6 / 13)
    assert by("keyword_recall_f1", "by old Odessa Marlowe", CLOCK, "Odessa Marlowe") == pytest.approx(4 / 9)


def test_at_the_threshold_the_program_passes_and_the_paper_does_not() -> None:
    # One of five: P = 1, R = 1/5, F1 = 1/3. Two: 4/7. Three: 3/4
    assert by("qa_f1_score_with_gold_ans", "red", FIVE_EN, FIVE_EN) == pytest.approx(1 / 3)
    assert by("qa_f1_score_with_gold_ans", "red", FIVE_EN, f"{FIVE_EN} white") == 0
    assert by("keyword_recall_f1", "red green", FIVE_EN, FIVE_EN) == 0
    assert by("keyword_recall_f1", "red green blue", FIVE_EN, FIVE_EN) == pytest.approx(3 / 4)
    assert by("qa_f1_zh_score_with_gold_ans", "红", FIVE_ZH, FIVE_ZH, "zh") == 0
    assert by("qa_f1_zh_score_with_gold_ans", "红 绿", FIVE_ZH, FIVE_ZH, "zh") == pytest.approx(4 / 7)
    assert by("keyword_recall_f1", "红", FIVE_ZH, FIVE_ZH, "zh") == 0
    assert by("keyword_recall_f1", "红 绿", FIVE_ZH, FIVE_ZH, "zh") == pytest.approx(4 / 7)


def test_without_keywords_the_programs_chinese_gate_acts_on_the_answer_and_the_papers_not() -> None:
    for none in (None, ""):
        assert by("qa_f1_zh_score_with_gold_ans", "红", FIVE_ZH, none, "zh") == 0
        assert by("qa_f1_score_with_gold_ans", "red", f"{FIVE_EN} white", none) == pytest.approx(2 / 7)
        assert by("keyword_recall_f1", "红", FIVE_ZH, none, "zh") == pytest.approx(1 / 3)


def test_blacklisted_words_are_not_recalled_by_the_program_and_left_out_by_the_paper() -> None:
    # Both have 在, so F1 = 1/2; the keywords 在 and 北京 are then recalled to 0 of 2 or to 1 of 2
    assert by("qa_f1_zh_score", "在 上海", "在 北京", None, "zh") == pytest.approx(1 / 2)
    assert by("qa_f1_zh_score_with_gold_ans", "在 上海", "在 北京", "在 北京", "zh") == 0
    assert by("released_f1_with_keywords", "在 上海", "在 北京", "在 北京", "zh") == pytest.approx(1 / 2)
    assert by("paper_f1_with_keywords", "在 上海", "在 北京", "在 北京", "zh") == pytest.approx(1 / 2)
    assert by("keyword_recall_f1", "在 上海", "在 北京", "在 北京", "zh") == 0
    assert by("f1_with_blacklist", "在 上海", "在 北京", None, "zh") == 0
    assert by("f1_with_blacklist", "上海 在 北京", "在 北京", None, "zh") == pytest.approx(2 / 3)  # P = 1/2, R = 1
    assert by("qa_f1_score_with_gold_ans", "in of", "in of", "in of") == 0  # nothing could be recalled


@pytest.mark.parametrize(
    ("keywords", "answer", "lang", "released"),
    [
        ("the a", "red", "en", "qa_f1_score_with_gold_ans"),
        (" , ", "red", "en", "qa_f1_score_with_gold_ans"),
        ("。", "红", "zh", "qa_f1_zh_score_with_gold_ans"),
    ],
)
def test_keywords_of_which_nothing_is_left_are_no_gate(keywords: str, answer: str, lang: str, released: str) -> None:
    for metric in (released, "released_f1_with_keywords", "keyword_recall_f1"):
        assert by(metric, answer, answer, keywords, lang) == 1
        assert by(metric, "?", answer, keywords, lang) == 0


def test_only_the_first_answer_is_scored() -> None:
    assert METRICS["qa_f1_score"]("red", ["blue", "red"], None, "en") == 0
    assert METRICS["qa_f1_score"]("red", ["red", "blue"], None, "en") == 1


def test_a_metric_refuses_another_language_and_no_answer() -> None:
    with pytest.raises(ValueError, match='qa_f1_zh_score is for lang "zh", not "en"'):
        by("qa_f1_zh_score", "红", "红")
    with pytest.raises(ValueError, match='keyword_recall_f1 is for lang "en" and "zh", not "fr"'):
        by("keyword_recall_f1", "soleil", "soleil", lang="fr")
    with pytest.raises(ValueError, match="the list of answers is empty"):
        METRICS["qa_f1_score"]("red", [], None, "en")


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_every_metric_of_an_empty_reply_is_zero(metric: str) -> None:
    lang = "zh" if "_zh" in metric else "en"
    assert by(metric, "", {"en": "red", "zh": "红"}[lang], None, lang) == 0
