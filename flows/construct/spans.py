"""How the records of a stage are cut into shards: by what a record costs, as that shows while the stage runs.

A shard is the unit of work, retry and distribution. Many small ones share the work evenly, and little is lost with a
worker; few large ones need few files and tasks. The first shards are small. Each later one is a share of what is left
(guided self-scheduling, Polychronopoulos and Kuck 1987), within bounds of time.
"""

import math
import time
from collections.abc import Callable, Iterable
from typing import Final

FIRST_RECORDS: Final = 256
"""Most records of a shard while the cost of a record is not known: eight such shards keep 2,048 calls under way."""
SHARES: Final = 4
"""A shard is at most one of so many shares of what is left for each worker: costly records may stand together."""
LEAST_RECORDS: Final = 128
"""Least records of a shard that asks servers, or is one of a single process: fewer leave a slow model idle."""
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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`total` is the number of input records, `done` the (start, stop) of finished shards, in order.

        `at_once` is the number of shards that run at once, `workers` that of the processes that share them. `asks`:
        the records wait for servers, not for a processor.
        """
        self._gaps: list[tuple[int, int]] = []
        """Last gap first."""
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
        self._least = min(LEAST_RECORDS, math.ceil(self.left / workers)) if asks or workers == 1 else 1
        self._clock = clock
        self._began = clock()
        self.measured = 0
        """Records of the shards that are done since."""

    def take(self) -> tuple[int, int] | None:
        """Return the (start, stop) of the next shard; None if all records are taken."""
        if not self._gaps:
            return None
        start, end = self._gaps.pop()
        stop = min(end, start + self._size())
        if stop < end:
            self._gaps.append((stop, end))
        self.left -= stop - start
        self._shards_left -= 1
        return start, stop

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
        return math.ceil(max(size, self._least, self.left / max(1, self._shards_left), 1))
