"""RefuteBench's dialogues held through a loopback server, beside bare concurrent calls with the same bodies.

    python tests/bench/bench_dialogues.py [--dialogues 1000] [--repeats 3] [--only times|memory|profile] [--styled]

A dialogue is one of the packaged method's two protocols: about ten calls one after the other, each with the whole
history. Ours runs the step `hold_dialogue` as a build does: prompts are rendered, answers looked up, kept in a cache on
disk (each run a new one), read and checked, the dialogues written to their shards. The bare reference is, as in
bench_engine.py, AsyncOpenAI over aiohttp, called as many times with the same bodies in no order, with as many calls in
flight; it reads the answer's text and nothing else. Beneath it stands what the wire alone costs: the same bodies sent
as ready bytes, of whose replies nothing is read. Runs of the three alternate; the ratio is that of the medians. The
server is a process of its own, and answers at once or after 50 ms. Then the greatest resident memory of a process that
holds so many dialogues at a time.
"""

import argparse
import asyncio
import cProfile
import gc
import json
import multiprocessing
import os
import pstats
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.construct.running import run_shard
from flows.construct.stages import StageRef
from flows.project.project import Project
from tests.chat_server import http_reply
from tests.toy import run_stage, spans

DELAYS_S = (0.0, 0.05)
ALLOWED = 1.2
MEMORY_OF = (250, 1000, 2000)
SEED = 7
HELD = StageRef("refutebench", "dialogues", "hold_dialogue")
PLACES = 1000
"""Calls in flight at once: with a thousand dialogues, each has one."""

ANSWER = " ".join(
    f"In the year {1700 + year} the harbour of the town was deepened, and ships of {year} feet came in."
    for year in range(8)
)
CHECKED = '{"met": false, "aspects": 1, "repeats": 0, "contradicts": 0}'


class LeanServer(asyncio.Protocol):
    """Reads a request by its length and replies after the delay, by what its first message says."""

    def __init__(self, delay_s: float, bodies: list[bytes] | None) -> None:
        self._delay_s = delay_s
        self._bodies = bodies
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._received[:end].lower()
        start = head.index(b"content-length:") + 15
        length = int(head[start : head.find(b"\r\n", start) if b"\r\n" in head[start:] else end])
        if len(self._received) >= end + 4 + length:
            body, self._received = self._received[end + 4 :], b""
            if self._bodies is not None:
                self._bodies.append(body)
            if self._delay_s:
                asyncio.get_running_loop().call_later(self._delay_s, self._answer, body)
            else:
                self._answer(body)

    def _answer(self, body: bytes) -> None:
        if self._transport.is_closing():
            return
        begin = body[:80]
        if b"You play a user" in begin:  # with how often it has complained in it: no complaint stands twice
            self._transport.write(http_reply(f'{{"refutation": "Say it in other words, {len(body)}!"}}'))
        else:
            self._transport.write(CHECK_REPLY if b"A user complains" in begin else ANSWER_REPLY)


CHECK_REPLY, ANSWER_REPLY = http_reply(CHECKED), http_reply(ANSWER)


