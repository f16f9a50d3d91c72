"""Bring the tasks of a build to Label Studio, and people's annotations back.

The server has no natural key, so each task carries the record's key and the hash of its view in its data (`ext_id`,
`view_hash`). A push lists what is there, compares it with what should be there and sends only what is missing, so it is
safe to repeat after any error. Nothing is ever deleted. A task whose view changed goes out as a new task, since an open
form would submit answers to the old text under the new one. A task that is no longer wanted is retired: it leaves the
queue, and people's work on it stays.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from annotation.label_studio.client import Client, ProjectInfo, Row
from annotation.label_studio.failures import Refused, Unanswered
from annotation.label_studio.task_data import LISTED, NEWS
from annotation.wording import say
from schemas.base import counted
from schemas.errors import Failed, WrongInput
from schemas.rubric import ENGLISH

MARK = "touchstone"
"""The first word of the last line of the description of each of our projects, by which it is recognised."""
TO_DO = "Open it and press Label All Tasks; the guideline opens first. Finished tasks are under Done."
NOTHING = "Nothing to do here now. Tasks come by themselves; you need not import any."
SENTENCE_ENDS = ("?", "!", ".", "？", "！", "。")
KEEP = "Please leave the last line of this description as it is: it identifies the project."
"""A card shows three lines, up to about 160 characters: never the line that this one is about."""
KEY, VIEW, RETIRED = "ext_id", "view_hash", "retired"
"""Beside its texts, a task's data has the task's key, the hash of its view, and if it is retired, the number of empty
annotations that retired it."""
BATCH = 1000
"""Tasks per import, which is atomic."""
LISTED_FIELDS = ("id", "data", "total_annotations", "cancelled_annotations", "created_at")
TRIES = 2
"""How often the missing tasks are looked up and sent if the server breaks off."""


@dataclass(frozen=True)
class QueuedTask:
    """A task as it should be in a queue."""

    key: str
    view: str
    data: Mapping[str, Any]
    """The texts that the form shows, with `ext_id` and `view_hash`."""
    again: bool = False
    """True if the task must go out once more, because the work on it does not count."""


@dataclass(frozen=True)
class Queue:
    """One person's tasks under one rubric, as a project; without named people, everybody's."""

    name: str
    """The benchmark, the rubric with its version, and the person: `sample/uraq-check@1/a1`."""
    title: str
    config: str
    """The form, as Label Studio's XML."""
    instruction: str
    """The guideline page, as HTML."""
    tasks: Sequence[QueuedTask]
    people: int = 1
    """How many people do each task."""
    about: str = ""
    """The work, in a sentence or a few words, for the project's card."""
    fields: Sequence[str] = ()
    """The names in the tasks' data that the queue's table hides."""
    shared: bool = False
    """True if anybody may take its tasks; a task that one person skips goes to others."""
    language: str = ENGLISH
    """That of the form."""

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of its tasks."""
        return frozenset(task.key for task in self.tasks)


@dataclass
class PushedQueue:
    """The result of a push to one queue."""

    queue: str
    project: int
    url: str
    wanted: int
    imported: int = 0
    kept: int = 0
    """Tasks that were there already."""
    updated: int = 0
    """Tasks of which only hidden data was changed."""
    retired: int = 0
    revived: int = 0
    notes: list[str] = field(default_factory=list)
    """Changes that somebody made in the project by hand."""


def all_projects_of(client: Client, benchmark: str) -> list[tuple[str, ProjectInfo]]:
    """Return the projects of a benchmark with the names of their queues, the oldest project first.

    A queue may have several, if pushes from several machines made them at the same time.
    """
    projects = []
    for project in sorted(client.projects(), key=lambda project: project.id):
        for line in project.description.splitlines():
            mark, _, name = line.strip().partition(" ")
            if mark == MARK and name.startswith(f"{benchmark}/"):
                projects.append((name, project))
                break
    return projects


def projects_of(client: Client, benchmark: str) -> dict[str, ProjectInfo]:
    """Return the project of each queue of a benchmark, by the queue's name; of several for one queue, the oldest."""
    return dict(reversed(all_projects_of(client, benchmark)))


