"""The sync against a real Label Studio: nothing twice, nothing lost, whatever breaks off."""

import contextlib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from annotation.label_studio import server
from annotation.label_studio.client import Client, ProjectInfo, connect
from annotation.label_studio.failures import Unanswered
from annotation.label_studio.listener import Listener, marked, register, secret_of, unmark
from annotation.label_studio.sync import (
    KEY,
    MARK,
    NOTHING,
    RETIRED,
    VIEW,
    Queue,
    QueuedTask,
    Submitted,
    all_projects_of,
    card_text,
    compare,
    is_retired,
    projects_of,
    push_queue,
    submitted,
    tasks_of,
    withdraw,
)
from annotation.label_studio.task_data import LISTED
from schemas.errors import WrongInput
from tests.label_studio import Served

FORM = (
    '<View><Text name="t" value="$text"/><TextArea name="w" toName="t" value="$draft_w"/>'
    '<Choices name="c" toName="t"><Choice value="yes"/><Choice value="no"/></Choices></View>'
)


def wanted(number: int, view: str = "1", draft: str = "", **more: Any) -> QueuedTask:
    texts = {KEY: f"k{number}", VIEW: view, "text": f"text {number} in view {view}", "draft_w": draft}
    return QueuedTask(f"k{number}", view, {**texts, **more})


def queue(tasks: list[QueuedTask], name: str = "toy/check@1/a1", people: int = 1) -> Queue:
    return Queue(name, "Check · a1", FORM, "<p>Be kind.</p>", tasks, people)


def said(option: str) -> list[dict[str, Any]]:
    return [{"from_name": "c", "to_name": "t", "type": "choices", "value": {"choices": [option]}}]


def pushed(client: Client, given: Queue) -> Any:
    return push_queue(client, given, projects_of(client, "toy").get(given.name))


def live(client: Client, name: str = "toy/check@1/a1") -> list[tuple[str, str]]:
    rows = [row for row in tasks_of(client, projects_of(client, "toy")[name]) if not is_retired(row)]
    return sorted((row["data"][KEY], row["data"][VIEW]) for row in rows)


# ---- what is to be done, without a server ----


def row(number: int, key: str, view: str, done: int = 0, retired: bool = False, **data: Any) -> dict[str, Any]:
    more = {RETIRED: "yes"} if retired else {}
    texts = {KEY: key, VIEW: view, "text": f"text {key[1:]} in view {view}", "draft_w": "", **data, **more}
    return {"id": number, "data": texts, "total_annotations": done, "cancelled_annotations": 0}


def test_what_is_there_is_compared_with_what_should_be() -> None:
    plan = compare(
        [wanted(1), wanted(2), wanted(3, "2"), wanted(4), wanted(6), wanted(7)],
        [
            row(11, "k1", "1"),
            row(12, "k2", "1", item="old"),
            row(13, "k3", "1", done=1),
            row(14, "k4", "1", retired=True),
            row(15, "k5", "1"),
            row(17, "k7", "1"),
            row(18, "k7", "1", done=1),
            {"id": 99, "data": {"text": "by hand"}, "total_annotations": 0, "cancelled_annotations": 0},
        ],
    )
    assert [one.key for one in plan.missing] == ["k3", "k6"]
    assert [(number, one.key) for number, one in plan.updated] == [(12, "k2")]
    assert [(one["id"], new.key) for one, new in plan.revived] == [(14, "k4")]
    assert sorted(one["id"] for one in plan.retired) == [13, 15, 17]
    assert plan.kept == 2
    assert len(plan.notes) == 2


def test_what_a_push_that_broke_off_has_done_is_not_done_again() -> None:
    half, whole = row(11, "k1", "1", retired=True), row(12, "k2", "1", done=1, retired=True)
    assert [one["id"] for one in compare([], [half, whole]).retired] == [11], "it is still open"
    assert [one["id"] for one in compare([], [half, whole], 2).retired] == [11, 12]
    again = replace(wanted(1), again=True)
    plan = compare([again], [row(11, "k1", "1", done=1), row(12, "k1", "1")])
    assert ([one["id"] for one in plan.retired], plan.missing, plan.kept) == ([11], [], 1), "it is there once more"
    assert compare([again], [row(11, "k1", "1", done=1)]).missing == [again]


def test_two_tasks_of_one_key_are_refused_before_anything_is_sent() -> None:
    client: Any = None
    with pytest.raises(WrongInput, match="two tasks have the same key"):
        push_queue(client, queue([wanted(1), wanted(1, "2")]), None)


@pytest.mark.parametrize(
    ("form", "said"), [("words@1", "Nothing to do here now."), ("words@1.zh", "现在没有要做的题。")]
)
def test_the_card_of_a_queue_that_is_withdrawn_is_in_the_language_of_its_form(form: str, said: str) -> None:
    cards: list[str] = []
    client: Any = SimpleNamespace(tasks_url=str, set_description=lambda project, text: cards.append(text))
    project = ProjectInfo(
        id=1, title="a1 · Words", label_config="", maximum_annotations=1, description="", instruction="", tasks=0
    )
    withdraw(client, f"sample/{form}/a1", project)
    assert cards[0].startswith(said)


