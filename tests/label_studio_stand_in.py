"""A Label Studio in memory that answers what our client asks, and breaks off at any request.

A real one takes 30 ms a request, this one 1 ms: enough for the thousands of requests of tests that kill a command at
each. `test_the_stand_in_answers_as_a_real_label_studio_does` compares both.
"""

import contextlib
import copy
import json
import os
import re
import select
import signal
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from annotation.label_studio.accounts import OWNER_EMAIL
from annotation.label_studio.sync import MARK, VIEW, is_retired

TOKEN = "5" * 40
OWNER = 1
BEGUN = datetime(2026, 11, 2, 10, tzinfo=UTC)
PAGE = 100
"""Projects per page."""
Fault = Literal["killed before", "killed after", "failed before", "cut off after", "reset after", "silent after"]
"""What happens at a request: the process that sent it is killed, gets status 500, a connection that is closed or reset,
or no answer for as long as it waits; before or after the server has done what was asked."""
FAULTS: Sequence[Fault] = ("failed before", "reset after", "silent after", "cut off after")
OUTAGE = 6
"""Requests that get no answer while the server is down: those of several rounds of a command that tries again."""
NOT_REPEATED = ("/api/version", "/api/current-user/whoami", "/user/signup/")
Row = dict[str, Any]
Route = tuple[str, re.Pattern[str], Callable[..., Any]]


