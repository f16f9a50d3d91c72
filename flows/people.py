"""What people are to do on a build, and what follows from what they did.

A rubric's tasks are those of all parts that ask by it. Everything is worked out anew, from the build, the server and
the annotations of the last pull: who has which task, what is reviewed or goes back, and the verdicts.
"""

import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from annotation.agreement import DRAWS, agreement_by_person, agreement_of
from annotation.assign import Assignment, assign, overlapping, without_suggestions
from annotation.guideline import guideline_page
from annotation.label_studio.accounts import accounts
from annotation.label_studio.client import Client, ProjectInfo
from annotation.label_studio.config import Unusable, answers_given, answers_of, data_fields, label_config, task_data
from annotation.label_studio.listener import mark, marked, unmark
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
    withdraw,
)
from annotation.latest import TAKEN_BACK, set_apart
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
from annotation.review import Settlement, judging_of, revision_of, settle
from data.sources.files import json_lines
from data.sources.spec import SourceError
from data.store import Store
from flows.compose import Project, read_verdicts
from flows.construct.engine import People, in_words
from flows.construct.stages import StageRef
from flows.label_studio import server_folder
from flows.rubrics import examples_of, guideline_of
from flows.settings import LOCAL, Config
from schemas.annotation import Agreement, Annotation, Finding, SetAside
from schemas.base import Record
from schemas.errors import WrongInput, first_problem
from schemas.rubric import Rubric, Task
from schemas.verdict import Verdict

ANYBODY = "all"
"""The queue of a rubric where nobody is named."""
SOMEBODY_ELSES = "somebody else's queue"
Form = Literal["work", "practice", "revision", "review"]
"""What of a rubric's work a form is for."""


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
    practised: Rubric
    """What people practise by before their first task: the rubric itself, or to judge what is to be written by it."""
    practice: Sequence[Task]

    @property
    def forms(self) -> dict[Form, Rubric]:
        """The forms of the rubric's queues: its own, and those for practice, revision and review."""
        forms: dict[Form, Rubric] = {"practice": practice_rubric(self.practised)} if self.practice else {}
        forms |= {"work": self.rubric, "revision": revision_of(self.rubric)}
        return forms | ({"review": self.people.review} if self.people.review else {})

    @property
    def rubrics(self) -> dict[str, Rubric]:
        """The forms by their rubrics' names."""
        return {one.name: one for one in self.forms.values()}


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
    practised = rubric if people.review is None else judging_of(rubric)
    practice = practice_of(examples_of(practised, folder) or known, practised, seed)
    return Work(
        rubric=rubric,
        people=people,
        folder=folder,
        records={record.key: record for _, _, _, records in given for record in records},
        parts={record.key: name for name, _, _, records in given for record in records},
        tasks=tasks,
        known=not_in(practice, known),
        practised=practised,
        practice=practice,
    )


def benchmark_of(project: Project) -> str:
    """The name of the build's queues: a pilot has its own, or it would empty those of the whole build."""
    return project.config.name if project.limit is None else f"{project.config.name} (pilot)"


# ---- what was handed in ----


@dataclass
class Collected:
    """What a pull brought of one rubric."""

    work: Work
    settlement: Settlement
    aside: frozenset[str]
    apart: list[SetAside]
    """What could not even be read."""
    questions: list[Annotation]
    """What people ask the engineer."""
    notes: list[str] = field(default_factory=list)
    """What somebody did to our files or on the server by hand."""

    @property
    def rubric(self) -> str:
        """The rubric's name."""
        return self.work.rubric.name

    @property
    def judged(self) -> list[Annotation]:
        """What counts of what people did on the records, each by themselves: before a review, validation items apart.

        It tells how far people agree.
        """
        asked = {task.key for task in self.work.tasks}
        return [one for one in self.settlement.counted if one.rubric == self.rubric and one.key in asked]

    def agreement(self, seed: int, draws: int = DRAWS) -> list[Agreement]:
        """How far people agree, by question and measure; with `draws` 0 without intervals, which is quick."""
        return agreement_of(self.work.rubric, self.judged, seed, draws)


