"""Measures with intervals: means of values, changes between conditions, and differences between models.

An interval is the percentile interval of a bootstrap over what items share (Field and Welsh, "Bootstrapping clustered
data", 2007): items of one source are drawn together, so many items of one source are not taken for many sources. All
means of a measure are taken over the same draws. A difference is taken over the items that both sides have: paired.
Where they have none in common, as two subsets of different items do not, it is the difference of their two means.

Where all values of a share are 0, or all are 1, every draw is alike. Its interval is then the exact binomial one over
what is drawn (Clopper and Pearson, 1934): of 10 sources without a right reply, 0 to 30.8 %.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flows.scoring.scorer import Means
from flows.scoring.values import ItemValue, Value, Values, stored

DRAWS = 1000
INTERVAL = (2.5, 97.5)
LEAST_FOR_INTERVAL = 5
"""The fewest things drawn: resampling fewer shows little but those few, and an interval would promise too much."""
DRAWS_AT_ONCE, DRAWN_AT_ONCE = 32, 2**16
"""So many draws are made together, or fewer: of so many things at most."""
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


Pair = tuple[Side | None, Side]
"""What is compared: the second side with the first, or with nothing."""


class Measured:
    """The values of one measure."""

    def __init__(self, values: Iterable[Value], *, shares: bool = True) -> None:
        """Take the values of one measure, of which the last counts for an item, a model and a condition.

        They are from 0 to 1 if `shares`.
        """
        self._values = stored(values)
        self._shares = shares
        self._sides = list(dict.fromkeys(Side(kind.group, kind.at) for kind in self._values.kinds()))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The models."""
        return tuple(dict.fromkeys(side.group for side in self._sides))

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The conditions, in the order in which they are shown."""
        return tuple(dict.fromkeys(side.at for side in self._sides))

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
        """Return a model's means under its first condition and another, over the items that the change is taken over.

        Where the two have none in common, each is over its own.
        """
        return self._found.ends.get((Side(group, first), Side(group, last)))

    def items(self, at: str) -> Iterator[Mapping[str, ItemValue]]:
        """Yield the values of each item under a condition, by model, in the order of the items' names."""
        for _, of_item in groupby(self._values.where(at=at).by_item(), key=attrgetter("item")):
            yield {value.kind.group: value for value in of_item}

    def names(self, group: str) -> Iterator[str]:
        """Yield the name of each item of a model, in order."""
        return (name for name, _ in groupby(self._values.where(group=group).by_item(), key=attrgetter("item")))

    @property
    def _figures(self) -> Mapping[Pair, Figure]:
        return self._found.figures

    @cached_property
    def _found(self) -> "_Found":
        pairs: list[Pair] = [(None, side) for side in self._sides] + [*self._pairs()]
        summed = _Summed.of(self._values, self._sides, pairs)
        drawn = _drawn(summed.sums, summed.counts)
        end_of = {key: round(mean or 0.0, DIGITS) for key, mean, _ in summed.ends}
        means = summed.sums.sum(axis=0) / np.maximum(summed.counts.sum(axis=0), 1)
        things = np.count_nonzero(summed.counts, axis=0)
        column_of = {pair: column for column, pair in enumerate(pairs)}
        figures: dict[Pair, Figure] = {}
        ends: dict[tuple[Side, Side], tuple[float, float]] = {}
        for column, (first, last) in enumerate(pairs):
            begun = ended = column
            value, draws, fewest, items = means[column], drawn[:, column], things[column], summed.items[column]
            if first is not None and not items:  # they have none in common
                begun, ended = column_of[None, first], column_of[None, last]
                value, draws = means[ended] - means[begun], drawn[:, ended] - drawn[:, begun]
                fewest, items = min(things[begun], things[ended]), summed.items[begun] + summed.items[ended]
            figures[first, last] = self._figure(value, draws, int(fewest), items, 0.0 if first is None else -1.0)
            if first is not None and first.group == last.group:
                ends[first, last] = end_of[begun, 0], end_of[ended, 1]
        return _Found(figures, ends)

    def _pairs(self) -> Iterator[tuple[Side, Side]]:
        """Yield the sides that are compared: a model's first condition with each later one, and models with models."""
        for group in self.groups:
            sides = [Side(group, at) for at in self.conditions if Side(group, at) in self._sides]
            yield from ((sides[0], side) for side in sides[1:])
        for at in self.conditions:
            yield from combinations([side for side in self._sides if side.at == at], 2)

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


