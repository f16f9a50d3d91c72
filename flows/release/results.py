"""Scores over versions, for the card: from the scores files that people put into the folder `results` of the dataset.

Files that people put into the newest version go from version to version, and these with them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from data.publish.card_facts import ResultTable
from data.publish.folder import Release
from data.publish.version_number import is_version, parsed_version
from data.whole_file import write_whole
from flows.construct.engine import Family
from flows.construct.evaluation import Measure
from flows.evaluate.headline import number, written
from flows.evaluate.scores_file import ENDING, EvaluationScores, read_scores
from flows.report.plots import DrawnPlot, Interval, intervals_plot
from flows.scoring.intervals import Figure

RESULTS = "results"
"""Folder of the files in a version."""
OF_VERSION = ("dataset", "asked")
"""By these, scores on two versions differ in any case."""


@dataclass(frozen=True)
class _Score:
    """A model's headline figure on a version."""

    version: str
    scores: EvaluationScores
    figure: Figure
    at: str

    def is_beside(self, other: "_Score") -> bool:
        """Return whether both scores mean the same, but for the version."""
        ours, theirs = self.scores, other.scores
        differs = set(ours.signature.differences(theirs.signature)) - {*OF_VERSION}
        return not differs and (ours.signature.model, ours.signature.served, ours.way, self.at) == (
            theirs.signature.model, theirs.signature.served, theirs.way, other.at,
        )  # fmt: skip


class Results(NamedTuple):
    """What the card shows of them, and a line on each file that is in no table."""

    tables: Sequence[ResultTable]
    plots: Sequence[DrawnPlot]
    left_out: Sequence[str]

    def draw(self, folder: Path) -> None:
        """Write the plots into the folder of a version."""
        for drawn in self.plots:
            write_whole(folder / drawn.plot.path, drawn.content)

    @property
    def in_card(self) -> Mapping[str, object]:
        """The card's facts."""
        return {"results": tuple(self.tables), "result_plots": tuple(drawn.plot for drawn in self.plots)}


def results_of(name: str, before: Release | None, families: Sequence[Family]) -> Results:
    """Return a table and a plot for each family of the dataset `name` that has scores in the version before."""
    families = list({family.name: family for family in families}.values())
    tables: list[ResultTable] = []
    plots: list[DrawnPlot] = []
    left_out: list[str] = []
    files = sorted((before.folder / RESULTS).rglob(f"*{ENDING}")) if before is not None else []
    fitting: dict[str, list[EvaluationScores]] = {}
    for path in files:
        scores = read_scores(path)
        if (why := _why_not(name, scores, families)) is not None:
            left_out.append(f"{path}: {why}")
        elif scores is not None:
            fitting.setdefault(scores.signature.family, []).append(scores)
    for family in families:
        measure, of_family = _headlines(family, fitting.get(family.name, ()))
        if measure is None or not of_family:
            continue
        columns = _columns(of_family)
        tables.append(_table(family, measure, columns))
        if plot := _plot(family, measure, columns):
            plots.append(plot)
    return Results(tables, plots, left_out)


def _why_not(name: str, scores: EvaluationScores | None, families: Sequence[Family]) -> str | None:
    if scores is None:
        return "is no scores file; put in what `touchstone profile` and `evaluate` write"
    dataset, _, version = scores.signature.dataset.partition("@")
    if dataset != name or not is_version(version):
        return f"its scores are of {scores.signature.dataset}, and not of a version of {name}"
    if scores.signature.family not in {family.name for family in families}:
        return f"its scores are of {scores.signature.family}, which is not in this version"
    return None


def _headlines(family: Family, found: Sequence[EvaluationScores]) -> tuple[Measure | None, list[_Score]]:
    """Return the family's first measure that has scores on versions, and these, of its last condition."""
    for measure in family.evaluation.measures:
        scores = []
        for one in found:
            if rows := [row for row in one.figures if row.measure == measure.name and row.against is None]:
                last, version = rows[-1], one.signature.dataset.rpartition("@")[2]
                scores.append(_Score(version, one, Figure(last.value, last.low, last.high, last.items), last.at))
        if scores:
            return measure, sorted(
                scores, key=lambda score: (score.scores.signature.model, score.scores.signature.date)
            )
    return None, []


def _columns(scores: Sequence[_Score]) -> list[list[_Score]]:
    """Return the scores in columns: all of a column mean the same, but for the version."""
    columns: list[list[_Score]] = []
    for score in scores:
        column = next((column for column in columns if column[0].is_beside(score)), None)
        if column is None:
            columns.append([score])
        else:
            column.append(score)
    return columns


def _titles(columns: Sequence[Sequence[_Score]]) -> Iterator[str]:
    """Yield what tells each column: its model, and by what it differs from an earlier column of that model."""
    firsts: dict[str, _Score] = {}
    for column in columns:
        signature, way = column[0].scores.signature, column[0].scores.way
        named = ", ".join(filter(None, [signature.model, *signature.served, way]))
        first = firsts.setdefault(signature.model, column[0])
        differs = [
            words
            for name, words in zip(
                first.scores.signature.differences(signature),
                first.scores.signature.differences_in_words(signature),
                strict=True,
            )
            if name not in OF_VERSION
        ]
        yield f"{named} ({'; '.join(differs)})" if differs else named


def _table(family: Family, measure: Measure, columns: Sequence[Sequence[_Score]]) -> ResultTable:
    versions = sorted({score.version for column in columns for score in column}, key=parsed_version)
    newest = {
        (score.version, place): score for place, column in enumerate(columns) for score in column
    }  # of two scores that mean the same, the later
    lines = []
    for version in versions:
        cells = []
        for place in range(len(columns)):
            score = newest.get((version, place))
            part = ", in part" if score and score.scores.partial else ""
            cells.append(f"{written(score.figure, measure.unit)}, n = {score.figure.items:,}{part}" if score else "–")
        lines.append((version, tuple(cells)))
    return ResultTable(
        family=family.name,
        measure=f"{measure.name}, {columns[0][0].at}",
        columns=tuple(_titles(columns)),
        lines=tuple(lines),
        signatures=tuple(
            str(newest[key].scores.signature) for key in sorted(newest, key=lambda k: (parsed_version(k[0]), k[1]))
        ),
    )


def _plot(family: Family, measure: Measure, columns: Sequence[Sequence[_Score]]) -> DrawnPlot | None:
    """Return a plot of the scores, column by column; None if they are no shares, which have a common scale."""
    if not measure.is_share:
        return None
    marks = []
    for place, column in enumerate(columns, start=1):
        model = column[0].scores.signature.model
        by_version = {score.version: score for score in column}
        for version in sorted(by_version, key=parsed_version):
            figure = by_version[version].figure
            shown = f"{number(figure.value, measure.unit)} ({figure.items:,})"
            marks.append(Interval(f"{version}, column {place}: {model}", figure.value, figure.low, figure.high, shown))
    caption = "Each with its 95 % interval, in per cent; in brackets, items. The signatures stand under the table."
    return intervals_plot(
        f"{family.name}-scores",
        family.name,
        f"Scores over versions: {measure.name}, {columns[0][0].at}",
        caption,
        marks,
    )