def pull(project: Project, client: Client) -> list[Collected]:
    """Read all that people handed in, write it down with what it comes to, and tell.

    What an earlier pull brought stays, where its task or its project was deleted by hand since. Each file is written
    whole or not at all; what could not be written comes with the next pull.
    """
    told = marked(project.state) & {queue.id for queue in ours(client, benchmark_of(project)).values()}
    for number in told:
        unmark(project.state, number)  # what is done from here on marks it again
    try:
        return _pull(project, client)
    except BaseException:
        for number in told:
            mark(project.state, number)
        raise


def _pull(project: Project, client: Client) -> list[Collected]:
    codes = {number: code for code, number in _accounts(project, client).items()}
    given: dict[str, list[Handed]] = defaultdict(list)
    for one in handed_in(client, benchmark_of(project)):
        given[_rubric_of(one.queue)].append(one)
    found = []
    for work in works(project):
        annotations, apart = _read(work, (one for name in work.rubrics for one in given[name]), codes)
        before, notes = _pulled_before(project, work.rubric.name)
        known = {one.source for one in annotations} | {one.source for one in apart}
        gone, back = _missing(project, client, [one for one in before if one.source not in known])
        annotations = _in_order([*annotations, *gone])
        apart += _taken_back(project, work.rubric.name)
        apart += [set_apart(one, TAKEN_BACK, json.dumps(dict(one.answers), ensure_ascii=False)) for one in back]
        if gone:
            notes.append(f"{len(gone)} annotations whose tasks are gone from the server are kept")
        _write_lines(project, f"annotations/{work.rubric.name}.jsonl", annotations)
        collected = standing(project, work, annotations, apart)
        collected.notes = notes
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
        work=work,
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
        owner = one.queue.rpartition("/")[2]
        # Whose account it was is not known of those who have left; in their queues they are called by their codes.
        has_left = owner != ANYBODY and owner not in codes.values()
        by = codes.get(number, owner if has_left else f"account {number}")
        common = {"by": by, "at": str(row["updated_at"]), "source": str(row.get("unique_id") or row["id"])}
        key, task = str(data.get(KEY, "")), str(data.get(VIEW, ""))
        if not key or not task:
            apart.append(SetAside(key=key, reason="task that did not come from here", **common))
        elif owner not in (ANYBODY, by):
            apart.append(SetAside(key=key, reason=SOMEBODY_ELSES, evidence=f"the queue is {owner}'s", **common))
        else:
            version = data["version"] if isinstance(data.get("version"), int) else 0
            said = {"task": task, "key": key, "rubric": rubric.name, "version": version,
                    "seconds": max(0.0, float(row.get("lead_time") or 0)), **common}  # fmt: skip
            if row.get("was_cancelled"):
                more = {"cancelled": True, "question": answers_given(row).question}
                annotations.append(Annotation.model_validate({**said, **more}))
                continue
            try:
                # What is of another form's version does not count by this one, and is kept.
                answers = answers_of(rubric, row, data) if version == rubric.version else answers_given(row)
            except Unusable as problem:
                apart.append(SetAside(key=key, reason=problem.reason, evidence=problem.evidence, **common))
            else:
                annotations.append(Annotation.model_validate({**said, **dict(answers)}))
    return _in_order(annotations), sorted(apart, key=lambda one: (one.key, one.by, one.at, one.source))


def _in_order(annotations: Iterable[Annotation]) -> list[Annotation]:
    return sorted(annotations, key=lambda one: (one.key, one.by, one.at, one.source))


