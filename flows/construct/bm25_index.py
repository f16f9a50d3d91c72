"""BM25 scores in the form that bm25s searches, built some texts at a time, in files that are mapped into memory.

bm25s can save its index and map it, but builds it in memory, at 42 bytes for each different word of each text. Here the
words of a block of texts are counted and sorted, and the blocks merged, so that memory holds a block, 12 bytes for
each text and 24 for each word of the vocabulary. The scores are bm25s's own, to the last bit.
"""

import math
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from tempfile import SpooledTemporaryFile
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from schemas.errors import Failed

K1: Final = 1.5
B: Final = 0.75
WORDS_AT_ONCE: Final = 1 << 20
"""Words that are counted or scored at once, at some 80 bytes each."""
IN_MEMORY_UP_TO: Final = 1 << 24
"""Bytes above which an array is a file: a file that is mapped takes a descriptor."""
_WORD: Final = 32
"""A word and a text are one number, with the word above this bit."""


class _Growing:
    """An array that is written from the first number to the last; if it is large, to a file without a name."""

    def __init__(self, dtype: DTypeLike, in_memory_up_to: int) -> None:
        self._dtype = np.dtype(dtype)
        self._in_memory_up_to = in_memory_up_to
        self._file = SpooledTemporaryFile(max_size=in_memory_up_to)  # noqa: SIM115
        self._bytes = 0

    def append(self, numbers: NDArray[Any]) -> None:
        """Raises `Failed` if there is no room on the disk."""
        try:
            self._bytes += self._file.write(numbers.astype(self._dtype, copy=False).tobytes())
            self._file.flush()
        except OSError as error:
            where = tempfile.tempdir or "the folder for temporary files"
            raise Failed(
                f"{where}: cannot hold an index of words ({error.strerror}); make room on its disk, or set TMPDIR to a "
                "folder of a larger one"
            ) from error

    def finished(self) -> NDArray[Any]:
        """Return the array, read-only. A mapped file exists until the last array that uses it is gone."""
        with self._file as file:
            if self._bytes > self._in_memory_up_to:
                return np.frombuffer(mmap(file.fileno(), 0, access=ACCESS_READ), self._dtype)
            file.seek(0)
            return np.frombuffer(file.read(), self._dtype)


class _Counts:
    """How often each word is in each text: arrays of (word, text), ascending within a block of texts, and of counts."""

    def __init__(self, texts: Iterable[Sequence[int]], at_once: int, in_memory_up_to: int) -> None:
        packed, counts = _Growing(np.int64, in_memory_up_to), _Growing(np.int32, in_memory_up_to)
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
        self._packed, self._counts, self._blocks = packed.finished(), counts.finished(), list(pairwise(ends))

    def of_words(self, first: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
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


def bm25_index(
    texts: Iterable[Sequence[int]], *, at_once: int = WORDS_AT_ONCE, in_memory_up_to: int = IN_MEMORY_UP_TO
) -> Any:
    """Return a `bm25s.BM25` (Lucene's formula) of texts that are given as the numbers of their words.

    Raises `Failed` if the disk of the folder for temporary files is full.
    """
    index = _empty_index()
    counts = _Counts(texts, at_once, in_memory_up_to)
    lengths, texts_with = counts.lengths, counts.texts_with
    number, mean = len(lengths), lengths.mean() if len(lengths) else 0.0
    idf = np.array([math.log(1 + (number - with_it + 0.5) / (with_it + 0.5)) for with_it in texts_with.tolist()])
    idf = idf.astype(np.float32).astype(np.float64)
    scores, places = _Growing(np.float32, in_memory_up_to), _Growing(np.int32, in_memory_up_to)
    bounds = np.concatenate([[0], np.cumsum(texts_with)])
    for first, end in _ranges(bounds, at_once):
        words, in_texts, times = counts.of_words(first, end)
        scores.append(idf[words] * (times / (K1 * ((1 - B) + B * lengths[in_texts] / mean) + times)))
        places.append(in_texts)
    index.scores = {"data": scores.finished(), "indices": places.finished(), "indptr": bounds, "num_docs": number}
    return index


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


def _ranges(bounds: NDArray[np.int64], at_once: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of words that `at_once` texts have, or a single word that more have."""
    first = 0
    while first < len(bounds) - 1:
        end = max(first + 1, int(np.searchsorted(bounds, bounds[first] + at_once, "right")) - 1)
        yield first, end
        first = end


def _empty_index() -> Any:
    import logging

    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # by default it logs every debug line
    index: Any = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy")
    index.nonoccurrence_array = None
    return index
