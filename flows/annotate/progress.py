"""Progress of every person's queues: what is done and left, how fast and how well."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic import Field

from annotation.agreement import agreement_by_person
from annotation.label_studio.client import Client, ProjectInfo, Row
from annotation.label_studio.listener import marked
from annotation.label_studio.sync import (
    KEY,
    VIEW,
    answered_though_retired,
    is_retired,
    projects_of,
    tasks_of,
    worked_on,
)
from annotation.practice import practice_for
from annotation.quality import WorkStatistics, work_statistics
from flows.annotate.queues import form_names
from flows.annotate.team import codes_of
from flows.annotate.work import ANYBODY, Collected, Form, benchmark_of, last_pull, read_excluded
from flows.project.project import Project
from schemas.annotation import Annotation
from schemas.rubric import Task


class QueueProgress(WorkStatistics):
    """One person's queue of one form; `by` is `all` if nobody is named."""

    work: str = Field(description="Name of the records' rubric")
    form: Form
    rubric: str = Field(description="Name of the form's rubric")
    agreement: float | None = Field(
        description="Share of shared answers to choices in which another person agrees; None if there are none, and "
        "of forms other than the rubric's own"
    )
    suspended: bool = Field(description="Whether the person answered too few gold questions correctly")
    changed_since: int = Field(description="Tasks that changed after the person did them, and are to be done again")
    no_longer_asked: int = Field(description="Tasks that the person did, and that nobody is asked any more")
    to_pull: int = Field(description="Tasks that were submitted since the last pull")
    changed: bool = Field(description="Whether the server reported a change since the last pull")
    url: str
    links: Mapping[str, str] = Field(
        default_factory=dict, description="The address of each task of deciding where people differ, by its key"
    )


class OnServer:
    """The queues of a benchmark as the server has them; each is listed once, when it is first asked for."""

    def __init__(self, client: Client, benchmark: str) -> None:
        self._client = client
        self._rows: dict[int, list[Row]] = {}
        self._is_kept = False
        self.projects = projects_of(client, benchmark)

    def tasks(self, project: ProjectInfo | None) -> list[Row]:
        """Return the tasks of a queue."""
        if project is None:
            return []
        if project.id not in self._rows and not self._is_kept:
            self._rows[project.id] = tasks_of(self._client, project)
        return self.listed(project)

    def keep(self) -> None:
        """Ask the server no more: queues that were not listed are empty."""
        self._is_kept = True

    def listed(self, project: ProjectInfo) -> list[Row]:
        """Return the tasks of a queue, or none if it was not listed; this asks the server nothing."""
        return self._rows.get(project.id, [])

    def url(self, project: ProjectInfo) -> str:
        """Return the address of a queue's table of tasks."""
        return self._client.tasks_url(project.id)

    def task_url(self, project: ProjectInfo, row: Row) -> str:
        """Return the address of a task."""
        return self._client.task_url(project.id, row["id"])


def progress(project: Project, client: Client, collected: Sequence[Collected] | None = None) -> list[QueueProgress]:
    """Return the progress of every queue, from the server's tasks and the last pull, `collected` or read anew."""
    collected = last_pull(project) if collected is None else collected
    return progress_on(project, OnServer(client, benchmark_of(project)), collected)


def progress_on(project: Project, server: OnServer | None, collected: Sequence[Collected]) -> list[QueueProgress]:
    """Return the progress of every queue from the server's tasks and the last pull.

    Without a server, only what was pulled is known: who did how much, and nothing of what is left.
    """
    changed = marked(project.state)
    return [line for rubric_work in collected for line in _Queues(project, server, rubric_work).lines(changed)]


