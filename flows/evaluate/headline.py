"""A family's measures: the figures by which models are compared, with intervals, in words and as a drawing."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from pydantic import Field

from flows.construct.evaluation import Measure
from flows.report.whiskers import Mark, whiskers
from flows.scoring.intervals import Figure, Measured, by_measure
from flows.scoring.tables import SHARES, Unit
from flows.scoring.values import Value
from schemas.base import Frozen, counted

RATED = (1.0, 5.0)
"""The ends of the scale of ratings."""
WHATS: Mapping[Unit, str] = {
    "share": "share of {}, in per cent",
    "per cent": "mean of {}, in per cent",
    "rating": "mean rating, from 1 to 5, of {}",
    "count": "mean of {}",
}
"""What a figure of a unit is."""


class FigureRow(Frozen):
    """A mean under a condition, or by how much a model is higher under it than under another one."""

    measure: str
    model: str
    at: str
    against: str | None = Field(None, description="Of a change: the condition that it is taken against")
    value: float
    low: float | None = Field(description="Of the 95 % interval; null over too few sources")
    high: float | None
    items: int


@dataclass(frozen=True)
class LineView:
    """A model under a measure's conditions, written out."""

    model: str
    colour: int
    cells: tuple[str, ...]
    change: str
    items: int


@dataclass(frozen=True)
class MeasureView:
    """A measure as a page shows it."""

    name: str
    what: str
    """What its values are, and what its conditions are."""
    chart: Markup
    conditions: tuple[str, ...]
    lines: tuple[LineView, ...]
    sentences: tuple[str, ...]


def measured_by(measures: Sequence[Measure], values: Collection[Value]) -> Mapping[str, Measured]:
    """Return the values by measure."""
    return by_measure(values, {measure.name for measure in measures if not measure.is_share})


def figure_rows(measures: Sequence[Measure], measured: Mapping[str, Measured]) -> Iterator[FigureRow]:
    """Yield the figures of all models, and each model's changes from the first condition."""
    for measure, values in _present(measures, measured):
        for group in values.groups:
            for at in values.conditions:
                if (figure := values.of(group, at)) is not None:
                    yield _row(measure.name, group, at, None, figure)
                if (change := values.change(group, values.conditions[0], at)) is not None:
                    yield _row(measure.name, group, at, values.conditions[0], change)


def _row(measure: str, group: str, at: str, against: str | None, figure: Figure) -> FigureRow:
    return FigureRow(
        measure=measure, model=group, at=at, against=against,
        value=figure.value, low=figure.low, high=figure.high, items=figure.items,
    )  # fmt: skip


def _present(measures: Sequence[Measure], measured: Mapping[str, Measured]) -> Iterator[tuple[Measure, Measured]]:
    yield from ((measure, measured[measure.name]) for measure in measures if measure.name in measured)


def measure_views(measures: Sequence[Measure], measured: Mapping[str, Measured]) -> list[MeasureView]:
    """Return the measures that have values, as a page shows them."""
    return [measure_view(measure, values) for measure, values in _present(measures, measured)]


def measure_view(measure: Measure, values: Measured) -> MeasureView:
    """Return a measure as a page shows it."""
    last = values.conditions[-1]
    lines = []
    for colour, group in enumerate(values.groups):
        figures = [values.of(group, at) for at in values.conditions]
        change = values.change(group, values.conditions[0], last)
        lines.append(
            LineView(
                group,
                colour,
                tuple("–" if figure is None else written(figure, measure.unit) for figure in figures),
                "" if change is None else written(change, measure.unit, signed=True),
                max(figure.items for figure in figures if figure is not None),
            )
        )
    sentences = tuple(sentence for group in values.groups for sentence in _sentences(measure, values, group))
    return MeasureView(
        measure.name, what(measure), _chart(measure, values), values.conditions, tuple(lines), sentences
    )  # fmt: skip


def what(measure: Measure) -> str:
    """Return what the values are: "share of replies that are the answer, in per cent, by level"."""
    return f"{WHATS[measure.unit].format(measure.tells)}, by {measure.condition}"


def written(figure: Figure, unit: Unit, *, signed: bool = False) -> str:
    """Return a figure with its interval: `78.0 (70.1 to 84.9)`."""
    if figure.low is None or figure.high is None:
        return number(figure.value, unit, signed=signed)
    low, high = number(figure.low, unit, signed=signed), number(figure.high, unit, signed=signed)
    return f"{number(figure.value, unit, signed=signed)} ({low} to {high})"


def number(value: float, unit: Unit, *, signed: bool = False) -> str:
    """Return a share in per cent with a decimal, anything else with two; the minus is one."""
    shown, digits = (round(100 * value, 1), 1) if unit in SHARES else (round(value, 2), 2)
    return f"{shown + 0.0:{'+' if signed else ''}.{digits}f}".replace("-", "−")


def _sentences(measure: Measure, values: Measured, group: str) -> Iterator[str]:
    """Yield what the figures of a model say."""
    first, last = values.conditions[0], values.conditions[-1]
    ends, change = values.over_both(group, first, last), values.change(group, first, last)
    if ends is None or change is None:
        only = [(at, figure) for at in values.conditions if (figure := values.of(group, at)) is not None]
        for at, figure in only[:1]:
            yield f"{group}: {written(figure, measure.unit)} at {at}, over {counted(figure.items, 'item')}."
        return
    yield (
        f"{group}: {number(ends[0], measure.unit)} at {first}, {number(ends[1], measure.unit)} at {last}: "
        f"{in_words(change, measure.unit)} ({counted(change.items, 'item')})."
    )


def in_words(change: Figure, unit: Unit) -> str:
    """Return what a difference says: "lower by 37.0 (28.1 to 46.3)"; "no difference is shown (−3.0 to +5.1)"."""
    if change.low is None or change.high is None:
        return f"{number(change.value, unit, signed=True)}, over too few sources for an interval"
    if change.low == change.high == 0:
        return "the same"
    if not change.differs:
        ends = (number(end, unit, signed=True) for end in (change.low, change.high))
        return f"no difference is shown ({' to '.join(ends)})"
    low, high = sorted((abs(change.low), abs(change.high)))
    size = f"{number(abs(change.value), unit)} ({number(low, unit)} to {number(high, unit)})"
    return f"{'higher' if change.value > 0 else 'lower'} by {size}"


def _chart(measure: Measure, values: Measured) -> Markup:
    groups: list[tuple[str, list[Mark]]] = []
    every: list[float] = []
    for at in values.conditions:
        marks = []
        for colour, group in enumerate(values.groups):
            if (figure := values.of(group, at)) is not None:
                shown = written(figure, measure.unit)
                marks.append(Mark(group, colour, figure.value, figure.low, figure.high, shown))
                every += [figure.value, figure.high or figure.value]
        groups.append((at, marks))
    ends, ticks = _scale(measure.unit, every)
    return whiskers(groups, ends, ticks, _axis(measure))


def _axis(measure: Measure) -> str:
    return {"rating": "mean rating", "count": "mean"}.get(measure.unit, "per cent")


def _scale(unit: Unit, values: Sequence[float]) -> tuple[tuple[float, float], list[tuple[float, str]]]:
    if unit == "rating":
        return RATED, [(float(at), str(at)) for at in range(1, 6)]
    if unit == "count":
        most = max(values, default=1.0) or 1.0
        return (0.0, most), [(0.0, "0"), (most, f"{most:,.3g}")]
    return (0.0, 1.0), [(share / 4, str(25 * share)) for share in range(5)]
