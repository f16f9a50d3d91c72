"""The page at which people begin: their queues in the order in which to do them, what came back and why, what is done.

It is the start page of the server that `touchstone label-studio up` starts. All that it shows is read from the
server's own database at each request, and is the reader's own; only a form's usual pace may be everybody's. In the list
of projects, too, people see their own alone.

Touchstone cannot be imported here: how it names its queues and marks its tasks (`annotation/label_studio/sync.py`) is
written again below, and a test holds the two together. What the page says in Chinese stands beside the Chinese of the
forms (`annotation/chinese.py`), a file that imports nothing and is read by its place.
"""

import html
import re
import runpy
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from core.views import main
from django.conf import settings
from django.db.models import Q
from django.db.models.fields.json import KT  # a field as text: a plain look-up makes a number of "0"
from django.shortcuts import render
from join import stranger_code, told
from projects.api import ProjectCountsListAPI, ProjectListAPI
from projects.models import Project
from queue_names import ENGLISH, EVERYBODY, queue_language, queue_name
from tasks.models import Annotation, Task

FORMS = (
    ("-practice", "Do these first: they explain what is right and why."),
    ("-revision", "Please change these. Each says at its top why it came back."),
    ("-corrected", "A reviewer corrected your text. Say whether you agree."),
    ("-review", "Other people wait for you to look at these."),
    ("-adjudication", "People answered these differently. Decide what is right."),
    ("-survey", "You have done all your tasks. Say how the work was."),
    ("", ""),
)
"""How the names of forms end, in the order in which to do their tasks, and what is said of each."""
IN_TEMPLATE = {
    "your_work": "Your work",
    "projects": "Projects",
    "account": "Account",
    "log_out": "Log out",
    "your_code": "Your code is",
    "take_back": "Return to Prolific with this code",
    "opens": "opens the first queue.",
    "nothing": "Nothing to do now. New tasks come by themselves; this page looks for them every half minute.",
    "your_hours": "Your hours",
    "today": "Today",
    "this_week": "This week",
    "hours_note": "Practice and skipped tasks are among them. A task counts for as long as its form was open; weeks "
    "begin on Monday, in UTC.",
    "form": "Form",
    "done": "Done",
    "count": "Count",
    "no_longer": "No longer",
}
"""What the page says, by the names in its template."""
IN_LANGUAGES: Mapping[str, Mapping[str, str]] = {
    "zh": runpy.run_path(str(Path(__file__).resolve().parents[2] / "chinese.py"))["YOUR_WORK"]
}
"""By language, all that the page says, by the English text."""
NO_LONGER = {"Another task now": "{} another task now", "No longer asked": "{} no longer asked"}
"""How the line of a task that no longer counts begins, and what is said of several such tasks."""
NEWS, WHYS = "news", ("shown_feedback", "shown_review_comment")
"""Where a task's data says why it came back: in HTML, and in texts."""
NOT_BACK = ("If your answer is wrong", "如果答错了")
"""How the feedback on a practice task begins before the first answer."""
LISTED, RETIRED = "Task", "retired"
"""The names in a task's data of its line in a table, and of the sign that it has left its queue."""
MOST_SHOWN = 3
"""Tasks that came back, of one queue; the others are counted."""
MOST_MINUTES = 30.0
"""A task that was open for longer counts as this many minutes, for a form's pace alone."""
GUESSED_MINUTES = 2.0
"""A task's minutes, before anybody has done one of its form."""


def say(language: str, text: str, *values: object) -> str:
    """Return a text in a language, with values for its `{}`; in English if it is not known in that language."""
    return IN_LANGUAGES.get(language, {}).get(text, text).format(*values)


def count(language: str, number: int) -> str:
    """Return a number of tasks in words."""
    return say(language, "{} task" if number == 1 else "{} tasks", number)


def about(language: str, minutes: float) -> str:
    """Return a time as people say it."""
    if minutes >= 90:
        return say(language, "{} hours", f"{round(minutes / 30) / 2:g}".replace(".5", "½"))
    whole = max(1, round(minutes) if minutes < 10 else 5 * round(minutes / 5))
    return say(language, "{} minute" if whole == 1 else "{} minutes", whole)


