"""A family's charts and views of its records, as data that the build report draws.

A `Chart` is a distribution over a part, a `View` one record laid out for a reader. Neither knows how it is drawn, and
the report knows no family.
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
    """Name of the series -> value -> how often it occurs. Whole numbers throughout are binned as such."""
    unit: str
    """What the values count or measure: "words", "cosine"."""
    threshold: float | None = None
    """Drawn into the chart. No bin reaches across it; a value on it lies below."""
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Bars:
    """How many records there are of each kind, in the order to be shown."""

    title: str
    counts: Mapping[str, int]
    caption: str = ""


Chart = Histogram | Bars


@dataclass(frozen=True)
class Line:
    """A line of a view: a cell for each column, or a single one across all of them."""

    label: str
    cells: tuple[str, ...]
    strong: bool = False
    """Whether it is the line that the others lead to: the answer."""


@dataclass(frozen=True)
class Listing:
    """Numbered texts folded away under a record, such as its contexts."""

    title: str
    texts: tuple[str, ...]
    marked: int | None = None
    """Place of the relevant text."""


@dataclass(frozen=True, kw_only=True)
class View:
    """A record laid out for a reader. Lines of two cells are compared, and what differs is marked."""

    title: str = ""
    tags: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    listing: Listing | None = None


@dataclass(frozen=True)
class ChartContext(Generic[R_co, S_co]):
    """What a part's charts may read of the finished part."""

    settings: S_co
    seed: int
    embedder: Embedder
    records: Records[R_co]
    """The accepted records."""
    columns: Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]
    """Of a part whose last step writes files, some fields of all of their rows."""
    kept: Callable[[str], Records[Any]]
    """The records that the step of that name kept; their type is the step's."""
    dropped: Callable[[str], Iterable[Dropped]]
    """The drops of the step of that name."""
