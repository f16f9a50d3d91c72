"""Scores by the time of the rows' sources: whether a model does worse on what was written after it was trained."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain
from typing import Any

from data.publish.folder import HISTORY
from flows.construct.evaluation import Measure
from flows.project.project import Project
from flows.project.row_choice import source_dates_of
from flows.project.source_dates import source_dates
from flows.scoring.on_disk import Rows
from flows.scoring.tables import ScoreTables
from flows.scoring.values import Value, Values, stored

YEARS, QUARTERS = 3 * 365, 365
"""Days: sources over a longer time are told apart by years, over a shorter one by quarters, or by months."""
_READ = {"provenance", "place", "places"}
DateOf = Callable[[Any], str | None]
"""Returns the date of a row's sources, where they state one."""


def dates_of_rows(project: Project) -> DateOf:
    """Return a function that gives the date of a row's sources: of a released version, as its history has it."""
    if (project.out / HISTORY).is_file():
        by_key = source_dates_of(project.out)
        return lambda row: by_key.get(row.key)
    date_of = source_dates(project)
    return lambda row: date_of(row.model_dump(mode="json", include=_READ))


def dated(rows: Iterable[Any], date_of: DateOf) -> Rows:
    """Return the dates of the rows whose sources state one, by id."""
    return Rows((row.id, day) for row in rows if (day := date_of(row)) is not None)


def with_source_time(
    measures: Sequence[Measure], result: ScoreTables, dates: Rows
) -> tuple[Sequence[Measure], ScoreTables]:
    """Return measures and scores with the first measure by windows of source time, if there are several."""
    if (timed := by_source_time(measures, result.values, dates)) is None:
        return measures, result
    return (*measures, timed[0]), replace(result, values=Values(chain(result.values, timed[1])))


def by_source_time(
    measures: Sequence[Measure], values: Collection[Value], dates: Rows
) -> tuple[Measure, Values] | None:
    """Return the first measure under its last condition by windows of source time, with its values.

    `dates` are by row. None if the dates are of fewer than two windows.
    """
    values = stored(values)
    kinds = values.kinds()
    named = {kind.measure for kind in kinds}
    measure = next((measure for measure in measures if measure.name in named), None)
    if measure is None or not len(dates):
        return None
    *_, last = dict.fromkeys(kind.at for kind in kinds if kind.measure == measure.name)

    def with_day() -> Iterator[tuple[str, Value]]:
        for value in values.where(measure=measure.name, at=last):
            if (day := dates.get(value.row or value.item)) is not None:
                yield day, value

    days = {day for day, _ in with_day()}
    window = _windows(days)
    ranks = {at: rank for rank, at in enumerate(sorted(set(map(window, days))))}
    if len(ranks) < 2:
        return None
    name = f"{measure.name} over time of source"
    tells = f"{measure.tells}, {last}"
    timed = Values()
    timed.add((ranks[at := window(day)], 0, value._replace(measure=name, at=at)) for day, value in with_day())
    return Measure(name, measure.asks, tells, "the date that the sources state", measure.unit, by_change=False), timed


def _windows(days: Iterable[str]) -> Callable[[str], str]:
    """Return a function that names the window of a day: `2024`, `2024, quarter 3`, `2024-07`."""
    ends = sorted(date.fromisoformat(day) for day in days) or [date.min]
    span = (ends[-1] - ends[0]).days
    if span > YEARS:
        return lambda day: day[:4]
    if span > QUARTERS:
        return lambda day: f"{day[:4]}, quarter {(int(day[5:7]) + 2) // 3}"
    return lambda day: day[:7]