def card_text(queue: Queue) -> str:
    """Return the description of a queue's project, with the queue's name in the last line."""
    about = queue.about if not queue.about or queue.about.endswith(SENTENCE_ENDS) else f"{queue.about}."
    to_do, nothing, keep = (say(queue.language, text) for text in (TO_DO, NOTHING, KEEP))
    lines = [about, to_do] if queue.tasks else [nothing, about]
    return f"{' '.join(filter(None, lines))}\n\n{keep}\n{_mark(queue)}"


def tasks_of(client: Client, project: ProjectInfo) -> list[Row]:
    """Return the tasks of a project, with how many people submitted each."""
    return client.list_tasks(project.id, LISTED_FIELDS) if project.tasks else []


def push_queue(
    client: Client, queue: Queue, existing: ProjectInfo | None, rows: Sequence[Row] | None = None
) -> PushedQueue:
    """Make the queue's project hold its tasks, each once.

    `existing` is the project and `rows` its tasks (`tasks_of`), if they are known. Raises `WrongInput` before anything
    is sent if two tasks have the same key, and the client's errors; the next push finds what was done until then.
    """
    if len(queue.keys) < len(queue.tasks):
        raise WrongInput(f"{queue.name}: two tasks have the same key; each person sees a record once")
    project = existing or _make(client, queue)
    pushed = PushedQueue(queue.name, project.id, client.tasks_url(project.id), len(queue.tasks))
    if existing is not None:
        _restore(client, queue, project, pushed)
    for last in range(TRIES):
        try:
            rows = tasks_of(client, client.project(project.id) if last else project) if rows is None else rows
            _carry_out(client, queue, project, compare(queue.tasks, rows, queue.people), pushed)
        except Unanswered:  # it may have been done: look
            if last + 1 == TRIES:
                raise
            rows = None
        else:
            break
    if pushed.imported:
        _retire_doubles(client, queue, project, pushed)
        if not client.views(project.id):  # of two pushes at once, neither may have made them
            _lay_out(client, queue, project.id)
    return pushed


def _retire_doubles(client: Client, queue: Queue, project: ProjectInfo, pushed: PushedQueue) -> None:
    """Retire the tasks that another machine imported at the same time: both keep the one that was there first."""
    by_key: dict[Any, list[Row]] = defaultdict(list)
    for row in client.list_tasks(project.id, LISTED_FIELDS):
        if not is_retired(row) and isinstance(row["data"], Mapping) and KEY in row["data"]:
            by_key[row["data"][KEY]].append(row)
    spare = []
    for rows in by_key.values():
        _, *others = sorted(rows, key=lambda row: (not worked_on(row), row["id"]))
        spare += [row for row in others if not worked_on(row)]
    for row in spare:
        _retire(client, queue, row)
    pushed.retired += len(spare)
    if spare:
        pushed.notes.append(f"retired, since another push made them at the same time: {counted(len(spare), 'task')}")


def withdraw(client: Client, name: str, project: ProjectInfo) -> PushedQueue:
    """Retire all tasks of a queue that is no longer used; people's work stays."""
    pushed = PushedQueue(name, project.id, client.tasks_url(project.id), 0)
    _, _, language = name.rpartition("/")[0].rpartition("@")[2].partition(".")  # that of `lveval-keywords@2.zh/a1`
    queue = Queue(
        name, project.title, project.label_config, project.instruction, (), project.maximum_annotations,
        language=language or ENGLISH,
    )  # fmt: skip
    for row in compare((), tasks_of(client, project), queue.people).retired:
        _retire(client, queue, row)
        pushed.retired += 1
    if project.description.split() != card_text(queue).split():
        client.set_description(project.id, card_text(queue))
    return pushed


