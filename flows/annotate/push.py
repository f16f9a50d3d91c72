"""Who has which task, brought to their queues on the server."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.assign import Assignment, assign, overlapping, without_suggestions
from annotation.guideline import guideline_page
from annotation.label_studio.client import Client, ProjectInfo
from annotation.label_studio.config import data_fields, label_config, task_data
from annotation.label_studio.sync import (
    KEY,
    VIEW,
    Pushed,
    Queue,
    Wanted,
    held,
    is_retired,
    ours,
    push,
    withdraw,
)
from annotation.quality import (
    PRACTICE,
    passed_practice,
    practice_for,
    practice_rubric,
)
from annotation.review import revision_of
from flows.annotate.pull import source_of
from flows.annotate.rubrics import guideline_of
from flows.annotate.work import (
    ANYBODY,
    Collected,
    Work,
    account_name,
    accounts_of,
    benchmark_of,
    queue_name,
    read_annotations,
    read_apart,
    standing,
    works,
)
from flows.construct.people import People
from flows.project.project import Project
from flows.project.settings import Config
from flows.project.verdicts import read_verdicts
from schemas.annotation import Annotation
from schemas.rubric import Rubric, Task


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
    codes = {account_name(number): code for number, code in accounts_of(project, client).items()}
    there = ours(client, benchmark_of(project))
    names = set()
    for work in works(project):
        for queue, rows in _queues(project, client, work, there, codes, done.lacking):
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
        self._apart = {one.source for one in read_apart(project, work.rubric.name)}
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def rows(self, rubric: Rubric, by: str) -> list[dict[str, Any]]:
        """The tasks of a person's queue as the server has them."""
        name = queue_name(benchmark_of(self.project), rubric, by)
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
        anew = self._blocked(rubric, by, done, people)
        return _queue(self.project, self.work, rubric, by, asked, people, anew), rows

    def _blocked(self, rubric: Rubric, by: str, done: Collection[str], people: int) -> frozenset[str]:
        """Ids of tasks that the server takes for done, by what does not count: they have to go out anew.

        What the last pull has not seen yet may count, and blocks nothing.
        """
        full = {
            row["id"]: str(row["data"].get(VIEW))
            for row in self.rows(rubric, by)
            if not is_retired(row) and row["data"].get(VIEW) not in done and (row["total_annotations"] or 0) >= people
        }
        if not full:
            return frozenset()
        project = self.there[queue_name(benchmark_of(self.project), rubric, by)].id
        handed = {
            row["id"]: {source_of(one) for one in row["annotations"] if not one.get("was_cancelled")}
            for row in self.client.export(project)
            if row["id"] in full
        }
        return frozenset(full[number] for number, sources in handed.items() if sources and sources <= self._apart)


def _queues(
    project: Project,
    client: Client,
    work: Work,
    there: Mapping[str, ProjectInfo],
    codes: Mapping[str, str],
    lacking: list[str],
) -> Iterator[tuple[Queue, Sequence[dict[str, Any]]]]:
    # Who worked before people were named has a code now: what they did is theirs.
    annotations = [
        one.model_copy(update={"by": codes.get(one.by, one.by)}) for one in read_annotations(project, work.rubric.name)
    ]
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


def _queue(
    project: Project, work: Work, rubric: Rubric, by: str, tasks: Iterable[Task], people: int, anew: Collection[str]
) -> Queue:
    return _made(benchmark_of(project), work.people, work.folder, rubric, by, tasks, people, anew)


def _made(
    benchmark: str,
    people: People,
    folder: Path,
    rubric: Rubric,
    by: str,
    tasks: Iterable[Task],
    each: int,
    anew: Collection[str] = (),
) -> Queue:
    title = f"{by} · {rubric.title or rubric.name}"
    # Reviewers have to know what authors were asked for.
    taught = (rubric, people.rubric) if rubric == people.review else (rubric,)
    return Queue(
        name=queue_name(benchmark, rubric, by),
        title=title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        config=label_config(rubric),
        instruction=guideline_page(rubric, "\n\n".join(guideline_of(one, folder) for one in taught)),
        tasks=[Wanted(task.key, task.id, task_data(rubric, task), task.id in anew) for task in tasks],
        people=each,
        about=rubric.title or rubric.name,
        fields=data_fields(rubric),
        shared=by == ANYBODY,
    )


LONGEST_TITLE = 36
"""Characters that stand on a project's card; of a longer title a card would be too wide for the page."""
