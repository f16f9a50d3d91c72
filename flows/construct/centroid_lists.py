"""Pairs of unit vectors that lists around centroids propose, where there are too many to compare all.

The centroids, and which of them are nearest, are decided exactly, as the cosines are: any machine and any number of
threads propose the same pairs. They depend on the first rows alone, so that rows which are added propose no other
pair of earlier ones, unless the recall falls and more lists have to be compared.

Why not an index of FAISS: of 100,000 vectors like embeddings (`tests/bench/bench_dedupe.py`), an IVF index with as many
lists and probes takes as much processor time (20 s) and a copy of the vectors, and finds 99.4 % of the pairs where
these lists find 99.7 %, since a pair is proposed from either side; nothing promises that its centroids are the same
on another machine. To build an HNSW graph takes 34 s, and the graph depends on the order in which threads add to it.

Why the lists do not also say which survivors to compare. The triangle inequality rules out a list that is 60 degrees
further from a statement than its radius, at a threshold of 0.5. Of 9,003 embedded facts, claims and sentences, nine
lists in ten have radii of 60 to 72 degrees, and it rules out none. Nor do more probes suffice: of the pairs that 16
probes leave among the survivors of 50,000 and of 150,000 vectors like embeddings, 256 of 894 lists and 512 of 1,549
find 99.6 and 99.7 %: with so large a share of the lists, the time would grow with the square as well.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from flows.construct.cosine_space import TILE, Pairs, Space, Tile, all_pairs, joined, on_grid, rounding_margin
from flows.construct.embed import FloatMatrix
from schemas.errors import Failed

LEAST_RECALL: Final = 0.99
RECALL_SAMPLE: Final = 5_000
FIRST_PROBES: Final = 16
_POINTS_PER_CENTROID: Final = 40
_ITERATIONS: Final = 4
_SAMPLED_PAIRS: Final = 1_000_000
"""Most pairs of the recall sample that are looked up: enough to know the recall to 0.0002."""
_UNSURE: Final = 256
"""Vectors whose nearest centroids are decided exactly at once."""
_SEED: Final = 2025
"""Seed of the centroids and the recall sample. Not a setting: it only affects speed; recall is checked."""


class _Centroids:
    """Unit vectors, of which the nearest to others are found exactly."""

    def __init__(self, vectors: FloatMatrix) -> None:
        import faiss

        self.index = faiss.IndexFlatIP(vectors.shape[1])
        self.index.add(vectors)
        self.exact = on_grid(vectors)
        self.margin = 2 * rounding_margin(vectors.shape[1])

    def nearest(self, vectors: FloatMatrix, most: int) -> NDArray[np.int32]:
        """Return the `most` nearest centroids of each vector: the set is exact, and so is the first of them.

        Of centroids that are equally near, the first ones count.
        """
        cosines, places = self.index.search(vectors, min(most + 1, len(self.exact)))
        nearest = places[:, :most].astype(np.int32)
        gaps = cosines[:, :-1] - cosines[:, 1:]
        deciding = gaps[:, [gap for gap in (0, most - 1) if gap < gaps.shape[1]]]
        unsure = np.flatnonzero((deciding <= self.margin).any(axis=1))
        for start in range(0, len(unsure), _UNSURE):
            rows = unsure[start : start + _UNSURE]
            exact = on_grid(vectors[rows]) @ self.exact.T
            nearest[rows] = np.argsort(-exact, axis=1, kind="stable")[:, :most]
        return nearest


def _trained(points: FloatMatrix, number: int) -> FloatMatrix:
    """Return the centroids of `number` clusters of points: spherical k-means, the same on any machine.

    Sums of vectors on the grid are exact in float64; so is a length, once the sum is rounded to 16 bits.
    """
    centroids: FloatMatrix = points[np.linspace(0, len(points) - 1, number).astype(np.int64)]
    for _ in range(_ITERATIONS):
        index = _Centroids(centroids)
        tiles = range(0, len(points), TILE)
        nearest = np.concatenate([index.nearest(points[start : start + TILE], 1)[:, 0] for start in tiles])
        order = np.argsort(nearest, kind="stable")
        used, starts = np.unique(nearest[order], return_index=True)
        for centroid, members in zip(used.tolist(), np.split(order, starts[1:]), strict=True):
            total = on_grid(points[members]).sum(axis=0)
            if total.any():
                direction = np.rint(total / np.abs(total).max() * 2.0**16)
                centroids[centroid] = direction / np.sqrt((direction * direction).sum())
    return centroids


def centroid_lists(space: Space, base: int, most_probes: int) -> tuple[NDArray[np.int32], float]:
    """Return each row's nearest lists, the nearest first, shape (rows, probes), and the recall.

    The centroids are those of the first `base` rows. As many lists are probed as give a recall of `LEAST_RECALL` among
    these rows and among all. Raises `Failed` if the recall stays low.
    """
    number = min(round(4 * base**0.5), base)
    random = np.random.default_rng(_SEED)
    points = np.sort(random.choice(base, min(base, number * _POINTS_PER_CENTROID), replace=False))
    centroids = _Centroids(_trained(space.take(points), number))
    sample = _sampled_pairs(space, base, random)
    of_base = sample.where((sample.left < base) & (sample.right < base))
    probes = min(FIRST_PROBES, most_probes, number)
    while True:
        lists = np.empty((len(space), probes), np.int32)
        for rows in space.tiles():
            lists[rows] = centroids.nearest(space.take(rows), probes)
        recall = _recall(lists, sample)
        if min(recall, _recall(lists, of_base)) >= LEAST_RECALL:
            return lists, recall
        if probes >= min(most_probes, number):
            raise Failed(
                f"the approximate comparison of {len(space)} statements finds {recall:.1%} of a sample's pairs "
                f"with {probes} of {number} lists probed, and {LEAST_RECALL:.0%} are needed; raise exact_up_to so that "
                "every pair is compared, or raise most_probes or the threshold"
            )
        probes = min(2 * probes, most_probes, number)


def _sampled_pairs(space: Space, base: int, random: np.random.Generator) -> Pairs:
    """Return the pairs of `RECALL_SAMPLE` rows of the base, and as many later ones, with any row.

    Above `_SAMPLED_PAIRS`, every second, fourth, ... one.
    """
    drawn = [
        first + random.choice(size, min(RECALL_SAMPLE, size), replace=False)
        for first, size in ((0, base), (base, len(space) - base))
        if size
    ]
    rows = np.sort(np.concatenate(drawn))
    held: list[Pairs] = []
    stride = 1
    for right in space.tiles():
        tile = Tile(space, right)
        for left in space.tiles(rows):
            pairs = tile.pairs(left)
            pairs = pairs.where(pairs.left != pairs.right)
            held.append(pairs.every(stride))
            if sum(map(len, held)) > _SAMPLED_PAIRS:
                held = [joined(held).every(2)]
                stride *= 2
    return joined(held)


def _recall(lists: NDArray[np.int32], pairs: Pairs) -> float:
    """Return the share of pairs in which either row probes the other's list; 1 if there are no pairs."""
    proposed = 0
    for start in range(0, len(pairs), TILE):
        left, right = pairs.left[start : start + TILE], pairs.right[start : start + TILE]
        proposed += int(np.count_nonzero(_probed(lists, left, right) | _probed(lists, right, left)))
    return proposed / len(pairs) if len(pairs) else 1.0


