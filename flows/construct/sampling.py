"""A pilot's sample of a stage's records, and those that an evaluation makes dialogues of."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic

from flows.construct.engine import seeded
from flows.construct.records import R, Records

PILOT = "pilot"


class Sample(Generic[R]):
    """Some records of a stage, in memory."""

    def __init__(self, records: Records[R], count: int, seed: int | None = None) -> None:
        """Take `count` records, evenly spread, since records may be ordered by source or task.

        One record is taken from each of `count` equal stretches: drawn by the `seed`, or else the first.
        """
        count = min(count, len(records))
        starts = [number * len(records) // count for number in range(count)]
        places = set(starts)
        if seed is not None:
            stretches = pairwise([*starts, len(records)])
            places = {seeded(seed, PILOT, start).randrange(start, stop) for start, stop in stretches}
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
