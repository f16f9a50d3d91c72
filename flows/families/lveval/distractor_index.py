"""The documents that may distract in a dataset's contexts, counted once and searched once for all pairs.

A document is processed once, however many contexts contain it: it is encoded, counted, and one pass over all of
them finds which contain which phrase (answers, keywords, substitutes) of any pair.
"""

import threading
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt
import xxhash

from data.seen import are_in
from flows.language.boundaries import boundaries
from flows.language.keywords import PhraseFinder
from flows.language.zh.script import script
from schemas.lveval import PoolDocument

Numbers = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint64]

WINDOW = 48  # bytes of text that two documents with a common fingerprint share: about 8 English or 16 Chinese words
BATCH = 1 << 16
"""Bytes of text processed together. They need about ten times as much memory, which fits the processor's cache."""
ONE_IN = 8  # one window in this many is kept as a fingerprint, chosen by its content (Schleimer et al. 2003)
NEAR_DUPLICATE = 0.4  # share of the shorter text's fingerprints in the other from which two texts are near-duplicates

BETWEEN = "\n\x1e\n"  # between joined documents: no document contains it, and no word or phrase crosses it

_WHITE, _UPPER = b"\t\n\r\x0b\x0c", bytes(range(ord("A"), ord("Z") + 1))
_LOWER_AND_SPACES = bytes.maketrans(_UPPER + _WHITE, _UPPER.lower() + b" " * len(_WHITE))
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64


def count(text: str, language: str) -> int:
    """Return the number of words; in Chinese, of characters that are not white space (table 1)."""
    return len(text.split()) if language != "zh" else sum(map(len, text.split()))


def plain(text: str, language: str) -> str:
    """Return a Chinese answer in half width without white space; an English text unchanged."""
    return text if language != "zh" else "".join(unicodedata.normalize("NFKC", text).split())


class DistractorIndex:
    """The documents of a dataset, in the order given."""

    def __init__(self, documents: Iterable[PoolDocument], language: str, header: str = "") -> None:
        """`header` precedes each document in a context; no rule may replace anything in it."""
        self.language = language
        self.header = header
        self.texts: list[bytes] = []
        counts, lengths = array("q"), array("q")
        for document in documents:
            self.texts.append(document.text.encode())
            counts.append(count(document.text, language))
            lengths.append(len(document.text))
        self.counts: Numbers = np.array(counts, np.int64)
        self.lengths: Numbers = np.array(lengths, np.int64)
        self._holding: dict[str, Numbers] = {}
        # An English answer is searched like any phrase, so one pass finds both.
        self._answering: dict[str, Numbers] = {} if language == "zh" else self._holding
        self._ends: dict[int, list[int]] = {}
        self._lock = threading.Lock()
        self.unfit: dict[str, Numbers] = {}
        """By keyword searched so far: the documents in which it occurs inside a longer name."""

    def __len__(self) -> int:
        return len(self.texts)

    def text(self, number: int) -> str:
        """Return the document as text."""
        return self.texts[number].decode()

    def search(self, phrases: Iterable[str], answers: Iterable[str] = ()) -> None:
        """Find all documents that contain a phrase or an answer as whole words, in one pass (in Chinese, two)."""
        if self._answering is self._holding:
            phrases, answers = chain(phrases, answers), ()
        self._find(self._holding, phrases, lambda text: text)
        self._find(self._answering, answers, lambda text: plain(text, self.language))

    def _find(self, matches: dict[str, Numbers], phrases: Iterable[str], form: Callable[[str], str]) -> None:
        wanted = sorted({phrase for phrase in phrases if phrase.strip()} - matches.keys())
        if not wanted:
            return
        finder = PhraseFinder([form(phrase) for phrase in wanted], self.language)
        holding = finder.holding([form(text.decode()) for text in self.texts])
        for place, phrase in enumerate(wanted):
            matches[phrase] = np.asarray(holding.get(place, ()), np.int64)

    def holding(self, phrase: str) -> Numbers:
        """Return the documents that contain the phrase as whole words in any case, in order."""
        if phrase not in self._holding:
            with self._lock:
                self.search([phrase])
        return self._holding[phrase]

    def answering(self, answer: str) -> Numbers:
        """Return the documents with the answer as whole words in any case; in Chinese, in any width or spacing."""
        if answer not in self._answering:
            with self._lock:
                self.search((), [answer])
        return self._answering[answer]

    def boundaries(self, number: int) -> list[int]:
        """Return the offsets in the document at which a sentence begins after another."""
        if number not in self._ends:
            self._ends[number] = boundaries(self.text(number), self.language)
        return self._ends[number]

    def in_other_script(self, text: str) -> Numbers:
        """Return the Chinese documents written in the other script, Simplified or Traditional, than the text."""
        wanted = script(text) if self.language == "zh" else None
        if wanted is None:
            return np.empty(0, np.int64)
        others: Numbers = np.flatnonzero((self._scripts != wanted) & (self._scripts != ""))
        return others

    @cached_property
    def members(self) -> Marks:
        """A number for each document, by its text alone."""
        return np.fromiter(map(xxhash.xxh3_64_intdigest, self.texts), np.uint64, len(self.texts))

    @cached_property
    def _scripts(self) -> npt.NDArray[np.str_]:
        """The script of each document; empty if it is unclear."""
        return np.array([script(text.decode()) or "" for text in self.texts])

    def near_duplicates(self, texts: Sequence[bytes]) -> list[Numbers]:
        """Return, for each text, the documents that nearly repeat it, contain it, or are contained in it."""
        wanted, owners = fingerprints(texts)
        marks, documents, sizes = self._with_marks(np.unique(wanted))
        first, last = np.searchsorted(marks, wanted, "left"), np.searchsorted(marks, wanted, "right")
        duplicates: list[Numbers] = []
        for start, end in pairwise(np.searchsorted(owners, np.arange(len(texts) + 1)).tolist()):
            hits = [documents[first[mark] : last[mark]] for mark in range(start, end) if first[mark] < last[mark]]
            shared = np.bincount(np.concatenate([np.empty(0, np.int64), *hits]), minlength=len(sizes))
            duplicates.append(np.flatnonzero(shared >= NEAR_DUPLICATE * np.maximum(1, np.minimum(sizes, end - start))))
        return duplicates

    def _with_marks(self, wanted: Marks) -> tuple[Marks, Numbers, Numbers]:
        """Return the wanted fingerprints that documents have, sorted, their documents, and how many each document has.

        The other fingerprints, which take more memory than the texts, are not kept.
        """
        found: list[Marks] = [np.empty(0, np.uint64)]
        documents: list[Numbers] = [np.empty(0, np.int64)]
        sizes = np.zeros(len(self.texts), np.int64)
        for marks, numbers in _fingerprints(self.texts):
            np.add.at(sizes, numbers, 1)
            is_wanted = are_in(marks, wanted)
            found.append(marks[is_wanted])
            documents.append(numbers[is_wanted])
        marks = np.concatenate(found)
        order = np.argsort(marks)
        return marks[order], np.concatenate(documents)[order], sizes


