"""Prefect's server, ready for a flow: cleared of what a kill left there."""

import contextlib
import os
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from prefect import get_client, tags
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType, FlowRunFilterTags
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.states import Crashed

from flows.prefect_server.embedded import EmbeddedServer
from schemas.errors import Failed

RUN_TAG = "touchstone"
LEFT_OVER_AT_ONCE = 200
"""Left-over flow runs marked at one start (the most that Prefect lists at once); the next start marks more."""


@contextmanager
def engine() -> Iterator[None]:
    """Flows run inside it, after what a kill left running is marked as crashed. Raises `Failed`."""
    server = EmbeddedServer.begun
    if server is not None:
        server.wait()
    try:
        mark_crashed()
    except httpx.TransportError as error:
        raise Failed(
            f"the Prefect server does not answer ({type(error).__name__}); run again, when this machine, or the server "
            "in PREFECT_API_URL, has less to do"
        ) from error
    try:
        with tags(RUN_TAG, f"host:{socket.gethostname()}", f"pid:{os.getpid()}"):
            yield
    finally:
        if server is not None:
            shrink(server.home / "prefect.db")


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


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
