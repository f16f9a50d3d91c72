"""Measures with intervals: means of values, changes between conditions, and differences between models.

An interval is the percentile interval of a bootstrap over what items share (Field and Welsh, "Bootstrapping clustered
data", 2007): items of one source are drawn together, so many items of one source are not taken for many sources. All
means of a measure are taken over the same draws. A difference is taken over the items that both sides have: paired.
Where they have none in common, as two subsets of different items do not, it is the difference of their two means.

Where all values of a share are 0, or all are 1, every draw is alike. Its interval is then the exact binomial one over
what is drawn (Clopper and Pearson, 1934): of 10 sources without a right reply, 0 to 30.8 %.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flows.scoring.scorer import Value

DRAWS = 1000
INTERVAL = (2.5, 97.5)
LEAST_FOR_INTERVAL = 5
"""The fewest things drawn: resampling fewer shows little but those few, and an interval would promise too much."""
DRAWS_AT_ONCE = 32
DIGITS = 6
"""To which figures are rounded: a sum's last digits depend on the machine."""
_SEED = 21

Floats = NDArray[np.float64]


class Figure(NamedTuple):
    """A mean or a difference, with its 95 % interval."""

    value: float
    low: float | None
    high: float | None
    """None with fewer than `LEAST_FOR_INTERVAL` things drawn."""
    items: int
    """Over which it is taken; of a difference between different items, those of both sides."""

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 0: of a difference, whether it is one."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


@dataclass(frozen=True)
class Side:
    """A model under a condition."""

    group: str
    at: str


