"""Brings the tasks of a build to a Label Studio, and what people did there back.

The server has no natural key, so each task carries the record's in its data, and the hash of what people see of it
(`ext_id`, `view_hash`). What is there is listed and compared with what should be there; only what is missing is sent.
A push is therefore safe to repeat, after any error and any kill. Nothing is ever deleted: a task whose view changed
goes to people as a new one, for an open form would hand in answers to the old text under the new; and what is no
longer wanted is retired, which takes it out of the queue and keeps what people wrote.
"""

import contextlib
import fcntl
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.label_studio.client import Client, ProjectInfo, Refused, Row, Unanswered
from annotation.label_studio.config import LISTED
from schemas.errors import Failed, WrongInput

MARK = "touchstone"
"""The first word of the last line of the description of every project of ours, by which it is found again."""
TO_DO = "Open it and press Label All Tasks; the guideline opens first. What you hand in stands under Done."
NOTHING = "Nothing to do here now. Tasks come by themselves; there is nothing for you to import."
KEEP = "Please leave the last line of this description as it is: by it the project is found again."
"""A card shows three lines, up to some 160 characters: never the line that this one speaks of."""
KEY, VIEW, RETIRED = "ext_id", "view_hash", "retired"
"""What a task's data holds beside its texts: the task's key, the hash of what people see, and whether it is retired."""
BATCH = 1000
"""Tasks an import: all of them come in, or none."""
HELD = ("id", "data", "total_annotations", "cancelled_annotations")
TRIES = 2
"""How often what is missing is looked up and sent, where the server broke off."""


@dataclass(frozen=True)
class Wanted:
    """A task as it should lie in a queue."""

    key: str
    view: str
    data: Mapping[str, Any]
    """What the form shows, with `ext_id` and `view_hash`."""
    anew: bool = False
    """Whether what people handed in on it does not count, so that it has to go out once more."""


@dataclass(frozen=True)
class Queue:
    """What one person is to do by one rubric: a project of their own; without named people, one for all."""

    name: str
    """Of the benchmark, the rubric with its version, and the person: `sample/uraq-check@1/a1`."""
    title: str
    config: str
    """The form, as Label Studio's XML."""
    instruction: str
    """The guideline page, as HTML."""
    tasks: Sequence[Wanted]
    people: int = 1
    """How many people do each task."""
    about: str = ""
    """What is to be done, in a sentence or a few words, for the project's card."""
    fields: Sequence[str] = ()
    """The names in the tasks' data, which the queue's table does not show."""
    shared: bool = False
    """Whether anybody may take its tasks, and what one skips goes to others."""


@dataclass
class Pushed:
    """What a push did to one queue."""

    queue: str
    project: int
    url: str
    wanted: int
    imported: int = 0
    kept: int = 0
    """Tasks that were there already."""
    updated: int = 0
    """Tasks of which only what nobody sees was changed."""
    retired: int = 0
    revived: int = 0
    notes: list[str] = field(default_factory=list)
    """What somebody did to the project by hand."""


@contextlib.contextmanager
def one_writer(state: Path) -> Iterator[None]:
    """Hold the lock of all writing from this state folder. Raises `Failed` where another process holds it."""
    state.mkdir(parents=True, exist_ok=True)
    path = state / "annotate.lock"
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Failed(f"{path}: another push or pull is at work here; wait for it, or stop it") from error
        yield


def ours(client: Client, benchmark: str) -> dict[str, ProjectInfo]:
    """The projects of a benchmark, by the queue's name; of two for one queue, the older."""
    found: dict[str, ProjectInfo] = {}
    for project in sorted(client.projects(), key=lambda one: one.id):
        for line in project.description.splitlines():
            mark, _, name = line.strip().partition(" ")
            if mark == MARK and name.startswith(f"{benchmark}/"):
                found.setdefault(name, project)
    return found


def described(queue: Queue) -> str:
    """What stands on a project's card, and in its last line the queue's name."""
    about = queue.about if queue.about.endswith(("?", "!", ".")) or not queue.about else f"{queue.about}."
    told = [about, TO_DO] if queue.tasks else [NOTHING, about]
    return f"{' '.join(filter(None, told))}\n\n{KEEP}\n{MARK} {queue.name}"


