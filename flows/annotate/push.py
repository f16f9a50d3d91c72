"""Push: bring everybody's tasks to their queues on the server."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from annotation.adjudicate import Disagreement, may_decide, who_knows
from annotation.assign import Assignment, assign, overlapping, without_suggestions
from annotation.earlier import EarlierWork, asked_again
from annotation.label_studio.client import Client, Row
from annotation.label_studio.sync import (
    KEY,
    VIEW,
    PushedQueue,
    Queue,
    all_projects_of,
    is_retired,
    projects_of,
    push_queue,
    withdraw,
    worked_on,
)
from annotation.label_studio.task_data import SUGGESTED, changes_between, own_texts, task_data
from annotation.practice import PRACTICE, practice_rubric
from annotation.review import corrected_of, revision_of
from annotation.survey import survey_task
from annotation.wording import in_all_languages
from flows.annotate.practising import has_passed, practice_tasks
from flows.annotate.queues import queue_of, submitted_ids
from flows.annotate.readers import check_readers, unread
from flows.annotate.screening import Screening
from flows.annotate.server_queues import ServerQueues
from flows.annotate.team import account_name, accounts_of, annotators_of
from flows.annotate.work import (
    ANYBODY,
    Work,
    benchmark_of,
    collect,
    open_tasks,
    read_annotations,
    read_excluded,
    works,
)
from flows.project.project import Project
from schemas.base import counted
from schemas.rubric import ENGLISH, Rubric, Task

QueueRows = tuple[Queue, Sequence[Row]]
"""A queue as it should be, and its tasks as the server has them."""


@dataclass
class Pushed:
    """The result of a push, and the tasks that it could not assign."""

    queues: list[PushedQueue] = field(default_factory=list)
    shortages: list[str] = field(default_factory=list)

    @property
    def messages(self) -> list[str]:
        """The notes on the queues, and the shortages: what a lead should know."""
        return [*(f"{queue.queue}: {note}" for queue in self.queues for note in queue.notes), *self.shortages]


def push(project: Project, client: Client) -> Pushed:
    """Bring everybody's current tasks to their queues.

    Our queues that nobody works in any more are emptied: those of an earlier version of a form, of a person who is no
    longer named, and of a part that the build no longer has. So is a second project of a queue. Raises `WrongInput`
    before anything is sent if too few people read the language of some tasks.
    """
    pushed = Pushed()
    codes = {account_name(number): code for number, code in accounts_of(project, client).items()}
    asked = works(project)
    check_readers(project.config.annotation, asked)
    projects = projects_of(client, benchmark_of(project))
    server = ServerQueues(client, benchmark_of(project), projects)
    names = set()
    for work in asked:
        queues = _WorkQueues(project, server, work, codes)
        for queue, rows in queues.queues():
            names.add(queue.name)
            existing = projects.get(queue.name)
            if existing is not None or queue.tasks:
                pushed.queues.append(push_queue(client, queue, existing, rows))
        pushed.shortages += queues.shortages
    pushed.shortages += unread(project.config.annotation, asked)
    for name, info in all_projects_of(client, benchmark_of(project)):
        is_second = name in projects and info.id != projects[name].id
        if (is_second or name not in names) and (left := withdraw(client, name, info)).retired:
            left.notes += ["a second project, made by another push at the same time"] if is_second else []
            pushed.queues.append(left)
    return pushed


class _WorkQueues:
    """The queues of a rubric's people, with their tasks on the server and the work done so far."""

    def __init__(self, project: Project, server: ServerQueues, work: Work, codes: Mapping[str, str]) -> None:
        """`codes` has the code of each account's name."""
        self.project, self.server = project, server
        asking = project.config.annotation
        self.lead, self.annotators = asking.lead, annotators_of(project, work.rubric.name)
        self.people = tuple(dict.fromkeys((*asking.people, *self.annotators)))
        self.shortages: list[str] = []
        # Somebody who worked before people were named has a code now: the work is theirs.
        self.annotations = [
            work.model_copy(update={"by": codes.get(work.by, work.by)})
            for work in read_annotations(project, work.rubric.name)
        ]
        self.collected = collect(project, work, self.annotations)
        self.screening = Screening(project, work, self.annotations)
        self.work, self.settlement = self.collected.work, self.collected.settlement
        self._adjudication = work.forms.get("deciding")
        self._earlier = {work.rubric.name: EarlierWork(self.annotations, work.rubric, work.people.review)}
        for form in (work.people.review, self._adjudication):
            if form is not None:
                self._earlier[form.name] = EarlierWork(self.annotations, form)
        self._excluded = {work.source for work in read_excluded(project, work.rubric.name)}
        self._writers: dict[str, set[str]] = defaultdict(set)
        self._finished: dict[str, set[str]] = defaultdict(set)
        self._did: dict[tuple[str, str], set[str]] = defaultdict(set)
        """By form and task's key, who has done it."""
        self._asked: set[str] = set()
        """People who have tasks of the rubric of their own, open or done."""
        self._busy: set[str] = set()
        """People who have something open in one of their queues."""
        items = {task.key: task.item_key for task in work.tasks}
        for annotation in self.settlement.counted:
            self._did[annotation.rubric, annotation.key].add(annotation.by)
            if annotation.key in items:
                self._finished[items[annotation.key]].add(annotation.by)
        self.screening.judge(self._open_rows)
        self._closed = {*self.people}.difference(self.annotators).union(self.screening.standing)
        """People who get no more tasks of the rubric; what they did stays done."""

    def queues(self) -> Iterator[QueueRows]:
        """Yield all queues. Tasks that nobody can take are among the `shortages` afterwards."""
        if not self.people:
            yield from self._shared()
            return
        yield from self._own()
        yield from self._revisions()
        reviews_may_come = False
        if self.work.people.review is not None:
            yield from self._reviews(self.work.people.review)
            reviews_may_come = bool(self._busy)
            yield from self._corrections()
        if self._adjudication is not None:
            yield from self._adjudications(self._adjudication)
        if self.work.questions is not None:
            yield from self._surveys(set() if reviews_may_come else self._asked - self._busy)

    def _own(self) -> Iterator[QueueRows]:
        """Yield each person's queue of the rubric, and their practice set."""
        rubric = self.work.rubric
        assignment = self._assignment()
        for by in assignment.queues:
            for task in (*assignment.queues[by], *assignment.later[by]):
                self._writers[task.item_key].add(by)
        self.shortages += [
            f"{rubric.name}: {by} gets {counted(len(later), 'task')} with the pull and push after the practice set"
            for by, later in assignment.later.items()
            if later
        ]
        for by in self.people:
            tasks = [task for task in assignment.queues.get(by, ()) if task.sample != PRACTICE]
            done = self._done(by)
            yield from self._queues(rubric, by, tasks, done)
            if by in self.annotators and tasks:
                self._asked.add(by)
            practice, practised = self.work.practice_of(by)
            if practice:
                form = practice_rubric(practised)
                done = submitted_ids(self.annotations, form, by)
                gets_more = bool(self.work.tasks) and by not in self._closed
                mine = practice_tasks(self.work, by, self.annotations, done, gets_more=gets_more)
                yield from self._queues(form, by, mine, done)

    def _assignment(self) -> Assignment:
        """Assign the rubric's tasks; those in the overlap go out without suggestions."""
        work, seed = self.work, self.project.config.seed
        tasks, form = open_tasks(self.project, work, self.annotations), self._adjudication
        deciding = {by: self._held(form, by) for by in self.people} if form is not None else {}
        held = {by: self._held(work.rubric, by) for by in self.people}
        notes = {f"note_{write.name}" for write in work.rubric.writes}
        drafted = {
            row["data"].get(KEY)
            for by in self.people
            for row in self.server.all_tasks(work.rubric, by)
            if any(row["data"].get(note) in in_all_languages(SUGGESTED) for note in notes)
        }
        passed = [by for by in self.people if has_passed(work, by, self.annotations)]
        barred = who_knows(self.settlement.disagreements, work.gold, deciding, held)
        without_new = self._closed | self.screening.not_now(passed, held)
        for task in (*tasks, *work.gold):
            barred[task.key] = barred.get(task.key, set()).union(by for by in without_new if task.key not in held[by])
            barred[task.key] |= self._cannot_read(task, work.rubric)
        by_value, number = self.settlement.by_value, self.project.config.annotation.overlap_first
        fixed = by_value.fixed if by_value else overlapping(tasks, work.rubric, number, seed, held, drafted)
        assignment = assign(
            [without_suggestions(task) if task.key in fixed else task for task in tasks],
            self.people,
            work.rubric,
            seed,
            gold=work.gold,
            held=held,
            overlap=fixed,
            further=self.settlement.further({by: held[by] for by in {*self.annotators} - self.collected.suspended}),
            barred=barred,
            suspended=self.collected.suspended,
            practice=next(iter(work.practice.values())),
            passed=passed,
            most_new=self.screening.most_new,
        )  # fmt: skip
        # The lead gets no more known answers. If they are all the lead's own, there are only as many as there are.
        lacking = self.annotators if work.people.gold is not None else ()
        # A task that is decided, or that somebody is asked to decide, needs no more people.
        enough = {*self.collected.decisions, *(one.task.key for one in self.settlement.disagreements)}
        shortages = [short for short in assignment.shortages if short.key not in enough]
        some = [short for short in shortages if short.key or short.by in lacking]
        assignment = assignment.model_copy(update={"shortages": tuple(self.screening.settle(some, passed, assignment))})
        self.shortages += [f"{work.rubric.name}: {message}" for message in assignment.messages]
        return assignment

    def _open_rows(self, by: str) -> list[Row]:
        """Return the tasks of practice and of the rubric that wait for a person."""
        forms = (practice_rubric(self.work.rubric), self.work.rubric)
        rows = (row for form in forms for row in self.server.all_tasks(form, by))
        return [row for row in rows if not is_retired(row) and not row["total_annotations"]]

    def _revisions(self) -> Iterator[QueueRows]:
        revisions: dict[str, list[Task]] = defaultdict(list)
        for task, author in self.settlement.revisions:
            revisions[author].append(task)
        for by in self.people:
            yield from self._queues(revision_of(self.work.rubric), by, revisions[by], self._done(by))

    def _corrections(self) -> Iterator[QueueRows]:
        """Yield the queues in which authors are told what was corrected in their texts."""
        form = corrected_of(self.work.rubric)
        for by in self.people:
            tasks = [task for task, author in self.settlement.corrections if author == by]
            yield from self._queues(form, by, tasks, submitted_ids(self.annotations, form, by))

    def _reviews(self, review: Rubric) -> Iterator[QueueRows]:
        held = {by: self._held(review, by) for by in self.people}
        assignment = assign(
            [task for task, _ in self.settlement.reviews],
            self.people,
            review,
            self.project.config.seed,
            held=held,
            barred={
                task.key: {
                    author,
                    *(by for by in (*self._writing(task.item_key), *self._closed) if task.key not in held[by]),
                    *self._cannot_read(task, review),
                }
                for task, author in self.settlement.reviews
            },
            suspended=self.collected.suspended,
        )
        self.shortages += [f"{review.name}: {message}" for message in assignment.messages]
        for by in self.people:
            yield from self._queues(review, by, assignment.queues.get(by, ()), self._done(by))

    def _adjudications(self, form: Rubric) -> Iterator[QueueRows]:
        """Yield the queues of those who decide where others differ, first what it is worth most to decide."""
        disagreements = self.collected.disagreements
        assignment = assign(
            [one.asked for one in disagreements],
            self.people,
            form,
            self.project.config.seed,
            held={by: self._held(form, by) for by in self.people},
            barred={one.asked.key: {*self.people} - self._may_decide(one) for one in disagreements},
            suspended=self.collected.suspended,
        )
        self.shortages += [f"{form.name}: {message}" for message in assignment.messages]
        place = {one.asked.key: number for number, one in enumerate(disagreements)}
        for by in self.people:
            tasks = sorted(assignment.queues.get(by, ()), key=lambda task: place[task.key])
            yield from self._queues(form, by, tasks, self._done(by))

    def _surveys(self, finished: Collection[str]) -> Iterator[QueueRows]:
        """Yield the questionnaires of those who have finished, and of those who have answered theirs."""
        for by in self.people:
            language = self.work.language_for(by)
            if (form := self.work.survey_in(language)) is not None:
                done = submitted_ids(read_annotations(self.project, form.name), form, by)
                task = survey_task(form, self.work.rubric.in_language(language))
                yield from self._queues(form, by, [task] if done or by in finished else [], done)

    def _may_decide(self, disagreement: Disagreement) -> set[str]:
        """Return who decided, or who may: the lead, or those who have not done the task and are not to."""
        settings, language = self.project.config.annotation, disagreement.task.language
        not_writing = {*settings.annotators} - self._writers[disagreement.task.item_key]
        lead = self.lead if self.lead is not None and settings.can_read(self.lead, language) else None
        return may_decide(disagreement, lead, {by for by in not_writing if settings.can_read(by, language)})

    def _cannot_read(self, task: Task, form: Rubric) -> set[str]:
        """Return who does not read the language of a task, and has not done it either."""
        can_read = self.project.config.annotation.can_read
        return {by for by in self.people if not can_read(by, task.language)} - self._did[form.name, task.key]

    def _writing(self, item: str) -> set[str]:
        """Return the people who should not review others' work on a record, since they write it themselves.

        If everybody writes it, those who have finished may review.
        """
        writers = self._writers[item]
        if set(self.annotators) - self.collected.suspended - writers:
            return writers
        return writers - self._finished[item]

    def _shared(self) -> Iterator[QueueRows]:
        """Yield one queue per form, for everybody."""
        rubric, settlement = self.work.rubric, self.settlement
        wanted = rubric.people_per_item
        people = Counter(work.task for work in settlement.counted)
        done = {task for task, number in people.items() if number >= wanted}
        yield from self._queues(rubric, ANYBODY, open_tasks(self.project, self.work, self.annotations), done, wanted)
        if self.work.people.review is not None:
            yield from self._queues(self.work.people.review, ANYBODY, (task for task, _ in settlement.reviews), people)
            form = corrected_of(rubric)
            told = (task for task, _ in settlement.corrections)
            yield from self._queues(form, ANYBODY, told, submitted_ids(self.annotations, form, ANYBODY))
        if self._adjudication is not None:
            differing = (one.asked for one in self.collected.disagreements)
            yield from self._queues(self._adjudication, ANYBODY, differing, people)
        yield from self._queues(revision_of(rubric), ANYBODY, (task for task, _ in settlement.revisions), people)

    def _queues(
        self, rubric: Rubric, by: str, tasks: Iterable[Task], done: Collection[str], people: int = 1
    ) -> Iterator[QueueRows]:
        """Yield a person's queues of a form as they should be, one for each language of the tasks, and their rows.

        A task that is `done` is in a queue only if it was done there: not if it was deleted by hand since, nor if it
        was done in a second project of the queue.
        """
        tasks, work = list(tasks), self.work
        if any(task.id not in done for task in tasks):
            self._busy.add(by)
        forms = {language: work.form_in(language, rubric) for language in work.rubric.languages}
        done_in = {
            row["data"].get(VIEW): language
            for language, form in forms.items()
            for row in self.server.tasks(form, by)
            if worked_on(row)
        }
        usual = {task.id: work.rubric.form_language(task.language) for task in tasks}
        for language, form in forms.items():
            asked = [
                task
                for task in tasks
                if done_in.get(task.id, usual[task.id]) == language and (task.id in done_in or task.id not in done)
            ]
            if not asked and language != ENGLISH and not self.server.has(form, by):
                continue
            again = self.server.blocked(form, by, done, people, self._excluded)
            told = self._with_earlier(form, by, asked) if form.name in self._earlier else asked
            examples = [task for task in work.examples if work.rubric.form_language(task.language) == language]
            queue = queue_of(self.server.benchmark, work.people, work.folder, form, by, told, people, again, examples)
            yield queue, self.server.tasks(form, by)

    def _with_earlier(self, rubric: Rubric, by: str, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks with the person's work on earlier versions of them, and with what changed since.

        In everybody's queue the texts may be another person's, and nothing else is told. Where several people do a
        task, they stay blind to each other's work. A review has the author's texts in its boxes, and none of earlier.
        """
        is_review = self.work.people.review is not None and rubric.name == self.work.people.review.name
        if by == ANYBODY and (rubric.people_per_item > 1 or is_review):
            return list(tasks)
        rows = [*self.server.all_tasks(rubric, ANYBODY), *self.server.all_tasks(rubric, by)]
        shown = {row["data"].get(VIEW): row["data"] for row in rows if isinstance(row["data"], Mapping)}
        told = []
        for task in tasks:
            work = self._earlier[rubric.name].on(task, None if by == ANYBODY else by)
            if work is None:
                told.append(task)
                continue
            before = shown.get(work.task, {})
            texts = {} if is_review else own_texts(rubric, work, before)
            changes = changes_between(rubric, before, task_data(rubric, task))
            told.append(asked_again(task, rubric, work, texts, changes, own=by != ANYBODY))
        return told

    def _held(self, rubric: Rubric, by: str) -> set[str]:
        """Return the keys of a person's tasks, with those that were done and deleted by hand since."""
        done = {work.key for work in self.settlement.counted if work.by == by and work.rubric == rubric.name}
        # Who gets no more, such as a lead who was named in mid-project, keeps what is done; the rest goes to others.
        if by in self._closed and (self._adjudication is None or rubric.name != self._adjudication.name):
            return done
        return done | {row["data"].get(KEY) for row in self.server.all_tasks(rubric, by) if not is_retired(row)}

    def _done(self, by: str) -> set[str]:
        """Return the ids of the tasks on which a person's work counts."""
        return {work.task for work in self.settlement.counted if work.by == by}
