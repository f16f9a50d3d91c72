"""How much of the concurrency is busy while all five families are built against a server that answers after 1 s.

    python tests/bench/bench_busy.py [--concurrency 16] [--no-reference] [--keep FOLDER]

The build is the whole of `touchstone run` on the packaged samples' texts. A server in a process of its own answers
each call after exactly one second with what the rules answer, which a first build notes down. It also notes when each
request came and was answered, so what is printed is the server's view. Busy is the mean number of requests at the
server, over the concurrency: from the first request to the last answer, and over the whole build, which also reads
sources before and writes files after. The reference is as many bare calls of AsyncOpenAI, of the same bodies and
concurrency, in the same run.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.construct.progress import ProgressListener
from flows.construct.stages import StageRef
from schemas.manifest import StageManifest
from tests.builds import scribed, served
from tests.chat_server import http_reply, message_hash

DELAY_S = 1.0
CONCURRENCY = 16
REQUIRED = 0.95
BIN_S = 0.25
"""A gap is a stretch of such bins, each busy to less than `REQUIRED`."""
GAPS = 8
SAMPLES = Path(__file__).parents[2] / "data" / "samples"


def jsonl(name: str, **fields: str) -> dict[str, Any]:
    return {"format": "jsonl", "path": f"{name}.jsonl"} | ({"fields": fields} if fields else {})


FAMILIES: dict[str, Any] = {
    "uraq": {"statements": 240, "context_counts": [1, 10, 25]},
    "reeval": {
        "seeds": "all",
        "entailment": "off",
        "sources": [jsonl("questions")],
        "passages": [jsonl("pages"), jsonl("related")],
    },
    "lveval": {
        "levels": ["1k", "2k"],
        "datasets": {
            "multifieldqa-en-mixup": {
                "pairs": 36, "sources": [jsonl("questions")], "distractors": [jsonl("pages")]
            },
            "factrecall-en": {"sources": [jsonl("pages")]},
        },
    },
    "charpeval": {"sources": [jsonl("dialogues")]},
    "refutebench": {
        "style": [],
        "unrelated": [1, 3],
        "seeds_per_task": 20,
        "sources": {
            "translation": [jsonl("sentences")],
            "summarisation": [jsonl("articles")],
            "writing": [
                jsonl("headlines", headline="headline"), jsonl("posts", post="post"),
                jsonl("prompts", prompt="prompt"), jsonl("requests", request="request"),
            ],
        },
    },
}  # fmt: skip


def write_config(folder: Path, model: Mapping[str, Any]) -> Path:
    """Write a configuration of all families, beside the packaged texts."""
    shutil.copytree(SAMPLES, folder)
    path = folder / "config.yaml"
    config = {"name": "bench", "seed": 7, "store": str(folder / "store"), "model": model, "families": FAMILIES}
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


# ---- the server ----


@dataclass(frozen=True)
class Served:
    """What the server saw."""

    calls: Sequence[tuple[float, float]]
    """When each request had come and when it was answered, by the monotonic clock."""
    bodies: Sequence[bytes]
    unknown: int
    """Requests that the rules were not asked: their answers are empty."""


class SlowServer:
    """Answers from a table, each request after the delay."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table
        self._answer = served(table)
        self._clear()

    def _clear(self) -> None:
        self._calls: list[tuple[float, float]] = []
        self._bodies: list[bytes] = []
        self._unknown = 0

    def taken(self) -> Served:
        """Return what was seen since the last time."""
        seen = Served(self._calls, self._bodies, self._unknown)
        self._clear()
        return seen

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        while True:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
            except asyncio.IncompleteReadError:
                return writer.close()
            length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
            body = await reader.readexactly(length)
            came = time.monotonic()
            messages = orjson.loads(body)["messages"]
            self._unknown += not {message_hash(messages), message_hash(messages[:2])} & self._table.keys()
            reply = http_reply(self._answer(messages))
            await asyncio.sleep(came + DELAY_S - time.monotonic())
            writer.write(reply)
            self._calls.append((came, time.monotonic()))
            self._bodies.append(body)


def serve(pipe: Connection) -> None:
    """The server's process: gets its table, sends its port, then what it saw each time it is asked."""

    async def run() -> None:
        slow = SlowServer(pipe.recv())
        server = await asyncio.start_server(slow.connected, "127.0.0.1", 0, backlog=1024, limit=2**24)
        pipe.send(server.sockets[0].getsockname()[1])
        try:
            while True:
                await asyncio.to_thread(pipe.recv)
                pipe.send(slow.taken())
        except EOFError:
            pass

    asyncio.run(run())


# ---- the build ----


class Timed(ProgressListener):
    """Notes when each stage began and was finished."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.ended: dict[str, float] = {}

    def started(self, ref: StageRef, total: int | None, calls: int = 0) -> None:
        self.began[str(ref)] = time.monotonic()

    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None:
        self.ended[str(ref)] = time.monotonic()


def cpu_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def build(config: Path, out: Path, notes: Path) -> None:
    """The build's process: what `touchstone run` does, and its times written to `notes`."""
    from flows.prefect_server.embedded import begin_prefect
    from flows.project.project import Project
    from flows.run.terminal import _check_folder

    _check_folder(out)
    begin_prefect(Project(config, out, None).state)
    from flows.run.flow import run_build

    listener = Timed()
    began = time.monotonic()
    run_build(config, out, None, listener)
    notes.write_text(
        json.dumps(
            {
                "began": began, "ended": time.monotonic(), "cpu_s": cpu_s(resource.RUSAGE_SELF),
                "stages": {name: [listener.began.get(name, end), end] for name, end in listener.ended.items()},
            }
        )
    )  # fmt: skip


