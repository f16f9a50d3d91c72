"""An endpoint at fault for a long time: 256 questions at once, one in a hundred with each fault that there is.

    python -m tests.soak [--minutes 60] [--at-once 256]

A server in a process of its own draws the faults: 429 with and without Retry-After, 500, 503, connections that end
before and within a reply, replies that are not JSON, silence, slow replies, and answers that break off, have wrong
types, are empty or refuse. Each question is another. It prints a line a minute, and fails if memory
grows by more than `MOST_GROWTH` from the first tenth to the end, if there are more descriptors or tasks than questions
need, if an answer differs, or if something was answered twice that had reached us.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections import Counter
from contextlib import aclosing, closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from flows.llm.cache import CompletionCache
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.limits import Limits
from flows.llm.model import REFUSED, InvalidAnswer, Prompt, Usage
from schemas.base import Frozen
from tests.chat_server import ChatServer, Faults, Messages, Request

EACH = 0.01
"""The share of questions with each fault."""
TIMEOUT_S = 20.0
FAULTS = Faults(
    seed=7, latency_s=(0.0, 0.4), rate_limited=EACH, limited_for_a_while=EACH, errors_500=EACH, errors_503=EACH,
    silent=EACH, silence_s=TIMEOUT_S + 3, slow=EACH, dropped=EACH, dropped_in_reply=EACH, malformed=EACH,
    truncated=EACH, wrong_types=EACH, empty=EACH, refusals=EACH, no_usage=EACH,
)  # fmt: skip
MOST_GROWTH = 16 * 2**20
"""Bytes of memory. What was answered is on the disk: an answer leaves the eight bytes of how long it took."""
SPARE = 64
"""Descriptors and tasks beside those of questions."""
NUMBER = re.compile(r"Number (\d+)\.")


class Asked(Frozen):
    number: int


class Square(Frozen):
    number: int
    square: int
    words: str


def square(number: int) -> Square:
    return Square(number=number, square=number * number, words=f"the square of {number}, " * 10)


def answer(messages: Messages) -> str:
    """What the server answers: the same if it has to ask again."""
    found = NUMBER.search(messages[0]["content"])
    assert found is not None
    return square(int(found[1])).model_dump_json()


class Tally(list[Request]):
    """The server's requests, counted instead of kept."""

    def __init__(self, asked: Counter[str]) -> None:
        super().__init__()
        self._asked = asked
        self.outcomes: Counter[str] = Counter()
        self._seen = bytearray()
        self.twice = 0

    def append(self, request: Request) -> None:
        self.outcomes[request.outcome] += 1
        if request.outcome != "200":
            return
        del self._asked[request.hash]
        if len(request.messages) == 1:  # else it was asked again, with the error
            found = NUMBER.search(request.messages[0]["content"])
            assert found is not None
            number = int(found[1])
            self._seen.extend(bytes(max(0, number + 1 - len(self._seen))))
            self.twice += self._seen[number]
            self._seen[number] = 1


def serve(pipe: Connection) -> None:
    """The server's process: sends its address, and when it is asked, its counts."""
    server = ChatServer(answer=answer, faults=FAULTS)
    tally = Tally(server._asked)
    server.requests = tally
    with server:
        pipe.send(server.url)
        try:
            while True:
                pipe.recv()
                pipe.send((dict(tally.outcomes), tally.twice))
        except EOFError:
            pass


@dataclass(frozen=True)
class Reading:
    """What the process held at a moment."""

    rss: int
    files: int
    tasks: int
    answers: int

    def __str__(self) -> str:
        return f"{self.rss / 2**20:7.1f} MB  {self.files:5} files  {self.tasks:5} tasks  {self.answers:9,} answers"