class _Found(NamedTuple):
    """What is known of a measure."""

    figures: Mapping[Pair, Figure]
    """How much the second side is higher than the first; or its mean, without a first."""
    ends: Mapping[tuple[Side, Side], tuple[float, float]]
    """A model's means under two conditions."""


class _Summed(NamedTuple):
    """The values of sides, and the differences between two, by what items share: (things, pairs)."""

    sums: Floats
    counts: Floats
    items: Sequence[int]
    """By pair, the number of items that both of its sides have."""
    ends: Means
    """The means of both sides over those, if they are of one model: (number of the pair, 0 or 1)."""

    @classmethod
    def of(cls, values: Values, sides: Sequence[Side], pairs: Sequence[Pair]) -> "_Summed":
        """Read the values once, item by item: of each item there are few."""
        numbers = {side: number for number, side in enumerate(sides)}
        numbered = [(-1 if first is None else numbers[first], numbers[last]) for first, last in pairs]
        is_own = [first is None or first.group == last.group for first, last in pairs]
        side_of = {kind: numbers[Side(kind.group, kind.at)] for kind in values.kinds()}
        sums, counts = np.zeros((2, values.shared(), len(pairs)))
        # A number of a memory view is quick to change.
        all_sums, all_counts = (matrix.data.cast("B").cast("d") for matrix in (sums, counts))
        items, ends = [0] * len(pairs), Means()
        for _, of_item in groupby(values.by_item(), key=attrgetter("item")):
            by_side = {side_of[value.kind]: value for value in of_item}  # of two, the last counts
            for column, (first, last) in enumerate(numbered):
                if last not in by_side or (first != -1 and first not in by_side):
                    continue
                ended = by_side[last]
                begun = 0.0 if first == -1 else by_side[first].value
                place = ended.shared * len(pairs) + column
                all_sums[place] += ended.value - begun
                all_counts[place] += 1
                items[column] += 1
                if is_own[column]:
                    ends.add((column, 0), ended.value if first == -1 else begun)
                    ends.add((column, 1), ended.value)
        return cls(sums, counts, items, ends)


def _drawn(sums: Floats, counts: Floats) -> Floats:
    """Return the mean of each column in each draw: (draws, columns); not a number where a draw has none of it."""
    random = np.random.default_rng(_SEED)
    things, columns = sums.shape
    drawn = np.empty((DRAWS, columns))
    at_once = max(1, min(DRAWS_AT_ONCE, DRAWN_AT_ONCE // things))
    for start in range(0, DRAWS, at_once):
        number = min(at_once, DRAWS - start)
        drawn_things = random.integers(0, things, (number, things))
        drawn_things += things * np.arange(number)[:, None]
        times = np.bincount(drawn_things.ravel(), minlength=number * things).astype(np.float64)
        times = times.reshape(number, things)
        with np.errstate(invalid="ignore"):
            drawn[start : start + number] = (times @ sums) / (times @ counts)
    return drawn


def by_measure(values: Collection[Value], rated: Collection[str] = ()) -> Mapping[str, Measured]:
    """Return the values by measure; those of `rated` measures are no shares."""
    values = stored(values)
    names = dict.fromkeys(kind.measure for kind in values.kinds())
    return {name: Measured(values.where(measure=name), shares=name not in rated) for name in names}
