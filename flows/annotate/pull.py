"""Pull: read what people submitted from the server, and write down what comes of it."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import BaseModel

from annotation.label_studio.answers import Unusable, answers_of, unchecked_answers
from annotation.label_studio.client import Client, Row
from annotation.label_studio.listener import mark, marked, unmark
from annotation.label_studio.sync import KEY, VIEW, Submitted, all_projects_of, is_retired, submitted, tasks_of
from annotation.latest import TAKEN_BACK, exclude
from data.whole_file import write_whole
from flows.annotate.hours import write_hours
from flows.annotate.queues import form_names, rubric_of
from flows.annotate.team import account_name, accounts_of, codes_of
from flows.annotate.work import (
    ANYBODY,
    APART,
    Collected,
    Work,
    benchmark_of,
    collect,
    read_annotations,
    read_excluded,
    undamaged,
    whole_lines,
    works,
)
from flows.project.project import Project, read_verdicts
from schemas.annotation import Annotation, Excluded
from schemas.base import counted
from schemas.errors import WrongInput
from schemas.rubric import Rubric
from schemas.verdict import Verdict

FOREIGN_TASK = "task that did not come from here"
SOMEBODY_ELSES = "somebody else's queue"
EDITED = "changed by somebody else"
AT_ONCE = timedelta(seconds=1)
A = TypeVar("A", Annotation, Excluded)


def pull(project: Project, client: Client) -> list[Collected]:
    """Read everything that people submitted, write it down with what comes of it, and return it.

    Annotations of earlier pulls stay if their task or project was deleted by hand since. Each file is written whole or
    not at all; what could not be written comes with the next pull.
    """
    changed = marked(project.state) & {info.id for _, info in all_projects_of(client, benchmark_of(project))}
    for number in changed:
        unmark(project.state, number)  # what is done from here on marks it again
    try:
        return _pull(project, client)
    except BaseException:
        for number in changed:
            mark(project.state, number)
        raise


def _pull(project: Project, client: Client) -> list[Collected]:
    codes = accounts_of(project, client)
    by_rubric: dict[str, list[Submitted]] = defaultdict(list)
    for submission in submitted(client, benchmark_of(project)):
        by_rubric[rubric_of(submission.queue)].append(submission)
    pulled = []
    for work in works(project):
        annotations, unreadable, notes = _all_work(project, client, work.rubric.name, work.rubrics, by_rubric, codes)
        collected = collect(project, work, annotations, unreadable)
        collected.notes = notes
        _write_verdicts(project, work, annotations, collected.settlement.verdicts)
        write_lines(project, f"annotations/{work.rubric.name}{APART}.jsonl", collected.excluded)
        # The last of them: it no longer has what was taken back, by which the next pull completes one that was killed.
        write_lines(project, f"annotations/{work.rubric.name}.jsonl", annotations)
        if (form := work.survey) is not None:
            answers, unreadable, more = _all_work(project, client, form.name, {form.name: form}, by_rubric, codes)
            collected.notes += more
            write_lines(project, f"annotations/{form.name}{APART}.jsonl", unreadable)
            write_lines(project, f"annotations/{form.name}.jsonl", answers)
        pulled.append(collected)
    write_hours(project)
    return pulled


def _all_work(
    project: Project,
    client: Client,
    name: str,
    forms: Mapping[str, Rubric],
    by_rubric: Mapping[str, Sequence[Submitted]],
    codes: Mapping[int, str],
) -> tuple[list[Annotation], list[Excluded], list[str]]:
    """Return the submissions to some forms, and earlier ones that are kept; what cannot be read; and notes.

    `name` is that of the file with those of the last pull.
    """
    submissions = [submission for form in forms for submission in by_rubric[form]]
    earlier, notes = _earlier(project, name)
    before = read_excluded(project, name)
    known = {work.source: work.by for work in earlier} | {work.source: work.by for work in before}
    annotations, unreadable = _read(forms, submissions, codes, known)
    notes += _merged(submissions)
    readable = {annotation.source for annotation in annotations}
    excluded = {annotation.source for annotation in unreadable}
    spoilt = [annotation for annotation in earlier if annotation.source in excluded and not annotation.cancelled]
    missing = [annotation for annotation in earlier if annotation.source not in readable | excluded]
    deleted, taken_back = _deleted_or_taken_back(project, client, missing)
    annotations = in_order([*annotations, *deleted, *spoilt])
    before = [annotation for annotation in before if annotation.reason == TAKEN_BACK]
    unreadable += before
    unreadable += [
        exclude(annotation, TAKEN_BACK, json.dumps(dict(annotation.answers), ensure_ascii=False))
        for annotation in taken_back
        if annotation.source not in {one.source for one in before}  # by a pull that was killed
    ]
    if deleted:
        notes.append(f"kept, though their tasks are gone from the server: {counted(len(deleted), 'annotation')}")
    if spoilt:
        notes.append(
            f"kept as before, since the change would make it count no more: {counted(len(spoilt), 'annotation')}"
        )
    return annotations, unreadable, notes


def _merged(submissions: Iterable[Submitted]) -> list[str]:
    """Return a note on each queue of which people worked in several projects."""
    projects: dict[str, set[int]] = defaultdict(set)
    for submission in submissions:
        projects[submission.queue].add(submission.project)
    return [
        f"{queue}: two pushes at the same time made projects {', '.join(map(str, sorted(numbers)))}; work in all of "
        "them counts, and a push empties all but the first"
        for queue, numbers in sorted(projects.items())
        if len(numbers) > 1
    ]


def _read(
    forms: Mapping[str, Rubric], submissions: Iterable[Submitted], codes: Mapping[int, str], known: Mapping[str, str]
) -> tuple[list[Annotation], list[Excluded]]:
    """Return the submissions as annotations; those that cannot be read are excluded.

    `known` has the person of each annotation of the last pull, by source.
    """
    annotations, excluded = [], []
    for submission in submissions:
        who = {
            "item": str(submission.data.get("item_key", "")),
            "by": _person(submission, codes, known),
            "at": str(submission.annotation["updated_at"]),
            "source": source_of(submission.annotation),
        }
        try:
            annotations.append(_annotation(submission, forms[rubric_of(submission.queue)], codes, who))
        except Unusable as problem:
            key = str(submission.data.get(KEY, ""))
            excluded.append(Excluded(key=key, reason=problem.reason, evidence=problem.evidence, **who))
    return in_order(annotations), in_order(excluded)


def _annotation(submission: Submitted, rubric: Rubric, codes: Mapping[int, str], who: Mapping[str, str]) -> Annotation:
    """Return a submission as an annotation. Raises `Unusable`."""
    row, data = submission.annotation, submission.data
    key, task, owner = str(data.get(KEY, "")), str(data.get(VIEW, "")), _owner(submission)
    if not key or not task:
        raise Unusable(FOREIGN_TASK, "")
    if owner not in (ANYBODY, who["by"]):
        raise Unusable(SOMEBODY_ELSES, f"the queue is {owner}'s")
    if (editor := _edited_by(row)) not in (None, _account(row)):
        raise Unusable(EDITED, f"by {codes.get(editor, account_name(editor))}")
    version = data["version"] if isinstance(data.get("version"), int) else 0
    cancelled = bool(row.get("was_cancelled"))
    # Answers to another version of the form do not count, but are kept.
    checked = version == rubric.version and not cancelled
    answers = answers_of(rubric, row, data) if checked else unchecked_answers(row)
    content = {"cancelled": True, "question": answers.question} if cancelled else dict(answers)
    seconds = max(0.0, float(row.get("lead_time") or 0))
    return Annotation.model_validate(
        {"task": task, "key": key, "rubric": rubric.name, "version": version, "seconds": seconds, **who, **content}
    )


def _owner(submission: Submitted) -> str:
    return submission.queue.rpartition("/")[2]


def _account(row: Row) -> int | None:
    """Return the account that submitted; None if somebody deleted it."""
    number = row["completed_by"]
    return int(number["id"]) if isinstance(number, dict) else number


def _person(submission: Submitted, codes: Mapping[int, str], known: Mapping[str, str]) -> str:
    """Return the person's code. Accounts of people who left are unknown; in their own queues their codes are known."""
    number, owner = _account(submission.annotation), _owner(submission)
    if number is None:  # who was it? The last pull may know; otherwise, work in a person's own queue stays theirs
        return known.get(source_of(submission.annotation), owner if owner != ANYBODY else account_name(0))
    has_left = owner != ANYBODY and owner not in codes.values()
    return codes.get(number, owner if has_left else account_name(number))


