"""Requests a second of `Endpoint.complete` beside the bare SDK, against a server that sleeps 50 ms.

    python tests/bench/bench_engine.py [--requests 2000] [--repeats 5] [--profile]

Both send the same bodies (prompts of about 4 KB, with a strict JSON schema). The bare reference is
AsyncOpenAI over aiohttp with a semaphore, which reads the answer's text and nothing else; ours renders
the prompt, looks the answer up, keeps it in a cache (each run a new one, on disk) and validates it.
Runs of the two alternate; the ratio is that of the medians. The server is a process of its own.
"""

import argparse
import asyncio
import cProfile
import gc
import multiprocessing
import pstats
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing, closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from pydantic import Field

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.llm.cache import CompletionCache
from flows.llm.chat_format import strict_schema
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.model import Prompt, Usage
from schemas.base import Frozen
from tests.chat_server import http_reply

SLEEP_S = 0.05
CONCURRENCIES = (64, 256)
REQUIRED = 1.8
"""The least ratio at the last of them: with fewer at once, both wait for the server for longer."""

TEMPLATE = """{% block system %}
You write questions whose answer is in the evidence.
{% endblock %}
{% block user %}
Evidence:
{% for sentence in evidence %}
- {{ sentence }}
{% endfor %}
Number {{ number }}: write a question, its answer, and the steps that lead there.
{% endblock %}
"""


class Evidence(Frozen):
    number: int
    evidence: tuple[str, ...]


class Hop(Frozen):
    question: str
    answer: str


class Question(Frozen):
    question: str = Field(description="One sentence that ends with a question mark")
    answer: str
    steps: tuple[Hop, ...]


SENTENCES = tuple(
    f"In the year {1700 + year} the harbour of the town was deepened once more, and ships of {year} feet came in."
    for year in range(40)
)
ANSWER = Question(
    question="How deep were the ships that came in when the harbour was deepened for the second time?",
    answer="one foot",
    steps=tuple(Hop(question=f"What happened in the year {1700 + n}?", answer="It was deepened.") for n in range(4)),
).model_dump_json()
RESPONSE = http_reply(ANSWER)


class LeanServer(asyncio.Protocol):
    """Reads a request by its length and replies after the sleep: about 30 us of work."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._received[:end].lower()
        start = head.index(b"content-length:") + 15
        length = int(head[start : head.find(b"\r\n", start) if b"\r\n" in head[start:] else end])
        if len(self._received) >= end + 4 + length:
            self._received = b""
            asyncio.get_running_loop().call_later(SLEEP_S, self._reply)

    def _reply(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(RESPONSE)


def serve(pipe: Connection) -> None:
    """The server's process: sends its port, ends with the pipe."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(LeanServer, "127.0.0.1", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.poll, None)

    asyncio.run(run())


