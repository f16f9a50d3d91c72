"""Proposes pairs above a cosine threshold by lists around centroids, if there are too many vectors to compare all."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from flows.construct.cosine_space import TILE, Pairs, Space, Tile, joined
from schemas.errors import Failed

LEAST_RECALL: Final = 0.99
RECALL_SAMPLE: Final = 20_000
FIRST_PROBES: Final = 16
_POINTS_PER_CENTROID: Final = 40
_SAMPLED_PAIRS: Final = 1_000_000
"""Most pairs of the recall sample that are looked up: enough to know the recall to 0.0002."""
_SEED: Final = 2025
"""Seed of the centroids and the recall sample. Not a setting: it only affects speed; recall is checked."""


class LowRecallError(Failed):
    """The approximate comparison misses too many pairs."""


def centroid_lists(space: Space, most_probes: int) -> tuple[NDArray[np.int32], float]:
    """Return each row's nearest lists, nearest first, shape (rows, probes), and the recall. Raises `LowRecallError`."""
    import faiss

    number = min(round(4 * len(space) ** 0.5), len(space))
    random = np.random.default_rng(_SEED)
    points = min(len(space), number * _POINTS_PER_CENTROID)
    centroids = faiss.Kmeans(
        space.vectors.shape[1],
        number,
        niter=8,
        seed=_SEED,
        spherical=True,
        min_points_per_centroid=1,
        max_points_per_centroid=_POINTS_PER_CENTROID,
    )
    centroids.train(space.take(np.sort(random.choice(len(space), points, replace=False))))
    index = faiss.IndexFlatIP(space.vectors.shape[1])
    index.add(np.asarray(centroids.centroids, np.float32))
    sample = _sampled_pairs(space, random)
    probes = min(FIRST_PROBES, most_probes, number)
    while True:
        lists = np.concatenate([index.search(space.take(rows), probes)[1].astype(np.int32) for rows in space.tiles()])
        recall = _recall(lists, sample)
        if recall >= LEAST_RECALL:
            return lists, recall
        if probes >= min(most_probes, number):
            raise LowRecallError(
                f"the approximate comparison of {len(space)} statements finds {recall:.1%} of a sample's pairs "
                f"with {probes} of {number} lists probed, and {LEAST_RECALL:.0%} are needed; raise exact_up_to so that "
                "every pair is compared, or raise most_probes or the threshold"
            )
        probes = min(2 * probes, most_probes, number)


def _sampled_pairs(space: Space, random: np.random.Generator) -> Pairs:
    """Return the pairs of `RECALL_SAMPLE` rows with any row; above `_SAMPLED_PAIRS`, every second, fourth, ... one."""
    rows = np.sort(random.choice(len(space), min(RECALL_SAMPLE, len(space)), replace=False))
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


def proposed_pairs(space: Space, lists: NDArray[np.int32]) -> Iterator[Pairs]:
    """Yield the pairs above the threshold in which either row probes the other's list, each once, list by list."""
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
                yield pairs.where(~again & (pairs.left != pairs.right))
