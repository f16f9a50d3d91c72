"""Shows the tables of an evaluation: on a page, each with its chart, as JSON cells, and in the terminal.

Columns that are numbers on a scale get curves, shares of a whole stacked bars, and a table whose lines and columns are
one sequence a heatmap. A table of many lines (fact recall by depth) is drawn as heatmaps and folded away.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from data.whole_file import whole_file
from flows.construct.evaluation import Measure
from flows.evaluate.failures import Failure
from flows.evaluate.headline import MeasureView, figure_rows, measure_views, measured_by
from flows.evaluate.scores_file import EarlierLine, EvaluationScores, Spent, scores_path, write_cells, write_scores
from flows.evaluate.signature import Signature
from flows.report.svg import drawing, grid, grid_line, heat, stack, text
from flows.report.template import style, template
from flows.report.texts import clip
from flows.scoring.intervals import Measured
from flows.scoring.tables import ALL_LEVELS, ScoreTables, Unit, in_words, measured
from schemas.base import counted

TEMPLATE = Path(__file__).parent / "report.html.j2"
ROWS = Path(__file__).parent / "rows.html.j2"
LONGEST_SHOWN = 20_000
"""Characters of a text of a row that is shown; a longer one is cut, and marked as cut."""
WIDTH, HEIGHT = 640, 280
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 12, 40
DASHES = ("none", "7 4", "2 3", "10 3 2 3")
ROW_HEIGHT = 22
MOST_LINES = 60
"""A table of more lines is drawn as heatmaps."""
_NUMBER = re.compile(r"[0-9]+k?")
COLOURS = 6
"""Lines are told apart by colour (classes c0 to c5 of the style sheet) and, from the seventh on, by dashes."""
LINES_SHOWN = 40
"""Most lines of a table that the terminal shows."""
RATED = (1, 5)
"""The ends of the scale of ratings."""


@dataclass(frozen=True)
class TableView:
    """A table as the page shows it."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], str], ...]
    """Name, cells, and over how many items they are taken."""
    chart: Markup | None
    folded: bool
    """True if it has too many lines to be read as a table."""
    keyed: Literal["rows", "columns"] | None = None
    """The rows or columns that the chart tells apart by colour."""
    about: str = ""
    """A description of its values and columns."""
    lines: str = ""
    """A heading for its lines."""


@dataclass(frozen=True)
class Shown:
    """An evaluation as a page and the terminal show it."""

    title: str
    result: ScoreTables
    notes: Sequence[str]
    measures: Sequence[Measure] = ()
    failures: Sequence[Failure] = ()
    signature: Signature | None = None
    """None for predictions that somebody else made: what they depend on is not known."""
    spent: Spent | None = None
    earlier: Sequence[EarlierLine] = ()
    """Of models that were evaluated before."""
    partial: bool = False
    """Some rows have no answer: the budget was spent, or the server gave none."""

    @cached_property
    def measured(self) -> Mapping[str, Measured]:
        """The values by measure."""
        return measured_by(self.measures, self.result.values)

    @cached_property
    def views(self) -> Sequence[MeasureView]:
        """The measures that have values."""
        return measure_views(self.measures, self.measured)


def write_evaluation(path: Path, shown: Shown, files: Sequence[str] = ()) -> None:
    """Write the page: the figures with their intervals, examples of what went wrong, and all tables.

    `files` are the names of files beside it, for links.
    """
    result = shown.result
    numbers: dict[str, dict[str, list[int]]] = {name: {} for name in result.frames}
    for cell in result.tables:
        numbers[cell.table].setdefault(cell.row, []).append(cell.n)
    rows = rows_path(path)
    if shown.failures:
        written = template(ROWS).render(
            title=shown.title, style=style(), page=path.name, failures=shown.failures, clip=clip, longest=LONGEST_SHOWN
        )
        with whole_file(rows) as file:
            file.write(written)
    page = template(TEMPLATE).render(
        title=shown.title,
        style=style(),
        measures=shown.views,
        failures=shown.failures,
        rows=rows.name,
        signature=str(shown.signature) if shown.signature else "",
        earlier=shown.earlier,
        files=files,
        tables=[
            table_view(
                name,
                frame,
                stacked=name in result.stacked,
                heated=name in result.grids,
                unit=result.unit(name),
                about=result.about(name),
                lines=result.lines(name),
                numbers=numbers[name],
            )
            for name, frame in result.frames.items()
        ],
        notes=shown.notes,
    )
    with whole_file(path) as file:
        file.write(page)


