"""Pairs of unit vectors above a cosine threshold, decided exactly.

FAISS finds the pairs in float32. Where its rounding could matter, the vectors are rounded to multiples of 2^-24, whose
dot product float64 holds exactly, in any order of summation. Decisions are therefore the same for every order of the
input, number of threads and kind of processor. Cosines are compared and reported to `DECIMALS`
decimals.

A processor that multiplies numbers of 16 bits does so first, which takes a quarter of the time, and FAISS is given only
rows that may then have a neighbour. None is lost: `ROUGH_MARGIN` bounds the difference.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from flows.construct.embed import FloatMatrix

if TYPE_CHECKING:
    import faiss
    import torch

Rows = NDArray[np.int64]

DECIMALS: Final = 7
"""Decimals to which cosines are compared and reported: as many as float32 vectors carry."""
TILE: Final = 2048
"""Rows compared with as many other rows at once: at most `TILE`^2 pairs, or 0.25 GB."""
GRID: Final = 2.0**24
ROUGH_FROM: Final = 20_000
"""Fewest rows of a space whose products are taken in 16 bits first: torch takes seconds to load."""
ROUGH_TILE: Final = 1024
"""Fewest rows of a tile for which that is worth while."""
_ROUGH_STEP: Final = 512
"""Matrices in 16 bits have multiples of it as rows: torch keeps what it prepares for each shape, up to 0.6 GB."""
ROUGH_MARGIN: Final = 2.0**-6
"""How far the product of two unit vectors in bfloat16 may be from the exact one: every number is rounded by at most
2^-8 of its size, and so is their sum, which is taken in float32."""


def on_grid(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Round to multiples of 2^-24: the dot product of two such unit vectors is exact in float64, times `GRID`^2."""
    return np.rint(vectors.astype(np.float64) * GRID)


def rounding_margin(dimensions: int) -> float:
    """Return how far the float32 dot product of two unit vectors may be from the exact product on the grid.

    It is off by at most dim * 2^-24, in any order of summation; the grid moves it by at most sqrt(dim) * 2^-24.
    """
    return (dimensions + math.sqrt(dimensions)) / GRID


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows above the threshold: three arrays of equal length. Cosines are those of float32 arithmetic."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    cosines: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.left)

    def where(self, chosen: NDArray[np.bool_]) -> "Pairs":
        return Pairs(self.left[chosen], self.right[chosen], self.cosines[chosen])

    def every(self, stride: int) -> "Pairs":
        return self.where(np.arange(len(self)) % stride == 0)

    def turned(self, where: NDArray[np.bool_]) -> "Pairs":
        """Return the pairs, left and right exchanged `where` it says."""
        left, right = np.where(where, self.right, self.left), np.where(where, self.left, self.right)
        return Pairs(left, right, self.cosines)

    def both_ways(self) -> "Pairs":
        return joined([self, Pairs(self.right, self.left, self.cosines)])


def joined(parts: Sequence[Pairs]) -> Pairs:
    return Pairs(
        np.concatenate([part.left for part in parts] or [np.empty(0, np.int32)]),
        np.concatenate([part.right for part in parts] or [np.empty(0, np.int32)]),
        np.concatenate([part.cosines for part in parts] or [np.empty(0, np.float32)]),
    )