class _Queues:
    """The queues of one rubric's forms."""

    def __init__(self, project: Project, server: OnServer | None, collected: Collected) -> None:
        self.server, self.collected, self.work = server, collected, collected.work
        self.named = codes_of(project)
        self.annotations = collected.annotations
        self.by_person: dict[str, list[Annotation]] = defaultdict(list)
        for work in self.annotations:
            self.by_person[work.by].append(work)
        self.pulled = {work.task for work in self.annotations}
        sources = {work.source for work in self.annotations}
        excluded = read_excluded(project, self.work.rubric.name)
        self.pulled |= {work.key for work in excluded if work.source not in sources}
        settlement = collected.settlement
        follow_ups = [task for task, _ in (*settlement.reviews, *settlement.revisions, *settlement.corrections)]
        follow_ups += [disagreement.asked for disagreement in settlement.disagreements]
        self.tasks = {task.key: task for task in (*self.work.tasks, *self.work.gold, *follow_ups)}
        self.known = {*self.tasks, *(task.key for practice in self.work.practice.values() for task in practice)}

    def lines(self, changed: Collection[int]) -> Iterator[QueueProgress]:
        """Yield the progress of each queue; `changed` has the numbers of the projects that were changed."""
        agreement = agreement_by_person(self.collected.shared)
        for form in self.work.forms:
            projects = self._projects(form)
            for statistics in self._statistics(form, projects):
                own = projects.get(statistics.by, ())
                to_pull = self._to_pull(own)
                first = next(iter(own), None)
                changed_since, no_longer_asked = self._outdated(statistics.by) if form == "work" else (0, 0)
                yield QueueProgress(
                    **{**dict(statistics), "left": statistics.left - to_pull},
                    changed_since=changed_since,
                    no_longer_asked=no_longer_asked,
                    to_pull=to_pull + self._late(own),
                    work=self.work.rubric.name,
                    form=form,
                    rubric=self.work.forms[form].name,
                    agreement=agreement.get(statistics.by) if form == "work" else None,
                    suspended=statistics.by in self.collected.suspended,
                    changed=any(info.id in changed for info in own),
                    url=self.server.url(first) if first and self.server else "",
                    links=self._links(own) if form == "deciding" else {},
                )

    def _links(self, projects: Sequence[ProjectInfo]) -> dict[str, str]:
        """Return the address of each task of a queue, by its key."""
        if self.server is None:
            return {}
        rows = [(info, row) for info in projects for row in self.server.tasks(info) if not is_retired(row)]
        return {row["data"].get(KEY): self.server.task_url(info, row) for info, row in rows}

    def _outdated(self, by: str) -> tuple[int, int]:
        """Return the number of tasks that changed after a person did them, and of those that are no longer asked."""
        asked = {task.key for task in (*self.work.tasks, *self.work.gold)}
        ids = {task.id for task in (*self.work.tasks, *self.work.gold)}
        done = {
            work.key: work.task in ids
            for work in sorted(
                self.annotations if by == ANYBODY else self.by_person[by], key=lambda work: work.task in ids
            )
            if work.rubric == self.work.rubric.name and not work.cancelled
        }
        outdated = [key for key, counts in done.items() if not counts]
        return len(asked.intersection(outdated)), len(set(outdated) - asked)

    def _projects(self, form: Form) -> dict[str, list[ProjectInfo]]:
        """Return the form's projects by person, one for each language; first those with tasks.

        Those of people who are no longer named are empty and left out.
        """
        rubric = self.work.forms[form]
        names = form_names(rubric.name, rubric.version)
        by_person: dict[str, list[ProjectInfo]] = defaultdict(list)
        for name, info in self.server.projects.items() if self.server else ():
            *_, queue_form, by = name.rsplit("/", 2)
            if queue_form in names and (not self.named or by in self.named):
                by_person[by].append(info)
        return {by: sorted(own, key=lambda info: (not info.tasks, info.id)) for by, own in by_person.items()}

    def _statistics(self, form: Form, projects: Mapping[str, Sequence[ProjectInfo]]) -> list[WorkStatistics]:
        rubric, shared = self.work.forms[form].name, ANYBODY in projects
        done = self._by_queue([work for work in self.collected.settlement.counted if work.rubric == rubric], shared)
        queues = {
            by: self._tasks(by, projects.get(by, ()), [work.key for work in done if work.by == by])
            for by in sorted({*projects, *(work.by for work in done)})
        }
        keys = {task.key for tasks in queues.values() for task in tasks}
        sent_back, accepted = (
            [(key, ANYBODY if shared else author) for key, author in work if key in keys]
            for work in (self.collected.settlement.sent_back, self.collected.settlement.accepted)
        )
        annotations = [work for work in self.annotations if work.rubric == rubric and not work.cancelled]
        statistics = work_statistics(
            queues, self._by_queue(annotations, shared), self.work.forms[form], sent_back, accepted
        )
        return [line for line in statistics if line.by in queues]

    def _by_queue(self, annotations: Sequence[Annotation], shared: bool) -> Sequence[Annotation]:
        """Return the annotations, as everybody's if the queue is shared."""
        return [work.model_copy(update={"by": ANYBODY}) for work in annotations] if shared else annotations

    def _tasks(self, by: str, projects: Sequence[ProjectInfo], done: Sequence[str]) -> list[Task]:
        """Return the tasks of a person's queue. What was done is among them, even if it was deleted by hand since."""
        own, practised = self.work.practice_of(by)
        practice = practice_for(by, own, self.by_person[by], practised)
        tasks = self.tasks | {task.key: task for task in practice}
        rows = self._rows(projects)
        keys = dict.fromkeys([*(row["data"].get(KEY) for row in rows if not is_retired(row)), *done])
        return [tasks[key] for key in keys if key in tasks]

    def _rows(self, projects: Sequence[ProjectInfo]) -> list[Row]:
        return [row for project in projects for row in self.server.tasks(project)] if self.server else []

    def _to_pull(self, projects: Sequence[ProjectInfo]) -> int:
        """Return the number of submitted tasks of a queue, without those made by hand, that no pull has read."""
        return sum(
            bool(row["total_annotations"])
            and worked_on(row)
            and row["data"].get(KEY) in self.known
            and self.pulled.isdisjoint((row["data"].get(VIEW), row["data"].get(KEY)))
            for row in self._rows(projects)
        )

    def _late(self, projects: Sequence[ProjectInfo]) -> int:
        """Return the number of retired tasks with an answer that no pull has read."""
        return sum(
            answered_though_retired(row) and self.pulled.isdisjoint((row["data"].get(VIEW), row["data"].get(KEY)))
            for row in self._rows(projects)
        )