def held(client: Client, project: ProjectInfo) -> list[Row]:
    """The tasks of a project, with how many people handed each in."""
    return client.list_tasks(project.id, HELD) if project.tasks else []


def push(client: Client, queue: Queue, there: ProjectInfo | None, rows: Sequence[Row] | None = None) -> Pushed:
    """Make the queue's project hold its tasks, each once.

    `there` is the project and `rows` its tasks (`held`), where they are known. Raises `WrongInput` before anything is
    sent where two tasks have one key, and the client's errors; what was done until then is found again by the next
    push.
    """
    if len({one.key for one in queue.tasks}) < len(queue.tasks):
        raise WrongInput(f"{queue.name}: two tasks have one key; each record is shown once a person")
    project = there or _make(client, queue)
    if there is not None and queue.tasks and not there.tasks and not client.views(there.id):
        _lay_out(client, queue, there.id)  # the push that made it was killed before
    done = Pushed(queue.name, project.id, f"{client.url}/projects/{project.id}/data", len(queue.tasks))
    if there is not None:
        _put_back(client, queue, project, done)
    for last in range(TRIES):
        try:
            rows = held(client, client.project(project.id) if last else project) if rows is None else rows
            _carry_out(client, queue, project, compare(queue.tasks, rows), done)
        except Unanswered:  # it may have been done: look
            if last + 1 == TRIES:
                raise
            rows = None
        else:
            break
    return done


def withdraw(client: Client, name: str, project: ProjectInfo) -> Pushed:
    """Take every task out of a queue that is no longer used: of an earlier version of a form, or of who has left.

    What people did there stays.
    """
    done = Pushed(name, project.id, f"{client.url}/projects/{project.id}/data", 0)
    queue = Queue(name, project.title, project.label_config, project.instruction, (), project.maximum_annotations)
    for row in compare((), held(client, project)).retired:
        _retire(client, queue, row)
        done.retired += 1
    if done.retired:
        client.set_description(project.id, described(queue))
    return done


def _make(client: Client, queue: Queue) -> ProjectInfo:
    """Make the project; where the answer was lost, find it."""
    benchmark = queue.name.partition("/")[0]
    try:
        number = client.make_project(
            queue.title,
            queue.config,
            maximum_annotations=queue.people,
            description=described(queue),
            instruction=queue.instruction,
            comes_back=not queue.shared,
        )
    except Unanswered:
        if (found := ours(client, benchmark).get(queue.name)) is None:
            raise
        return found
    _lay_out(client, queue, number)
    return ProjectInfo(
        id=number, title=queue.title, label_config=queue.config, maximum_annotations=queue.people,
        description=described(queue), instruction=queue.instruction, tasks=0,
    )  # fmt: skip


def _lay_out(client: Client, queue: Queue, project: int) -> None:
    """Give a project its views; what people make of them stays."""
    for title, done in (("To do", False), ("Done", True)):
        client.make_view(project, title, people=queue.people, done=done, first=LISTED, hidden=[*queue.fields, RETIRED])


def _put_back(client: Client, queue: Queue, project: ProjectInfo, done: Pushed) -> None:
    """The form and the guideline as declared, where somebody edited them by hand."""
    if _without_space(project.label_config) != _without_space(queue.config):
        try:
            client.set_config(project.id, queue.config)
        except Refused as error:
            raise Failed(
                f"{queue.name}: its form is not as declared, and what people did by the other one stands in the way; "
                f"raise the rubric's version, then a new project takes over and the old one stays ({error})"
            ) from error
        done.notes.append("its form was not as declared; it was put back")
    if project.instruction != queue.instruction:
        client.set_instruction(project.id, queue.instruction)
    if project.description.split() != described(queue).split():
        client.set_description(project.id, described(queue))


def _without_space(text: str) -> str:
    return "".join(text.split())


@dataclass(frozen=True)
class Handed:
    """What one person handed in, as the server has it."""

    queue: str
    """The queue's name."""
    data: Mapping[str, Any]
    """Of the task: what the person was shown."""
    annotation: Row


def handed_in(client: Client, benchmark: str) -> Iterator[Handed]:
    """All that people handed in, or passed over, of retired tasks too; not what retired them."""
    for name, project in ours(client, benchmark).items():
        for row in client.export(project.id) if project.tasks else ():
            for annotation in row["annotations"]:
                if annotation["result"] or annotation.get("was_cancelled") or not is_retired(row):
                    yield Handed(name, row["data"], annotation)


