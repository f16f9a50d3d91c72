"""People's work on a build: their tasks, and the result.

A rubric's tasks are those of all parts that ask people under it. Everything is computed anew from the build and the
annotations of the last pull: which ones count, what is reviewed or goes back, and the verdicts.
"""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from annotation.adjudicate import Disagreement, adjudication_of, known_answers, worked_examples
from annotation.agreement import SharedWork, agreement_of, mean_ratings, program_agreement, shared_work
from annotation.measures import DRAWS
from annotation.practice import not_practised, practice_of, practice_rubric
from annotation.quality import suspended
from annotation.reliability import Reliabilities, reliabilities
from annotation.review import AGREED, DISAGREES, NO, corrected_of, judging_of, review_of, revision_of
from annotation.settle import Settlement, settle
from annotation.survey import survey_of
from annotation.value import by_value_of
from data.sources.files import json_lines
from data.sources.spec import SourceError
from data.stage_files import Stage
from flows.annotate.findings import findings_of
from flows.annotate.guidelines import examples_of
from flows.annotate.team import annotators_of, codes_of
from flows.construct.people import People
from flows.project.project import Project, read_verdicts
from schemas.annotation import Agreement, Annotation, Comparison, Excluded, Means
from schemas.base import Record
from schemas.errors import WrongInput, first_problem
from schemas.rubric import ENGLISH, Rubric, Survey, Task, guideline_in
from schemas.verdict import Decision

M = TypeVar("M", bound=BaseModel)
APART = "-apart"
"""How the names of files end that hold what does not count."""
ANYBODY = "all"
"""The person in the name of a queue that is for everybody."""
Form = Literal["work", "practice", "revision", "review", "corrected", "deciding"]
"""The purpose of a form."""
PartRecords = tuple[str, People, Path, Stage[Any]]
"""A part's name, its people, its family's folder, and its sifted records."""


@dataclass(frozen=True)
class Work:
    """A rubric's work on a build."""

    rubric: Rubric
    people: People
    folder: Path
    """The family's folder, with the guideline."""
    sizes: Mapping[str, int]
    """By family and part (`uraq-items`) that asks people under the rubric, the number of its records."""
    records: Mapping[str, Record]
    """By key, the records that people are asked about."""
    parts: Mapping[str, str]
    """By the key of such a record, its family and part."""
    tasks: Sequence[Task]
    gold: Sequence[Task]
    """Tasks with a known answer; none of them is in the practice set."""
    programs: Sequence[Annotation]
    """Programs' answers to the tasks."""
    practice: Mapping[str, Sequence[Task]]
    """The practice set, by each language of the forms of the tasks."""
    reads: Callable[[str], Sequence[str] | None] = lambda by: None
    """(person's code): the languages that the person reads; None for all."""
    questions: Survey | None = None
    """The questionnaire for those who have done all their tasks; its answers are no part of the data."""
    examples: Sequence[Task] = ()
    """Tasks that somebody who decided between people made examples for the guideline."""

    @property
    def forms(self) -> dict[Form, Rubric]:
        """The forms of the rubric's queues, in English."""
        return self.forms_in(ENGLISH)

    def forms_in(self, language: str) -> dict[Form, Rubric]:
        """Return the rubric's own form in a language, and those for practice, revision, and review or adjudication."""
        rubric, review = self.rubric.in_language(language), self.people.review
        forms: dict[Form, Rubric] = {}
        if any(self.practice.values()):
            forms["practice"] = practice_rubric(practised(rubric, self.people))
        forms |= {"work": rubric, "revision": revision_of(rubric)}
        if review is not None:
            translated = rubric.language != ENGLISH
            forms["review"] = review_of(rubric, guideline_in(language, review.guideline)) if translated else review
            forms["corrected"] = corrected_of(rubric)
        elif rubric.decides:
            forms["deciding"] = adjudication_of(rubric)
        return forms

    def form_in(self, language: str, form: Rubric) -> Rubric:
        """Return one of the forms, or the questionnaire, in a language."""
        forms = (*self.forms_in(language).values(), self.survey_in(language))
        return next(one for one in forms if one is not None and one.name == form.name)

    @property
    def rubrics(self) -> dict[str, Rubric]:
        """The forms, by their rubrics' names."""
        return {form.name: form for form in self.forms.values()}

    @property
    def survey(self) -> Rubric | None:
        """The questionnaire, with its frame in English."""
        return self.survey_in(ENGLISH)

    def survey_in(self, language: str) -> Rubric | None:
        """Return the questionnaire with its frame in a language; what it asks is as the configuration has it."""
        return None if self.questions is None else survey_of(self.rubric.in_language(language), self.questions)

    def language_for(self, by: str) -> str:
        """Return the language in which a person practises, and is asked at the end: the first that they read."""
        return self.languages_for(by)[0]

    def languages_for(self, by: str) -> Sequence[str]:
        """Return the languages of the practice sets that a person may practise in."""
        return [language for language in self.reads(by) or () if language in self.practice] or [*self.practice]

    def practice_of(self, by: str, language: str = "") -> tuple[Sequence[Task], Rubric]:
        """Return a person's practice set, in their own language or another, and the rubric that is practised in it.

        Who reads the language of no task gets none of them, and so has nothing to practise.
        """
        language, reads = language or self.language_for(by), self.reads(by)
        gets_some = reads is None or not self.tasks or any(task.language in reads for task in self.tasks)
        practice = self.practice[language] if gets_some else ()
        return practice, practised(self.rubric.in_language(language), self.people)


