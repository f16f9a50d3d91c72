"""What people are to do on a build, and what follows from what they did.

A rubric's tasks are those of all parts that ask by it. Everything is worked out anew, from the build, the server and
the annotations of the last pull: who has which task, what is reviewed or goes back, and the verdicts.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from annotation.assign import Assignment, assign, overlapping, without_suggestions
from annotation.guideline import guideline_page
from annotation.label_studio.accounts import accounts
from annotation.label_studio.client import Client, ProjectInfo
from annotation.label_studio.config import Unusable, answers_of, label_config, question_of, task_data
from annotation.label_studio.listener import marked, unmark
from annotation.label_studio.sync import (
    KEY,
    VIEW,
    Handed,
    Pushed,
    Queue,
    Wanted,
    handed_in,
    held,
    is_retired,
    ours,
    push,
)
from annotation.quality import (
    PRACTICE,
    Figures,
    figures,
    not_in,
    passed_practice,
    practice_for,
    practice_of,
    practice_rubric,
    set_aside,
)
from annotation.review import Settlement, revision_of, settle
from data.sources.files import json_lines
from data.store import Store
from flows.compose import Project, read_verdicts
from flows.construct.engine import People, in_words
from flows.construct.stages import StageRef
from flows.label_studio import server_folder
from flows.rubrics import examples_of, guideline_of
from flows.settings import LOCAL
from schemas.annotation import Annotation, Finding, SetAside
from schemas.base import Record
from schemas.errors import first_problem
from schemas.rubric import Rubric, Task
from schemas.verdict import Verdict

ANYBODY = "all"
"""The queue of a rubric where nobody is named."""
SOMEBODY_ELSES = "somebody else's queue"


@dataclass(frozen=True)
class Work:
    """A rubric at work on a build."""

    rubric: Rubric
    people: People
    folder: Path
    """Of the family, with the guideline."""
    records: Mapping[str, Record]
    """By key, of all parts that ask by the rubric."""
    parts: Mapping[str, str]
    """By a record's key, its family and part, `uraq-items`."""
    tasks: Sequence[Task]
    known: Sequence[Task]
    """Validation items; none of them is in the practice set."""
    practice: Sequence[Task]

    @property
    def rubrics(self) -> dict[str, Rubric]:
        """The forms of the rubric's queues, by name: its own, and those for practice, revision and review."""
        forms = [self.rubric, revision_of(self.rubric)]
        forms += [self.people.review] if self.people.review else []
        forms += [practice_rubric(self.rubric)] if self.practice else []
        return {one.name: one for one in forms}


def works(project: Project) -> list[Work]:
    """The rubrics that a finished build's parts ask by, in the order of the parts."""
    found: dict[str, list[tuple[str, People, Path, list[Record]]]] = defaultdict(list)
    for family, part in project.build.parts():
        if part.people is not None:
            sifted = project.build.read(StageRef(family.name, part.name, part.steps[-1].name))
            name = f"{family.name}-{part.name}"
            found[part.people.rubric.name].append((name, part.people, family.folder, list(sifted)))
    return [_work(given, project) for given in found.values()]


def _work(given: Sequence[tuple[str, People, Path, list[Record]]], project: Project) -> Work:
    _, people, folder, _ = given[0]
    seed, rubric = project.config.seed, people.rubric
    if people.validation is not None:
        rubric = rubric.model_copy(update={"validation_share": project.config.annotation.gold_share})
    tasks: list[Task] = []
    known: list[Task] = []
    for _, own, _, records in given:
        made = own.tasks(records, seed)
        tasks += made
        known += own.validation(records, made, seed) if own.validation else ()
    practice = practice_of(examples_of(rubric, folder) or known, rubric, seed)
    return Work(
        rubric=rubric,
        people=people,
        folder=folder,
        records={record.key: record for _, _, _, records in given for record in records},
        parts={record.key: name for name, _, _, records in given for record in records},
        tasks=tasks,
        known=not_in(practice, known),
        practice=practice,
    )


# ---- what was handed in ----


@dataclass
class Collected:
    """What a pull brought of one rubric."""

    rubric: str
    settlement: Settlement
    aside: frozenset[str]
    apart: list[SetAside]
    """What could not even be read."""
    questions: list[Annotation]
    """What people ask the engineer."""


