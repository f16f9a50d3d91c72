"""A pilot's sample of a stage's records, and those that an evaluation makes dialogues of."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic

from flows.construct.engine import seeded
from flows.construct.records import R, Records
from schemas.base import Record

PILOT = "pilot"


class Sample(Generic[R]):
    """Some records of a stage, in memory."""

    def __init__(
        self,
        records: Records[R],
        count: int,
        seed: int | None = None,
        group: Callable[[R], object] | None = None,
    ) -> None:
        """Take `count` records, evenly spread, since records may be ordered by task; of each `group`, if there is one.

        One record is taken from each of `count` equal stretches: drawn by the `seed`, or else the first.
        """
        groups: Iterable[Sequence[int]] = [range(len(records))] if group is None else _places(records, group)
        places = {place for of_group in groups for place in _spread(of_group, count, seed)}
        self._records = [record for place, record in enumerate(records) if place in places]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[R]:
        return iter(self._records)

    def slice(self, start: int, stop: int) -> Iterator[R]:
        """Records `start` to `stop` (exclusive)."""
        return iter(self._records[start:stop])

    def record_keys(self) -> Iterator[str]:
        """Yield the keys of all records."""
        return (record.key for record in self._records)


def _places(records: Records[R], group: Callable[[R], object]) -> Iterable[Sequence[int]]:
    """Return the places of the records of each group."""
    places: dict[object, array[int]] = {}
    for place, record in enumerate(records):
        places.setdefault(group(record), array("Q")).append(place)
    return places.values()


def _spread(places: Sequence[int], count: int, seed: int | None) -> Iterator[int]:
    """Yield `count` of the places, or all if there are fewer."""
    count = min(count, len(places))
    starts = [number * len(places) // count for number in range(count)]
    for start, stop in pairwise([*starts, len(places)]):
        yield places[start if seed is None else seeded(seed, PILOT, places[start]).randrange(start, stop)]


def by_source(names: Iterable[Iterable[str]]) -> Callable[[Record], object]:
    """Return a function that tells which of a list of sources a record comes from.

    `names` has, for each source, its name in the records; for another family's part, those of the sources behind it.
    Sources that share a name count as one.
    """
    place_of: dict[str, int] = {}
    for place, of_source in enumerate(names):
        for name in of_source:
            place_of.setdefault(name, place)

    def source(record: Record) -> object:
        provenance = getattr(record, "provenance", None)
        refs = (getattr(record, "source", None),) if provenance is None else provenance.sources
        name = refs[0].source if refs and refs[0] is not None else ""  # a model's own records have none
        return place_of.get(name, name)

    return source


class Taken(Sample[R]):
    """The records that parts which are made again take of those that arrive: fewer than all."""

    def __init__(self, records: Records[R], count: int, fingerprint: object) -> None:
        """Take `count` records, evenly spread; `fingerprint` says which, beside the records that arrive."""
        super().__init__(records, count)
        self.fingerprint = fingerprint


@dataclass(frozen=True)
class RebuiltParts:
    """Parts of a finished build that are made again with present code and settings, from its other parts as built."""

    family: str
    parts: tuple[str, ...]
    take: int | None = None
    """How many of their input records to take, evenly spread; None for all."""
    only: frozenset[str] | None = None
    """The keys of those to take them from; None for all."""

    def taken(self, arriving: Records[R]) -> Taken[R] | None:
        """Return the records that they take of those that arrive; None if they take all."""
        chosen = arriving
        if self.only is not None:
            chosen = [record for record in arriving if record.key in self.only]
        count = min(len(chosen), len(chosen) if self.take is None else self.take)
        if count == len(arriving):
            return None
        keys = [record.key for record in chosen]
        return Taken(chosen, count, count if len(chosen) == len(arriving) else [count, keys])
