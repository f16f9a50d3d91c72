"""A server that sends every request on to another, which remembers what reaches it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def redirecting(status: int = 307) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the addresses of both servers, and "SERVER METHOD PATH" of each request (SERVER: `first`, `other`)."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            port = self.server.server_address[1]
            seen.append(f"{'first' if port == first.server_address[1] else 'other'} {self.command} {self.path}")
            self.send_response(status if port == first.server_address[1] else 200)
            self.send_header("Location", f"http://localhost:{other.server_address[1]}{self.path}?key=secret")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Handler) as first,
        ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other,
    ):
        for server in (first, other):
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        ports = first.server_address[1], other.server_address[1]
        yield f"http://127.0.0.1:{ports[0]}/v1", f"http://localhost:{ports[1]}/v1", seen
        first.shutdown()
        other.shutdown()
