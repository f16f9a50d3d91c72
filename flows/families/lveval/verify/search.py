"""The distracting texts of a context, prepared for many searches; proves that none repeats a supporting text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from flows.families.lveval.verify.case import BORDER, Case, folded, short, units

DUPLICATE_FROM = 0.5  # share of the shorter text's shingles in the other from which two texts are near-duplicates
_BASE = np.uint64(0x9E3779B97F4A7C15)
_TABLE_BITS = 20
_SUSPECT_FROM = DUPLICATE_FROM / 2
"""Share from which a text is compared closely; here repeated shingles count each time."""
SHINGLE = {"en": 8, "zh": 20}  # words (characters) in a shingle


class SearchableTexts:
    """Texts prepared for many searches."""

    def __init__(self, texts: Sequence[str], code: str) -> None:
        self.texts = texts
        self.code = code
        self.units = [units(text, code) for text in texts]
        self.folded = [folded(units, code) for units in self.units]
        self.whole = BORDER.join(self.folded)

    def holding(self, phrase: str) -> list[str]:
        """Return all texts that contain the phrase, and some that only contain its letters."""
        wanted = folded(units(phrase, self.code), self.code)
        if not wanted or wanted not in self.whole:
            return []
        return [text for text, folded in zip(self.texts, self.folded, strict=True) if wanted in folded]

    def like(self, text: str) -> list[str]:
        """Return all texts that share half of their own or of `text`'s shingles, and some that share fewer."""
        size = SHINGLE[self.code]
        wanted = units(text, self.code)
        if len(wanted) < size or not self.texts:
            same = folded(wanted, self.code)
            return [other for other, folded in zip(self.texts, self.folded, strict=True) if folded == same]
        marks = np.unique(_rolled(_values([wanted], self.code), size))
        table = np.zeros(1 << _TABLE_BITS, np.bool_)
        table[marks >> np.uint64(64 - _TABLE_BITS)] = True
        hits = table[self._marks].astype(np.int64)
        lengths = np.fromiter(map(len, self.units), np.int64, len(self.units))
        starts = np.cumsum(lengths) - lengths
        common = np.add.reduceat(np.concatenate((hits, np.zeros(size, np.int64))), np.minimum(starts, len(hits)))
        enough = _SUSPECT_FROM * np.maximum(1, np.minimum(len(marks), lengths - size + 1))
        return [self.texts[place] for place in np.flatnonzero((common >= enough) & (lengths >= size)).tolist()]

    @cached_property
    def _marks(self) -> NDArray[np.uint64]:
        """For each shingle of all texts, in order, its place in a table."""
        return _rolled(_values(self.units, self.code), SHINGLE[self.code]) >> np.uint64(64 - _TABLE_BITS)


def _values(texts: Sequence[Sequence[str]], code: str) -> NDArray[np.uint64]:
    """Return a number for each unit of the texts, equal for equal ones."""
    if code == "zh":
        return np.frombuffer("".join(map(str, texts)).encode("utf-32-le"), np.uint32).astype(np.uint64)
    return np.fromiter(map(hash, chain.from_iterable(texts)), np.int64, sum(map(len, texts))).view(np.uint64)


def _rolled(values: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Return a hash of each run of `size` values, modulo 2^64."""
    number = max(0, len(values) - size + 1)
    total: NDArray[np.uint64] = np.zeros(number, np.uint64)
    for at in range(size):
        total = (total + values[at : at + number]) * _BASE
    return total


def duplicate_problems(case: Case, distracting: SearchableTexts) -> Iterator[str]:
    """Check that no distracting document nearly repeats a supporting one, and none occurs twice."""
    times = Counter(text.strip() for text in distracting.texts)
    if not case.dataset.recalls_fact and len(times) != len(distracting.texts):
        yield f"a distracting document stands twice: {short(times.most_common(1)[0][0])}"
    for position, _ in case.of_kind("support"):
        text = case.text(position)
        for other in distracting.like(text):
            if (share := _common(text, other, case.code)) >= DUPLICATE_FROM:
                yield (
                    f"a distracting document has {share:.0%} of its shingles in common with {position.source!r}, "
                    f"expected less than {DUPLICATE_FROM:.0%}: {short(other)}"
                )


def _common(text: str, other: str, code: str) -> float:
    """Return the share of the shingles of the shorter text that the other has as well."""
    sets = [_shingles(each, code) for each in (text, other)]
    return len(sets[0] & sets[1]) / max(1, min(map(len, sets)))


def _shingles(text: str, code: str) -> frozenset[tuple[str, ...]]:
    """Return each run of `SHINGLE` words (characters); of a shorter text, the whole."""
    words = units(text, code)
    return frozenset(tuple(words[at : at + SHINGLE[code]]) for at in range(max(1, len(words) - SHINGLE[code] + 1)))