def rows_path(page: Path) -> Path:
    """Return the path of the page with the rows that the page of an evaluation shows as failures."""
    return page.with_name(f"{page.name.removesuffix('.html').removesuffix('.tables')}.rows.html")


def table_view(
    name: str,
    frame: pd.DataFrame,
    *,
    stacked: bool = False,
    heated: bool = False,
    unit: Unit = "share",
    about: str = "",
    lines: str = "",
    numbers: Mapping[str, Sequence[int]] | None = None,
) -> TableView:
    """Return a frame as the page shows it; with curves if it has two or more columns of whole numbers (or "16k").

    A column over all of them is in the table only. A confidence interval is in the cell of its value, not in columns of
    its own.
    """
    columns = list(map(str, frame.columns))
    points = [column for column in columns if column != ALL_LEVELS]
    scaled = len(points) > 1 and all(map(_NUMBER.fullmatch, points))
    rows = [
        (str(row), [float(value) for value in values]) for row, values in zip(frame.index, frame.values, strict=True)
    ]
    folded = len(rows) > MOST_LINES and not stacked  # a stacked table is the key to its colours
    chart = None
    if stacked:
        chart = stack(columns, rows)
    elif heated:
        chart = grid(columns, rows)
    elif scaled and rows and unit == "rating":
        chart = curves(columns, rows, unit)
    elif folded and len(columns) > 1 and unit in ("share", "per cent"):
        chart = heatmaps(columns, rows, unit)
    elif scaled and rows:
        on_scale = [column != ALL_LEVELS for column in columns]
        chart = curves(points, [(name, list(compress(values, on_scale))) for name, values in rows], unit)
    shown = in_words(frame, partial(_shown, unit=unit))
    keyed: Literal["rows", "columns"] | None = None
    if chart is not None and not folded and not heated:
        keyed = "columns" if stacked else "rows"
    cells_of_rows = tuple(
        (str(row), tuple(cells), _range((numbers or {}).get(str(row), ()))) for row, *cells in shown.itertuples()
    )
    return TableView(name, tuple(shown.columns), cells_of_rows, chart, folded, keyed, about, lines)


def _range(numbers: Sequence[int]) -> str:
    """Return the one number of the cells of a line, or the least and the most: `12`, `8–12`."""
    present = sorted({number for number in numbers if number})
    return "–".join(f"{number:,}" for number in dict.fromkeys([*present[:1], *present[-1:]]))


def heatmaps(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]], unit: Unit = "share") -> Markup:
    """Draw a grid for each group of lines (the name before the last " / "): lines become columns, columns rows.

    The darker a cell, the nearer its value is to 1; a cell without a value is left out.
    """
    grids: dict[str, list[tuple[str, Sequence[float]]]] = {}
    for name, values in rows:
        group, _, line = name.rpartition(" / ")
        grids.setdefault(group, []).append((line, values))
    return Markup("").join(_heatmap(group, columns, lines, unit) for group, lines in grids.items())


def _heatmap(name: str, columns: Sequence[str], lines: Sequence[tuple[str, Sequence[float]]], unit: Unit) -> Markup:
    width, height = (WIDTH - LEFT - RIGHT) / len(lines), ROW_HEIGHT
    marks = []
    for place, (line, values) in enumerate(lines):
        for level, value in enumerate(values):
            if not math.isnan(value):
                left, title = round(LEFT + place * width, 2), f"{line} at {columns[level]}: {_shown(value, unit)}"
                marks.append(heat(left, TOP + level * height, round(width, 2), height, value, title))
    marks += [
        text("tick", LEFT - 6, TOP + (level + 0.6) * height, column, "end") for level, column in enumerate(columns)
    ]
    bottom = TOP + len(columns) * height
    marks += [
        text("tick", LEFT, bottom + 16, lines[0][0], "start"),
        text("tick", WIDTH - RIGHT, bottom + 16, lines[-1][0], "end"),
    ]
    return Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(
        name, drawing(WIDTH, bottom + 22, f"heatmap of {name}", marks)
    )