def serve(pipe: Connection) -> None:
    """The server's process: sends its ports and, of the last, which answers at once, the bodies it was sent."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        bodies: list[bytes] = []
        made = [(delay_s, None) for delay_s in DELAYS_S] + [(0.0, bodies)]
        servers = [
            await loop.create_server(lambda made=one: LeanServer(*made), "127.0.0.1", 0, backlog=2048) for one in made
        ]
        pipe.send([server.sockets[0].getsockname()[1] for server in servers])
        try:
            while True:
                await asyncio.to_thread(pipe.recv)
                pipe.send(bodies)
                bodies.clear()
        except EOFError:
            pass

    asyncio.run(run())


# ---- ours ----


def prepare(folder: Path, dialogues: int) -> Path:
    """Sources of so many dialogues of both protocols."""
    samples = Path(__file__).parents[2] / "data" / "samples"
    words = sorted({word for line in (samples / "pages.jsonl").open() for word in json.loads(line)["text"].split()})
    rng = random.Random(SEED)
    folder.mkdir(parents=True, exist_ok=True)
    seeds = dialogues // 2
    for name, field, count in (("sentences", "text", seeds // 2), ("stories", "prompt", seeds - seeds // 2)):
        lines = [json.dumps({field: " ".join(rng.sample(words, 20))}) for _ in range(count)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return folder


def project_of(folder: Path, url: str, dialogues: int, styled: bool) -> Project:
    """A project in a new cache; seeds, and dialogues that are not begun, are made where they are not there yet."""
    model = {"provider": "endpoint", "name": "loopback", "base_url": url, "concurrency": PLACES}
    sources = {
        "translation": [{"format": "jsonl", "path": "sentences.jsonl"}],
        "writing": [{"format": "jsonl", "path": "stories.jsonl"}],
    }
    family: dict[str, Any] = {
        "sources": sources,
        "parts": ["dialogues"],
        "seeds_per_task": dialogues,
        **({} if styled else {"style": []}),
    }
    cache = Path(tempfile.mkdtemp(dir=folder)) / "completions.sqlite"
    config = {
        "name": "bench", "seed": SEED, "store": "store", "cache": f"sqlite:///{cache}", "model": model,
        "families": {"refutebench": family},
    }  # fmt: skip
    path = folder / "config.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    (folder / "store" / "embeddings.sqlite").unlink(missing_ok=True)
    for made in (folder / "store" / HELD.family / HELD.part).glob(f"{HELD.step}-*"):
        shutil.rmtree(made)
    return Project(path, folder / "out")


def settle() -> None:
    """As a build does before each stage: what is loaded is not looked through for garbage any more."""
    gc.collect()
    gc.freeze()


async def begin(project: Project) -> None:
    """All stages before the dialogues are held, where they are not there yet."""
    build = project.build
    for family, part in build.parts():
        for ref in build.stages(family, part):
            if ref != HELD:
                await run_stage(build, ref)


async def ours(project: Project, dialogues: int, profile: cProfile.Profile | None = None) -> float:
    """Seconds for holding the dialogues, all of them at a time."""
    await begin(project)
    build = project.build
    shard_spans = spans(build, HELD)
    assert sum(stop - start for start, stop in shard_spans) == dialogues
    settle()
    if profile is not None:
        profile.enable()
    started = time.perf_counter()
    shards = await asyncio.gather(*(run_shard(build, [HELD], *span) for span in shard_spans))
    took = time.perf_counter() - started
    if profile is not None:
        profile.disable()
    assert sum(shard.kept for (shard,) in shards) == dialogues, shards
    for model in {id(one): one for one in build.families[HELD.family].models.values()}.values():
        await model.aclose()  # type: ignore[attr-defined]
    project.models.cache.close()
    return took


def most_memory() -> float:
    """The greatest resident memory of this process so far, in MiB. `getrusage` would tell that of its parent too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory(folder: Path, url: str, dialogues: int) -> int:
    """Print the greatest resident memory of this process, in MiB: before the dialogues, and when they were held."""
    project = project_of(folder, url, dialogues, False)
    asyncio.run(begin(project))
    before = most_memory()
    asyncio.run(ours(project, dialogues))
    print(before, most_memory())
    return 0


# ---- beside the bare calls ----


async def bare(url: str, bodies: list[bytes], *, ready: bool = False) -> float:
    """Seconds for the bodies, asked as a program asks; `ready`: sent as the bytes they are, with no reply read."""
    import httpx2
    import openai

    places = asyncio.Semaphore(PLACES)
    asked = [] if ready else [orjson.loads(body) for body in bodies]
    async with openai.AsyncOpenAI(api_key="none", base_url=url, http_client=openai.DefaultAioHttpClient()) as client:

        async def send(body: bytes) -> bool:
            async with places:
                response = await client.post("/chat/completions", cast_to=httpx2.Response, content=body)
            return response.status_code == 200

        async def ask(body: dict[str, Any]) -> bool:
            async with places:
                reply = await client.chat.completions.create(**body)
            return bool(reply.choices[0].message.content)

        settle()
        started = time.perf_counter()
        answered = await asyncio.gather(*(send(body) for body in bodies) if ready else (ask(body) for body in asked))
        took = time.perf_counter() - started
    assert all(answered)
    return took