def _missing(
    project: Project, client: Client, before: Sequence[Annotation]
) -> tuple[list[Annotation], list[Annotation]]:
    """Of what an earlier pull brought and the server has no longer: what was deleted by hand with its task, and what
    its person took back, whose task is there."""
    if not before:
        return [], []
    there = {
        (name, row["data"].get(VIEW))
        for name, info in ours(client, benchmark_of(project)).items()
        for row in held(client, info)
        if isinstance(row["data"], Mapping)
    }
    gone: list[Annotation] = []
    back: list[Annotation] = []
    for one in before:
        queue = f"{benchmark_of(project)}/{one.rubric}@{one.version}"
        is_there = any((f"{queue}/{by}", one.task) in there for by in (one.by, ANYBODY))
        (back if is_there else gone).append(one)
    return gone, back


def _rubric_of(queue: str) -> str:
    """The rubric's name in a queue's: `uraq-check` of `sample/uraq-check@1/a1`."""
    return queue.split("/")[-2].partition("@")[0]


def read_annotations(project: Project, rubric: str) -> list[Annotation]:
    """The annotations of the last pull; none before the first. Raises `WrongInput` for a bad line."""
    path = project.out / "annotations" / f"{rubric}.jsonl"
    found = []
    try:
        for row in json_lines(str(path)) if path.exists() else ():
            try:
                found.append(Annotation.model_validate(dict(row.values)))
            except ValidationError as error:
                raise row.error(first_problem(error, "the annotation"), "correct it") from error
    except SourceError as error:
        raise WrongInput(f"{error}, or have `touchstone annotate pull` write the file anew") from error
    return found


def _pulled_before(project: Project, rubric: str) -> tuple[list[Annotation], list[str]]:
    """The annotations of the last pull, and what to tell: of a damaged file the whole lines, and a copy of it stays."""
    try:
        return read_annotations(project, rubric), []
    except WrongInput as damage:
        path = project.out / "annotations" / f"{rubric}.jsonl"
        content = path.read_bytes()
        kept = []
        for line in content.split(b"\n"):
            try:
                kept.append(Annotation.model_validate_json(line))
            except ValidationError:
                continue  # it stays in the copy
        copies = (path.with_name(f"{path.name}.damaged-{number}") for number in range(1, len(content) + 2))
        copy = next(one for one in copies if not one.exists())
        Store(str(project.out)).write(str(copy.resolve()), content)
        return kept, [f"{damage}; it is written anew, and {copy} is a copy of it as it was"]


def _taken_back(project: Project, rubric: str) -> list[SetAside]:
    """What earlier pulls noted so: the server has it no longer. Lines that are damaged are left out."""
    path = project.out / "annotations" / f"{rubric}-apart.jsonl"
    found = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        with contextlib.suppress(ValidationError):
            found.append(SetAside.model_validate_json(line))
    return [one for one in found if one.reason == TAKEN_BACK]


def _write_lines(project: Project, name: str, rows: Iterable[BaseModel]) -> None:
    text = "".join(json.dumps(row.model_dump(mode="json"), ensure_ascii=False) + "\n" for row in rows)
    Store(str(project.out)).write(f"{project.out.resolve()}/{name}", text.encode())


def _write_verdicts(
    project: Project, work: Work, annotations: Sequence[Annotation], verdicts: Sequence[Verdict]
) -> None:
    """The verdicts of each part. Those on records that nobody did anything on stay: they were written by hand."""
    by_task = {task.key: task.item_key for task in work.tasks}
    codes = _codes(project)
    touched = {by_task[one.key] for one in annotations if one.key in by_task and (codes is None or one.by in codes)}
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
    """Bring to each person's queues what is theirs to do now.

    Queues of ours that nobody works in any more are emptied: those of an earlier version of a form, which a project of
    its own takes over, of a person who is no longer named, and of a part that the build has no longer.
    """
    done = HandedOut()
    _accounts(project, client)
    there = ours(client, benchmark_of(project))
    names = set()
    for work in works(project):
        for queue, rows in _queues(project, client, work, there, done.lacking):
            names.add(queue.name)
            known = there.get(queue.name)
            if known is not None or queue.tasks:
                done.queues.append(push(client, queue, known, rows))
    for name, info in there.items():
        if name not in names and (left := withdraw(client, name, info)).retired:
            done.queues.append(left)
    return done