@dataclass
class Content:
    """What the server knows."""

    users: dict[int, Row] = field(default_factory=lambda: {OWNER: {"id": OWNER, "email": OWNER_EMAIL}})
    projects: dict[int, Row] = field(default_factory=dict)
    tasks: dict[int, Row] = field(default_factory=dict)
    annotations: dict[int, Row] = field(default_factory=dict)
    views: dict[int, Row] = field(default_factory=dict)
    webhooks: dict[int, Row] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    """The last number of each kind."""
    by_project: dict[int, list[int]] = field(default_factory=dict)
    """The numbers of each project's tasks."""
    by_task: dict[int, list[int]] = field(default_factory=dict)
    """The numbers of each task's annotations."""


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class StandIn:
    """The server. It answers while `serve` runs, in the thread that called it: nothing of it is in a fork's way."""

    def __init__(self, port: int = 0) -> None:
        self.content = Content()
        self.asked: list[str] = []
        """Each request since `begin`, its numbers as `N`."""
        self.watch: Callable[[str], None] = lambda request: None
        """Called at each request, before anything is done and again when it is done."""
        self.killing = False
        """Whether whoever asks for a change is killed when it is done."""
        self.reads_fail_once = False
        """Whether each read that the client may repeat gets status 500, or no answer, when it is first asked."""
        self.all_fail_once = False
        """Whether each change, and each kind of read, fails when it is first asked; the server is down now and then."""
        self.faults: list[str] = []
        """The requests since `begin` that failed."""
        self._at, self._fault, self._pid, self._failed, self._down = 0, "", 0, False, 0
        self._known: set[str] = set()
        self._server = _Server(self, _Handler, port)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.server_close()

    def begin(self, at: int = 0, fault: Fault | None = None) -> None:
        """Count requests anew; at request `at`, from 1, the fault happens."""
        self.asked, self.faults, self._at, self._fault, self._down = [], [], at, fault or "", 0
        self._known.clear()

    def serve(self, pid: int) -> None:
        """Answer until the process has ended."""
        self._pid = pid
        ended = os.pidfd_open(pid)
        try:
            while True:
                if self._server not in select.select([self._server, ended], [], [])[0]:
                    return
                self._server.handle_request()
        finally:
            os.close(ended)

    def serve_for_ever(self) -> None:
        """Answer until this process ends."""
        self._server.serve_forever(0.05)

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, bytes, Mapping[str, str]] | str:
        """Return status, body and headers; or the fault if there is no answer."""
        path = urlsplit(target).path
        self.asked.append(f"{method} {re.sub(r'[0-9]+', 'N', path)}")
        fault = self._fault if len(self.asked) == self._at else self._of_read(method, path)
        fault = "killed after" if self.killing and method != "GET" else fault
        fault = self._of_first(method, path, body) if self.all_fail_once else fault
        self.watch(self.asked[-1])
        answer = self._done(method, target, body) if not fault or fault.endswith("after") else None
        self.watch(self.asked[-1])
        if fault.startswith("killed"):
            os.kill(self._pid, signal.SIGKILL)
        if fault.startswith("failed"):
            return HTTPStatus.INTERNAL_SERVER_ERROR, b'{"detail": "database is locked"}', {}
        return fault if fault else answer

    def _of_read(self, method: str, path: str) -> str:
        """The fault of a read that is not a repetition."""
        if not self.reads_fail_once or method != "GET" or path in NOT_REPEATED or self._failed:
            self._failed = False
            return ""
        self._failed = True
        return ("failed before", "cut off after")[len(self.asked) % 2]

    def _of_first(self, method: str, path: str, body: bytes) -> str:
        """The fault of a change, or of a kind of read, that was not asked before."""
        name = self.asked[-1] if method == "GET" else f"{method} {path} {body!r}"
        if len(self.asked) <= len(NOT_REPEATED[:2]):  # a command begins by looking whether the server is there
            return ""
        if self._down:
            self._down -= 1
            return "cut off before"
        if name in self._known:
            return ""
        self._known.add(name)
        self.faults.append(self.asked[-1])
        if len(self.faults) % 7 == 0:
            self._down = OUTAGE
        return FAULTS[len(self.faults) % len(FAULTS)]

    def _done(self, method: str, target: str, body: bytes) -> tuple[int, bytes, Mapping[str, str]]:
        split = urlsplit(target)
        if split.path.startswith("/user/signup"):
            return self._sign_up(method, body)
        asked = {name: values[0] for name, values in parse_qs(split.query).items()}
        for verb, pattern, does in self._routes():
            if verb == method and (match := pattern.fullmatch(split.path)):
                try:
                    answer = does(*map(int, match.groups()), asked if method == "GET" else json.loads(body or b"null"))
                except Refusal as refusal:
                    return refusal.status, json.dumps({"detail": str(refusal)}).encode(), {}
                made = {"POST": HTTPStatus.CREATED, "DELETE": HTTPStatus.NO_CONTENT}
                return made.get(method, HTTPStatus.OK), b"" if answer is None else json.dumps(answer).encode(), {}
        return HTTPStatus.NOT_FOUND, b'{"detail": "no such page"}', {}

    def _routes(self) -> Sequence[Route]:
        """Each request that the client makes."""
        task, users = self._task, self.content.users
        rows = (
            ("GET", "/api/version", lambda asked: {"release": "1.23.2"}),
            ("GET", "/api/current-user/whoami", lambda asked: users[OWNER]),
            ("GET", "/api/users/", lambda asked: [*users.values()]),
            ("GET", "/api/invite", lambda asked: {"invite_url": "/user/signup/?token=t"}),
            ("GET", "/api/projects/", self._list_projects),
            ("POST", "/api/projects/", self._make_project),
            ("GET", "/api/projects/N/", lambda number, asked: self._project(number)),
            ("PATCH", "/api/projects/N/", self._patch_project),
            ("DELETE", "/api/projects/N/", self._delete_project),
            ("POST", "/api/projects/N/import", self._import),
            ("GET", "/api/projects/N/export", self._export),
            ("GET", "/api/tasks/", self._list_tasks),
            ("PATCH", "/api/tasks/N/", self._patch_task),
            ("GET", "/api/tasks/N/annotations/", lambda number, asked: self._annotations(number)),
            ("POST", "/api/tasks/N/annotations/", lambda number, row: self._annotate(number, {**row, **task(number)})),
            ("DELETE", "/api/annotations/N/", self._delete_annotation),
            ("GET", "/api/dm/views/", lambda asked: self._of("views", asked)),
            ("POST", "/api/dm/views/", lambda row: self._add("views", row)),
            ("GET", "/api/webhooks/", lambda asked: self._of("webhooks", asked)),
            ("POST", "/api/webhooks/", lambda row: self._add("webhooks", row)),
            ("DELETE", "/api/webhooks/N/", lambda number, row: self._delete("webhooks", number)),
        )
        return [(verb, re.compile(path.replace("N", r"(\d+)")), does) for verb, path, does in rows]

    # ---- what it knows ----

    def _add(self, kind: str, row: Mapping[str, Any]) -> Row:
        number = self.content.last[kind] = self.content.last.get(kind, 0) + 1
        made: Row = {"id": number, **row}
        getattr(self.content, kind)[number] = made
        return made

    def _find(self, kind: str, number: int) -> Row:
        found: Row | None = getattr(self.content, kind).get(number)
        if found is None:
            raise Refusal(HTTPStatus.NOT_FOUND, f"No {kind} matches the given query.")
        return found

    def _delete(self, kind: str, number: int) -> None:
        self._find(kind, number)
        del getattr(self.content, kind)[number]

    def _of(self, kind: str, asked: Mapping[str, str]) -> list[Row]:
        return [row for row in getattr(self.content, kind).values() if row["project"] == int(asked["project"])]

    def _project(self, number: int) -> Row:
        row = self._find("projects", number)
        return {**row, "task_number": len(self.content.by_project[number])}

    def _list_projects(self, asked: Mapping[str, str]) -> Row:
        start = (int(asked["page"]) - 1) * PAGE
        rows = [self._project(number) for number in sorted(self.content.projects, reverse=True)]
        return {"count": len(rows), "results": rows[start : start + PAGE]}

    def _make_project(self, row: Row) -> Row:
        made = self._add("projects", row)
        self.content.by_project[made["id"]] = []
        return {**made, "task_number": None}

    def _patch_project(self, number: int, row: Row) -> Row:
        self._find("projects", number).update(row)
        return self._project(number)

    def _delete_project(self, number: int, row: None) -> None:
        self._delete("projects", number)
        for task in self.content.by_project.pop(number):
            self._delete("tasks", task)

    def _task(self, number: int) -> Row:
        row = self._find("tasks", number)
        return {"task": number, "project": row["project"]}

    def _import(self, number: int, rows: Sequence[Row]) -> Row:
        self._find("projects", number)
        for row in rows:
            made = self._add("tasks", {"data": row["data"], "project": number})
            self.content.by_project[number].append(made["id"])
            self.content.by_task[made["id"]] = []
        return {"task_count": len(rows)}

    def _annotations(self, task: int) -> list[Row]:
        return [self.content.annotations[number] for number in self.content.by_task[task]]

    def _counts(self, task: int) -> Row:
        skipped = [row["was_cancelled"] for row in self._annotations(task)]
        return {"total_annotations": skipped.count(False), "cancelled_annotations": skipped.count(True)}

    def _list_tasks(self, asked: Mapping[str, str]) -> Row:
        numbers = self.content.by_project[int(asked["project"])]
        size, page = int(asked["page_size"]), int(asked["page"]) - 1
        rows = [{"id": number, "data": self.content.tasks[number]["data"], "created_at": BEGUN.isoformat(),
                 **self._counts(number)}
                for number in numbers[page * size : (page + 1) * size]]  # fmt: skip
        return {"total": len(numbers), "tasks": rows}

    def _export(self, number: int, asked: Row) -> list[Row]:
        self._find("projects", number)
        return [
            {**self.content.tasks[task], "annotations": self._annotations(task), **self._counts(task)}
            for task in self.content.by_project[number]
        ]

    def _patch_task(self, number: int, row: Row) -> Row:
        self._find("tasks", number).update(row)
        return self.content.tasks[number]

    def _annotate(self, number: int, row: Row) -> Row:
        by, before = row.get("completed_by", OWNER), self._annotations(number)
        view = str(self.content.tasks[number]["data"][VIEW])
        at = BEGUN + timedelta(minutes=int(view[:3], 16) + len(before), days=by)
        made = self._add("annotations", {
            "completed_by": by, "was_cancelled": False, "created_at": at.isoformat(), "updated_at": at.isoformat(),
            "updated_by": by, "unique_id": f"{view}-{by}-{len(before)}", "lead_time": None, **row,
        })  # fmt: skip
        self.content.by_task[number].append(made["id"])
        return made

    def _delete_annotation(self, number: int, row: None) -> None:
        task = self._find("annotations", number)["task"]
        self._delete("annotations", number)
        self.content.by_task[task].remove(number)

    def _sign_up(self, method: str, body: bytes) -> tuple[int, bytes, Mapping[str, str]]:
        if method == "GET":
            return HTTPStatus.OK, b"<form>", {"Set-Cookie": "csrftoken=c"}
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        if any(row["email"] == form["email"] for row in self.content.users.values()):
            return HTTPStatus.OK, b'<ul class="field_errors"> <li>User with this email already exists', {}
        self.sign_up(form["email"], form["password"])
        return HTTPStatus.FOUND, b"", {"Location": "/"}

    # ---- for tests ----

    def copy(self) -> Content:
        """A copy of what it knows."""
        return copy.deepcopy(self.content)

    def queues(self) -> dict[str, list[int]]:
        """The open tasks of each queue: those that are not retired, and that nobody has submitted or skipped."""
        return {
            self.name(number): [
                task for task in tasks
                if not is_retired(self.content.tasks[task]) and not self._annotations(task)
            ]
            for number, tasks in self.content.by_project.items()
        }  # fmt: skip

    def name(self, project: int) -> str:
        """The queue's name."""
        line = str(self.content.projects[project]["description"]).splitlines()[-1]
        return line.removeprefix(f"{MARK} ")

    def sign_up(self, email: str, password: str = "") -> None:
        """Make a person's account."""
        self.content.last.setdefault("users", OWNER)
        self._add("users", {"email": email, "password": password})

    def hand_in(self, task: int, email: str, result: Sequence[Row], *, skipped: bool = False) -> None:
        """As if the person had submitted the form."""
        by = next(row["id"] for row in self.content.users.values() if row["email"] == email)
        content = {"result": [*result], "completed_by": by, "lead_time": 90.0, "was_cancelled": skipped}
        self._annotate(task, {**content, **self._task(task)})


class _Server(HTTPServer):
    """A server with a stand-in behind it."""

    request_queue_size = 100

    def __init__(self, behind: StandIn, handler: type[BaseHTTPRequestHandler], port: int) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.behind = behind

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about clients that were killed, and fail for all else."""
        with contextlib.suppress(ConnectionError):
            raise  # noqa: PLE0704 - this is called while the error is handled


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.behind.answer(self.command, self.path, body)
        if isinstance(answer, str):
            if answer.startswith("silent"):
                self.rfile.read(1)  # until whoever asked waits no longer
            if answer.startswith("reset"):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            return
        status, content, headers = answer
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""
