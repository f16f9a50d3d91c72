"""Records on disk as steps and charts read them, and type variables for code that is generic over records."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeVar

from schemas.base import HASH_LENGTH, Record

MOST_RECENT = 2**15
"""Records that `SeenRecords` holds as texts before it turns them into numbers."""
R = TypeVar("R", bound=Record)
R_co = TypeVar("R_co", bound=Record, covariant=True, default=Record)


class Records(Protocol[R_co]):
    """A finished stage: read-only, sized, on disk."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[R_co]: ...


Keys = NDArray[np.uint64]
"""Keys of records as sorted numbers: 8 bytes a record, where a set of texts takes over 100."""


def sorted_keys(keys: Iterable[str], count: int = -1) -> Keys:
    """Return keys, 16 hexadecimal digits each, as sorted numbers; `count` is how many they are, if that is known."""
    return np.sort(np.fromiter((int(key, 16) for key in keys), np.uint64, count))


def place_of(key: str, keys: Keys) -> int | None:
    """Return the place of a key; None if it is not among them."""
    number = np.uint64(int(key, 16))
    place = int(np.searchsorted(keys, number))
    return place if place < len(keys) and keys[place] == number else None


class SeenRecords:
    """The ids of all records that were read so far, by key: 16 bytes a record."""

    def __init__(self) -> None:
        self._keys: Keys = np.empty(0, np.uint64)
        self._ids: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._recent: dict[str, str] = {}

    def first(self, record: Record) -> str | None:
        """Return the id of the first record with this key; None if this is the first, which is then remembered."""
        if (seen := self._recent.get(record.key)) is not None:
            return seen
        if (place := place_of(record.key, self._keys)) is not None:
            return f"{self._ids[place]:0{HASH_LENGTH}x}"
        self._recent[record.key] = record.id
        if len(self._recent) >= max(MOST_RECENT, len(self._keys) // 32):
            self._merge()
        return None

    def _merge(self) -> None:
        hexadecimal = np.array([(int(key, 16), int(id, 16)) for key, id in self._recent.items()], np.uint64)
        keys, ids = np.append(self._keys, hexadecimal[:, 0]), np.append(self._ids, hexadecimal[:, 1])
        order = np.argsort(keys)
        self._keys, self._ids = keys[order], ids[order]
        self._recent.clear()


class First(NamedTuple):
    """The names of the record that is kept of several that are the same."""

    release: int
    key: str
    id: str


def with_first(
    records: Sequence[R] | Records[R], same: Callable[[R], str], arrival: Callable[[Record], int]
) -> Iterator[tuple[R, First | None]]:
    """Yield each record with the first one that is the same by what `same` returns; None for that one.

    The first is the one that came with the earliest release (`arrival`), and of those the first in order.
    """
    firsts: dict[str, First] = {}
    for record in records:
        came, value = arrival(record), same(record)
        if value not in firsts or came < firsts[value].release:
            firsts[value] = First(came, record.key, record.id)
    for record in records:
        first = firsts[same(record)]
        yield record, None if first.key == record.key else first
