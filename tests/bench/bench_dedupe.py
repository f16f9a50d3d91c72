"""Near-duplicates: ours, with every pair compared and by lists, beside semhash, on the same vectors.

    python tests/bench/bench_dedupe.py [statements ...]        (default: 20000 100000)

The vectors are made, from a fixed seed, to be like embeddings of short facts: clusters of Zipf-distributed size (many
statements alone, some subjects with hundreds), members at a different distance from their centre each, so
that within a cluster cosines lie on both sides of the threshold, and a direction that all share, as real
embeddings have. Of 4,116 facts of StrategyQA embedded with all-MiniLM-L6-v2, 59 % survive at 0.5 and a fact has 2.2
neighbours; the table states both for the vectors made.

Three methods: "exact" compares every pair; "lists" is what is used above `EXACT_UP_TO` statements, where lists around
centroids propose the pairs and survivors are compared exactly; semhash keeps of each group that it links one statement
by its own rule, with an approximate index and its defaults.

Of more than `WHOLE_UP_TO` statements, "exact" finds the pairs of every twentieth tile alone, chooses no survivors, and
its seconds are those of the tiles by the share of all pairs that they have; semhash is stopped once it has taken as
long as "lists".

Each runs in a process of its own, on vectors mapped from a file, after a small run that loads its libraries. "seconds"
are processor time. "memory" is the growth of the process's own memory (not of mapped pages, which the
system can take back) over what it was just before, at its highest, looked at every 20 ms. "recall" is the share of a
sample's pairs that were proposed, as the product states it. "still near" is the share of 1,000 statements kept that
have another one kept above the threshold.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
THRESHOLD = 0.5
SIZES = (20_000, 100_000)
WARM_UP = 1_000
WHOLE_UP_TO = 200_000
TILES_SAMPLED = 20  # one in as many
SHARED_DIRECTION = 0.03  # mean cosine of unrelated statements


def statements_like(number: int, seed: int = 7) -> NDArray[np.float32]:
    """Unit vectors in clusters, shape (number, DIMENSIONS), in random order."""
    random = np.random.default_rng(seed)
    sizes = np.minimum(random.zipf(2.3, number), number // 100)
    clusters = np.repeat(np.arange(number), sizes)[:number]
    closeness = random.uniform(0.1, 0.85, number)  # squared cosine between a member and its centre
    shared = _unit(random.standard_normal((1, DIMENSIONS)))
    centres = _unit(random.standard_normal((clusters[-1] + 1, DIMENSIONS), np.float32))
    order = random.permutation(number)
    vectors = np.empty((number, DIMENSIONS), np.float32)
    for start in range(0, number, 4096):
        rows = order[start : start + 4096]
        near = closeness[rows, None]
        own = _unit(random.standard_normal((len(rows), DIMENSIONS), np.float32))
        specific = _unit(np.sqrt(near) * centres[clusters[rows]] + np.sqrt(1 - near) * own)
        vectors[start : start + len(rows)] = _unit(
            np.sqrt(SHARED_DIRECTION) * shared + np.sqrt(1 - SHARED_DIRECTION) * specific
        )
    return vectors


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Result:
    """The rows that are kept, the recall if it is known, and the share of all pairs that were compared for it."""

    kept: list[int]
    recall: float | None = None
    share: float = 1.0


def exact(vectors: NDArray[np.float32]) -> Result:
    return _ours(vectors, exact_up_to=len(vectors)) if len(vectors) <= WHOLE_UP_TO else _some_tiles(vectors)


def _some_tiles(vectors: NDArray[np.float32]) -> Result:
    from flows.construct.cosine_space import Space, Tile

    space = Space(vectors, np.arange(len(vectors)), THRESHOLD)
    compared = 0
    for rows in list(space.tiles())[TILES_SAMPLED // 2 :: TILES_SAMPLED]:
        tile = Tile(space, rows)
        for others in space.tiles(np.arange(rows[-1] + 1)):
            tile.pairs(others)
            compared += len(rows) * len(others)
    return Result([], share=compared / (len(vectors) ** 2 / 2))


def lists(vectors: NDArray[np.float32]) -> Result:
    return _ours(vectors, exact_up_to=1)


def _ours(vectors: NDArray[np.float32], exact_up_to: int) -> Result:
    import torch  # noqa: F401  (an embedder has loaded it)

    from flows.construct.dedupe import deduplicate

    ids = [f"{row:08d}" for row in range(len(vectors))]
    result = deduplicate(ids, vectors, cosine_above=THRESHOLD, exact_up_to=exact_up_to)
    return Result(list(map(int, result.kept)), result.recall)


def semhash(vectors: NDArray[np.float32]) -> Result:
    try:
        from semhash import SemHash
    except ImportError as error:
        raise SystemExit('bench_dedupe: semhash is not installed; run `pip install -e ".[dev]"`') from error

    class Unused:
        def encode(self, *_: object, **__: object) -> NDArray[np.float32]:
            raise AssertionError("the vectors are given")

    records = [f"{row:08d}" for row in range(len(vectors))]
    index = SemHash.from_embeddings(vectors, records, model=Unused())
    return Result(list(map(int, index.self_deduplicate(threshold=THRESHOLD).selected)))


RUN: dict[str, Callable[[NDArray[np.float32]], Result]] = {"exact": exact, "lists": lists, "semhash": semhash}


class OwnMemory:
    """The highest growth of this process's anonymous memory inside a `with` block, in MB."""

    def __enter__(self) -> "OwnMemory":
        self.before = self.highest = _anonymous()
        self.ended = threading.Event()
        self.watching = threading.Thread(target=self._watch)
        self.watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.watching.join()
        self.megabytes = (self.highest - self.before) / 1024

    def growth(self) -> float:
        """The growth now."""
        return (_anonymous() - self.before) / 1024

    def _watch(self) -> None:
        while not self.ended.wait(0.02):
            self.highest = max(self.highest, _anonymous())


