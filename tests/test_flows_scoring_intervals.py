"""Intervals beside SciPy's bootstrap, and by what they are for: clusters, pairs, coverage, a model that had learned."""

import itertools
import random
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from scipy import stats

from flows.scoring.intervals import LEAST_FOR_INTERVAL, Figure, Measured, by_measure
from flows.scoring.values import Value

SCIPY_DRAWS = 10_000
ROOM = 0.35
"""In standard errors of the mean: four of an end of 1,000 draws, which has √(0.025 · 0.975 / 1000) / 0.0584 of them."""


def values(
    numbers: Iterable[float], group: str = "m", at: str = "now", *, prefix: str = "i", items_of_a_source: int = 1
) -> list[Value]:
    """A value for each number, of items whose sources have so many items each."""
    return [
        Value(group, "right", at, f"{prefix}{number}", f"{prefix}{number // items_of_a_source}", value)
        for number, value in enumerate(numbers)
    ]


def tossed(count: int, share: float, seed: int) -> list[float]:
    """Ones and zeros of coins that show a one with this share."""
    drawn = random.Random(seed)
    return [float(drawn.random() < share) for _ in range(count)]


def mean_of(numbers: Sequence[float], items_of_a_source: int = 1) -> Figure:
    figure = Measured(values(numbers, items_of_a_source=items_of_a_source)).of("m", "now")
    assert figure is not None
    return figure


def width(figure: Figure | None) -> float:
    assert figure is not None
    assert figure.low is not None
    assert figure.high is not None
    return figure.high - figure.low


# ---- beside others ----


@pytest.mark.parametrize(
    "numbers", [tossed(80, 0.7, 1), [random.Random(2).gauss(3, 1) for _ in range(200)], tossed(400, 0.05, 3)]
)
def test_of_single_items_it_is_the_percentile_bootstrap_of_scipy(numbers: list[float]) -> None:
    figure = mean_of(numbers)
    theirs = stats.bootstrap(
        (np.array(numbers),), np.mean, n_resamples=SCIPY_DRAWS, method="percentile", rng=np.random.default_rng(0)
    )
    assert figure.value == pytest.approx(np.mean(numbers), abs=1e-6)
    assert figure.items == len(numbers)
    room = ROOM * theirs.standard_error + 1 / len(numbers)  # the step of a mean of ones and zeros
    assert figure.low == pytest.approx(theirs.confidence_interval.low, abs=room)
    assert figure.high == pytest.approx(theirs.confidence_interval.high, abs=room)


def test_of_clusters_of_different_sizes_it_is_that_of_a_plain_loop() -> None:
    drawn = random.Random(4)
    sources = [[float(drawn.random() < 0.2 + 0.6 * (place % 2)) for _ in range(1 + place % 7)] for place in range(60)]
    figure = Measured([
        Value("m", "right", "now", f"{place}.{number}", str(place), value)
        for place, source in enumerate(sources)
        for number, value in enumerate(source)
    ]).of("m", "now")  # fmt: skip
    means = []
    for _ in range(SCIPY_DRAWS):
        items = [value for source in drawn.choices(sources, k=len(sources)) for value in source]
        means.append(sum(items) / len(items))
    low, high = np.percentile(means, (2.5, 97.5))
    assert figure is not None
    assert figure.items == sum(map(len, sources))
    assert figure.value == pytest.approx(sum(map(sum, sources)) / figure.items, abs=1e-6)
    room = ROOM * float(np.std(means))
    assert figure.low == pytest.approx(low, abs=room)
    assert figure.high == pytest.approx(high, abs=room)


# ---- clusters ----


def test_ten_sources_of_fifty_like_items_tell_less_than_five_hundred_items() -> None:
    of_sources = [value for value in tossed(10, 0.5, 8) for _ in range(50)]
    clustered, single = mean_of(of_sources, items_of_a_source=50), mean_of(of_sources)
    assert clustered.value == single.value
    # The standard error of 10 is √50 times that of 500: about 7.
    assert 5 < width(clustered) / width(single) < 9


@pytest.mark.parametrize(
    ("sources", "has_one"), [(1, False), (LEAST_FOR_INTERVAL - 1, False), (LEAST_FOR_INTERVAL, True)]
)
def test_over_fewer_than_five_sources_there_is_no_interval(sources: int, has_one: bool) -> None:
    figure = mean_of(tossed(sources * 20, 0.5, 1), items_of_a_source=20)
    assert (figure.low is not None) is (figure.high is not None) is has_one
    assert not mean_of([1.0] * 4).differs, "without an interval nothing is said to differ"
    assert mean_of([1.0] * 5).differs