def practised(rubric: Rubric, people: People) -> Rubric:
    """Return the rubric that people practise first: the rubric itself, or judging what is written under it."""
    return rubric if people.review is None else judging_of(rubric)


# ---- a build's work ----


def works(project: Project) -> list[Work]:
    """Return the work of each rubric that a finished build's parts ask people under, in the order of the parts."""
    by_rubric: dict[str, list[PartRecords]] = defaultdict(list)
    for family, part in project.build.parts():
        if part.people is not None:
            sifted = project.build.sifted(family, part)
            name = f"{family.name}-{part.name}"
            by_rubric[part.people.rubric.name].append((name, part.people, family.folder, sifted))
    return [_work(parts, project) for parts in by_rubric.values()]


def _work(parts: Sequence[PartRecords], project: Project) -> Work:
    _, people, folder, _ = parts[0]
    seed, rubric = project.config.seed, people.rubric
    if people.gold is not None:
        rubric = rubric.model_copy(update={"validation_share": project.config.annotation.gold_share})
    tasks: list[Task] = []
    gold: list[Task] = []
    programs: list[Annotation] = []
    for _, part, _, records in parts:
        made = list(part.tasks(records, seed))
        tasks += made
        gold += part.gold(records, made, seed) if part.gold else ()
        programs += part.programs(records, made)
    about = {task.item_key for task in (*tasks, *gold)}
    asked = [(name, record) for name, _, _, records in parts for record in records if record.key in about]
    spoken = {rubric.form_language(task.language) for task in (*tasks, *gold)}
    practice = {}
    for language in [language for language in rubric.languages if language in spoken] or [ENGLISH]:
        form = practised(rubric.in_language(language), people)
        own = [task for task in gold if rubric.form_language(task.language) == language]
        practice[language] = practice_of(examples_of(form, folder) or own, form, seed)
    return Work(
        rubric=rubric,
        people=people,
        folder=folder,
        sizes={name: len(records) for name, _, _, records in parts if len(records)},
        records={record.key: record for _, record in asked},
        parts={record.key: name for name, record in asked},
        tasks=tasks,
        gold=not_practised([task for own in practice.values() for task in own], gold),
        programs=programs,
        practice=practice,
        reads=project.config.annotation.languages_of,
        questions=project.config.annotation.surveys.get(rubric.name),
    )


def open_tasks(project: Project, work: Work, annotations: Sequence[Annotation]) -> list[Task]:
    """Return the tasks of records that were not decided by a verdict of another origin than annotations."""
    done = {annotation.key for annotation in annotations}
    decided = set()
    for part in work.sizes:
        for key, verdict in read_verdicts(project.out / "verdicts" / f"{part}.jsonl").items():
            if key in work.records and verdict.view_hash == work.records[key].view_hash:
                decided.add(key)
    return [task for task in work.tasks if task.key in done or task.item_key not in decided]


