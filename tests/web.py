"""A web server on loopback that serves files with ETags, and can lose them, change them and fail."""

import contextlib
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class WebServer:
    """The server, as a context manager, in a thread of its own."""

    files: dict[str, bytes] = field(default_factory=dict)
    """By path."""
    etags: dict[str, str] = field(default_factory=dict)
    """By path; a file without one is served without one."""
    failing: list[int] = field(default_factory=list)
    """Statuses with which the next requests are answered."""
    moved: dict[str, str] = field(default_factory=dict)
    """Redirects."""
    endless: frozenset[str] = frozenset()
    """Paths of what never ends."""
    requests: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served.requests.append(self.path)
                path = self.path.partition("?")[0]
                etag = served.etags.get(path)
                body, headers = b"", {"ETag": etag} if etag else {}
                if path in served.endless:
                    self.send_response(200)
                    self.end_headers()
                    with contextlib.suppress(OSError):
                        while True:
                            self.wfile.write(b"\n" * 65536)
                    return
                if served.failing:
                    status = served.failing.pop(0)
                elif path in served.moved:
                    status, headers = 302, {"Location": served.moved[path]}
                elif path not in served.files:
                    status = 404
                elif etag is not None and self.headers.get("If-None-Match") == etag:
                    status = 304
                else:
                    status, body = 200, served.files[path]
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
