"""What every family's scorer shares: predictions that fit their rows, and tables of shares, ratings and counts."""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

import pandas as pd

from schemas.errors import WrongInput
from schemas.prediction import Prediction, TableCell

Row = TypeVar("Row")
Line = TypeVar("Line")
Unit = Literal["share", "per cent", "rating", "count"]
"""What a table's values are: shares from 0 to 1, such shares that are shown in per cent, ratings from 1 to 5 and their
differences, or counts and lengths."""
UNITS: Mapping[Unit, str] = {
    "share": "shares from 0 to 1",
    "per cent": "per cent",
    "rating": "ratings from 1 to 5",
    "count": "counts and lengths",
}
"""The units in words."""
ALL_LEVELS = "all levels"
"""The column over all the others, which are points on a scale: it is none of its own."""


BESIDE = "beside the scores"
"""The table of failures, of replies that say nothing, and of what was cut."""
FAILED, EMPTY, CUT, PROMPT_CUT = "failed: ", "empty reply", "reply cut off at its tokens", "prompt cut in its middle"
"""What its lines count; a failure's says which."""


class ScoreError(WrongInput):
    """Predictions that do not fit the rows: one line with the counts and what to do."""


class AllFailed(ScoreError):  # noqa: N818 - names what happened
    """Predictions of which every one failed."""


class PartialScores(UserWarning):
    """Scores of what is there: how many predictions were missing, double or unknown."""

    def __init__(self, said: str, left_out: Sequence[Prediction] = ()) -> None:
        """`left_out` are those, double or unknown, of which something would be told beside the scores."""
        super().__init__(said)
        self.left_out = left_out


class Layout(NamedTuple):
    """What a table's lines and its columns tell apart, in a few words: "model / source", "measure"."""

    lines: str
    columns: str


@dataclass(frozen=True)
class ScoreTables:
    """The tables as frames, and all their cells in one list."""

    frames: Mapping[str, pd.DataFrame]
    """By table: a line for what the table tells apart, a column for each context count or measure."""
    tables: Sequence[TableCell]
    notes: Sequence[str] = ()
    """What a reader of the tables should know."""
    stacked: frozenset[str] = frozenset()
    """Tables whose lines are a sequence, and whose columns are shares of a whole: they are drawn as stacked bars."""
    grids: frozenset[str] = frozenset()
    """Tables of shares whose lines and columns are one sequence, in its order: they are drawn as heatmaps."""
    units: Mapping[str, Unit] = field(default_factory=dict)
    """By table, what its values are; shares where nothing is said."""
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    """By table, what its lines and columns are."""

    @classmethod
    def of(
        cls,
        frames: Mapping[str, pd.DataFrame],
        notes: Sequence[str] = (),
        stacked: Iterable[str] = (),
        units: Mapping[str, Unit] | None = None,
        grids: Iterable[str] = (),
        layouts: Mapping[str, Layout] | None = None,
    ) -> "ScoreTables":
        """From frames with a line a cell: `row, column, value, n`; the value of a cell with n = 0 is None."""
        wide = {name: _wide(frame) for name, frame in frames.items()}
        drawn = frozenset(grids)
        wide |= {name: wide[name].reindex(index=frames[name]["row"].drop_duplicates()) for name in drawn}
        return cls(wide, _cells(frames), notes, frozenset(stacked), drawn, units or {}, layouts or {})

    def joined(self, other: "ScoreTables") -> "ScoreTables":
        """These tables, and behind them the others."""
        return ScoreTables(
            {**self.frames, **other.frames},
            (*self.tables, *other.tables),
            (*self.notes, *other.notes),
            self.stacked | other.stacked,
            self.grids | other.grids,
            {**self.units, **other.units},
            {**self.layouts, **other.layouts},
        )

    def unit(self, table: str) -> Unit:
        """What the table's values are."""
        return self.units.get(table, "share")

    def lines(self, table: str) -> str:
        """What the table's lines tell apart; nothing where that is not said."""
        return self.layouts[table].lines if table in self.layouts else ""

    def about(self, table: str) -> str:
        """In a line, what the table's values and its columns are."""
        said = UNITS[self.unit(table)]
        return f"{said}; columns: {self.layouts[table].columns}" if table in self.layouts else said


