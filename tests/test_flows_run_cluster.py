"""Dask workers that are killed, come late and leave, and their scheduler."""

import asyncio
import logging
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.builds import begun, bytes_of, scribed, served, touchstone, wait_for, write_config
from tests.chat_server import ChatServer, Faults

if find_spec("distributed") is None:  # importing it takes seconds, and only the workers need it
    pytest.skip("the dask extra is not installed", allow_module_level=True)

from tests.clusters import Cluster
from tests.fork_server import Forked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FAMILIES = {"uraq": {"statements": 40, "context_counts": [1, 5]}}
CONCURRENCY = 4
NOISE = ("Traceback", "distributed.", "botocore", "Error:")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the rules answer to the build."""
    folder = tmp_path_factory.mktemp("rules")
    config = write_config(folder, store=str(folder / "store"), families=FAMILIES)
    return asyncio.run(scribed(config, folder / "out"))


@pytest.fixture(scope="module")
def server(table: dict[str, str]) -> Iterator[ChatServer]:
    """A model that takes a fifth of a second for an answer."""
    with ChatServer(answer=served(table), model="loopback", faults=Faults(latency_s=(0.2, 0.2))) as server:
        yield server


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, server: ChatServer) -> dict[str, str]:
    """The bytes of a build in threads."""
    folder = tmp_path_factory.mktemp("threads")
    done = touchstone("run", config(folder, server, runner="threads", concurrency=64), "--out", "out", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return bytes_of(folder / "out")


def config(folder: Path, server: ChatServer, *, concurrency: int = CONCURRENCY, **more: Any) -> Path:
    model = {"provider": "endpoint", "name": "loopback", "base_url": server.url, "concurrency": concurrency}
    return write_config(
        folder, **{"runner": "dask", "model": model, "families": FAMILIES, "store": str(folder / "store"), **more}
    )


class Build:
    """A build that runs, and what it has printed."""

    def __init__(self, folder: Path, path: Path, **environment: str) -> None:
        self.folder = folder
        self._printed = [folder / "stdout", folder / "stderr"]
        out, err = self._printed
        self.process: Forked = begun("run", path, "--out", "out", folder=folder, out=out, err=err, **environment)

    def ends(self, status: int, *said: str, line: bool = False) -> str:
        """Wait for its end: it has this status, has said this (in one `line`), and nothing in a library's words."""
        ended = self.process.wait(300)
        out, err = (path.read_text() for path in self._printed)
        assert ended == status, out + err
        assert not any(noise in out + err for noise in NOISE), out + err
        if line:
            assert len(err.splitlines()) == 1, err
        assert all(text in err for text in said), err
        return err


def asked(server: ChatServer, number: int, build: Build) -> None:
    """Wait until the model was asked so often."""
    wait_for(lambda: len(server.requests) >= number or build.process.poll() is not None, 300, 0.05)
    assert build.process.poll() is None, build.ends(0)


def test_workers_that_are_killed_come_late_and_leave(
    tmp_path: Path, server: ChatServer, expected: dict[str, str]
) -> None:
    """Two workers begin, a third comes late, the first is killed. Never are more calls under way than configured."""
    server.clear()
    server.most_running = 0
    with Cluster(tmp_path / "cluster", {}, workers=2) as cluster:
        path = config(tmp_path / "build", server, cache=f"sqlite:///{tmp_path}/completions.sqlite")
        build = Build(tmp_path / "build", path, DASK_SCHEDULER_ADDRESS=cluster.address)
        asked(server, 28, build)
        cluster.join()
        asked(server, 50, build)
        cluster.kill(0)
        build.ends(0)
        assert server.most_running <= CONCURRENCY
        assert bytes_of(tmp_path / "build" / "out") == expected
        assert "distributed.touchstone" in cluster.log(2), "the late one has worked"
        assert "prefect" not in cluster.log(2).lower(), "Prefect runs in the command alone"
        # What the killed worker had asked for is lost; nothing else is asked twice.
        assert len(server.answered_twice) <= CONCURRENCY


