"""Annotation by value: a task goes to one more person only where another decision is worth it.

Departure: a rubric's paper may ask for a fixed number of people for each item, as ReEval's does for three. That is the
default. With a `certainty`, every task goes to one person, and to another as long as its decision is less sure than
that, so that people's time goes to the tasks on which it changes something.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from annotation.assign import drawn, fixed_number
from schemas.rubric import Rubric, Task
from schemas.verdict import Decision

MOST_MORE = 2
"""An unsure task goes to at most this many people above the rubric's number."""


class ByValue(NamedTuple):
    """How a rubric's tasks go out by value."""

    certainty: float
    """A decision of at least this probability is sure enough."""
    fixed: frozenset[str]
    """Keys of tasks that go to a fixed number of people, drawn at random: agreement on the others would be that on
    difficult tasks."""
    people: Mapping[str, int]
    """By the key of each task, the number of people who can be asked about it."""

    def decision(
        self, key: str, given: Sequence[Decision], chances: Mapping[Decision, float], rubric: Rubric
    ) -> Decision | None:
        """Return the decision on a task, the likeliest of those `given` by people; None if more people are to be asked.

        `chances` has the probability of each decision, if it is known. A decision that nobody gave is nobody's, however
        likely it is. Of decisions that are as likely as one another, the one that most people gave counts. If as many
        gave each, none does, however likely: what is known of two people does not settle what they differ on.
        """
        counted = Counter(given)
        if _is_tied(given):
            return None
        weights = {decision: (chances.get(decision, 0), number) for decision, number in counted.items()}
        likeliest = [decision for decision, weight in weights.items() if weight == max(weights.values())]
        if len(likeliest) != 1:
            return None
        is_sure = key not in self.fixed and self._is_sure(given, chances)
        return likeliest[0] if is_sure or self._are_enough(key, given, rubric) else None

    def is_open(self, key: str, given: Sequence[Decision], chances: Mapping[Decision, float], rubric: Rubric) -> bool:
        """Return whether a task is not sure enough although nobody else is to be asked: a case for an adjudicator."""
        return self._are_enough(key, given, rubric) and (_is_tied(given) or not self._is_sure(given, chances))

    def _are_enough(self, key: str, given: Sequence[Decision], rubric: Rubric) -> bool:
        most = fixed_number(rubric) if key in self.fixed else rubric.people_per_item + MOST_MORE
        return len(given) >= min(self.people[key], most)

    def _is_sure(self, given: Iterable[Decision], chances: Mapping[Decision, float]) -> bool:
        return any(chances.get(decision, 0) >= self.certainty for decision in given)


def _is_tied(given: Iterable[Decision]) -> bool:
    """Return whether no decision is that of most people."""
    numbers = sorted(Counter(given).values())
    return len(numbers) > 1 and numbers[-1] == numbers[-2]


def by_value_of(
    tasks: Iterable[Task],
    rubric: Rubric,
    certainty: float | None,
    overlap_first: int,
    people: Mapping[str, int],
    seed: int,
) -> ByValue | None:
    """Return how a rubric's tasks go out by value; None if they go to a fixed number of people.

    `people` has, by the key of each task, the number of people who can be asked about it.
    Texts are for one person to write: tasks in which people do more than judge do not go out by value.
    """
    if certainty is None or not rubric.judges:
        return None
    return ByValue(certainty, drawn(tasks, rubric, overlap_first, seed), people)
