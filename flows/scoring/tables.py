"""The tables of an evaluation as frames and cells: a scorer's result for the command line, with units and layouts."""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from flows.scoring.scorer import CannotScore, Row, Scores, empty_note, failed_note
from flows.scoring.values import Value, Values
from schemas.errors import WrongInput
from schemas.prediction import Prediction, TableCell

if TYPE_CHECKING:  # importing it takes a third of a second, and most commands make no table
    import pandas as pd

Unit = Literal["share", "per cent", "rating", "count"]
"""The kind of a table's values: shares from 0 to 1, such shares that are shown in per cent, ratings from 1 to 5 and
their differences, or counts and lengths."""
UNITS: Mapping[Unit, str] = {
    "share": "shares from 0 to 1",
    "per cent": "per cent",
    "rating": "ratings from 1 to 5",
    "count": "counts and lengths",
}
"""The units in words."""
SHARES: tuple[Unit, ...] = ("share", "per cent")
"""The units of shares."""
ALL_LEVELS = "all levels"
"""The column over all the others, which are points on a scale; it is not itself a point."""


BESIDE = "beside the scores"
"""The table of failures, of replies that say nothing, and of what was cut."""
FAILED, EMPTY, CUT, REFUSED = "failed: ", "empty reply", "reply cut off at its tokens", "refused to answer"
PROMPT_CUT = "prompt cut in its middle"
"""The names of its lines; a failure's name continues with its reason."""


class ScoreError(WrongInput):
    """Predictions that do not fit the rows: one line with the counts and what to do."""


Beside = Counter[tuple[str, str, str]]
"""How many predictions of a model and variant stand in a line beside the scores: by (model, variant, line)."""


class PartialScores(UserWarning):
    """Scores of the existing predictions: how many others were missing, double or unknown."""

    def __init__(self, message: str, left_out: Beside | None = None) -> None:
        """`left_out` counts the double and unknown predictions that `told_beside` would count."""
        super().__init__(message)
        self.left_out = left_out or Beside()


class Layout(NamedTuple):
    """The meaning of a table's lines and of its columns, in a few words: "model / source", "measure"."""

    lines: str
    columns: str


@dataclass(frozen=True)
class ScoreTables:
    """The tables as frames, and all their cells in one list."""

    frames: Mapping[str, "pd.DataFrame"]
    """By table: a line for each thing that the table distinguishes, a column for each context count or measure."""
    tables: Sequence[TableCell]
    notes: Sequence[str] = ()
    """For a reader of the tables."""
    stacked: frozenset[str] = frozenset()
    """Tables whose lines are a sequence, and whose columns are shares of a whole: they are drawn as stacked bars."""
    grids: frozenset[str] = frozenset()
    """Tables of shares whose lines and columns are the same sequence, in order: they are drawn as heatmaps."""
    units: Mapping[str, Unit] = field(default_factory=dict)
    """By table; a table without a unit holds shares."""
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    values: Collection[Value] = ()
    """By which models are compared."""

    @classmethod
    def of(
        cls,
        frames: Mapping[str, "pd.DataFrame"],
        notes: Sequence[str] = (),
        stacked: Iterable[str] = (),
        units: Mapping[str, Unit] | None = None,
        grids: Iterable[str] = (),
        layouts: Mapping[str, Layout] | None = None,
        values: Collection[Value] = (),
    ) -> "ScoreTables":
        """From frames with one line per cell: `row, column, value, n`; the value of a cell with n = 0 is None."""
        wide = {name: _wide(frame) for name, frame in frames.items()}
        drawn = frozenset(grids)
        wide |= {name: wide[name].reindex(index=frames[name]["row"].drop_duplicates()) for name in drawn}
        return cls(wide, _cells(frames), notes, frozenset(stacked), drawn, units or {}, layouts or {}, values)

    def joined(self, other: "ScoreTables") -> "ScoreTables":
        """These tables, followed by the others."""
        return ScoreTables(
            {**self.frames, **other.frames},
            (*self.tables, *other.tables),
            (*self.notes, *other.notes),
            self.stacked | other.stacked,
            self.grids | other.grids,
            {**self.units, **other.units},
            {**self.layouts, **other.layouts},
            Values(chain(self.values, other.values)) if self.values and other.values else self.values or other.values,
        )

    def unit(self, table: str) -> Unit:
        """The unit of the table's values."""
        return self.units.get(table, "share")

    def lines(self, table: str) -> str:
        """The meaning of the table's lines; empty if it is not known."""
        return self.layouts[table].lines if table in self.layouts else ""

    def about(self, table: str) -> str:
        """The unit and the meaning of the columns, in a line."""
        unit = UNITS[self.unit(table)]
        return f"{unit}; columns: {self.layouts[table].columns}" if table in self.layouts else unit


Score = Callable[[Iterable[Row], Iterable[Row], bool], Scores]
"""A family's scorer: (rows, predictions, partial)."""


