"""Records on disk as steps and charts read them, and type variables for code that is generic over records."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from typing_extensions import TypeVar

from schemas.base import Record

R = TypeVar("R", bound=Record)
R_co = TypeVar("R_co", bound=Record, covariant=True, default=Record)


class Records(Protocol[R_co]):
    """A finished stage: read-only, sized, on disk."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[R_co]: ...


class First(NamedTuple):
    """The names of the record that is kept of several that are the same."""

    release: int
    key: str
    id: str


def with_first(
    records: Sequence[R] | Records[R], same: Callable[[R], str], arrival: Callable[[Record], int]
) -> Iterator[tuple[R, First | None]]:
    """Yield each record with the first one that is the same by what `same` returns; None for that one.

    The first is the one that came with the earliest release (`arrival`), and of those the first in order.
    """
    firsts: dict[str, First] = {}
    for record in records:
        came, value = arrival(record), same(record)
        if value not in firsts or came < firsts[value].release:
            firsts[value] = First(came, record.key, record.id)
    for record in records:
        first = firsts[same(record)]
        yield record, None if first.key == record.key else first
