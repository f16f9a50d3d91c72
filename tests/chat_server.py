"""A loopback server of the OpenAI protocol, with faults on a seeded schedule.

    with ChatServer(answer=lambda messages: "...", faults=Faults(errors_500=0.1)) as server:
        ... server.url ...
        assert server.answered_twice == []

It answers from a table {message hash: answer} or by a function of the messages; asked for a completion of a text,
it tells the log-probabilities of its tokens (`Telling`). What goes wrong is a
function of (fault seed, message hash, how often these messages were asked), so it does not depend on the
order in which requests arrive. It runs in a thread of its own.
"""

import asyncio
import hashlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal, Self

import orjson

Messages = list[dict[str, str]]


def http_reply(content: str) -> bytes:
    """A whole HTTP response with this answer, for servers that take as little time as possible."""
    message = {"role": "assistant", "content": content, "refusal": None}
    body = orjson.dumps(
        {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        }
    )  # fmt: skip
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


@dataclass(frozen=True)
class Reply:
    """A reply in detail, for an `answer` function that wants more than a text."""

    content: str | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    usage: tuple[int, int] | None = None
    """Tokens in and out; None: a quarter of the characters."""
    thought: int = 0
    """Tokens that the model thinks before it answers; thoughts and answer share the limit of the request."""
    shows: Literal["count", "reasoning_content", "think", "nothing"] = "count"
    """How the server shows the thought: by its tokens, by its text in a field or in the answer, or not at all."""


@dataclass(frozen=True)
class Faults:
    """Shares (0 to 1) of requests that go wrong, and how.

    Faults of transport (`rate_limited` to `malformed`) hit the same messages at most `times` times, so
    that a client with more retries than that gets its answer. Faults of content (`truncated` to
    `no_usage`) belong to the messages: asked again, they are the same.
    """

    seed: int = 0
    latency_s: tuple[float, float] = (0.0, 0.0)
    slower_s: float = 0.0
    """Each request takes so much longer than the one before."""
    capacity: int | None = None
    """Requests that are worked on at once, also if nobody waits for them any longer; the others queue."""
    rate_limited: float = 0.0
    """429."""
    retry_after_s: float | None = None
    """Sent with each 429, where given."""
    bursts: Sequence[tuple[int, int]] = ()
    """(first, count): the requests with these numbers, in order of arrival from 0, are answered with 429."""
    limited_for_a_while: float = 0.0
    """429 with Retry-After: 1."""
    errors_500: float = 0.0
    errors_503: float = 0.0
    silent: float = 0.0
    """The first time, `silence_s` seconds without a reply, and then the connection ends."""
    silence_s: float = 60.0
    slow: float = 0.0
    """Answered after `slow_s` seconds more."""
    slow_s: float = 1.0
    dropped: float = 0.0
    """The connection ends before the reply."""
    dropped_in_reply: float = 0.0
    """The connection ends in the middle of the reply's body."""
    malformed: float = 0.0
    """A reply of status 200 that is not JSON."""
    times: int = 2
    truncated: float = 0.0
    """The answer breaks off in its middle, with finish_reason `length`."""
    wrong_types: float = 0.0
    """Each value of the JSON object in the answer is put in a list of lists."""
    empty: float = 0.0
    """An answer without a character."""
    refusals: float = 0.0
    no_usage: float = 0.0


@dataclass(frozen=True)
class Telling:
    """Completions: what the server tells of a prompt, and how."""

    tokens: Callable[[str], Sequence[float | None]]
    """The log-probability of each token of a text; None for one that nothing stands before."""
    way: Literal["echo", "prompt_logprobs", "neither"] = "echo"
    refuses: bool = False
    """Whether it answers another way with 400; else it ignores what it does not know."""
    window: int = 10**6
    lists_made: bool = True
    """Whether an echo lists the generated token too; some servers leave an end of text out."""


@dataclass(frozen=True)
class Request:
    """What was asked, when, and what it was answered with: a status, or a fault's name."""

    hash: str
    messages: Messages
    body: dict[str, Any]
    arrived: float
    outcome: str


def message_hash(messages: Sequence[Mapping[str, str]]) -> str:
    """The name of rendered messages in a table of answers."""
    return hashlib.sha256(orjson.dumps([[m["role"], m["content"]] for m in messages])).hexdigest()[:16]


Answer = Mapping[str, str] | Callable[[Messages], str | Reply]
Refusal = tuple[int, str | dict[str, Any]]
"""A status, and a message or the body of the error."""


