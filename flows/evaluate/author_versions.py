"""Rows made from the texts that several people wrote for the same records, to be compared on one model."""

from collections import defaultdict
from collections.abc import Mapping

from annotation.latest import decision_of
from annotation.review import revision_of
from flows.annotate.work import Collected, Work, collect, read_annotations, works
from flows.construct.engine import Family
from flows.construct.evaluation import Authorship, Version
from flows.project.project import Project
from schemas.annotation import Annotation
from schemas.base import Record, counted
from schemas.errors import WrongInput


def author_versions(
    project: Project, family: Family, authors: Authorship, limit: int | None = None
) -> tuple[list[Version], list[str]]:
    """Return each author's rows for the records that two people or more wrote for, and notes on the versions left out.

    Only the annotations that count in the last pull are used. An author's version is the last one submitted: after a
    review it is the revision, without the reviewer's own corrections. `limit` is the number of records, all by default.
    Raises `WrongInput` if no two people wrote for the same record.
    """
    name = f"{family.name}-{authors.part}"
    work = next((work for work in works(project) if name in work.sizes), None)
    if work is None:
        raise WrongInput(f"--by-author: this build has no {name}, which people write; build it")
    collected = collect(project, work, read_annotations(project, work.rubric.name))
    written: dict[str, dict[str, Record]] = defaultdict(dict)
    left_out = 0
    for (key, by), annotation in sorted(_last_submitted(collected).items()):
        record = as_left(work, work.records[key], annotation)
        if record is None:
            left_out += 1
        else:
            written[key][by] = record
    shared = {key: by for key, by in written.items() if len(by) > 1}
    if not shared:
        raise WrongInput(
            f"--by-author: nobody wrote for the same record of {name} as somebody else yet; `annotation.overlap_first` "
            "says how many go to two people: push, let them write, and pull"
        )
    what = "no item as they stand, or a rejection of their record"
    notes = [f"left out: {counted(left_out, 'version')} ({what})"] if left_out else []
    versions = [
        Version(key, by, row)
        for key in sorted(shared)[:limit]
        for by, record in shared[key].items()
        for row in authors.rows(record)
    ]
    return versions, notes


def _last_submitted(collected: Collected) -> Mapping[tuple[str, str], Annotation]:
    """Return each author's last annotation, by record's key and author: the revision if there is one."""
    work, settlement = collected.work, collected.settlement
    records = {task.key: task.item_key for task in work.tasks}
    last = {(records[annotation.key], annotation.by): annotation for annotation in collected.judged}
    form = revision_of(work.rubric).name
    revisions = {(counted.key, counted.by): counted for counted in settlement.counted if counted.rubric == form}
    for task, author in settlement.revisions:  # in order: an author may have revised several times
        if (revision := revisions.get((task.key, author))) is not None:
            answers = {**last[task.item_key, author].answers, **revision.answers}
            last[task.item_key, author] = revision.model_copy(update={"answers": answers})
    return last


def as_left(work: Work, record: Record, annotation: Annotation) -> Record | None:
    """Return the record with an author's texts; None if the author rejected it or the result is not valid."""
    if decision_of(annotation.answers, work.rubric) == "reject":
        return None
    texts = {name: annotation.answers[name].strip() for name in work.rubric.corrects if name in annotation.answers}
    revised = record.revised(**texts)
    return None if work.people.unfit(revised) else revised
