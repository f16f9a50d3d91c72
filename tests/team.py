"""A team's work on toy words without a Label Studio: what people submitted, and a server that lists their queues."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from annotation.label_studio.client import ProjectInfo, Row
from annotation.label_studio.sync import KEY, MARK, VIEW
from annotation.review import COMMENT, decision_name, review_of
from flows.annotate.board.reading import Board
from flows.annotate.hours import write_hours
from flows.annotate.pull import in_order, write_lines
from flows.annotate.work import last_pull, works
from flows.construct.people import People, every
from schemas.annotation import Annotation
from schemas.errors import Failed
from schemas.rubric import Task
from tests.test_flows_annotate_work import Bench
from tests.toy import WORDS

URL = "http://127.0.0.1:8080"
BENCHMARK = "toys"


@dataclasses.dataclass
class TeamServer:
    """Answers what progress asks of a client; `down` is why it does not."""

    rows: dict[str, list[Row]] = dataclasses.field(default_factory=dict)
    """By queue."""
    down: str = ""
    asked: int = 0

    def projects(self) -> list[ProjectInfo]:
        self.asked += 1
        if self.down:
            raise Failed(self.down)
        return [
            ProjectInfo(id=number, title=name[:50], label_config="", maximum_annotations=1, instruction="",
                        description=f"{MARK} {name}", tasks=len(self.rows[name]))
            for number, name in enumerate(self.rows, 1)
        ]  # fmt: skip

    def list_tasks(self, project: int, fields: Sequence[str] = ()) -> list[Row]:
        return list(self.rows.values())[project - 1]

    def tasks_url(self, project: int) -> str:
        return f"{URL}/projects/{project}/data"

    def task_url(self, project: int, task: int) -> str:
        return f"{self.tasks_url(project)}?task={task}"


class Team:
    """A build over `words`, in which `people` work."""

    def __init__(self, folder: Path, words: Sequence[str], people: Sequence[str], *, per_item: int = 1,
                 review: bool = False, part: People | None = None) -> None:  # fmt: skip
        served: Any = SimpleNamespace(folder=folder / "state" / "label-studio")
        rubric = WORDS.model_copy(update={"people_per_item": per_item})
        part = part or every(rubric, review=review_of(rubric) if review else None)
        self.bench = Bench(served, folder, {by: f"{by}@example.org" for by in people}, part)
        self.project = self.bench.project(words)
        self.project.config_path = folder / "words.jsonl"
        self.project.close = lambda wait_s=0.0: None
        self.people = list(people)
        self.server = TeamServer()
        self.done: list[Annotation] = []
        self.project.out.mkdir(exist_ok=True)
        (self.project.out / "manifest.json").touch()

    @property
    def tasks(self) -> Sequence[Task]:
        (work,) = works(self.project)
        return work.tasks

    def give(self, task: Task, by: str, *, submitted: bool) -> None:
        """Put a task into a person's queue."""
        rows = self.server.rows.setdefault(f"{BENCHMARK}/{task.rubric}@{task.version}/{by}", [])
        number = sum(map(len, self.server.rows.values())) + 1
        rows.append({"id": number, "data": {KEY: task.key, VIEW: task.id}, "total_annotations": int(submitted),
                     "cancelled_annotations": 0})  # fmt: skip

    def do(
        self, task: Task, by: str, at: datetime, seconds: float, answers: dict[str, str], question: str = ""
    ) -> None:
        """Give a task to a person, who submits it."""
        self.give(task, by, submitted=True)
        self.done.append(
            Annotation(
                task=task.id, key=task.key, item=task.item_key, rubric=task.rubric, version=task.version, by=by,
                answers=answers, seconds=seconds, at=at.isoformat(), source=f"s{len(self.done)}", question=question,
            )
        )  # fmt: skip

    def pull(self) -> None:
        """Write what was submitted, as a pull does."""
        write_lines(self.project, f"annotations/{WORDS.name}.jsonl", in_order(self.done))
        write_hours(self.project)

    def board(self, opened: Callable[[], Any] | None = None) -> Board:
        @contextmanager
        def connected(project: Any) -> Iterator[Any]:
            yield self.server

        return Board(self.project.out, self.project.config_path, opened or (lambda: self.project), connected)


def words(number: int) -> list[str]:
    """Words that differ in their first letter, which the toy family asks for."""
    return [f"{chr(0x4E00 + place)}{place}" for place in range(number)]


def busy_team(folder: Path, size: int, people: int, today: datetime, *, review: bool = True) -> Team:
    """A team in the middle of its work: one is fast and says yes to everything, one left a form open, one is away."""
    team = Team(folder, words(size), [f"a{n}" for n in range(1, people + 1)], per_item=2, review=review)
    random = Random(3)
    per_day = max(1, size * 2 * 6 // 10 // people // 9)
    made = dict.fromkeys(team.people, 0)
    for place, task in enumerate(team.tasks):
        truth = "yes" if random.random() < 0.7 else "no"
        for turn in range(2):
            by = team.people[(place * 2 + turn + place // people) % people]
            if place >= size * 0.6 or (by == team.people[-1] and made[by] >= 20):
                team.give(task, by, submitted=place % 50 == 0)
                continue
            back = 11 - made[by] // per_day if by != team.people[-1] else 40
            at = today - timedelta(days=max(1, back), hours=random.random() * 6)
            fast = by == team.people[0]
            seconds = random.lognormvariate(3.0 if fast else 4.4, 0.4)
            if place == 40:
                seconds = 5400
            says = "yes" if fast else truth if random.random() < 0.92 else "no" if truth == "yes" else "yes"
            asked = "Is a number a part of the word?" if place in (7, 30) else ""
            team.do(task, by, at, seconds, {"decision": says, "upper": task.drafts["upper"]}, asked)
            made[by] += 1
    team.pull()
    if review:
        _review(team, today, random)
    return team


def _review(team: Team, today: datetime, random: Random) -> None:
    """Give reviews to others than the author: most are done, a few were rejected."""
    (collected,) = last_pull(team.project)
    for place, (task, author) in enumerate(collected.settlement.reviews):
        by = next(other for other in team.people[place % 3 + 1 :] + team.people if other != author)
        if place % 5 == 0:
            team.give(task, by, submitted=False)
            continue
        rejects = place % 11 == 0
        answers = {decision_name("upper"): "reject" if rejects else "accept", "upper": task.drafts["upper"]}
        if rejects:
            answers[COMMENT] = "Not in capitals."
        team.do(task, by, today - timedelta(days=1 + place % 6), random.lognormvariate(3.2, 0.3), answers)
    team.pull()
    (collected,) = last_pull(team.project)
    for task, author in collected.settlement.revisions:
        team.give(task, author, submitted=False)
    for task, author in collected.settlement.corrections:
        team.give(task, author, submitted=False)


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