def _probed(lists: NDArray[np.int32], rows: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask: True if rows[k] is compared with the list that others[k] is in."""
    probed: NDArray[np.bool_] = (lists[rows] == lists[others, :1]).any(axis=1)
    return probed


def proposed_pairs(space: Space, lists: NDArray[np.int32], exact: int) -> Iterator[Pairs]:
    """Yield the pairs above the threshold in which either row probes the other's list, each once, list by list.

    Of the first `exact` rows, yield every pair above the threshold.
    """
    yield from all_pairs(space, exact)
    probes = lists.shape[1]
    by_list = np.argsort(lists, axis=None, kind="stable")
    bounds = np.searchsorted(lists.ravel()[by_list], np.arange(lists.max() + 2))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        callers, probe = np.divmod(by_list[start:end], probes)
        for members in space.tiles(callers[probe == 0]):
            tile = Tile(space, members)
            for rows in space.tiles(callers):
                pairs = tile.pairs(rows)
                # A pair found from both sides counts once, from the side of its smaller row.
                twice = pairs.where(pairs.left > pairs.right)
                again = np.zeros(len(pairs), np.bool_)
                again[pairs.left > pairs.right] = _probed(lists, twice.right, twice.left)
                known = (pairs.left < exact) & (pairs.right < exact)
                yield pairs.where(~again & ~known & (pairs.left != pairs.right))
