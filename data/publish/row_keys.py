"""The keys of a configuration's rows as numbers: 12 bytes a row, where texts in a dictionary take over 100."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.publish.reading import read_batches
from data.seen import places_of

Numbers = NDArray[np.uint64]
Places = NDArray[np.int64]


def numbers_of(keys: Iterable[str]) -> Numbers:
    """Return a number of 64 bits for each key: one chance in 10^5 that two of ten million keys share theirs."""
    return np.array([hash_of(key.encode()) for key in keys], np.uint64)


def hash_of(content: bytes) -> int:
    """Return a hash of 64 bits."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


def keys_in(folder: Path, files: Iterable[str]) -> Iterator[list[str]]:
    """Yield the keys of the rows in some files, in order, some at a time. Raises `Failed`."""
    for path in files:
        for batch in read_batches(folder / path, ["key"]):
            yield batch.values["key"].to_pylist()


class RowKeys:
    """The keys of rows, sorted."""

    def __init__(self, numbers: Iterable[Numbers]) -> None:
        """Take the numbers of the keys in the rows' order, some at a time."""
        unsorted = np.concatenate([np.empty(0, np.uint64), *numbers])
        self._places = np.argsort(unsorted, kind="stable")
        if len(unsorted) < 2**32:
            self._places = self._places.astype(np.uint32)
        self._sorted = unsorted[self._places]

    def places(self, numbers: Numbers) -> Places:
        """Return the place of each key among the rows; -1 if it is not among them."""
        places = places_of(numbers, self._sorted)
        known = places >= 0
        places[known] = self._places[places[known]]
        return places

    def repeated(self) -> Places:
        """Return the places of the rows whose key an earlier row has, in order."""
        return np.sort(self._places[1:][self._sorted[1:] == self._sorted[:-1]]).astype(np.int64)

    def missing_in(self, other: "RowKeys") -> Places:
        """Return the places of the rows whose keys the other rows lack, in order."""
        return np.sort(self._places[other.places(self._sorted) < 0]).astype(np.int64)
