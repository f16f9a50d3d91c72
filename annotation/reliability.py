"""How sure people's decisions are: the probability of each decision on a task, from how reliable each person is.

The method is Dawid and Skene's (1979): each person has a table of how often they give each decision where each is the
right one, and the tables, how common each decision is and the probabilities of all tasks follow from one another. We
use crowd-kit's, and depart from it in three ways, for people may have done only ten tasks:

- Everybody is taken to have done `RIGHT` + `WRONG` known tasks of each decision before the first, so that a person of
  whom little is known counts as one who is usually right, and nobody as certain.
- crowd-kit counts known tasks when it says how common each decision is. Known tasks are chosen, half of them wrong, and
  so would shift every probability. We estimate that from the records' tasks alone, with people's tables as they are.
- crowd-kit learns from all tasks. A task that one person alone did, and whose right decision nobody knows, says nothing
  of the person: the method would take it for right at first, and many of them make everybody look surer than they are.
  The tables are of the other tasks; the probabilities of all follow from them.

Of crowd-kit's other methods, neither uses known answers, and both take it that a person errs as often on good records
as on bad ones: so somebody who accepts everything counts as good. `tests/bench/bench_labels.py` compares them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from pydantic import Field

from annotation.latest import decision_of
from schemas.base import Frozen
from schemas.rubric import Rubric, Task
from schemas.verdict import Decision

RIGHT, WRONG = 4, 1
"""How many known tasks of each decision everybody counts as having done before the first: right, and wrong each way."""
ROUNDS, CLOSE = 100, 1e-4
"""The most rounds of estimation, and the gain in log likelihood per answer below which they end."""
DIGITS = 4
"""Of a probability. More would differ between machines."""


class Given(NamedTuple):
    """A person's decision on a task."""

    key: str
    by: str
    decision: Decision


class Reliability(Frozen):
    """How reliable a person's decisions are."""

    by: str
    judged: int = Field(description="Tasks that the person decided, known ones included")
    right: float = Field(description="Probability that the person's decision on a record is right")
    confuses: Mapping[Decision, Mapping[Decision, float]] = Field(
        description="By right decision, the probability of each decision that the person gives"
    )


class Reliabilities(Frozen):
    """What people's decisions say of the tasks, and of the people."""

    shares: Mapping[Decision, float] = Field(description="How common each decision is among the records' tasks")
    tasks: Mapping[str, Mapping[Decision, float]] = Field(
        description="By the key of each task that somebody decided, the probability of each decision"
    )
    people: Mapping[str, Reliability] = Field(description="By code")

    def of(self, key: str) -> Mapping[Decision, float]:
        """Return the probability of each decision on a task; how common they are if nobody has decided it."""
        return self.tasks.get(key, self.shares)

    def gain(self, key: str, by: str) -> float:
        """Return by how much one more decision, of this person, would change a task's probabilities.

        It is the expected sum of squared changes, which is also the expected fall of the squared error. Somebody who
        has decided nothing yet counts as the mean of the others.
        """
        before = self.of(key)
        people = [self.people[by]] if by in self.people else list(self.people.values())
        gains = []
        for person in people:
            joint = [
                [chance * person.confuses[right][given] for right, chance in before.items()] for given in self.shares
            ]
            after = sum(sum(each**2 for each in chances) / sum(chances) for chances in joint if any(chances))
            gains.append(after - sum(chance**2 for chance in before.values()))
        return sum(gains) / len(gains)


def known_decision(task: Task, answers: Mapping[str, str], rubric: Rubric) -> Decision:
    """Return the decision on a gold task that follows from the questions whose answers are known, and from no other."""
    asked = tuple(ask for ask in rubric.asks if ask.name in task.right_answers)
    return decision_of(answers, rubric.model_copy(update={"asks": asked}))


