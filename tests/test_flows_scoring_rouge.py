"""ROUGE-L by hand; the scores of the authors' program are met in `test_flows_scoring_keyword_recall.py`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from flows.scoring.metrics import METRICS
from flows.scoring.rouge import common_subsequence, rouge_l

WORDS = st.lists(st.sampled_from("abcde"), max_size=25)


def test_the_union_over_all_pairs_of_sentences_worked_by_hand() -> None:
    # "the cat" is in order with the first sentence, "the sat" with the second: U has 3 of 5 words and 3 of 3.
    # P = 1, R = 3/5, F = 2·(3/5) / (8/5) = 3/4
    assert rouge_l("the cat sat", "the cat ran. the dog sat") == pytest.approx(3 / 4)
    assert rouge_l("the cat ran. the dog sat", "the cat sat") == pytest.approx(3 / 4)
    # A word counts once: "a a a" has one, which the reference has too. P = 1, R = 1/2, F = 2/3
    assert rouge_l("a a a", "a b") == pytest.approx(2 / 3)


def test_the_same_text_scores_nearly_one_and_an_empty_one_zero() -> None:
    assert 1 - 1e-8 < rouge_l("a b. c", "a b. c") < 1
    for hypothesis, reference in (("", "a"), ("a", ""), ("...", "a"), ("a", "b")):
        assert rouge_l(hypothesis, reference) == 0


def test_of_two_longest_subsequences_the_one_that_backtracking_meets() -> None:
    assert common_subsequence(["a", "b"], ["b", "a"]) == ["b"]
    assert common_subsequence(["b", "a"], ["a", "b"]) == ["a"]


@given(WORDS, WORDS)
def test_it_is_in_order_in_both_and_as_long_as_can_be(first: list[str], second: list[str]) -> None:
    found = common_subsequence(first, second)
    assert len(found) == LCSseq.similarity(first, second)
    for words in (first, second):
        left = iter(words)
        assert all(word in left for word in found)


def test_a_text_of_thousands_of_words_is_scored() -> None:
    # Every second word is shared: P = R = 1500/3000
    ours = " ".join(f"w{number}" for number in range(3000))
    theirs = " ".join(f"{'w' if number % 2 else 'v'}{number}" for number in range(3000))
    assert rouge_l(ours, theirs) == pytest.approx(1 / 2)


def test_chinese_is_compared_by_words_with_and_without_the_blacklisted() -> None:
    # 在 红 绿 / 在 红 蓝: 2 of 3 each; without 在, 1 of 2 each
    assert METRICS["rouge_zh_score"]("在 红 绿", ["在 红 蓝"], None, "zh") == pytest.approx(2 / 3)
    assert METRICS["rouge_zh_score_blacklist"]("在 红 绿", ["在 红 蓝"], None, "zh") == pytest.approx(1 / 2)
    assert METRICS["rouge_zh_score_blacklist"]("在的", ["在的"], None, "zh") == 0


NOTHING_ELSE = (
    ("一种月无", "变得到有方面", 1 / (1 + 0.5e-8)),
    ("在和", "和在", 0),  # of two words nothing remains
    ("一种月无", "在", 0),
    ("一种月无", "红", 0),
    ("，。！？", "根据以及通过", 1 / (1 + 0.5e-8)),
    ("", "变得到有方面", 0),
)


@pytest.mark.parametrize(("prediction", "answer", "score"), NOTHING_ELSE)
def test_texts_of_nothing_but_blacklisted_words_score_as_released(prediction: str, answer: str, score: float) -> None:
    # Between three words of which none is left stand two spaces, and such a text has one word, which is empty.
    assert METRICS["rouge_zh_score_blacklist"](prediction, [answer], None, "zh") == pytest.approx(score, abs=1e-12)
