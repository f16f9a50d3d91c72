"""Retrieval: our exact indexes beside plain references, on the same vectors and the same texts.

    python tests/bench/bench_retrieve.py [passages ...]        (default: 100000)

Dense: vectors like embeddings (`bench_dedupe.statements_like`), mapped from a file by an embedder, as the cache of
embeddings does, so that the model's own time is left out; beside ours, the matrix in memory and numpy's
`queries @ vectors.T` with argpartition, 256 queries at a time. A query is a vector of the collection with as much noise
again. "same" is the share of queries for which both give the same places in the same order.

BM25: passages of 80 words drawn by the frequencies of jieba's dictionary; a query is 8 words of a passage. Beside
ours, bm25s from the tokens on: its own vocabulary and its own top-k, which leaves equal scores in any order (and many
are equal: passages that share one word with the query, once, and are of one length).

Each method runs in a process of its own, after a small run that loads its libraries. "build" and "queries" are
seconds of processor time. "memory" is the growth of the process's own memory (not of mapped pages, which the system can
take back) over what it was just before, with the texts, at its highest; "then" is the growth that is left when the
index is built.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from bench_dedupe import DIMENSIONS, OwnMemory, statements_like
from numpy.typing import NDArray

SIZES = (100_000,)
QUERIES = 2_000
MOST = 50
WARM_UP = 500
WORDS_OF_PASSAGE, WORDS_OF_QUERY = 80, 8

Ranks = NDArray[np.int64]
Answer = Callable[[Sequence[str]], Ranks]
Build = Callable[[Sequence[str]], Answer]


class FromFile:
    """An embedder whose texts are "FILE ROW": it maps their vectors from the file, one stretch at a time."""

    name = "file"

    def reads(self, text: str) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        file, first = texts[0].split()
        shape, offset = (len(texts), DIMENSIONS), int(first) * 4 * DIMENSIONS
        return np.memmap(file, np.float32, "r", offset, shape).view(np.ndarray)


def make_vectors(number: int, folder: str) -> None:
    vectors = statements_like(number)
    random = np.random.default_rng(11)
    noise = random.standard_normal((QUERIES, DIMENSIONS), np.float32) / DIMENSIONS**0.5
    queries = vectors[random.integers(number, size=QUERIES)] + noise
    vectors.tofile(f"{folder}/passages")
    (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32).tofile(f"{folder}/queries")


def make_texts(number: int, folder: str) -> None:
    from flows.construct.retrieve import _jieba

    frequencies = {word: count for word, count in _jieba().FREQ.items() if count and len(word) < 5}
    words, weights = np.array(list(frequencies)), np.array(list(frequencies.values()), np.float64)
    random = np.random.default_rng(11)
    shares = weights / weights.sum()
    passages: list[str] = []
    for start in range(0, number, 10_000):
        size = (min(10_000, number - start), WORDS_OF_PASSAGE)
        passages += map("".join, random.choice(words, size, p=shares).tolist())
    asked = [passages[place] for place in random.integers(number, size=QUERIES)]
    queries = [
        text[start : start + 2 * WORDS_OF_QUERY]
        for text, start in zip(asked, random.integers(80, size=QUERIES), strict=True)
    ]
    Path(f"{folder}/passages.txt").write_text("\n".join(passages))
    Path(f"{folder}/queries.txt").write_text("\n".join(queries))


def dense(passages: Sequence[str]) -> Answer:
    from flows.construct.retrieve import DenseIndex

    index = DenseIndex(passages, FromFile())
    return lambda queries: index.rank(queries, MOST)


def numpy_top_k(passages: Sequence[str]) -> Answer:
    vectors = FromFile().embed(passages).copy()

    def answer(queries: Sequence[str]) -> Ranks:
        asked, ranks = FromFile().embed(queries), []
        for start in range(0, len(asked), 256):
            cosines = asked[start : start + 256] @ vectors.T
            best = np.argpartition(-cosines, MOST, axis=1)[:, :MOST]
            order = np.argsort(-np.take_along_axis(cosines, best, axis=1), axis=1, kind="stable")
            ranks.append(np.take_along_axis(best, order, axis=1))
        return np.concatenate(ranks)

    return answer


def bm25(passages: Sequence[str]) -> Answer:
    from flows.construct.retrieve import BM25Index

    index = BM25Index(passages)
    return lambda queries: index.rank(queries, MOST)


def bm25s_itself(passages: Sequence[str]) -> Answer:
    import bm25s

    from flows.construct.retrieve import _words

    index = bm25s.BM25(method="lucene")
    index.index([_words(text) for text in passages], show_progress=False)
    return lambda queries: index.retrieve([_words(text) for text in queries], k=MOST, show_progress=False)[0]


METHODS: dict[str, tuple[Build, Build]] = {"dense": (dense, numpy_top_k), "bm25": (bm25, bm25s_itself)}


def measure(method: str, folder: str, number: int) -> dict[str, float]:
    """One method in this process; writes its ranks beside the data."""
    build = next(one for pair in METHODS.values() for one in pair if one.__name__ == method)
    if method.startswith("bm25"):
        passages, queries = (Path(f"{folder}/{name}.txt").read_text().split("\n") for name in ("passages", "queries"))
    else:
        passages = [f"{folder}/passages {row}" for row in range(number)]
        queries = [f"{folder}/queries {row}" for row in range(QUERIES)]
    build(passages[:WARM_UP])(queries[:8])
    started = time.process_time()
    with OwnMemory() as memory:
        answer = build(passages)
        built, then = time.process_time(), memory.growth()
        ranks = answer(queries)
    ended = time.process_time()
    np.save(f"{folder}/{method}.npy", ranks)
    return {"build": built - started, "queries": ended - built, "memory": memory.megabytes, "then": then}


def in_own_process(call: str) -> dict[str, float]:
    """The result of a call of this module, from a fresh interpreter: a child's peak memory starts at its parent's."""
    here = Path(__file__).resolve().parent
    path = {"PYTHONPATH": f"{here.parents[1]}{os.pathsep}{here}"}
    code = f"import json, bench_retrieve; print(json.dumps(bench_retrieve.{call}))"
    run = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, env={**os.environ, **path})
    figures: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return figures


def main(arguments: list[str] | None = None) -> None:
    """Print one table for each number of passages."""
    for number in [int(size) for size in (sys.argv[1:] if arguments is None else arguments)] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            print(f"\n{number:,} passages, {QUERIES:,} queries, the best {MOST} of each")
            print(
                f"{'method':<16}{'build s':>9}{'queries s':>11}{'a second':>10}{'memory MB':>11}{'then MB':>9}"
                f"{'same':>8}"
            )
            for kind, make in (("dense", "make_vectors"), ("bm25", "make_texts")):
                in_own_process(f"{make}({number}, {folder!r})")
                for method in METHODS[kind]:
                    row = in_own_process(f"measure({method.__name__!r}, {folder!r}, {number})")
                    ours, theirs = (
                        np.load(f"{folder}/{one}.npy") for one in (METHODS[kind][0].__name__, method.__name__)
                    )
                    same = (ours == theirs).all(axis=1).mean()
                    print(
                        f"{method.__name__:<16}{row['build']:>9.1f}{row['queries']:>11.2f}"
                        f"{QUERIES / row['queries']:>10.0f}{row['memory']:>11.0f}{row['then']:>9.0f}{same:>8.1%}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
