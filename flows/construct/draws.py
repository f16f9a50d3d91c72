"""Random orders in which the place of a member depends on the member alone.

A member that is added or removed leaves the order of all others as it was.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from schemas.base import content_hash

Members = NDArray[np.uint64]


def members_of(contents: Iterable[object]) -> Members:
    """Return a number for each member that depends on its content (JSON values) alone."""
    return np.fromiter((int(content_hash(content), 16) for content in contents), np.uint64)


def random_order(members: Members, seed: int) -> NDArray[np.int64]:
    """Return the places of the members in an order that is random by the seed (64 bits); shape (len(members),).

    Members are sorted by their numbers mixed with the seed (the finalizer of SplitMix64, Steele et al. 2014).
    """
    mixed = members ^ np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")
