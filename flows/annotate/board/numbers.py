"""What the board shows of a rubric's work: each person's line, what needs a look, and the forecast.

From the annotations of the last pull and the progress of the queues alone.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from statistics import median
from typing import Literal, NamedTuple

from annotation.agreement import SharedWork
from annotation.label_studio.sync import KEY, VIEW, is_retired
from annotation.latest import time_of
from annotation.quality import minutes_of
from annotation.reliability import Reliability
from flows.annotate.board.forecast import DAYS, Forecast, Load, forecast
from flows.annotate.board.outliers import (
    LEAST,
    Share,
    agreed,
    disagreeing,
    share,
    unusual_people,
    unusual_submissions,
    unvarying,
)
from flows.annotate.board.waits import Waits, age, day_of, waits
from flows.annotate.progress import OnServer, QueueProgress
from flows.annotate.queues import form_names
from flows.annotate.work import ANYBODY, Collected, Form
from schemas.annotation import Agreement, Annotation
from schemas.base import counted

MOST_BACK = 0.9
"""The greatest share of work that comes back that a forecast reckons with."""
Kind = Literal["people", "idle", "questions", "differ", "returned", "reviews", "times"]
Link = Callable[[str, int, str, str], str]
"""(form's name, its version, person, task's id) -> the task's address; empty if nobody knows it."""


class Point(NamedTuple):
    """A value of a trend; None if there is too little to say."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    items: int


class Look(NamedTuple):
    """Something that needs a look."""

    kind: Kind
    form: Form
    people: tuple[str, ...]
    text: str
    url: str


@dataclass(frozen=True)
class Line:
    """One person's work on one form."""

    progress: QueueProgress
    waiting: int
    """Submissions that wait for a review."""
    back: int
    """Submissions that were sent back and are not revised yet."""
    days: tuple[Point, ...]
    """The median minutes an item, by day (UTC)."""
    agreement: Share | None
    weeks: tuple[Point, ...]
    """The agreement, by ISO week of the person's work."""
    known: Share | None
    reliable: Reliability | None
    """How reliable the person's decisions are, if that is known."""
    taken: Share | None
    """Suggestions submitted unchanged."""
    reasons: tuple[str, ...]
    """Why the person stands out."""


@dataclass(frozen=True)
class RubricNumbers:
    """The state of a rubric's work."""

    name: str
    title: str
    states: Mapping[str, int]
    """The number of tasks by state."""
    lines: tuple[Line, ...]
    agreement: tuple[Agreement, ...]
    weeks: tuple[Point, ...]
    """The agreement on choices, by ISO week of the last work on an item."""
    looks: tuple[Look, ...]
    forecast: Forecast


def rubric_numbers(
    collected: Collected,
    agreement: Sequence[Agreement],
    progress: Sequence[QueueProgress],
    server: OnServer | None,
    link: Link,
    today: date,
    seed: int,
) -> RubricNumbers:
    """Return the numbers of one rubric; `progress` has its queues, `server` is None if it was never reached."""
    timed = _timed(collected.annotations)
    shared = collected.shared
    waiting = waits(collected, collected.settlement.reviews)
    back = waits(collected, collected.settlement.revisions)
    reasons = _reasons(collected, progress, timed)
    reliable = collected.reliabilities.people if collected.reliabilities else {}
    lines = tuple(
        Line(
            progress=line,
            waiting=_count(waiting, line),
            back=_count(back, line),
            days=_days(_of_line(timed, line)),
            agreement=agreed(own := _shared_of(shared, line)),
            weeks=_weeks(own),
            known=share(line.gold.right, line.gold.answered),
            reliable=reliable.get(line.by) if line.form == "work" else None,
            taken=share(line.unchanged, line.suggested),
            reasons=tuple(reasons.get((line.form, line.by), ())),
        )
        for line in progress
    )
    finished: dict[str, str] = {}
    for work in shared:
        finished[work.task] = max(finished.get(work.task, ""), work.at, key=time_of)
    expected = (
        forecast(_loads(collected, progress, server, len(waiting)), _minutes(timed), _daily(timed), today, seed)
        if server
        else Forecast(0, why="the server was not reached yet, so nobody knows what is left")
    )
    return RubricNumbers(
        name=collected.rubric,
        title=collected.work.rubric.title or collected.rubric,
        states=Counter(outcome.state for outcome in collected.settlement.outcomes),
        lines=lines,
        agreement=tuple(agreement),
        weeks=_weeks([work._replace(at=finished[work.task]) for work in shared]),
        looks=tuple(_looks(collected, lines, timed, expected, waiting, back, link, today)),
        forecast=expected,
    )


