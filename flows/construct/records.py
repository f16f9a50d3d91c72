"""Records on disk as steps and charts read them, and type variables for code that is generic over records."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from typing_extensions import TypeVar

from data.seen import text_of
from schemas.base import Record, content_hash

R = TypeVar("R", bound=Record)
R_co = TypeVar("R_co", bound=Record, covariant=True, default=Record)


class Records(Protocol[R_co]):
    """A finished stage: read-only, sized, on disk."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[R_co]: ...


class First(NamedTuple):
    """The names of the record that is kept of several that are the same."""

    key: str
    id: str


def with_first(
    records: Sequence[R] | Records[R], same: Callable[[R], str], arrival: Callable[[Record], int]
) -> Iterator[tuple[R, First | None]]:
    """Yield each record with the first one that is the same by what `same` returns; None for that one.

    The first is the one that came with the earliest release (`arrival`), and of those the first in order. In memory are
    numbers, 70 bytes for each record.
    """
    came, values, keys, ids = (array("Q") for _ in range(4))
    for record in records:
        came.append(arrival(record))
        values.append(int(content_hash(same(record)), 16))
        keys.append(int(record.key, 16))
        ids.append(int(record.id, 16))
    order = np.lexsort((came, values))
    ordered = np.asarray(values)[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    firsts = np.empty_like(order)
    firsts[order] = order[begins][np.cumsum(begins) - 1]
    for place, record in enumerate(records):
        first = int(firsts[place])
        yield record, None if first == place else First(text_of(keys[first]), text_of(ids[first]))