class Measured:
    """The values of one measure."""

    def __init__(self, values: Sequence[Value], *, shares: bool = True) -> None:
        """Take the values of one measure: none twice for an item, a model and a condition; from 0 to 1 if `shares`."""
        self._shares = shares
        shared = {name: place for place, name in enumerate(sorted({value.shared for value in values}))}
        self._things = len(shared)
        of: dict[tuple[str, str], dict[str, tuple[int, float]]] = {}
        for value in values:
            items = of.get((value.group, value.at))
            if items is None:
                items = of[value.group, value.at] = {}
            items[value.item] = shared[value.shared], value.value
        self._of = {Side(*side): items for side, items in of.items()}

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The models."""
        return tuple(dict.fromkeys(side.group for side in self._of))

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The conditions, in the order in which they are shown."""
        return tuple(dict.fromkeys(side.at for side in self._of))

    def of(self, group: str, at: str) -> Figure | None:
        """Return the mean of a model under a condition; None if it was not asked."""
        return self._figures.get((None, Side(group, at)))

    def change(self, group: str, first: str, last: str) -> Figure | None:
        """Return by how much a model is higher under the last condition than under the first."""
        return self._figures.get((Side(group, first), Side(group, last)))

    def between(self, group: str, other: str, at: str) -> Figure | None:
        """Return by how much the other model is higher than the first under a condition."""
        figure = self._figures.get((Side(group, at), Side(other, at)))
        if figure is None and (turned := self._figures.get((Side(other, at), Side(group, at)))) is not None:
            low, high = (None if end is None else -end for end in (turned.high, turned.low))
            return Figure(-turned.value, low, high, turned.items)
        return figure

    def over_both(self, group: str, first: str, last: str) -> tuple[float, float] | None:
        """Return a model's means under two conditions over the items that a change between them is taken over."""
        ours, theirs = self.items(group, first), self.items(group, last)
        both = sorted(ours.keys() & theirs.keys())
        if not ours or not theirs:
            return None
        means = (fmean(items[item] for item in both or items) for items in (ours, theirs))
        begun, ended = (round(mean, DIGITS) for mean in means)
        return begun, ended

    def items(self, group: str, at: str) -> Mapping[str, float]:
        """Return the value of each item."""
        return {item: value for item, (_, value) in self._of.get(Side(group, at), {}).items()}

    @cached_property
    def _figures(self) -> Mapping[tuple[Side | None, Side], Figure]:
        """By pair of sides, how much the second is higher than the first; or its mean, without a first."""
        columns: dict[tuple[Side | None, Side], Sequence[tuple[int, float]]] = {}
        apart: list[tuple[Side, Side]] = []
        for side, items in self._of.items():
            columns[None, side] = [items[item] for item in sorted(items)]
        for first, last in self._pairs():
            ours, theirs = self._of[first], self._of[last]
            if both := sorted(ours.keys() & theirs.keys()):
                columns[first, last] = [(theirs[item][0], theirs[item][1] - ours[item][1]) for item in both]
            else:
                apart.append((first, last))
        sums, counts = np.zeros((2, self._things, len(columns)))
        for number, entries in enumerate(columns.values()):
            places = [place for place, _ in entries]
            np.add.at(sums[:, number], places, [value for _, value in entries])
            np.add.at(counts[:, number], places, 1)
        drawn = self._drawn(sums, counts)
        place_of = {pair: number for number, pair in enumerate(columns)}
        means = sums.sum(axis=0) / counts.sum(axis=0)
        figures: dict[tuple[Side | None, Side], Figure] = {}
        for pair, number in place_of.items():
            things = int(np.count_nonzero(counts[:, number]))
            least = 0.0 if pair[0] is None else -1.0
            figures[pair] = self._figure(means[number], drawn[:, number], things, len(columns[pair]), least)
        for first, last in apart:
            left, right = place_of[None, first], place_of[None, last]
            things = min(int(np.count_nonzero(counts[:, number])) for number in (left, right))
            number = len(columns[None, first]) + len(columns[None, last])
            difference = drawn[:, right] - drawn[:, left]
            figures[first, last] = self._figure(means[right] - means[left], difference, things, number, -1.0)
        return figures

    def _pairs(self) -> Iterator[tuple[Side, Side]]:
        """Yield the sides that are compared: a model's first condition with each later one, and models with models."""
        for group in self.groups:
            sides = [Side(group, at) for at in self.conditions if Side(group, at) in self._of]
            yield from ((sides[0], side) for side in sides[1:])
        for at in self.conditions:
            yield from combinations([side for side in self._of if side.at == at], 2)

    def _drawn(self, sums: Floats, counts: Floats) -> Floats:
        """Return the mean of each column in each draw: (draws, columns); not a number where a draw has none of it."""
        random = np.random.default_rng(_SEED)
        drawn = np.empty((DRAWS, sums.shape[1]))
        for start in range(0, DRAWS, DRAWS_AT_ONCE):
            number = min(DRAWS_AT_ONCE, DRAWS - start)
            drawn_things = random.integers(0, self._things, (number, self._things))
            drawn_things += self._things * np.arange(number)[:, None]
            times = np.bincount(drawn_things.ravel(), minlength=number * self._things).astype(np.float64)
            times = times.reshape(number, self._things)
            with np.errstate(invalid="ignore"):
                drawn[start : start + number] = (times @ sums) / (times @ counts)
        return drawn

    def _figure(self, value: float, drawn: Floats, things: int, items: int, least: float) -> Figure:
        """Return a figure from its value in each draw; a share is not below `least`, nor above 1."""
        value = round(float(value), DIGITS) + 0.0
        if things < LEAST_FOR_INTERVAL:
            return Figure(value, None, None, items)
        low, high = (round(float(end), DIGITS) + 0.0 for end in np.nanpercentile(drawn, INTERVAL))
        if low == high == value and self._shares and value in (-1, 0, 1):
            unseen = 1 - (INTERVAL[0] / 100) ** (1 / things)
            low, high = round(max(value - unseen, least), DIGITS), round(min(value + unseen, 1.0), DIGITS)
        return Figure(value, low, high, items)


def by_measure(values: Sequence[Value], rated: Collection[str] = ()) -> Mapping[str, Measured]:
    """Return the values by measure; those of `rated` measures are no shares."""
    of_measure: dict[str, list[Value]] = {}
    for value in values:
        of_measure.setdefault(value.measure, []).append(value)
    return {name: Measured(of_one, shares=name not in rated) for name, of_one in of_measure.items()}
