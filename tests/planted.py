"""Planted annotators over real rows: people whose reliability is known judge passages whose truth is known.

A row is a question with a passage and an answer, as ReEval's form shows it; some passages do not support their answer.
Everything runs as in a build, without a server: tasks are assigned, done and settled, a pull and a push each round.
"""

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from annotation.assign import assign
from annotation.latest import decision_of
from annotation.reliability import Given, Reliabilities, known_decision, reliabilities
from annotation.settle import Settlement, settle
from annotation.value import by_value_of
from flows.families.reeval.rubric import SUPPORT
from schemas.annotation import Annotation
from schemas.base import content_hash
from schemas.rubric import Task
from schemas.verdict import Decision

ROOT = Path(__file__).resolve().parent.parent


class Row(NamedTuple):
    """A question, a passage and an answer; whether the passage supports the answer."""

    question: str
    evidence: str
    answer: str
    supports: bool


class Planted(NamedTuple):
    """How often a person is right, on what is good and on what is not, and how much less on a hard row."""

    good: float
    bad: float


PEOPLE = {
    "a1": Planted(0.96, 0.92),
    "a2": Planted(0.93, 0.85),  # two good ones
    "b1": Planted(0.98, 0.3),  # accepts nearly everything
    "c1": Planted(0.75, 0.7),  # careless
    "h1": Planted(0.72, 0.98),  # harsh
}