@dataclass
class Collected:
    """The annotations of one rubric, settled."""

    work: Work
    annotations: Sequence[Annotation]
    """All that was pulled and could be read."""
    settlement: Settlement
    suspended: frozenset[str]
    unreadable: list[Excluded]
    """Annotations excluded before they could be settled."""
    questions: list[Annotation]
    """Annotations with a question to the engineer."""
    notes: list[str] = field(default_factory=list)
    """Changes that somebody made in our files or on the server by hand."""

    @property
    def rubric(self) -> str:
        """The rubric's name."""
        return self.work.rubric.name

    @property
    def excluded(self) -> list[Excluded]:
        """All annotations that do not count."""
        return [*self.unreadable, *self.settlement.excluded]

    @property
    def reliabilities(self) -> Reliabilities | None:
        """How sure the decisions are, and how reliable each person is; None with a review, and if it is unknown."""
        return self.settlement.reliabilities

    @property
    def probabilities(self) -> Mapping[str, Mapping[Decision, float]]:
        """By the key of each task that somebody decided, the probability of each decision; empty if it is unknown."""
        return self.reliabilities.tasks if self.reliabilities else {}

    @property
    def judged(self) -> list[Annotation]:
        """The annotations that count for agreement: each person's own work on records, before any review.

        By value, that on the tasks which were drawn for it: the others that several people did are difficult ones.
        """
        by_value = self.settlement.by_value
        asked = {task.key for task in self.work.tasks} if by_value is None else by_value.fixed
        return [
            annotation
            for annotation in self.settlement.counted
            if annotation.rubric == self.rubric and annotation.key in asked
        ]

    @cached_property
    def shared(self) -> list[SharedWork]:
        """Each person's work on the tasks that others did too."""
        return shared_work(self.work.rubric, self.judged)

    @cached_property
    def disagreements(self) -> list[Disagreement]:
        """Where people differ, or did until somebody decided; first what it is worth most to decide."""
        return sorted(self.settlement.disagreements, key=lambda one: (-self.worth(one), one.task.key))

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        """The decision on each decided task, as it stands, by the task's key."""
        outcomes = self.settlement.outcomes
        return {outcome.key: outcome.verdict.decision for outcome in outcomes if outcome.verdict is not None}

    def worth(self, disagreement: Disagreement) -> float:
        """Return what it is worth to decide: the probability that the decision as it stands is wrong; 0 once decided.

        Where people decide the same and correct otherwise, and where no probability is known, it is the share of people
        who do not answer so.
        """
        if disagreement.decided is not None:
            return 0.0
        answers, people = Counter(disagreement.decisions), len(disagreement.decisions)
        if len(answers) == 1:
            return 1 - 1 / people
        chances = self.probabilities.get(disagreement.task.key) or {name: n / people for name, n in answers.items()}
        stands = self.decisions.get(disagreement.task.key)
        return 1 - (chances.get(stands, 0.0) if stands is not None else max(chances.values()))

    @property
    def rated(self) -> int:
        """The number of tasks rated by as many people as the rubric asks for."""
        return sum(outcome.state == "rated" for outcome in self.settlement.outcomes)

    def agreement(self, seed: int, draws: int = DRAWS) -> list[Agreement]:
        """Return people's agreement by question and measure; with `draws` 0 without intervals, which is fast."""
        return agreement_of(self.work.rubric, self.judged, seed, draws)

    def compared(self, seed: int, draws: int = DRAWS) -> list[Comparison]:
        """Return programs' agreement with people; with `draws` 0 without intervals, which is fast."""
        return program_agreement(self.work.rubric, self.judged, self.work.programs, self._samples, seed, draws)

    def means(self) -> list[Means]:
        """Return people's mean ratings, by sample."""
        return mean_ratings(self.work.rubric, self.judged, self._samples)

    @property
    def _samples(self) -> dict[str, str]:
        return {task.id: task.sample for task in self.work.tasks}


def last_pull(project: Project) -> list[Collected]:
    """Return the annotations of the last pull, settled, by rubric. Raises `WrongInput` for a damaged file."""
    return [collect(project, work, read_annotations(project, work.rubric.name)) for work in works(project)]


