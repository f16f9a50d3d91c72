"""What people are to do on a build, and how what they did stands.

A rubric's tasks are those of all parts that ask by it. Everything is worked out anew from the build and from the
annotations of the last pull: what counts, what is reviewed or goes back, and the verdicts.
"""

import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from annotation.agreement import DRAWS, agreement_of, compared, means
from annotation.label_studio.accounts import accounts
from annotation.label_studio.client import Client
from annotation.quality import (
    not_in,
    practice_of,
    practice_rubric,
    set_aside,
)
from annotation.review import Settlement, judging_of, revision_of, settle
from data.sources.files import json_lines
from data.sources.spec import SourceError
from flows.annotate.rubrics import examples_of
from flows.annotate.server import server_folder
from flows.construct.people import People, in_words
from flows.construct.stages import StageRef
from flows.project.project import Project
from flows.project.settings import LOCAL
from schemas.annotation import Agreement, Annotation, Comparison, Finding, Means, SetAside
from schemas.base import Record
from schemas.errors import WrongInput, first_problem
from schemas.rubric import Rubric, Task

ANYBODY = "all"
"""The queue of a rubric where nobody is named."""
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
    programs: Sequence[Annotation]
    """What programs answered to the tasks."""
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
    programs: list[Annotation] = []
    for _, own, _, records in given:
        made = own.tasks(records, seed)
        tasks += made
        known += own.validation(records, made, seed) if own.validation else ()
        programs += own.programs(records, made)
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
        programs=programs,
        practised=practised,
        practice=practice,
    )


def benchmark_of(project: Project) -> str:
    """The name of the build's queues: a pilot has its own, or it would empty those of the whole build."""
    return project.config.name if project.limit is None else f"{project.config.name} (pilot)"


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

    @property
    def rated(self) -> int:
        """The tasks that were rated by as many people as the rubric asks for."""
        return sum(outcome.state == "rated" for outcome in self.settlement.outcomes)

    def agreement(self, seed: int, draws: int = DRAWS) -> list[Agreement]:
        """How far people agree, by question and measure; with `draws` 0 without intervals, which is quick."""
        return agreement_of(self.work.rubric, self.judged, seed, draws)

    def compared(self, seed: int, draws: int = DRAWS) -> list[Comparison]:
        """How far programs agree with people; with `draws` 0 without intervals, which is quick."""
        return compared(self.work.rubric, self.judged, self.work.programs, self._samples, seed, draws)

    def means(self) -> list[Means]:
        """What people gave on scales, by sample."""
        return means(self.work.rubric, self.judged, self._samples)

    @property
    def _samples(self) -> dict[str, str]:
        """By task, its sample."""
        return {task.id: task.sample for task in self.work.tasks}


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
        people=codes_of(project),
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


def codes_of(project: Project) -> frozenset[str] | None:
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


def account_name(number: int) -> str:
    """What somebody is called who is not named in the configuration."""
    return f"account {number}"


def rubric_of(queue: str) -> str:
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


def read_apart(project: Project, rubric: str) -> list[SetAside]:
    """What the last pull set apart. Lines that are damaged are left out."""
    path = project.out / "annotations" / f"{rubric}-apart.jsonl"
    found = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        with contextlib.suppress(ValidationError):
            found.append(SetAside.model_validate_json(line))
    return found


def queue_name(benchmark: str, rubric: Rubric, by: str) -> str:
    return f"{benchmark}/{rubric.name}@{rubric.version}/{by}"


def accounts_of(project: Project, client: Client) -> Mapping[int, str]:
    settings = project.config.annotation
    folder = server_folder(project.config) if settings.url == LOCAL else None
    return accounts(client, settings.people, folder) if settings.people else {}


def stand(project: Project) -> list[Collected]:
    """What the annotations of the last pull come to, by rubric. Raises `WrongInput` for a damaged file."""
    return [standing(project, work, read_annotations(project, work.rubric.name), []) for work in works(project)]
