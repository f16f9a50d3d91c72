"""Records as the page shows them: accepted ones, and dropped ones beside what they collide with."""

from dataclasses import dataclass

from flows.construct.engine import Family
from flows.construct.view import Line, Listing, View, texts_of_fields
from flows.report.bins import number
from flows.report.read import Refusal
from flows.report.texts import LISTED_CHARACTERS, TEXT_CHARACTERS, Segment, clip, compared, words_of
from schemas.base import Record

RECORD_LINES = 16


@dataclass(frozen=True)
class RecordLine:
    """A line of a record, its cells in segments."""

    label: str
    cells: tuple[tuple[Segment, ...], ...]
    strong: bool
    same: bool
    """Whether it has two cells with the same text."""


@dataclass(frozen=True)
class ListedText:
    """A numbered text of a listing."""

    number: int
    text: str
    marked: bool


@dataclass(frozen=True)
class ListingView:
    """A listing, cut."""

    title: str
    texts: tuple[ListedText, ...]
    hidden: int


@dataclass(frozen=True)
class RecordView:
    """A record as the page shows it."""

    title: str
    tags: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[RecordLine, ...]
    listing: ListingView | None
    more_lines: int
    id: str


@dataclass(frozen=True)
class ExampleView:
    """A dropped record, with the record that it collides with and the evidence."""

    record: RecordView | None
    evidence: str
    value: str | None
    item_id: str
    related_id: str | None


def side_by_side(record: Record, related: Record) -> View:
    """Return a dropped record beside the one that it collides with, field by field."""
    left, right = texts_of_fields(record), texts_of_fields(related)
    return View(
        columns=("dropped", "collides with"),
        lines=tuple(
            Line(words_of(name), (left.get(name, ""), right.get(name, ""))) for name in dict.fromkeys([*left, *right])
        ),
    )


def record_view(view: View, record_id: str = "") -> RecordView:
    """Return the view, cut and with its cells compared; `record_id` is shown beside its tags."""
    return RecordView(
        title=clip(view.title),
        tags=tuple(clip(tag, LISTED_CHARACTERS) for tag in view.tags),
        columns=view.columns,
        lines=tuple(_line(line, bool(view.columns)) for line in view.lines[:RECORD_LINES]),
        listing=_listing(view.listing) if view.listing else None,
        more_lines=max(0, len(view.lines) - RECORD_LINES),
        id=record_id,
    )


def example_view(refusal: Refusal, family: Family) -> ExampleView:
    """Return a drop as the page shows it. Evidence that is in the record anyway is not repeated."""
    dropped, record, related = refusal.dropped, refusal.record, refusal.related
    view = None
    if record is not None and type(related) is type(record):
        view = side_by_side(record, related)
    elif (only := record or related) is not None:
        view = family.view_of(only)
    texts = {text for line in view.lines for text in line.cells} if view else set()
    value = None
    if dropped.value is not None:
        value = f"{'similarity' if dropped.related_id else 'measured'} {number(dropped.value)}"
    return ExampleView(
        record=record_view(view) if view else None,
        evidence="" if dropped.evidence in texts else clip(dropped.evidence),
        value=value,
        item_id=dropped.item_id,
        related_id=dropped.related_id,
    )


def _line(line: Line, beside_columns: bool) -> RecordLine:
    pair = len(line.cells) == 2
    across = beside_columns and len(line.cells) == 1
    cells = [clip(cell, LISTED_CHARACTERS if across else TEXT_CHARACTERS) for cell in line.cells]
    segments = compared(cells[0], cells[1]) if pair else tuple((Segment(cell),) for cell in cells)
    return RecordLine(clip(line.label), segments, line.strong, pair and line.cells[0] == line.cells[1])


def _listing(listing: Listing) -> ListingView:
    texts = tuple(
        ListedText(place + 1, clip(text, LISTED_CHARACTERS), place == listing.marked) for place, text in listing.shown
    )
    return ListingView(listing.title, texts, len(listing.texts) - len(texts))