def fitting(
    rows: Mapping[str, Row],
    variants: Callable[[Row], Sequence[str]],
    predictions: Iterable[Prediction],
    partial: bool,
    line: Callable[[Row, Prediction], Line],
    *,
    may_lack: Callable[[str | None], Collection[str]] = lambda prompting: (),
) -> list[Line]:
    """`line(row, prediction)` of each prediction but failures, in their order. `rows` are by id.

    Each group (model, prompting, shots) needs one for each row and variant; `may_lack` names the variants
    that a prompting can do without. Raises `ScoreError` where one is missing, double, or of a row or
    variant that is not there, and `AllFailed` where nothing is left. With `partial` the unknown are left out, of
    two the first counts, and a warning, `PartialScores`, says how many were missing, double and unknown.
    """
    lines: dict[tuple[str, str, str], Line | None] = {}
    faults: dict[str, list[str]] = {"missing": [], "double": [], "unknown": []}
    groups: dict[str, str | None] = {}
    strange = False
    left_out: list[Prediction] = []
    for prediction in predictions:
        row = rows.get(prediction.id)
        place = prediction.group, prediction.id, prediction.variant
        groups[prediction.group] = prediction.prompting
        strange = strange or row is None
        if row is None or prediction.variant not in variants(row):
            faults["unknown"].append(f"{prediction.id} {prediction.variant}")
            _note(prediction, left_out)
        elif place in lines:
            faults["double"].append(f"{prediction.id} {prediction.variant}")
            _note(prediction, left_out)
        else:
            lines[place] = line(row, prediction) if prediction.failure is None else None
    expected = 0
    for group, prompting in sorted(groups.items()):
        spared = may_lack(prompting)
        needed = [(id_, variant) for id_, row in rows.items() for variant in variants(row) if variant not in spared]
        expected += len(needed)
        faults["missing"] += [f"{id_} {variant}" for id_, variant in needed if (group, id_, variant) not in lines]
    counts = ", ".join(
        f"{len(found)} {fault}" + (f" (first: {found[0]})" if found else "") for fault, found in faults.items()
    )
    if lines and partial and any(faults.values()):
        said = f"{len(lines)} of {expected} predictions are scored: {counts}"
        warnings.warn(PartialScores(said, left_out), stacklevel=2)
    if not lines or (any(faults.values()) and not partial):
        wanted = expected or sum(len(variants(row)) for row in rows.values())
        advice = "give one for each row and variant, or score what is there with --partial"
        if not groups:
            raise ScoreError("predictions: expected JSONL rows of id, variant and prediction, found none")
        if not lines and not strange:
            known = ", ".join(sorted({variant for row in rows.values() for variant in variants(row)}))
            advice = f"no variant is known; they are {known}"
        elif not lines:
            advice = "they seem to be of another build; name theirs by --out"
        elif faults["double"]:
            advice += "; model, prompting and shots tell replies of one model apart from another's"
        raise ScoreError(f"predictions: expected one for each of {wanted}, found {counts}; {advice}")
    found = [one for one in lines.values() if one is not None]
    if not found:
        raise AllFailed(
            f"predictions: all {len(lines)} failed, and none is scored; their `failure` says why. Prompts that are too "
            "long are cut where the model's settings have its `window`"
        )
    return found


def tally(predictions: Iterable[Prediction], seen: list[Prediction]) -> Iterator[Prediction]:
    """The predictions; those of which something is to be told beside the scores are noted in `seen`."""
    for one in predictions:
        _note(one, seen)
        yield one


def _note(one: Prediction, seen: list[Prediction]) -> None:
    if one.failure is not None or one.cut_off or one.prompt_cut or says_nothing(one):
        # Whether it says anything is enough: a million replies are long.
        seen.append(one.model_copy(update={"prediction": one.prediction.strip()[:1]}))


def says_nothing(one: Prediction) -> bool:
    """Whether the model was asked for a reply, and gave an empty one."""
    return one.failure is None and one.scores is None and not one.prediction.strip()


