"""Near-duplicates: ours beside semhash and sentence-transformers' paraphrase mining, on the same vectors.

    python tests/bench/bench_dedupe.py [statements ...]        (default: 20000 100000)

The vectors are made, from a fixed seed, to be like embeddings of short facts: clusters of Zipf-distributed size (many
statements alone, some subjects with hundreds), members at a different distance from their centre each, so
that within a cluster cosines lie on both sides of the threshold, and a direction that all share, as real
embeddings have. Of 4,116 facts of StrategyQA embedded with all-MiniLM-L6-v2, 59 % survive at 0.5 and a fact has 2.2
neighbours; the table states both for the vectors made.

Each method runs in a process of its own, on vectors read from a file, after a small run that loads its libraries.
"wall" is the time of the call; "memory" the growth of the process's peak resident memory over what it was just before,
with the vectors in place. Beside ours, semhash keeps of each group that it links one statement by its own rule
(its index is approximate), and paraphrase mining lists pairs only, at most 500,000 of them and 100 a
statement; both are given their defaults.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
THRESHOLD = 0.5
SIZES = (20_000, 100_000)
WARM_UP = 1_000
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


def ours(vectors: NDArray[np.float32]) -> int:
    from flows.construct.dedupe import deduplicate

    return len(deduplicate([f"{row:08d}" for row in range(len(vectors))], vectors, cosine_above=THRESHOLD).kept)


def semhash(vectors: NDArray[np.float32]) -> int:
    from semhash import SemHash

    class Unused:
        def encode(self, *_: object, **__: object) -> NDArray[np.float32]:
            raise AssertionError("the vectors are given")

    records = [f"{row:08d}" for row in range(len(vectors))]
    index = SemHash.from_embeddings(vectors, records, model=Unused())
    return len(index.self_deduplicate(threshold=THRESHOLD).selected)


def paraphrase_mining(vectors: NDArray[np.float32]) -> int:
    import torch
    from sentence_transformers.util import paraphrase_mining_embeddings

    return sum(pair[0] > THRESHOLD for pair in paraphrase_mining_embeddings(torch.from_numpy(vectors)))


RUN: dict[str, Callable[[NDArray[np.float32]], int]] = {
    "ours": ours,
    "semhash": semhash,
    "paraphrase_mining": paraphrase_mining,
}


def measure(method: str, file: str) -> dict[str, float]:
    """One method in this process: seconds, MB and what it counts (survivors, or pairs)."""
    vectors = np.load(file)
    RUN[method](vectors[:WARM_UP].copy())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    counted = RUN[method](vectors)
    seconds = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"seconds": seconds, "megabytes": grown, "counted": counted}


def neighbours_of_some(vectors: NDArray[np.float32]) -> tuple[float, int]:
    """Neighbours of the first 1,000 statements: their mean and largest number."""
    neighbours = np.concatenate(
        [(vectors[s : s + 100] @ vectors.T > THRESHOLD).sum(axis=1) - 1 for s in range(0, 1000, 100)]
    )
    return float(neighbours.mean()), int(neighbours.max())


def in_own_process(call: str) -> dict[str, float]:
    """The result of a call of this module, from a fresh interpreter: a child's peak memory starts at its parent's."""
    here = Path(__file__).resolve().parent
    path = {"PYTHONPATH": f"{here.parents[1]}{os.pathsep}{here}"}
    code = f"import json, bench_dedupe; print(json.dumps(bench_dedupe.{call}))"
    run = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, env={**os.environ, **path})
    figures: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
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
            print(
                f"\n{number:,} statements, {DIMENSIONS} dimensions, cosine above {THRESHOLD}; of 1,000 of them "
                f"the mean number of neighbours is {made['mean']:.1f}, the largest {made['largest']:,}"
            )
            print(f"{'method':<20}{'wall s':>10}{'memory MB':>12}{'result':>18}{'ours/it: wall':>16}{'memory':>9}")
            figures: dict[str, dict[str, float]] = {}
            for method in RUN:
                figures[method] = row = in_own_process(f"measure({method!r}, {file!r})")
                result = f"{row['counted']:,} {'pairs' if method == 'paraphrase_mining' else 'kept'}"
                wall, memory = (figures["ours"][of] / max(row[of], 1e-3) for of in ("seconds", "megabytes"))
                print(
                    f"{method:<20}{row['seconds']:>10.2f}{row['megabytes']:>12.0f}{result:>18}{wall:>16.2f}{memory:>9.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