class _Queues:
    """The queues of a rubric's people, with what lies in them now and what was done of it."""

    def __init__(
        self, project: Project, client: Client, work: Work, there: Mapping[str, ProjectInfo], collected: Collected
    ) -> None:
        self.project, self.client, self.work, self.there = project, client, work, there
        self.counted = collected.settlement.counted
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def rows(self, rubric: Rubric, by: str) -> list[dict[str, Any]]:
        """The tasks of a person's queue as the server has them."""
        name = _name(benchmark_of(self.project), rubric, by)
        if name not in self._rows:
            info = self.there.get(name)
            self._rows[name] = held(self.client, info) if info is not None else []
        return self._rows[name]

    def holding(self, rubric: Rubric, by: str) -> set[str]:
        """The keys of the tasks that are a person's: what was done is, even where it was deleted by hand since."""
        return {row["data"].get(KEY) for row in self.rows(rubric, by) if not is_retired(row)} | {
            one.key for one in self.counted if one.by == by and one.rubric == rubric.name
        }

    def done(self, by: str) -> set[str]:
        """The ids of the tasks that a person did, so that it counts."""
        return {one.task for one in self.counted if one.by == by}

    def of(
        self, rubric: Rubric, by: str, tasks: Iterable[Task], done: Collection[str], people: int = 1
    ) -> tuple[Queue, Sequence[dict[str, Any]]]:
        """A queue as it should be, and its rows. What is `done` and was deleted by hand is not asked again."""
        rows = self.rows(rubric, by)
        lying = {row["data"].get(VIEW) for row in rows}
        asked = [task for task in tasks if task.id in lying or task.id not in done]
        return _queue(self.project, self.work, rubric, by, asked, people), rows


def _queues(
    project: Project, client: Client, work: Work, there: Mapping[str, ProjectInfo], lacking: list[str]
) -> Iterator[tuple[Queue, Sequence[dict[str, Any]]]]:
    annotations = read_annotations(project, work.rubric.name)
    collected = standing(project, work, annotations, [])
    queues = _Queues(project, client, work, there, collected)
    tasks = _still_asked(project, work, annotations)
    people = tuple(project.config.annotation.people)
    if not people:
        yield from _shared(queues, tasks, collected)
        return
    seed, settings = project.config.seed, project.config.annotation
    holding = {by: queues.holding(work.rubric, by) for by in people}
    suggested = {f"note_{one.name}" for one in work.rubric.writes}
    drafted = {
        row["data"].get(KEY)
        for by in people
        for row in queues.rows(work.rubric, by)
        if any(map(row["data"].get, suggested))
    }
    overlap = overlapping(tasks, work.rubric, settings.overlap_first, seed, holding, drafted)
    given = [without_suggestions(task) if task.key in overlap else task for task in tasks]
    aside = collected.aside
    passed = [by for by in people if passed_practice(by, work.practice, annotations, work.practised)]
    assigned = assign(given, people, work.rubric, seed, known=work.known, held=holding, overlap=overlap, aside=aside,
                      practice=work.practice, passed=passed)  # fmt: skip
    lacking += [f"{work.rubric.name}: {line}" for line in assigned.statement]
    lacking += [
        f"{work.rubric.name}: {by} gets {len(later)} tasks once the practice set is done rightly: pull, then push again"
        for by, later in assigned.later.items()
        if later
    ]
    for by in people:
        own = [task for task in assigned.queues.get(by, ()) if task.sample != PRACTICE]
        yield queues.of(work.rubric, by, own, queues.done(by))
        if work.practice:
            form = practice_rubric(work.practised)
            tried = {one.task for one in annotations if one.rubric == form.name and one.by == by and not one.cancelled}
            yield queues.of(form, by, practice_for(by, work.practice, annotations, work.practised), tried)
    yield from _after(queues, people, collected, lacking)


