"""Records on disk as steps and charts read them, and type variables for code that is generic over records."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from typing_extensions import TypeVar

from schemas.base import Record

R = TypeVar("R", bound=Record)
R_co = TypeVar("R_co", bound=Record, covariant=True, default=Record)


class Records(Protocol[R_co]):
    """A finished stage: read-only, sized, on disk."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[R_co]: ...


def with_first(records: Iterable[R], same: Callable[[R], str]) -> Iterator[tuple[R, str | None]]:
    """Yield each record with the id of the first for which `same` returns the same; None for that first record."""
    firsts: dict[str, str] = {}
    for record in records:
        value = same(record)
        yield record, firsts.get(value)
        firsts.setdefault(value, record.id)