def card(given: Queue) -> str:
    """What a project's card shows: three lines of at most 55 characters, in one line."""
    return " ".join(card_text(given).split())[: 3 * 55]


def test_a_card_says_what_is_to_be_done_and_the_key_is_found_under_it() -> None:
    full = replace(queue([wanted(1)]), about="Are both right?")
    assert card(full).startswith("Are both right? Open it and press Label All Tasks;")
    empty = replace(full, tasks=())
    assert card(empty).startswith("Nothing to do here now. Tasks come by themselves;")
    assert "Are both right?" in card(empty)
    for given in (full, empty, replace(full, about="Check"), replace(empty, about="")):
        assert "toy/check@1/a1" not in card(given)
        for told in (card_text(given), card_text(given).replace("\n", "\r\n"), f"By me.\n{card_text(given)}\nMine."):
            assert list(projects_of(Listing([told]), "toy")) == ["toy/check@1/a1"]
            assert list(projects_of(Listing([told]), "to")) == []
    assert list(projects_of(Listing(["", "touchstone", "Nothing of touchstone toy/check@1/a1"]), "toy")) == []


class Listing(Client):
    """A server that has projects of these descriptions."""

    def __init__(self, descriptions: list[str]) -> None:
        self.descriptions = descriptions

    def projects(self) -> list[ProjectInfo]:
        return [
            ProjectInfo(id=number, title="x", label_config="", maximum_annotations=1, instruction="", tasks=2,
                        description=text)
            for number, text in enumerate(self.descriptions)
        ]  # fmt: skip


# ---- with a server ----


@pytest.mark.slow
def test_a_project_has_its_views_once_and_what_people_made_of_them_stays(label_studio: Served) -> None:
    client = label_studio.client
    given = replace(queue([]), about="Check it", fields=("text", "draft_w"))
    first = pushed(client, given)
    assert len(client.views(first.project)) == 2
    assert NOTHING in client.project(first.project).description
    given = replace(given, tasks=[wanted(1, **{LISTED: "text 1"}), wanted(2, **{LISTED: "text 2"})])
    pushed(client, given)
    assert len(client.views(first.project)) == 2
    assert NOTHING not in client.project(first.project).description
    client.make_view(first.project, "Mine", people=1, done=False, first=LISTED)
    pushed(client, given)
    assert len(client.views(first.project)) == 3

    # One who was killed before the views were made makes them with the first tasks.
    client.set_description(client.make_project("Killed", FORM), f"{MARK} toy/check@1/a2")
    killed = pushed(client, replace(given, name="toy/check@1/a2"))
    assert len(client.views(killed.project)) == 2

    # Who is left without a task is told so, and what is no longer asked says it.
    pushed(client, replace(given, tasks=()))
    assert NOTHING in client.project(first.project).description
    rows = tasks_of(client, client.project(first.project))
    assert sorted(row["data"][LISTED] for row in rows) == ["No longer asked: text 1", "No longer asked: text 2"]
    withdraw(client, "toy/check@1/a2", client.project(killed.project))
    assert NOTHING in client.project(killed.project).description
    pushed(client, given)
    rows = tasks_of(client, client.project(first.project))
    assert sorted(row["data"][LISTED] for row in rows) == ["text 1", "text 2"]


@pytest.mark.slow
def test_two_thousand_items_pushed_twice_are_there_once(label_studio: Served) -> None:
    given = queue([wanted(number, draft="a draft" if number % 2 else "") for number in range(2000)])
    first = pushed(label_studio.client, given)
    assert (first.imported, first.kept) == (2000, 0)
    again = pushed(label_studio.client, given)
    assert (again.imported, again.kept, again.retired, again.updated, again.notes) == (0, 2000, 0, 0, [])
    assert live(label_studio.client) == sorted((one.key, one.view) for one in given.tasks)


@pytest.mark.slow
def test_a_changed_item_goes_out_anew_and_what_was_done_stays(label_studio: Served) -> None:
    client = label_studio.client
    pushed(client, queue([wanted(1), wanted(2), wanted(3)]))
    numbers = {one["data"][KEY]: one["id"] for one in tasks_of(client, projects_of(client, "toy")["toy/check@1/a1"])}
    client.annotate(numbers["k1"], said("yes"))
    client.annotate(numbers["k2"], said("no"))
    done = pushed(client, queue([wanted(1, "2"), wanted(2, item="new"), wanted(4)]))
    assert (done.imported, done.updated, done.retired) == (2, 1, 2)
    assert live(client) == [("k1", "2"), ("k2", "1"), ("k4", "1")]
    found = [(one.data[KEY], one.data[VIEW], one.annotation["result"][0]["value"]) for one in submitted(client, "toy")]
    assert sorted(map(str, found)) == [
        "('k1', '1', {'choices': ['yes']})",
        "('k2', '1', {'choices': ['no']})",
    ], "k3, which nobody did, is gone from the queue without a trace of work"
    back = pushed(client, queue([wanted(1), wanted(2, item="new"), wanted(3)]))
    assert (back.imported, back.revived, back.retired) == (0, 2, 2)
    assert live(client) == [("k1", "1"), ("k2", "1"), ("k3", "1")]
    by_key = {one["data"][KEY]: one for one in tasks_of(client, projects_of(client, "toy")["toy/check@1/a1"])
              if not is_retired(one)}  # fmt: skip
    assert [by_key[key]["total_annotations"] for key in ("k1", "k2", "k3")] == [1, 1, 0]


