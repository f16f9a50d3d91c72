"""Shows score tables: on a page, as JSON cells, and in the terminal."""

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from data.whole_file import whole_file
from flows.evaluate.report import write_evaluation
from flows.scoring.tables import ScoreTables, Unit, in_words, measured

LINES_SHOWN = 40
"""Most lines of a table that the terminal shows."""


def _write_cells(result: ScoreTables, output: Path) -> int:
    """Write all cells as JSON and return their number."""
    cells = [cell.model_dump() for cell in result.tables]
    with whole_file(output) as file:
        file.write(json.dumps(cells, ensure_ascii=False, indent=1) + "\n")
    return len(cells)


def show_tables(
    console: Console,
    result: ScoreTables,
    notes: Iterable[str],
    page: Path,
    title: str,
    output: Path | None = None,
    messages: Iterable[str] = (),
) -> None:
    """Write the tables' page and their cells to `output`; print the `messages`, then the tables.

    Tables that only a drawing can show are not printed.
    """
    notes = list(notes)
    write_evaluation(page, title, result, notes)
    written = _write_cells(result, output) if output is not None else 0
    for message in messages:
        console.print(message, soft_wrap=True)
    for name, frame in result.frames.items():
        if name in result.grids:
            continue
        unit = result.unit(name)
        console.print(f"\n[bold]{escape(name)}[/]\n[dim]{escape(result.about(name))}[/]", soft_wrap=True)
        table = Table()
        shown = in_words(frame.head(LINES_SHOWN), partial(_cell, unit=unit))
        table.add_column(escape(result.lines(name)), overflow="fold", ratio=1)
        for column in shown.columns:
            table.add_column(column, overflow="fold")
        for row, *cells in shown.itertuples():
            table.add_row(escape(str(row)), *cells)
        console.print(table)
        if len(frame) > LINES_SHOWN:
            console.print(f"and {len(frame) - LINES_SHOWN:,} lines more; the page has all of them")
    for note in notes:
        console.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    grids = f", and {len(result.grids)} heatmaps" if result.grids else ""
    console.print(f"{page}: the tables with their curves{grids}", soft_wrap=True)
    if output is not None:
        console.print(f"{output}: {written} values", soft_wrap=True)


def _cell(value: Any, unit: Unit) -> str:
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 - not a number
            return "-"
        if unit != "share":
            return measured(value, unit)
        return f"{value:.0f}" if value.is_integer() and value > 1 else f"{value:.3f}"
    return escape(str(value))
