"""Records that are made as they are read, and counted while somebody holds them; and the memory that work takes."""

import tracemalloc
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np

from flows.construct.embed import FloatMatrix
from flows.construct.records import R
from schemas.base import content_hash

T = TypeVar("T")
DIMENSIONS = 16


class Passing(Generic[R]):
    """As many records as wanted, none of which is kept here."""

    def __init__(self, make: Callable[[int], R], count: int) -> None:
        self._make, self._count = make, count
        self._alive: set[object] = set()
        self.most = 0
        """The most records that were in memory at once."""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[R]:
        for number in range(self._count):
            record = self._make(number)
            token = object()
            self._alive.add(token)
            weakref.finalize(record, self._alive.discard, token)
            self.most = max(self.most, len(self._alive))
            yield record
            del record


class ByHash:
    """An embedder whose vectors follow from the texts' hashes: no two texts are alike. It keeps no text."""

    name = "by hash"

    def reads(self, text: str) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = np.random.default_rng(int(content_hash(text), 16)).standard_normal(DIMENSIONS)
            vectors[row] /= np.linalg.norm(vectors[row])
        return vectors


def with_peak(work: Callable[[], T]) -> tuple[T, int]:
    """Return what the work returns, and the bytes of memory at its peak: the least of three times.

    What other threads of the process allocate meanwhile, left over from other tests, is counted, too.
    """
    peaks = []
    for _ in range(3):
        tracemalloc.start()
        try:
            result = work()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return result, min(peaks)
