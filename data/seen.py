"""Which of millions of hashes were seen, and with what: as numbers, which take a tenth of the memory of texts."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from schemas.base import HASH_LENGTH

MOST_RECENT = 2**15
"""Hashes that `Seen` holds as texts before it turns them into numbers."""
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
    """A hash for each hash that was added: 16 bytes for the two."""

    def __init__(self) -> None:
        self._hashes: Hashes = np.empty(0, np.uint64)
        self._values: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._recent: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        """Return the hash that was added with `name`; None if there is none."""
        if (value := self._recent.get(name)) is not None:
            return value
        place = place_of(name, self._hashes)
        return None if place is None else text_of(int(self._values[place]))

    def known(self, names: Sequence[str]) -> dict[str, str]:
        """Return the hashes that were added with `names`, without those that were not: quicker than one by one."""
        values = {name: value for name in names if (value := self._recent.get(name)) is not None}
        numbers = sorted_hashes(names, len(names))
        places = places_of(numbers, self._hashes)
        for number, place in zip(numbers[places >= 0].tolist(), places[places >= 0].tolist(), strict=True):
            values[text_of(number)] = text_of(int(self._values[place]))
        return values

    def add(self, name: str, value: str) -> None:
        """Add a hash that was not added before."""
        self._recent[name] = value
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
