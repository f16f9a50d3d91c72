"""Prefect's embedded server, ready for a flow: started where none is named, and cleared of what a kill left there."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from prefect import get_client, tags
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType, FlowRunFilterTags
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.server.api.server import SubprocessASGIServer
from prefect.states import Crashed

from schemas.errors import Failed

RUN_TAG = "touchstone"
NOTED_WITHIN_S = 0.02
LEFT_OVER_AT_ONCE = 200
"""Left-over flow runs marked at one start (the most that Prefect lists at once); the next start marks more."""


@contextmanager
def engine() -> Iterator[None]:
    """Flows run inside it, after what a kill left running is marked as crashed. Raises `Failed`."""
    state = Path(os.environ["PREFECT_HOME"]) if "PREFECT_HOME" in os.environ else Path.home() / ".prefect"
    note = state / "temporary-server.json"
    stop_orphan(note)
    try:
        with noting_server(note):
            mark_crashed()
    except httpx.TransportError as error:
        raise Failed(
            f"the Prefect server does not answer ({type(error).__name__}); run again, when this machine, or the server "
            "in PREFECT_API_URL, has less to do"
        ) from error
    except RuntimeError as error:  # how Prefect says that its temporary server did not come up
        raise Failed(
            f"{state}: the embedded Prefect server did not start ({error}); see that there is space to write there, "
            "or name a server of yours in PREFECT_API_URL"
        ) from error
    try:
        with tags(RUN_TAG, f"host:{socket.gethostname()}", f"pid:{os.getpid()}"):
            yield
    finally:
        if note.exists():
            shrink(state / "prefect.db")


def shrink(database: Path) -> None:
    """Bring a temporary server's database up to date: it is ended without closing it, and some megabytes of log stay.

    What somebody else still reads or writes stays in the log, and is there for the next one.
    """
    if not database.is_file():
        return
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(database, timeout=1)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def mark_crashed() -> int:
    """Mark flow runs of processes of this machine that are gone as crashed. Returns how many there were."""
    here = f"host:{socket.gethostname()}"
    running = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING])),
        tags=FlowRunFilterTags(all_=[RUN_TAG, here]),
    )
    marked = 0
    with get_client(sync_client=True) as client:
        for run in client.read_flow_runs(
            flow_run_filter=running, sort=FlowRunSort.START_TIME_DESC, limit=LEFT_OVER_AT_ONCE
        ):
            pid = next((int(tag.removeprefix("pid:")) for tag in run.tags if tag.startswith("pid:")), None)
            if pid is not None and not _alive(pid):
                client.set_flow_run_state(run.id, Crashed(message="its process is gone"), force=True)
                marked += 1
    return marked


@contextmanager
def noting_server(note: Path) -> Iterator[None]:
    """Note the temporary server as soon as there is one: a process that is killed cannot stop it.

    Starting it takes seconds, in which the first call of Prefect's client waits; so a thread looks out for it.
    """
    asked = threading.Event()

    def look_out() -> None:
        while (server := SubprocessASGIServer().server_process) is None:
            if asked.wait(NOTED_WITHIN_S):
                return
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps({"server": server.pid, "of": os.getpid()}))

    watch = threading.Thread(target=look_out, name="server note", daemon=True)
    watch.start()
    try:
        yield
    finally:
        asked.set()
        watch.join()


def stop_orphan(note: Path) -> None:
    """Stop the temporary server of a process that is gone."""
    try:
        noted = json.loads(note.read_text())
        server, owner = int(noted["server"]), int(noted["of"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    if _alive(owner) or not _alive(server):
        return
    command = subprocess.run(["ps", "-o", "command=", "-p", str(server)], capture_output=True, text=True, check=False)  # noqa: S603, S607
    if "prefect.server" in command.stdout:
        os.kill(server, signal.SIGTERM)
    note.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