@dataclass
class Queue:
    """The reader's queue of one form."""

    project: int
    title: str
    form: str
    language: str = ENGLISH
    open: int = 0
    done: int = 0
    outdated: Counter[str] = field(default_factory=Counter)
    """What is done and no longer counts, by why."""
    back: list[tuple[str, str]] = field(default_factory=list)
    """The open tasks that came back, and why."""
    minutes: float = 0.0
    guessed: bool = False

    @property
    def rank(self) -> int:
        return next(place for place, (ending, _) in enumerate(FORMS) if self.form.endswith(ending))

    @property
    def says(self) -> str:
        return say(self.language, FORMS[self.rank][1])

    @property
    def counted(self) -> int:
        return self.done - self.outdated.total()

    @property
    def percent(self) -> int:
        return round(100 * self.counted / (self.counted + self.open)) if self.open else 100

    @property
    def shown(self) -> list[tuple[str, str]]:
        return self.back[:MOST_SHOWN]

    @property
    def unshown(self) -> str:
        return say(self.language, "and {} more", len(self.back) - MOST_SHOWN) if len(self.back) > MOST_SHOWN else ""

    @property
    def no_longer(self) -> str:
        whys = (
            say(self.language, NO_LONGER[why], number) if why in NO_LONGER else f"{number} {why.lower()}"
            for why, number in sorted(self.outdated.items())
        )
        return say(self.language, ", ").join(whys)

    @property
    def number(self) -> str:
        return count(self.language, self.open)

    @property
    def takes(self) -> str:
        time = about(self.language, self.minutes * self.open)
        return say(self.language, ", about {}, at a guess" if self.guessed else ", about {}", time)

    @property
    def done_says(self) -> str:
        return say(self.language, "{} done", self.counted)

    @property
    def bar_says(self) -> str:
        return say(self.language, "{} done, {} to do", self.counted, self.open)


def language_of(queues: Iterable[Queue]) -> str:
    """Return the page's language: that of the reader's forms, or English if these are in several.

    Nothing else here tells what a person reads. Before there are tasks, the empty queues tell it.
    """
    queues = list(queues)
    languages = {queue.language for queue in queues if queue.open or queue.done} or {one.language for one in queues}
    return languages.pop() if len(languages) == 1 else ENGLISH


def title_of(project: Any) -> str:
    """Return a queue's title without the person's code; one that was cut is whole in the description."""
    title = str(project.title).partition(" · ")[2] or str(project.title)
    if title.endswith("…"):
        whole = re.search(rf"{re.escape(title[:-1])}[^.?!。？！]*[?!？！]?", project.description or "")
        title = whole[0] if whole else title
    return title


def code_of(user: Any) -> str | None:
    """Return the person's code; None for an account that is nobody's in the configuration, such as the owner's."""
    if (stranger := stranger_code(user)) is not None:
        return str(stranger)
    file = Path(settings.BASE_DATA_DIR).parent / "people.txt"
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()
    return next((row[0] for row in rows if len(row) == 3 and row[1] == user.email.lower()), None)


def are_theirs(user: Any) -> tuple[str | None, ...]:
    """Return whose queues a person may see: their own and everybody's; a stranger their own alone."""
    return (code_of(user), EVERYBODY) if stranger_code(user) is None else (code_of(user),)


def is_owner(user: Any) -> bool:
    """Return whether this is the server's first account, which made the organisation."""
    return bool(user.active_organization.created_by_id == user.id)


def queues_of(user: Any) -> list[Queue]:
    """Return the person's queues, empty ones too, in the order in which to do them."""
    theirs = are_theirs(user)
    projects = {project.id: project for project in Project.objects.filter(organization=user.active_organization)}
    names = {number: queue_name(project.description) for number, project in projects.items()}
    pace = _pace({number: name[0] for number, name in names.items() if name}, user)
    queues = []
    for number, name in sorted(names.items()):
        if name is None or name[1] not in theirs:
            continue
        queue = Queue(number, title_of(projects[number]), name[0], queue_language(projects[number].description))
        queue.minutes, queue.guessed = pace.get(name[0], (GUESSED_MINUTES, True))
        _count(queue, projects[number], user)
        queues.append(queue)
    return sorted(queues, key=lambda queue: queue.rank)


def _count(queue: Queue, project: Any, user: Any) -> None:
    """Count a queue's tasks."""
    tasks = Task.objects.filter(project=project)
    mine = Q(annotations__completed_by=user, annotations__was_cancelled=False)
    done = tasks.filter(mine).distinct().values_list("id", KT(f"data__{RETIRED}"), KT(f"data__{LISTED}"))
    for _, retired, listed in done:  # with the id, as two tasks may be listed alike
        queue.done += 1
        if retired:
            queue.outdated[str(listed).partition(":")[0]] += 1
    undone = tasks.filter(total_annotations__lt=project.maximum_annotations)
    undone = undone.exclude(id__in=tasks.filter(mine).values("id")).order_by("id")
    queue.open = undone.count()
    for listed, news, *whys in undone.values_list(*(KT(f"data__{name}") for name in (LISTED, NEWS, *WHYS))):
        texts = [text for text in whys if text and not text.startswith(NOT_BACK)]
        # What people answered, side by side, is no news of a task.
        told = html.unescape(re.sub(r"<table>.*</table>|<[^>]+>", " ", news or ""))
        if lines := [line.strip() for text in (*texts, told) for line in text.splitlines() if line.strip()]:
            queue.back.append((str(listed), " · ".join(lines)))


