"""Measures the overlap of texts with another data set: shared n-grams, and nearest neighbours by meaning.

Two texts overlap as in Brown et al. (2020, "Language Models are Few-Shot Learners", section 4 and appendix C) if they
share 13 consecutive words, or all words of a shorter text; case, punctuation and white space are ignored. Below 8 words
a match means nothing. Apart from this limit the measure is symmetric, so it finds benchmarks that share rows as well as
benchmarks in training data.

Departure: Chinese is compared by characters, since a word segmenter splits the same sentence differently in different
contexts. In the parallel paragraphs of XQuAD an English word corresponds to 1.606 Chinese characters (28,648 for
17,836), so 13 words are 21 characters and 8 words are 13.
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
"""N-grams of the other data set held at once: 128 MB, and as much again while they are sorted."""
TILE: Final = 4096
"""Texts of the other data set embedded at once."""

_TOKEN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)  # odd: 2^64 / golden ratio, as in Fibonacci hashing


class Measure(NamedTuple):
    """The unit of an overlap in a language, the length of an n-gram, and the shortest text that counts."""

    unit: Literal["words", "characters"]
    ngram: int
    shortest: int


WORDS: Final = Measure("words", 13, 8)
CHARACTERS: Final = Measure("characters", 21, 13)


class Overlap(NamedTuple):
    """The number of rows, the number with a text long enough to compare, and the keys of the rows that overlap."""

    rows: int
    compared: int
    overlapping: frozenset[str]


def measure_of(language: str) -> Measure:
    """Return `CHARACTERS` for "zh", otherwise `WORDS`."""
    return CHARACTERS if language == "zh" else WORDS


def tokens(text: str) -> list[str]:
    """Return the words in lower case and compatible form (NFKC), without punctuation; each Han character is a word."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())


def shared_ngrams(
    rows: Callable[[], Iterable[tuple[str, Sequence[str]]]],
    others: Iterable[str],
    measure: Measure,
    at_once: int = AT_ONCE,
) -> Overlap:
    """Find the rows, each a (key, texts), that share an n-gram with a text of `others`.

    `others` is streamed once, and its n-grams are held in lots of about `at_once` (a text is never split). For each lot
    `rows()` is streamed again, in the same order. So memory is bounded for any sizes, but for a byte of each row and
    the keys of those that overlap, and if one side is small, each side is read only once or twice. Two n-grams count
    as equal if their 64-bit hashes are.
    """
    compared = bytearray()
    """Of each row, 1 if it has a text that is long enough."""
    overlapping: set[str] = set()
    for lot in _lots(others, measure, at_once):
        for place, (key, texts) in enumerate(rows()):
            if place == len(compared):
                compared.append(0)
            for text in texts if key not in overlapping else ():
                ngrams = _lookup_ngrams(_hashed(text), measure)
                if len(ngrams):
                    compared[place] = 1
                    if _holds(lot, ngrams):
                        overlapping.add(key)
                        break
    return Overlap(len(compared), sum(compared), frozenset(overlapping))


def nearest_cosines(ours: Sequence[str], others: Iterable[str], embedder: Embedder) -> NDArray[np.float32]:
    """Return the cosine of each of `ours` with the nearest of `others`, shape (len(ours),); -1 if there are no others.

    `others` is streamed; the vectors of `ours` are held in memory. Raises what the embedder raises.
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
    """Yield lots of the other texts' n-grams, of every length that counts, each lot sorted; at least one lot."""
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


def _lookup_ngrams(hashed: Hashes, measure: Measure) -> Hashes:
    """Return the n-grams to look a text up by: the whole text if it is short, none if it is too short to count."""
    return _ngrams(hashed, min(measure.ngram, len(hashed))) if len(hashed) >= measure.shortest else hashed[:0]


def _ngrams(hashed: Hashes, length: int) -> Hashes:
    """Return the hashes of all stretches of `length` tokens; the length is part of the hash."""
    count = len(hashed) - length + 1
    if count <= 0:
        return hashed[:0]
    grams = np.full(count, length, np.uint64)
    for place in range(length):
        grams *= _FACTOR
        grams += hashed[place : place + count]
    return grams


def _holds(lot: Hashes, ngrams: Hashes) -> bool:
    if not len(lot):
        return False
    places = np.minimum(np.searchsorted(lot, ngrams), len(lot) - 1)
    return bool((lot[places] == ngrams).any())
