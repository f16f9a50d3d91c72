"""`FAMILY-MODEL.scores.json`: the figures of an evaluation with their signature, for programs and for later pages."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import Field, ValidationError

from data.whole_file import write_whole
from flows.evaluate.headline import FigureRow, written
from flows.evaluate.signature import Signature
from flows.llm.model import Usage
from flows.scoring.intervals import Figure
from flows.scoring.tables import Unit
from schemas.base import Frozen
from schemas.manifest import UsageOfPrompt, added
from schemas.prediction import TableCell
from schemas.sealed import Sealed

ENDING = ".scores.json"
FORMULA = re.compile(r"(?![+-]?[0-9.]+$)[=+\-@＝＋－＠\t\r]")
"""The beginning of what a spreadsheet computes, if it is no plain number."""


class Spent(Frozen):
    """What the replies took, whether they were paid for now or before."""

    calls: int
    cached: int = Field(description="Of the calls, those whose answers the cache had")
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="When they were paid, each once; null if a price is not known")
    seconds: float = Field(description="Of asking, from the first question to the last answer")
    median_s: float | None = Field(None, description="How long a server took for an answer; null if none was asked for")
    slow_s: float | None = Field(None, description="The same, of the slowest in twenty")

    @classmethod
    def of(cls, usage: Usage | UsageOfPrompt, seconds: float, waits: Sequence[float]) -> "Spent":
        """Return what an evaluation took; `waits` are how long a server took for each answer."""
        median, slow = np.percentile(waits, [50, 95]).round(3).tolist() if waits else (None, None)
        cost = added(usage.cost_usd, usage.cached_cost_usd)
        return cls(
            calls=usage.calls + usage.cached,
            cached=usage.cached,
            input_tokens=usage.input_tokens + usage.cached_input_tokens,
            output_tokens=usage.output_tokens + usage.cached_output_tokens,
            cost_usd=None if cost is None else round(cost, 6),
            seconds=round(seconds, 2),
            median_s=median,
            slow_s=slow,
        )


class EvaluationScores(Sealed):
    """What an evaluation found."""

    signature: Signature
    figures: tuple[FigureRow, ...]
    spent: Spent
    partial: bool = Field(False, description="Whether some rows have no answer: money was spent, or none came")
    way: str = Field("", description="How it was asked, if the figures' models do not say so: `open-book, 5 shots`")


@dataclass(frozen=True)
class EarlierLine:
    """A model's figures under a measure, as another evaluation found them."""

    model: str
    date: str
    measure: str
    figures: str
    differs_in: str
    """By what it is not comparable; empty if it is."""


def scores_path(tables: Path) -> Path:
    """Return the path of the figures beside `FAMILY-MODEL.tables.json`."""
    return tables.with_name(f"{tables.name.removesuffix('.tables.json')}{ENDING}")


def write_scores(path: Path, scores: EvaluationScores) -> None:
    """Write the figures."""
    write_whole(path, scores.sealed(indent=True) + b"\n")


def read_scores(path: Path) -> EvaluationScores | None:
    """Return the figures in a file; None if there are none, or they are damaged."""
    try:
        return EvaluationScores.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def earlier_lines(path: Path, signature: Signature, units: Mapping[str, Unit]) -> Iterator[EarlierLine]:
    """Yield the figures of other evaluations of a family, whose files lie beside `path`; damaged files are left out.

    With them, by what they are not comparable with those of this signature.
    """
    for other in sorted(path.parent.glob(f"{signature.family}-*{ENDING}")):
        scores = read_scores(other) if other != path else None
        if scores is None or scores.signature.family != signature.family:
            continue
        differs = signature.differences_in_words(scores.signature)
        for measure, unit in units.items():
            rows = [row for row in scores.figures if row.measure == measure and row.against is None]
            for model in dict.fromkeys(row.model for row in rows):
                told = [
                    f"{row.at} {written(Figure(row.value, row.low, row.high, row.items), unit)}"
                    for row in rows
                    if row.model == model
                ]
                yield EarlierLine(
                    model, scores.signature.date.isoformat(), measure, "; ".join(told), "; ".join(differs)
                )  # fmt: skip


def write_cells(path: Path, cells: Sequence[TableCell]) -> None:
    """Write the cells of all tables as CSV, for spreadsheets: no text of theirs is a formula."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(TableCell.model_fields)
    table.writerows(map(_no_formula, cell.model_dump().values()) for cell in cells)
    write_whole(path, text.getvalue().encode())


def _no_formula(value: str | float | None) -> str | float | None:
    """Return a value that a spreadsheet shows as it is: behind an apostrophe, nothing is computed."""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value
