"""The client, against a real server: what the sync needs, both kinds of key, and one line for each error."""

import http.server
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from annotation.label_studio import server
from annotation.label_studio.client import connect
from annotation.label_studio.failures import KeyRefused, Refused, Unanswered
from schemas.errors import WrongInput
from tests.faults.servers import LOST, REFUSED, LabelStudio
from tests.label_studio import Served
from tests.label_studio_stand_in import TOKEN

CONFIG = '<View><Text name="text" value="$text"/><TextArea name="answer" toName="text"/></View>'


def task(number: int) -> dict[str, Any]:
    return {"data": {"text": f"Text {number}", "ext_id": str(number)}}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_project_from_its_making_to_its_export(label_studio: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.label_studio.client.PAGE", 100)
    client = label_studio.client
    project = client.make_project("Authoring", CONFIG, maximum_annotations=2, instruction="<p>Read <b>this</b>.</p>")
    made = client.project(project)
    assert client.projects() == [made]
    assert (made.title, made.maximum_annotations, made.instruction) == ("Authoring", 2, "<p>Read <b>this</b>.</p>")

    sent = [task(number) for number in range(220)]  # more than two pages
    assert client.import_tasks(project, sent) == 220
    rows = client.list_tasks(project)
    assert sorted(int(row["data"]["ext_id"]) for row in rows) == list(range(220))
    assert len({row["id"] for row in rows}) == 220

    first = rows[0]["id"]
    client.patch_task(first, {"text": "Another text", "ext_id": "0"})
    client._request("DELETE", f"api/tasks/{rows[1]['id']}/")
    exported = client.export(project)
    assert len(exported) == 219
    assert exported[0]["data"]["text"] == "Another text"

    client.set_config(project, CONFIG.replace("TextArea", "TextArea rows='3'"))
    client.set_instruction(project, "")
    assert "rows='3'" in client.project(project).label_config
    hook = client.webhook(project, "http://127.0.0.1:9/changed", {"X-Secret": "s"})
    assert [(one["id"], one["headers"]) for one in client.webhooks(project)] == [(hook, {"X-Secret": "s"})]
    client.delete_webhook(hook)
    client._request("DELETE", f"api/projects/{project}/")
    assert client.projects() == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_projects_beyond_the_server_s_page_of_100_are_found(label_studio: Served) -> None:
    first = label_studio.client.make_project("Queue 0", CONFIG)
    with sqlite3.connect(label_studio.folder / server.DATA / server.DATABASE) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(project)") if row[1] not in ("id", "title")]
        same = ", ".join(columns)
        database.executemany(
            f"INSERT INTO project (title, {same}) SELECT ?, {same} FROM project WHERE id = {first}",
            [(f"Queue {number}",) for number in range(1, 103)],
        )
    assert sorted(project.title for project in label_studio.client.projects()) == sorted(
        f"Queue {number}" for number in range(103)
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_the_server_refuses_is_one_line(label_studio: Served) -> None:
    client = label_studio.client
    project = client.make_project("Authoring", CONFIG)
    for call, said in (
        (lambda: client.make_project("Broken", "<View"), "unclosed token"),
        (lambda: client.import_tasks(project, [{"data": {}}]), '"text" key is expected'),
        (lambda: client.project(99), "No Project matches"),
        (lambda: client.patch_task(99, {}), "No Task matches"),
        (lambda: client.sign_up("anna@example.org", "short"), "8"),
        (lambda: client.sign_up("nobody", "long enough, and more"), "valid email"),
    ):
        with pytest.raises(Refused) as caught:
            call()
        assert said in str(caught.value)
        assert label_studio.url in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(WrongInput, match="3 to 50 characters"):
        client.make_project("X", CONFIG)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_both_kinds_of_key_work_and_others_are_refused_without_being_told(label_studio: Served) -> None:
    legacy = {"Authorization": f"Token {label_studio.token}"}
    made = httpx.post(f"{label_studio.url}/api/token/", headers=legacy, timeout=60)
    personal = made.json()["token"]
    with connect(label_studio.url, personal) as client:
        assert client.projects() == []
        project = client.make_project("By personal token", CONFIG)
        assert [one.id for one in client.projects()] == [project]
    for wrong in ("0" * 40, personal[:-4] + "abcd", "", "two words", "new\nline", "schlüssel"):
        with pytest.raises(KeyRefused) as caught:
            connect(label_studio.url, wrong)
        assert not wrong or wrong not in str(caught.value)
        assert "\n" not in str(caught.value)


@contextmanager
def answering(status: int, body: str, **headers: str) -> Iterator[str]:
    """A server that gives one answer to all, for what a real one of this version does not say."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as other:
        thread = threading.Thread(target=other.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{other.server_port}"
        other.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, json.dumps({"release": "1.13.1"}), "is Label Studio 1.13.1; 1.20 or later is needed"),
        (200, "<html>a web page</html>", "is not Label Studio"),
        (200, "[]", "is not Label Studio"),
        (404, "", "is not Label Studio"),
        (302, "", "redirects to https://studio.example.org/; give the final address"),
    ],
)
def test_what_is_no_label_studio_of_ours_is_told_by_its_version(status: int, body: str, said: str) -> None:
    with answering(status, body, Location="https://studio.example.org/") as url, pytest.raises(WrongInput) as caught:
        connect(url, "a-key")
    assert said in str(caught.value)
    assert str(caught.value).startswith(url)


def test_no_server_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Unanswered, match=r"http://127.0.0.1:9: no server answers there"):
        connect("http://127.0.0.1:9", "a-key")


@pytest.mark.parametrize("request_number", [1, 2])
@pytest.mark.parametrize("kind", [REFUSED, LOST])
def test_a_server_that_fails_once_is_asked_again(request_number: int, kind: str) -> None:
    server = LabelStudio()
    thread = threading.Thread(target=server.serve_for_ever)
    thread.start()
    server.fail(request_number, kind, 0)
    try:
        connect(server.url, TOKEN).close()
    finally:
        server.shutdown()
        thread.join()
        server.close()
    asked = ["GET /api/version", "GET /api/current-user/whoami"]
    asked.insert(request_number, asked[request_number - 1])
    assert [*server.arrived()] == asked