def score_tables(
    score: Score,
    rows: Iterable[Row],
    predictions: Iterable[Prediction],
    partial: bool,
    layout: Callable[[str], Layout],
    unit: Callable[[str], Unit] = lambda table: "share",
) -> ScoreTables:
    """Return the tables that a family's scorer gives.

    Raises `ScoreError` for what the scorer cannot score. With `partial`, a warning, `PartialScores`, says how many
    predictions were missing, double and unknown. Failures and empty replies are left to `told_beside`.
    """
    import pandas as pd

    try:
        scores = score(rows, map(dict, predictions), partial)
    except CannotScore as error:
        raise ScoreError(str(error)) from error
    for message, left_out in scores.account.partial:
        beside = Beside()
        for prediction in left_out:
            beside.update(_lines_beside(Prediction.model_construct(**prediction)))
        warnings.warn(PartialScores(message, beside), stacklevel=2)
    frames = {
        table: pd.DataFrame(cells, columns=["row", "column", "value", "n"]).astype({"value": float, "n": int})
        for table, cells in scores.tables.items()
    }
    return ScoreTables.of(
        frames,
        scores.notes,
        units={table: unit(table) for table in frames},
        layouts={table: layout(table) for table in frames},
        values=scores.values,
    )


def tally(predictions: Iterable[Prediction], seen: Beside) -> Iterator[Prediction]:
    """Pass the predictions on, and count in `seen` what `told_beside` tells of them."""
    for prediction in predictions:
        seen.update(_lines_beside(prediction))
        yield prediction


def _lines_beside(prediction: Prediction) -> list[tuple[str, str, str]]:
    """The lines that count the prediction."""
    lines = {
        f"{FAILED}{prediction.failure}": prediction.failure is not None,
        EMPTY: prediction.failure is None and prediction.scores is None and not prediction.prediction.strip(),
        CUT: prediction.cut_off is not None,
        REFUSED: prediction.refused is not None,
        PROMPT_CUT: prediction.prompt_cut is not None,
    }
    return [(prediction.group, prediction.variant, line) for line, is_so in lines.items() if is_so]


def told_beside(seen: Beside) -> ScoreTables:
    """Count by model and variant the predictions that failed, are empty or were cut off, and those whose prompts were
    cut."""
    counts: Counter[tuple[str, str]] = Counter()
    sums: Counter[str] = Counter()
    for (group, variant, line), count in seen.items():
        counts[f"{group} / {line}", variant] += count
        sums[FAILED if line.startswith(FAILED) else line] += count
    lines = [
        {"row": row, "column": variant, "value": float(count), "n": count}
        for (row, variant), count in sorted(counts.items())
        if count > 0
    ]
    if not lines:
        return ScoreTables.of({})
    import pandas as pd

    notes = {
        FAILED: failed_note(sums[FAILED]),
        EMPTY: empty_note(sums[EMPTY]),
        CUT: f"{sums[CUT]:,} replies were cut off at their limit of tokens, and are scored as they are (max_tokens)",
        REFUSED: f"{sums[REFUSED]:,} replies are refusals, as the server marks them, and are scored as they are",
        PROMPT_CUT: f"{sums[PROMPT_CUT]:,} prompts were cut in their middle to fit into the model's window",
    }
    return ScoreTables.of(
        {BESIDE: pd.DataFrame(lines)},
        [note for line, note in notes.items() if sums[line]],
        units={BESIDE: "count"},
        layouts={BESIDE: Layout("model / what is counted", "variant")},
    )


def measured(value: float, unit: Literal["per cent", "rating", "count"]) -> str:
    """A rating with two decimals, and a share in per cent; a count whole, a mean length with one decimal."""
    if unit == "per cent":
        return f"{100 * value:.2f}"
    if unit == "rating":
        return f"{round(value, 2) + 0.0:.2f}"  # a difference of -0.001 is 0.00
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def in_words(frame: "pd.DataFrame", written: Callable[[Any], str]) -> "pd.DataFrame":
    """Return the frame with its cells `written`, and each interval within the cell that it belongs to.

    `turn 1` has an interval if `turn 1 low` and `turn 1 high` are beside it; `mean` has one with `low` and `high`.
    """
    import pandas as pd

    ends = {name: (f"{name} low", f"{name} high") for name in frame.columns} | {"mean": ("low", "high")}
    intervals = {name: pair for name, pair in ends.items() if {name, *pair} <= set(frame.columns)}
    inner = {end for pair in intervals.values() for end in pair}
    shown: dict[str, list[str]] = {}
    for column in frame.columns:
        if column in inner:
            continue
        cells = [written(value) for value in frame[column]]
        if column in intervals:
            bounds = zip(*(frame[end] for end in intervals[column]), strict=True)
            cells = [
                cell if pd.isna(low) else f"{cell} ({written(low)} to {written(high)})"
                for cell, (low, high) in zip(cells, bounds, strict=True)
            ]
        shown[str(column)] = cells
    return pd.DataFrame(shown, index=frame.index)


def _wide(frame: "pd.DataFrame") -> "pd.DataFrame":
    """One line per row, one column per count or measure: counts in numeric order, measures as they came."""
    import pandas as pd

    columns = frame["column"].drop_duplicates()
    order = sorted(columns) if pd.api.types.is_numeric_dtype(columns) else list(columns)
    return frame.pivot(index="row", columns="column", values="value").reindex(columns=pd.Index(order, name="column"))


def _cells(frames: Mapping[str, "pd.DataFrame"]) -> list[TableCell]:
    return [
        TableCell(table=name, row=row, column=str(column), value=float(value) if n else None, n=int(n))
        for name, frame in frames.items()
        for row, column, value, n in frame.itertuples(index=False, name=None)
    ]
