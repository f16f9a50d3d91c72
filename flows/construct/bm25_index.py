"""BM25 scores in the form that bm25s searches, built some texts at a time, in files that are mapped into memory.

bm25s can save its index and map it, but builds it in memory, at 42 bytes for each different word of each text. Here
memory holds what `word_index.py` says. The scores are bm25s's own, to the last bit.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from flows.construct.sequences_on_disk import NumbersOnDisk
from flows.construct.word_index import IN_MEMORY_UP_TO, WordCounts

K1: Final = 1.5
B: Final = 0.75
WORDS_AT_ONCE: Final = 1 << 20
"""Words that are counted or scored at once, at some 80 bytes each."""


def bm25_index(
    texts: Iterable[Sequence[int]], *, at_once: int = WORDS_AT_ONCE, in_memory_up_to: int = IN_MEMORY_UP_TO
) -> Any:
    """Return a `bm25s.BM25` (Lucene's formula) of texts that are given as the numbers of their words.

    Raises `Failed` if the disk of the folder for temporary files is full.
    """
    index = _empty_index()
    counts = WordCounts(texts, at_once, in_memory_up_to)
    lengths, texts_with = counts.lengths, counts.texts_with
    number, mean = len(lengths), lengths.mean() if len(lengths) else 0.0
    idf = np.array([math.log(1 + (number - with_it + 0.5) / (with_it + 0.5)) for with_it in texts_with.tolist()])
    idf = idf.astype(np.float32).astype(np.float64)
    scores, places = NumbersOnDisk(np.float32, in_memory_up_to), NumbersOnDisk(np.int32, in_memory_up_to)
    for words, in_texts, times in counts.by_word(at_once):
        scores.append(idf[words] * (times / (K1 * ((1 - B) + B * lengths[in_texts] / mean) + times)))
        places.append(in_texts)
    index.scores = {
        "data": scores.finished(), "indices": places.finished(), "indptr": counts.bounds, "num_docs": number,
    }  # fmt: skip
    return index


def _empty_index() -> Any:
    import logging

    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # by default it logs every debug line
    index: Any = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy")
    index.nonoccurrence_array = None
    return index
