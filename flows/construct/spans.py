"""How the records of a stage are cut into shards: by what a record costs, as that shows while the stage runs.

A shard is the unit of work, retry and distribution. Many small ones share the work evenly, and little is lost with a
worker; few large ones need few files and tasks. The first shards are small. Each later one is a share of what is left
(guided self-scheduling, Polychronopoulos and Kuck 1987), within bounds of time.

Each worker goes on where its last shard ended: records that stand together often need the same things, which a worker
keeps once it has made them (what is in the documents of a dataset).
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

FIRST_RECORDS: Final = 256
"""Most records of a shard while the cost of a record is not known: eight such shards keep 2,048 calls under way."""
SHARES: Final = 4
"""A shard is at most one of so many shares of what is left for each worker: costly records may stand together."""
LEAST_RECORDS: Final = 128
"""Least records of a shard of a single process: fewer leave a slow model idle."""
ASKING_RECORDS: Final = 256
"""Least records of a shard that asks servers, if several workers do: as many as a worker can have in work at once."""
BATCHED_RECORDS: Final = 6_250
"""Least records of a shard that asks in batches: eight such shards fill a batch."""
LEAST_S: Final = 0.5
"""Shards begin this many seconds apart or more, once their cost is known: starting a task takes some 20 ms."""
MOST_S: Final = 20.0
"""A shard takes this long at most if the number of shards allows: so much is lost with a killed worker."""
MOST_SHARDS: Final = 60
"""Shards of a stage, each of at most three files. A build that was killed several times may make some more."""


class Spans:
    """The spans of a stage's input that are still to be done."""

    def __init__(
        self,
        total: int,
        done: Iterable[tuple[int, int]],
        *,
        at_once: int,
        workers: int,
        asks: bool = False,
        in_batches: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`total` is the number of input records, `done` the (start, stop) of finished shards, in order.

        `at_once` is the number of shards that run at once, `workers` that of the processes that share them. `asks`:
        the records wait for servers, not for a processor; `in_batches`, for hours.
        """
        self._gaps: list[tuple[int, int]] = []
        """Last gap first."""
        self._ends: dict[int, int] = {}
        """By worker: where its last shard ended."""
        self._shards_left = max(MOST_SHARDS, 4 * at_once)
        end = 0
        for start, stop in [*done, (total, total)]:
            if end < start:
                self._gaps.insert(0, (end, start))
            end = stop
            self._shards_left -= 1
        self.left = sum(stop - start for start, stop in self._gaps)
        """Records that are in no shard yet."""
        self._at_once = at_once
        self._workers = workers
        least = LEAST_RECORDS if workers == 1 else ASKING_RECORDS if asks else 1
        if in_batches:
            least = BATCHED_RECORDS
        self._least = min(least, math.ceil(self.left / workers))
        self._clock = clock
        self._began = clock()
        self.measured = 0
        """Records of the shards that are done since."""

    def take(self, worker: int = 0) -> tuple[int, int] | None:
        """Return the (start, stop) of the next shard of a worker; None if all records are taken."""
        if not self._gaps:
            return None
        size = self._size()
        start, end = self._gap_of(worker, size)
        stop = min(end, start + size)
        self._gaps = sorted([*self._gaps, (stop, end)] if stop < end else self._gaps, reverse=True)
        self.left -= stop - start
        self._shards_left -= 1
        self._ends[worker] = stop
        return start, stop

    def _gap_of(self, worker: int, size: int) -> tuple[int, int]:
        """Remove and return the gap in which a worker goes on; if none is left there, the half of another's."""
        others = {end for other, end in self._ends.items() if other != worker}
        own = [gap for gap in self._gaps if gap[0] == self._ends.get(worker)]
        free = [gap for gap in self._gaps if gap[0] not in others]
        start, end = (own or free or [max(self._gaps, key=lambda gap: gap[1] - gap[0])])[-1]
        self._gaps.remove((start, end))
        if own or free or end - start <= size:
            return start, end
        middle = start + size * math.ceil((end - start) / size / 2)
        self._gaps.append((start, middle))
        return middle, end

    def finished(self, records: int) -> None:
        """Count the records of a shard that is done."""
        self.measured += records

    def _size(self) -> int:
        # A single worker has nobody to share with: all its shards run on one event loop.
        share = math.ceil(self.left / (SHARES * self._workers if self._workers > 1 else 1))
        if not self.measured:
            return max(min(share, FIRST_RECORDS), self._least)
        a_second = self.measured / max(self._clock() - self._began, 1e-3)
        size = min(max(share, LEAST_S * a_second), MOST_S * a_second / self._at_once)
        return math.ceil(max(size, self._least, self.left / max(1, self._shards_left + 1 - len(self._gaps)), 1))


class FilesLeft:
    """The files of a stage that are still to be done."""

    def __init__(self, groups: Sequence[str]) -> None:
        """`groups` has the group of each file; the last file is the longest."""
        self._left = [*enumerate(groups)]
        self._workers: dict[str, int] = {}
        """By group: the worker that began its last file."""

    def take(self, worker: int) -> int | None:
        """Return the number of the next file of a worker; None if all are taken.

        It stays with its group; if nothing is left there, it begins another group, or else helps with the longest file.
        """
        if not self._left:
            return None
        own = [file for file in self._left if self._workers.get(file[1]) == worker]
        free = [file for file in self._left if file[1] not in self._workers]
        file = (own or free or self._left)[-1]
        self._left.remove(file)
        self._workers[file[1]] = worker
        return file[0]