def source_of(row: Row) -> str:
    """Return the server's own name of an annotation."""
    return str(row.get("unique_id") or row["id"])


def _edited_by(row: Row) -> Any:
    """Return the account that changed an annotation after it was made; None if none did.

    Somebody who imports others' work through the API is named as its last editor from the moment it is made.
    """
    made, changed = (datetime.fromisoformat(str(row[name])) for name in ("created_at", "updated_at"))
    return row.get("updated_by") if changed - made > AT_ONCE else None


def in_order(annotations: Iterable[A]) -> list[A]:
    """Return the annotations in the order of their file."""
    return sorted(annotations, key=lambda annotation: (annotation.key, annotation.by, annotation.at, annotation.source))


def _deleted_or_taken_back(
    project: Project, client: Client, missing: Sequence[Annotation]
) -> tuple[list[Annotation], list[Annotation]]:
    """Divide annotations that the server no longer has: deleted by hand with their task, or taken back by the person.

    If the task still exists, its annotation was taken back.
    """
    if not missing:
        return [], []
    named = bool(project.config.annotation.people)
    existing = {
        (name, row["data"].get(VIEW))
        for name, info in all_projects_of(client, benchmark_of(project))
        for row in tasks_of(client, info)
        # Once people are named, the shared queue is empty and only keeps what was done in it.
        if isinstance(row["data"], Mapping) and not (named and name.endswith(f"/{ANYBODY}") and is_retired(row))
    }
    deleted: list[Annotation] = []
    taken_back: list[Annotation] = []
    for annotation in missing:
        forms = form_names(annotation.rubric, annotation.version)
        names = [f"{benchmark_of(project)}/{form}/{by}" for form in forms for by in (annotation.by, ANYBODY)]
        exists = any((name, annotation.task) in existing for name in names)
        (taken_back if exists else deleted).append(annotation)
    return deleted, taken_back


