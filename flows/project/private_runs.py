"""Runs of words that private texts have and public ones do not, and the texts in which such a run stands.

Words are compared without case, punctuation, white space, width and characters that show nothing; each Chinese
character is a word. A run is a stretch of a text, or a whole sentence of it that is shorter. In the proportion that
`flows/construct/overlap.py` measured, an English word is 1.606 Chinese characters.
"""

import re
from collections.abc import Iterable, Iterator
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile
from typing import Final

import numpy as np
import xxhash
from numpy.typing import NDArray

from flows.construct.overlap import tokens
from schemas.errors import Failed

RUN: Final = {"en": 8, "zh": 13}
"""Words of a run: a shorter stretch can be anybody's."""
SHORTEST: Final = {"en": 4, "zh": 6}
"""Words of the shortest sentence that counts, or of the shortest text: "See page 12" stands anywhere."""
AT_ONCE: Final = 1 << 22
"""Runs of 20 bytes."""

Numbers = NDArray[np.uint64]
_ANCHOR: Final = min(SHORTEST.values())
"""The first words of a run, by which it is looked up."""
_RUN: Final = np.dtype([("anchor", "<u8"), ("run", "<u8"), ("words", "<u2"), ("source", "<u2")])
_SENTENCE_END: Final = re.compile(r"[。！？!?;；\r\n]+|[.．](?=\s|$)")
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_SHOWS_NOTHING: Final = re.compile("[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_FACTOR: Final = 0x9E3779B97F4A7C15  # odd, so that it has an inverse
_INVERSE: Final = pow(_FACTOR, -1, 1 << 64)
_MOST_WORDS_KNOWN: Final = 1 << 20


class PrivateRuns:
    """The runs of private texts, each with the number of its source, without those that a public text has too.

    They are in temporary files, mapped to memory. Two runs count as equal if their 64-bit hashes are.
    """

    def __init__(self, private: Iterable[tuple[int, str]], public: Iterable[str], at_once: int = AT_ONCE) -> None:
        """Read both once; `public` only if there are private runs. Raises `Failed` if the disk is full.

        About `at_once` runs are held in memory, of all others a byte.
        """
        self._words = _Words()
        lots = [_mapped(lot) for lot in self._lots(private, at_once)]
        others = [np.zeros(len(lot), np.bool_) for lot in lots]
        for text in public if lots else ():
            for is_public, found in zip(others, self._found(text, lots), strict=True):
                is_public[found] = True
        kept = (lot[~is_public] for lot, is_public in zip(lots, others, strict=True))
        self._runs = [_mapped(lot) for lot in kept if len(lot)]

    def source_in(self, text: str) -> int | None:
        """Return the number of a source of which a run stands in the text; None if there is none."""
        for lot, found in zip(self._runs, self._found(text, self._runs), strict=True):
            if len(found):
                return int(lot["source"][found].min())
        return None

    def _lots(self, private: Iterable[tuple[int, str]], at_once: int) -> Iterator[NDArray[np.void]]:
        held: list[NDArray[np.void]] = []
        count = 0
        for source, text in private:
            for runs in self._runs_of(source, text):
                held.append(runs)
                count += len(runs)
            if count >= at_once:
                yield _sorted(held)
                held, count = [], 0
        if count:
            yield _sorted(held)

    def _runs_of(self, source: int, text: str) -> Iterator[NDArray[np.void]]:
        sentences = [self._words.numbers(sentence) for sentence in _SENTENCE_END.split(text)]
        words = np.concatenate(sentences)
        language = "zh" if 2 * len(_HAN.findall(text)) >= max(1, len(words)) else "en"
        length = RUN[language]
        if len(words) >= length:
            yield _runs(source, words, length)
        for sentence in sentences:
            if SHORTEST[language] <= len(sentence) < length:
                yield _runs(source, sentence, len(sentence))

    def _found(self, text: str, lots: list[NDArray[np.void]]) -> Iterator[NDArray[np.int64]]:
        """Yield for each lot the places of the runs that stand in the text."""
        words = self._words.numbers(text) if lots else _NONE
        sums = _Sums(words)
        anchors = sums.stretches(np.arange(max(0, len(words) - _ANCHOR + 1)), _ANCHOR)
        for lot in lots:
            first = np.searchsorted(lot["anchor"], anchors)
            near = np.flatnonzero(lot["anchor"][np.minimum(first, len(lot) - 1)] == anchors)
            stop = np.searchsorted(lot["anchor"], anchors[near], side="right")
            number_of = stop - first[near]
            starts = np.repeat(near, number_of)
            runs = np.repeat(stop - np.cumsum(number_of), number_of) + np.arange(number_of.sum())
            lengths = lot["words"][runs].astype(np.int64)
            inside = starts + lengths <= len(words)
            starts, runs, lengths = starts[inside], runs[inside], lengths[inside]
            yield runs[sums.stretches(starts, lengths) == lot["run"][runs]]


_NONE: Final = np.empty(0, np.uint64)


class _Words:
    """Turns texts into numbers, a number for each word."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def numbers(self, text: str) -> Numbers:
        words = tokens(_SHOWS_NOTHING.sub("", text))
        known = self._known
        if len(known) > _MOST_WORDS_KNOWN:
            known.clear()
        for word in words:
            if word not in known:
                known[word] = xxhash.xxh3_64_intdigest(word.encode(errors="surrogatepass"))
        return np.fromiter(map(known.__getitem__, words), np.uint64, len(words))


class _Sums:
    """Running sums of a text's words, whose differences tell equal stretches."""

    def __init__(self, words: Numbers) -> None:
        self._sums = np.zeros(len(words) + 1, np.uint64)
        np.cumsum(words * _powers(_FACTOR, len(words)), out=self._sums[1:])
        self._inverse = _powers(_INVERSE, len(words))

    def stretches(self, starts: NDArray[np.int64], lengths: NDArray[np.int64] | int) -> Numbers:
        """Return the hashes of the stretches of so many words from these places on."""
        hashes: Numbers = (self._sums[starts + lengths] - self._sums[starts]) * self._inverse[starts]
        return hashes


def _powers(base: int, count: int) -> Numbers:
    powers = np.full(count, base, np.uint64)
    powers[:1] = 1
    return np.multiply.accumulate(powers)


def _runs(source: int, words: Numbers, length: int) -> NDArray[np.void]:
    """Return all runs of that many of the words."""
    sums, starts = _Sums(words), np.arange(len(words) - length + 1)
    runs = np.empty(len(starts), _RUN)
    runs["anchor"] = sums.stretches(starts, _ANCHOR)
    runs["run"] = sums.stretches(starts, length)
    runs["words"], runs["source"] = length, source
    return runs


def _sorted(held: list[NDArray[np.void]]) -> NDArray[np.void]:
    """Return the runs in the order of their anchors, each once."""
    runs = np.concatenate(held)
    _, first = np.unique(runs["run"], return_index=True)
    runs = runs[first]
    ordered: NDArray[np.void] = runs[np.argsort(runs["anchor"], kind="stable")]
    return ordered


def _mapped(runs: NDArray[np.void]) -> NDArray[np.void]:
    """Return the runs in a file without a name, which goes with the last array that uses it."""
    try:
        with TemporaryFile() as file:
            runs.tofile(file)
            file.flush()
            return np.frombuffer(mmap(file.fileno(), 0, access=ACCESS_READ), _RUN)
    except OSError as error:
        raise Failed(
            f"the folder for temporary files cannot hold {len(runs):,} runs of private words ({error.strerror}); make "
            "room there, or name another in TMPDIR"
        ) from error
