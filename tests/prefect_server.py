"""A real Prefect server on loopback, and what it knows."""

import base64
import fcntl
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx

from flows.prefect_server.embedded import KEY, PRIVATE, is_healthy
from tests.builds import TOUCHSTONE, wait_for

PREFECT = TOUCHSTONE.parent / "prefect"
QUICK = {"PREFECT_WORKER_QUERY_SECONDS": "1", "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "2"}
"""How often a worker asks for runs, and a run for the place that another one has: else every 10 s and 30 s."""
APP = "prefect.server.api.server:create_app"


def make_database(cache: Path) -> Path:
    """An empty database of the installed Prefect, made once on this machine: its migrations take 15 s of processor."""
    home = cache.resolve() / f"prefect-{version('prefect')}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "prefect.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers that come together make one
        if not (home / ".made").exists():
            shutil.rmtree(home, ignore_errors=True)
            environment = {**os.environ, **PRIVATE, "PREFECT_HOME": str(home)}
            command = [PREFECT, "server", "database", "upgrade", "-y"]
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            (home / ".made").touch()
    return home / "prefect.db"


def with_database(home: Path, database: Path) -> Path:
    """A home of Prefect that begins with a copy of the database."""
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(database, home / "prefect.db")
    return home


@contextmanager
def served(home: Path) -> Iterator[str]:
    """The API of a whole Prefect server, as `prefect server start` runs it, with a home of its own."""
    with socket.socket() as listener, (home / "server.log").open("wb") as log:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # from now on, or another program could take the port before the server does
        api = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "--factory", APP, "--fd", str(listener.fileno()), "--log-level", "error"],
            env={**os.environ, **PRIVATE, **QUICK, "PREFECT_HOME": str(home), "PREFECT__SERVER_FINAL": "1"},
            pass_fds=[listener.fileno()], stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def healthy() -> bool:
        assert process.poll() is None, (home / "server.log").read_text()
        return is_healthy(api)

    try:
        wait_for(healthy, 120)
        yield api
        assert process.poll() is None, (home / "server.log").read_text()
    finally:
        process.terminate()
        process.wait(30)


class OfTheTests(httpx.Auth):
    """The login in the address, or that of the server that all tests share."""

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:
        if login := request.url.userinfo or os.environb.get(KEY.encode()):
            request.headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
        yield request


CLIENT = httpx.Client(timeout=10, verify=False, auth=OfTheTests())
"""One for all requests: to make another takes ten times as long as an answer."""


def read(api: str, path: str) -> dict[str, Any]:
    """One thing that the server holds."""
    thing: dict[str, Any] = CLIENT.get(f"{api}/{path}").raise_for_status().json()
    return thing


def listed(api: str, what: str, **query: Any) -> list[dict[str, Any]]:
    """All of something that the server holds: `flow_runs`, `deployments`, `artifacts`, `logs`, ..."""
    reply = CLIENT.post(f"{api}/{what}/filter", json={"limit": 200, **query})
    rows: list[dict[str, Any]] = reply.raise_for_status().json()
    return rows


def flow_runs(api: str) -> list[dict[str, Any]]:
    """The flow runs that have begun, the last first."""
    begun = {"state": {"type": {"not_any_": ["SCHEDULED"]}}}
    return listed(api, "flow_runs", sort="START_TIME_DESC", flow_runs=begun)