def _make(client: Client, queue: Queue) -> ProjectInfo:
    """Make the project; if the answer was lost, find it, and if another machine was sooner, take its project.

    The oldest project with the queue's name in its description is the queue's. A push that makes one looks afterwards
    for an older one, so that of two machines that push at once one gives way.
    """
    benchmark = queue.name.partition("/")[0]
    try:
        made = client.make_project(
            queue.title, queue.config, maximum_annotations=queue.people, description=_mark(queue),
            instruction=queue.instruction, comes_back=not queue.shared,
        )  # fmt: skip
    except Unanswered:
        if (project := projects_of(client, benchmark).get(queue.name)) is None:
            raise
    else:
        project = projects_of(client, benchmark)[queue.name]
        if project.id != made:
            client.delete_project(made)
            return project
    _lay_out(client, queue, project.id)
    return project


def _mark(queue: Queue) -> str:
    """Return the last line of a project's description. Until the project is laid out, it is the only one."""
    return f"{MARK} {queue.name}"


def _lay_out(client: Client, queue: Queue, project: int) -> None:
    """Give a new project its views and then its card; people's later changes to the views stay."""
    there, hidden = client.views(project), [*queue.fields, RETIRED]
    for title, done in (("To do", False), ("Done", True)):
        if title not in there:  # the push that made the project may have broken off
            client.make_view(project, title, people=queue.people, done=done, first=LISTED, hidden=hidden)
    client.set_description(project, card_text(queue))


def _restore(client: Client, queue: Queue, project: ProjectInfo, pushed: PushedQueue) -> None:
    """Restore the declared form and guideline if somebody edited them by hand."""
    if "".join(project.label_config.split()) != "".join(queue.config.split()):
        try:
            client.set_config(project.id, queue.config)
        except Refused as error:
            raise Failed(
                f"{queue.name}: its form is not as declared, and people's work under the other form stands in the way; "
                f"raise the rubric's version, then a new project takes over and the old one stays ({error})"
            ) from error
        pushed.notes.append("its form was not as declared; it was restored")
    if project.instruction != queue.instruction:
        client.set_instruction(project.id, queue.instruction)
    if project.description.strip() == _mark(queue):
        _lay_out(client, queue, project.id)
    elif project.description.split() != card_text(queue).split():
        client.set_description(project.id, card_text(queue))


@dataclass(frozen=True)
class Submitted:
    """One person's submission, as the server has it."""

    queue: str
    """The queue's name."""
    project: int
    data: Mapping[str, Any]
    """The task's data: what the person was shown."""
    annotation: Row


def submitted(client: Client, benchmark: str) -> Iterator[Submitted]:
    """Yield all that people submitted or skipped, of retired tasks too, but not what retired them.

    Of a queue with several projects, yield what was submitted in any of them.
    """
    for name, project in all_projects_of(client, benchmark):
        for row in client.export(project.id) if project.tasks else ():
            for annotation in row["annotations"]:
                if annotation["result"] or annotation.get("was_cancelled") or not is_retired(row):
                    yield Submitted(name, project.id, row["data"], annotation)


@dataclass
class Plan:
    """The changes that make a project's tasks what they should be."""

    missing: list[QueuedTask] = field(default_factory=list)
    updated: list[tuple[int, QueuedTask]] = field(default_factory=list)
    """Tasks, by number, whose hidden data is not as wanted."""
    retired: list[Row] = field(default_factory=list)
    revived: list[tuple[Row, QueuedTask]] = field(default_factory=list)
    kept: int = 0
    notes: list[str] = field(default_factory=list)


