"""Annotation by value: a task goes to one more person only where another decision is worth it.

Departure: a rubric's paper may ask for a fixed number of people for each item, as ReEval's does for three. That is the
default. With a `certainty`, every task goes to one person, and to another as long as its decision is less sure than
that, so that people's time goes to the tasks on which it changes something.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    people: int
    """Number of people who can be asked."""

    def decision(
        self, key: str, given: Sequence[Decision], chances: Mapping[Decision, float], rubric: Rubric
    ) -> Decision | None:
        """Return the decision on a task, the likeliest of those `given` by people; None if more people are to be asked.

        `chances` has the probability of each decision, if it is known. A decision that nobody gave is nobody's, however
        likely it is.
        """
        if not given:
            return None
        counted = Counter(given)
        likeliest = max(sorted(counted), key=lambda decision: (chances.get(decision, 0), counted[decision]))
        if key in self.fixed:
            enough = len(given) >= min(self.people, fixed_number(rubric))
        else:
            most = min(self.people, rubric.people_per_item + MOST_MORE)
            enough = len(given) >= most or chances.get(likeliest, 0) >= self.certainty
        return likeliest if enough else None

    def is_open(self, key: str, given: Sequence[Decision], chances: Mapping[Decision, float], rubric: Rubric) -> bool:
        """Return whether a task is not sure enough although nobody else is to be asked: a case for an adjudicator."""
        decision = self.decision(key, given, chances, rubric)
        return decision is not None and chances.get(decision, 0) < self.certainty


def by_value_of(
    tasks: Iterable[Task],
    rubric: Rubric,
    certainty: float | None,
    overlap_first: int,
    people: Collection[str],
    seed: int,
) -> ByValue | None:
    """Return how a rubric's tasks go out to these people by value; None if they go to a fixed number.

    Texts are for one person to write: tasks in which people do more than judge do not go out by value.
    """
    if certainty is None or not rubric.judges:
        return None
    return ByValue(certainty, drawn(tasks, rubric, overlap_first, seed), len(people))