def curves(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]], unit: Unit = "share") -> Markup:
    """Draw a curve for each row over the columns, on a logarithmic scale as suits context counts and levels.

    Ratings go from 1 to 5; their columns, turns of a dialogue, are on a linear scale.
    """
    rated, shown = unit == "rating", 100 if unit == "per cent" else 1
    places = [int(column.removesuffix("k")) * (1000 if column.endswith("k") else 1) for column in columns]
    most = max((value for _, values in rows for value in values if not math.isnan(value)), default=1.0)
    floor, top = RATED if rated else (0.0, 1.0 if most <= 1 else most)
    on_scale = float if rated else math.log
    low, high = on_scale(places[0]), on_scale(places[-1])

    def x(place: int) -> float:
        return round(LEFT + (on_scale(place) - low) / (high - low or 1) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (value - floor) / (top - floor) * (HEIGHT - TOP - BOTTOM), 1)

    marks = [
        grid_line(LEFT, WIDTH - RIGHT, y(value), f"{shown * value:g}")
        for value in (floor + share * (top - floor) for share in (0, 0.25, 0.5, 0.75, 1))
    ]
    marks += [text("tick", x(place), HEIGHT - 20, column) for place, column in zip(places, columns, strict=True)]
    for number, (name, values) in enumerate(rows):
        points = [(x(place), y(value)) for place, value in zip(places, values, strict=True) if not math.isnan(value)]
        marks.append(
            Markup('<g class="curve c{}"><title>{}</title><polyline stroke-dasharray="{}" points="{}"/>{}</g>').format(
                number % COLOURS,
                name,
                DASHES[number // COLOURS % len(DASHES)],
                " ".join(f"{across},{down}" for across, down in points),
                Markup("").join(Markup('<circle cx="{}" cy="{}" r="3"/>').format(*point) for point in points),
            )
        )
    return drawing(WIDTH, HEIGHT, "curves", marks)


def _shown(value: float, unit: Unit) -> str:
    if math.isnan(value):
        return "–"
    if unit != "share":
        return measured(value, unit)
    return f"{value:.3f}" if 0 <= value <= 1 else f"{value:,.0f}"


def _write_cells(result: ScoreTables, output: Path) -> None:
    cells = [cell.model_dump() for cell in result.tables]
    with whole_file(output) as file:
        file.write(json.dumps(cells, ensure_ascii=False, indent=1) + "\n")


def show_tables(
    console: Console, shown: Shown, page: Path, output: Path | None = None, messages: Iterable[str] = ()
) -> None:
    """Write the page and, at `output`, the cells of its tables; print the `messages`, the figures and the tables.

    Beside `output` are the cells as CSV. Tables that only a drawing can show are not printed.
    """
    result, files = shown.result, []
    if output is not None:
        files = [output, output.with_suffix(".csv")]
        _write_cells(result, output)
        write_cells(files[1], result.tables)
        if shown.signature is not None and shown.spent is not None:
            scores = scores_path(output)
            rows = tuple(figure_rows(shown.measures, shown.measured))
            found = EvaluationScores(
                signature=shown.signature, figures=rows, spent=shown.spent, partial=shown.partial
            )  # fmt: skip
            write_scores(scores, found)
            files.insert(0, scores)
    write_evaluation(page, shown, [file.name for file in files])
    for message in messages:
        console.print(message, soft_wrap=True)
    for name, frame in result.frames.items():
        if name not in result.grids:
            _print_table(console, result, name, frame)
    for view in shown.views:
        console.print(f"\n[bold]{escape(view.name)}[/]: {escape(view.what)}", soft_wrap=True)
        for sentence in view.sentences:
            console.print(f"  {escape(sentence)}", soft_wrap=True)
    for note in shown.notes:
        console.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    grids = f", and {len(result.grids)} heatmaps" if result.grids else ""
    console.print(
        f"{escape(str(page))}: the figures with their intervals, examples, all tables with curves{grids}",
        soft_wrap=True,
    )
    for file in files:
        console.print(str(file), soft_wrap=True, markup=False)


def _print_table(console: Console, result: ScoreTables, name: str, frame: pd.DataFrame) -> None:
    unit = result.unit(name)
    console.print(f"\n[bold]{escape(name)}[/]\n[dim]{escape(result.about(name))}[/]", soft_wrap=True)
    table = Table()
    shown = in_words(frame.head(LINES_SHOWN), partial(_terminal_cell, unit=unit))
    table.add_column(escape(result.lines(name)), overflow="fold", ratio=1)
    for column in shown.columns:
        table.add_column(escape(column), overflow="fold")
    for row, *cells in shown.itertuples():
        table.add_row(escape(str(row)), *cells)
    console.print(table)
    if len(frame) > LINES_SHOWN:
        console.print(f"and {counted(len(frame) - LINES_SHOWN, 'more line')}; the page has all of them")


def _terminal_cell(value: Any, unit: Unit) -> str:
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 - not a number
            return "-"
        if unit != "share":
            return measured(value, unit)
        return f"{value:.0f}" if value.is_integer() and value > 1 else f"{value:.3f}"
    return escape(str(value))
