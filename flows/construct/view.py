"""A family's charts and views of its records, as data that the build report draws.

A `Chart` is a distribution over a part; a `View` is one record laid out for a reader. Neither knows how it is drawn,
and the report knows no family.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from flows.construct.embed import Embedder
from flows.construct.records import R_co, Records
from flows.construct.settings import S_co
from schemas.base import Dropped


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """How often measured values occur, in one or several series."""

    title: str
    series: Mapping[str, Mapping[float, int]]
    """Name of the series -> value -> its frequency. If all values are whole numbers, so are the bins."""
    unit: str
    """The unit of the values: "words", "cosine"."""
    threshold: float | None = None
    """Drawn into the chart. No bin spans it; a value equal to it counts as below."""
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Bars:
    """The number of records of each kind, in the order to show them."""

    title: str
    counts: Mapping[str, int]
    caption: str = ""


Chart = Histogram | Bars


@dataclass(frozen=True)
class Line:
    """A line of a view: a cell for each column, or one cell across all of them."""

    label: str
    cells: tuple[str, ...]
    strong: bool = False
    """True for the line that the others lead to, such as the answer."""


@dataclass(frozen=True)
class Listing:
    """Numbered texts folded away under a record, such as its contexts."""

    title: str
    texts: tuple[str, ...]
    marked: int | None = None
    """Place of the relevant text."""


@dataclass(frozen=True, kw_only=True)
class View:
    """A record laid out for a reader. In lines of two cells, the differences are marked."""

    title: str = ""
    tags: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    listing: Listing | None = None


@dataclass(frozen=True)
class ChartContext(Generic[R_co, S_co]):
    """The data that a part's charts may read of the finished part."""

    settings: S_co
    seed: int
    embedder: Embedder
    records: Records[R_co]
    """The accepted records."""
    columns: Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]
    """For a part whose last step writes files: the named fields of all its rows."""
    kept: Callable[[str], Records[Any]]
    """The records that the step of that name kept; their type is the step's."""
    dropped: Callable[[str], Iterable[Dropped]]
    """The drops of the step of that name."""
