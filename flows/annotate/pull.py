"""What people handed in, brought from the server and written down."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, ValidationError

from annotation.label_studio.client import Client
from annotation.label_studio.config import Unusable, answers_given, answers_of
from annotation.label_studio.listener import mark, marked, unmark
from annotation.label_studio.sync import (
    KEY,
    VIEW,
    Handed,
    handed_in,
    held,
    is_retired,
    ours,
)
from annotation.latest import TAKEN_BACK, set_apart
from data.store import Store
from flows.annotate.work import (
    ANYBODY,
    Collected,
    Work,
    account_name,
    accounts_of,
    benchmark_of,
    codes_of,
    read_annotations,
    read_apart,
    rubric_of,
    standing,
    works,
)
from flows.project.project import Project
from flows.project.verdicts import read_verdicts
from schemas.annotation import Annotation, SetAside
from schemas.errors import WrongInput
from schemas.verdict import Verdict

SOMEBODY_ELSES = "somebody else's queue"
EDITED = "changed by somebody else"
AT_ONCE = timedelta(seconds=1)


def pull(project: Project, client: Client) -> list[Collected]:
    """Read all that people handed in, write it down with what it comes to, and tell.

    What an earlier pull brought stays, where its task or its project was deleted by hand since. Each file is written
    whole or not at all; what could not be written comes with the next pull.
    """
    told = marked(project.state) & {queue.id for queue in ours(client, benchmark_of(project)).values()}
    for number in told:
        unmark(project.state, number)  # what is done from here on marks it again
    try:
        return _pull(project, client)
    except BaseException:
        for number in told:
            mark(project.state, number)
        raise


def _pull(project: Project, client: Client) -> list[Collected]:
    codes = accounts_of(project, client)
    given: dict[str, list[Handed]] = defaultdict(list)
    for one in handed_in(client, benchmark_of(project)):
        given[rubric_of(one.queue)].append(one)
    found = []
    for work in works(project):
        annotations, apart = _read(work, (one for name in work.rubrics for one in given[name]), codes)
        before, notes = _pulled_before(project, work.rubric.name)
        known, unusable = {one.source for one in annotations}, {one.source for one in apart}
        spoilt = [one for one in before if one.source in unusable and not one.cancelled]
        gone, back = _missing(project, client, [one for one in before if one.source not in known | unusable])
        annotations = in_order([*annotations, *gone, *spoilt])
        apart += _taken_back(project, work.rubric.name)
        apart += [set_apart(one, TAKEN_BACK, json.dumps(dict(one.answers), ensure_ascii=False)) for one in back]
        if gone:
            notes.append(f"{len(gone)} annotations whose tasks are gone from the server are kept")
        if spoilt:
            notes.append(f"{len(spoilt)} annotations were changed into what does not count; they stay as they were")
        write_lines(project, f"annotations/{work.rubric.name}.jsonl", annotations)
        collected = standing(project, work, annotations, apart)
        collected.notes = notes
        write_lines(project, f"annotations/{work.rubric.name}-apart.jsonl", [*apart, *collected.settlement.apart])
        _write_verdicts(project, work, annotations, collected.settlement.verdicts)
        found.append(collected)
    return found


def _read(work: Work, given: Iterable[Handed], codes: Mapping[int, str]) -> tuple[list[Annotation], list[SetAside]]:
    """What people handed in as annotations; what is none is set apart."""
    annotations, apart = [], []
    for one in given:
        row, data = one.annotation, one.data
        rubric = work.rubrics[rubric_of(one.queue)]
        number = row["completed_by"] if isinstance(row["completed_by"], int) else row["completed_by"]["id"]
        owner = one.queue.rpartition("/")[2]
        # Whose account it was is not known of those who have left; in their queues they are called by their codes.
        has_left = owner != ANYBODY and owner not in codes.values()
        by = codes.get(number, owner if has_left else account_name(number))
        common = {"by": by, "at": str(row["updated_at"]), "source": source_of(row)}
        key, task = str(data.get(KEY, "")), str(data.get(VIEW, ""))
        if not key or not task:
            apart.append(SetAside(key=key, reason="task that did not come from here", **common))
        elif owner not in (ANYBODY, by):
            apart.append(SetAside(key=key, reason=SOMEBODY_ELSES, evidence=f"the queue is {owner}'s", **common))
        elif (other := _edited_by(row)) not in (None, number):
            apart.append(
                SetAside(key=key, reason=EDITED, evidence=f"by {codes.get(other, account_name(other))}", **common)
            )
        else:
            version = data["version"] if isinstance(data.get("version"), int) else 0
            said = {"task": task, "key": key, "rubric": rubric.name, "version": version,
                    "seconds": max(0.0, float(row.get("lead_time") or 0)), **common}  # fmt: skip
            if row.get("was_cancelled"):
                more = {"cancelled": True, "question": answers_given(row).question}
                annotations.append(Annotation.model_validate({**said, **more}))
                continue
            try:
                # What is of another form's version does not count by this one, and is kept.
                answers = answers_of(rubric, row, data) if version == rubric.version else answers_given(row)
            except Unusable as problem:
                apart.append(SetAside(key=key, reason=problem.reason, evidence=problem.evidence, **common))
            else:
                annotations.append(Annotation.model_validate({**said, **dict(answers)}))
    return in_order(annotations), sorted(apart, key=lambda one: (one.key, one.by, one.at, one.source))


def source_of(row: Mapping[str, Any]) -> str:
    """The server's own name of an annotation."""
    return str(row.get("unique_id") or row["id"])


