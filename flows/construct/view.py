"""A family's charts and views of its records, as data that the build report draws and the terminal prints.

A `Chart` is a distribution over a part; a `View` is one record laid out for a reader. Neither knows how it is drawn,
and the report knows no family.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from flows.construct.embed import Embedder
from flows.construct.records import R_co, Records
from flows.construct.settings import S_co
from schemas.base import Dropped, Record

LISTED_TEXTS = 12
"""Of a longer listing, the first texts and the marked one are shown."""
ONE_LINE = 48
"""Cells of at most this many characters together stand on one line of a terminal."""
_NUMBER = re.compile(r"^(\d+)\.")
"""Markdown would take it for the start of a list."""
_MARKS = re.compile(r"[\\`*_\[\]<>#|~&]|(?<!\S)[-+=]|(?<=\d)[.)](?=\s|$)", re.MULTILINE)
"""What Markdown would take for its own in a text, and not show as it is."""
_INDENT = re.compile(r"^ +", re.MULTILINE)
"""Markdown would take it for code, or leave it out."""


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """How often measured values occur, in one or several series."""

    title: str
    series: Mapping[str, Mapping[float, int]]
    """Name of the series -> value -> its frequency. If all values are whole numbers, so are the bins."""
    unit: str
    """The unit of the values: "words", "cosine"."""
    counted: str = "records"
    """What the frequencies count: "options", where a record has several."""
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

    def in_markdown(self, columns: Sequence[str]) -> str:
        """Return the line as an item of a Markdown list; short cells stand side by side."""
        label = _NUMBER.sub(r"\1\\.", self.label)
        label = f"- **{label}**:" if self.strong else f"- {label}:"
        if len(self.cells) == 1:
            return f"{label} {_indented(self.cells[0], 2)}"
        cells = list(zip(columns, self.cells, strict=True))
        if sum(map(len, self.cells)) <= ONE_LINE and not any("\n" in cell for cell in self.cells):
            return f"{label} {' · '.join(f'{_as_is(cell)} ({column})' for column, cell in cells)}"
        return "\n".join([label, *(f"  - {column}: {_indented(cell, 4)}" for column, cell in cells)])


@dataclass(frozen=True)
class Listing:
    """Numbered texts folded away under a record, such as its contexts."""

    title: str
    texts: tuple[str, ...]
    marked: int | None = None
    """Place of the relevant text."""

    @property
    def shown(self) -> list[tuple[int, str]]:
        """The first texts and the marked one, with their places."""
        return [(place, text) for place, text in enumerate(self.texts) if place < LISTED_TEXTS or place == self.marked]


@dataclass(frozen=True, kw_only=True)
class View:
    """A record laid out for a reader. In lines of two cells, the differences are marked."""

    title: str = ""
    tags: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    listing: Listing | None = None

    def in_markdown(self) -> str:
        """Return the view as a terminal prints it."""
        lines = "\n".join(line.in_markdown(self.columns) for line in self.lines)
        blocks = [f"**{_as_is(' '.join(self.title.split()))}**" if self.title else "", " · ".join(self.tags), lines]
        if (listing := self.listing) is not None:
            shown = listing.shown
            texts = [
                f"- {place + 1}\\. {_indented(text, 2)}{' ← relevant' if place == listing.marked else ''}"
                for place, text in shown
            ]
            hidden = len(listing.texts) - len(shown)
            blocks += [f"{listing.title}:", "\n".join(texts), f"({hidden} more)" if hidden else ""]
        return "\n\n".join(filter(None, blocks))


def _indented(text: str, width: int) -> str:
    """Return a text as an item of a Markdown list shows it as it is, with its line breaks."""
    return _as_is(text).replace("\n", "  \n" + " " * width)


def _as_is(text: str) -> str:
    return _MARKS.sub(lambda mark: "\\" + mark[0], _INDENT.sub("", text))


def fields_view(record: Record) -> View:
    """Return a view of the record's defining fields."""
    return View(lines=tuple(Line(name.replace("_", " "), (text,)) for name, text in texts_of_fields(record).items()))


def texts_of_fields(record: Record) -> dict[str, str]:
    """Return the record's defining fields as texts, without empty ones."""
    values = {name: _text(getattr(record, name)) for name in record.DEFINES}
    return {name: text for name, text in values.items() if text}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_text(item)}" for name, item in value.items())
    if isinstance(value, tuple | list):
        return " | ".join(map(_text, value))
    return str(value)


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