def pull(project: Project, client: Client) -> list[Collected]:
    """Read all that people handed in, write it down with what it comes to, and tell."""
    codes = {number: code for code, number in _accounts(project, client).items()}
    for queue in ours(client, project.config.name).values():
        unmark(project.state, queue.id)  # what is done from here on marks it again
    given: dict[str, list[Handed]] = defaultdict(list)
    for one in handed_in(client, project.config.name):
        given[_rubric_of(one.queue)].append(one)
    found = []
    for work in works(project):
        annotations, apart = _read(work, (one for name in work.rubrics for one in given[name]), codes)
        _write_lines(project, f"annotations/{work.rubric.name}.jsonl", annotations)
        collected = standing(project, work, annotations, apart)
        _write_lines(project, f"annotations/{work.rubric.name}-apart.jsonl", [*apart, *collected.settlement.apart])
        _write_verdicts(project, work, annotations, collected.settlement.verdicts)
        found.append(collected)
    return found


def standing(project: Project, work: Work, annotations: Sequence[Annotation], apart: list[SetAside]) -> Collected:
    """What the annotations of a rubric come to."""
    names = {
        work.rubric.name,
        revision_of(work.rubric).name,
        *([work.people.review.name] if work.people.review else []),
    }
    ours_ = [one for one in annotations if one.rubric in names]
    aside = set_aside(work.known, ours_, work.rubric) if project.config.annotation.people else frozenset()
    settlement = settle(
        [*work.tasks, *work.known],
        ours_,
        work.rubric,
        review=work.people.review,
        check=lambda task, annotation: _findings(project, work, task, annotation),
        people=_codes(project),
        aside=aside,
        seed=project.config.seed,
    )
    return Collected(
        rubric=work.rubric.name,
        settlement=settlement,
        aside=aside,
        apart=apart,
        questions=[one for one in annotations if one.question],
    )


def _codes(project: Project) -> frozenset[str] | None:
    people = project.config.annotation.people
    return frozenset(people) if people else None


def _findings(project: Project, work: Work, task: Task, annotation: Annotation) -> list[Finding]:
    """What the rubric's checks say of an annotation, and whether its texts make a record at all."""
    record = work.records.get(task.item_key)
    if record is None:
        return []
    found = list(work.people.checks(record, annotation.answers, project.embedder))
    changes = {
        name: annotation.answers[name]
        for name in work.rubric.corrects
        if name in annotation.answers and annotation.answers[name].split() != in_words(getattr(record, name)).split()
    }
    if changes and not any(one.rejects for one in found):
        try:
            unfit = work.people.unfit(record.revised(**changes))
        except ValidationError as error:
            unfit = (first_problem(error, "the texts"), "")
        if unfit is not None:
            found.append(Finding(name=next(iter(changes)), problem=": ".join(filter(None, unfit)), rejects=True))
    return found


def _read(work: Work, given: Iterable[Handed], codes: Mapping[int, str]) -> tuple[list[Annotation], list[SetAside]]:
    """What people handed in as annotations; what is none is set apart."""
    annotations, apart = [], []
    for one in given:
        row, data = one.annotation, one.data
        rubric = work.rubrics[_rubric_of(one.queue)]
        number = row["completed_by"] if isinstance(row["completed_by"], int) else row["completed_by"]["id"]
        by = codes.get(number, f"account {number}")
        common = {"by": by, "at": str(row["updated_at"]), "source": str(row.get("unique_id") or row["id"])}
        key, task = str(data.get(KEY, "")), str(data.get(VIEW, ""))
        if not key or not task:
            apart.append(SetAside(key=key, reason="task that did not come from here", **common))
        elif (owner := one.queue.rpartition("/")[2]) not in (ANYBODY, by):
            apart.append(SetAside(key=key, reason=SOMEBODY_ELSES, evidence=f"the queue is {owner}'s", **common))
        else:
            said = {"task": task, "key": key, "rubric": rubric.name, "version": int(data.get("version", 0)),
                    "seconds": max(0.0, float(row.get("lead_time") or 0)), **common}  # fmt: skip
            if row.get("was_cancelled"):
                annotations.append(Annotation.model_validate({**said, "cancelled": True, "question": question_of(row)}))
                continue
            try:
                answers = answers_of(rubric, row, data)
            except Unusable as problem:
                apart.append(SetAside(key=key, reason=problem.reason, evidence=problem.evidence, **common))
            else:
                annotations.append(Annotation.model_validate({**said, **dict(answers)}))
    annotations.sort(key=lambda one: (one.key, one.by, one.at, one.source))
    return annotations, sorted(apart, key=lambda one: (one.key, one.by, one.at, one.source))


def _rubric_of(queue: str) -> str:
    """The rubric's name in a queue's: `uraq-check` of `sample/uraq-check@1/a1`."""
    return queue.split("/")[-2].partition("@")[0]


