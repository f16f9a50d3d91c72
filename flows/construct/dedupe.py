"""Redundancy filtering: URAQ, appendix A.2.

"Any pair of statements with a cosine similarity above 0.5 was considered near-duplicate and therefore removed."

Departure: the paper's words delete both of a pair, and with them the fact. We keep a maximal independent set:
no two survivors are above the threshold, and each statement removed is above it with a survivor.
`rule="paper"` gives the paper's words. Connected components, the other common reading, would also remove
statements that resemble no survivor. Of 4,116 facts of StrategyQA this keeps 2,425, components 1,390, and the
paper's words 904.

Who survives follows from the vectors and the ids alone. Of equal vectors the one whose id sorts first stands for
all. Then, taken by the number of their neighbours, fewest first, and by id among equals, a statement
survives unless one that survived before it is its neighbour. (Recounting the neighbours after each choice keeps
2,429 of the 4,116: too little gain for holding every pair in memory.)

Cosines are decided exactly. FAISS finds the pairs in float32; where its rounding could matter, the dot product is
taken of vectors rounded to multiples of 2^-24, which float64 holds without any rounding in whatever order it
is summed. So decisions are the same for every order of the input, number of threads and kind of
processor. Cosines are compared and given to `DECIMALS` decimals.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from flows.construct.embed import FloatMatrix
from schemas.errors import Failed

Rule = Literal["independent-set", "paper"]
Rows = NDArray[np.int64]

EXACT_UP_TO: Final = 200_000
"""Statements up to which every pair is compared; above, lists around centroids propose the pairs."""
LEAST_RECALL: Final = 0.99
RECALL_SAMPLE: Final = 20_000
FIRST_PROBES: Final = 16
MOST_PROBES: Final = 256
MOST_PAIRS: Final = 10_000_000
"""Pairs held in memory, 40 bytes each at the worst moment; with more, survivors are chosen block by block."""
DECIMALS: Final = 7
"""Decimals to which cosines are compared and reported: as many as float32 vectors carry."""

_TILE: Final = 2048
"""Rows compared with as many others at once: at most `_TILE`^2 pairs, 0.25 GB if all are above."""
_GRID: Final = 2.0**24
_POINTS_PER_CENTROID: Final = 40
_SAMPLED_PAIRS: Final = 1_000_000
"""Pairs of the recall sample that are looked up: so many give the recall to 0.0002."""
_SEED: Final = 2025
"""Of centroids and of the recall sample. Not a setting: they decide the speed, and the outcome is checked."""


class DuplicateIdsError(ValueError):
    """Several statements have one id."""


class NotUnitVectorsError(ValueError):
    """The vectors are not of unit length, or not one for each id."""


class LowRecallError(Failed):
    """Too many pairs are missed by the approximate comparison."""


@dataclass(frozen=True)
class NearDuplicate:
    """A statement that was removed, and the one it resembles.

    `related_id` is the survivor most similar to it (by the approximate comparison, of those it found), under the
    paper's rule the most similar of all other statements; of several, the one whose id sorts first.
    """

    id: str
    related_id: str
    cosine: float


@dataclass(frozen=True)
class Dedupe:
    """Survivors and near-duplicates, each sorted by id; together they are all that came in.

    `recall` is the share of the recall sample's pairs that the approximate comparison proposed, None where every
    pair was compared.
    """

    kept: tuple[str, ...]
    removed: tuple[NearDuplicate, ...]
    recall: float | None = None


def deduplicate(
    ids: Sequence[str],
    vectors: FloatMatrix,
    *,
    cosine_above: float = 0.5,
    rule: Rule = "independent-set",
    exact_up_to: int = EXACT_UP_TO,
    most_probes: int = MOST_PROBES,
    most_pairs: int = MOST_PAIRS,
) -> Dedupe:
    """Remove the near-duplicates among statements with these `ids` and unit `vectors`, shape (len(ids), dim).

    Up to `exact_up_to` statements every pair is compared. Above, pairs are proposed by 4 sqrt(n) lists around
    centroids, each statement being compared with its nearest lists: `FIRST_PROBES` of them, doubled up to
    `most_probes` until recall is `LEAST_RECALL`, measured on every pair of `RECALL_SAMPLE` statements.
    Survivors are then compared with each other exactly, and whoever lost its survivor by that is looked at again, so
    that the result is a maximal independent set all the same; missed pairs only change a statement's number of
    neighbours and whether the survivor named is the most similar one. The paper's rule compares every pair
    at any size.

    Memory beside `vectors`: the pairs of one tile, `most_pairs` pairs, and where these do not suffice or the
    comparison is approximate a copy of the survivors' vectors. No neighbour is left out: where there are more
    pairs, survivors are chosen block by block, with the same result.

    Raises `DuplicateIdsError`, `NotUnitVectorsError`, `LowRecallError`, and ValueError for a threshold outside (0, 1).
    """
    if not 0 < cosine_above < 1:
        raise ValueError(f"cosine_above is {cosine_above}; a threshold lies between 0 and 1, such as 0.5")
    _check(ids, vectors)
    by_id = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    groups = _equal_vectors(vectors, by_id)
    # From here on a statement is a row of `space`; rows ascend with the id.
    space = _Space(vectors, np.fromiter((group[0] for group in groups), np.int64, len(groups)), cosine_above)
    recall = None
    if rule == "paper":
        found = _most_similar_of_all(space, most_pairs)
    elif len(space) <= exact_up_to:
        found = _independent_set(space, _all_pairs(space), most_pairs, exact=True)
    else:
        lists, recall = _lists(space, most_probes)
        found = _independent_set(space, _proposed_pairs(space, lists), most_pairs, exact=False)
    return _unfold(ids, groups, found, rule, recall)


def _check(ids: Sequence[str], vectors: FloatMatrix) -> None:
    repeated = len(ids) - len(set(ids))
    if repeated:
        raise DuplicateIdsError(f"{repeated} of {len(ids)} ids are repetitions; fold equal records before this step")
    if vectors.ndim != 2 or len(vectors) != len(ids):
        raise NotUnitVectorsError(f"vectors have shape {vectors.shape}; give one row for each of the {len(ids)} ids")
    for start in range(0, len(ids), _TILE):
        lengths = np.linalg.norm(vectors[start : start + _TILE], axis=1)
        wrong = np.flatnonzero(~(np.abs(lengths - 1) <= 1e-5))
        if len(wrong):
            raise NotUnitVectorsError(
                f"the vector of {ids[start + wrong[0]]} has length {lengths[wrong[0]]:.6g}; divide each by its length"
            )


def _equal_vectors(vectors: FloatMatrix, by_id: Rows) -> list[list[int]]:
    """Positions that share one vector, in the order of their ids; groups in the order of their first."""
    groups: dict[bytes, list[int]] = {}
    for position in by_id.tolist():
        digest = hashlib.blake2b(vectors[position].tobytes(), digest_size=16).digest()
        groups.setdefault(digest, []).append(position)
    return list(groups.values())


@dataclass(frozen=True)
class _Removed:
    """What each removed row resembles: three arrays of one length, rows ascending, a row at most once."""

    rows: Rows
    related: Rows
    cosines: NDArray[np.float64]


def _unfold(
    ids: Sequence[str], groups: Sequence[Sequence[int]], found: _Removed, rule: Rule, recall: float | None
) -> Dedupe:
    """Give back to rows their ids, and to equal vectors the fate of the one that stood for them."""
    removed: list[NearDuplicate] = []
    kept: list[str] = []
    related = dict(
        zip(found.rows.tolist(), zip(found.related.tolist(), found.cosines.tolist(), strict=True), strict=True)
    )
    for row, (first, *others) in enumerate(groups):
        other, cosine = related.get(row, (row, 1.0))
        if rule == "paper" and others:
            removed.append(NearDuplicate(ids[first], ids[others[0]], 1.0))
            other, cosine = row, 1.0
        elif other != row:
            removed.append(NearDuplicate(ids[first], ids[groups[other][0]], cosine))
        else:
            kept.append(ids[first])
        removed += [NearDuplicate(ids[position], ids[groups[other][0]], cosine) for position in others]
    return Dedupe(tuple(kept), tuple(sorted(removed, key=lambda duplicate: duplicate.id)), recall)


@dataclass(frozen=True)
class _Pairs:
    """Pairs of rows above the threshold: three arrays of one length. Cosines are those of float32 arithmetic."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    cosines: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.left)

    def where(self, chosen: NDArray[np.bool_]) -> "_Pairs":
        return _Pairs(self.left[chosen], self.right[chosen], self.cosines[chosen])

    def every(self, stride: int) -> "_Pairs":
        return self.where(np.arange(len(self)) % stride == 0)

    def both_ways(self) -> "_Pairs":
        return _joined([self, _Pairs(self.right, self.left, self.cosines)])


