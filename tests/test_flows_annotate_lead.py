"""A lead who is named in mid-project: what the lead did stays done, and nothing new comes but what is to decide."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from annotation.label_studio.client import Row
from annotation.label_studio.sync import VIEW, PushedQueue, Queue
from annotation.review import decision_name
from flows.annotate import push as pushing
from flows.annotate.push import Pushed, push
from flows.annotate.work import last_pull
from flows.project.annotation_settings import AnnotationSettings
from schemas.rubric import Task
from tests.team import Team, now, words

THREE = ("a1", "a2", "a3")


class Pushes:
    """What pushes bring to the queues, while nothing is written on a server."""

    def __init__(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        self.team, self.withdrawn, self.queues = team, set[str](), dict[str, Queue]()
        monkeypatch.setattr(pushing, "accounts_of", lambda project, client: {})
        monkeypatch.setattr(pushing, "push_queue", self._push_queue)
        monkeypatch.setattr(pushing, "withdraw", self._withdraw)

    def _push_queue(self, client: Any, queue: Queue, existing: Any, rows: list[Row]) -> PushedQueue:
        self.queues[queue.name] = queue
        return PushedQueue(queue.name, 1, "", len(queue.tasks))

    def _withdraw(self, client: Any, name: str, info: Any) -> PushedQueue:
        self.withdrawn.add(name)
        return PushedQueue(name, info.id, "", 0)

    def push(self, lead: str | None, **more: Any) -> Pushed:
        self.withdrawn, self.queues = set(), {}
        self.team.project.config.annotation = AnnotationSettings(
            people={by: f"{by}@example.org" for by in self.team.people}, lead=lead, **{"overlap_first": 0, **more}
        )
        server: Any = self.team.server
        return push(self.team.project, server)

    def open(self) -> Mapping[str, list[str]]:
        """By queue, the tasks that nobody in it has done."""
        done = {
            (name, row["data"][VIEW])
            for name, rows in self.team.server.rows.items() for row in rows if row["total_annotations"]
        }  # fmt: skip
        return {
            name: ids for name, queue in self.queues.items()
            if (ids := [task.view for task in queue.tasks if (name, task.view) not in done])
        }  # fmt: skip


def does(team: Team, task: Task, by: str, says: str = "yes") -> None:
    team.do(task, by, now() - timedelta(hours=9), 60, {"decision": says, "upper": task.drafts["upper"]})


def test_what_the_lead_did_stays_done_and_what_was_open_goes_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(tmp_path, words(12), THREE)
    pushes = Pushes(team, monkeypatch)
    for number, task in enumerate(team.tasks):
        if number < 9:
            does(team, task, THREE[number % 3])
        else:
            team.give(task, "a1", submitted=False)
    team.pull()
    own = {task.id for task in team.tasks[:9:3]}
    left = {task.id for task in team.tasks[9:]}
    assert pushes.push(None).shortages == []
    assert {name: set(ids) for name, ids in pushes.open().items()} == {"toys/toy-words@1/a1": left}
    assert pushes.push("a1").shortages == []
    assert pushes.withdrawn == set()
    assert {task.view for task in pushes.queues["toys/toy-words@1/a1"].tasks} == own
    opened = pushes.open()
    assert set(opened) == {"toys/toy-words@1/a2", "toys/toy-words@1/a3"}
    assert sorted(view for ids in opened.values() for view in ids) == sorted(left), "each goes to one person"


def test_reviews_that_the_lead_did_stay_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team(tmp_path, words(9), THREE, review=True)
    pushes = Pushes(team, monkeypatch)
    for number, task in enumerate(team.tasks):
        does(team, task, THREE[number % 3])
    team.pull()
    (collected,) = last_pull(team.project)
    for task, author in collected.settlement.reviews:
        by = {"a1": "a2", "a2": "a1", "a3": "a1"}[author]
        answers = {decision_name("upper"): "accept", "upper": task.drafts["upper"]}
        team.do(task, by, now() - timedelta(hours=1), 30, answers)
    team.pull()
    for lead in (None, "a1"):
        assert pushes.push(lead).shortages == []
        assert pushes.open() == {}
        assert pushes.withdrawn == set()
        names = {name for name, queue in pushes.queues.items() if queue.tasks}
        assert names == {"toys/toy-words@1/a1", "toys/toy-words@1/a2", "toys/toy-words@1/a3",
                         "toys/toy-words-review@1/a1", "toys/toy-words-review@1/a2"}  # fmt: skip


def test_the_lead_gets_nothing_new_but_what_is_to_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team(tmp_path, words(6), [*THREE, "a4"], per_item=2)
    pushes = Pushes(team, monkeypatch)
    first, second, *_ = team.tasks
    for by, says in (("a1", "yes"), ("a2", "no")):
        does(team, first, by, says)
    for by, says in (("a2", "yes"), ("a3", "no")):
        does(team, second, by, says)
    team.pull()
    assert pushes.push("a1").shortages == []
    opened = pushes.open()
    (collected,) = last_pull(team.project)
    asked = {one.task.id: one.asked.id for one in collected.disagreements}
    decided = {name: ids for name, ids in opened.items() if "adjudication" in name}
    assert decided["toys/toy-words-adjudication@1/a1"] == [asked[second.id]]
    assert sorted(view for ids in decided.values() for view in ids) == sorted(asked.values())
    assert "toys/toy-words@1/a1" not in opened
    assert sum(len(ids) for name, ids in opened.items() if "toy-words@" in name) == 8
