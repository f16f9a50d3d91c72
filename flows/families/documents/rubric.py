"""What people are asked about a question on a document."""

import heapq
from collections.abc import Iterable
from typing import Literal

from flows.construct.people import People, every, sample
from schemas.base import content_hash
from schemas.documents import DocumentPair
from schemas.rubric import Choice, Rubric, Sample, Shown, Task, task_of

YES, NO = "yes", "no"
PAIRS = "pairs"

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


def people(review: Literal["sample", "every"]) -> People:
    """The people who judge a sample of the questions, or every one."""
    return sample(CHECK, tasks) if review == "sample" else every(CHECK, shown=shown)


def tasks(pairs: Iterable[DocumentPair], seed: int) -> list[Task]:
    """The sample of finished questions, independent of their order; all of them if there are fewer."""
    drawn = heapq.nsmallest(CHECK.samples[0].size, pairs, key=lambda pair: content_hash(seed, PAIRS, pair.key))
    return [task_of(pair, CHECK, shown(pair), sample=PAIRS) for pair in drawn]


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
