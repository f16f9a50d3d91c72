"""Hears from the server that somebody worked, and marks it: nothing else, for the server waits a second and tells once.

A mark is a hint, which may be lost or come twice; what was done is found by a pull, marks or none.
"""

import hmac
import json
import re
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from annotation.label_studio.accounts import write_private
from annotation.label_studio.client import Client

SECRET_HEADER = "X-Touchstone-Secret"  # noqa: S105 - the header's name
SECRET_FILE = "webhook-secret"  # noqa: S105 - the file's name
MARKS = "changed"
"""A folder with an empty file for each project in which somebody worked, of the project's number."""
LONGEST_BODY = 2**20
"""Bytes of a message that are read; its payload holds the task, and is not needed."""


def secret_of(folder: Path) -> str:
    """The secret that messages carry, made when first asked for."""
    path = folder / SECRET_FILE
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        write_private(path, secrets.token_hex(32))
        return path.read_text(encoding="utf-8").strip()


def marked(folder: Path) -> frozenset[int]:
    """The projects in which somebody worked since they were last pulled."""
    return frozenset(int(path.name) for path in (folder / MARKS).glob("*") if path.name.isdigit())


def mark(folder: Path, project: int) -> None:
    """Somebody works in a project."""
    (folder / MARKS).mkdir(parents=True, exist_ok=True)
    (folder / MARKS / str(project)).touch()


def unmark(folder: Path, project: int) -> None:
    """A pull begins: what is done from now on marks the project again."""
    (folder / MARKS / str(project)).unlink(missing_ok=True)


def tell_us(client: Client, project: int, url: str, secret: str) -> None:
    """Have the server tell `url` of every change in a project; once, however often it is asked for."""
    for hook in client.webhooks(project):
        if hook["url"] == url and hook.get("headers", {}).get(SECRET_HEADER) == secret:
            return
        if hook.get("headers", {}).get(SECRET_HEADER):  # of an earlier address of ours
            client.delete_webhook(hook["id"])
    client.webhook(project, url, {SECRET_HEADER: secret})


class Listener:
    """Listens on this machine as long as the block lasts."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        """Marks lie under `folder`. Raises `OSError` where the port is taken."""
        secret = secret_of(folder)

        class Handler(BaseHTTPRequestHandler):
            timeout = 5

            def do_POST(self) -> None:
                given = self.headers.get(SECRET_HEADER, "")
                length = self.headers.get("Content-Length", "")
                body = self.rfile.read(min(int(length), LONGEST_BODY)) if length.isdigit() else b""
                if not hmac.compare_digest(given.encode(), secret.encode()):
                    self._answer(HTTPStatus.FORBIDDEN)
                    return
                if (project := _project(body)) is not None:
                    mark(folder, project)
                self._answer(HTTPStatus.NO_CONTENT)

            def _answer(self, status: HTTPStatus) -> None:
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the library would write each request to the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> "Listener":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _project(body: bytes) -> int | None:
    """The number of the project that a message is about: it stands in the payload, which may be cut off."""
    try:
        payload = json.loads(body)
    except ValueError:
        found = re.search(rb'"project":\s*\{\s*"id":\s*(\d+)', body)
        return int(found[1]) if found else None
    project = payload.get("project") if isinstance(payload, dict) else None
    number = project.get("id") if isinstance(project, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None