def reading(answers: int) -> Reading:
    """Read what this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return Reading(pages * os.sysconf("SC_PAGE_SIZE"), files, len(asyncio.all_tasks()), answers)


class Soak:
    """Asks until the time is over, and counts what comes back."""

    def __init__(self, endpoint: Endpoint, prompt: Prompt[Square], seconds: float) -> None:
        self._endpoint = endpoint
        self._prompt = prompt
        self._ends = time.monotonic() + seconds
        self._seconds = seconds
        self._next = 0
        self.outcomes: Counter[str] = Counter()
        self.readings: list[Reading] = []

    async def run(self, at_once: int) -> None:
        """Keep so many questions open until the end."""
        watch = asyncio.create_task(self._watch())
        await asyncio.gather(*(self._ask() for _ in range(at_once)))
        await watch

    async def _ask(self) -> None:
        while time.monotonic() < self._ends:
            number, self._next = self._next, self._next + 1
            try:
                made = await self._endpoint.complete(self._prompt, Asked(number=number), usage=Usage())
                self.outcomes["right" if made == square(number) else "wrong"] += 1
            except InvalidAnswer as invalid:
                self.outcomes["refused" if invalid.reason == REFUSED else "invalid"] += 1

    async def _watch(self) -> None:
        every = min(60.0, self._seconds / 10)
        before, count = time.monotonic(), 0
        while before + every <= self._ends:
            await asyncio.sleep(every)
            now, read = time.monotonic(), reading(self.outcomes.total())
            self.readings.append(read)
            rate, limits = (read.answers - count) / (now - before), self._endpoint.limits
            print(f"{read}  {rate:6.1f}/s  {limits.running:4} in flight, {limits.allowed} allowed", flush=True)
            before, count = now, read.answers


def faults_of(readings: list[Reading], outcomes: Counter[str], twice: int, at_once: int) -> list[str]:
    """Return what is not as it should be."""
    first, last = readings[max(1, len(readings) // 10)], readings[-1]
    faults = []
    if last.rss - first.rss > MOST_GROWTH:
        faults.append(f"memory grew by {(last.rss - first.rss) / 2**20:.1f} MB, of {MOST_GROWTH / 2**20:.0f}")
    # A question has a connection at most, its own task, that of its call and one that waits for it.
    for name, each in (("files", 1), ("tasks", 3)):
        most = max(getattr(read, name) for read in readings)
        if most > each * at_once + SPARE:
            faults.append(f"{most} {name} for {at_once} questions")
    if outcomes["wrong"]:
        faults.append(f"{outcomes['wrong']} answers differ")
    if not outcomes["right"]:
        faults.append("no answer was right")
    if twice:
        faults.append(f"{twice} questions were answered twice")
    return faults


async def soak(url: str, folder: Path, seconds: float, at_once: int) -> Soak:
    """Ask the server for so long."""
    (folder / "square.j2").write_text("{% block user %}Number {{ number }}. What is its square?{% endblock %}")
    prompt = Prompt("square", 1, Square, folder, inputs=Asked)
    settings = EndpointSettings(name="gpt-4o-mini", base_url=url, timeout_s=TIMEOUT_S, concurrency=at_once)
    # A 429 in fifty would keep a tenth of the places, so that but the first burst is not heeded here.
    limits = Limits(concurrency=at_once, cooling_s=10 * seconds)
    with closing(CompletionCache(f"sqlite:///{folder}/cache.db")) as cache:
        async with aclosing(Endpoint(settings, cache, limits=limits, tell=print)) as endpoint:
            run = Soak(endpoint, prompt, seconds)
            await run.run(at_once)
    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--at-once", type=int, default=256)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    there.close()
    with tempfile.TemporaryDirectory() as name:
        run = asyncio.run(soak(here.recv(), Path(name), options.minutes * 60, options.at_once))
    here.send("counts")
    outcomes, twice = here.recv()
    here.close()
    server.join(10)
    print("the server:", json.dumps(outcomes))
    print("here:", json.dumps(run.outcomes))
    faults = faults_of(run.readings, run.outcomes, twice, options.at_once)
    print("\n".join(faults) or "memory, descriptors and tasks stay as they are; nothing is lost, and nothing twice")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
