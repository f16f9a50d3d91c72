"""A server whose replies have no end, become too large once they are unpacked, or are nested too deep."""

import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

Body = Literal["endless", "packed", "slow", "nested"]


@contextmanager
def endless(body: Body, packed_mb: int = 64) -> Iterator[tuple[str, list[str]]]:
    """Yield the server's address and the paths that were asked for. A packed reply has `packed_mb` of zeros."""
    seen: list[str] = []
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            if body == "packed":
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            with suppress(OSError):
                self._send()

        def _send(self) -> None:
            if body == "nested":
                self.wfile.write(b"[" * 200_000)
                return
            if body == "packed":
                packer = zlib.compressobj(wbits=31)
                for _ in range(packed_mb):
                    self.wfile.write(packer.compress(bytes(2**20)))
                self.wfile.write(packer.flush())
            while body != "packed" and not over.is_set():
                self.wfile.write(b" " if body == "slow" else bytes(2**16))
                if body == "slow":
                    time.sleep(0.02)

        do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1", seen
        finally:
            over.set()
            server.shutdown()