def read_annotations(project: Project, rubric: str) -> list[Annotation]:
    """The annotations of the last pull; none before the first. Raises `WrongInput` for a bad line."""
    path = project.out / "annotations" / f"{rubric}.jsonl"
    found = []
    for row in json_lines(str(path)) if path.exists() else ():
        try:
            found.append(Annotation.model_validate(dict(row.values)))
        except ValidationError as error:
            raise row.error(first_problem(error, "the annotation"), "pull again, it is written anew") from error
    return found


def _write_lines(project: Project, name: str, rows: Iterable[BaseModel]) -> None:
    text = "".join(json.dumps(row.model_dump(mode="json"), ensure_ascii=False) + "\n" for row in rows)
    Store(str(project.out)).write(f"{project.out.resolve()}/{name}", text.encode())


def _write_verdicts(
    project: Project, work: Work, annotations: Sequence[Annotation], verdicts: Sequence[Verdict]
) -> None:
    """The verdicts of each part. Those on records that nobody did anything on stay: they were written by hand."""
    by_task = {task.key: task.item_key for task in work.tasks}
    touched = {by_task[one.key] for one in annotations if one.key in by_task}
    for part in sorted(set(work.parts.values())):
        before = read_verdicts(project.out / "verdicts" / f"{part}.jsonl")
        kept = {key: one for key, one in before.items() if key not in touched}
        new = {one.key: one for one in verdicts if work.parts.get(one.key) == part}
        if kept or new or before:
            _write_lines(project, f"verdicts/{part}.jsonl", [one for _, one in sorted({**kept, **new}.items())])


# ---- what is handed out ----


@dataclass
class HandedOut:
    """What a push did, and what it could not give."""

    queues: list[Pushed] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)


def hand_out(project: Project, client: Client) -> HandedOut:
    """Bring to each person's queues what is theirs to do now."""
    done = HandedOut()
    _accounts(project, client)
    there = ours(client, project.config.name)
    for work in works(project):
        for queue, rows in _queues(project, client, work, there, done.lacking):
            known = there.get(queue.name)
            if known is not None or queue.tasks:
                done.queues.append(push(client, queue, known, rows))
    return done


def _queues(
    project: Project, client: Client, work: Work, there: Mapping[str, ProjectInfo], lacking: list[str]
) -> Iterator[tuple[Queue, Sequence[dict[str, Any]] | None]]:
    annotations = read_annotations(project, work.rubric.name)
    collected = standing(project, work, annotations, [])
    tasks = _still_asked(project, work, annotations)
    people = tuple(project.config.annotation.people)
    if not people:
        yield _queue(project, work, work.rubric, ANYBODY, tasks, work.rubric.people_per_item), None
        if work.people.review is not None:
            reviews = [one.task for one in collected.settlement.reviews]
            yield _queue(project, work, work.people.review, ANYBODY, reviews), None
        back = [one.task for one in collected.settlement.revisions]
        yield _queue(project, work, revision_of(work.rubric), ANYBODY, back), None
        return
    seed, settings = project.config.seed, project.config.annotation
    rows = {by: _rows(client, project, work.rubric, by, there) for by in people}
    holding = {by: {row["data"].get(KEY) for row in own if not is_retired(row)} for by, own in rows.items()}
    suggested = {f"note_{one.name}" for one in work.rubric.writes}
    drafted = {row["data"].get(KEY) for own in rows.values() for row in own if any(map(row["data"].get, suggested))}
    overlap = overlapping(tasks, work.rubric, settings.overlap_first, seed, holding, drafted)
    given = [without_suggestions(task) if task.key in overlap else task for task in tasks]
    aside = collected.aside
    passed = [by for by in people if passed_practice(by, work.practice, annotations, work.rubric)]
    assigned = assign(given, people, work.rubric, seed, known=work.known, held=holding, overlap=overlap, aside=aside,
                      practice=work.practice, passed=passed)  # fmt: skip
    lacking += [f"{work.rubric.name}: {line}" for line in assigned.statement]
    for by in people:
        own = [task for task in assigned.queues.get(by, ()) if task.sample != PRACTICE]
        yield _queue(project, work, work.rubric, by, own), rows[by]
        if work.practice:
            form = practice_rubric(work.rubric)
            yield _queue(project, work, form, by, practice_for(by, work.practice, annotations, work.rubric)), None
    yield from _after(project, client, work, collected, there, lacking)


