"""The form in which people check URAQ's items: the two statements, and the answers that follow from them."""

import heapq
from collections.abc import Iterable

from schemas.base import content_hash
from schemas.rubric import Choice, Rubric, Sample, Shown, Task, task_of
from schemas.uraq import UraqItem

YES, NO, UNSURE = "yes", "no", "cannot tell"
ITEMS = "items"


def _yes(name: str, question: str, options: tuple[str, ...] = (YES, NO)) -> Choice:
    """A question to which an acceptable item has the answer yes."""
    return Choice(name=name, question=question, options=options, accepts=(YES,))


CHECK = Rubric(
    name="uraq-check",
    title="Are both statements and both answers what they claim to be?",
    version=2,
    guideline="guideline.md",
    shows=(
        Shown(name="original", title="Original statement, which should be true"),
        Shown(name="manipulated", title="Manipulated statement, which should be false"),
        Shown(name="question", title="Question"),
        Shown(name="answer_original", title="First answer, from the original statement"),
        Shown(name="answer_manipulated", title="Second answer, from the manipulated statement"),
        Shown(name="steps", title="How each answer is reached (original | manipulated)"),
    ),
    listed="question",
    asks=(
        _yes("original_true", "Is the original statement true?", (YES, NO, UNSURE)),
        _yes("manipulated_false", "Is the manipulated statement false?", (YES, NO, UNSURE)),
        _yes("follows_original", "Does the first answer follow from the original statement?"),
        _yes("follows_manipulated", "Does the second answer follow from the manipulated statement?"),
    ),
    overlaps=True,
    samples=(Sample(name=ITEMS, size=200),),
)
"""The paper has no human check; the size of the sample is ours."""


def tasks(items: Iterable[UraqItem], seed: int) -> list[Task]:
    """The sample of finished items, independent of their order; all of them if there are fewer."""
    drawn = heapq.nsmallest(CHECK.samples[0].size, items, key=lambda item: content_hash(seed, ITEMS, item.key))
    return [task_of(item, CHECK, _shown(item), sample=ITEMS) for item in drawn]


def _shown(item: UraqItem) -> dict[str, str]:
    steps = "\n".join(
        f"{number}. {step.text} ({step.original} | {step.manipulated})" for number, step in enumerate(item.steps, 1)
    )
    return {**{shown.name: getattr(item, shown.name) for shown in CHECK.shows if shown.name != "steps"}, "steps": steps}