def collect(
    project: Project, work: Work, annotations: Sequence[Annotation], unreadable: Sequence[Excluded] = ()
) -> Collected:
    """Settle the annotations of a rubric; its work has the known answers and examples that adjudicators made of it."""
    names = {rubric.name for form, rubric in work.forms.items() if form not in ("practice", "corrected")}
    real = [annotation for annotation in annotations if annotation.rubric in names]
    out, settlement = _settled(project, work, real)
    if known := known_answers(settlement.disagreements, work.rubric):
        # They come from the work without them. So they stay, whoever is suspended by them.
        rubric = work.rubric.model_copy(update={"validation_share": project.config.annotation.gold_share})
        work = replace(work, rubric=rubric, gold=[*work.gold, *known])
        out, settlement = _settled(project, work, real)
    work = replace(work, examples=worked_examples(settlement.disagreements, work.rubric))
    told = corrected_of(work.rubric).name
    questions = [
        annotation if annotation.question else annotation.model_copy(update={"question": DISAGREES})
        for annotation in annotations
        if annotation.question or (annotation.rubric == told and annotation.answers.get(AGREED) == NO)
    ]
    return Collected(work, annotations, settlement, out, list(unreadable), questions)


def _settled(project: Project, work: Work, annotations: Sequence[Annotation]) -> tuple[frozenset[str], Settlement]:
    """Return who is suspended, and the annotations, settled."""
    asking, seed = project.config.annotation, project.config.seed
    out = suspended(work.gold, annotations, work.rubric) if asking.people else frozenset()
    able = set(annotators_of(project, work.rubric.name)) - out
    spoken = {task.language for task in work.tasks}
    readers = Counter(language for language in spoken for by in able if asking.can_read(by, language))
    people = {task.key: readers[task.language] for task in work.tasks}
    settlement = settle(
        [*work.gold, *work.tasks],
        annotations,
        work.rubric,
        review=work.people.review,
        check=lambda task, annotation: findings_of(
            annotation.answers, work.records.get(task.item_key), work.people, project.embedder
        ),
        weigh=lambda given, known, adjudicated: reliabilities(given, known, work.rubric, adjudicated),
        people=codes_of(project),
        suspended=out,
        lead=asking.lead,
        by_value=by_value_of(work.tasks, work.rubric, asking.certainty, asking.overlap_first, people, seed),
        # More strangers may come, and without names anybody may.
        able=people if asking.people and not asking.is_for_strangers(work.rubric.name) else None,
        seed=seed,
    )
    return out, settlement


def read_annotations(project: Project, rubric: str) -> list[Annotation]:
    """Return the annotations of the last pull; none before the first. Raises `WrongInput` for a bad line."""
    path = project.out / "annotations" / f"{rubric}.jsonl"
    annotations = []
    try:
        for row in json_lines(str(path)) if path.exists() else ():
            try:
                annotations.append(Annotation.model_validate(dict(row.values)))
            except ValidationError as error:
                raise row.error(first_problem(error, "the annotation"), "correct it") from error
    except SourceError as error:
        raise WrongInput(f"{error}, or have `touchstone annotate pull` write the file anew") from error
    return annotations


def read_excluded(project: Project, rubric: str) -> list[Excluded]:
    """Return the annotations that the last pull excluded, without damaged lines."""
    return list(undamaged(project, f"{rubric}{APART}", Excluded))


def undamaged(project: Project, name: str, model: type[M]) -> Iterator[M]:
    """Yield the records of a file that the last pull wrote, without damaged lines; none before the first."""
    path = project.out / "annotations" / f"{name}.jsonl"
    return whole_lines(path.read_bytes(), model) if path.exists() else iter(())


def whole_lines(content: bytes, model: type[M]) -> Iterator[M]:
    """Yield the records of a file of JSON Lines, without lines that are no such record."""
    for line in content.split(b"\n"):
        with contextlib.suppress(ValidationError):
            yield model.model_validate_json(line)


def benchmark_of(project: Project) -> str:
    """Return the first part of the names of the build's queues. A pilot has its own, or it would empty the others."""
    return project.config.name if project.limit is None else f"{project.config.name} (pilot)"
