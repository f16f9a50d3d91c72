"""Who has passed the practice set of a rubric, and what of it a person is asked: once is enough, in any language."""

from collections.abc import Collection, Sequence

from annotation.practice import passed_practice, practice_for, practice_left
from flows.annotate.work import Work
from schemas.annotation import Annotation
from schemas.rubric import Task


def has_passed(work: Work, by: str, annotations: Sequence[Annotation]) -> bool:
    """Return whether a person has passed the practice set in a language that they read."""
    sets = (work.practice_of(by, language) for language in work.languages_for(by))
    return any(passed_practice(by, practice, annotations, rubric) for practice, rubric in sets)


def practice_tasks(
    work: Work, by: str, annotations: Sequence[Annotation], done: Collection[str], *, gets_more: bool
) -> list[Task]:
    """Return the practice tasks that a person did, and what is left of their set unless they have passed one.

    `done` has the ids of those that they did, in whatever language.
    """
    sets = [work.practice_of(by, language) for language in work.practice]
    tasks = [task for practice, rubric in sets for task in practice_for(by, practice, annotations, rubric)]
    mine = {task.id: task for task in tasks if task.id in done}
    if gets_more and not has_passed(work, by, annotations):
        practice, rubric = work.practice_of(by)
        mine |= {task.id: task for task in practice_left(by, practice, annotations, rubric)}
    return list(mine.values())