def test_of_a_difference_the_sources_of_both_count() -> None:
    """Twelve sources were asked about before, and four of them also after."""
    measured = Measured([*values(tossed(12, 0.5, 1), at="before"), *values([1.0] * 4, at="after")])
    assert width(measured.of("m", "before")) > 0
    change = measured.change("m", "before", "after")
    assert change is not None
    assert (change.items, change.low, change.high) == (4, None, None)


# ---- pairs ----


def two_models(seed: int, *, paired: bool) -> Measured:
    """Two models that mostly fail on the same items, on the same items or on different ones."""
    hard = tossed(400, 0.5, seed)
    other = [value if kept else 1 - value for value, kept in zip(hard, tossed(400, 0.95, seed + 1), strict=True)]
    return Measured([*values(hard, "m"), *values(other, "n", prefix="i" if paired else "j")])


def test_a_difference_over_the_same_items_is_narrower_than_one_over_different_items() -> None:
    paired, apart = (two_models(5, paired=paired).between("m", "n", "now") for paired in (True, False))
    assert paired is not None
    assert apart is not None
    assert paired.value == apart.value
    assert (paired.items, apart.items) == (400, 800)
    assert width(paired) < width(apart) / 2


def test_a_difference_over_different_items_is_that_of_two_samples() -> None:
    before, after = tossed(300, 0.8, 1), tossed(200, 0.6, 2)
    figure = Measured([*values(before, at="old"), *values(after, at="new", prefix="j")]).change("m", "old", "new")
    theirs = stats.bootstrap(
        (np.array(after), np.array(before)), lambda new, old, axis: new.mean(axis) - old.mean(axis),
        n_resamples=SCIPY_DRAWS, method="percentile", rng=np.random.default_rng(0),
    )  # fmt: skip
    assert figure is not None
    assert figure.value == pytest.approx(np.mean(after) - np.mean(before), abs=1e-6)
    assert figure.items == 500
    room = ROOM * theirs.standard_error
    assert figure.low == pytest.approx(theirs.confidence_interval.low, abs=room)
    assert figure.high == pytest.approx(theirs.confidence_interval.high, abs=room)


def test_a_difference_turned_round_has_the_other_sign_and_its_ends_change_places() -> None:
    measured = two_models(7, paired=True)
    one, other = measured.between("m", "n", "now"), measured.between("n", "m", "now")
    assert one is not None
    assert other is not None
    assert one.low is not None
    assert one.high is not None
    assert other == Figure(-one.value, -one.high, -one.low, one.items)


def test_a_difference_is_over_the_items_that_both_have() -> None:
    ours = values([1, 0, 1, 0, 1, 1, 1, 1], "m")
    theirs = values([0, 0, 0, 0, 0, 0], "n")
    figure = Measured([*ours, *theirs]).between("m", "n", "now")
    assert figure is not None
    # 4 of the first 6 are right, and none of theirs.
    assert figure.value == pytest.approx(-4 / 6, abs=1e-6)
    assert figure.items == 6


def test_a_side_that_nobody_was_asked_has_no_figure() -> None:
    measured = Measured([*values([1, 0], "m", "a"), *values([1, 0], "n", "b")])
    assert measured.of("m", "b") is None
    assert measured.change("m", "a", "b") is None
    assert measured.between("m", "n", "a") is None
    assert measured.between("n", "m", "a") is None
    assert [{group: value.value for group, value in of_item.items()} for of_item in measured.items("b")] == [
        {"n": 1}, {"n": 0}
    ]  # fmt: skip
    assert list(measured.names("m")) == list(measured.names("n")) == ["i0", "i1"]
    assert list(measured.names("o")) == []


# ---- what it promises ----

SAMPLES = 300


@pytest.mark.parametrize("items_of_a_source", [1, 4])
def test_of_a_hundred_intervals_about_ninety_five_hold_the_mean(items_of_a_source: int) -> None:
    """Of sources whose items are right with a share of their own; over all sources it is 0.6."""
    held = 0
    for seed in range(SAMPLES):
        drawn = random.Random(seed)
        shares = [drawn.betavariate(3, 2) for _ in range(60)]
        numbers = [float(drawn.random() < share) for share in shares for _ in range(items_of_a_source)]
        figure = mean_of(numbers, items_of_a_source=items_of_a_source)
        assert figure.low is not None
        assert figure.high is not None
        held += figure.low <= 0.6 <= figure.high
    assert 0.90 <= held / SAMPLES <= 0.98


