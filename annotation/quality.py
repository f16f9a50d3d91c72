"""Quality of people's work: majorities, gold tasks, suggestions submitted unchanged, statistics by person."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from statistics import median, quantiles

from pydantic import Field

from annotation.practice import PRACTICE
from schemas.annotation import Annotation, Finding
from schemas.base import Frozen
from schemas.rubric import Rubric, Task, Written

LEAST_GOLD = 5
"""Gold questions that a person must have answered before they can be suspended."""
MOST_MINUTES = 30.0
"""A task that was open for longer counts as this many minutes: nobody worked on it all the time."""
UNCHANGED = "submitted unchanged, and no reason was given"
WHY_UNCHANGED = Written(
    name="why_unchanged",
    title="Why you left a suggestion unchanged",
    hint="Only if you leave a suggestion as it is: why is it right?",
    note=True,
)
"""The box of every rubric that shows suggestions."""


def majority(answers: Sequence[str], rubric: Rubric) -> str | None:
    """Return the answer of more than half of those who answered and of the people the rubric asks for, or None."""
    counted = Counter(answers).most_common(1)
    enough = max(len(answers), rubric.people_per_item) / 2
    return counted[0][0] if counted and counted[0][1] > enough else None


class GoldScore(Frozen):
    """How a person answered the gold questions."""

    right: int = 0
    answered: int = 0

    @property
    def share(self) -> float | None:
        """The share of right answers; None before the first."""
        return self.right / self.answered if self.answered else None


def gold_scores(tasks: Iterable[Task], annotations: Iterable[Annotation]) -> dict[str, GoldScore]:
    """Return each person's score on the gold tasks among `tasks`; people who did none are left out.

    A person's last annotation of a task counts. A gold question left open is wrong. Who did a task before it became a
    gold task did it under another key.
    """
    expected = {(task.key, task.id): task.right_answers for task in tasks if task.right_answers}
    keys = {task: key for key, task in expected}
    last = {(work.by, (work.key or keys.get(work.task, ""), work.task)): work.answers for work in annotations}
    right: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for (by, task), answers in last.items():
        if known := expected.get(task):
            right[by] += sum(answers.get(question) == answer for question, answer in known.items())
            answered[by] += len(known)
    return {by: GoldScore(right=right[by], answered=number) for by, number in answered.items()}


def suspended(tasks: Iterable[Task], annotations: Iterable[Annotation], rubric: Rubric) -> frozenset[str]:
    """Return the people who answered fewer of the gold questions correctly than the rubric asks for.

    Practice does not count. Nobody is suspended before `LEAST_GOLD` answers, which could be wrong by chance.
    """
    scores = gold_scores((task for task in tasks if task.sample != PRACTICE), annotations)
    # Exact: 9 right of 10 meet a bar of 0.9.
    bar = Fraction(str(rubric.pass_share))
    return frozenset(
        by for by, score in scores.items() if score.answered >= LEAST_GOLD and score.right < bar * score.answered
    )


def unchanged(task: Task, annotation: Annotation, rubric: Rubric) -> tuple[str, ...]:
    """Return the names of the suggestions submitted unchanged. The record's own texts are not suggestions."""
    return tuple(
        write.name
        for write in rubric.writes
        if write.name in task.suggested
        and (draft := " ".join(task.drafts.get(write.name, "").split()))
        and (write.name in annotation.untouched or draft == " ".join(annotation.answers.get(write.name, "").split()))
    )


def unconfirmed(task: Task, annotation: Annotation, rubric: Rubric) -> list[Finding]:
    """Return a rejecting finding for each suggestion submitted unchanged without a reason."""
    if annotation.answers.get(WHY_UNCHANGED.name, "").strip():
        return []
    return [Finding(name=name, problem=UNCHANGED, rejects=True) for name in unchanged(task, annotation, rubric)]


def minutes_of(work: Annotation) -> float:
    """Return the minutes that an item took, at most `MOST_MINUTES`."""
    return min(work.seconds / 60, MOST_MINUTES)


class WorkStatistics(Frozen):
    """One person's work on one rubric."""

    by: str
    done: int = Field(description="Tasks of the person's queue that were submitted")
    left: int
    minutes: float | None = Field(description="Median minutes per item, each at most `MOST_MINUTES`")
    slow_minutes: float | None = Field(description="The minutes that nine of ten items stay below")
    returned: int = Field(description="Submissions that a reviewer or a check sent back, or a reviewer accepted")
    rejected: float | None = Field(description="Share of those that was sent back; None if none was returned yet")
    gold: GoldScore = Field(description="Gold questions, without practice")
    unchanged: int = Field(description="Suggestions submitted unchanged, confirmed or not")
    suggested: int = Field(description="Suggestions in the tasks that were submitted")


def work_statistics(
    queues: Mapping[str, Sequence[Task]],
    annotations: Sequence[Annotation],
    rubric: Rubric,
    sent_back: Collection[tuple[str, str]] = (),
    accepted: Collection[tuple[str, str]] = (),
) -> list[WorkStatistics]:
    """Return each person's statistics, sorted by code.

    `annotations` are those that count. `sent_back` and `accepted` name reviewed work by (task's key, author's code).
    """
    tasks = {task.id: task for queue in queues.values() for task in queue}
    by_person: dict[str, dict[str, Annotation]] = defaultdict(dict)
    for annotation in annotations:
        by_person[annotation.by][annotation.task] = annotation
    gold = gold_scores((task for task in tasks.values() if task.sample != PRACTICE), annotations)
    statistics = []
    for by in sorted({*queues, *by_person}):
        queue, done = queues.get(by, ()), by_person[by]
        back, good = (sum(author == by for _, author in work) for work in (sent_back, accepted))
        minutes = [minutes_of(work) for work in done.values() if work.seconds]
        statistics.append(
            WorkStatistics(
                by=by,
                done=sum(task.id in done for task in queue),
                left=sum(task.id not in done for task in queue),
                minutes=median(minutes) if minutes else None,
                slow_minutes=_slow(minutes),
                returned=back + good,
                rejected=back / (back + good) if back + good else None,
                gold=gold.get(by, GoldScore()),
                unchanged=sum(
                    len(unchanged(tasks[task], work, rubric)) for task, work in done.items() if task in tasks
                ),
                suggested=sum(len(tasks[task].suggested) for task in done if task in tasks),
            )
        )
    return statistics


def _slow(minutes: Sequence[float]) -> float | None:
    """Return the ninetieth percentile."""
    if len(minutes) > 1:
        return quantiles(minutes, n=10, method="inclusive")[-1]
    return minutes[0] if minutes else None