@dataclass
class ChatServer:
    """The server, as a context manager. `rejects` names the response formats it answers with 400."""

    answer: Answer
    faults: Faults = field(default_factory=Faults)
    rejects: frozenset[str] = frozenset()
    model: str = "gpt-4o-mini"
    serves: str | None = None
    """The name that its replies give the model, if it is another."""
    key: str | None = None
    """Where given, other keys get 401 (and a message that repeats the key they sent)."""
    port: int = 0
    rejection: str = "Invalid value for 'response_format'"
    refuses: Callable[[dict[str, Any]], Refusal | None] = lambda body: None
    """Whether a request is refused, and how (`tests/imitations.py`)."""
    listed: Mapping[str, Any] = field(default_factory=dict)
    """What the list of models tells of the model beside its name."""
    telling: Telling | None = None
    """Where given, completions are answered too."""

    def __post_init__(self) -> None:
        self.requests: list[Request] = []
        self.running = self.most_running = 0
        self._asked: Counter[str] = Counter()
        self._arrivals = 0
        self._loop = asyncio.new_event_loop()
        self._stopping: asyncio.Event | None = None
        self._slots: asyncio.Semaphore | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)

    # What a test asks.

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def answered(self) -> list[Request]:
        """Requests that got a whole answer: those that a provider would charge for."""
        return [request for request in self.requests if request.outcome == "200"]

    @property
    def answered_twice(self) -> list[str]:
        """Hashes of messages that were answered more than once."""
        counts = Counter(request.hash for request in self.answered)
        return [name for name, count in counts.items() if count > 1]

    def outcomes(self) -> Counter[str]:
        return Counter(request.outcome for request in self.requests)

    def clear(self) -> None:
        """Forget what was asked (faults of transport start anew)."""
        self.requests.clear()
        self._asked.clear()
        self._arrivals = 0

    # Running.

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the chat server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._stopping is not None
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)
        self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        if self.faults.capacity is not None:
            self._slots = asyncio.Semaphore(self.faults.capacity)
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        open_ones = asyncio.all_tasks() - {asyncio.current_task()}
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; False where the connection is to end."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = first.split(" ", 2)
        return await self._respond(method, path, headers, content, writer)

    async def _respond(
        self, method: str, path: str, headers: dict[str, str], content: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer a request; False where the connection is to end."""
        if (method, path) == ("GET", "/v1/models"):
            return self._send(writer, 200, {"object": "list", "data": [{"id": self.model, **self.listed}]})
        paths = ["/v1/chat/completions", *(["/v1/completions"] if self.telling else [])]
        if method != "POST" or path not in paths:
            return self._send(writer, 404, _error(f"no such path: {path}"))
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            return await self._chat(orjson.loads(content), headers.get("authorization", ""), writer)
        finally:
            self.running -= 1

    async def _chat(self, body: dict[str, Any], authorization: str, writer: asyncio.StreamWriter) -> bool:
        faults = self.faults
        messages = body["messages"] if "messages" in body else [{"role": "prompt", "content": body["prompt"]}]
        name = message_hash(messages)
        attempt, number = self._asked[name], self._arrivals
        self._asked[name] += 1
        self._arrivals += 1
        arrived = time.monotonic()

        def record(outcome: str) -> None:
            self.requests.append(Request(name, messages, body, arrived, outcome))

        async def delay() -> None:
            low, high = faults.latency_s
            took = random.Random(f"{faults.seed} {name} latency").uniform(low, high) + number * faults.slower_s
            async with self._slots or nullcontext():
                if random.Random(f"{faults.seed} {name} slow").random() < faults.slow:
                    took += faults.slow_s
                if took:
                    await asyncio.sleep(took)

        if self.key is not None and authorization != f"Bearer {self.key}":
            record("401")
            return self._send(writer, 401, _error(f"Incorrect API key provided: {authorization}"))
        if body.get("model") != self.model:
            record("404")
            return self._send(writer, 404, _error(f"The model `{body.get('model')}` does not exist", "model_not_found"))
        if body.get("response_format", {}).get("type") in self.rejects:
            record("400")
            return self._send(writer, 400, _error(self.rejection))
        if (refused := self.refuses(body)) is not None:
            record(str(refused[0]))
            said = refused[1]
            return self._send(writer, refused[0], said if isinstance(said, dict) else _error(said))

        if "prompt" in body and (refusal := self._refusal(body)) is not None:
            record("400")
            return self._send(writer, 400, _error(refusal))

        if any(start <= number < start + count for start, count in faults.bursts):
            fault: str | None = "429"
        else:
            fault = self._transport_fault(name, attempt) if attempt < faults.times else None
        await delay()
        if fault is not None:
            record(fault)
        if fault == "429":
            after = {} if faults.retry_after_s is None else {"retry-after": f"{faults.retry_after_s:g}"}
            return self._send(writer, 429, _error("Rate limit reached", "rate_limit_exceeded"), after)
        if fault in ("500", "503"):
            return self._send(writer, int(fault), _error("The server had an error"))
        if fault == "429, told when":
            return self._send(writer, 429, _error("Rate limit reached", "rate_limit_exceeded"), {"retry-after": "1"})
        if fault == "silent":
            await asyncio.sleep(faults.silence_s)
        if fault in ("dropped", "silent"):
            return False
        if fault == "malformed":
            return self._send_bytes(writer, 200, b'{"choices": [')
        reply = self._completion(body, name) if "prompt" in body else self._reply(body, name)
        if fault == "dropped_in_reply":
            whole = orjson.dumps(reply)
            writer.write(_head(200, len(whole), {}) + whole[: len(whole) // 2])
            await writer.drain()
            return False
        record("200")
        return self._send(writer, 200, reply)

    def _transport_fault(self, name: str, attempt: int) -> str | None:
        faults = self.faults
        draw = random.Random(f"{faults.seed} {name} {attempt}").random()
        for fault, share in (
            ("429", faults.rate_limited),
            ("429, told when", faults.limited_for_a_while),
            ("500", faults.errors_500),
            ("503", faults.errors_503),
            ("silent", faults.silent if attempt == 0 else 0.0),
            ("dropped", faults.dropped),
            ("dropped_in_reply", faults.dropped_in_reply),
            ("malformed", faults.malformed),
        ):
            if draw < share:
                return fault
            draw -= share
        return None

    def _refusal(self, body: dict[str, Any]) -> str | None:
        telling = self.telling
        assert telling is not None
        if len(telling.tokens(body["prompt"])) > telling.window:
            return f"This model's maximum context length is {telling.window} tokens"
        asked = "echo" if body.get("echo") else "prompt_logprobs"
        return f"{asked} is not supported" if telling.refuses and asked != telling.way else None

    def _completion(self, body: dict[str, Any], name: str) -> dict[str, Any]:
        """A completion of one token, "!", which has the log-probability -9."""
        telling = self.telling
        assert telling is not None
        assert body["max_tokens"] == 1
        told = list(telling.tokens(body["prompt"]))
        choice: dict[str, Any] = {"index": 0, "text": "!", "finish_reason": "length", "logprobs": None}
        if telling.way == "echo" and body.get("echo"):
            choice["text"] = f"{body['prompt']}!"
            listed = [*told, -9.0] if telling.lists_made else told
            choice["logprobs"] = {"tokens": ["?"] * len(listed), "token_logprobs": listed}
        if telling.way == "prompt_logprobs" and "prompt_logprobs" in body:
            choice["prompt_logprobs"] = [
                None if one is None else {str(place): {"logprob": one, "rank": 1, "decoded_token": "?"}}
                for place, one in enumerate(told)
            ]
        return {
            "id": f"cmpl-{name}", "object": "text_completion", "created": 0, "model": self.model, "choices": [choice],
            "usage": {"prompt_tokens": len(told), "completion_tokens": 1, "total_tokens": len(told) + 1},
        }  # fmt: skip

    def _reply(self, body: dict[str, Any], name: str) -> dict[str, Any]:
        messages, faults = body["messages"], self.faults
        given = self.answer(messages) if callable(self.answer) else self.answer[name]
        reply = given if isinstance(given, Reply) else Reply(given)
        content, finish, refusal = reply.content, reply.finish_reason, reply.refusal
        draw = random.Random(f"{faults.seed} {name} content").random()
        if draw < faults.truncated:
            content, finish = (content or "")[: len(content or "") // 2], "length"
        elif (draw := draw - faults.truncated) < faults.wrong_types:
            content = orjson.dumps({key: [[value]] for key, value in orjson.loads(content or "{}").items()}).decode()
        elif (draw := draw - faults.wrong_types) < faults.empty:
            content = ""
        elif draw - faults.empty < faults.refusals:
            content, refusal = None, "I cannot help with that."
        spent: dict[str, Any] = {}
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal}
        if reply.thought:
            limit = int(body.get("max_tokens", body.get("max_completion_tokens", 0)))
            left = max(0, limit - reply.thought)
            if left < len(content or "") // 4 + 1:
                content, finish = (content or "")[: 4 * left], "length"
            used = min(limit, reply.thought)
            text = "well, " * (used // 2)
            spent = {"completion_tokens_details": {"reasoning_tokens": used}} if reply.shows == "count" else {}
            if reply.shows == "think":
                content = f"<think>{text}" + (f"</think>\n\n{content}" if left else "")
            message |= {"content": content}
            if reply.shows == "reasoning_content":
                message["reasoning_content"] = text
            if reply.usage is None:
                tokens_in = sum(len(one["content"]) for one in messages) // 4
                reply = replace(reply, usage=(tokens_in, used + min(left, len(content or "") // 4)))
        made: dict[str, Any] = {
            "id": f"chatcmpl-{name}",
            "object": "chat.completion",
            "created": 0,
            "model": self.serves or self.model,
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": finish,
                }
            ],
        }
        if random.Random(f"{faults.seed} {name} usage").random() >= faults.no_usage:
            tokens_in, tokens_out = reply.usage or (
                sum(len(message["content"]) for message in messages) // 4,
                len(content or "") // 4,
            )
            made["usage"] = {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
                **spent,
            }
        return made

    def _send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        body: object,
        headers: Mapping[str, str] | None = None,
    ) -> bool:
        return self._send_bytes(writer, status, orjson.dumps(body), headers)

    def _send_bytes(
        self, writer: asyncio.StreamWriter, status: int, body: bytes, headers: Mapping[str, str] | None = None
    ) -> bool:
        writer.write(_head(status, len(body), headers or {}) + body)
        return True


def _head(status: int, length: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", "content-type: application/json", f"content-length: {length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _error(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
