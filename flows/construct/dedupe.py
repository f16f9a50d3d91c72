"""Redundancy filtering: URAQ, appendix A.2.

"Any pair of statements with a cosine similarity above 0.5 was considered near-duplicate and therefore removed."

Departure: the paper's words delete both of a pair, and with them the fact. We keep a maximal independent set:
no two survivors are above the threshold, and each statement removed is above it with a survivor.
`rule="paper"` gives the paper's words. Connected components, the other common reading, would also remove
statements that resemble no survivor. Of 4,116 facts of StrategyQA this keeps 2,425, components 1,390, and the
paper's words 904.

The survivors depend on the vectors and the ids alone. Of equal vectors, the one whose id sorts first represents all.
Statements are then taken by their number of neighbours, fewest first, and by id among equals; a statement survives
unless a neighbour survived before it. Those that came with an earlier release are taken first, and only neighbours that
came no later count, so that no statement is displaced by one that is added. (Recounting the neighbours after each
choice keeps 2,429 of the 4,116: too little gain for holding every pair in memory.)

Cosines are decided exactly (`flows/construct/cosine_space.py`).
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from flows.construct.centroid_lists import centroid_lists, proposed_pairs
from flows.construct.cosine_space import TILE, Pairs, Rows, Space, Tile, all_pairs, joined
from flows.construct.embed import FloatMatrix

Rule = Literal["independent-set", "paper"]

EXACT_UP_TO: Final = 200_000
"""Most statements for which every pair is compared; above, lists around centroids propose the pairs."""
MOST_PROBES: Final = 256
MOST_PAIRS: Final = 10_000_000
"""Most pairs held in memory, at up to 40 bytes each; if there are more, survivors are chosen block by block."""


@dataclass(frozen=True)
class NearDuplicate:
    """A statement that was removed, and the statement it resembles.

    `related_id` is the survivor most similar to it (by the approximate comparison, of those it found), under the
    paper's rule the most similar of all other statements; of several, the one whose id sorts first.
    """

    id: str
    related_id: str
    cosine: float


@dataclass(frozen=True)
class Dedupe:
    """Survivors and near-duplicates, each sorted by id; together they are all that came in.

    `recall` is the share of the recall sample's pairs that the approximate comparison proposed, None if every
    pair was compared.
    """

    kept: tuple[str, ...]
    removed: tuple[NearDuplicate, ...]
    recall: float | None = None


def deduplicate(
    ids: Sequence[str],
    vectors: FloatMatrix,
    *,
    arrivals: Sequence[int] | None = None,
    cosine_above: float = 0.5,
    rule: Rule = "independent-set",
    exact_up_to: int = EXACT_UP_TO,
    most_probes: int = MOST_PROBES,
    most_pairs: int = MOST_PAIRS,
) -> Dedupe:
    """Remove the near-duplicates among statements with these `ids` and unit `vectors`, shape (len(ids), dim).

    `arrivals` are the numbers of the releases with which they came; by default all came together.

    Up to `exact_up_to` statements every pair is compared. Above, 4 sqrt(n) lists around centroids propose the pairs
    (`flows/construct/centroid_lists.py`). Each statement is compared with its nearest lists: `FIRST_PROBES` of them,
    doubled up to `most_probes` until recall is `LEAST_RECALL`, measured on all pairs of a sample. Survivors are
    then compared with each other exactly, and statements whose survivor is removed by this are considered again, so the
    result is still a maximal independent set. Missed pairs only affect a statement's number of neighbours, and whether
    the survivor named is the most similar one. The paper's rule compares every pair at any size.

    Above the limit, too, no statement is displaced by a later one: the releases that fit `exact_up_to` are compared
    exactly, and the centroids are those of the release that passes it and of all before. Two exceptions can reorder
    earlier statements: the recall falls below `LEAST_RECALL`, so that more lists are probed; and the pairs pass
    `most_pairs`.

    Memory, in addition to `vectors`: the pairs of one tile, `most_pairs` pairs, and if the comparison is approximate 4
    bytes for each statement and probe. If there are more pairs, all count as neighbours. Survivors are then chosen
    block by block if every pair was compared, with the same result; by lists, they are chosen first by those pairs of
    each statement that decide most likely, and the lists are compared three times. Time: the comparison of survivors
    grows with the square of their number (`flows/construct/centroid_lists.py` says why).

    Raises `Failed` if the recall stays low, and ValueError for repeated ids, vectors that are not of unit length or not
    one for each id, and a threshold outside (0, 1).
    """
    if not 0 < cosine_above < 1:
        raise ValueError(f"cosine_above is {cosine_above}; a threshold lies between 0 and 1, such as 0.5")
    _check(ids, vectors)
    came = np.ones(len(ids), np.int64) if arrivals is None else np.array(arrivals, np.int64)
    order = np.array(sorted(range(len(ids)), key=lambda place: (came[place], ids[place])), np.int64)
    groups = _equal_vectors(vectors, order)
    # From here on a statement is a row of `space`; rows ascend with the release, then with the id.
    firsts = np.fromiter((group[0] for group in groups), np.int64, len(groups))
    space, came = Space(vectors, firsts, cosine_above), came[firsts]
    recall = None
    if rule == "paper":
        removed = _most_similar_of_all(space, most_pairs)
    elif len(space) <= exact_up_to:
        removed = _independent_set(space, came, lambda: all_pairs(space), most_pairs, exact=True)
    else:
        ends = np.flatnonzero(np.diff(came, append=came[-1] + 1)) + 1  # the rows of each release and those before it
        exact = int(ends[ends <= exact_up_to].max(initial=0))
        lists, recall = centroid_lists(space, int(ends[ends > exact].min()), most_probes)
        removed = _independent_set(space, came, lambda: proposed_pairs(space, lists, exact), most_pairs, exact=False)
    return _unfold(ids, groups, removed, rule, recall)


def _check(ids: Sequence[str], vectors: FloatMatrix) -> None:
    repeated = len(ids) - len(set(ids))
    if repeated:
        raise ValueError(f"{repeated} of {len(ids)} ids are repetitions; fold equal records before this step")
    if vectors.ndim != 2 or len(vectors) != len(ids):
        raise ValueError(f"vectors have shape {vectors.shape}; give one row for each of the {len(ids)} ids")
    for start in range(0, len(ids), TILE):
        lengths = np.linalg.norm(vectors[start : start + TILE], axis=1)
        wrong = np.flatnonzero(~(np.abs(lengths - 1) <= 1e-5))
        if len(wrong):
            raise ValueError(
                f"the vector of {ids[start + wrong[0]]} has length {lengths[wrong[0]]:.6g}; divide each by its length"
            )


def _equal_vectors(vectors: FloatMatrix, order: Rows) -> list[list[int]]:
    """Return groups of positions with equal vectors: in order within a group, and by their first between groups."""
    groups: dict[bytes, list[int]] = {}
    for position in order.tolist():
        digest = hashlib.blake2b(vectors[position].tobytes(), digest_size=16).digest()
        groups.setdefault(digest, []).append(position)
    return list(groups.values())


@dataclass(frozen=True)
class Removed:
    """The row that each removed row resembles: three arrays of equal length, rows ascending, a row at most once."""

    rows: Rows
    related: Rows
    cosines: NDArray[np.float64]


def _unfold(
    ids: Sequence[str], groups: Sequence[Sequence[int]], removed_rows: Removed, rule: Rule, recall: float | None
) -> Dedupe:
    """Turn rows back into ids; equal vectors share the outcome of the row that represents them."""
    removed: list[NearDuplicate] = []
    kept: list[str] = []
    related = dict(
        zip(
            removed_rows.rows.tolist(),
            zip(removed_rows.related.tolist(), removed_rows.cosines.tolist(), strict=True),
            strict=True,
        )
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


def _independent_set(
    space: Space, came: Rows, propose: Callable[[], Iterator[Pairs]], most_pairs: int, *, exact: bool
) -> Removed:
    """Return the removed rows; `came` is the release of each row.

    `propose` yields all pairs, or most of them if not `exact`, in the same order at each call.
    """
    neighbours = np.zeros(len(space), np.int64)
    held: list[Pairs] = []
    total = 0
    for pairs in propose():
        np.add.at(neighbours, pairs.left, came[pairs.right] <= came[pairs.left])
        np.add.at(neighbours, pairs.right, came[pairs.left] <= came[pairs.right])
        total += len(pairs)
        held.append(pairs)
        if total > most_pairs:
            held.clear()
    order = np.lexsort((neighbours, came))
    rank = np.empty(len(space), np.int64)
    rank[order] = np.arange(len(space))
    deciding: Pairs | None
    naming: Iterable[Pairs]
    if total <= most_pairs:
        deciding = joined(held)
        naming = [deciding]
    elif exact:
        deciding, naming = None, []
    else:
        deciding, naming = _first_neighbours(propose(), rank, most_pairs), propose()
    held.clear()
    if deciding is None:
        kept = _mask(space, _survivors(space, order, []))
    else:
        kept = _first_come(len(space), rank[deciding.left], rank[deciding.right])[rank]
        if not exact:
            kept = _compared(space, order, came, kept, deciding)
    nearest = _Nearest(space, most_pairs)
    for pairs in naming:
        between = pairs.where(kept[pairs.left] != kept[pairs.right])
        nearest.add(between.turned(kept[between.left]))
    unnamed = ~kept
    unnamed[nearest.named()] = False
    for rows in space.tiles(np.flatnonzero(unnamed)):
        for members in space.tiles(np.flatnonzero(kept)):
            nearest.add(Tile(space, members).pairs(rows))
    return nearest.removed()


def _first_neighbours(proposed: Iterable[Pairs], rank: Rows, most_pairs: int) -> Pairs:
    """Return of each row the pairs with those neighbours that are taken first, as many as fit `most_pairs`, or one.

    These are the neighbours most likely to survive, and so to remove the row without a comparison.
    """
    each = max(1, most_pairs // (2 * len(rank)))
    last = np.full(len(rank), len(rank))  # the rank beyond which a neighbour is not among the row's first
    held = joined([])
    waiting: list[Pairs] = []
    for pairs in proposed:
        later = pairs.turned(rank[pairs.left] < rank[pairs.right])
        waiting.append(later.where(rank[later.right] <= last[later.left]))
        if sum(map(len, waiting)) > max(most_pairs // 2, len(rank)):
            held, place = _first_of_each(joined([held, *waiting]), rank, each)
            waiting.clear()
            filled = place == each - 1
            last[held.left[filled]] = rank[held.right[filled]]
    return _first_of_each(joined([held, *waiting]), rank, each)[0]


def _first_of_each(pairs: Pairs, rank: Rows, each: int) -> tuple[Pairs, Rows]:
    """Return the pairs of each left row with its first `each` right rows, and the place of each, from 0."""
    by_row = np.lexsort((rank[pairs.right], pairs.left))
    starts = np.flatnonzero(np.diff(pairs.left[by_row], prepend=-1))
    place = np.empty(len(pairs), np.int64)
    place[by_row] = np.arange(len(pairs)) - np.repeat(starts, np.diff(starts, append=len(pairs)))
    return pairs.where(place < each), place[place < each]


def _compared(space: Space, order: Rows, came: Rows, proposed: NDArray[np.bool_], pairs: Pairs) -> NDArray[np.bool_]:
    """Return a mask of the survivors, given the rows that survive by the proposed pairs.

    Release by release, these are compared with each other and all earlier survivors, and so are then the rows that
    have no survivor among their pairs any more. What comes later changes nothing in this.
    """
    survivors: list[Rows] = []
    for rows in np.split(order, np.flatnonzero(np.diff(came[order])) + 1):
        survivors = _survivors(space, rows[proposed[rows]], survivors)
        kept = _mask(space, survivors)
        covered = pairs.where(kept[pairs.left] != kept[pairs.right])
        alone = ~kept
        alone[covered.left] = alone[covered.right] = False
        survivors = _survivors(space, rows[alone[rows]], survivors)
    return _mask(space, survivors)


def _mask(space: Space, tiles: Sequence[Rows]) -> NDArray[np.bool_]:
    mask = np.zeros(len(space), np.bool_)
    for rows in tiles:
        mask[rows] = True
    return mask


def _first_come(size: int, left: Rows, right: Rows) -> NDArray[np.bool_]:
    """Return a mask of `size` places: in ascending order, each survives unless paired with an earlier survivor."""
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


def _survivors(space: Space, order: Rows, before: Sequence[Rows]) -> list[Rows]:
    """Return `before` and, in tiles, those rows of `order` that have no neighbour in it or among earlier survivors.

    Every comparison is exact.
    """
    survivors = list(before)
    for block in space.tiles(order):
        rows = block
        for members in survivors:
            rows = rows[~Tile(space, members).touches(rows)] if len(rows) else rows
        if not len(rows):
            continue
        pairs = Tile(space, rows).pairs(rows)
        pairs = pairs.where(pairs.left != pairs.right)
        place = np.zeros(len(space), np.int64)
        place[rows] = np.arange(len(rows))
        survivors.append(rows[_first_come(len(rows), place[pairs.left], place[pairs.right])])
    return survivors


class _Nearest:
    """Finds, for each row, the most similar row that it is paired with; of several, the smallest."""

    def __init__(self, space: Space, most_pairs: int) -> None:
        self.space = space
        self.most_pairs = most_pairs
        self.highest = np.full(len(space), -np.inf, np.float32)
        self.candidates: list[Pairs] = []

    def add(self, pairs: Pairs) -> None:
        """Consider the pairs for their left rows."""
        np.maximum.at(self.highest, pairs.left, pairs.cosines)
        self.candidates.append(self._could_be_highest(pairs))
        if sum(map(len, self.candidates)) > self.most_pairs:
            best = self.removed()
            self.candidates = [
                Pairs(best.rows.astype(np.int32), best.related.astype(np.int32), best.cosines.astype(np.float32))
            ]

    def _could_be_highest(self, pairs: Pairs) -> Pairs:
        return pairs.where(pairs.cosines >= self.highest[pairs.left] - 2 * self.space.margin)

    def named(self) -> NDArray[np.bool_]:
        """Return a mask of the rows that have been paired."""
        return self.highest > -np.inf

    def removed(self) -> Removed:
        pairs = self._could_be_highest(joined(self.candidates))
        cosines = self.space.exact(pairs.left, pairs.right)
        order = np.lexsort((pairs.right, -cosines, pairs.left))
        rows, first = np.unique(pairs.left[order], return_index=True)
        return Removed(rows.astype(np.int64), pairs.right[order][first].astype(np.int64), cosines[order][first])


def _most_similar_of_all(space: Space, most_pairs: int) -> Removed:
    """Remove every row that is paired, as the paper's words say."""
    nearest = _Nearest(space, most_pairs)
    for pairs in all_pairs(space):
        nearest.add(pairs.both_ways())
    return nearest.removed()
