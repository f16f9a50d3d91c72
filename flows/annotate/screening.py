"""Who of the strangers gets tasks now, and who gets no more: those who did not pass the practice set, or left."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from annotation.assign import Assignment, Shortage, without_gold
from annotation.label_studio.client import Row
from annotation.label_studio.strangers import Standing, standings, strangers, write_standings
from annotation.latest import time_of
from annotation.practice import PRACTICE, failed_practice
from flows.annotate.server import server_folder
from flows.annotate.work import Work, benchmark_of
from flows.project.project import Project
from schemas.annotation import Annotation

GONE = timedelta(hours=24)
"""Who has tasks, and submitted nothing for so long, has left; platforms give people a few hours."""


class Screening:
    """The strangers' standing under a rubric; all of it is empty if the rubric is not the study's."""

    def __init__(self, project: Project, work: Work, annotations: Sequence[Annotation]) -> None:
        """`annotations` are all that was pulled of the rubric's forms."""
        settings = project.config.annotation
        study = settings.strangers if settings.is_for_strangers(work.rubric.name) else None
        self._folder, self._benchmark = server_folder(project.config), benchmark_of(project)
        self._work, self._annotations = work, annotations
        joined = strangers(self._folder) if study is not None else []
        self._agreed = {one.code: one.agreed_at for one in joined}
        self._study, self._here = study, {one.code for one in joined if study is not None and one.study == study.study}
        self.most_new = None if study is None else without_gold(study.most_tasks, work.rubric)
        """How many tasks each gets at most, beside gold tasks."""
        self.standing: dict[str, Standing] = {} if study is None else standings(self._folder, self._benchmark)
        """Why somebody gets no more tasks. It lasts: whoever is told so has taken a code back to the platform."""

    def judge(self, open_rows: Callable[[str], Sequence[Row]]) -> None:
        """Find who did not pass the practice set, and who left; `open_rows` returns the tasks that wait for a person.

        Nobody leaves while there is nothing to do: the time runs from when the newest of these was handed out.
        """
        work, now = self._work, datetime.now(UTC)
        for by, agreed_at in self._agreed.items():
            if by in self.standing:
                continue
            practice, practised = work.practice_of(by)
            waiting = [str(row.get("created_at", "")) for row in open_rows(by)]
            did = [one.at for one in self._annotations if one.by == by]
            last = max([agreed_at, *did, *waiting], key=time_of)
            if failed_practice(by, practice, self._annotations, practised):
                self.standing[by] = "screened out"
            elif now - time_of(last) > GONE and waiting:
                self.standing[by] = "left"

    def not_now(self, passed: Iterable[str], held: Mapping[str, Collection[str]]) -> set[str]:
        """Return those who get no new tasks: not yet right in practice, or with all that they get.

        All their tasks come at once, so that whoever has taken a code back to the platform is not waited for.
        """
        return {by for by in self._agreed if by in self.standing or by not in passed or held[by]}

    def settle(self, shortages: Sequence[Shortage], passed: Iterable[str], assignment: Assignment) -> list[Shortage]:
        """Write down everybody's standing, also of those for whom there was no task; return the shortages to tell.

        That tasks lack people is none as long as strangers may come, or are practising.
        """
        if self._study is None:
            return list(shortages)
        for by in self._agreed.keys() & set(passed) - self.standing.keys():
            if all(task.sample == PRACTICE for task in assignment.queues.get(by, ())):
                self.standing[by] = "none left"
        write_standings(self._folder, self._benchmark, self.standing)
        gone = {by for by, why in self.standing.items() if why != "none left"}
        more_come = len(self._here - gone) < self._study.most_people
        are_practising = not self._agreed.keys() <= self.standing.keys() | set(passed)
        return [short for short in shortages if short.by or not (more_come or are_practising)]
