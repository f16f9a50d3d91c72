"""Which of millions of hashes were seen, and with what: as numbers, which take a tenth of the memory of texts."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from schemas.base import HASH_LENGTH

MOST_RECENT = 2**15
"""Hashes that `Seen` holds as texts before it turns them into numbers."""
MARKS = 8
"""Bits for each hash, at least, in which `Seen` marks it."""
Hashes = NDArray[np.uint64]
"""Hashes as sorted numbers: 8 bytes each, where a set of texts takes over 100."""


def sorted_hashes(hashes: Iterable[str], count: int = -1) -> Hashes:
    """Return hashes, 16 hexadecimal digits each, as sorted numbers; `count` is how many they are, if that is known."""
    return np.sort(np.fromiter((int(name, 16) for name in hashes), np.uint64, count))


def place_of(name: str, hashes: Hashes) -> int | None:
    """Return the place of a hash; None if it is not among them."""
    number = np.uint64(int(name, 16))
    place = int(hashes.searchsorted(number))
    return place if place < len(hashes) and hashes[place] == number else None


def places_of(numbers: Hashes, hashes: Hashes) -> NDArray[np.int64]:
    """Return the place of each number, in any order, among the hashes; -1 if it is not among them."""
    if not len(hashes):
        return np.full(len(numbers), -1)
    places: NDArray[np.int64] = np.searchsorted(hashes, numbers)
    np.minimum(places, len(hashes) - 1, out=places)
    places[hashes[places] != numbers] = -1
    return places


def are_in(numbers: Hashes, hashes: Hashes) -> NDArray[np.bool_]:
    """Return a mask of the numbers that are among the hashes."""
    return places_of(numbers, hashes) >= 0


def text_of(number: int) -> str:
    """Return a hash that is given as a number."""
    return f"{number:0{HASH_LENGTH}x}"


class Seen:
    """A hash for each hash that was added: 16 bytes for the two, and 1 or 2 for marks.

    The marks are what makes it as quick among millions: for a hash that was not added, which is most, there is only one
    place in memory to look at, where a search among the hashes looks at twenty.
    """

    def __init__(self) -> None:
        self._hashes: Hashes = np.empty(0, np.uint64)
        self._values: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._recent: dict[str, str] = {}
        self._mark(MARKS * MOST_RECENT)

    def get(self, name: str) -> str | None:
        """Return the hash that was added with `name`; None if there is none."""
        if (value := self._recent.get(name)) is not None:
            return value
        place = place_of(name, self._hashes)
        return None if place is None else text_of(int(self._values[place]))

    def known(self, names: Sequence[str]) -> dict[str, str]:
        """Return the hashes that were added with `names`, without those that were not: quicker than one by one."""
        places, bits = self._marks_of(names)
        maybe = (names[number] for number in np.flatnonzero(self._marks[places] & bits).tolist())
        return {name: value for name in maybe if (value := self.get(name)) is not None}

    def add(self, values: Mapping[str, str]) -> None:
        """Add hashes, each by one that was not added before: quicker than one by one."""
        self._recent.update(values)
        places, bits = self._marks_of(values)
        np.bitwise_or.at(self._marks, places, bits)
        if len(self._recent) >= max(MOST_RECENT, len(self._hashes) // 32):
            self._merge()

    def _merge(self) -> None:
        count = len(self._recent)
        names = np.fromiter((int(name, 16) for name in self._recent), np.uint64, count)
        values = np.fromiter((int(value, 16) for value in self._recent.values()), np.uint64, count)
        order = np.argsort(names)
        places = np.searchsorted(self._hashes, names[order])
        self._hashes = np.insert(self._hashes, places, names[order])
        self._values = np.insert(self._values, places, values[order])
        self._recent.clear()
        if 8 * len(self._marks) < MARKS * len(self._hashes):
            self._mark(16 * len(self._marks))

    def _mark(self, size: int) -> None:
        """Mark the hashes, each by a bit of `size`, a power of two, at the place that it has among all hashes."""
        self._shift = np.uint64(65 - size.bit_length())
        bits = np.zeros(size, np.bool_)
        bits[self._hashes >> self._shift] = True
        self._marks = np.packbits(bits, bitorder="little")

    def _marks_of(self, names: Collection[str]) -> tuple[Hashes, NDArray[np.uint8]]:
        """Return the byte of each hash's mark, and the bit in it."""
        numbers = np.fromiter((int(name, 16) for name in names), np.uint64, len(names)) >> self._shift
        places: Hashes = numbers >> np.uint64(3)
        bits: NDArray[np.uint8] = np.left_shift(1, numbers & np.uint64(7), dtype=np.uint8, casting="unsafe")
        return places, bits