def packaged_rows() -> list[Row]:
    """The questions of the packaged sample, each with its passage, and with another that lacks the answer."""
    lines = (ROOT / "data/samples/questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    made = [Row(row["question"], row["evidence"], row["answers"][0], True) for row in rows]
    near = sorted(made, key=lambda row: (len(row.evidence), row))
    for place, row in enumerate(near):
        others = (other.evidence for other in (*near[place:], *near) if row.answer not in other.evidence)
        made.append(row._replace(evidence=next(others), supports=False))
    return made


def squad_rows(shared: Path) -> list[Row]:
    """SQuAD 2.0's: its passage supports the answer to an answerable question, and no plausible one to another."""
    with gzip.open(shared / "data/squad2_en/dev.json.gz", "rt", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    return [
        Row(asked["question"], paragraph["context"], answers[0]["text"], not asked["is_impossible"])
        for article in articles
        for paragraph in article["paragraphs"]
        for asked in paragraph["qas"]
        if (answers := asked["plausible_answers"] if asked["is_impossible"] else asked["answers"])
    ]


class World:
    """Tasks over rows, and what each person would say of each: the same whoever else is asked."""

    def __init__(
        self, rows: Sequence[Row], size: int, seed: int, unsupported: float = 0.15, hard: float = 0.0,
        overlap_first: int = 0,
    ) -> None:  # fmt: skip
        """`unsupported` is the share of rows to reject. Of the fifth with the longest passages, people are `hard` less
        often right, all of them."""
        random_ = random.Random(f"{seed} rows")
        number = round(size * unsupported)
        rejected = random_.sample([row for row in rows if not row.supports], number)
        chosen = [*random_.sample([row for row in rows if row.supports], size - number), *rejected]
        gold = round(size * 0.15)
        known = random_.sample([row for row in rows if row not in set(chosen)], gold)
        self.seed, self.overlap_first = seed, overlap_first
        self.tasks = [_task(row) for row in chosen]
        self.gold = [_task(row, known=True) for row in known]
        shown = zip([*self.tasks, *self.gold], [*chosen, *known], strict=True)
        self.truth = {task.key: row.supports for task, row in shown}
        longest = sorted(self.tasks, key=lambda task: -len(str(task.shown["evidence"])))
        self.hard = dict.fromkeys((task.key for task in longest[: size // 5]), hard)

    def judges(self, task: Task, by: str) -> Annotation:
        """The person's annotation."""
        person, supports = PEOPLE[by], self.truth[task.key]
        chance = (person.good if supports else person.bad) - self.hard.get(task.key, 0)
        right = random.Random(f"{self.seed} {task.key} {by}").random() < chance
        return Annotation(
            task=task.id, key=task.key, rubric=task.rubric, version=task.version, by=by, source=f"{task.key} {by}",
            answers={"readable": "yes", "supports": "yes" if right == supports else "no"}, at="2026-11-02T09:00:00Z",
        )  # fmt: skip

    def run(self, certainty: float | None, pace: int = 20) -> "Result":
        """Have everybody do `pace` tasks a round until nobody has any."""
        rubric = SUPPORT
        readers = {task.key: len(PEOPLE) for task in self.tasks}
        by_value = by_value_of(self.tasks, rubric, certainty, self.overlap_first, readers, self.seed)
        done: dict[str, dict[str, Annotation]] = {by: {} for by in PEOPLE}
        held: dict[str, set[str]] = {by: set() for by in PEOPLE}
        while True:
            settlement = settle(
                [*self.tasks, *self.gold],
                [work for of_person in done.values() for work in of_person.values()],
                rubric,
                weigh=lambda given, known, right: reliabilities(given, known, rubric, right),
                by_value=by_value,
                seed=self.seed,
            )
            more = settlement.further(held)
            queues = assign(
                self.tasks,
                PEOPLE,
                rubric,
                self.seed,
                gold=self.gold,
                held=held,
                overlap=by_value.fixed if by_value else (),
                further=more,
            ).queues
            todo = {by: [task for task in queues[by] if task.key not in done[by]][:pace] for by in PEOPLE}
            if not any(todo.values()):
                return Result(self, settlement, done)
            for by, tasks in todo.items():
                held[by] |= {task.key for task in queues[by]}
                done[by] |= {task.key: self.judges(task, by) for task in tasks}


class Result:
    """What came of it."""

    def __init__(self, world: World, settlement: Settlement, done: dict[str, dict[str, Annotation]]) -> None:
        known = {task.key for task in world.gold}
        self.world, self.done = world, done
        self.judgements = sum(key not in known for of_person in done.values() for key in of_person)
        self.known = sum(key in known for of_person in done.values() for key in of_person)
        item = {task.key: task.item_key for task in world.tasks}
        self.right: dict[str, bool] = {}
        self.posteriors: dict[str, float] = {}
        self.reliabilities: Reliabilities | None = settlement.reliabilities
        for outcome in settlement.outcomes:
            verdict = outcome.verdict
            assert verdict is not None, outcome
            assert verdict.key == item[outcome.key]
            self.right[outcome.key] = (verdict.decision == "accept") == world.truth[outcome.key]
            self.posteriors[outcome.key] = verdict.posterior or 0.0

    def given(self) -> tuple[list[Given], dict[str, Decision]]:
        """What people decided, and the right decisions on the gold tasks."""
        tasks = {task.key: task for task in (*self.world.tasks, *self.world.gold)}
        made = [
            Given(key, by, known_decision(tasks[key], work.answers, SUPPORT) if tasks[key].right_answers
                  else decision_of(work.answers, SUPPORT))
            for by, of_person in self.done.items()
            for key, work in of_person.items()
        ]  # fmt: skip
        return made, {task.key: known_decision(task, task.right_answers, SUPPORT) for task in self.world.gold}

    @property
    def accuracy(self) -> float:
        """The share of right decisions."""
        return sum(self.right.values()) / len(self.right)


def _task(row: Row, known: bool = False) -> Task:
    key = content_hash(row.question, row.evidence, row.answer)
    return Task(
        key=key, rubric=SUPPORT.name, version=SUPPORT.version, item_id=key, item_key=key, item_view=key,
        shown={"evidence": row.evidence, "question": row.question, "answer": row.answer},
        right_answers={"supports": "yes" if row.supports else "no"} if known else {},
    )  # fmt: skip