def _anonymous() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def measure(method: str, file: str) -> dict[str, float | None]:
    """One method in this process."""
    vectors = np.load(file, mmap_mode="r").view(np.ndarray)
    RUN[method](vectors[:WARM_UP].copy())
    started = time.process_time()
    with OwnMemory() as memory:
        result = RUN[method](vectors)
    seconds = time.process_time() - started
    survivors = vectors[result.kept]
    some = range(0, len(survivors), max(1, len(survivors) // 1000))
    near = [np.count_nonzero(survivors @ survivors[place] > THRESHOLD + 1e-5) > 1 for place in some]
    return {
        "seconds": seconds / result.share,
        "share": result.share,
        "megabytes": memory.megabytes,
        "kept": len(survivors),
        "recall": result.recall,
        "near": float(np.mean(near)) if near else None,
    }


def in_own_process(call: str, most_s: int | None = None) -> dict[str, Any] | None:
    """The result of a call of this module, from a fresh interpreter: a child's peak memory starts at its parent's.

    None if the process was stopped, because it had taken `most_s` seconds of processor time.
    """
    here = Path(__file__).resolve().parent
    path = {"PYTHONPATH": f"{here.parents[1]}{os.pathsep}{here}"}
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, ({most_s}, {most_s})); " if most_s else ""
    code = f"{limit}import json, bench_dedupe; print(json.dumps(bench_dedupe.{call}))"
    run = subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.PIPE, env={**os.environ, **path})
    if most_s and run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    run.check_returncode()
    figures: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return figures


def make(number: int, file: str) -> dict[str, float]:
    """Write the vectors; the mean and the largest number of neighbours of the first 1,000."""
    vectors = statements_like(number)
    np.save(file, vectors)
    some = [np.count_nonzero(vectors[at : at + 100] @ vectors.T > THRESHOLD, axis=1) - 1 for at in range(0, 1000, 100)]
    return {"mean": float(np.mean(some)), "largest": int(np.max(some))}


def main(arguments: list[str] | None = None) -> None:
    """Print one table for each number of statements."""
    for number in [int(size) for size in (sys.argv[1:] if arguments is None else arguments)] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "vectors.npy")
            made = in_own_process(f"make({number}, {file!r})")
            assert made is not None
            print(
                f"\n{number:,} statements, {DIMENSIONS} dimensions, cosine above {THRESHOLD}; of 1,000 of them "
                f"the mean number of neighbours is {made['mean']:.1f}, the largest {made['largest']:,}"
            )
            print(f"{'method':<10}{'seconds':>10}{'memory MB':>12}{'kept':>12}{'recall':>9}{'still near':>12}")
            most_s = None
            for method in RUN:
                row = in_own_process(f"measure({method!r}, {file!r})", most_s if method == "semhash" else None)
                print(f"{method:<10}{most_s:>10.1f} and not ready" if row is None else _line(method, row), flush=True)
                if row is not None and method == "lists" and number > WHOLE_UP_TO:
                    most_s = int(row["seconds"])


def _line(method: str, row: dict[str, Any]) -> str:
    figures = f"{method:<10}{row['seconds']:>10.1f}{row['megabytes']:>12.0f}"
    if row["share"] < 1:
        return f"{figures}   (of {row['share']:.1%} of the pairs)"
    recall = "" if row["recall"] is None else f"{row['recall']:.4f}"
    return f"{figures}{row['kept']:>12,}{recall:>9}{row['near']:>12.3f}"


if __name__ == "__main__":
    main()
