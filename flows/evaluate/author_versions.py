"""What several people wrote for the same records: each author's version of what is put to a model."""

from collections import defaultdict
from collections.abc import Mapping

from annotation.latest import decision_of
from annotation.review import revision_of
from flows.annotate.work import Collected, Work, collect, read_annotations, works
from flows.construct.engine import Family
from flows.construct.evaluation import Authorship, Version
from flows.project.project import Project
from schemas.annotation import Annotation
from schemas.base import Record
from schemas.errors import WrongInput


def author_versions(
    project: Project, family: Family, authors: Authorship, limit: int | None = None
) -> tuple[list[Version], list[str]]:
    """Each author's rows, of the records that two people or more wrote for, and what to tell of the others.

    They are of what counts in the last pull. An author's version is what the author last handed in: after a review it
    is the revision, without a reviewer's own corrections, which are not the author's. With a `limit`, of so many
    records. Raises `WrongInput` where nobody wrote for the same record.
    """
    name = f"{family.name}-{authors.part}"
    work = next((one for one in works(project) if name in one.parts.values()), None)
    if work is None:
        raise WrongInput(f"--by-author: this build has no {name}, which people write; build it")
    collected = collect(project, work, read_annotations(project, work.rubric.name))
    written: dict[str, dict[str, Record]] = defaultdict(dict)
    left_out = 0
    for (key, by), given in sorted(_last(collected).items()):
        record = as_left(work, work.records[key], given)
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
    notes = [f"{left_out} versions are no item as they stand, or reject their record: left out"] if left_out else []
    versions = [
        Version(key, by, row)
        for key in sorted(shared)[:limit]
        for by, record in shared[key].items()
        for row in authors.rows(record)
    ]
    return versions, notes


def _last(collected: Collected) -> Mapping[tuple[str, str], Annotation]:
    """By record's key and author, what the author handed in last: the revision, where there is one."""
    work, settled = collected.work, collected.settlement
    records = {task.key: task.item_key for task in work.tasks}
    found = {(records[one.key], one.by): one for one in collected.judged}
    form = revision_of(work.rubric).name
    revised = {(one.key, one.by): one for one in settled.counted if one.rubric == form}
    for task, author in settled.revisions:  # an author's follow each other
        if (again := revised.get((task.key, author))) is not None:
            before = found[task.item_key, author]
            found[task.item_key, author] = again.model_copy(update={"answers": {**before.answers, **again.answers}})
    return found


def as_left(work: Work, record: Record, given: Annotation) -> Record | None:
    """The record with what an author wrote; None where it was rejected, or is none of its kind so."""
    if decision_of(given.answers, work.rubric) == "reject":
        return None
    texts = {name: given.answers[name].strip() for name in work.rubric.corrects if name in given.answers}
    made = record.revised(**texts)
    return None if work.people.unfit(made) else made
