"""A pilot's sample of a stage's records."""

from collections.abc import Iterator
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