@pytest.mark.slow
def test_two_first_pushes_at_once_make_one_project_with_every_task_once(label_studio: Served) -> None:
    given = queue([wanted(number) for number in range(15)])
    together = threading.Barrier(2)

    def push_from_another_machine(_: int) -> None:
        with connect(label_studio.url, label_studio.token) as client:
            existing = projects_of(client, "toy").get(given.name)
            together.wait()
            push_queue(client, given, existing)

    with ThreadPoolExecutor(2) as machines:
        list(machines.map(push_from_another_machine, range(2)))
    client = label_studio.client
    ((_, info),) = all_projects_of(client, "toy")
    assert live(client) == sorted((one.key, one.view) for one in given.tasks)
    assert len(client.views(info.id)) == 2
    again = pushed(client, given)
    assert (again.imported, again.retired, again.kept, again.notes) == (0, 0, 15, [])


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.05, 0.4, 1.0])
def test_a_server_killed_during_a_push_has_every_item_once_in_the_end(
    label_studio_folder: Path, after_s: float
) -> None:
    given = queue([wanted(number, draft="a draft " * 200) for number in range(3000)])
    running = server.up(label_studio_folder)
    with connect(running.url, running.owner.token) as client:
        push_queue(client, queue(list(given.tasks[:10])), None)
        there = projects_of(client, "toy")["toy/check@1/a1"]
        pid = int((label_studio_folder / server.LOCK).read_text())
        killer = threading.Timer(after_s, os.kill, (pid, signal.SIGKILL))
        killer.start()
        with contextlib.suppress(Unanswered):
            push_queue(client, given, there)
        killer.join()
    running = server.up(label_studio_folder)
    try:
        with connect(running.url, running.owner.token) as client:
            pushed(client, given)
            again = pushed(client, given)
            assert (again.imported, again.kept, again.notes) == (0, 3000, [])
            assert live(client) == sorted((one.key, one.view) for one in given.tasks)
    finally:
        server.down(label_studio_folder)


@pytest.mark.slow
def test_what_somebody_edited_by_hand_is_put_back_or_left_alone(label_studio: Served) -> None:
    client = label_studio.client
    first = pushed(client, queue([wanted(1), wanted(2)]))
    client.set_config(first.project, FORM.replace('value="no"', 'value="never"'))
    client.import_tasks(first.project, [{"data": {"text": "by hand", "draft_w": ""}}, {"data": dict(wanted(1).data)}])
    done = pushed(client, queue([wanted(1), wanted(2)]))
    assert done.notes == [
        "its form was not as declared; it was restored",
        "1 tasks did not come from here; they are left alone",
        "1 tasks were there twice; those that nobody worked on are retired",
    ]
    assert client.project(first.project).label_config == FORM
    assert (done.kept, done.retired) == (2, 1)


@pytest.mark.slow
def test_a_webhook_marks_its_project_and_needs_the_secret(label_studio: Served, tmp_path: Path) -> None:
    import httpx

    client = label_studio.client
    done = pushed(client, queue([wanted(1)]))
    with Listener(tmp_path) as listener:
        register(client, done.project, listener.url, secret_of(tmp_path))
        register(client, done.project, listener.url, secret_of(tmp_path))
        assert len(client.webhooks(done.project)) == 1
        (task,) = tasks_of(client, client.project(done.project))
        client.annotate(task["id"], said("yes"))
        deadline = time.monotonic() + 20
        while not marked(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert marked(tmp_path) == {done.project}
        unmark(tmp_path, done.project)
        answer = httpx.post(listener.url, json={"project": {"id": 5}}, headers={"X-Touchstone-Secret": "guessed"})
        assert answer.status_code == 403
        assert marked(tmp_path) == frozenset()
    assert (tmp_path / "webhook-secret").stat().st_mode & 0o077 == 0


def test_what_retired_a_task_is_nobodys_work() -> None:
    class Exported(Listing):
        def export(self, project: int) -> list[Any]:
            empty, full = {"result": [], "was_cancelled": False}, {"result": said("yes"), "was_cancelled": False}
            return [{"data": {KEY: "k1", RETIRED: "yes"}, "annotations": [empty, full]},
                    {"data": {KEY: "k2"}, "annotations": [empty]}]  # fmt: skip

    client = Exported([card_text(queue([]))])
    found: list[Submitted] = list(submitted(client, "toy"))
    assert [(one.data[KEY], bool(one.annotation["result"])) for one in found] == [("k1", True), ("k2", False)]
