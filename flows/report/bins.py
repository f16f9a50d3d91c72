"""Bins, ticks and summaries of counted values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from flows.construct.view import Histogram

MOST_BINS = 24
DECIMALS = 9
"""Values are rounded to this many decimals before they are compared, to hide floating-point noise."""


@dataclass(frozen=True)
class Bin:
    """A range of values, and how many of each series are in it."""

    low: float
    high: float
    label: str
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Summary:
    """A summary of a series."""

    name: str
    n: int
    low: float
    median: float
    high: float


def nice(step: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is not below `step` (above 0)."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if round(factor * power - step, DECIMALS) >= 0)


def whole(histogram: Histogram) -> bool:
    """Return whether all values are whole numbers."""
    return all(float(value).is_integer() for counts in histogram.series.values() for value in counts)


def edge(histogram: Histogram) -> float | None:
    """Return where to draw the threshold: half a step above it among whole numbers, since a value on it is below."""
    if histogram.threshold is None:
        return None
    return histogram.threshold + 0.5 if whole(histogram) else histogram.threshold


def binned(histogram: Histogram) -> list[Bin]:
    """Return the bins from the lowest value to the highest, including the threshold; none without values.

    There are about `MOST_BINS` bins at most, all of equal width, and two meet at the threshold. With a threshold they
    exclude their lower end, otherwise their upper end, except the last bin.
    """
    values = [value for counts in histogram.series.values() for value in counts]
    if not values:
        return []
    integers, threshold = whole(histogram), edge(histogram)
    low, high = min(values), max(values)
    if threshold is not None:
        low, high = min(low, threshold), max(high, threshold)
    width = nice((high - low) / MOST_BINS) if high > low else 1.0
    if integers:
        width = max(1.0, math.ceil(width))
    origin = threshold if threshold is not None else -0.5 if integers else 0.0

    def index(value: float) -> int:
        steps = round((value - origin) / width, DECIMALS)
        return math.ceil(steps) - 1 if threshold is not None else math.floor(steps)

    first, last = index(low), index(high)
    if threshold is not None and low == threshold:
        first += 1
    if threshold is None and not integers and last > first and origin + last * width == high:
        last -= 1
    tallies = [[0] * len(histogram.series) for _ in range(first, last + 1)]
    for number, counts in enumerate(histogram.series.values()):
        for value, count in counts.items():
            tallies[min(max(index(value), first), last) - first][number] += count
    return [
        Bin(start := origin + (first + n) * width, start + width, _label(start, width, integers), tuple(tally))
        for n, tally in enumerate(tallies)
    ]


def ticks(low: float, high: float, about: int, *, integers: bool = False) -> list[float]:
    """Return round numbers from `low` to `high`, roughly `about` of them; only whole ones if `integers` is set."""
    step = nice((high - low) / about) if high > low else 1.0
    if integers:
        step = max(1.0, math.ceil(step))
    return [round(n * step, DECIMALS) for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def summaries(histogram: Histogram) -> list[Summary]:
    """Return a summary of each series that has a value."""
    return [
        Summary(name, sum(counts.values()), min(counts), median(counts), max(counts))
        for name, counts in histogram.series.items()
        if counts
    ]


def median(counts: Mapping[float, int]) -> float:
    """Return the middle value, or the mean of the two in the middle."""
    total = sum(counts.values())
    ordered = sorted(counts.items())

    def at(place: int) -> float:
        passed = 0
        for value, count in ordered:
            passed += count
            if place < passed:
                return value
        raise IndexError(place)

    return (at((total - 1) // 2) + at(total // 2)) / 2


def number(value: float) -> str:
    """Return a value for a reader, with thousands separated and at most three decimals."""
    rounded = round(value, 3)
    return f"{int(rounded):,}" if rounded == int(rounded) else f"{rounded:,.3f}".rstrip("0")


def _label(start: float, width: float, integers: bool) -> str:
    if not integers:
        return f"{number(start)} to {number(start + width)}"
    low, high = math.ceil(start), math.floor(start + width)
    return number(low) if low == high else f"{number(low)} to {number(high)}"