def test_who_had_learned_the_old_rows_is_found_and_who_had_not_is_left_alone() -> None:
    """A row has a new draw of its swapped answer: the same items twice. 100 tables of 120 rows for each model."""
    found = {"learned": 0, "clean": 0}
    for seed in range(100):
        able = tossed(120, 0.65, seed)
        drawn_anew = zip(able, tossed(120, 0.8, 1000 + seed), tossed(120, 0.65, 2000 + seed), strict=True)
        again = [value if same else other for value, same, other in drawn_anew]
        old = {"learned": [1.0] * 120, "clean": able}
        measured = Measured([
            value for model in old for value in (*values(old[model], model, "old"), *values(again, model, "new"))
        ])  # fmt: skip
        for model in found:
            change = measured.change(model, "old", "new")
            assert change is not None
            found[model] += change.differs and change.value < 0
    assert found["learned"] == 100
    # 2.5 of 100 intervals of a clean model lie below 0 by chance.
    assert found["clean"] <= 8


# ---- the same figures each time ----


def all_figures(measured: Measured) -> dict[tuple[str, ...], Figure | None]:
    groups, ats = sorted(measured.groups), sorted(measured.conditions)
    return {
        **{(group, at): measured.of(group, at) for group in groups for at in ats},
        **{(group, "change"): measured.change(group, "first", "last") for group in groups},
        **{(*pair, at): measured.between(*pair, at) for pair in itertools.combinations(groups, 2) for at in ats},
    }


def test_the_order_of_values_changes_nothing_but_that_of_conditions() -> None:
    drawn = random.Random(9)
    given = [
        value
        for at, share in (("first", 0.8), ("last", 0.6))
        for group in ("m", "n", "o")
        for value in values([drawn.betavariate(2, 2) * share for _ in range(90)], group, at, items_of_a_source=3)
    ]
    expected = all_figures(Measured(given))
    assert all(figure is not None for figure in expected.values())
    for _ in range(3):
        drawn.shuffle(given)
        in_order = sorted(given, key=lambda value: value.at)
        measured = Measured(in_order)
        assert measured.conditions == ("first", "last")
        assert all_figures(measured) == expected


def test_what_one_model_gets_does_not_depend_on_who_stands_beside_it() -> None:
    numbers = tossed(100, 0.5, 3)
    alone = Measured(values(numbers, "m"))
    beside = Measured([*values(numbers, "m"), *values(tossed(100, 0.9, 4), "n")])
    assert alone.of("m", "now") == beside.of("m", "now")


def test_values_are_kept_by_measure() -> None:
    other = [value._replace(measure="other") for value in values([0, 0])]
    found = by_measure([*values([1, 1]), *other])
    assert list(found) == ["right", "other"]
    assert [measured.of("m", "now") for measured in found.values()] == [
        Figure(1.0, None, None, 2), Figure(0.0, None, None, 2)
    ]  # fmt: skip


def test_where_nothing_was_seen_something_may_be_there() -> None:
    """Of 10 without a right reply, 0 to 30.8 %, as the exact binomial has it; a rating that all gave is left alone."""
    none = [Value("m", "right", at, f"i{place}", f"i{place}", 0.0) for at in ("first", "last") for place in range(10)]
    share = Measured(none)
    first, change = share.of("m", "first"), share.change("m", "first", "last")
    assert first is not None
    assert first.high is not None
    assert (first.value, first.low) == (0, 0)
    high = first.high
    assert high == pytest.approx(stats.binomtest(0, 10).proportion_ci(0.95, "exact").high, abs=1e-6)
    assert change is not None
    assert (change.low, change.high) == (-high, high)
    assert not change.differs
    every = Measured([value._replace(value=1.0) for value in none]).of("m", "last")
    assert every is not None
    assert (every.low, every.high) == (pytest.approx(1 - high), 1)
    rated = Measured([value._replace(value=1.0) for value in none], shares=False).of("m", "last")
    assert rated is not None
    assert (rated.low, rated.high) == (1, 1)


def test_a_change_stands_beside_the_means_of_its_own_items() -> None:
    """An item that was asked under one condition alone changes neither the change nor the two means beside it."""
    both = [("a", 1.0, 0.0), ("b", 0.0, 0.0), ("c", 1.0, 1.0)]
    asked = [Value("m", "right", "1", item, item, first) for item, first, _ in both]
    asked += [Value("m", "right", "1", f"alone {place}", f"alone {place}", 1.0) for place in range(9)]
    asked += [Value("m", "right", "4", item, item, last) for item, _, last in both]
    measured, change = Measured(asked), Measured(asked).change("m", "1", "4")
    assert measured.over_both("m", "1", "4") == (pytest.approx(2 / 3, abs=1e-6), pytest.approx(1 / 3, abs=1e-6))
    assert change is not None
    assert change.value == pytest.approx(-1 / 3, abs=1e-6)
    assert measured.over_both("m", "1", "8") is None