def test_without_a_worker_or_a_scheduler_a_build_ends_with_one_line_and_goes_on_later(
    tmp_path: Path, server: ChatServer, expected: dict[str, str]
) -> None:
    server.clear()
    path = config(tmp_path / "build", server, cache=f"sqlite:///{tmp_path}/completions.sqlite")
    with Cluster(tmp_path / "first", {}, workers=1) as cluster:
        build = Build(tmp_path / "build", path, DASK_SCHEDULER_ADDRESS=cluster.address)
        asked(server, 28, build)
        cluster.kill(0)
        build.ends(1, "all workers were lost", cluster.address, "run again", line=True)
    with Cluster(tmp_path / "second", {}, workers=1) as cluster:
        before = len(server.requests)
        build = Build(tmp_path / "build", path, DASK_SCHEDULER_ADDRESS=cluster.address)
        asked(server, before + 12, build)
        cluster.kill_scheduler()
        build.ends(1, "the scheduler does not answer any more", "run again", line=True)
    done = touchstone("run", config(tmp_path / "build", server, runner="threads", concurrency=64,
                                    cache=f"sqlite:///{tmp_path}/completions.sqlite"), "--out", "out",
                      folder=tmp_path / "build")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert bytes_of(tmp_path / "build" / "out") == expected
    assert len(server.answered_twice) <= 2 * CONCURRENCY


@pytest.mark.parametrize("known", [None, 1], ids=["nobody is known yet", "one has left"])
def test_a_piece_whose_worker_is_not_known_goes_to_another(monkeypatch: pytest.MonkeyPatch, known: int | None) -> None:
    import distributed

    from flows.run import cluster

    monkeypatch.setattr(cluster, "_run_piece", lambda *_: ("made",))
    build = SimpleNamespace(fingerprint=lambda ref: "0")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        workers: Any = object.__new__(cluster.Workers)
        workers._client, workers._open, workers._failure = client, set(), None
        workers._project = SimpleNamespace(build=build, loop=SimpleNamespace(stopped=False))
        workers._known = None if known is None else (sorted(client.nthreads()), False)
        assert workers.run("a stage", SimpleNamespace(worker=1)) == ("made",)


def test_a_worker_says_nothing_of_a_scheduler_that_ends_while_it_answers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import distributed
    from distributed.comm import CommClosedError

    import flows.run.cluster  # noqa: F401 - what it sets is what a worker has then

    async def ends(**_: object) -> None:
        raise CommClosedError("Stream is closed")

    async def metrics() -> dict[str, int]:
        return {}

    worker: Any = SimpleNamespace(
        address="tls://127.0.0.1:1", contact_address="tls://127.0.0.1:1", active_keys=(), extensions={},
        scheduler=SimpleNamespace(heartbeat_worker=ends), get_metrics=metrics,
    )  # fmt: skip
    asyncio.run(distributed.Worker.heartbeat(worker))
    assert caplog.messages == []
    monkeypatch.setattr(logging.getLogger("distributed.worker"), "filters", [])
    asyncio.run(distributed.Worker.heartbeat(worker))
    assert len(caplog.messages) == 1


def test_the_workers_of_this_machine_run_nothing_for_strangers() -> None:
    import distributed
    import httpx

    from flows.run import cluster

    project: Any = SimpleNamespace()
    client = cluster.Workers(project, None)._client
    try:
        assert client.submit(abs, -1).result(60) == 1
        address, pages = client.scheduler.address, client.cluster.scheduler.http_server.port
        plain = address.replace("tls://", "tcp://")
        for there, certificate in ((plain, None), (address, distributed.Security.temporary())):
            with pytest.raises(OSError):  # noqa: PT011 - Dask's words differ by version
                distributed.Client(there, security=certificate, timeout=5)
        for page in ("info/main/workers.html", "json/counts.json", "metrics", "health"):
            assert httpx.get(f"http://127.0.0.1:{pages}/{page}").status_code == 404
    finally:
        client.close()