def reliabilities(
    given: Iterable[Given],
    known: Mapping[str, Decision],
    rubric: Rubric,
    adjudicated: Mapping[str, Decision] | None = None,
) -> Reliabilities | None:
    """Return the probability of each decision on the tasks, and each person's reliability.

    `given` has one decision per task and person, `known` the right ones of gold tasks by key, `adjudicated` those of
    the records' tasks that somebody else decided. The order of `given` does not matter. None if no decision can be
    compared with another person's or with a right one: nothing is known of anybody then.
    """
    adjudicated = adjudicated or {}
    right = {**known, **adjudicated}
    decisions: tuple[Decision, ...] = ("accept", "fix", "reject") if rubric.corrects else ("accept", "reject")
    by_task: dict[str, dict[str, Decision]] = defaultdict(dict)
    for key, by, decision in sorted(given):
        by_task[key][by] = decision
    compared = {key: people for key, people in by_task.items() if len(people) > 1 or key in right}
    if not compared:
        return None
    everybody = sorted({by for people in by_task.values() for by in people})
    tables = _tables(compared, everybody, right, decisions)
    likelihoods = {
        key: [float(decision == adjudicated[key]) for decision in decisions]
        if key in adjudicated
        else [prod(tables[by][decision][said] for by, said in people.items()) for decision in decisions]
        for key, people in by_task.items()
        if key not in known
    }
    shares = _shares(list(likelihoods.values()), len(decisions))
    chances = {key: _normalized(likelihood, shares) for key, likelihood in likelihoods.items()}
    return Reliabilities(
        shares=_rounded(decisions, shares),
        tasks={key: _rounded(decisions, chance) for key, chance in chances.items()},
        people={
            by: Reliability(
                by=by,
                judged=sum(by in people for people in by_task.values()),
                right=round(
                    sum(share * table[right][right] for right, share in zip(decisions, shares, strict=True)), DIGITS
                ),
                confuses={right: _rounded(decisions, [*row.values()]) for right, row in table.items()},
            )
            for by, table in sorted(tables.items())
        },
    )


def _tables(
    by_task: Mapping[str, Mapping[str, Decision]],
    people: Sequence[str],
    known: Mapping[str, Decision],
    decisions: Sequence[Decision],
) -> dict[str, dict[Decision, dict[Decision, float]]]:
    """Return, by person and right decision, the probability of each decision that the person gives.

    Of somebody who did none of these tasks, they are those of everybody before the first.
    """
    # It takes seconds to import: commands that need no probabilities do without.
    from crowdkit.aggregation import DawidSkene
    from pandas import DataFrame, Series

    rows: list[tuple[int, str, str]] = []
    right: dict[int, str] = {}
    for number, (key, given) in enumerate(sorted(by_task.items())):
        rows += ((number, by, decision) for by, decision in sorted(given.items()))
        if key in known:
            right[number] = known[key]
    number = len(by_task)
    for decision in decisions:
        others = [other for other in decisions if other != decision for _ in range(WRONG)]
        for answer in (*[decision] * RIGHT, *others):
            rows += ((number, by, answer) for by in people)
            right[number] = decision
            number += 1
    data = DataFrame(rows, columns=["task", "worker", "label"])
    errors = DawidSkene(n_iter=ROUNDS, tol=CLOSE).fit(data, Series(right)).errors_
    assert errors is not None
    chances = errors.to_dict()
    return {
        by: {right: {given: chances[right][by, given] for given in decisions} for right in decisions} for by in people
    }


def _shares(likelihoods: Sequence[Sequence[float]], decisions: int) -> list[float]:
    """Return how common each decision is, from the likelihood of each task's answers given each decision.

    One task of each decision is added, so that no decision is impossible.
    """
    shares = [1 / decisions] * decisions
    for _ in range(ROUNDS):
        sums = [1.0] * decisions
        for likelihood in likelihoods:
            for place, chance in enumerate(_normalized(likelihood, shares)):
                sums[place] += chance
        before, shares = shares, [each / sum(sums) for each in sums]
        if max(abs(new - old) for new, old in zip(shares, before, strict=True)) < 10**-DIGITS:
            break
    return shares


def _normalized(likelihood: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return the probability of each decision, by Bayes."""
    joint = [each * share for each, share in zip(likelihood, shares, strict=True)]
    return [each / sum(joint) for each in joint]


def _rounded(decisions: Sequence[Decision], chances: Sequence[float]) -> dict[Decision, float]:
    return {decision: round(chance, DIGITS) for decision, chance in zip(decisions, chances, strict=True)}