def _pace(forms: Mapping[int, str], user: Any) -> dict[str, tuple[float, bool]]:
    """Return the minutes that a task takes, by form, and whether they are other people's; median of one's own first."""
    own, everybody = defaultdict(list), defaultdict(list)
    works = Annotation.objects.filter(project_id__in=forms, lead_time__gt=0, was_cancelled=False)
    for number, by, seconds in works.values_list("project_id", "completed_by_id", "lead_time"):
        minutes = min(seconds / 60, MOST_MINUTES)
        everybody[forms[number]].append(minutes)
        if by == user.id:
            own[forms[number]].append(minutes)
    return {form: (median(own.get(form) or minutes), False) for form, minutes in everybody.items()}


def hours_of(user: Any, language: str) -> dict[str, str]:
    """Return the reader's time and submissions, today and in this ISO week, in UTC: as in `hours.csv`."""
    now = datetime.now(UTC)
    works = Annotation.objects.filter(completed_by=user, updated_at__year__gte=now.year - 1)
    times = [(at, seconds or 0.0) for at, seconds in works.values_list("updated_at", "lead_time")]

    def in_words(chosen: Iterable[float]) -> str:
        seconds = list(chosen)
        minutes = round(sum(seconds) / 60)
        time = say(language, "{} h {:02} min", minutes // 60, minutes % 60)
        return say(language, "{}, {}", time, count(language, len(seconds)))

    week = now.isocalendar()[:2]
    return {
        "today": in_words(seconds for at, seconds in times if at.astimezone(UTC).date() == now.date()),
        "week": in_words(seconds for at, seconds in times if at.astimezone(UTC).isocalendar()[:2] == week),
    }


def told_of(code: str, queues: Iterable[Queue], language: str) -> Any:
    """Return what a stranger is told beside their queues; all is done once every task of a form's own is."""
    real = [queue for queue in queues if not FORMS[queue.rank][0]]
    said = told(
        code,
        is_open=any(queue.open for queue in queues),
        is_done=any(queue.done for queue in real) and not any(queue.open for queue in real),
        has_begun=any(queue.done for queue in queues),
    )
    return {**said, **{name: say(language, said[name]) for name in ("title", "says") if name in said}}


def your_work(request: Any) -> Any:
    """Show people their work; the owner, without any, gets Label Studio's own start page."""
    user = request.user
    if not user.is_authenticated or user.active_organization is None:
        return main(request)
    theirs = queues_of(user)
    queues, language = [queue for queue in theirs if queue.open or queue.done], language_of(theirs)
    if not queues and is_owner(user):
        return main(request)
    to_do, done = [queue for queue in queues if queue.open], [queue for queue in queues if queue.done]
    code, counted = stranger_code(user), sum(queue.counted for queue in done)
    return render(request, "your_work.html", {
        "language": language,
        "says": {name: say(language, text) for name, text in IN_TEMPLATE.items()},
        "is_stranger": code is not None,
        "told": code and told_of(code, queues, language),
        "to_do": to_do,
        "in_all": say(
            language, "{}, about {}.", count(language, sum(queue.open for queue in to_do)),
            about(language, sum(queue.minutes * queue.open for queue in to_do)),
        ),
        "done": done,
        "of_done": say(
            language, "Done: {}, of which {} counts" if counted == 1 else "Done: {}, of which {} count",
            count(language, sum(queue.done for queue in done)), counted,
        ),
        **hours_of(user, language),
    })  # fmt: skip


# ---- the list of projects ----


def in_sight(projects: Any, user: Any) -> Any:
    """Leave out other people's queues; the owner sees all, and an account without a code what is for everybody."""
    if is_owner(user):
        return projects
    theirs = are_theirs(user)
    names = {number: queue_name(text) for number, text in projects.values_list("id", "description")}
    hidden = [number for number, name in names.items() if name and name[1] not in theirs]
    return projects.exclude(id__in=hidden)


class OwnProjects(ProjectListAPI):  # type: ignore[misc]  # Label Studio has no types
    """The list of projects."""

    def get_queryset(self) -> Any:
        return in_sight(super().get_queryset(), self.request.user)


class OwnProjectCounts(ProjectCountsListAPI):  # type: ignore[misc]
    """The list of projects' numbers of tasks."""

    def get_queryset(self) -> Any:
        return in_sight(super().get_queryset(), self.request.user)