def fingerprints(texts: Sequence[bytes]) -> tuple[Marks, Numbers]:
    """Return hashes of some windows of each text; the same words give the same hashes anywhere.

    Beside each, the number of its text. White space and ASCII case do not count.
    """
    found = list(_fingerprints(texts))
    marks = np.concatenate([np.empty(0, np.uint64), *(marks for marks, _ in found)])
    return marks, np.concatenate([np.empty(0, np.int64), *(documents for _, documents in found)])


def _fingerprints(texts: Sequence[bytes]) -> Iterator[tuple[Marks, Numbers]]:
    """Yield the fingerprints of some texts together, and the number of the text of each."""
    for first, batch in batches(texts):
        plain = [_in_one_case(text) for text in batch]
        ends = np.cumsum([len(text) for text in plain])
        letters = np.frombuffer(b"".join(plain), np.uint8).astype(np.uint64)
        if len(letters) < WINDOW:
            continue
        powers, inverses = _powers(1 << max(12, (len(letters) - 1).bit_length()))
        terms = (letters + np.uint64(1)) * powers[: len(letters)]
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)))
        windows = (sums[WINDOW:] - sums[:-WINDOW]) * inverses[: len(letters) - WINDOW + 1]
        windows ^= windows >> np.uint64(29)
        starts = np.flatnonzero(windows & np.uint64(ONE_IN - 1) == 0)
        owner = np.searchsorted(ends, starts, side="right")
        inside = starts + WINDOW <= ends[owner]
        owner, hashes = owner[inside], windows[starts[inside]]
        own = hashes ^ (owner + 1).astype(np.uint64) * np.uint64(_BASE)  # differs from text to text
        order = np.argsort(own)
        fresh = np.ones(len(hashes), np.bool_)
        fresh[order[1:][own[order[1:]] == own[order[:-1]]]] = False
        yield hashes[fresh], owner[fresh] + first


def _in_one_case(text: bytes) -> bytes:
    """Return the text with single spaces and no upper-case ASCII letters; most texts have them already."""
    text = text.translate(_LOWER_AND_SPACES)
    return b" ".join(text.split()) if b"  " in text else text.strip()


def batches(texts: Sequence[bytes]) -> Iterator[tuple[int, Sequence[bytes]]]:
    """Yield texts of about `BATCH` bytes together, with the number of the first."""
    start = held = 0
    for number, text in enumerate(texts):
        held += len(text)
        if held >= BATCH or number + 1 == len(texts):
            yield start, texts[start : number + 1]
            start, held = number + 1, 0


@cache
def _powers(size: int) -> tuple[Marks, Marks]:
    """Return the first powers of the base and of its inverse, modulo 2^64."""
    bases = (np.uint64(base) for base in (_BASE, pow(_BASE, -1, 1 << 64)))
    first = np.ones(1, np.uint64)
    powers, inverses = (np.cumprod(np.concatenate((first, np.full(size - 1, base))), dtype=np.uint64) for base in bases)
    return powers, inverses
