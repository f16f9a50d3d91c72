"""The page of an evaluation: each table, and its curves where its columns are numbers on a scale."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from data.store import Store

HERE = Path(__file__).parent
WIDTH, HEIGHT = 640, 280
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 12, 40
DASHES = ("none", "7 4", "2 3", "10 3 2 3")
COLOURS = 6
"""Lines are told apart by colour (classes c0 to c5 of the style sheet) and, from the seventh on, by dashes."""


@dataclass(frozen=True)
class TableView:
    """A table of shares as it is shown."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    chart: Markup | None


def write_evaluation(path: Path, title: str, frames: Mapping[str, pd.DataFrame]) -> None:
    """Write the page of `frames`: by table name, a line for each row and a column for each count or measure."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("evaluation.html.j2").render(
        title=title,
        style=Markup((HERE / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        tables=[table_view(name, frame) for name, frame in frames.items()],
    )
    Store(str(path.parent)).write(str(path.resolve()), page.encode())


def table_view(name: str, frame: pd.DataFrame) -> TableView:
    """A frame as it is shown; with curves where it has two columns or more that are whole numbers."""
    columns = list(frame.columns)
    scaled = len(columns) > 1 and all(isinstance(column, int) or str(column).isdigit() for column in columns)
    rows = [
        (str(row), [float(value) for value in values]) for row, values in zip(frame.index, frame.values, strict=True)
    ]
    return TableView(
        name,
        tuple(map(str, columns)),
        tuple((row, tuple(_shown(value) for value in values)) for row, values in rows),
        curves([int(column) for column in columns], rows) if scaled and rows else None,
    )


def curves(places: Sequence[int], rows: Sequence[tuple[str, Sequence[float]]]) -> Markup:
    """A line for each row over `places`, which lie on a logarithmic scale as context counts do."""
    most = max((value for _, values in rows for value in values if not math.isnan(value)), default=1.0)
    top = 1.0 if most <= 1 else most
    low, high = math.log(places[0]), math.log(places[-1])

    def x(place: int) -> float:
        return round(LEFT + (math.log(place) - low) / (high - low or 1) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM), 1)

    marks = [
        Markup(
            '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
            '<text class="tick" x="{}" y="{}" text-anchor="end">{}</text>'
        ).format(LEFT, WIDTH - RIGHT, y(share * top), y(share * top), LEFT - 6, y(share * top) + 4, f"{share * top:g}")
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    marks += [
        Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(x(place), HEIGHT - 20, place)
        for place in places
    ]
    for number, (name, values) in enumerate(rows):
        points = [(x(place), y(value)) for place, value in zip(places, values, strict=True) if not math.isnan(value)]
        marks.append(
            Markup('<g class="curve c{}"><title>{}</title><polyline stroke-dasharray="{}" points="{}"/>{}</g>').format(
                number % COLOURS,
                name,
                DASHES[number // COLOURS % len(DASHES)],
                " ".join(f"{one},{other}" for one, other in points),
                Markup("").join(Markup('<circle cx="{}" cy="{}" r="3"/>').format(*point) for point in points),
            )
        )
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="curves">{}</svg>').format(
        WIDTH, HEIGHT, Markup("").join(marks)
    )


def _shown(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if 0 <= value <= 1 else f"{value:,.0f}"
