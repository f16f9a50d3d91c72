"""The three scores of an option, by hand."""

import pytest

from flows.llm.likelihood import DEFAULT_SCORE, SCORES, Likelihood

SHORT, LONG = Likelihood((-1.0, -2.0), (-3.0,)), Likelihood((-1.0, -2.0), (-1.0, -1.5, -1.0, -1.5))


def test_the_scores_worked_by_hand() -> None:
    # sum: -3 and -5. mean: -3/1 and -5/4. sequence: -(1+2+3)/3 and -(1+2+5)/6.
    found = {name: (score(SHORT), score(LONG)) for name, score in SCORES.items()}
    assert found == {
        "sum": (-3, -5),
        "mean": (-3, -5 / 4),
        "sequence": (pytest.approx(-2), pytest.approx(-4 / 3)),
    }


def test_they_do_not_choose_the_same_option_and_the_sum_is_the_default() -> None:
    chosen = {name: "short" if score(SHORT) > score(LONG) else "long" for name, score in SCORES.items()}
    assert chosen == {"sum": "short", "mean": "long", "sequence": "long"}
    assert next(iter(SCORES)) == DEFAULT_SCORE == "sum"
