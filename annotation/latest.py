"""Which annotations count: each person's latest valid one on each task. The others are excluded, with a reason.

The server does not enforce what a form asks for, so everything is validated here.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from schemas.annotation import Annotation, Excluded
from schemas.rubric import Rubric, Task
from schemas.verdict import Decision

CANCELLED = "cancelled"
DUPLICATE = "duplicate"
OLDER = "older"
INCOMPLETE = "incomplete"
UNKNOWN_ANSWER = "unknown answer"
ANOTHER_RUBRIC = "another rubric"
ANOTHER_VERSION = "another version of the rubric"
EARLIER_VIEW = "earlier view"
UNKNOWN_TASK = "unknown task"
UNKNOWN_PERSON = "unknown person"
PERSON_SUSPENDED = "person suspended"
TAKEN_BACK = "taken back by the person"


class Counted(NamedTuple):
    """The annotations that count and those that do not; each annotation is in exactly one of them."""

    counted: list[Annotation]
    excluded: list[Excluded]


def latest(
    annotations: Iterable[Annotation],
    tasks: Iterable[Task],
    rubric: Rubric,
    people: Collection[str] | None = None,
    suspended: Collection[str] = (),
) -> Counted:
    """Return each person's latest valid annotation of the current view of each task, by task and person.

    `people` are the known codes; if it is None, anybody's work counts. Work of `suspended` people does not. A valid
    annotation is never displaced by an invalid one: skipping a task after doing it, or emptying a box, leaves the work
    as it was. Work without a required text counts if there is nothing better, and goes back to its author.
    """
    by_key = {task.key: task for task in tasks}
    keys = {task.id: task.key for task in by_key.values()}
    excluded: list[Excluded] = []
    valid: dict[tuple[str, str], list[Annotation]] = defaultdict(list)
    for annotation in sorted(annotations, key=_age):
        key = annotation.key or keys.get(annotation.task, "")
        before = valid[key, annotation.by]
        problem = (
            _outsider(annotation, rubric, people, suspended)
            or (invalid(annotation, by_key[key], rubric) if key in by_key else (UNKNOWN_TASK, annotation.task))
            or _duplicate(annotation, before)
        )
        if problem is None and before and (missing := unwritten(annotation, rubric)):
            problem = (INCOMPLETE, ", ".join(missing))
        if problem is None:
            before.append(annotation)
        else:
            excluded.append(exclude(annotation, *problem, key=key))
    for (key, _), versions in valid.items():
        excluded.extend(
            exclude(version, OLDER, f"a later one is of {versions[-1].at}", key=key) for version in versions[:-1]
        )
    return Counted([versions[-1] for _, versions in sorted(valid.items()) if versions], excluded)


def exclude(annotation: Annotation, reason: str, evidence: str = "", *, key: str = "") -> Excluded:
    """Return the annotation as one that does not count."""
    return Excluded(
        key=key or annotation.key,
        item=annotation.item,
        by=annotation.by,
        reason=reason,
        evidence=evidence,
        source=annotation.source,
        at=annotation.at,
    )


def invalid(annotation: Annotation, task: Task, rubric: Rubric) -> tuple[str, str] | None:
    """Return why an annotation cannot count for the task, as reason and evidence; None if it can."""
    if annotation.cancelled:
        return CANCELLED, ""
    if annotation.version != task.version:
        return ANOTHER_VERSION, f"{annotation.version}, where the task is of {task.version}"
    if annotation.task != task.id:
        return EARLIER_VIEW, f"{annotation.task}, where it is {task.id} now"
    return _unknown_answer(annotation, task, rubric) or _incomplete(annotation, rubric)


def decision_of(answers: Mapping[str, str], rubric: Rubric) -> Decision:
    """Return a person's decision on the record: `accept`, `fix`, or `reject` as soon as one choice rejects."""
    decision: Decision = "accept"
    for ask in rubric.asks:
        if not ask.decides or answers.get(ask.name) in ask.accepts:
            continue
        if answers.get(ask.name) not in ask.fixes:
            return "reject"
        decision = "fix"
    return decision


def _outsider(
    annotation: Annotation, rubric: Rubric, people: Collection[str] | None, suspended: Collection[str]
) -> tuple[str, str] | None:
    if annotation.rubric != rubric.name:
        return ANOTHER_RUBRIC, annotation.rubric
    if people is not None and annotation.by not in people:
        return UNKNOWN_PERSON, annotation.by
    return (PERSON_SUSPENDED, annotation.by) if annotation.by in suspended else None


def _unknown_answer(annotation: Annotation, task: Task, rubric: Rubric) -> tuple[str, str] | None:
    options = {ask.name: ask.options for ask in rubric.asks}
    written = {part.name for part in rubric.writes} | {part.name for part in rubric.marks if part.corrects}
    for name, answer in annotation.answers.items():
        if name not in written and answer not in options.get(name, ()):
            return UNKNOWN_ANSWER, f"{name}: {answer}"
    texts = {mark.name: " ".join(str(task.shown[mark.of]).split()) for mark in rubric.marks}
    for name, spans in annotation.marks.items():
        for span in spans:
            if name not in texts or " ".join(span.split()) not in texts[name]:
                return UNKNOWN_ANSWER, f"{name}: {span}"
    return None


def unwritten(annotation: Annotation, rubric: Rubric) -> list[str]:
    """Return the names of the required texts that are missing. Someone who rejects the record need not write any."""
    if decision_of(annotation.answers, rubric) == "reject":
        return []
    return [
        write.name for write in rubric.writes if write.required and not annotation.answers.get(write.name, "").strip()
    ]


def _incomplete(annotation: Annotation, rubric: Rubric) -> tuple[str, str] | None:
    """Return the unanswered questions; of a form without questions, all its parts if none is written or marked."""
    missing = [ask.name for ask in rubric.asks if ask.name not in annotation.answers]
    if not missing and not any(annotation.marks.values()) and not any(map(str.strip, annotation.answers.values())):
        missing = [part.name for part in rubric.parts]
    return (INCOMPLETE, ", ".join(missing)) if missing else None


def _duplicate(annotation: Annotation, before: Iterable[Annotation]) -> tuple[str, str] | None:
    """Return the reason if the annotation was pulled twice: under the same name and time, or with equal content."""
    same = any(
        annotation == other
        or (bool(annotation.source) and (annotation.source, annotation.at) == (other.source, other.at))
        for other in before
    )
    return (DUPLICATE, annotation.source) if same else None


def time_of(at: str) -> datetime:
    """Return an ISO 8601 time, in UTC unless it names a zone; the earliest time there is if it is empty."""
    if not at:
        return datetime.min.replace(tzinfo=UTC)
    time = datetime.fromisoformat(at)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _age(annotation: Annotation) -> tuple[datetime, str, str]:
    return time_of(annotation.at), annotation.source, annotation.model_dump_json()
