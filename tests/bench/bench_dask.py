"""Seconds of a build on one and on two Dask workers of this machine, beside what two processes give here at all.

    python tests/bench/bench_dask.py [lveval] [endpoint] [--pairs 60] [--levels 16k 32k] [--statements 400]
                                     [--concurrency 64 512] [--latency 1]

"lveval" is bound by processor time: the rules make confusing facts, replacements and keywords, and contexts of the
levels are mixed, from the public questions in TOUCHSTONE_SHARED, which have text for 32k words and more. "endpoint" is
URAQ against a loopback server that answers after `--latency` seconds. Its concurrency is that of the whole build,
whatever the number of workers: two gain where a single process cannot keep it busy, and should lose nothing where it
can. "busy" is the mean number of calls under way, over that concurrency, from the first call to the last.

The workers have run a small build before, and Prefect's database is there from it: to make that takes several seconds,
once. Seconds are those of the whole command, with its start. "reference" is the same work in Python by one process and,
in halves, by two: no build can gain more on this machine. "worker CPU" is the processor time of each worker: where they
are equal, the work was shared evenly.
"""

import argparse
import asyncio
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.builds import ROOT, bytes_of, scribed, served, touchstone, write_config
from tests.chat_server import ChatServer, Faults
from tests.clusters import Cluster

SHARED = Path(os.environ.get("TOUCHSTONE_SHARED", ROOT.parent / "shared")) / "data"
SPIN = 8_000_000
"""Rounds of the reference: about a second of processor time."""
WORKERS = (1, 2)


def lveval(pairs: int, *levels: str) -> dict[str, Any]:
    """Two datasets of questions, with many keywords and names."""
    sources = {
        "hotpotwikiqa-mixup": ("hotpotqa", SHARED / "hotpotqa_en" / "dev_subsampled.jsonl.gz"),
        "multifieldqa-en-mixup": ("squad", SHARED / "squad2_en" / "dev.json.gz"),
    }
    datasets = {
        name: {"pairs": pairs, "sources": [{"format": kind, "path": str(path), "licence": "CC-BY-SA-4.0"}]}
        for name, (kind, path) in sources.items()
    }
    return {"lveval": {"levels": levels, "datasets": datasets}}


def _spin(rounds: int) -> None:
    total = 0
    for number in range(rounds):
        total += number * number % 7


def reference() -> float:
    """How much sooner two processes do the work of one, on this machine and now."""
    seconds = []
    for processes in WORKERS:
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            pool.map(_spin, [1] * processes)
            started = time.perf_counter()
            pool.map(_spin, [SPIN // processes] * processes, chunksize=1)
            seconds.append(time.perf_counter() - started)
    return seconds[0] / seconds[1]


def _cpu_s(process: subprocess.Popen[bytes]) -> float:
    times = psutil.Process(process.pid).cpu_times()
    return float(times.user + times.system)


def build(folder: Path, workers: int, config: dict[str, Any]) -> tuple[float, list[float]]:
    """Build on a cluster of its own; seconds, and processor seconds of each worker."""
    with Cluster(folder / "cluster", {}, workers=workers) as cluster:
        environment = {"DASK_SCHEDULER_ADDRESS": cluster.address, "PREFECT_HOME": str(folder / "prefect")}
        _run(folder / "warm", {"families": lveval(2, "1k")}, environment)
        before = [_cpu_s(worker) for worker in cluster.workers]
        seconds = _run(folder / "build", config, environment)
        return seconds, [_cpu_s(worker) - cpu for worker, cpu in zip(cluster.workers, before, strict=True)]


def _run(folder: Path, config: dict[str, Any], environment: dict[str, str]) -> float:
    path = write_config(folder, runner="dask", store=str(folder / "store"), **config)
    started = time.perf_counter()
    done = touchstone("run", path, "--out", "out", folder=folder, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return time.perf_counter() - started


def compare(name: str, config: dict[str, Any], server: "Server | None" = None) -> None:
    """Build on one worker and on two, and print."""
    took: list[float] = []
    made: list[dict[str, str]] = []
    for workers in WORKERS:
        before = reference()
        with tempfile.TemporaryDirectory() as folder:
            seconds, cpu = build(Path(folder), workers, config)
            made.append(bytes_of(Path(folder) / "build" / "out"))
        took.append(seconds)
        shares = " ".join(f"{worker_s:.1f}" for worker_s in cpu)
        calls = f", {server.report()}" if server else ""
        print(f"{name}, {workers} workers: {seconds:6.1f} s, worker CPU {shares} s{calls}; "
              f"reference {(before + reference()) / 2:.2f}", flush=True)  # fmt: skip
    assert made[0] == made[1], "the bytes differ"
    print(f"{name}: two workers are {took[0] / took[1]:.2f} times as fast as one, same bytes", flush=True)


class Server:
    """The chat server in a process of its own."""

    def __init__(self, pipe: Connection, concurrency: int, latency_s: float) -> None:
        self._pipe = pipe
        self._concurrency = concurrency
        self._latency_s = latency_s
        self.url: str = pipe.recv()

    def report(self) -> str:
        """Describe the calls of the last build."""
        self._pipe.send("report")
        calls, seconds, most = self._pipe.recv()
        return f"{calls} calls, busy {calls * self._latency_s / seconds / self._concurrency:.0%}, most at once {most}"


def _serve(pipe: Connection, table: dict[str, str], latency_s: float) -> None:
    with ChatServer(answer=served(table), model="loopback", faults=Faults(latency_s=(latency_s, latency_s))) as server:
        pipe.send(server.url)
        while pipe.recv() == "report":
            arrived = [request.arrived for request in server.requests]
            pipe.send((len(arrived), max(arrived) - min(arrived) + latency_s, server.most_running))
            server.clear()
            server.most_running = 0


@contextmanager
def serving(table: dict[str, str], concurrency: int, latency_s: float) -> Iterator[Server]:
    """A server that answers from a table."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, table, latency_s), daemon=True)
    process.start()
    try:
        yield Server(here, concurrency, latency_s)
    finally:
        here.send("end")
        process.join(10)


def endpoint(statements: int, concurrency: int, latency_s: float) -> None:
    """Compare builds against the server."""
    families = {"uraq": {"statements": statements, "context_counts": [1, 10]}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = write_config(folder, store=str(folder / "store"), families=families)
        table = asyncio.run(scribed(config, folder / "out"))
    with serving(table, concurrency, latency_s) as server:
        model = {"provider": "endpoint", "name": "loopback", "base_url": server.url, "concurrency": concurrency}
        compare(f"endpoint at {concurrency}", {"model": model, "families": families}, server)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", default=["lveval", "endpoint"])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--levels", nargs="+", default=["16k", "32k"])
    parser.add_argument("--statements", type=int, default=400)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--latency", type=float, default=1.0)
    asked = parser.parse_args()
    if "lveval" in asked.builds:
        compare("lveval", {"families": lveval(asked.pairs, *asked.levels)})
    for concurrency in asked.concurrency if "endpoint" in asked.builds else ():
        endpoint(asked.statements, concurrency, asked.latency)


if __name__ == "__main__":
    main()
