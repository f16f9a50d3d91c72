"""An S3-compatible server on loopback (moto's), with keys, a count of what was asked, and faults on the way."""

import io
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import httpx
from werkzeug.serving import WSGIRequestHandler, make_server

KEY, SECRET = "AKIALOOPBACK", "planted-s3cret-9f31c0"
BUCKET = "stages"
CUT_AT = 40
"""Bytes of a body that a cut answer gets through."""


@dataclass(frozen=True)
class Faults:
    """Shares of requests that go wrong."""

    seed: int = 0
    unavailable: float = 0.0
    """503, nothing done."""
    broken: float = 0.0
    """500, nothing done."""
    upload_cut: float = 0.0
    """The connection closes in the middle of what is sent, nothing done."""
    dropped: float = 0.0
    """The connection closes, nothing done."""
    answer_lost: float = 0.0
    """Done, but the connection closes before the answer."""
    answer_cut: float = 0.0
    """The connection closes in the middle of the answer's body."""
    slow_s: float = 0.0
    """Seconds before each answer."""


class Quiet(WSGIRequestHandler):
    """A handler that writes no log, and keeps connections open as a real store does."""

    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None: ...


class Cut(ConnectionError):
    """The connection was closed on purpose."""


class S3Server:
    """The server while its block lasts, with one bucket."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.faults = faults or Faults()
        self.asked: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self._paths: list[str] = []
        self._random = random.Random(self.faults.seed)
        self._lock = threading.Lock()
        from moto.server import DomainDispatcherApplication, create_backend_app  # takes a second to import

        self._app = DomainDispatcherApplication(create_backend_app)

    def __enter__(self) -> Self:
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        httpx.post(f"{self.url}/moto-api/reset", timeout=60).raise_for_status()
        sign = {"Authorization": f"AWS4-HMAC-SHA256 Credential={KEY}/20260101/us-east-1/s3/aws4_request"}
        httpx.put(f"{self.url}/{BUCKET}", headers=sign, timeout=60).raise_for_status()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def environment(self) -> dict[str, str]:
        """How a process reaches it."""
        return {
            "AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip

    def puts(self) -> list[str]:
        """The paths of what was sent, in order."""
        return list(self._paths)

    def _fault(self) -> str | None:
        with self._lock:
            draw = self._random.random()
        for name in ("unavailable", "broken", "upload_cut", "dropped", "answer_lost", "answer_cut"):
            draw -= getattr(self.faults, name)
            if draw < 0:
                return name
        return None

    def _answer(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path.startswith("/moto-api") or (method == "PUT" and path.count("/") == 1):
            return self._app(environ, start)
        self.asked[method] += 1
        if method == "PUT":
            self._paths.append(path)
        fault = self._fault()
        if fault is not None:
            self.done[fault] += 1
        time.sleep(self.faults.slow_s)
        if fault == "dropped":
            self._cut(environ)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length // 2 if fault == "upload_cut" else length)
        if fault == "upload_cut":
            self._cut(environ)
        if f"Credential={KEY}/" not in environ.get("HTTP_AUTHORIZATION", ""):
            refused = _refusal(start, "403 Forbidden", "InvalidAccessKeyId", "The key does not exist in our records.")
            return [] if method == "HEAD" else refused  # whose answers have no content
        if fault == "unavailable":
            return _refusal(start, "503 Slow Down", "SlowDown", "Please reduce your request rate.")
        if fault == "broken":
            return _refusal(start, "500 Internal Server Error", "InternalError", "Please try again.")
        return self._asked(environ, body, start, lost=fault == "answer_lost", cut=fault == "answer_cut")

    def _asked(self, environ: dict[str, Any], body: bytes, start: Any, *, lost: bool, cut: bool) -> Iterable[bytes]:
        environ["wsgi.input"] = io.BytesIO(body)
        said: list[Any] = []
        content = b"".join(self._app(environ, lambda *one: said.append(one)))
        if lost:
            self._cut(environ)
        write = start(*said[0])
        if cut and len(content) > CUT_AT:
            write(content[:CUT_AT])
            self._cut(environ)
        return [content]

    def _cut(self, environ: dict[str, Any]) -> None:
        environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        raise Cut


def _refusal(start: Any, status: str, code: str, message: str) -> Iterable[bytes]:
    content = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
    start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(content)))])
    return [content]
