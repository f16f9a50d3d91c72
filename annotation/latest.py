"""Which annotations count: of each person on each task the latest that is whole; the rest set apart, with reasons.

A server enforces nothing of what a form asks, so everything is validated here.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from schemas.annotation import Annotation, SetAside
from schemas.rubric import Rubric, Task

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
PERSON_ASIDE = "person set aside"
TAKEN_BACK = "taken back by the person"


class Counted(NamedTuple):
    """What counts, and what does not: each annotation that was given is in one of them."""

    counted: list[Annotation]
    apart: list[SetAside]


def latest(
    annotations: Iterable[Annotation],
    tasks: Iterable[Task],
    rubric: Rubric,
    people: Collection[str] | None = None,
    aside: Collection[str] = (),
) -> Counted:
    """Of each person on each task, the latest annotation that is whole and on the task as it is now.

    `people` are the codes that are known; where it is None, anybody's. Work of people who are set `aside`
    does not count. A valid annotation is never displaced by one that is not: skipping a task after having
    done it leaves what was done, and so does emptying a box. Where nothing better is there, work without a required
    text counts, to go back to its author. Counted ones come in order of task and person, whatever order they came in.
    """
    known = {task.key: task for task in tasks}
    keys = {task.id: task.key for task in known.values()}
    apart: list[SetAside] = []
    valid: dict[tuple[str, str], list[Annotation]] = defaultdict(list)
    for one in sorted(annotations, key=_age):
        key = one.key or keys.get(one.task, "")
        problem = _stranger(one, rubric, people, aside)
        if problem is None:
            problem = invalid(one, known[key], rubric) if key in known else (UNKNOWN_TASK, one.task)
        if problem is None and _stands(one, valid[key, one.by]):
            problem = (DUPLICATE, one.source)
        if problem is None and valid[key, one.by] and (lacking := unwritten(one, rubric)):
            problem = (INCOMPLETE, ", ".join(lacking))
        if problem is None:
            valid[key, one.by].append(one)
        else:
            apart.append(set_apart(one, *problem, key=key))
    for (key, _), given in valid.items():
        apart.extend(set_apart(one, OLDER, f"a later one is of {given[-1].at}", key=key) for one in given[:-1])
    return Counted([valid[place][-1] for place in sorted(valid) if valid[place]], apart)


def set_apart(annotation: Annotation, reason: str, evidence: str = "", *, key: str = "") -> SetAside:
    """An annotation as one that does not count."""
    return SetAside(
        key=key or annotation.key,
        by=annotation.by,
        reason=reason,
        evidence=evidence,
        source=annotation.source,
        at=annotation.at,
    )


def invalid(annotation: Annotation, task: Task, rubric: Rubric) -> tuple[str, str] | None:
    """Why an annotation cannot count as answers to the task: a reason and what shows it; None where it can."""
    if annotation.cancelled:
        return CANCELLED, ""
    if annotation.version != task.version:
        return ANOTHER_VERSION, f"{annotation.version}, where the task is of {task.version}"
    if annotation.task != task.id:
        return EARLIER_VIEW, f"{annotation.task}, where it is {task.id} now"
    return _unknown_answer(annotation, task, rubric) or _incomplete(annotation, rubric)


def decision_of(answers: Mapping[str, str], rubric: Rubric) -> str:
    """What a person's choices say of the record: `accept`, `fix`, or `reject` as soon as one choice rejects."""
    decided = "accept"
    for ask in rubric.asks:
        if not ask.decides or answers.get(ask.name) in ask.accepts:
            continue
        if answers.get(ask.name) not in ask.fixes:
            return "reject"
        decided = "fix"
    return decided


def _stranger(
    one: Annotation, rubric: Rubric, people: Collection[str] | None, aside: Collection[str]
) -> tuple[str, str] | None:
    if one.rubric != rubric.name:
        return ANOTHER_RUBRIC, one.rubric
    if people is not None and one.by not in people:
        return UNKNOWN_PERSON, one.by
    return (PERSON_ASIDE, one.by) if one.by in aside else None


def _unknown_answer(one: Annotation, task: Task, rubric: Rubric) -> tuple[str, str] | None:
    options = {ask.name: ask.options for ask in rubric.asks}
    written = {part.name for part in rubric.writes} | {part.name for part in rubric.marks if part.corrects}
    for name, answer in one.answers.items():
        if name not in written and answer not in options.get(name, ()):
            return UNKNOWN_ANSWER, f"{name}: {answer}"
    texts = {mark.name: task.shown[mark.of] for mark in rubric.marks}
    for name, stretches in one.marks.items():
        text = " ".join(str(texts.get(name, "")).split())
        for stretch in stretches:
            if name not in texts or " ".join(stretch.split()) not in text:
                return UNKNOWN_ANSWER, f"{name}: {stretch}"
    return None


def unwritten(one: Annotation, rubric: Rubric) -> list[str]:
    """The required texts that are missing. Who rejects a record need not write them."""
    if decision_of(one.answers, rubric) == "reject":
        return []
    return [write.name for write in rubric.writes if write.required and not one.answers.get(write.name, "").strip()]


def _incomplete(one: Annotation, rubric: Rubric) -> tuple[str, str] | None:
    """The questions that are not answered; of a form without any, all of it where nothing is written or marked."""
    missing = [ask.name for ask in rubric.asks if ask.name not in one.answers]
    if not missing and not (any(text.strip() for text in one.answers.values()) or any(one.marks.values())):
        missing = [*(one.name for one in rubric.writes), *(one.name for one in rubric.marks)]
    return (INCOMPLETE, ", ".join(missing)) if missing else None


def _stands(one: Annotation, given: Iterable[Annotation]) -> bool:
    """Whether the annotation was pulled twice, under one name of the server's or with all its content."""
    return any(
        one == other or (bool(one.source) and one.source == other.source and one.at == other.at) for other in given
    )


def time_of(at: str) -> datetime:
    """An ISO 8601 time; the earliest there is, where none was written down. A time without a zone is in UTC."""
    if not at:
        return datetime.min.replace(tzinfo=UTC)
    time = datetime.fromisoformat(at)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _age(one: Annotation) -> tuple[datetime, str, str]:
    return time_of(one.at), one.source, one.model_dump_json()