def compare(wanted: Iterable[QueuedTask], rows: Sequence[Row], people: int = 1) -> Plan:
    """Return the changes that make the tasks in `rows` those that are wanted; `people` do each."""
    by_key: dict[str, list[Row]] = defaultdict(list)
    foreign = doubled = again = 0
    for row in rows:
        key = row["data"].get(KEY) if isinstance(row["data"], Mapping) else None
        if isinstance(key, str):
            by_key[key].append(row)
        else:
            foreign += 1
    plan = Plan()
    for task in wanted:
        candidates = by_key.pop(task.key, [])
        same = [row for row in candidates if row["data"].get(VIEW) == task.view]
        if task.again:  # a push that broke off may have sent it once more already
            same = [row for row in same if not worked_on(row) and not is_retired(row)]
        plan.retired += [row for row in candidates if row not in same and not is_retired(row)]
        if not same:
            again += task.again
            plan.missing.append(task)
            continue
        chosen = min(same, key=lambda row: (not worked_on(row), is_retired(row), row["id"]))
        spare = [row for row in same if row is not chosen and not is_retired(row)]
        doubled += len(spare)
        plan.retired += [row for row in spare if not worked_on(row)]
        if is_retired(chosen):
            plan.revived.append((chosen, task))
        elif dict(chosen["data"]) != dict(task.data):
            plan.updated.append((chosen["id"], task))
        else:
            plan.kept += 1
    plan.retired += [row for rest in by_key.values() for row in rest if not is_retired(row)]
    # A task that says that it is retired, and is open, was retired by a push that broke off.
    left = [row for row in rows if is_retired(row) and int(row["total_annotations"] or 0) < people]
    plan.retired += [row for row in left if all(row is not back for back, _ in plan.revived)]
    counts = (
        (foreign, "tasks did not come from here; they are left alone"),
        (again, "tasks go out once more: the work on them does not count"),
        (doubled, "tasks were there twice; those that nobody worked on are retired"),
    )
    plan.notes = [f"{count} {what}" for count, what in counts if count]
    return plan


def worked_on(row: Row) -> bool:
    """Return whether people have submitted or skipped the task."""
    return bool(row["total_annotations"] or row["cancelled_annotations"]) and not is_retired(row)


def answered_though_retired(row: Row) -> bool:
    """Return whether people submitted a task that is retired now, before or after. Older versions did not note it."""
    empty = str(row["data"].get(RETIRED)) if is_retired(row) else ""
    return empty.isdecimal() and int(row["total_annotations"] or 0) > int(empty)


def is_retired(row: Row) -> bool:
    """Return whether the task was taken out of its queue."""
    return isinstance(row["data"], Mapping) and bool(row["data"].get(RETIRED))


def _carry_out(client: Client, queue: Queue, project: ProjectInfo, plan: Plan, pushed: PushedQueue) -> None:
    pushed.kept, pushed.notes = plan.kept - pushed.imported, [*pushed.notes, *plan.notes]
    for start in range(0, len(plan.missing), BATCH):
        batch = plan.missing[start : start + BATCH]
        made = client.import_tasks(project.id, [{"data": dict(task.data)} for task in batch])
        if made != len(batch):
            sent = counted(len(batch), "task")
            raise Failed(f"{queue.name}: {client.url} took {made} of {sent}; push again, and look at its log")
        pushed.imported += len(batch)
    for number, task in plan.updated:
        client.patch_task(number, task.data)
        pushed.updated += 1
    for row, task in plan.revived:
        _revive(client, row, task)
        pushed.revived += 1
    for row in plan.retired:
        _retire(client, queue, row)
        pushed.retired += 1


def _retire(client: Client, queue: Queue, row: Row) -> None:
    """Take a task out of the queue: an empty annotation makes it done, and its data says that it does not count."""
    empty = max(0, queue.people - int(row["total_annotations"] or 0))
    if not is_retired(row):
        why = "Another task now" if row["data"].get(KEY) in queue.keys else "No longer asked"
        # An older version's tasks have no news, and the server wants all that the form shows.
        data = {NEWS: "", **row["data"], RETIRED: str(empty), LISTED: f"{why}: {row['data'].get(LISTED, '')}"}
        client.patch_task(row["id"], data)
    for _ in range(empty):
        client.annotate(row["id"], [])


def _revive(client: Client, row: Row, task: QueuedTask) -> None:
    """Put a retired task back into the queue."""
    for annotation in client.annotations(row["id"]):
        if not annotation["result"] and not annotation.get("was_cancelled"):
            client.delete_annotation(annotation["id"])
    client.patch_task(row["id"], task.data)