@dataclass(frozen=True)
class Built:
    """When the build and its stages ran, and the processor time of its process."""

    began: float
    ended: float
    cpu_s: float
    stages: Mapping[str, tuple[float, float]]


def built(folder: Path, url: str, concurrency: int) -> Built:
    """Build in a process of its own."""
    model = {"provider": "endpoint", "name": "loopback", "base_url": url, "concurrency": concurrency}
    config = write_config(folder, model)
    notes = folder / "notes.json"
    command = [sys.executable, __file__, "--build", str(config), str(folder / "out"), str(notes)]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, "PREFECT_HOME": str(folder / "prefect")})
    return Built(**json.loads(notes.read_text()))


async def bare(url: str, bodies: Sequence[bytes], concurrency: int) -> None:
    """Send the bodies by the SDK alone."""
    import openai

    places = asyncio.Semaphore(concurrency)
    async with openai.AsyncOpenAI(api_key="none", base_url=url, http_client=openai.DefaultAioHttpClient()) as client:

        async def ask(body: bytes) -> bool:
            async with places:
                reply = await client.chat.completions.create(**orjson.loads(body))
            return bool(reply.choices[0].message.content)

        assert all(await asyncio.gather(*map(ask, bodies)))


# ---- what was busy ----


def busy(calls: Sequence[tuple[float, float]], began: float, ended: float, concurrency: int) -> float:
    """Return the mean share of the concurrency that was at the server between two moments."""
    held = sum(max(0.0, min(end, ended) - max(start, began)) for start, end in calls)
    return held / concurrency / (ended - began)


def gaps(calls: Sequence[tuple[float, float]], concurrency: int) -> Iterator[tuple[float, float, float]]:
    """Yield the stretches that were not busy: begin, end, and the seconds lost in them."""
    first, last = min(start for start, _ in calls), max(end for _, end in calls)
    count = int((last - first) / BIN_S) + 1
    bins = [0.0] * count
    for start, end in calls:
        for place in range(int((start - first) / BIN_S), min(count, int((end - first) / BIN_S) + 1)):
            left = first + place * BIN_S
            bins[place] += max(0.0, min(end, left + BIN_S) - max(start, left)) / BIN_S / concurrency
    began: int | None = None
    for place, share in enumerate([*bins, 1.0]):
        if share < REQUIRED and began is None:
            began = place
        elif share >= REQUIRED and began is not None:
            lost = sum(1 - share for share in bins[began:place]) * BIN_S
            yield first + began * BIN_S, first + place * BIN_S, lost
            began = None


def report(seen: Served, run: Built, concurrency: int) -> float:
    """Print what the build did, and return the busy share from the first request to the last answer."""
    calls = seen.calls
    first, last = min(start for start, _ in calls), max(end for _, end in calls)
    ideal = len(calls) * DELAY_S / concurrency
    share = busy(calls, first, last, concurrency)
    whole = busy(calls, run.began, run.ended, concurrency)
    print(
        f"{len(calls)} calls, {concurrency} at once ({seen.unknown} that the rules did not know): {ideal:.1f} s ideal"
    )
    print(f"first request to last answer {last - first:6.1f} s   busy {share:.1%}")
    print(f"whole build                  {run.ended - run.began:6.1f} s   busy {whole:.1%}", end="")
    print(f"   ({first - run.began:.1f} s before, {run.ended - last:.1f} s after; {run.cpu_s:.1f} s of processor)")
    tenth = (last - first) / 10
    shares = [busy(calls, first + n * tenth, first + (n + 1) * tenth, concurrency) for n in range(10)]
    print("by tenths: " + " ".join(f"{share:.0%}" for share in shares))
    longest = sorted(gaps(calls, concurrency), key=lambda gap: -gap[2])
    print(f"{len(longest)} gaps; those that lost most:")
    for began, ended, lost in sorted(longest[:GAPS]):
        running = [name for name, (start, end) in run.stages.items() if start < ended and end > began]
        print(f"  at {began - first:6.1f} s for {ended - began:5.2f} s, {lost:5.2f} s lost: {', '.join(running)}")
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concurrency", type=int, default=CONCURRENCY)
    parser.add_argument("--no-reference", action="store_true", help="without the bare calls")
    parser.add_argument("--keep", type=Path, help="a folder for the build, which is kept, with its times")
    parser.add_argument("--build", nargs=3, type=Path, metavar=("CONFIG", "OUT", "NOTES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        build(*options.build)
        return 0
    concurrency = options.concurrency
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        rules = write_config(folder / "rules", {"provider": "rules"})
        here.send(asyncio.run(scribed(rules, folder / "rules" / "out")))
        url = f"http://127.0.0.1:{here.recv()}/v1"
        run = built(folder / "served", url, concurrency)
        here.send("seen")
        seen = here.recv()
        if options.keep:
            (folder / "calls.json").write_text(json.dumps({"calls": seen.calls, "stages": run.stages}))
    share = report(seen, run, concurrency)
    if not options.no_reference:
        asyncio.run(bare(url, seen.bodies, concurrency))
        here.send("seen")
        calls = here.recv().calls
        first, last = min(start for start, _ in calls), max(end for _, end in calls)
        reference = busy(calls, first, last, concurrency)
        print(f"bare calls                   {last - first:6.1f} s   busy {reference:.1%}")
    here.close()
    server.terminate()
    server.join()
    print(f"busy {share:.1%}, required {REQUIRED:.0%}: {'reached' if share >= REQUIRED else 'MISSED'}")
    return 0 if share >= REQUIRED else 1


if __name__ == "__main__":
    sys.exit(main())
