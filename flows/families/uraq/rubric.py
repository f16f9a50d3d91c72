"""The form in which people check URAQ's items: the two statements, and the answers that follow from them."""

import heapq
from collections.abc import Iterable

from schemas.base import content_hash
from schemas.rubric import Choice, Rubric, Sample, Shown, Task, task_of
from schemas.uraq import UraqItem

YES, NO, UNSURE = "yes", "no", "cannot tell"
ITEMS = "items"
BY_A_MODEL = "a model wrote it"


def _yes(name: str, question: str, options: tuple[str, ...] = (YES, NO)) -> Choice:
    """A question to which an acceptable item has the answer yes."""
    return Choice(name=name, question=question, options=options, accepts=(YES,))


CHECK = Rubric(
    name="uraq-check",
    title="Are both statements and both answers what they claim to be?",
    version=3,
    guideline="guideline.md",
    shows=(
        Shown(name="original", title="Original statement, which should be true"),
        Shown(name="source", title="Where it comes from"),
        Shown(name="manipulated", title="Manipulated statement, which should be false"),
        Shown(name="question", title="Question"),
        Shown(name="answer_original", title="First answer, from the original statement"),
        Shown(name="answer_manipulated", title="Second answer, from the manipulated statement"),
        Shown(name="steps", title="How each answer is reached (original | manipulated)"),
    ),
    listed="question",
    asks=(
        _yes("original_true", "Is the original statement true, according to where it comes from?", (YES, NO, UNSURE)),
        _yes("manipulated_false", "Is the manipulated statement false, by the same measure?", (YES, NO, UNSURE)),
        _yes("understandable", "Can the question be understood by itself?"),
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
    made = {"steps": steps, "source": _source(item)}
    return {shown.name: made.get(shown.name) or getattr(item, shown.name) for shown in CHECK.shows}


def _source(item: UraqItem) -> str:
    """Return where the original statement comes from: a place in a document, a row of a data set, or a model."""
    places = [f"{source.source}: {source.id}" for source in item.provenance.sources]
    return "\n".join([*places, *([item.topic] if places and item.topic else ())]) or BY_A_MODEL