def _after(
    project: Project, client: Client, work: Work, collected: Collected, there: Mapping[str, ProjectInfo],
    lacking: list[str],
) -> Iterator[tuple[Queue, Sequence[dict[str, Any]] | None]]:  # fmt: skip
    """What comes of people's work: reviews for others, and what goes back to its author."""
    people = tuple(project.config.annotation.people)
    back: dict[str, list[Task]] = defaultdict(list)
    for task, author in collected.settlement.revisions:
        back[author].append(task)
    for by in people:
        yield _queue(project, work, revision_of(work.rubric), by, back[by]), None
    review = work.people.review
    if review is None:
        return
    rows = {by: _rows(client, project, review, by, there) for by in people}
    assigned: Assignment = assign(
        [one.task for one in collected.settlement.reviews],
        people,
        review,
        project.config.seed,
        held={by: {row["data"].get(KEY) for row in own if not is_retired(row)} for by, own in rows.items()},
        barred={task.key: (author,) for task, author in collected.settlement.reviews},
        aside=collected.aside,
    )
    lacking += [f"{review.name}: {line}" for line in assigned.statement]
    for by in people:
        yield _queue(project, work, review, by, assigned.queues.get(by, ())), rows[by]


def _still_asked(project: Project, work: Work, annotations: Sequence[Annotation]) -> list[Task]:
    """The tasks of records that were not decided elsewhere, by a verdict that did not come of an annotation."""
    done = {one.key for one in annotations}
    given = {name: read_verdicts(project.out / "verdicts" / f"{name}.jsonl") for name in set(work.parts.values())}
    elsewhere = {
        key for verdicts in given.values() for key, one in verdicts.items()
        if key in work.records and one.view_hash == work.records[key].view_hash
    }  # fmt: skip
    return [task for task in work.tasks if task.key in done or task.item_key not in elsewhere]


def _rows(
    client: Client, project: Project, rubric: Rubric, by: str, there: Mapping[str, ProjectInfo]
) -> list[dict[str, Any]]:
    info = there.get(_name(project, rubric, by))
    return held(client, info) if info is not None else []


def _queue(project: Project, work: Work, rubric: Rubric, by: str, tasks: Iterable[Task], people: int = 1) -> Queue:
    title = f"{by} · {rubric.title or rubric.name}"
    return Queue(
        name=_name(project, rubric, by),
        title=title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        config=label_config(rubric),
        instruction=guideline_page(rubric, guideline_of(rubric, work.folder)),
        tasks=[Wanted(task.key, task.id, task_data(rubric, task)) for task in tasks],
        people=people,
        shared=by == ANYBODY,
    )


LONGEST_TITLE = 50
"""Characters that Label Studio takes."""


def _name(project: Project, rubric: Rubric, by: str) -> str:
    return f"{project.config.name}/{rubric.name}@{rubric.version}/{by}"


def _accounts(project: Project, client: Client) -> Mapping[str, int]:
    settings = project.config.annotation
    folder = server_folder(project.config) if settings.url == LOCAL else None
    return accounts(client, settings.people, folder) if settings.people else {}


# ---- how things stand ----


class Standing(Figures):
    """How one person's queue of one form stands; `by` is `all` where nobody is named."""

    rubric: str
    url: str
    aside: bool
    """Whether the person answered too few of the known questions rightly."""
    changed: bool
    """Whether somebody worked there since the last pull, by what the server told."""


def status(project: Project, client: Client) -> list[Standing]:
    """How every queue stands, by the server's tasks and the annotations of the last pull."""
    there = ours(client, project.config.name)
    told = marked(project.state)
    found = []
    for work in works(project):
        annotations = read_annotations(project, work.rubric.name)
        collected = standing(project, work, annotations, [])
        settled = collected.settlement
        tasks = {one.key: one for one in (*work.tasks, *work.known, *(task for task, _ in settled.reviews),
                                          *(task for task, _ in settled.revisions))}  # fmt: skip
        for name, rubric in work.rubrics.items():
            queues: dict[str, list[Task]] = {}
            infos = {one.rpartition("/")[2]: info for one, info in there.items() if _rubric_of(one) == name}
            for by, info in infos.items():
                own = tasks | {one.key: one for one in practice_for(by, work.practice, annotations, work.rubric)}
                keys = [row["data"].get(KEY) for row in held(client, info) if not is_retired(row)]
                queues[by] = [own[key] for key in keys if key in own]
            given = [one for one in annotations if one.rubric == name and not one.cancelled]
            if ANYBODY in queues:
                given = [one.model_copy(update={"by": ANYBODY}) for one in given]
            for line in figures(queues, given, rubric, settled.sent_back, settled.accepted):
                if line.by in infos:
                    found.append(
                        Standing(
                            **dict(line),
                            rubric=name,
                            url=f"{client.url}/projects/{infos[line.by].id}/data",
                            aside=line.by in collected.aside,
                            changed=infos[line.by].id in told,
                        )
                    )
    return found