def beside(folder: Path, delay_s: float, url: str, bodies: list[bytes], options: argparse.Namespace) -> float:
    """Print all three, and give back the ratio of ours to the bare calls, by their medians."""
    took: dict[str, list[float]] = {"bare": [], "bytes": [], "ours": []}
    for _ in range(options.repeats):
        took["bare"].append(asyncio.run(bare(url, bodies)))
        took["bytes"].append(asyncio.run(bare(url, bodies, ready=True)))
        project = project_of(folder, url, options.dialogues, options.styled)
        took["ours"].append(asyncio.run(ours(project, options.dialogues)))
    medians = {name: statistics.median(times) for name, times in took.items()}
    ratio = medians["ours"] / medians["bare"]
    pairs = ", ".join(f"{ours / bare:.2f}" for bare, ours in zip(took["bare"], took["ours"], strict=True))
    print(
        f"answered after {1000 * delay_s:2.0f} ms: bare {medians['bare']:6.2f} s   ours {medians['ours']:6.2f} s   "
        f"ratio of medians {ratio:.2f}   (pairs: {pairs}; ready bytes alone: {medians['bytes']:.2f} s, "
        f"ours {medians['ours'] / medians['bytes']:.2f} times that)",
        flush=True,
    )
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, default=1000, help="an even number")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("times", "memory", "profile"), help="this alone")
    parser.add_argument("--delay", type=float, choices=DELAYS_S, help="of the server in seconds: this alone")
    parser.add_argument("--styled", action="store_true", help="refutations in the paper's style, which are embedded")
    parser.add_argument("--held", nargs=3, metavar=("FOLDER", "URL", "DIALOGUES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.held:
        os.chdir(options.held[0])
        return memory(Path(options.held[0]), options.held[1], int(options.held[2]))
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    urls = [f"http://127.0.0.1:{port}/v1" for port in here.recv()]
    highest = 0.0
    with tempfile.TemporaryDirectory() as name:
        if options.only != "memory":
            folder = prepare(Path(name) / "times", options.dialogues)
            os.chdir(folder)
            asyncio.run(ours(project_of(folder, urls[-1], options.dialogues, options.styled), options.dialogues))
            here.send("bodies")
            bodies = here.recv()
            size = statistics.mean(map(len, bodies))
            print(f"{options.dialogues} dialogues at a time, {len(bodies)} calls of {size:.0f} bytes in the mean")
        if options.only in (None, "times"):
            for delay_s, url in zip(DELAYS_S, urls, strict=False):
                if options.delay in (None, delay_s):
                    highest = max(highest, beside(folder, delay_s, url, bodies, options))
        if options.only == "profile":
            profile = cProfile.Profile()
            project = project_of(folder, urls[0], options.dialogues, options.styled)
            asyncio.run(ours(project, options.dialogues, profile))
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
        for dialogues in MEMORY_OF if options.only in (None, "memory") else ():
            folder = prepare(Path(name) / str(dialogues), dialogues)
            os.chdir(folder)
            asyncio.run(begin(project_of(folder, urls[0], dialogues, False)))
            command = [sys.executable, __file__, "--held", str(folder), urls[0], str(dialogues)]
            said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
            before, most = map(float, said[-2:])
            print(f"{dialogues:5} dialogues at a time: {most:5.0f} MiB at most, {before:.0f} before they were begun")
    here.close()
    server.terminate()
    server.join()
    if highest:
        print(f"highest ratio {highest:.2f}, allowed {ALLOWED}: {'kept' if highest <= ALLOWED else 'MISSED'}")
    return 0 if highest <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
