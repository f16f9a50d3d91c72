"""When a rubric's work is finished, and how many hours it takes, by what people did in the last days.

A person works as many minutes a day on the rubric as in the last `DAYS` whole days, without the time before they began.
Their own items wait for them; what nobody has yet (tasks to hand out, reviews and revisions to come) goes to whoever
has time. So the day is when the last queue is empty, or when everybody together has done everything, whichever is
later. Intervals come from resampling the days and the times of items.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.measures import DRAWS, INTERVAL
from flows.annotate.board.outliers import LEAST
from schemas.base import content_hash, counted

DAYS = 14
"""The whole days before today (UTC) that the pace is of: two weeks, so that weekends count as they are."""
LEAST_DAYS = 3
"""Days of those on which somebody worked, before a day is named."""
RECENT = 200
"""The last items of a person, or of everybody, whose times count: people become faster."""
LONGEST_DAYS = 365
"""More than this is no forecast: in some samples nobody works any more."""

Numbers = NDArray[np.float64]


class Load(NamedTuple):
    """Items that are left on a form."""

    form: str
    by: str
    """Whose they are; empty for nobody's yet."""
    items: float


class Range(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


class Forecast(NamedTuple):
    """How much is left, and when it is done."""

    items: float
    hours: Range | None = None
    days: Range | None = None
    """Days from now; `LONGEST_DAYS` for never."""
    shared_out: Range | None = None
    """Days from now, if whoever has time also took over what waits for others."""
    last: str = ""
    """Whose queue is the last, if it alone takes longer than everybody together needs for everything."""
    stalled: Mapping[str, int] = MappingProxyType({})
    """By person, the items in the queues of people who did not work on the rubric in the last days: `days` is without
    them."""
    why: str = ""
    """Why there are no hours or days, or what they rest on."""


def forecast(
    loads: Sequence[Load],
    times: Mapping[tuple[str, str], Sequence[float]],
    daily: Mapping[str, Mapping[date, float]],
    today: date,
    seed: int,
) -> Forecast:
    """Return the forecast; `times` has the minutes of items by form and person in their order, `daily` each person's
    minutes by day."""
    loads = [load for load in loads if load.items > 0]
    items = sum(load.items for load in loads)
    if not loads:
        return Forecast(0)
    known = sum(map(len, times.values()))
    if known < LEAST:
        return Forecast(items, why=f"too early to say: {counted(known, 'item')} done, {LEAST} needed")
    random = np.random.default_rng(int(content_hash(seed, "forecast"), 16))
    minutes = _Minutes(times, random)
    own: dict[str, Numbers] = {}
    for load in loads:
        own[load.by] = own.get(load.by, 0.0) + load.items * minutes.of(load.form, load.by)
    hours = _range(np.sum(list(own.values()), axis=0) / 60)
    paces = _paces(daily, today, random)
    days_worked = {day for of_person in daily.values() for day in of_person if 0 < (today - day).days <= DAYS}
    # Who began today is at work. In the first days, who has not begun is not late.
    away = [by for by in sorted(own) if by and by not in paces and today not in daily.get(by, ())]
    away = [by for by in away if daily.get(by) or len(days_worked) >= LEAST_DAYS]
    stalled = {by: round(sum(load.items for load in loads if load.by == by)) for by in away}
    if len(days_worked) < LEAST_DAYS or not paces:
        why = f"too early to name a day: work on {counted(len(days_worked), 'whole day')}, {LEAST_DAYS} needed"
        return Forecast(items, hours, stalled=stalled, why=why)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = {by: own[by] / pace for by, pace in paces.items() if by in own}
        all_minutes = np.sum([value for by, value in own.items() if by not in stalled], axis=0)
        together = np.minimum(all_minutes / np.sum(list(paces.values()), axis=0), LONGEST_DAYS)
    days = np.minimum(np.max([*alone.values(), together], axis=0), LONGEST_DAYS)
    last = max(alone, key=lambda by: (alone[by][0], by), default="")
    rests_on = (
        f"rests on the last {counted(min(known, RECENT * len(times)), 'item')} and on "
        f"{counted(len(days_worked), 'day')} with work of the last {DAYS}"
    )
    is_late = bool(last) and alone[last][0] > together[0]
    return Forecast(items, hours, _range(days), _range(together), last if is_late else "", stalled, rests_on)


class _Minutes:
    """The mean minutes of an item, the plain mean first and then those of `DRAWS` samples."""

    def __init__(self, times: Mapping[tuple[str, str], Sequence[float]], random: np.random.Generator) -> None:
        self._times, self._random = times, random
        self._means: dict[tuple[str, str], Numbers] = {}

    def of(self, form: str, by: str) -> Numbers:
        """Return the person's own, if `LEAST` are known; else everybody's on the form; else those on all forms."""
        for place in ((form, by), (form, ""), ("", "")):
            if place not in self._means and len(sample := self._sample(*place)) >= LEAST:
                drawn = self._random.choice(sample, (DRAWS, len(sample)))
                self._means[place] = np.array([np.mean(sample), *drawn.mean(axis=1)])
            if place in self._means:
                return self._means[place]
        raise ValueError(f"fewer than {LEAST} times are known")

    def _sample(self, form: str, by: str) -> list[float]:
        return [
            minutes
            for (on, person), of_person in sorted(self._times.items())
            if form in ("", on) and by in ("", person)
            for minutes in of_person[-RECENT:]
        ]


def _paces(daily: Mapping[str, Mapping[date, float]], today: date, random: np.random.Generator) -> dict[str, Numbers]:
    """Return the minutes a day of everybody who worked in the last days: the plain mean first, then of the samples."""
    paces = {}
    for by, of_person in sorted(daily.items()):
        first = min(of_person, default=today)
        window = [today - timedelta(days=back) for back in range(1, DAYS + 1) if today - timedelta(days=back) >= first]
        worked = [of_person.get(day, 0.0) for day in window]
        if any(worked):
            drawn = random.choice(worked, (DRAWS, len(worked)))
            paces[by] = np.array([np.mean(worked), *drawn.mean(axis=1)])
    return paces


def _range(values: Numbers) -> Range:
    """Return the first value, with the interval of the others."""
    low, high = np.percentile(values[1:], INTERVAL)
    return Range(float(values[0]), float(low), float(high))
