"""The annotations of a rubric, from which each task takes its own; they are counted, or excluded with a reason."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from annotation.latest import ANOTHER_RUBRIC, UNKNOWN_TASK, exclude, latest, time_of
from schemas.annotation import Annotation, Excluded
from schemas.rubric import Rubric, Task

REVIEWER_IS_AUTHOR = "reviewer is the author"
ANOTHERS_REVISION = "another person's revision"


class Submissions:
    """All annotations; each task takes its own, and annotations that count are separated from excluded ones."""

    def __init__(
        self,
        annotations: Iterable[Annotation],
        rubrics: Collection[str],
        people: Collection[str] | None,
        suspended: Collection[str],
    ) -> None:
        self.people, self.suspended = people, suspended
        self.left: dict[str, dict[str, list[Annotation]]] = {name: defaultdict(list) for name in rubrics}
        self.counted: list[Annotation] = []
        self.excluded: list[Excluded] = []
        for annotation in annotations:
            if annotation.rubric in self.left:
                self.left[annotation.rubric][annotation.key or annotation.task].append(annotation)
            else:
                self.excluded.append(exclude(annotation, ANOTHER_RUBRIC, annotation.rubric))

    def take(self, tasks: Iterable[Task], rubric: Rubric) -> list[Annotation]:
        """Return the annotations of the tasks that count."""
        tasks = list(tasks)
        return self._count(self._pop(tasks, rubric), tasks, rubric)

    def take_revision(self, task: Task, rubric: Rubric, author: str) -> Annotation | None:
        """Return the author's revision; anybody else's is excluded."""
        submitted = self._pop([task], rubric)
        self.excluded.extend(exclude(work, ANOTHERS_REVISION, author) for work in submitted if work.by != author)
        counted = self._count([work for work in submitted if work.by == author], [task], rubric)
        return counted[0] if counted else None

    def take_others(
        self, task: Task, rubric: Rubric, authors: Collection[str], reason: str = REVIEWER_IS_AUTHOR
    ) -> list[Annotation]:
        """Return what others validly submitted on the authors' work, the last first; the caller says which one counts.

        What the authors submitted is excluded for the `reason`.
        """
        submitted = self._pop([task], rubric)
        self.excluded.extend(exclude(work, reason, work.by, key=task.key) for work in submitted if work.by in authors)
        others = [work for work in submitted if work.by not in authors]
        valid, excluded = latest(others, [task], rubric, self.people, self.suspended)
        self.excluded.extend(excluded)
        return sorted(valid, key=lambda work: (time_of(work.at), work.by), reverse=True)

    def are_left(self, rubric: Rubric, key: str) -> bool:
        """Return whether somebody submitted work on the task with this key that no task took."""
        return key in self.left[rubric.name]

    def exclude_rest(self) -> None:
        """Exclude the annotations that no task took."""
        for left in self.left.values():
            self.excluded.extend(exclude(work, UNKNOWN_TASK, work.task) for rest in left.values() for work in rest)

    def _pop(self, tasks: Iterable[Task], rubric: Rubric) -> list[Annotation]:
        left = self.left[rubric.name]
        return [work for task in tasks for name in (task.key, task.id) for work in left.pop(name, ())]

    def _count(self, submitted: Iterable[Annotation], tasks: Iterable[Task], rubric: Rubric) -> list[Annotation]:
        counted, excluded = latest(submitted, tasks, rubric, self.people, self.suspended)
        self.counted.extend(counted)
        self.excluded.extend(excluded)
        return counted
