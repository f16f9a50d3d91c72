"""What a family shows of its records in the build report: data, which the report draws.

A `Figure` is a distribution over a part, a `Sheet` one record laid out for a reader. Neither knows how it
is drawn, and the report knows no family.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """How often measured values occur, in one or several series."""

    title: str
    series: Mapping[str, Mapping[float, int]]
    """Name of the series -> value -> how often it occurs. Whole numbers throughout are binned as such."""
    unit: str
    """What the values count or measure: "words", "cosine"."""
    threshold: float | None = None
    """Drawn into the figure. No bin reaches across it; a value on it lies below."""
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Bars:
    """How many records there are of each kind, in the order to be shown."""

    title: str
    counts: Mapping[str, int]
    caption: str = ""


Figure = Histogram | Bars


@dataclass(frozen=True)
class Line:
    """A line of a sheet: a cell for each column, or a single one across all of them."""

    label: str
    cells: tuple[str, ...]
    strong: bool = False
    """Whether this is what the others lead to: the answer."""


@dataclass(frozen=True)
class Listing:
    """Numbered texts that are folded away under a record: its contexts."""

    title: str
    texts: tuple[str, ...]
    marked: int | None = None
    """Place of the text that matters."""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A record laid out for a reader. Lines of two cells are compared, and what differs is marked."""

    title: str = ""
    tags: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    listing: Listing | None = None
