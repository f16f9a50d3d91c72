"""A loopback server that also has files and batches, with faults on a seeded schedule.

    with BatchServer(answer=..., batch_faults=BatchFaults(server_errors=0.2)) as server:
        ...
        assert server.answered_twice == []

What it answers in a batch counts as answered, and is paid for.
"""

import asyncio
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.chat_server import ChatServer, Request, message_hash


@dataclass(frozen=True)
class BatchFaults:
    """Shares (0 to 1) of what goes wrong with files and batches.

    A request, and a call of the same name and path, is hit `times` times at most, so that who asks again gets it.
    """

    seed: int = 0
    times: int = 2
    # Calls about files and batches.
    rate_limited: float = 0.0
    errors_500: float = 0.0
    dropped: float = 0.0
    """The connection ends without a reply; what was asked for is done nevertheless."""
    dropped_in_reply: float = 0.0
    malformed: float = 0.0
    # Lines.
    server_errors: float = 0.0
    missing: float = 0.0
    # Whole batches, of which every second one may be hit.
    failed: float = 0.0
    expired: float = 0.0
    """After about half of the requests."""
    cancelled: float = 0.0


@dataclass
class BatchServer(ChatServer):
    """The server; a batch takes so many seconds, and all that wait have at most so many requests."""

    batch_faults: BatchFaults = field(default_factory=BatchFaults)
    batch_s: float = 0.05
    queue: int = 10**9
    has_batches: bool = True
    keeps_metadata: bool = True
    end: str = "completed"
    """The status of a batch whose requests were all answered."""
    nameless_looks: int = 0
    """So often does a batch that is over not say which files it has."""
    deletes: bool = True
    """Whether it deletes files."""
    list_lags: int = 0
    """So often is the list of batches empty."""
    shown: Callable[[bytes], bytes | None] = lambda content: content
    """What a reader gets of a file; None: it is gone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.files: dict[str, bytes] = {}
        self.uploads = 0
        self.batches: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, str]] = []
        """Method and path of each call about files and batches."""
        self._hits: dict[str, int] = {}

    @property
    def answered_in_batches(self) -> int:
        return sum(request.outcome == "200" and request.body.get("in_batch") is True for request in self.requests)

    def _hit(self, what: str, **shares: float) -> str | None:
        """The fault that `what` meets this time."""
        number = self._hits.get(what, 0)
        self._hits[what] = number + 1
        if number >= self.batch_faults.times:
            return None
        draw = random.Random(f"{self.batch_faults.seed} {what} {number}").random()
        for fault, share in shares.items():
            if draw < share:
                return fault
            draw -= share
        return None

    async def _respond(
        self, method: str, path: str, headers: dict[str, str], content: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        place = path.partition("?")[0].removeprefix("/v1")
        if not self.has_batches or not re.match(r"/(files|batches)\b", place):
            return await super()._respond(method, path, headers, content, writer)
        self.calls.append((method, place))
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            return self._send(writer, 401, {"error": {"message": "Incorrect API key provided"}})
        faults = self.batch_faults
        # A call that is repeated is of one series while no batch comes to be.
        fault = self._hit(
            f"{method} {place} {len(self.batches)}",
            rate_limited=faults.rate_limited, errors_500=faults.errors_500, dropped=faults.dropped,
            dropped_in_reply=faults.dropped_in_reply, malformed=faults.malformed,
        )  # fmt: skip
        if fault == "rate_limited":
            return self._send(writer, 429, {"error": {"message": "Rate limit reached"}})
        if fault == "errors_500":
            return self._send(writer, 500, {"error": {"message": "The server had an error"}})
        status, reply = self._do(method, place, headers, content)
        if fault == "dropped":
            return False
        if fault == "malformed" and status == 200:
            return self._send_bytes(writer, 200, b'{"id": ')
        body = reply if isinstance(reply, bytes) else orjson.dumps(reply)
        if fault == "dropped_in_reply":
            writer.write(
                b"HTTP/1.1 200 Status\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            )
            writer.write(body[: len(body) // 2])
            await writer.drain()
            return False
        return self._send_bytes(writer, status, body)

    def _do(self, method: str, place: str, headers: dict[str, str], content: bytes) -> tuple[int, object]:
        parts = place.strip("/").split("/")
        if (method, place) == ("POST", "/files"):
            boundary = headers["content-type"].partition("boundary=")[2].encode()
            [upload] = [part for part in content.split(b"--" + boundary) if b'name="file"' in part]
            name = f"file-{self.uploads}"
            self.uploads += 1
            self.files[name] = upload.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
            return 200, {"id": name, "object": "file", "purpose": "batch", "filename": "x", "bytes": 1, "created_at": 1}
        if parts[0] == "files" and parts[-1] == "content":
            shown = self.shown(self.files[parts[1]]) if parts[1] in self.files else None
            return (200, shown) if shown is not None else _not_found(place)
        if method == "DELETE" and parts[0] == "files":
            if not self.deletes:
                return _not_found(place)
            is_there = self.files.pop(parts[1], None) is not None
            return (200, {"id": parts[1], "object": "file", "deleted": True}) if is_there else _not_found(place)
        if (method, place) == ("POST", "/batches"):
            return self._create(orjson.loads(content))
        if (method, place) == ("GET", "/batches"):
            if self.list_lags:
                self.list_lags -= 1
                return 200, {"object": "list", "data": [], "has_more": False}
            newest_first = [self._seen(name) for name in reversed(self.batches)]
            return 200, {"object": "list", "data": newest_first, "has_more": False}
        if parts[1] not in self.batches:
            return _not_found(place)
        if method == "POST" and parts[-1] == "cancel":
            batch = self.batches[parts[1]]
            batch["cancelled"] = batch["cancelled"] or not self._is_over(batch)
        return 200, self._seen(parts[1])

    def _create(self, asked: dict[str, Any]) -> tuple[int, object]:
        assert asked["endpoint"] == "/v1/chat/completions"
        lines = [orjson.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert len({line["custom_id"] for line in lines}) == len(lines)
        name = f"batch-{len(self.batches)}"
        waiting = sum(batch["size"] for batch in self.batches.values() if not self._is_over(batch))
        faults = self.batch_faults
        shares = {"failed": faults.failed, "expired": faults.expired, "cancelled": faults.cancelled}
        fate = self._hit(name, **shares) if len(self.batches) % 2 == 0 else None
        self.batches[name] = {
            "file": asked["input_file_id"], "metadata": asked.get("metadata") if self.keeps_metadata else None,
            "begun": time.monotonic(), "size": len(lines), "lines": lines, "fate": fate, "cancelled": False,
            "is_refused": waiting + len(lines) > self.queue, "output": None, "nameless_looks": self.nameless_looks,
        }  # fmt: skip
        return 200, self._seen(name)

    def _is_over(self, batch: dict[str, Any]) -> bool:
        return batch["cancelled"] or batch["is_refused"] or time.monotonic() >= batch["begun"] + self.batch_s

    def _seen(self, name: str) -> dict[str, Any]:
        """The batch as it is now; what it answers is answered when it is first seen to be over."""
        batch = self.batches[name]
        back = int(batch["size"] * (time.monotonic() - batch["begun"]) / self.batch_s) if self.batch_s else 0
        seen: dict[str, Any] = {
            "id": name, "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": batch["file"],
            "completion_window": "24h", "created_at": int(time.time()), "metadata": batch["metadata"],
            "status": "in_progress", "output_file_id": None, "error_file_id": None,
            "request_counts": {"total": batch["size"], "completed": back, "failed": 0},
        }  # fmt: skip
        if not self._is_over(batch):
            return seen
        seen["request_counts"] = {"total": 0, "completed": 0, "failed": 0}
        if batch["is_refused"]:
            problem = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}
            return seen | {"status": "failed", "errors": {"object": "list", "data": [problem]}}
        if batch["fate"] == "failed":
            problem = {"code": "internal", "message": "The batch could not be started"}
            return seen | {"status": "failed", "errors": {"object": "list", "data": [problem]}}
        if batch["output"] is None:
            batch["output"] = self._answer_all(batch)
            for kind, lines in zip(("output", "error"), batch["output"], strict=True):
                if lines:
                    self.files[f"{name}-{kind}"] = b"".join(orjson.dumps(line) + b"\n" for line in lines)
        good, bad = batch["output"]
        status = "cancelled" if batch["cancelled"] else batch["fate"] or self.end
        of_kind = (("output", good), ("error", bad))
        files = {f"{kind}_file_id": f"{name}-{kind}" for kind, lines in of_kind if lines}
        counts = {"total": batch["size"], "completed": len(good), "failed": len(bad)}
        if batch["nameless_looks"]:
            batch["nameless_looks"] -= 1
            files = {}
        return seen | {"status": status, "request_counts": counts} | files

    def _answer_all(self, batch: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """The lines of the output file and of the error file, each in any order."""
        good: list[Any] = []
        bad: list[Any] = []
        order = random.Random(f"{self.batch_faults.seed} {batch['file']}")
        lines = order.sample(batch["lines"], len(batch["lines"]))
        is_short = batch["cancelled"] or batch["fate"] in ("expired", "cancelled")
        for number, line in enumerate(lines):
            body = line["body"]
            name = message_hash(body["messages"])
            faults = self.batch_faults
            fault = self._hit(f"line {name}", server_errors=faults.server_errors, missing=faults.missing)
            shown = {"id": f"line-{number}", "custom_id": line["custom_id"], "response": None, "error": None}
            if is_short and number >= len(lines) // 2:
                bad.append(shown | {"error": {"code": f"batch_{batch['fate'] or 'cancelled'}", "message": "too late"}})
            elif (refused := self.refuses(body)) is not None:
                self._note(name, body, str(refused[0]))
                said = refused[1] if isinstance(refused[1], dict) else {"error": {"message": refused[1]}}
                bad.append(shown | {"response": {"status_code": refused[0], "request_id": "r", "body": said}})
            elif fault == "server_errors":
                self._note(name, body, "500")
                said = {"error": {"message": "The server had an error"}}
                bad.append(shown | {"response": {"status_code": 500, "request_id": "r", "body": said}})
            elif fault != "missing":
                self._note(name, body, "200")
                reply = self._reply(body, name)
                good.append(shown | {"response": {"status_code": 200, "request_id": "r", "body": reply}})
        return good, bad

    def _note(self, name: str, body: dict[str, Any], outcome: str) -> None:
        self.requests.append(Request(name, body["messages"], body | {"in_batch": True}, time.monotonic(), outcome))


def _not_found(place: str) -> tuple[int, object]:
    return 404, {"error": {"message": f"No such thing: {place}"}}