# ---- what is to be done ----


@dataclass(frozen=True)
class Plan:
    """What makes what is there what should be there."""

    missing: Sequence[Wanted]
    updated: Sequence[tuple[int, Wanted]]
    """Tasks by number whose unseen data is not as wanted."""
    retired: Sequence[Row]
    revived: Sequence[tuple[Row, Wanted]]
    kept: int
    notes: Sequence[str]


def compare(wanted: Iterable[Wanted], rows: Iterable[Row]) -> Plan:
    """What is missing, what is too much, and what is there already, whole."""
    by_key: dict[str, list[Row]] = defaultdict(list)
    foreign = 0
    for row in rows:
        key = row["data"].get(KEY) if isinstance(row["data"], Mapping) else None
        if isinstance(key, str):
            by_key[key].append(row)
        else:
            foreign += 1
    missing, updated, revived, retired, kept, doubled, again = [], [], [], [], 0, 0, 0
    for one in wanted:
        same = [row for row in by_key.get(one.key, ()) if row["data"].get(VIEW) == one.view]
        others = [row for row in by_key.pop(one.key, ()) if row["data"].get(VIEW) != one.view]
        retired += [row for row in others if not is_retired(row)]
        if one.anew:
            retired += [row for row in same if not is_retired(row)]
            same, again = [], again + 1
        if not same:
            missing.append(one)
            continue
        chosen = min(same, key=lambda row: (not worked_on(row), is_retired(row), row["id"]))
        spare = [row for row in same if row is not chosen and not is_retired(row)]
        doubled += len(spare)
        retired += [row for row in spare if not worked_on(row)]
        if is_retired(chosen):
            revived.append((chosen, one))
        elif dict(chosen["data"]) != dict(one.data):
            updated.append((chosen["id"], one))
        else:
            kept += 1
    retired += [row for rows in by_key.values() for row in rows if not is_retired(row)]
    notes = [f"{foreign} tasks that did not come from here; they are left alone"] if foreign else []
    notes += [f"{again} tasks go out once more: what was handed in on them does not count"] if again else []
    notes += [f"{doubled} tasks were there twice; those that nobody worked on are retired"] if doubled else []
    return Plan(missing, updated, retired, revived, kept, notes)


def worked_on(row: Row) -> bool:
    """Whether people have handed in, or passed over, the task."""
    return bool(row["total_annotations"] or row["cancelled_annotations"]) and not is_retired(row)


def is_retired(row: Row) -> bool:
    """Whether the task was taken out of its queue."""
    return isinstance(row["data"], Mapping) and bool(row["data"].get(RETIRED))


def _carry_out(client: Client, queue: Queue, project: ProjectInfo, plan: Plan, done: Pushed) -> None:
    done.kept, done.notes = plan.kept + done.imported, [*done.notes, *plan.notes]
    for start in range(0, len(plan.missing), BATCH):
        batch = plan.missing[start : start + BATCH]
        made = client.import_tasks(project.id, [{"data": dict(one.data)} for one in batch])
        if made != len(batch):
            raise Failed(
                f"{queue.name}: of {len(batch)} tasks, {client.url} took {made}; push again, and look at its log"
            )
        done.imported += len(batch)
    for number, one in plan.updated:
        client.patch_task(number, one.data)
        done.updated += 1
    for row, one in plan.revived:
        _revive(client, row, one)
        done.revived += 1
    for row in plan.retired:
        _retire(client, queue, row)
        done.retired += 1


def _retire(client: Client, queue: Queue, row: Row) -> None:
    """Take a task out of the queue: an empty annotation makes it done, and its data says that it does not count."""
    data = {**row["data"], RETIRED: "yes", LISTED: f"No longer asked: {row['data'].get(LISTED, '')}"}
    client.patch_task(row["id"], data)
    for _ in range(queue.people - int(row["total_annotations"] or 0)):
        client.annotate(row["id"], [])


def _revive(client: Client, row: Row, one: Wanted) -> None:
    """Put a retired task back into the queue."""
    for annotation in client.annotations(row["id"]):
        if not annotation["result"] and not annotation.get("was_cancelled"):
            client.delete_annotation(annotation["id"])
    client.patch_task(row["id"], one.data)