class Space:
    """Rows of unit vectors with a cosine threshold; tells exactly which pairs are above it."""

    def __init__(self, vectors: FloatMatrix, positions: Rows, threshold: float) -> None:
        self.vectors = vectors
        self.positions = positions
        self.threshold = threshold
        self.margin = rounding_margin(vectors.shape[1]) + 10.0**-DECIMALS  # and half of the last decimal
        self.rough_tile = ROUGH_TILE if len(positions) >= ROUGH_FROM and _multiplies_16_bits() else math.inf

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, rows: NDArray[Any]) -> FloatMatrix:
        return np.ascontiguousarray(self.vectors[self.positions[rows]], np.float32)

    def exact(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
        """Return the cosines of left[k] and right[k], to `DECIMALS` decimals."""
        cosines = np.empty(len(left))
        for start in range(0, len(left), TILE):
            part = slice(start, start + TILE)
            ours, theirs = (on_grid(self.take(rows[part])) for rows in (left, right))
            cosines[part] = np.einsum("ij,ij->i", ours, theirs) / GRID**2
        return np.minimum(np.round(cosines, DECIMALS), 1.0)

    def tiles(self, rows: Rows | None = None) -> Iterator[Rows]:
        rows = np.arange(len(self)) if rows is None else rows
        for start in range(0, len(rows), TILE):
            yield rows[start : start + TILE]


def _multiplies_16_bits() -> bool:
    import torch

    return torch.cpu._is_avx512_bf16_supported()


def _in_16_bits(vectors: FloatMatrix) -> "torch.Tensor":
    """Return the vectors as a matrix in bfloat16, with rows of zeros up to a multiple of `_ROUGH_STEP`."""
    import torch

    padded = np.zeros((math.ceil(len(vectors) / _ROUGH_STEP) * _ROUGH_STEP, vectors.shape[1]), np.float32)
    padded[: len(vectors)] = vectors
    return torch.from_numpy(padded).bfloat16()


class Tile:
    """Some rows of a space, to be compared with others."""

    def __init__(self, space: Space, rows: Rows) -> None:
        self.space = space
        self.rows = rows

    @cached_property
    def _index(self) -> "faiss.IndexFlatIP":
        import faiss

        index = faiss.IndexFlatIP(self.space.vectors.shape[1])
        index.add(self.space.take(self.rows))
        return index

    @cached_property
    def _rough(self) -> "torch.Tensor":
        return _in_16_bits(self.space.take(self.rows))

    def _may_touch(self, rows: Rows) -> NDArray[np.bool_]:
        """Return a mask of `rows`: False only if a row has no neighbour in the tile."""
        highest = (_in_16_bits(self.space.take(rows)) @ self._rough.T).amax(1)[: len(rows)]
        may: NDArray[np.bool_] = (highest.float() > self.space.threshold - ROUGH_MARGIN).numpy()
        return may

    def pairs(self, rows: Rows) -> Pairs:
        """Return the pairs above the threshold of one of `rows` and a row of the tile (a row pairs with itself)."""
        space = self.space
        if len(self.rows) >= space.rough_tile:
            rows = rows[self._may_touch(rows)]
            if not len(rows):
                return joined([])
        ends, cosines, places = self._index.range_search(space.take(rows), space.threshold - space.margin)
        left = np.repeat(rows.astype(np.int32), (ends[1:] - ends[:-1]).astype(np.int64))
        right = self.rows.astype(np.int32)[places]
        unsure = np.flatnonzero(cosines <= space.threshold + space.margin)
        above = np.ones(len(left), np.bool_)
        above[unsure] = space.exact(left[unsure], right[unsure]) > space.threshold
        pairs = Pairs(left, right, cosines)
        return pairs if above.all() else pairs.where(above)

    def touches(self, rows: Rows) -> NDArray[np.bool_]:
        """Return a mask of `rows`, none of them in the tile: True if a row has a neighbour in the tile."""
        return np.isin(rows, self.pairs(rows).left)


def all_pairs(space: Space, size: int | None = None) -> Iterator[Pairs]:
    """Yield every pair above the threshold once, tile by tile; the first of a pair is the smaller row.

    Only the first `size` rows are compared, if it is given.
    """
    for rows in space.tiles(None if size is None else np.arange(size)):
        tile = Tile(space, rows)
        for others in space.tiles(np.arange(rows[-1] + 1)):
            pairs = tile.pairs(others)
            yield pairs.where(pairs.left < pairs.right) if others[-1] >= rows[0] else pairs
