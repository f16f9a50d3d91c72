"""Retrieval: passages of a collection ranked for many queries, and ReEval's choice among them (section 3.2).

English is ranked by embeddings (`DenseIndex`), Chinese by words (`BM25Index`): the packaged model does not
read it. Departure: the paper's retriever is all-mpnet-base-v2; that or any other model is a setting of the embedder.

Ranks depend on the texts alone: on one machine, neither the order of the queries nor their number changes them. A
passage is identified by its place in the collection.

Why a `DenseIndex` compares every pair at any size (one thread, 384 dimensions): a query takes 7.3 ms of processor time
among a million passages and 38.5 ms among five million, while embedding takes 7 ms for each short passage. Until there
are 900,000 queries the search takes less than the embedding, and an approximate index would lose passages for little.

Memory, in addition to the model and the caller's texts: a `DenseIndex` takes less than 0.1 GB during a search and 8
bytes for each rank. FAISS searches the matrix of vectors in place, without a second copy. With the cache
(`flows/construct/embedding_cache.py`) the matrix is a mapped file, 4 * dim bytes for each passage on disk (1.54 GB for
a million at 384 dimensions), whose pages the system can take back.

A `BM25Index` is a mapped file as well, of 8 bytes for each different word of each passage, and 20 while it is built, in
the folder for temporary files. A search takes 12 bytes for each passage.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from flows.construct.bm25_index import bm25_index
from flows.construct.cosine_space import GRID, on_grid, rounding_margin
from flows.construct.embed import Embedder, FloatMatrix, UnreadableLanguageError
from flows.language.zh.text import segmenter

IntMatrix = NDArray[np.int64]
Similarity = Callable[[str | int, int], float]
"""The similarity, up to 1, of a text (or the passage at a place) and the passage at another place."""

REPEATS_ABOVE: Final = 0.85
"""Cosine above which a passage repeats another or the evidence (ReEval, released code)."""
MOST_PASSAGES: Final = 3
"""Passages that are condensed into one (ReEval, section 3.2)."""
NGRAM: Final = 2
"""Characters of an n-gram in `ngram_cosine`."""

_SPARE: Final = 16
"""Passages that FAISS retrieves in addition to those wanted, so that their order can be decided exactly."""
_MATCHES: Final = 1 << 22
"""Cosines and places that FAISS returns at once: 12 bytes each."""
_ROWS: Final = 4096


class Retriever(Protocol):
    """A collection of passages that can be searched. `name` says how, for manifests and provenance."""

    @property
    def name(self) -> str: ...

    def rank(self, queries: Sequence[str], most: int) -> IntMatrix:
        """Return the places of the best passages for each query, best first; ties go to the first in the collection.

        Shape (len(queries), most), filled with -1 if there are fewer passages.
        """
        ...

    def similarity(self, first: str | int, second: int) -> float:
        """Return the similarity, up to 1, of a text (or the passage at place `first`) and the passage at `second`."""
        ...


def retriever_for(language: str, texts: Sequence[str], embedder: Embedder) -> Retriever:
    """Return the default retriever for a language, by its code: BM25 for "zh", otherwise the embedder's vectors."""
    return BM25Index(texts) if language == "zh" else DenseIndex(texts, embedder)


