"""Listen for the server's reports of changes, and mark the projects. The server waits only a second.

A mark is a hint, which may be lost or come twice. A pull finds everything, with or without marks. The server's pages
also ask here what is wrong with a text that a person is writing (`page/check_texts.py`).
"""

import hmac
import json
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from annotation.label_studio.accounts import write_private
from annotation.label_studio.answers import unchecked_answers
from annotation.label_studio.client import Client
from schemas.annotation import Finding
from schemas.errors import Failed, WrongInput

SECRET_HEADER = "X-Touchstone-Secret"  # noqa: S105 - the header's name
SECRET_FILE = "webhook-secret"  # noqa: S105 - the file's name
CHECK = "check"
"""The path of questions about a text."""
Check = Callable[[str, str, Mapping[str, str]], Sequence[Finding]]
"""(form, key of the item, answers and texts): the problems with the texts. It is called in threads."""
MARKS = "changed"
"""A folder with an empty file for each changed project, named by the project's number."""
WORK = "ANNOTATION"
"""How the names of actions on people's work begin."""
LOOK_S = 2.0
"""Seconds from one look at the watched file to the next."""
LONGEST_BODY = 2**20
"""Bytes of a message that are read; its payload with the task is not needed."""


def secret_of(folder: Path) -> str:
    """Return the secret that messages carry; it is made on first use."""
    path = folder / SECRET_FILE
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        write_private(path, secrets.token_hex(32))
        return path.read_text(encoding="utf-8").strip()


def marked(folder: Path) -> frozenset[int]:
    """Return the numbers of the projects that were changed since the last pull."""
    return frozenset(int(path.name) for path in (folder / MARKS).glob("*") if path.name.isdigit())


def mark(folder: Path, project: int) -> None:
    """Mark a project as changed."""
    (folder / MARKS).mkdir(parents=True, exist_ok=True)
    (folder / MARKS / str(project)).touch()


def unmark(folder: Path, project: int) -> None:
    """Remove a project's mark, at the beginning of a pull; later changes mark it again."""
    (folder / MARKS / str(project)).unlink(missing_ok=True)


def register(client: Client, project: int, url: str, secret: str) -> None:
    """Have the server report every change in a project to `url`. Safe to repeat."""
    for hook in client.webhooks(project):
        if hook["url"] == url and hook.get("headers", {}).get(SECRET_HEADER) == secret:
            return
        if hook.get("headers", {}).get(SECRET_HEADER):  # our earlier address
            client.delete_webhook(hook["id"])
    client.webhook(project, url, {SECRET_HEADER: secret})


class Listener:
    """Listens on this machine for the duration of the block."""

    def __init__(
        self,
        folder: Path,
        port: int = 0,
        check: Check = lambda form, item, answers: (),
        watched: Path | None = None,
    ) -> None:
        """Marks are kept in `folder`; `check` answers questions about texts. A change of the `watched` file counts too.

        Raises `OSError` if the port is taken.
        """
        self._watched, self._seen = watched, 0.0
        secret = secret_of(folder)
        heard = self._heard = threading.Event()
        self.is_open = True

        class Handler(BaseHTTPRequestHandler):
            timeout = 5

            def do_POST(self) -> None:
                received = self.headers.get(SECRET_HEADER, "")
                length = self.headers.get("Content-Length", "")
                body = self.rfile.read(min(int(length), LONGEST_BODY)) if length.isdigit() else b""
                is_foreign = self.headers.get("Host") != host or "Origin" in self.headers  # it serves no pages
                if is_foreign or not hmac.compare_digest(received.encode(), secret.encode()):
                    self._answer(HTTPStatus.FORBIDDEN)
                    return
                if self.path == f"/{CHECK}":
                    self._answer(*_checked(body, check))
                    return
                if (project := _project(body)) is not None:
                    heard.set()
                    mark(folder, project)
                self._answer(HTTPStatus.NO_CONTENT)

            def _answer(self, status: HTTPStatus, content: bytes = b"") -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                """Stay silent: the library would write each request to the terminal."""

        self._server = _Server(("127.0.0.1", port), Handler)
        host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{host}/"

    def __enter__(self) -> "Listener":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def forget(self) -> None:
        """Forget what was reported until now."""
        self._heard.clear()
        self._seen = self._last_change()

    def wait(self, most_s: float) -> None:
        """Wait until a change is reported or seen, the listener is closed, or `most_s` seconds have passed."""
        end = time.monotonic() + most_s
        while (left := end - time.monotonic()) > 0 and self._seen == self._last_change():
            if self._heard.wait(min(left, LOOK_S)):
                return

    def _last_change(self) -> float:
        """Return when the watched file changed; 0 without one."""
        return self._watched.stat().st_mtime if self._watched is not None and self._watched.exists() else 0.0

    def __exit__(self, *error: object) -> None:
        self.is_open = False
        self._heard.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent of whoever hung up: Label Studio does, after a second, and its report is marked by then."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _checked(body: bytes, check: Check) -> tuple[HTTPStatus, bytes]:
    """Return the problems with the texts of an annotation as JSON: the names of their boxes, and what to say."""
    try:
        asked = json.loads(body)
        answers = unchecked_answers(asked).answers
        findings = check(str(asked["rubric"]), str(asked["item_key"]), answers)
    except (ValueError, TypeError, AttributeError, KeyError, Failed, WrongInput):
        return HTTPStatus.BAD_REQUEST, b""
    return HTTPStatus.OK, json.dumps([finding.model_dump() for finding in findings]).encode()


def _project(body: bytes) -> int | None:
    """Return the number of the project in which people's work changed, even if the message's payload is cut off.

    None if it is about something else: a push makes and changes tasks itself.
    """
    try:
        payload = json.loads(body)
    except ValueError:
        match = re.search(rb'"project":\s*\{\s*"id":\s*(\d+)', body)
        return int(match[1]) if match else None
    if not isinstance(payload, dict) or not str(payload.get("action", WORK)).startswith(WORK):
        return None
    project = payload.get("project")
    number = project.get("id") if isinstance(project, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None
