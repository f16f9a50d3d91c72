"""Reads the records that the page shows and lays them out: accepted ones, and drops beside what they collide with.

Everything is streamed; no more of a stage is kept in memory than is shown.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from flows.construct.engine import Family, Part
from flows.construct.stages import Build, StageRef
from flows.construct.view import Chart, ChartContext, Line, View, texts_of_fields
from flows.report.bins import number
from flows.report.texts import LISTED_CHARACTERS, TEXT_CHARACTERS, Segment, clip, compared, words_of
from schemas.base import Dropped, Record, content_hash

RECORD_LINES = 16
"""Of a longer record, the first lines are shown."""


@dataclass(frozen=True)
class Refusal:
    """A drop with the records that it names, if the step read or kept them."""

    dropped: Dropped
    record: Record | None
    related: Record | None


@dataclass(frozen=True)
class ExampleView:
    """A dropped record, with the record that it collides with and the evidence."""

    view: View | None
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
        view=view,
        evidence="" if dropped.evidence in texts else clip(dropped.evidence),
        value=value,
        item_id=dropped.item_id,
        related_id=dropped.related_id,
    )


def compared_cells(line: Line, beside_columns: bool) -> Sequence[Sequence[Segment]]:
    """Return the cells of a line, cut, and two of them compared; one cell for two long ones that are the same."""
    if len(line.cells) == 2 and not is_repeated(line):
        return compared(*line.cells)
    cells = line.cells[:1] if is_repeated(line) else line.cells
    across = beside_columns and len(line.cells) == 1
    return [(Segment(clip(cell, LISTED_CHARACTERS if across else TEXT_CHARACTERS)),) for cell in cells]


def is_repeated(line: Line) -> bool:
    """Return whether a line has a long text twice: it is shown once."""
    return len(line.cells) == 2 and line.cells[0] == line.cells[1] and len(line.cells[0]) > LISTED_CHARACTERS


# ---- reading ----


def refusals(build: Build, ref: StageRef, reasons: Collection[str], most: int) -> Mapping[str, list[Refusal]]:
    """Return by reason at most `most` drops of a finished stage, drawn with the run seed, in the stage's order."""
    drawn = {reason: _Reservoir(most, content_hash(build.seed, str(ref), reason)) for reason in reasons}
    for place, dropped in enumerate(build.read(ref).dropped() if reasons else ()):
        if dropped.reason in drawn:
            drawn[dropped.reason].offer(place, dropped)
    chosen = {reason: reservoir.chosen() for reason, reservoir in drawn.items()}
    named = (name for drops in chosen.values() for drop in drops for name in (drop.item_id, drop.related_id))
    records = _by_id(build, ref, {name for name in named if name is not None})
    return {
        reason: [Refusal(drop, records.get(drop.item_id), records.get(drop.related_id or "")) for drop in drops]
        for reason, drops in chosen.items()
    }


def drawn_records(build: Build, family: Family, part: Part, most: int) -> list[Record]:
    """Return at most `most` accepted records of a part, drawn with the run seed, in the stage's order."""
    stage = build.accepted(family.name, part.name)
    rng = random.Random(content_hash(build.seed, "report", family.name, part.name))
    places = sorted(rng.sample(range(len(stage)), min(most, len(stage))))
    return [record for place in places for record in stage.slice(place, place + 1)]


def charts_of(build: Build, family: Family, part: Part) -> list[Chart]:
    """Return the charts that the family offers of a part."""
    if part.charts is None:
        return []
    context = ChartContext(
        settings=build.families[family.name].settings,
        seed=build.seed,
        embedder=build.embedder,
        records=build.accepted(family.name, part.name),
        columns=lambda names: build.accepted(family.name, part.name).columns(names),
        kept=lambda step: build.read(StageRef(family.name, part.name, step)),
        dropped=lambda step: build.read(StageRef(family.name, part.name, step)).dropped(),
    )
    return list(part.charts(context))


def _by_id(build: Build, ref: StageRef, wanted: set[str]) -> dict[str, Record]:
    """Return the records with these ids, by id, from the stage's input and output."""
    missing = set(wanted)
    records: dict[str, Record] = {}
    for record in chain(build.inputs(ref), build.read(ref)):
        if not missing:
            break
        if record.id in missing:
            missing.remove(record.id)
            records[record.id] = record
    return records


class _Reservoir:
    """A reservoir: each drop offered is equally likely to stay."""

    def __init__(self, most: int, seed: str) -> None:
        self._most = most
        self._rng = random.Random(seed)
        self._seen = 0
        self._kept: list[tuple[int, Dropped]] = []

    def offer(self, place: int, dropped: Dropped) -> None:
        self._seen += 1
        if len(self._kept) < self._most:
            self._kept.append((place, dropped))
        elif (slot := self._rng.randrange(self._seen)) < self._most:
            self._kept[slot] = (place, dropped)

    def chosen(self) -> list[Dropped]:
        return [dropped for _, dropped in sorted(self._kept, key=lambda kept: kept[0])]
