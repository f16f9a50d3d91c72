"""How every person's queues stand: what is done and left, how quickly and how well."""

from collections import defaultdict
from collections.abc import Sequence

from pydantic import Field

from annotation.agreement import agreement_by_person
from annotation.label_studio.client import Client
from annotation.label_studio.listener import marked
from annotation.label_studio.sync import (
    KEY,
    held,
    is_retired,
    ours,
)
from annotation.quality import (
    Figures,
    figures,
    practice_for,
)
from flows.annotate.work import ANYBODY, Collected, Form, benchmark_of, read_annotations, stand
from flows.project.project import Project
from schemas.rubric import Task


class Standing(Figures):
    """How one person's queue of one form stands; `by` is `all` where nobody is named."""

    work: str = Field(description="Name of the rubric that the records are asked by")
    form: Form
    rubric: str = Field(description="The form's")
    agreement: float | None = Field(
        description="Share of answers to choices in which another person agrees, over all that they share; None where "
        "they share none, and of forms other than the rubric's own"
    )
    aside: bool = Field(description="Whether the person answered too few of the known questions rightly")
    changed: bool = Field(description="Whether somebody worked there since the last pull, by what the server told")
    url: str


def status(project: Project, client: Client, collected: Sequence[Collected] | None = None) -> list[Standing]:
    """How every queue stands, by the server's tasks and the annotations of the last pull, `collected` or read anew."""
    there = ours(client, benchmark_of(project))
    told = marked(project.state)
    named = project.config.annotation.people
    found = []
    for one in stand(project) if collected is None else collected:
        work, settled = one.work, one.settlement
        annotations = read_annotations(project, work.rubric.name)
        tasks = {task.key: task for task in (*work.tasks, *work.known, *(task for task, _ in settled.reviews),
                                             *(task for task, _ in settled.revisions))}  # fmt: skip
        agrees = agreement_by_person(work.rubric, one.judged)
        for form, rubric in work.forms.items():
            queues: dict[str, list[Task]] = {}
            infos = {
                name.rpartition("/")[2]: info
                for name, info in there.items()
                if name.split("/")[-2] == f"{rubric.name}@{rubric.version}"
                and (not named or name.rpartition("/")[2] in named)  # others' queues are emptied
            }
            did: dict[str, list[str]] = defaultdict(list)  # what was done is there, even where it was deleted by hand
            for each in settled.counted:
                if each.rubric == rubric.name:
                    did[ANYBODY if ANYBODY in infos else each.by].append(each.key)
            for by in sorted({*infos, *did}):
                own = tasks | {task.key: task for task in practice_for(by, work.practice, annotations, work.practised)}
                rows = held(client, infos[by]) if by in infos else []
                keys = dict.fromkeys([*(row["data"].get(KEY) for row in rows if not is_retired(row)), *did[by]])
                queues[by] = [own[key] for key in keys if key in own]
            given = [each for each in annotations if each.rubric == rubric.name and not each.cancelled]
            if ANYBODY in queues:
                given = [each.model_copy(update={"by": ANYBODY}) for each in given]
            keys_here = {task.key for own in queues.values() for task in own}
            back, good = (
                [(key, ANYBODY if ANYBODY in infos else author) for key, author in pieces if key in keys_here]
                for pieces in (settled.sent_back, settled.accepted)
            )
            for line in figures(queues, given, rubric, back, good):
                if line.by in queues:
                    info_of = infos.get(line.by)
                    agreed = agrees.get(line.by) if form == "work" else None
                    found.append(
                        Standing(
                            **dict(line),
                            work=work.rubric.name,
                            form=form,
                            rubric=rubric.name,
                            agreement=agreed.value if agreed else None,
                            aside=line.by in one.aside,
                            changed=info_of is not None and info_of.id in told,
                            url=f"{client.url}/projects/{info_of.id}/data" if info_of else "",
                        )
                    )
    return found
