"""The outcome of a task, from people's work on it, and the verdict on a record, from its tasks' outcomes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Literal, NamedTuple

from pydantic import Field

from annotation.latest import time_of
from annotation.quality import majority
from annotation.reliability import DIGITS
from annotation.review import record_text
from annotation.value import ByValue
from schemas.annotation import Annotation
from schemas.base import Frozen
from schemas.rubric import Change, Rubric, Task
from schemas.verdict import Decision, Verdict

UNSURE = "not sure enough yet"


class Course(NamedTuple):
    """The state of one person's work on a task."""

    by: str
    state: Literal["done", "waiting", "back"]
    reason: str
    decision: Decision
    work: Annotation
    comment: str = ""
    reviewer: str = ""
    at: str = ""
    corrected: tuple[Change, ...] = ()
    """What the reviewer corrected."""


class Outcome(Frozen):
    """The state of one task: decided; rated, which decides nothing; waiting for people; back with its author; or
    excluded, if nothing submitted on it counts."""

    key: str = Field(description="The task's key")
    state: Literal["decided", "rated", "waiting", "back", "excluded"]
    reason: str = ""
    verdict: Verdict | None = None


def outcome_of(
    task: Task,
    courses: Sequence[Course],
    rubric: Rubric,
    reviewed: bool,
    touched: bool,
    chances: Mapping[Decision, float],
    wanted: int,
    adjudicated: Course | None = None,
    by_value: ByValue | None = None,
) -> Outcome:
    """Return the outcome of a task.

    `courses` are in the order of `seat`. `touched` if somebody submitted work on it that does not count. `chances` has
    the probability of each decision by them, if it is known. `wanted` is the number of people who are to do the task.
    `adjudicated` is what somebody else decided.
    """
    done = [course for course in courses if course.state == "done"]
    decisions = [course.decision for course in done]
    if adjudicated is not None:
        chosen: Sequence[Course] = [adjudicated]
    elif by_value is not None:
        decision = by_value.decision(task.key, decisions, chances, rubric)
        chosen = [course for course in done if course.decision == decision]
    else:
        chosen = _deciding(done, len(courses), rubric, reviewed)
    if chosen:
        if not rubric.decides:
            return Outcome(key=task.key, state="rated")
        return Outcome(
            key=task.key, state="decided", verdict=_verdict(task, chosen, rubric, {} if adjudicated else chances)
        )
    if back := [course for course in courses if course.state == "back"]:
        return Outcome(key=task.key, state="back", reason=back[0].reason)
    if courses:
        waiting = [course.reason for course in courses if course.state == "waiting"]
        reason = waiting[0] if waiting else _why_undecided(task.key, decisions, rubric, chances, wanted, by_value)
        return Outcome(key=task.key, state="waiting", reason=reason)
    if touched:
        return Outcome(key=task.key, state="excluded", reason="nothing that was submitted counts")
    return Outcome(key=task.key, state="waiting", reason="to be done")


def _why_undecided(
    key: str,
    given: Sequence[Decision],
    rubric: Rubric,
    chances: Mapping[Decision, float],
    wanted: int,
    by_value: ByValue | None,
) -> str:
    """Return why the decisions that people gave do not decide a task."""
    if by_value is None:
        return "people disagree" if len(given) >= wanted and len(set(given)) > 1 else "waiting for more people"
    if by_value.is_open(key, given, chances, rubric):
        return "people disagree"
    return "waiting for more people" if key in by_value.fixed else UNSURE


def _deciding(done: Sequence[Course], courses: int, rubric: Rubric, reviewed: bool) -> Sequence[Course]:
    """Return the finished courses that decide a task; none if it is still open."""
    if not reviewed:
        decision = majority([course.decision for course in done], rubric)
        return [course for course in done if course.decision == decision]
    if accepted := [course for course in done if course.decision != "reject"]:
        return accepted[:1]
    return done[:1] if len(done) == courses else ()


def _verdict(task: Task, chosen: Sequence[Course], rubric: Rubric, chances: Mapping[Decision, float]) -> Verdict:
    course = chosen[0]
    rejected = course.decision == "reject"
    extra = {part.name for part in rubric.writes if not part.corrects}
    return Verdict(
        key=task.item_key,
        view_hash=task.item_view,
        rubric=rubric.name,
        decision=course.decision,
        changes={} if rejected else changes_of(task, course.work, rubric),
        texts={} if rejected else {name: text for name, text in course.work.answers.items() if name in extra},
        marks={} if rejected else course.work.marks,
        comment=course.comment,
        by=", ".join(sorted(course.by for course in chosen)),
        reviewed_by=course.reviewer,
        at=max((course.at for course in chosen), key=time_of),
        posterior=chances.get(course.decision),
    )


def record_verdicts(tasks: Mapping[str, Task], outcomes: Iterable[Outcome]) -> list[Verdict]:
    """Return one verdict per record: any of its tasks can reject it, and all of them must accept it."""
    by_record: dict[str, list[Verdict | None]] = defaultdict(list)
    for outcome in outcomes:
        by_record[tasks[outcome.key].item_key].append(outcome.verdict)
    verdicts = []
    for _, of_tasks in sorted(by_record.items()):
        decided = [verdict for verdict in of_tasks if verdict is not None]
        if rejecting := [verdict for verdict in decided if verdict.decision == "reject"]:
            verdicts.append(rejecting[0])
        elif len(decided) == len(of_tasks):
            verdicts.append(_together(decided))
    return verdicts


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """Return a verdict that combines several that accept a record; of two texts with the same name, the first."""
    if len(verdicts) == 1:
        return verdicts[0]
    backwards = verdicts[::-1]
    changes = {name: text for verdict in backwards for name, text in verdict.changes.items()}
    return verdicts[0].model_copy(
        update={
            "decision": "fix" if changes else "accept",
            "changes": changes,
            "texts": {name: text for verdict in backwards for name, text in verdict.texts.items()},
            "marks": {name: marks for verdict in backwards for name, marks in verdict.marks.items()},
            "comment": "\n".join(dict.fromkeys(verdict.comment for verdict in verdicts if verdict.comment)),
            "by": ", ".join(sorted({code for verdict in verdicts for code in verdict.by.split(", ")})),
            "at": max((verdict.at for verdict in verdicts), key=time_of),
            "posterior": _all_right([verdict.posterior for verdict in verdicts]),
        }
    )


def _all_right(posteriors: Sequence[float | None]) -> float | None:
    """Return the probability that all of several decisions are right; None if it is unknown of one."""
    known = [posterior for posterior in posteriors if posterior is not None]
    return round(prod(known), DIGITS) if len(known) == len(posteriors) else None


def changes_of(task: Task, work: Annotation, rubric: Rubric) -> dict[str, str]:
    """Return the record's texts that the work changed."""
    return {
        name: work.answers[name].strip()
        for name in rubric.corrects
        if name in work.answers and not same_text(work.answers[name], record_text(task, name))
    }


def same_text(text: str, other: str) -> bool:
    """Return whether two texts are equal except for white space at the ends of lines."""
    return trimmed(text) == trimmed(other)


def trimmed(text: str) -> str:
    """Return the text without white space at the ends of its lines, which browsers change."""
    return "\n".join(line.strip() for line in text.strip().splitlines())