def task_links(server: OnServer | None, benchmark: str) -> Link:
    """Return the addresses of the tasks in the queues; those of a person's own queue, or of everybody's."""
    if server is None:
        return lambda rubric, version, by, task: ""
    places: dict[tuple[str, str], str] = {}
    for name, info in server.projects.items():
        for row in sorted(server.listed(info), key=is_retired):
            for queue in (name, name.rpartition("/")[0]):
                places.setdefault((queue, str(row["data"].get(VIEW))), server.task_url(info, row))

    def link(rubric: str, version: int, by: str, task: str) -> str:
        queues = [f"{benchmark}/{form}" for form in form_names(rubric, version)]
        names = [f"{queue}/{of}" for queue in queues for of in (by, ANYBODY)] if by else queues
        return next((places[name, task] for name in names if (name, task) in places), "")

    return link


# ---- time ----


def _timed(annotations: Iterable[Annotation]) -> dict[tuple[str, str], list[Annotation]]:
    """Return, by form and person, the last submission of each task, the earliest first."""
    last = {(work.rubric, work.by, work.task): work for work in annotations if not work.cancelled}
    timed: dict[tuple[str, str], list[Annotation]] = defaultdict(list)
    for (form, by, _), work in sorted(last.items(), key=lambda item: (time_of(item[1].at), item[0])):
        timed[form, by].append(work)
    return timed


def _of_line(timed: Mapping[tuple[str, str], list[Annotation]], line: QueueProgress) -> list[Annotation]:
    if line.by != ANYBODY:
        return timed.get((line.rubric, line.by), [])
    return [work for (form, _), works in timed.items() if form == line.rubric for work in works]


def _days(works: Iterable[Annotation]) -> tuple[Point, ...]:
    by_day: dict[date, list[float]] = defaultdict(list)
    for work in works:
        if work.seconds:
            by_day[day_of(work.at)].append(minutes_of(work))
    return tuple(
        Point(f"{day:%d %b}", median(minutes), None, None, len(minutes)) for day, minutes in sorted(by_day.items())
    )


def _minutes(timed: Mapping[tuple[str, str], Sequence[Annotation]]) -> dict[tuple[str, str], list[float]]:
    return {place: [minutes_of(work) for work in works if work.seconds] for place, works in timed.items()}


def _daily(timed: Mapping[tuple[str, str], Sequence[Annotation]]) -> dict[str, dict[date, float]]:
    """Return each person's minutes on the rubric, by day."""
    daily: dict[str, dict[date, float]] = defaultdict(lambda: defaultdict(float))
    for (_, by), works in timed.items():
        for work in works:
            daily[by][day_of(work.at)] += minutes_of(work)
    return daily


# ---- agreement ----


def _shared_of(shared: Sequence[SharedWork], line: QueueProgress) -> list[SharedWork]:
    return [work for work in shared if line.form == "work" and line.by in (work.by, ANYBODY)]


def _weeks(shared: Iterable[SharedWork]) -> tuple[Point, ...]:
    """Return the agreement by ISO week (UTC); a week with fewer than `LEAST` items has no value."""
    by_week: dict[str, list[SharedWork]] = defaultdict(list)
    for work in shared:
        year, week, _ = time_of(work.at).astimezone(UTC).isocalendar()
        by_week[f"{year}-W{week:02}"].append(work)
    points = []
    for of_week, works in sorted(by_week.items()):
        items = len({work.task for work in works})
        told = share(sum(work.agreed for work in works), sum(work.pairs for work in works), items)
        enough = told if items >= LEAST else None
        value, low, high = (enough.value, enough.low, enough.high) if enough else (None, None, None)
        points.append(Point(of_week, value, low, high, items))
    return tuple(points)


# ---- what waits ----


def _count(waiting: Iterable[Waits], line: QueueProgress) -> int:
    return sum(line.form == "work" and line.by in (one.author, ANYBODY) for one in waiting)


def _loads(collected: Collected, progress: Sequence[QueueProgress], server: OnServer, reviews: int) -> list[Load]:
    """Return what is left: in people's queues, not handed out yet, and to follow from both.

    `reviews` is the number of those that nobody has done.
    """
    forms = collected.work.forms
    suspended = collected.suspended
    loads = [
        Load(line.rubric, "" if line.by == ANYBODY or line.by in suspended else line.by, line.left) for line in progress
    ]
    loads.append(Load(forms["work"].name, "", _not_handed_out(collected, server)))
    settlement = collected.settlement
    pushed: Counter[str] = Counter()
    for line in progress:
        pushed[line.rubric] += line.left + line.to_pull
    if "deciding" in forms:
        undecided = sum(one.decided is None for one in settlement.disagreements)
        loads.append(Load(forms["deciding"].name, "", max(0, undecided - pushed[forms["deciding"].name])))
    if "review" in forms:
        of_form: Counter[str] = Counter()
        for load in loads:
            of_form[load.form] += round(load.items)
        judged = len(settlement.sent_back) + len(settlement.accepted)
        back = min(MOST_BACK, len(settlement.sent_back) / max(judged, LEAST))  # a few reviews are no share yet
        to_come = of_form[forms["work"].name] + of_form[forms["revision"].name]
        again = back / (1 - back) * (to_come + of_form[forms["review"].name])
        not_pushed = max(0, reviews - pushed[forms["review"].name])
        loads.append(Load(forms["review"].name, "", to_come + again + not_pushed))
        loads.append(Load(forms["revision"].name, "", again))
    return loads