class DenseIndex:
    """Passages ranked by the cosine of their vectors with the query's: every pair is compared, none approximately.

    FAISS finds candidates in float32; which of them are best, and in what order, is decided by dot products
    of the vectors rounded to multiples of 2^-24, which float64 holds without rounding. Long passages are
    embedded whole, as `flows.construct.embed` does.
    """

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        """Embed the passages. Raises `UnreadableLanguageError`, and what the embedder raises."""
        self.embedder = embedder
        self.vectors = _embedded(texts, embedder, "passage")
        self._margin = rounding_margin(self.vectors.shape[1])
        self._vector_of = lru_cache(256)(self._embed_one)

    @property
    def name(self) -> str:
        """The model behind the vectors."""
        return f"cosine of {self.embedder.name}"

    def rank(self, queries: Sequence[str], most: int) -> IntMatrix:
        """See `Retriever`. Raises `UnreadableLanguageError`, and what the embedder raises."""
        ranks = np.full((len(queries), most), -1, np.int64)
        wanted = min(most, len(self.vectors))
        if not wanted or not queries:
            return ranks
        query_vectors = _embedded(queries, self.embedder, "query")
        open_rows, candidates = list(range(len(queries))), wanted + _SPARE
        while open_rows:
            candidates = min(candidates, len(self.vectors))
            rows, open_rows, at_once = open_rows, [], max(1, _MATCHES // candidates)
            for start in range(0, len(rows), at_once):
                tile = rows[start : start + at_once]
                bounds, matches = self._nearest(query_vectors[tile], candidates)
                for row, bound, places in zip(tile, bounds, matches, strict=True):
                    cosines = self._cosines(query_vectors[row], places)
                    best = np.lexsort((places, -cosines))[:wanted]
                    if candidates == len(self.vectors) or cosines[best[-1]] > bound + self._margin:
                        ranks[row, :wanted] = places[best]
                    else:
                        open_rows.append(row)
            candidates *= 2
        return ranks

    def similarity(self, first: str | int, second: int) -> float:
        """Cosine of the vectors, exact but for the last digit. Raises what the embedder raises."""
        vector = self._vector_of(first) if isinstance(first, str) else self.vectors[first]
        return float(self._cosines(vector, np.array([second]))[0])

    def _nearest(self, vectors: FloatMatrix, candidates: int) -> tuple[NDArray[np.float32], IntMatrix]:
        """Return the lowest float32 cosine among the candidates of each vector, and their places."""
        import faiss

        cosines, places = faiss.knn(vectors, self.vectors, candidates, metric=faiss.METRIC_INNER_PRODUCT)
        return cosines.min(axis=1), places

    def _cosines(self, vector: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float64]:
        ours = on_grid(vector)
        dots = [on_grid(self.vectors[places[at : at + _ROWS]]) @ ours for at in range(0, len(places), _ROWS)]
        return np.concatenate(dots) / GRID**2

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embedder.embed([text])[0]
        return vector


def _embedded(texts: Sequence[str], embedder: Embedder, what: str) -> FloatMatrix:
    """Return the vectors of `texts`, shape (len(texts), dim); (0, 0), without a call of the model, for no texts."""
    for number, text in enumerate(texts):
        if not embedder.reads(text):
            raise UnreadableLanguageError(
                f"{what} {number} is in a language that {embedder.name} does not read; set the "
                "embedder to a model that reads it, or rank by words (BM25)"
            )
    return embedder.embed(texts) if texts else np.empty((0, 0), np.float32)


class BM25Index:
    """Passages ranked by the words they share with the query: BM25 (Lucene's, k1 1.5, b 0.75) over jieba's words.

    Words are those of jieba's dictionary, without its model of unknown words (top-1 retrieval: 0.909
    against 0.913 on XQuAD-zh, 0.984 against 0.976 on CMRC 2018), in lower case; punctuation is dropped, nothing is
    stemmed. A passage that shares no word with a query is not ranked for it. Similarity is `ngram_cosine`.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        """Index the passages; `texts` is kept, for `similarity`. Raises `Failed` if there is no room on the disk."""
        self.texts = texts
        self._numbers: dict[str, int] = {}
        self._index = bm25_index(map(self._numbered, texts))

    def _numbered(self, text: str) -> list[int]:
        return [self._numbers.setdefault(word, len(self._numbers)) for word in _words(text)]

    @property
    def name(self) -> str:
        """The formula and the source of the words."""
        return "BM25 over jieba words"

    def rank(self, queries: Sequence[str], most: int) -> IntMatrix:
        """See `Retriever`."""
        ranks = np.full((len(queries), most), -1, np.int64)
        for row, query in enumerate(queries):
            numbers = [self._numbers[word] for word in _words(query) if word in self._numbers]
            if not numbers or not most:
                continue
            scores: NDArray[np.float32] = self._index.get_scores_from_ids(numbers)
            places = np.flatnonzero(scores)
            if len(places) > most:
                least = np.partition(scores[places], -most)[-most]
                places = places[scores[places] >= least]
            best = places[np.lexsort((places, -scores[places]))][:most]
            ranks[row, : len(best)] = best
        return ranks

    def similarity(self, first: str | int, second: int) -> float:
        """`ngram_cosine` of the texts."""
        return ngram_cosine(first if isinstance(first, str) else self.texts[first], self.texts[second])


def _words(text: str) -> list[str]:
    return [word for word in segmenter().lcut(_plain(text), HMM=False) if any(map(str.isalnum, word))]


def ngram_cosine(first: str, second: str) -> float:
    """Return the cosine of the texts' character bigram counts, after normalising white space, case and width.

    A text of one character is one gram. The cosine is 0 if a text is empty.
    """
    ours, theirs = _grams(_plain(first)), _grams(_plain(second))
    norms = sum(count * count for count in ours.values()) * sum(count * count for count in theirs.values())
    dot = sum(count * theirs[gram] for gram, count in ours.items())
    return dot / math.sqrt(norms) if norms else 0.0


def _grams(text: str) -> Counter[str]:
    return Counter(text[at : at + NGRAM] for at in range(max(len(text) - NGRAM + 1, 1)) if text)


def _plain(text: str) -> str:
    """Return `text` in lower case and half width, with single blanks as white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def diverse(
    ranked: Iterable[int],
    titles: Sequence[str | None],
    texts: Sequence[str],
    *,
    query: str,
    evidence: str,
    similarity: Similarity,
    repeats_above: float = REPEATS_ABOVE,
    most: int = MOST_PASSAGES,
    refuse: Callable[[int], bool] = lambda _: False,
) -> list[int]:
    """Return the places of up to `most` passages from different pages that do not repeat the evidence, best first.

    Walks down the ranking, and skips:

    - a passage of a page already taken (a passage without a title is a page of its own);
    - a passage that equals, contains or is contained in the query, the evidence or a passage taken, ignoring case and
      white space;
    - a passage whose `similarity` with the evidence or a passage taken is above `repeats_above`;
    - a passage for which `refuse`, which is called last, is true;
    - places below 0.
    """
    taken: list[int] = []
    pages: set[str] = set()
    known_texts = [plain for plain in (_plain(query), _plain(evidence)) if plain]
    for place in ranked:
        if len(taken) >= most:
            break
        if place < 0:
            continue
        page, text = _plain(titles[place] or ""), _plain(texts[place])
        if page in pages or any(text in other or other in text for other in known_texts) or not text:
            continue
        others: list[str | int] = [evidence, *taken]
        if any(similarity(other, place) > repeats_above for other in others) or refuse(place):
            continue
        taken.append(place)
        known_texts.append(text)
        if page:
            pages.add(page)
    return taken