def _shared(
    queues: _Queues, tasks: Iterable[Task], collected: Collected
) -> Iterator[tuple[Queue, Sequence[dict[str, Any]]]]:
    """Where nobody is named: a queue a form, for all."""
    work, settled = queues.work, collected.settlement
    wanted = work.rubric.people_per_item
    people = Counter(one.task for one in queues.counted)
    yield queues.of(work.rubric, ANYBODY, tasks, {task for task in people if people[task] >= wanted}, wanted)
    if work.people.review is not None:
        yield queues.of(work.people.review, ANYBODY, (one.task for one in settled.reviews), people)
    yield queues.of(revision_of(work.rubric), ANYBODY, (one.task for one in settled.revisions), people)


def _after(
    queues: _Queues, people: Sequence[str], collected: Collected, lacking: list[str]
) -> Iterator[tuple[Queue, Sequence[dict[str, Any]]]]:
    """What comes of people's work: reviews for others, and what goes back to its author."""
    work, settled = queues.work, collected.settlement
    back: dict[str, list[Task]] = defaultdict(list)
    for task, author in settled.revisions:
        back[author].append(task)
    for by in people:
        yield queues.of(revision_of(work.rubric), by, back[by], queues.done(by))
    review = work.people.review
    if review is None:
        return
    assigned: Assignment = assign(
        [one.task for one in settled.reviews],
        people,
        review,
        queues.project.config.seed,
        held={by: queues.holding(review, by) for by in people},
        barred={task.key: (author,) for task, author in settled.reviews},
        aside=collected.aside,
    )
    lacking += [f"{review.name}: {line}" for line in assigned.statement]
    for by in people:
        yield queues.of(review, by, assigned.queues.get(by, ()), queues.done(by))


def _still_asked(project: Project, work: Work, annotations: Sequence[Annotation]) -> list[Task]:
    """The tasks of records that were not decided elsewhere, by a verdict that did not come of an annotation."""
    done = {one.key for one in annotations}
    given = {name: read_verdicts(project.out / "verdicts" / f"{name}.jsonl") for name in set(work.parts.values())}
    elsewhere = {
        key for verdicts in given.values() for key, one in verdicts.items()
        if key in work.records and one.view_hash == work.records[key].view_hash
    }  # fmt: skip
    return [task for task in work.tasks if task.key in done or task.item_key not in elsewhere]


def open_queues(config: Config, client: Client) -> int:
    """Make the projects of all that the configured families ask people, empty until a push; how many were made."""
    there, made = set(ours(client, config.name)), 0
    for family, settings in config.chosen():
        asking = [part.people for part in family.wanted(settings) if part.people is not None]
        for people in {one.rubric.name: one for one in asking}.values():
            for by in config.annotation.people or (ANYBODY,):
                each = people.rubric.people_per_item if by == ANYBODY else 1
                queue = _made(config.name, people, family.folder, people.rubric, by, (), each)
                if queue.name not in there:
                    push(client, queue, None)
                    made += 1
    return made


def _queue(project: Project, work: Work, rubric: Rubric, by: str, tasks: Iterable[Task], people: int = 1) -> Queue:
    return _made(benchmark_of(project), work.people, work.folder, rubric, by, tasks, people)


def _made(
    benchmark: str, people: People, folder: Path, rubric: Rubric, by: str, tasks: Iterable[Task], each: int
) -> Queue:
    title = f"{by} · {rubric.title or rubric.name}"
    # Reviewers have to know what authors were asked for.
    taught = (rubric, people.rubric) if rubric == people.review else (rubric,)
    return Queue(
        name=_name(benchmark, rubric, by),
        title=title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        config=label_config(rubric),
        instruction=guideline_page(rubric, "\n\n".join(guideline_of(one, folder) for one in taught)),
        tasks=[Wanted(task.key, task.id, task_data(rubric, task)) for task in tasks],
        people=each,
        fields=data_fields(rubric),
        shared=by == ANYBODY,
    )


