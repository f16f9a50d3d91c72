"""Values of items, by which models are compared (`flows/scoring/intervals.py`).

This module needs the standard library alone: a release ships it as part of each scorer.
"""

from collections.abc import Collection, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import starmap
from typing import Any, NamedTuple

from flows.scoring.on_disk import TemporaryTable


class Value(NamedTuple):
    """What one item adds to a measure."""

    group: str
    """The model, as the tables name it."""
    measure: str
    at: str
    """The condition, such as "original" or "16k". Values come in the order in which conditions are shown."""
    item: str
    """The same under every condition and for every model: differences are taken over what both have."""
    shared: str
    """What it has in common with other items, such as their source: an interval draws these."""
    value: float
    row: str = ""
    """Id of the row, if it is not that of the item."""
    variant: str = ""
    """Under which it was asked; empty if the value is of several."""


class Kind(NamedTuple):
    """What many values have in common."""

    group: str
    measure: str
    at: str
    variant: str


class ItemValue(NamedTuple):
    """A value of an item."""

    kind: Kind
    item: str
    shared: int
    """The place of what the item shares with others, among all such names in order."""
    value: float
    row: str


@dataclass
class _Stored:
    """What is known of the values of a kind."""

    number: int
    first: tuple[float, int, int]
    """Where the first of them is in the order."""
    size: int = 0


class Values(Collection[Value]):
    """Values in order, in a temporary file: there may be millions."""

    def __init__(self, values: Iterable[Value] = ()) -> None:
        """Take values in their order."""
        self._table = TemporaryTable("kind, rank, number, item, shared, value, row")
        self._kinds: dict[Kind, _Stored] = {}
        self._added = 0
        self.add((0, 0, value) for value in values)

    def add(self, values: Iterable[tuple[float, int, Value]]) -> None:
        """Add values, each behind two numbers by which they are sorted: those of its condition, and of its reply."""
        self._table.insert("INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?)", starmap(self._line, values))

    def _line(self, rank: float, number: int, value: Value) -> tuple[str | float, ...]:
        group, measure, at, item, shared, amount, row, variant = value
        place = (rank, number, self._added)
        stored = self._kinds.setdefault(Kind(group, measure, at, variant), _Stored(len(self._kinds), place))
        stored.first = min(stored.first, place)
        stored.size += 1
        self._added += 1
        return stored.number, rank, number, item, shared, amount, row

    def kinds(self) -> list[Kind]:
        """Return the kinds of the values, in the order of the first of each."""
        return sorted(self._kinds, key=lambda kind: self._kinds[kind].first)

    def where(self, **fields: str) -> "Values":
        """Return the values of the kinds with these fields; none can be added to them."""
        part = copy(self)
        part._kinds = {
            kind: stored
            for kind, stored in self._kinds.items()
            if all(getattr(kind, name) == wanted for name, wanted in fields.items())
        }
        return part

    def __len__(self) -> int:
        return sum(stored.size for stored in self._kinds.values())

    def __contains__(self, value: object) -> bool:
        return any(value == one for one in self)

    def __iter__(self) -> Iterator[Value]:
        for kind, item, shared, value, row in self._select("item, shared, value, row", "rank, number, rowid"):
            yield Value(kind.group, kind.measure, kind.at, item, shared, value, row, kind.variant)

    def by_item(self) -> Iterator[ItemValue]:
        """Yield the values by item, in the order of the items' names; those of an item are in their order."""
        shared = "DENSE_RANK() OVER (ORDER BY shared) - 1"
        for kind, *value in self._select(f"item, {shared}, value, row", "item, rank, number, rowid"):
            yield ItemValue(kind, *value)

    def shared(self) -> int:
        """Return how many different things items share."""
        [(count,)] = self._table.select(f"SELECT COUNT(DISTINCT shared) FROM lines WHERE {self._is_here()}")  # noqa: S608
        return int(count)

    def _select(self, columns: str, order: str) -> Iterator[tuple[Any, ...]]:
        """Yield the kind of each value, and those columns."""
        kinds = {stored.number: kind for kind, stored in self._kinds.items()}
        lines = self._table.select(f"SELECT kind, {columns} FROM lines WHERE {self._is_here()} ORDER BY {order}")  # noqa: S608
        return ((kinds[kind], *others) for kind, *others in lines)

    def _is_here(self) -> str:
        """The condition of a query for these values."""
        return f"kind IN ({', '.join(str(stored.number) for stored in self._kinds.values())})"


def stored(values: Iterable[Value]) -> Values:
    """Return the values, in a file."""
    return values if isinstance(values, Values) else Values(values)