def _joined(parts: Sequence[_Pairs]) -> _Pairs:
    return _Pairs(
        np.concatenate([part.left for part in parts] or [np.empty(0, np.int32)]),
        np.concatenate([part.right for part in parts] or [np.empty(0, np.int32)]),
        np.concatenate([part.cosines for part in parts] or [np.empty(0, np.float32)]),
    )


class _Space:
    """Rows of unit vectors, and what "above the threshold" means among them."""

    def __init__(self, vectors: FloatMatrix, positions: Rows, threshold: float) -> None:
        self.vectors = vectors
        self.positions = positions
        self.threshold = threshold
        dimensions = vectors.shape[1]
        # A float32 dot product of unit vectors is off by at most dim * 2^-24, in any order of summation; the grid
        # moves it by at most sqrt(dim) * 2^-24, and rounding by half of the last decimal.
        self.margin = (dimensions + dimensions**0.5) / _GRID + 10.0**-DECIMALS

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, rows: NDArray[Any]) -> FloatMatrix:
        return np.ascontiguousarray(self.vectors[self.positions[rows]], np.float32)

    def exact(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
        """Cosines of left[k] and right[k], to `DECIMALS` decimals."""
        cosines = np.empty(len(left))
        for start in range(0, len(left), _TILE):
            part = slice(start, start + _TILE)
            ours, theirs = (np.rint(self.take(rows[part]).astype(np.float64) * _GRID) for rows in (left, right))
            cosines[part] = np.einsum("ij,ij->i", ours, theirs) / _GRID**2
        return np.minimum(np.round(cosines, DECIMALS), 1.0)

    def tiles(self, rows: Rows | None = None) -> Iterator[Rows]:
        rows = np.arange(len(self)) if rows is None else rows
        for start in range(0, len(rows), _TILE):
            yield rows[start : start + _TILE]


class _Tile:
    """Rows in a FAISS index of their own."""

    def __init__(self, space: _Space, rows: Rows) -> None:
        import faiss

        self.space = space
        self.rows = rows
        self.index = faiss.IndexFlatIP(space.vectors.shape[1])
        self.index.add(space.take(rows))

    def pairs(self, rows: Rows) -> _Pairs:
        """Every pair of one of `rows` and one of the tile's that is above the threshold (a row pairs with itself)."""
        space = self.space
        ends, cosines, places = self.index.range_search(space.take(rows), space.threshold - space.margin)
        left = np.repeat(rows.astype(np.int32), (ends[1:] - ends[:-1]).astype(np.int64))
        right = self.rows.astype(np.int32)[places]
        unsure = np.flatnonzero(cosines <= space.threshold + space.margin)
        above = np.ones(len(left), np.bool_)
        above[unsure] = space.exact(left[unsure], right[unsure]) > space.threshold
        pairs = _Pairs(left, right, cosines)
        return pairs if above.all() else pairs.where(above)

    def touches(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of `rows`, none of them the tile's, have a neighbour in the tile."""
        space = self.space
        highest = self.index.search(space.take(rows), 1)[0][:, 0]
        touched: NDArray[np.bool_] = highest > space.threshold + space.margin
        unsure = rows[np.abs(highest - space.threshold) <= space.margin]
        if len(unsure):
            touched |= np.isin(rows, self.pairs(unsure).left)
        return touched


def _all_pairs(space: _Space) -> Iterator[_Pairs]:
    """Every pair above the threshold, once, tile by tile; the first of a pair is the smaller row."""
    for rows in space.tiles():
        tile = _Tile(space, rows)
        for others in space.tiles(np.arange(rows[-1] + 1)):
            pairs = tile.pairs(others)
            yield pairs.where(pairs.left < pairs.right) if others[-1] >= rows[0] else pairs


def _independent_set(space: _Space, proposed: Iterator[_Pairs], most_pairs: int, *, exact: bool) -> _Removed:
    """Who is removed, given every pair, or if not `exact` most of them."""
    neighbours = np.zeros(len(space), np.int64)
    held: list[_Pairs] = []
    total = 0
    for pairs in proposed:
        np.add.at(neighbours, pairs.left, 1)
        np.add.at(neighbours, pairs.right, 1)
        total += len(pairs)
        held.append(pairs)
        if total > most_pairs:
            held.clear()
    order = np.argsort(neighbours, kind="stable")
    nearest = _Nearest(space, most_pairs)
    survivors: list[_Tile] | None = None
    if total > most_pairs:
        survivors = _survivors(space, order, [])
        kept = _mask(space, survivors)
    else:
        pairs = _joined(held)
        held.clear()
        rank = np.empty(len(space), np.int64)
        rank[order] = np.arange(len(space))
        kept = _first_come(len(space), rank[pairs.left], rank[pairs.right])[rank]
        if not exact:
            survivors = _survivors(space, order[kept[order]], [])
            kept = _mask(space, survivors)
            covered = pairs.where(kept[pairs.left] != kept[pairs.right])
            alone = ~kept
            alone[covered.left] = alone[covered.right] = False
            survivors = _survivors(space, order[alone[order]], survivors)
            kept = _mask(space, survivors)
        pairs = pairs.where(kept[pairs.left] != kept[pairs.right])
        turned = kept[pairs.left]
        nearest.add(
            _Pairs(np.where(turned, pairs.right, pairs.left), np.where(turned, pairs.left, pairs.right), pairs.cosines)
        )
    unnamed = ~kept
    unnamed[nearest.named()] = False
    for rows in space.tiles(np.flatnonzero(unnamed)):
        for tile in survivors or ():
            nearest.add(tile.pairs(rows))
    return nearest.removed()


def _mask(space: _Space, tiles: Sequence[_Tile]) -> NDArray[np.bool_]:
    mask = np.zeros(len(space), np.bool_)
    for tile in tiles:
        mask[tile.rows] = True
    return mask


def _first_come(size: int, left: Rows, right: Rows) -> NDArray[np.bool_]:
    """Which of `size` places, taken in ascending order, survive: those that no survivor before them is paired with."""
    packed = np.minimum(left, right) << 32
    packed |= np.maximum(left, right)
    packed.sort()
    later = packed & 0xFFFFFFFF
    packed >>= 32
    earlier, starts = np.unique(packed, return_index=True)
    ends = np.append(starts, len(packed))[1:]
    survives = np.ones(size, np.bool_)
    for place, start, end in zip(earlier.tolist(), starts.tolist(), ends.tolist(), strict=True):
        if survives[place]:
            survives[later[start:end]] = False
    return survives


def _survivors(space: _Space, order: Rows, before: Sequence[_Tile]) -> list[_Tile]:
    """`before` and those rows of `order` that survive them and, first come, each other; every comparison is exact."""
    survivors = list(before)
    for block in space.tiles(order):
        rows = block
        for tile in survivors:
            rows = rows[~tile.touches(rows)] if len(rows) else rows
        if not len(rows):
            continue
        pairs = _Tile(space, rows).pairs(rows)
        pairs = pairs.where(pairs.left != pairs.right)
        place = np.zeros(len(space), np.int64)
        place[rows] = np.arange(len(rows))
        survivors.append(_Tile(space, rows[_first_come(len(rows), place[pairs.left], place[pairs.right])]))
    return survivors


class _Nearest:
    """For each row the most similar of those it is paired with; of several, the smallest row."""

    def __init__(self, space: _Space, most_pairs: int) -> None:
        self.space = space
        self.most_pairs = most_pairs
        self.highest = np.full(len(space), -np.inf, np.float32)
        self.candidates: list[_Pairs] = []

    def add(self, pairs: _Pairs) -> None:
        """Consider the pairs as the left row's."""
        np.maximum.at(self.highest, pairs.left, pairs.cosines)
        self.candidates.append(self._could_be_highest(pairs))
        if sum(map(len, self.candidates)) > self.most_pairs:
            best = self.removed()
            self.candidates = [
                _Pairs(best.rows.astype(np.int32), best.related.astype(np.int32), best.cosines.astype(np.float32))
            ]

    def _could_be_highest(self, pairs: _Pairs) -> _Pairs:
        return pairs.where(pairs.cosines >= self.highest[pairs.left] - 2 * self.space.margin)

    def named(self) -> NDArray[np.bool_]:
        """Which rows have been paired."""
        return self.highest > -np.inf

    def removed(self) -> _Removed:
        pairs = self._could_be_highest(_joined(self.candidates))
        cosines = self.space.exact(pairs.left, pairs.right)
        order = np.lexsort((pairs.right, -cosines, pairs.left))
        rows, first = np.unique(pairs.left[order], return_index=True)
        return _Removed(rows.astype(np.int64), pairs.right[order][first].astype(np.int64), cosines[order][first])


def _most_similar_of_all(space: _Space, most_pairs: int) -> _Removed:
    """The paper's words: whatever is paired is removed."""
    nearest = _Nearest(space, most_pairs)
    for pairs in _all_pairs(space):
        nearest.add(pairs.both_ways())
    return nearest.removed()


def _lists(space: _Space, most_probes: int) -> tuple[NDArray[np.int32], float]:
    """Each row's nearest lists, nearest first: shape (rows, probes), with their recall; raises `LowRecallError`."""
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


def _sampled_pairs(space: _Space, random: np.random.Generator) -> _Pairs:
    """Every pair of `RECALL_SAMPLE` rows with any row; of more than `_SAMPLED_PAIRS` about every second, fourth, ..."""
    rows = np.sort(random.choice(len(space), min(RECALL_SAMPLE, len(space)), replace=False))
    held: list[_Pairs] = []
    stride = 1
    for right in space.tiles():
        tile = _Tile(space, right)
        for left in space.tiles(rows):
            pairs = tile.pairs(left)
            pairs = pairs.where(pairs.left != pairs.right)
            held.append(pairs.every(stride))
            if sum(map(len, held)) > _SAMPLED_PAIRS:
                held = [_joined(held).every(2)]
                stride *= 2
    return _joined(held)


def _recall(lists: NDArray[np.int32], pairs: _Pairs) -> float:
    """Share of the pairs of which either row probes the other's list; 1 where there are none."""
    found = 0
    for start in range(0, len(pairs), _TILE):
        left, right = pairs.left[start : start + _TILE], pairs.right[start : start + _TILE]
        found += int(np.count_nonzero(_probed(lists, left, right) | _probed(lists, right, left)))
    return found / len(pairs) if len(pairs) else 1.0


def _probed(lists: NDArray[np.int32], rows: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether rows[k] is compared with the list that others[k] is in."""
    probed: NDArray[np.bool_] = (lists[rows] == lists[others, :1]).any(axis=1)
    return probed


def _proposed_pairs(space: _Space, lists: NDArray[np.int32]) -> Iterator[_Pairs]:
    """Pairs above the threshold of which either row probes the other's list, once, list by list."""
    probes = lists.shape[1]
    by_list = np.argsort(lists, axis=None, kind="stable")
    bounds = np.searchsorted(lists.ravel()[by_list], np.arange(lists.max() + 2))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        callers, probe = np.divmod(by_list[start:end], probes)
        for members in space.tiles(callers[probe == 0]):
            tile = _Tile(space, members)
            for rows in space.tiles(callers):
                pairs = tile.pairs(rows)
                # A pair found from both sides is counted from that of its smaller row.
                twice = pairs.where(pairs.left > pairs.right)
                again = np.zeros(len(pairs), np.bool_)
                again[pairs.left > pairs.right] = _probed(lists, twice.right, twice.left)
                yield pairs.where(~again & (pairs.left != pairs.right))