def told_beside(seen: Sequence[Prediction], left_out: Sequence[Prediction] = ()) -> ScoreTables:
    """What scores do not tell: by model and variant, how many predictions failed, are empty or were cut off, or their
    prompts. Of those `seen`, those `left_out` of the scores count for nothing.
    """
    counts: Counter[tuple[str, str]] = Counter()
    sums: Counter[str] = Counter()
    for one, count in (*((one, 1) for one in seen), *((one, -1) for one in left_out)):
        for what, is_so in (
            (f"{FAILED}{one.failure}", one.failure is not None),
            (EMPTY, says_nothing(one)),
            (CUT, one.cut_off is not None),
            (PROMPT_CUT, one.prompt_cut is not None),
        ):
            counts[f"{one.group} / {what}", one.variant] += count * is_so
            sums[FAILED if what.startswith(FAILED) else what] += count * is_so
    if not (counted := +counts):
        return ScoreTables.of({})
    lines = [
        {"row": row, "column": variant, "value": float(count), "n": count}
        for (row, variant), count in sorted(counted.items())
    ]
    notes = []
    if failed := sums[FAILED]:
        taken = "the server (or the model that is loaded here) did not take the prompt"
        notes.append(f"{failed:,} predictions failed and are not scored: {taken}")
    if empty := sums[EMPTY]:
        notes.append(f"{empty:,} replies are empty, and are scored as they are: the model said nothing")
    if cut := sums[CUT]:
        notes.append(f"{cut:,} replies were cut off at their limit of tokens, and are scored as they are (max_tokens)")
    if cut := sums[PROMPT_CUT]:
        notes.append(f"{cut:,} prompts were cut in their middle to fit into the model's window")
    layouts = {BESIDE: Layout("model / what is counted", "variant")}
    return ScoreTables.of({BESIDE: pd.DataFrame(lines)}, notes, units={BESIDE: "count"}, layouts=layouts)


def measured(value: float, unit: Literal["per cent", "rating", "count"]) -> str:
    """A rating with two decimals, and a share in per cent; a count whole, a mean length with one decimal."""
    if unit == "per cent":
        return f"{100 * value:.2f}"
    if unit == "rating":
        return f"{round(value, 2) + 0.0:.2f}"  # a difference of -0.001 is 0.00
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def in_words(frame: pd.DataFrame, written: Callable[[Any], str]) -> pd.DataFrame:
    """The frame with its cells `written`; an interval stands in the cell of what it is about.

    `turn 1` has one where `turn 1 low` and `turn 1 high` stand beside it; `mean`, with `low` and `high`.
    """
    ends = {one: (f"{one} low", f"{one} high") for one in frame.columns} | {"mean": ("low", "high")}
    found = {one: pair for one, pair in ends.items() if {one, *pair} <= set(frame.columns)}
    inner = {end for pair in found.values() for end in pair}
    shown: dict[str, list[str]] = {}
    for column in frame.columns:
        if column in inner:
            continue
        cells = [written(value) for value in frame[column]]
        if column in found:
            bounds = zip(*(frame[end] for end in found[column]), strict=True)
            cells = [
                cell if pd.isna(low) else f"{cell} ({written(low)} to {written(high)})"
                for cell, (low, high) in zip(cells, bounds, strict=True)
            ]
        shown[str(column)] = cells
    return pd.DataFrame(shown, index=frame.index)


def means(values: "pd.Series[float]", by: Sequence[str]) -> pd.DataFrame:
    """Mean and number of the values that are there, for each combination of the levels `by`, as `cells`."""
    return cells(values.groupby(level=list(by)).agg(["mean", "count"]), by)


def cells(found: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """A line a cell from the columns `mean` and `count`; the last of the levels `by` names the column."""
    flat = found.reset_index()
    row = flat[list(by[:-1])].astype(str).agg(" / ".join, axis=1)
    return pd.DataFrame({"row": row, "column": flat[by[-1]], "value": flat["mean"], "n": flat["count"]})


def _wide(frame: pd.DataFrame) -> pd.DataFrame:
    """A line a row and a column a count or measure: counts in the order of numbers, measures as they came."""
    columns = frame["column"].drop_duplicates()
    order = sorted(columns) if pd.api.types.is_numeric_dtype(columns) else list(columns)
    return frame.pivot(index="row", columns="column", values="value").reindex(columns=pd.Index(order, name="column"))


def _cells(frames: Mapping[str, pd.DataFrame]) -> list[TableCell]:
    return [
        TableCell(table=name, row=row, column=str(column), value=float(value) if n else None, n=int(n))
        for name, frame in frames.items()
        for row, column, value, n in frame.itertuples(index=False, name=None)
    ]
