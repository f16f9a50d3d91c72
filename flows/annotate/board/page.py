"""The board as a page: the state under a reader's filters, with trends as small drawings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

from markupsafe import Markup

from annotation.reliability import Reliability
from flows.annotate.board.forecast import LONGEST_DAYS, Forecast, Range
from flows.annotate.board.numbers import Kind, Line, Look, Point, RubricNumbers
from flows.annotate.board.outliers import LEAST, RULES, Share
from flows.annotate.board.reading import State
from flows.annotate.hours import Hours
from flows.annotate.report import NOTHING, agreement_cells, agreement_lines, minutes_text, outdated_notes
from flows.report.svg import drawing
from flows.report.template import style, template
from schemas.base import counted

TEMPLATE = Path(__file__).parent / "board.html.j2"
SHOWN = 12
"""The most entries of a list that are shown."""
SHOWN_HOURS = 40
"""The most lines of hours that are shown; the file has them all."""
SHOWN_POINTS = 21
"""The last days or weeks of a trend."""
HEADINGS: Mapping[Kind, str] = {
    "people": "People who stand out",
    "idle": "Queues in which nobody works",
    "questions": "Questions to the engineer",
    "differ": "Where people differ",
    "returned": "Sent back, not revised yet",
    "reviews": "Waiting for a review",
    "times": "Submissions that took unusually long or short",
}
BY_PERSON: tuple[Kind, ...] = ("returned", "reviews")
"""Kinds of which a person has many alike."""
OPTIONAL = ("to_pull", "waiting", "back", "agreement", "reliable", "known", "taken")
"""Columns that are left out where nobody has anything in them."""
WIDTH, HEIGHT, EDGE = 84, 24, 3
"""Of a trend line, in pixels."""


@dataclass(frozen=True)
class Filters:
    """What a reader wants to see; empty for everything."""

    rubric: str = ""
    form: str = ""
    person: str = ""
    look: bool = False
    """Only what needs a look."""
    kind: str = ""
    """Of what needs a look only this kind, and all of it."""

    @property
    def are_set(self) -> bool:
        """Whether anything is left out."""
        return self != Filters()

    def shows(self, form: str, *people: str) -> bool:
        """Return whether a line or an entry, about these people, is wanted."""
        return self.form in ("", form) and self.person in ("", *people)

    def all_of(self, kind: Kind, person: str = "") -> str:
        """Return the address under which all of a kind is shown, of a person or of those that are wanted."""
        chosen = {"rubric": self.rubric, "form": self.form, "person": person or self.person, "kind": kind}
        return f"/?{urlencode({name: value for name, value in chosen.items() if value})}"


def board_page(state: State, filters: Filters) -> str:
    """Return the page."""
    rubrics = [rubric for rubric in state.rubrics or () if rubric.states or any(map(_has_work, rubric.lines))]
    wanted = [rubric for rubric in rubrics if filters.rubric in ("", rubric.name)]
    lines = [line.progress for rubric in rubrics for line in rubric.lines]
    hours = [row for row in state.hours if filters.person in ("", row.person)]
    return template(TEMPLATE).render(
        style=style(),
        title=state.title,
        state=state,
        filters=filters,
        choices={
            "rubric": [rubric.name for rubric in rubrics],
            "form": list(dict.fromkeys(line.form for line in lines)),
            "person": sorted({line.by for line in lines}),
        },
        clock=_clock,
        several=len(wanted) > 1,
        looks=_grouped([(rubric.name, look) for rubric in wanted for look in rubric.looks], filters),
        rubrics=[view for rubric in wanted if (view := _rubric_view(rubric, filters)) is not None],
        hours=[_hours_cells(row) for row in reversed(sorted(hours, key=lambda row: row.week)[-SHOWN_HOURS:])],
        more_hours=max(0, len(hours) - SHOWN_HOURS),
        rules=RULES,
        least=LEAST,
    )


def _clock(time: datetime | None) -> Markup:
    """Return a time of this machine's clock, with its date if that is not today's."""
    if time is None:
        return Markup("never")
    local = time.astimezone()
    shown = local.strftime("%H:%M:%S" if local.date() == datetime.now().astimezone().date() else "%d %b %H:%M")
    return Markup('<time datetime="{}">{}</time>').format(time.astimezone(UTC).isoformat(timespec="seconds"), shown)


def _grouped(looks: Sequence[tuple[str, Look]], filters: Filters) -> list[Mapping[str, object]]:
    """Return what needs a look by kind; what waits has an entry for each person.

    Each list is cut, with the address of the whole, which is shown if the filters name its kind.
    """
    wanted = [(rubric, look) for rubric, look in looks if filters.shows(look.form, *look.people)]
    most = None if filters.kind else SHOWN
    groups: list[Mapping[str, object]] = []
    for kind, heading in HEADINGS.items():
        if filters.kind not in ("", kind):
            continue
        of_kind = [(rubric, look) for rubric, look in wanted if look.kind == kind]
        together: dict[tuple[str, str, tuple[str, ...], int | None], list[Look]] = {}
        for place, (rubric, look) in enumerate(of_kind):
            together.setdefault((rubric, look.form, look.people, None if kind in BY_PERSON else place), []).append(look)
        entries = [
            {"rubric": rubric, "form": form, "by": ", ".join(people), "text": entry[0].text, "url": entry[0].url,
             "urls": [look.url for look in entry[:most] if look.url], "number": len(entry),
             "all": filters.all_of(kind, people[0])}
            for (rubric, form, people, _), entry in together.items()
        ]  # fmt: skip
        if entries:
            groups.append(
                {"heading": heading, "number": len(of_kind), "by_person": kind in BY_PERSON, "entries": entries[:most],
                 "more": 0 if most is None else max(0, len(entries) - most), "all": filters.all_of(kind)}
            )  # fmt: skip
    return groups


def _rubric_view(rubric: RubricNumbers, filters: Filters) -> Mapping[str, object] | None:
    """Return a rubric as the template takes it; None if only what needs a look is wanted and nothing does."""
    lines = [
        line for line in rubric.lines
        if filters.shows(line.progress.form, line.progress.by) and (not filters.look or _needs_look(line))
    ]  # fmt: skip
    if filters.look and not lines:
        return None
    total = sum(rubric.states.values())
    finished = rubric.states.get("decided", 0) + rubric.states.get("rated", 0)
    worked = [line for line in lines if _has_work(line)]
    forms: dict[str, list[Mapping[str, object]]] = {}
    for line in worked:
        forms.setdefault(line.progress.form, []).append(_line_view(line))
    views = [view for of_form in forms.values() for view in of_form]
    return {
        "name": rubric.name,
        "title": rubric.title,
        "total": total,
        "finished": finished,
        "percent": f"{finished / total:.1%}" if total else "0%",
        "states": ", ".join(f"{number:,} {state}" for state, number in sorted(rubric.states.items())) or "none",
        "forms": forms,
        "idle": len(lines) - len(worked),
        "columns": {name for view in views for name in OPTIONAL if view[name] not in (0, NOTHING)},
        "forecast": _forecast_view(rubric.forecast),
        "agreement": [agreement_cells(row) for row in rubric.agreement if row.items],
        "not_agreed": "; ".join(agreement_lines([row for row in rubric.agreement if not row.items])),
        "weeks": rubric.weeks[-SHOWN_POINTS:],
        "trend": trend(rubric.weeks, "Agreement on choices by week", percent=True),
        "last_weeks": [_week_cells(point) for point in rubric.weeks[-6:]],
    }


def _has_work(line: Line) -> bool:
    own = line.progress
    return bool(own.done or own.left or own.to_pull or own.changed_since or own.no_longer_asked)


def _needs_look(line: Line) -> bool:
    own = line.progress
    return bool(line.reasons or line.back or line.waiting or own.to_pull or own.changed_since or own.suspended)


def _line_view(line: Line) -> Mapping[str, object]:
    own = line.progress
    notes = [*line.reasons, *outdated_notes(own)]
    if own.changed and not own.to_pull:
        notes.append("changed since the last pull")
    return {
        "by": own.by,
        "url": own.url,
        "done": own.done,
        "left": own.left,
        "to_pull": own.to_pull,
        "waiting": line.waiting,
        "back": line.back,
        "minutes": minutes_text(own.minutes),
        "slow": minutes_text(own.slow_minutes),
        "days": trend(line.days, f"Median minutes an item of {own.by}, by day"),
        "agreement": share_text(line.agreement),
        "weeks": trend(line.weeks, f"Agreement of {own.by}, by week", percent=True),
        "known": f"{own.gold.right:,} of {own.gold.answered:,}" if own.gold.answered else NOTHING,
        "reliable": _reliable_text(line.reliable),
        "taken": f"{own.unchanged:,} of {own.suggested:,}" if own.suggested else NOTHING,
        "notes": notes,
        "stands_out": bool(line.reasons),
    }


def share_text(told: Share | None) -> str:
    """Return a share with its interval, or how much too few there are."""
    if told is None:
        return NOTHING
    if told.low is None or told.high is None:
        return f"too few: {told.number:,}"
    return f"{told.value:.0%} ({told.low:.0%} to {told.high:.0%})"


def _reliable_text(told: Reliability | None) -> str:
    if told is None:
        return NOTHING
    return f"{told.right:.0%}" if told.judged >= LEAST else f"too few: {told.judged:,}"


def _week_cells(point: Point) -> tuple[str, str, str, str]:
    if point.value is None or point.low is None or point.high is None:
        return point.label, "too few", NOTHING, f"{point.items:,}"
    return point.label, f"{point.value:.0%}", f"{point.low:.0%} to {point.high:.0%}", f"{point.items:,}"


def _forecast_view(expected: Forecast) -> Mapping[str, str]:
    hours, days, shared_out = expected.hours, expected.days, expected.shared_out
    stalled = ", ".join(f"{by} {number:,}" for by, number in expected.stalled.items())
    why = [expected.why or "nothing is left"]
    if stalled and days:
        why.append(f"without the items of people who have not worked on it lately: {stalled}")
    return {
        "day": _days_text(days) if days else "",
        "last": f"the last is {expected.last}" if expected.last else "",
        "shared_out": _days_text(shared_out) if shared_out and expected.last else "",
        "left": counted(round(expected.items), "item"),
        "hours": f"{hours.value:,.1f} hours ({hours.low:,.1f} to {hours.high:,.1f})" if hours else "",
        "why": "; ".join(why),
    }


def _days_text(days: Range) -> str:
    first, last = _day(days.low), _day(days.high)
    return f"{_day(days.value)} ({first} to {last})" if first != last else first


def _day(days: float) -> str:
    if days >= LONGEST_DAYS:
        return "in more than a year"
    return f"{datetime.now(UTC) + timedelta(days=days):%a %d %b %Y}"


def _hours_cells(row: Hours) -> tuple[str, ...]:
    return row.person, row.week, row.form, f"{row.submissions:,}", f"{row.hours:.2f}", minutes_text(row.longest_minutes)


def trend(points: Sequence[Point], label: str, *, percent: bool = False) -> Markup:
    """Return a line through the last values, with the interval as a band; nothing for fewer than two values.

    A share goes from 0 to 1, minutes from 0 to the longest.
    """
    points = [point for point in points if point.value is not None][-SHOWN_POINTS:]
    if len(points) < 2:
        return Markup("")
    most = 1.0 if percent else max(point.value or 0.0 for point in points) or 1.0
    step = (WIDTH - 2 * EDGE) / (len(points) - 1)

    def place(number: int, value: float | None) -> str:
        return f"{EDGE + number * step:.1f},{HEIGHT - EDGE - (value or 0.0) / most * (HEIGHT - 2 * EDGE):.1f}"

    def text(value: float | None) -> str:
        return f"{value:.0%}" if percent else f"{minutes_text(value)} min"

    marks = []
    if all(point.low is not None for point in points):
        upper = [place(number, point.high) for number, point in enumerate(points)]
        lower = [place(number, point.low) for number, point in enumerate(points)]
        marks.append(Markup('<polygon class="band" points="{}"/>').format(" ".join([*upper, *reversed(lower)])))
    line = [place(number, point.value) for number, point in enumerate(points)]
    marks.append(Markup('<polyline points="{}"/>').format(" ".join(line)))
    last_x, last_y = line[-1].split(",")
    marks.append(Markup('<circle cx="{}" cy="{}" r="2"/>').format(last_x, last_y))
    told = ", ".join(f"{point.label} {text(point.value)} ({point.items})" for point in points)
    marks.append(Markup("<title>{}: {}</title>").format(label, told))
    return drawing(WIDTH, HEIGHT, f"{label}: {told}", marks, "trend")
