"""Measures with intervals: means of values, changes between conditions, and differences between models.

An interval is the percentile interval of a bootstrap over what items share (Field and Welsh, "Bootstrapping clustered
data", 2007): items of one source are drawn together, so many items of one source are not taken for many sources. All
means of a measure are taken over the same draws. A difference is taken over the items that both sides have: paired.
Where they have none in common, as two subsets of different items do not, it is the difference of their two means.

Where all values of a share are 0, or all are 1, every draw is alike. Its interval is then the exact binomial one over
what is drawn (Clopper and Pearson, 1934): of 10 sources without a right reply, 0 to 30.8 %.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
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
Ints = NDArray[np.int32]


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


class _Column(NamedTuple):
    """The values of one side, or the differences of two, by the numbers of their items: there may be millions."""

    items: Ints
    """In order, none twice."""
    things: Ints
    """What each item has in common with others."""
    values: Floats

    @classmethod
    def of(cls, items: Ints, things: Ints, values: Iterable[float]) -> "_Column":
        """Put the items in order; of two values of one, take the last."""
        order = np.argsort(items, kind="stable")
        is_last = np.append(np.diff(items[order]) != 0, True)
        last = order[is_last]
        return cls(items[last], things[last], np.asarray(values)[last])

    def minus(self, other: "_Column") -> "_Column":
        """Return the differences of the items that both have, which belong to what they belong to here."""
        both, own, others = np.intersect1d(self.items, other.items, assume_unique=True, return_indices=True)
        return _Column(both, self.things[own], self.values[own] - other.values[others])


def _places(numbers: Mapping[str, int], ordered: Collection[str]) -> Ints:
    """Return, for each number, the place of its name in order."""
    places = np.empty(len(numbers), np.int32)
    places[[numbers[name] for name in ordered]] = np.arange(len(numbers), dtype=np.int32)
    return places


class Measured:
    """The values of one measure."""

    def __init__(self, values: Iterable[Value], *, shares: bool = True) -> None:
        """Take the values of one measure: none twice for an item, a model and a condition; from 0 to 1 if `shares`."""
        self._shares = shares
        items: dict[str, int] = {}
        things: dict[str, int] = {}
        of: dict[tuple[str, str], tuple[array[int], array[int], array[float]]] = {}
        for group, _, at, item, shared, value, _, _ in values:
            columns = of.get((group, at))
            if columns is None:
                columns = of[group, at] = array("l"), array("l"), array("d")
            columns[0].append(items.setdefault(item, len(items)))
            columns[1].append(things.setdefault(shared, len(things)))
            columns[2].append(value)
        self._things = len(things)
        self._names = sorted(items)
        """Of the items, which have their places here as numbers."""
        places = _places(items, self._names)
        things_in_order = _places(things, sorted(things))
        self._of = {
            Side(*side): _Column.of(places[np.asarray(of_items)], things_in_order[np.asarray(of_things)], numbers)
            for side, (of_items, of_things, numbers) in of.items()
        }

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
        if not ours or not theirs:
            return None
        both = sorted(ours.keys() & theirs.keys())
        means = (fmean(items[item] for item in both or items) for items in (ours, theirs))
        begun, ended = (round(mean, DIGITS) for mean in means)
        return begun, ended

    def items(self, group: str, at: str) -> Mapping[str, float]:
        """Return the value of each item."""
        column = self._of.get(Side(group, at))
        if column is None:
            return {}
        return {self._names[item]: value for item, value in zip(column.items, column.values.tolist(), strict=True)}

    @cached_property
    def _figures(self) -> Mapping[tuple[Side | None, Side], Figure]:
        """By pair of sides, how much the second is higher than the first; or its mean, without a first."""
        columns: dict[tuple[Side | None, Side], _Column] = {(None, side): own for side, own in self._of.items()}
        apart: list[tuple[Side, Side]] = []
        for first, last in self._pairs():
            change = self._of[last].minus(self._of[first])
            if len(change.items):
                columns[first, last] = change
            else:
                apart.append((first, last))
        sums, counts = np.zeros((2, self._things, len(columns)))
        for number, column in enumerate(columns.values()):
            np.add.at(sums[:, number], column.things, column.values)
            np.add.at(counts[:, number], column.things, 1)
        drawn = self._drawn(sums, counts)
        place_of = {pair: number for number, pair in enumerate(columns)}
        means = sums.sum(axis=0) / counts.sum(axis=0)
        figures: dict[tuple[Side | None, Side], Figure] = {}
        for pair, number in place_of.items():
            things = int(np.count_nonzero(counts[:, number]))
            least = 0.0 if pair[0] is None else -1.0
            figures[pair] = self._figure(means[number], drawn[:, number], things, len(columns[pair].items), least)
        for first, last in apart:
            left, right = place_of[None, first], place_of[None, last]
            things = min(int(np.count_nonzero(counts[:, number])) for number in (left, right))
            number = len(columns[None, first].items) + len(columns[None, last].items)
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


def by_measure(values: Collection[Value], rated: Collection[str] = ()) -> Mapping[str, Measured]:
    """Return the values by measure; those of `rated` measures are no shares."""
    return {
        name: Measured((value for value in values if value.measure == name), shares=name not in rated)
        for name in dict.fromkeys(value.measure for value in values)
    }