@contextmanager
def served() -> Iterator[str]:
    """Start the server's process; yield its address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}/v1"
    finally:
        here.close()
        server.terminate()
        server.join()


async def bare(url: str, prompt: Prompt[Question], count: int, concurrency: int) -> float:
    """Seconds for `count` requests of the SDK alone."""
    import openai

    schema = {"name": "Question", "schema": strict_schema(prompt.schema or {}), "strict": True}
    parameters: dict[str, Any] = {
        "model": "gpt-4o-mini",
        "temperature": prompt.temperature,
        "max_tokens": prompt.max_tokens,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    rendered = [prompt.messages(Evidence(number=n, evidence=SENTENCES)) for n in range(count)]
    places = asyncio.Semaphore(concurrency)
    async with openai.AsyncOpenAI(api_key="none", base_url=url, http_client=openai.DefaultAioHttpClient()) as client:

        async def ask(n: int) -> str | None:
            async with places:
                reply = await client.chat.completions.create(messages=cast(Any, rendered[n]), **parameters)
            content: str | None = reply.choices[0].message.content
            return content

        await ask(0)
        started = time.perf_counter()
        answers = await asyncio.gather(*(ask(n) for n in range(count)))
        took = time.perf_counter() - started
    assert all(answer == ANSWER for answer in answers)
    return took


async def ours(
    url: str, prompt: Prompt[Question], count: int, concurrency: int, profile: cProfile.Profile | None = None
) -> float:
    """Seconds for `count` prompts through `Endpoint.complete`, with a new cache."""
    with tempfile.TemporaryDirectory() as folder, closing(CompletionCache(f"sqlite:///{folder}/cache.db")) as cache:
        settings = EndpointSettings(name="gpt-4o-mini", base_url=url, concurrency=concurrency)
        usage = Usage()
        inputs = [Evidence(number=n, evidence=SENTENCES) for n in range(count)]
        async with aclosing(Endpoint(settings, cache)) as endpoint:
            await endpoint.complete(prompt, Evidence(number=-1, evidence=SENTENCES), usage=usage)
            if profile is not None:
                profile.enable()
            started = time.perf_counter()
            answers = await asyncio.gather(*(endpoint.complete(prompt, each, usage=usage) for each in inputs))
            took = time.perf_counter() - started
            if profile is not None:
                profile.disable()
    assert usage.calls == count + 1
    assert all(len(answer.steps) == 4 for answer in answers)
    return took


GROUPS = (
    ("idle", ("'poll' of 'select",)),
    ("cache", ("flows/llm/cache.py", "sqlite3.")),
    ("hashing", ("_hashlib", "hashlib")),
    ("rendering", ("jinja2", "<template>", "llm/template.py")),
    ("validation", ("pydantic", "SchemaValidator")),
    ("limiter and budget", ("flows/llm/limits.py", "aiolimiter", "prices.py")),
    ("endpoint", ("flows/llm/", "orjson")),
    ("SDK: openai", ("/openai/",)),
    ("SDK: httpx2", ("/httpx2/", "/httpcore", "/anyio/")),
    ("SDK: aiohttp", ("/aiohttp/", "multidict", "yarl", "propcache", "frozenlist", "aiohappyeyeballs")),
    ("loop and sockets", ("asyncio", "select", "socket")),
)


def shares(profile: cProfile.Profile) -> Counter[str]:
    """Seconds a group of code took in itself; a builtin's time goes to the group that called it."""
    spent: Counter[str] = Counter()

    def group_of(place: tuple[str, int, str]) -> str | None:
        name = f"{place[0]}:{place[2]}".replace("\\", "/")
        return next((group for group, marks in GROUPS if any(mark in name for mark in marks)), None)

    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for place, (_, _, own, _, callers) in stats.items():
        group = group_of(place)
        if group is not None or not callers:
            spent[group or "other"] += own
            continue
        for caller, (_, _, own_from, _) in callers.items():
            spent[group_of(caller) or "other"] += own_from
    return spent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="the profile only")
    options = parser.parse_args()

    ratio = 0.0
    with served() as url, tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "question.j2").write_text(TEMPLATE, encoding="utf-8")
        prompt = Prompt("question", 1, Question, Path(folder), inputs=Evidence)
        size = sum(len(m["content"]) for m in prompt.messages(Evidence(number=0, evidence=SENTENCES)))
        print(f"{options.requests} requests, prompts of {size} characters, {options.repeats} repeats of each")
        for concurrency in () if options.profile else CONCURRENCIES:
            took: dict[str, list[float]] = {"bare": [], "ours": []}
            for repeat in range(options.repeats + 1):
                for name, run in (("bare", bare), ("ours", ours)):
                    gc.collect()
                    seconds = asyncio.run(run(url, prompt, options.requests, concurrency))
                    if repeat:  # the first pair warms up
                        took[name].append(seconds)
            rates = {name: options.requests / statistics.median(times) for name, times in took.items()}
            ratio = rates["ours"] / rates["bare"]
            pairs = ", ".join(f"{b / o:.2f}" for b, o in zip(took["bare"], took["ours"], strict=True))
            print(
                f"{concurrency:4} at once: bare {rates['bare']:6.0f}/s   ours {rates['ours']:6.0f}/s   "
                f"ratio of medians {ratio:.2f}   (pairs: {pairs})",
                flush=True,
            )
        profile = cProfile.Profile()
        seconds = asyncio.run(ours(url, prompt, options.requests, 64, profile))
        spent = shares(profile)
        total = sum(spent.values()) - spent["idle"]
        print(f"profile of ours, 64 at once ({seconds:.2f} s under the profiler), microseconds a request:")
        for group, own in spent.most_common():
            if group == "idle":
                continue
            print(f"  {group:20} {own / options.requests * 1e6:7.0f}   {own / total:5.1%}")
    if not options.profile:
        reached = "reached" if ratio >= REQUIRED else "MISSED"
        print(f"ratio at {CONCURRENCIES[-1]} at once {ratio:.2f}, required {REQUIRED}: {reached}")
    return 0 if options.profile or ratio >= REQUIRED else 1


if __name__ == "__main__":
    sys.exit(main())
