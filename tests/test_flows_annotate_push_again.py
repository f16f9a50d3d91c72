"""What a push brings after another, while nothing is written on a server."""

from pathlib import Path

import pytest

from flows.construct.people import every, sample
from tests.team import Team, words
from tests.test_flows_annotate_lead import THREE, Pushes
from tests.test_flows_annotate_work import JUDGED, known
from tests.toy import WORDS

FIRST = WORDS.writes[0].model_copy(update={"corrects": False})
WRITTEN = WORDS.model_copy(
    update={"overlaps": True, "writes": (FIRST, FIRST.model_copy(update={"name": "lower", "title": "Not in capitals"}))}
)


def test_overlap_items_stay_without_suggestions_though_they_say_that_some_box_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(tmp_path, words(6), THREE)
    team.bench.part = every(
        WRITTEN, drafts=lambda word: {"upper": word.upper}, left_out=lambda word: {"lower": "there is none"}
    )
    pushes = Pushes(team, monkeypatch)
    team.project.build = team.bench.project(words(6)).build
    pushed = []
    for _ in range(2):
        pushes.push(None, overlap_first=2)
        pushed.append({name: [(task.key, task.data["draft_upper"]) for task in queue.tasks]
                       for name, queue in pushes.queues.items()})  # fmt: skip
        first = next(iter(pushes.queues))  # the others are still practising, say
        team.server.rows[first] = [
            {"id": number, "data": task.data, "total_annotations": 0, "cancelled_annotations": 0}
            for number, task in enumerate(pushes.queues[first].tasks)
        ]
    assert pushed[0] == pushed[1]
    assert [draft for tasks in pushed[0].values() for _, draft in tasks].count("") == 4, "two items, each twice"


def test_nobody_practises_for_tasks_that_a_build_does_not_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team(tmp_path, words(6), THREE)
    pushes = Pushes(team, monkeypatch)
    for tasks, practice in ((lambda records, seed: [], 0), (None, 3)):
        team.bench.part = sample(JUDGED, tasks, known)
        team.project.build = team.bench.project(words(6)).build
        pushes.push(None)
        assert sum(bool(queue.tasks) for queue in pushes.queues.values()) == practice
