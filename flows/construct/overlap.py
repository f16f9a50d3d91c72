"""How far texts overlap with those of another data set: shared n-grams, and nearest neighbours by meaning.

An overlap is that of Brown et al. (2020, "Language Models are Few-Shot Learners", section 4 and appendix C): 13
words in a row that both have, or all of a text that is shorter, case, punctuation and white space aside; below 8
words a collision says nothing. It is symmetric but for that, so that it tells of benchmarks that share rows as well
as of benchmarks in training data.

Departure: Chinese is compared by characters, since a word segmenter splits one sentence differently in two
contexts. In the parallel paragraphs of XQuAD 1.606 Chinese characters stand for an English word (28,648 for 17,836),
so that 13 words are 21 characters and 8 are 13.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, Literal, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from flows.construct.embed import Embedder, FloatMatrix

Hashes = NDArray[np.uint64]
AT_ONCE: Final = 1 << 24
"""N-grams of the other data set that are held at once: 128 MB, and as much again while they are sorted."""
TILE: Final = 4096
"""Texts of the other data set that are embedded at once."""

_TOKEN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)  # odd: 2^64 / golden ratio, as in Fibonacci hashing


class Measure(NamedTuple):
    """What an overlap is in a language."""

    unit: Literal["words", "characters"]
    ngram: int
    shortest: int


WORDS: Final = Measure("words", 13, 8)
CHARACTERS: Final = Measure("characters", 21, 13)


class Overlap(NamedTuple):
    """What was found: rows, those of them with a text long enough to tell, and the keys of those that overlap."""

    rows: int
    compared: int
    overlapping: frozenset[str]


def measure_of(language: str) -> Measure:
    """Characters for "zh", otherwise words."""
    return CHARACTERS if language == "zh" else WORDS


def tokens(text: str) -> list[str]:
    """Words in lower case and compatible form (NFKC), without punctuation; each Han character is one."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())


def shared_ngrams(
    rows: Callable[[], Iterable[tuple[str, Sequence[str]]]],
    others: Iterable[str],
    measure: Measure,
    at_once: int = AT_ONCE,
) -> Overlap:
    """Which of `rows()`, (key, texts), share an n-gram with a text of `others`.

    `others` is streamed once, its n-grams held `at_once` at a time (but of one text all); for each lot `rows()` is
    streamed anew. So memory is bounded whatever the sizes, and where one side is small either is read but once
    or twice. Two n-grams are the same where their hashes of 64 bits are.
    """
    seen: set[str] = set()
    compared: set[str] = set()
    found: set[str] = set()
    for lot in _lots(others, measure, at_once):
        for key, texts in rows():
            seen.add(key)
            for text in texts if key not in found else ():
                wanted = _telling(_hashed(text), measure)
                if len(wanted):
                    compared.add(key)
                    if _holds(lot, wanted):
                        found.add(key)
                        break
    return Overlap(len(seen), len(compared), frozenset(found))


def nearest_cosines(ours: Sequence[str], others: Iterable[str], embedder: Embedder) -> NDArray[np.float32]:
    """Cosine of each of `ours` with the nearest of `others`, shape (len(ours),); -1 where there is none.

    `others` are streamed; of `ours` the vectors are held. Raises what the embedder raises.
    """
    nearest = np.full(len(ours), -1.0, np.float32)
    if not ours:
        return nearest
    import faiss

    vectors: FloatMatrix = embedder.embed(ours)
    stream = iter(others)
    while tile := list(islice(stream, TILE)):
        cosines, _ = faiss.knn(vectors, embedder.embed(tile), 1, metric=faiss.METRIC_INNER_PRODUCT)
        np.maximum(nearest, cosines[:, 0], out=nearest)
    return nearest


def _lots(others: Iterable[str], measure: Measure, at_once: int) -> Iterator[Hashes]:
    """The n-grams of the other texts of every length that can tell, sorted; at least one lot."""
    held: list[Hashes] = []
    count = 0
    for text in others:
        hashed = _hashed(text)
        for length in range(measure.shortest, measure.ngram + 1):
            grams = _ngrams(hashed, length)
            held.append(grams)
            count += len(grams)
        if count >= at_once:
            yield np.unique(np.concatenate(held))
            held, count = [], 0
    yield np.unique(np.concatenate([*held, np.empty(0, np.uint64)]))


def _hashed(text: str) -> Hashes:
    return np.fromiter((xxhash.xxh3_64_intdigest(token.encode()) for token in tokens(text)), np.uint64)


def _telling(hashed: Hashes, measure: Measure) -> Hashes:
    """The n-grams that a text is looked up by: one, itself, where it is short, and none where it is too short."""
    return _ngrams(hashed, min(measure.ngram, len(hashed))) if len(hashed) >= measure.shortest else hashed[:0]


def _ngrams(hashed: Hashes, length: int) -> Hashes:
    """Hashes of all stretches of `length` tokens; one of another length has another hash."""
    count = len(hashed) - length + 1
    if count <= 0:
        return hashed[:0]
    grams = np.full(count, length, np.uint64)
    for place in range(length):
        grams *= _FACTOR
        grams += hashed[place : place + count]
    return grams


def _holds(lot: Hashes, wanted: Hashes) -> bool:
    if not len(lot):
        return False
    places = np.minimum(np.searchsorted(lot, wanted), len(lot) - 1)
    return bool((lot[places] == wanted).any())
