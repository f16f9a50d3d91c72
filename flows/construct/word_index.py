"""Which texts have which words, in files that are mapped into memory.

The words of a block of texts are counted and sorted, and the blocks merged, so that memory holds a block, 12 bytes for
each text and 24 for each word of the vocabulary.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from flows.construct.sequences_on_disk import NumbersOnDisk

WORDS_AT_ONCE: Final = 1 << 17
"""Words that are indexed at once, at some 80 bytes each."""
IN_MEMORY_UP_TO: Final = 1 << 24
"""Bytes above which an array is a file: a file that is mapped takes a descriptor."""
_WORD: Final = 32
"""A word and a text are one number, with the word above this bit."""


class WordIndex:
    """The texts that have a word."""

    def __init__(
        self,
        texts: Iterable[Iterable[str]],
        *,
        at_once: int = WORDS_AT_ONCE,
        in_memory_up_to: int = IN_MEMORY_UP_TO,
    ) -> None:
        """`texts` are given as their words. Raises `Failed` if the disk of the folder for temporary files is full."""
        self._numbers: dict[str, int] = {}
        counts = WordCounts(map(self._numbered, texts), at_once, in_memory_up_to)
        places = NumbersOnDisk(np.int32, in_memory_up_to)
        for _, in_texts, _ in counts.by_word(at_once):
            places.append(in_texts)
        self._places, self._bounds = places.finished(), counts.bounds

    def _numbered(self, words: Iterable[str]) -> list[int]:
        return [self._numbers.setdefault(word, len(self._numbers)) for word in words]

    def places(self, word: str) -> NDArray[np.int32]:
        """Return the places of the texts that have the word, ascending."""
        number = self._numbers.get(word)
        return self._places[:0] if number is None else self._places[self._bounds[number] : self._bounds[number + 1]]


class WordCounts:
    """How often each word is in each text: arrays of (word, text), ascending within a block of texts, and of counts."""

    def __init__(self, texts: Iterable[Sequence[int]], at_once: int, in_memory_up_to: int) -> None:
        """`texts` are given as the numbers of their words."""
        packed, counts = NumbersOnDisk(np.int64, in_memory_up_to), NumbersOnDisk(np.int32, in_memory_up_to)
        lengths, ends = array("i"), [0]
        number_of: NDArray[np.int64] = np.zeros(0, np.int64)
        for block in _blocks(texts, at_once):
            in_text = np.repeat(np.arange(len(lengths), len(lengths) + len(block)), [len(text) for text in block])
            lengths.extend(map(len, block))
            words = np.array([word for text in block for word in text], np.int64)
            pairs, times = np.unique(words << _WORD | in_text, return_counts=True)
            packed.append(pairs)
            counts.append(times)
            ends.append(ends[-1] + len(pairs))
            here = np.bincount(pairs >> _WORD)
            number_of = np.pad(number_of, (0, max(0, len(here) - len(number_of))))
            number_of[: len(here)] += here
        self.lengths = np.array(lengths, np.int64)
        self.texts_with = number_of
        """The number of texts that have each word."""
        self.bounds: NDArray[np.int64] = np.concatenate([[0], np.cumsum(number_of)])
        """Where each word's texts begin if they are listed word by word, and last where they end."""
        self._packed, self._counts, self._blocks = packed.finished(), counts.finished(), list(pairwise(ends))

    def by_word(self, at_once: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]]:
        """Yield words, the texts that have them, and how often, in this order: `at_once`, or those of one word."""
        first = 0
        while first < len(self.bounds) - 1:
            end = max(first + 1, int(np.searchsorted(self.bounds, self.bounds[first] + at_once, "right")) - 1)
            yield self._of_words(first, end)
            first = end

    def _of_words(self, first: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return the words from `first` to before `end`, the texts that have them, and how often; in this order."""
        parts = []
        for start, stop in self._blocks:
            bounds = np.searchsorted(self._packed[start:stop], [first << _WORD, end << _WORD])
            parts.append(slice(*(start + bounds)))
        packed = np.concatenate([self._packed[part] for part in parts])
        order = np.argsort(packed)
        counts = np.concatenate([self._counts[part] for part in parts])[order]
        packed = packed[order]
        return packed >> _WORD, packed & ((1 << _WORD) - 1), counts


def _blocks(texts: Iterable[Sequence[int]], at_once: int) -> Iterator[list[Sequence[int]]]:
    """Yield lists of texts that have `at_once` words together, or end with one that passes it."""
    block: list[Sequence[int]] = []
    words = 0
    for text in texts:
        block.append(text)
        words += len(text)
        if words >= at_once:
            yield block
            block, words = [], 0
    if block:
        yield block