def _edited_by(row: Mapping[str, Any]) -> Any:
    """Whose account changed an annotation after it was made; None where nobody did.

    Who brings in others' work through the API stands as the last to change it, from the moment it is made.
    """
    made, changed = (datetime.fromisoformat(str(row[name])) for name in ("created_at", "updated_at"))
    return row.get("updated_by") if changed - made > AT_ONCE else None


def in_order(annotations: Iterable[Annotation]) -> list[Annotation]:
    return sorted(annotations, key=lambda one: (one.key, one.by, one.at, one.source))


def _missing(
    project: Project, client: Client, before: Sequence[Annotation]
) -> tuple[list[Annotation], list[Annotation]]:
    """Of what an earlier pull brought and the server has no longer: what was deleted by hand with its task, and what
    its person took back, whose task is there."""
    if not before:
        return [], []
    named = bool(project.config.annotation.people)
    there = {
        (name, row["data"].get(VIEW))
        for name, info in ours(client, benchmark_of(project)).items()
        for row in held(client, info)
        # Once people are named the shared queue is empty, and lies there for what was done in it.
        if isinstance(row["data"], Mapping) and not (named and name.endswith(f"/{ANYBODY}") and is_retired(row))
    }
    gone: list[Annotation] = []
    back: list[Annotation] = []
    for one in before:
        queue = f"{benchmark_of(project)}/{one.rubric}@{one.version}"
        is_there = any((f"{queue}/{by}", one.task) in there for by in (one.by, ANYBODY))
        (back if is_there else gone).append(one)
    return gone, back


def _pulled_before(project: Project, rubric: str) -> tuple[list[Annotation], list[str]]:
    """The annotations of the last pull, and what to tell: of a damaged file the whole lines, and a copy of it stays."""
    try:
        return read_annotations(project, rubric), []
    except WrongInput as damage:
        path = project.out / "annotations" / f"{rubric}.jsonl"
        content = path.read_bytes()
        kept = []
        for line in content.split(b"\n"):
            try:
                kept.append(Annotation.model_validate_json(line))
            except ValidationError:
                continue  # it stays in the copy
        copies = (path.with_name(f"{path.name}.damaged-{number}") for number in range(1, len(content) + 2))
        copy = next(one for one in copies if not one.exists())
        Store(str(project.out)).write(str(copy.resolve()), content)
        return kept, [f"{damage}; it is written anew, and {copy} is a copy of it as it was"]


def _taken_back(project: Project, rubric: str) -> list[SetAside]:
    """What earlier pulls noted so: the server has it no longer."""
    return [one for one in read_apart(project, rubric) if one.reason == TAKEN_BACK]


def write_lines(project: Project, name: str, rows: Iterable[BaseModel]) -> None:
    text = "".join(json.dumps(row.model_dump(mode="json"), ensure_ascii=False) + "\n" for row in rows)
    Store(str(project.out)).write(f"{project.out.resolve()}/{name}", text.encode())


def _write_verdicts(
    project: Project, work: Work, annotations: Sequence[Annotation], verdicts: Sequence[Verdict]
) -> None:
    """The verdicts of each part. Those on records that nobody did anything on stay: they were written by hand."""
    by_task = {task.key: task.item_key for task in work.tasks}
    codes = codes_of(project)
    touched = {by_task[one.key] for one in annotations if one.key in by_task and (codes is None or one.by in codes)}
    for part in sorted(set(work.parts.values())):
        before = read_verdicts(project.out / "verdicts" / f"{part}.jsonl")
        kept = {key: one for key, one in before.items() if key not in touched}
        new = {one.key: one for one in verdicts if work.parts.get(one.key) == part}
        if kept or new or before:
            write_lines(project, f"verdicts/{part}.jsonl", [one for _, one in sorted({**kept, **new}.items())])
