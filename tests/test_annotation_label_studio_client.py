"""The client, against a real server: what the sync needs, both kinds of key, and one line for each error."""

import http.server
import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from annotation.label_studio import server
from annotation.label_studio.client import Client, connect
from annotation.label_studio.failures import KeyRefused, Refused, Unanswered, redirection
from schemas.errors import WrongInput
from tests.faults.servers import LOST, REFUSED, LabelStudio
from tests.label_studio import Served
from tests.label_studio_stand_in import TOKEN

DEEP = "[" * 200_000 + "]" * 200_000
SECRET = "not-to-be-shown"
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
        (200, DEEP, "is not Label Studio"),
        (302, "", "redirects to https://studio.example.org/; if you trust it, give that address as annotation.url"),
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


CALLS: Mapping[str, Callable[[Client], object]] = {
    "projects": lambda client: client.projects(),
    "project": lambda client: client.project(1),
    "make_project": lambda client: client.make_project("Authoring", CONFIG),
    "delete_project": lambda client: client.delete_project(1),
    "views": lambda client: client.views(1),
    "make_view": lambda client: client.make_view(1, "To do", people=1, done=False, first="text"),
    "set_description": lambda client: client.set_description(1, "A card"),
    "set_config": lambda client: client.set_config(1, CONFIG),
    "set_instruction": lambda client: client.set_instruction(1, "<p>Read this.</p>"),
    "import_tasks": lambda client: client.import_tasks(1, [task(1)]),
    "list_tasks": lambda client: client.list_tasks(1),
    "export": lambda client: client.export(1),
    "patch_task": lambda client: client.patch_task(1, {"text": "Another text"}),
    "annotations": lambda client: client.annotations(1),
    "annotate": lambda client: client.annotate(1, []),
    "delete_annotation": lambda client: client.delete_annotation(1),
    "webhook": lambda client: client.webhook(1, "http://127.0.0.1:9/changed", {"X-Secret": SECRET}),
    "webhooks": lambda client: client.webhooks(1),
    "delete_webhook": lambda client: client.delete_webhook(1),
    "users": lambda client: client.users(),
    "sign_up": lambda client: client.sign_up("anna@example.org", SECRET),
}
"""A call of each method that speaks to the server."""
SILENT = {"close", "tasks_url", "task_url"}
LISTS = {"views", "export", "annotations", "webhooks", "users"}
"""The methods to which `[]` is an answer: there are none."""
REDIRECT = f"https://anna:{SECRET}@login.example.org/begin?next={SECRET}#{SECRET}"
REDIRECTED = (
    "redirects to https://login.example.org/begin; if you trust it, give that address as annotation.url, or log in"
)
ANOTHER_S = "gave an answer that is not Label Studio's"


class Odd(LabelStudio):
    """Accepts every key, and answers all else alike."""

    reply: tuple[int, bytes, Mapping[str, str]] | None = None
    known = ("/api/version", "/api/current-user/whoami")

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, bytes, Mapping[str, str]] | str:
        if self.reply is None or target.startswith(self.known):
            return super().answer(method, target, body)
        return self.reply


@pytest.fixture(scope="module")
def odd() -> Iterator[tuple[Odd, Client]]:
    server = Odd()
    thread = threading.Thread(target=server.serve_for_ever)
    thread.start()
    try:
        with connect(server.url, TOKEN) as client:
            yield server, client
    finally:
        server.shutdown()
        thread.join()
        server.close()


def test_every_method_that_speaks_to_the_server_is_called_here() -> None:
    public = {name for name, value in vars(Client).items() if callable(value) and not name.startswith("_")}
    assert public == {*CALLS} | SILENT


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (302, "", Unanswered, REDIRECTED),
        (307, "<html>Log in</html>", Unanswered, REDIRECTED),
        (200, "<html>Log in</html>", Unanswered, ANOTHER_S),
        (200, "null", Unanswered, ANOTHER_S),
        (200, "[]", Unanswered, ANOTHER_S),
        (200, "[null]", Unanswered, ANOTHER_S),
        (200, '{"id": null, "task_count": 1e999}', Unanswered, ANOTHER_S),
        (200, DEEP, Unanswered, ANOTHER_S),
        (400, DEEP, Refused, "(status 400)"),
        (401, "null", KeyRefused, "does not accept the key"),
        (403, "[]", KeyRefused, "with this key"),
        (500, DEEP, Unanswered, "(status 500)"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_an_answer_that_says_nothing_of_what_was_done_is_one_line(
    odd: tuple[Odd, Client], method: str, status: int, body: str, kind: type[Exception], said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("label_studio_sdk.core.http_client.INITIAL_RETRY_DELAY_SECONDS", 0.001)
    server, client = odd
    server.reply = status, body.encode(), {"Location": REDIRECT} if 300 <= status < 400 else {}
    if body == "[]" and status == 200 and method in LISTS:
        assert not CALLS[method](client)
        return
    with pytest.raises(kind) as caught:
        CALLS[method](client)
    told = str(caught.value)
    assert told.startswith(server.url)
    assert said in told
    assert len(told.splitlines()) == 1
    assert SECRET not in told
    assert TOKEN not in told


def test_an_invitation_that_leads_elsewhere_is_followed_by_nobody(
    odd: tuple[Odd, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client = odd
    monkeypatch.setattr(server, "known", (*Odd.known, "/api/invite"))
    server.reply = 302, b"", {"Location": REDIRECT}
    with pytest.raises(Unanswered, match=re.escape(REDIRECTED)):
        client.sign_up("anna@example.org", SECRET)


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("https://studio.example.org/ls/api/users/?page=1", "redirects to https://studio.example.org/ls;"),
        ("/login", "redirects to http://host:1/login;"),
        ("https://host:port/", "redirects to no address (status 301); correct annotation.url"),
        (None, "redirects to no address (status 301); correct annotation.url"),
    ],
)
def test_what_is_told_of_a_redirect(location: str | None, said: str) -> None:
    answer = httpx.Response(
        301, headers={"Location": location} if location else {},
        request=httpx.Request("GET", "http://host:1/ls/api/users/?page=1"),
    )  # fmt: skip
    assert redirection("http://host:1/ls", answer).startswith(f"http://host:1/ls: {said}")
