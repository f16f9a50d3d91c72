"""A queue as it should be on the server: its form, guideline and tasks, and which of them were submitted."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from annotation import survey
from annotation.label_studio.config import guideline_page, label_config
from annotation.label_studio.sync import Queue, QueuedTask
from annotation.label_studio.task_data import data_fields, task_data
from annotation.wording import LANGUAGES
from flows.annotate.guidelines import guideline_of
from flows.annotate.work import ANYBODY
from flows.construct.people import People
from schemas.annotation import Annotation
from schemas.rubric import ENGLISH, Rubric, Task, guideline_in

LONGEST_TITLE = 36
"""Characters of a title on a project's card; a longer one makes the card too wide for the page."""


def queue_name(benchmark: str, rubric: Rubric, by: str) -> str:
    """Return the name of a person's queue: `sample/uraq-check@1/a1`, in Chinese `sample/lveval-keywords@2.zh/a1`."""
    return f"{benchmark}/{form_name(rubric.name, rubric.version, rubric.language)}/{by}"


def form_name(rubric: str, version: int, language: str) -> str:
    """Return a form's name in those of its queues: `uraq-check@1`."""
    return f"{rubric}@{version}{'' if language == ENGLISH else f'.{language}'}"


def form_names(rubric: str, version: int) -> tuple[str, ...]:
    """Return a form's names in those of its queues, for each language."""
    return tuple(form_name(rubric, version, language) for language in LANGUAGES)


def rubric_of(queue: str) -> str:
    """Return the rubric's name in a queue's: `uraq-check` of `sample/uraq-check@1/a1`."""
    return queue.split("/")[-2].partition("@")[0]


def queue_of(
    benchmark: str,
    people: People,
    folder: Path,
    rubric: Rubric,
    by: str,
    tasks: Iterable[Task],
    number: int,
    again: Collection[str] = (),
    examples: Sequence[Task] = (),
) -> Queue:
    """Return the queue of a person (or of `number` people per task) with these tasks.

    `again` has the ids of tasks to send anew, `examples` the tasks that the guideline shows with their answers.
    """
    title = f"{by} · {rubric.title or rubric.name}"
    # Reviewers, and who decides where others differ, have to know what those were asked for. A questionnaire is not
    # about the records.
    about_records = rubric.guideline != guideline_in(rubric.language, survey.GUIDELINE)
    own = people.rubric.in_language(rubric.language)
    taught = {form.guideline: guideline_of(form, folder) for form in (rubric, own)[: 1 + about_records]}
    return Queue(
        name=queue_name(benchmark, rubric, by),
        title=title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        config=label_config(rubric),
        instruction=guideline_page(rubric, "\n\n".join(taught.values()), examples if about_records else ()),
        tasks=[QueuedTask(task.key, task.id, task_data(rubric, task), task.id in again) for task in tasks],
        people=number,
        about=rubric.title or rubric.name,
        fields=data_fields(rubric),
        shared=by == ANYBODY,
        language=rubric.language,
    )


def submitted_ids(annotations: Iterable[Annotation], form: Rubric, by: str) -> set[str]:
    """Return the ids of the tasks of a form, on which nothing depends, that a person submitted."""
    return {
        annotation.task
        for annotation in annotations
        if annotation.rubric == form.name and by in (annotation.by, ANYBODY) and not annotation.cancelled
    }