LONGEST_TITLE = 50
"""Characters that Label Studio takes."""


def _name(benchmark: str, rubric: Rubric, by: str) -> str:
    return f"{benchmark}/{rubric.name}@{rubric.version}/{by}"


def _accounts(project: Project, client: Client) -> Mapping[str, int]:
    settings = project.config.annotation
    folder = server_folder(project.config) if settings.url == LOCAL else None
    return accounts(client, settings.people, folder) if settings.people else {}


# ---- how things stand ----


class Standing(Figures):
    """How one person's queue of one form stands; `by` is `all` where nobody is named."""

    work: str = Field(description="Name of the rubric that the records are asked by")
    form: Form
    rubric: str = Field(description="The form's")
    agreement: float | None = Field(
        description="Share of answers to choices in which another person agrees, over all that they share; None where "
        "they share none, and of forms other than the rubric's own"
    )
    aside: bool = Field(description="Whether the person answered too few of the known questions rightly")
    changed: bool = Field(description="Whether somebody worked there since the last pull, by what the server told")
    url: str


def stand(project: Project) -> list[Collected]:
    """What the annotations of the last pull come to, by rubric. Raises `WrongInput` for a damaged file."""
    return [standing(project, work, read_annotations(project, work.rubric.name), []) for work in works(project)]


def status(project: Project, client: Client, collected: Sequence[Collected] | None = None) -> list[Standing]:
    """How every queue stands, by the server's tasks and the annotations of the last pull, `collected` or read anew."""
    there = ours(client, benchmark_of(project))
    told = marked(project.state)
    found = []
    for one in stand(project) if collected is None else collected:
        work, settled = one.work, one.settlement
        annotations = read_annotations(project, work.rubric.name)
        tasks = {task.key: task for task in (*work.tasks, *work.known, *(task for task, _ in settled.reviews),
                                             *(task for task, _ in settled.revisions))}  # fmt: skip
        agrees = agreement_by_person(work.rubric, one.judged)
        for form, rubric in work.forms.items():
            queues: dict[str, list[Task]] = {}
            infos = {
                name.rpartition("/")[2]: info
                for name, info in there.items()
                if name.split("/")[-2] == f"{rubric.name}@{rubric.version}"
            }
            did: dict[str, list[str]] = defaultdict(list)  # what was done is there, even where it was deleted by hand
            for each in settled.counted:
                if each.rubric == rubric.name:
                    did[ANYBODY if ANYBODY in infos else each.by].append(each.key)
            for by in sorted({*infos, *did}):
                own = tasks | {task.key: task for task in practice_for(by, work.practice, annotations, work.practised)}
                rows = held(client, infos[by]) if by in infos else []
                keys = dict.fromkeys([*(row["data"].get(KEY) for row in rows if not is_retired(row)), *did[by]])
                queues[by] = [own[key] for key in keys if key in own]
            given = [each for each in annotations if each.rubric == rubric.name and not each.cancelled]
            if ANYBODY in queues:
                given = [each.model_copy(update={"by": ANYBODY}) for each in given]
            keys_here = {task.key for own in queues.values() for task in own}
            back, good = (
                [(key, ANYBODY if ANYBODY in infos else author) for key, author in pieces if key in keys_here]
                for pieces in (settled.sent_back, settled.accepted)
            )
            for line in figures(queues, given, rubric, back, good):
                if line.by in queues:
                    info_of = infos.get(line.by)
                    agreed = agrees.get(line.by) if form == "work" else None
                    found.append(
                        Standing(
                            **dict(line),
                            work=work.rubric.name,
                            form=form,
                            rubric=rubric.name,
                            agreement=agreed.value if agreed else None,
                            aside=line.by in one.aside,
                            changed=info_of is not None and info_of.id in told,
                            url=f"{client.url}/projects/{info_of.id}/data" if info_of else "",
                        )
                    )
    return found