def _not_handed_out(collected: Collected, server: OnServer) -> int:
    """Return how many people the tasks lack: those whose queue waits for the practice set, for instance."""
    form = collected.work.rubric
    holders: Counter[str] = Counter()
    for name, info in server.projects.items():
        _, _, rest = name.partition("/")
        if rest.rpartition("/")[0] in form_names(form.name, form.version):
            people = form.people_per_item if name.endswith(f"/{ANYBODY}") else 1
            for row in server.listed(info):
                if not is_retired(row):
                    holders[str(row["data"].get(KEY))] += people
    decided = {outcome.key for outcome in collected.settlement.outcomes if outcome.state in ("decided", "rated")}
    return sum(
        max(0, form.people_per_item - holders[task.key]) for task in collected.work.tasks if task.key not in decided
    )


# ---- what needs a look ----


def _reasons(
    collected: Collected, progress: Sequence[QueueProgress], timed: Mapping[tuple[str, str], Sequence[Annotation]]
) -> dict[tuple[Form, str], list[str]]:
    """Return, by form and person, why the person stands out."""
    reasons: dict[tuple[Form, str], list[str]] = defaultdict(list)
    for by in sorted(collected.suspended):
        reasons["work", by].append("suspended: too few known answers right")
    for form, rubric in collected.work.forms.items():
        works = {by: done for (on, by), done in timed.items() if on == rubric.name}
        for by, told in unusual_people(works, rubric).items():
            reasons[form, by] += told
        taken = {line.by: (line.unchanged, line.suggested) for line in progress if line.form == form}
        for by, why in unvarying(taken).items():
            reasons[form, by].append(why)
    for by, why in disagreeing(collected.shared).items():
        reasons["work", by].append(why)
    return reasons


def _looks(
    collected: Collected,
    lines: Sequence[Line],
    timed: Mapping[tuple[str, str], Sequence[Annotation]],
    expected: Forecast,
    waiting: Sequence[Waits],
    back: Sequence[Waits],
    link: Link,
    today: date,
) -> Iterable[Look]:
    """Yield what needs a look, the most pressing first; `waiting` are the open reviews, `back` the open revisions."""
    forms = collected.work.forms
    form_of = {rubric.name: form for form, rubric in forms.items()}
    for line in lines:
        for reason in line.reasons:
            yield Look("people", line.progress.form, (line.progress.by,), reason, line.progress.url)
    for by, items in expected.stalled.items():
        queue = next(line.progress for line in lines if line.progress.by == by and line.progress.left)
        idle = f"and no work in the last {DAYS} days" if any(by == person for _, person in timed) else "not begun yet"
        yield Look("idle", queue.form, (by,), f"{counted(items, 'item')} left, {idle}", queue.url)
    for asked in collected.questions:
        url = link(asked.rubric, asked.version, asked.by, asked.task)
        yield Look("questions", form_of.get(asked.rubric, "work"), (asked.by,), asked.question, url)
    yield from _differences(collected, link)
    for one in back:
        url = link(forms["revision"].name, forms["revision"].version, one.author, one.task)
        yield Look("returned", "revision", (one.author,), age(one.since, today), url)
    for one in waiting:
        url = link(forms["review"].name, forms["review"].version, "", one.task)
        yield Look("reviews", "review", (one.author,), age(one.since, today), url)
    for form, rubric in forms.items():
        works = [work for (on, _), done in timed.items() if on == rubric.name for work in done]
        for work, why in unusual_submissions(works):
            yield Look("times", form, (work.by,), why, link(work.rubric, work.version, work.by, work.task))


def _differences(collected: Collected, link: Link) -> Iterable[Look]:
    """Yield where people differ and nobody has decided, first what is worth most, with the task of deciding it.

    Whoever decides must not learn who said what. So people come in the order of their codes, unlike on the task, and
    there is no address of a person's own.
    """
    for one in collected.disagreements:
        if one.decided is None:
            url = link(one.asked.rubric, one.asked.version, "", one.asked.id)
            said = ", ".join(f"{number} {decision}" for decision, number in sorted(Counter(one.decisions).items()))
            text = f"{said}; wrong as it stands: {collected.worth(one):.0%}"
            yield Look("differ", "deciding", tuple(sorted(one.people)), text, url)