def _earlier(project: Project, rubric: str) -> tuple[list[Annotation], list[str]]:
    """Return the annotations of the last pull, and notes. Of a damaged file, the whole lines are kept, and a copy."""
    try:
        return read_annotations(project, rubric), []
    except WrongInput as damage:
        path = project.out / "annotations" / f"{rubric}.jsonl"
        content = path.read_bytes()
        kept = list(whole_lines(content, Annotation))  # the others stay in the copy
        copies = (path.with_name(f"{path.name}.damaged-{number}") for number in range(1, len(content) + 2))
        copy = next(copy for copy in copies if not copy.exists())
        write_whole(copy, content)
        return kept, [f"{damage}; it is written anew, and {copy} is a copy of the damaged file"]


def write_lines(project: Project, name: str, rows: Iterable[BaseModel]) -> None:
    """Write records as JSON Lines into the output folder."""
    text = "".join(json.dumps(row.model_dump(mode="json"), ensure_ascii=False) + "\n" for row in rows)
    write_whole(project.out / name, text.encode())


def _write_verdicts(
    project: Project, work: Work, annotations: Sequence[Annotation], verdicts: Sequence[Verdict]
) -> None:
    """Write the verdicts of each part.

    Those that were written by hand stay: they have no time, or are on records that nobody annotated. One on a record
    that people judged as well counts in place of theirs, until the record changes.

    A record whose work was taken back since the last pull has no verdict any more.
    """
    by_task = {task.key: task.item_key for task in work.tasks}
    codes = codes_of(project)
    last = undamaged(project, work.rubric.name, Annotation)
    touched = {
        by_task[annotation.key]
        for annotation in (*annotations, *last)
        if annotation.key in by_task and (codes is None or annotation.by in codes)
    }
    for part in sorted(work.sizes):
        before = read_verdicts(project.out / "verdicts" / f"{part}.jsonl")
        views = {key: work.records[key].view_hash for key in before if key in work.records}
        by_hand = {
            key: verdict for key, verdict in before.items() if not verdict.at and verdict.view_hash == views.get(key)
        }
        kept = {key: verdict for key, verdict in before.items() if key not in touched}
        new = {verdict.key: verdict for verdict in verdicts if work.parts.get(verdict.key) == part}
        if kept or new or before:
            written = sorted({**kept, **new, **by_hand}.items())
            write_lines(project, f"verdicts/{part}.jsonl", [verdict for _, verdict in written])
