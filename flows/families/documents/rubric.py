"""What people are asked about a question on a document."""

import heapq
from collections.abc import Iterable
from typing import Literal

from flows.construct.people import People, every, sample
from flows.construct.records import R
from schemas.base import content_hash
from schemas.documents import DocumentConflict, DocumentPair
from schemas.rubric import Choice, Rubric, Sample, Shown, Task, task_of

YES, NO = "yes", "no"
PAIRS, CONFLICTS = "pairs", "conflicts"

CHECK = Rubric(
    name="documents-check",
    title="Is this a good question, and is its answer right?",
    version=1,
    guideline="guideline.md",
    shows=(
        Shown(name="question", title="Question"),
        Shown(name="answer", title="Answer"),
        Shown(name="sentences", title="What the answer rests on"),
        Shown(name="evidence", title="Passage", around="answer"),
    ),
    listed="question",
    asks=(
        Choice(
            name="natural",
            question="Would somebody ask this, in these words, without seeing the passage?",
            options=(YES, NO),
            accepts=(YES,),
        ),
        Choice(
            name="answered", question="Does the passage give this answer alone?", options=(YES, NO), accepts=(YES,)
        ),
        Choice(
            name="useful", question="Is it worth knowing for somebody who uses the document?", options=(YES, NO),
            accepts=(YES,),
        ),
    ),
    overlaps=True,
    samples=(Sample(name=PAIRS, size=100),),
)  # fmt: skip


CONFLICT_CHECK = Rubric(
    name="documents-conflicts",
    title="Do these two passages contradict each other?",
    version=1,
    guideline="guideline.conflicts.md",
    shows=(
        Shown(name="question", title="Question"),
        Shown(name="first_answer", title="First answer"),
        Shown(name="first_evidence", title="First passage", around="first_answer"),
        Shown(name="second_answer", title="Second answer"),
        Shown(name="second_evidence", title="Second passage", around="second_answer"),
    ),
    listed="question",
    asks=(
        Choice(
            name="answered",
            question="Does each passage give the answer that stands above it?",
            options=(YES, NO),
            accepts=(YES,),
        ),
        Choice(
            name="contradicts",
            question="Do the two really contradict each other, so that one of them has to be corrected?",
            options=(YES, NO),
            accepts=(YES,),
        ),
    ),
    overlaps=True,
    samples=(Sample(name=CONFLICTS, size=100),),
)


def people(review: Literal["sample", "every"]) -> People:
    """The people who judge a sample of the questions, or every one."""
    return sample(CHECK, tasks) if review == "sample" else every(CHECK, shown=shown)


def conflict_people(review: Literal["sample", "every"]) -> People:
    """The people who judge a sample of the contradictions, or every one."""
    return sample(CONFLICT_CHECK, conflict_tasks) if review == "sample" else every(CONFLICT_CHECK, shown=shown_conflict)


def tasks(pairs: Iterable[DocumentPair], seed: int) -> list[Task]:
    """The sample of finished questions, independent of their order; all of them if there are fewer."""
    return [task_of(pair, CHECK, shown(pair), sample=PAIRS) for pair in _drawn(pairs, CHECK, seed)]


def conflict_tasks(conflicts: Iterable[DocumentConflict], seed: int) -> list[Task]:
    """The sample of contradictions, independent of their order; all of them if there are fewer."""
    return [
        task_of(conflict, CONFLICT_CHECK, shown_conflict(conflict), sample=CONFLICTS)
        for conflict in _drawn(conflicts, CONFLICT_CHECK, seed)
    ]


def _drawn(records: Iterable[R], rubric: Rubric, seed: int) -> list[R]:
    (drawn,) = rubric.samples
    return heapq.nsmallest(drawn.size, records, key=lambda record: content_hash(seed, drawn.name, record.key))


def shown_conflict(conflict: DocumentConflict) -> dict[str, str]:
    """What people see of a contradiction: before each passage, where it stands."""
    first = "; ".join(map(str, conflict.places[:-1])) or conflict.first_title
    second = "; ".join(map(str, conflict.places[-1:])) or conflict.second_title
    return {
        "question": conflict.question,
        "first_answer": conflict.first_answer,
        "first_evidence": "\n\n".join(filter(None, (first, conflict.first_evidence))),
        "second_answer": conflict.second_answer,
        "second_evidence": "\n\n".join(filter(None, (second, conflict.second_evidence))),
    }


def shown(pair: DocumentPair) -> dict[str, str]:
    """What people see of a question."""
    steps = [f"{number}. {step}" for number, step in enumerate(pair.steps, 1)]
    places = [str(place) for place in pair.places]
    return {
        "question": pair.question,
        "answer": pair.answer,
        "sentences": "\n".join([*(span.text for span in pair.sentences), *steps, *places]),
        "evidence": pair.evidence,
    }
