"""Gets the Prefect server ready for a flow: marks runs that a kill left behind as crashed."""

import contextlib
import os
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from prefect import get_client, tags
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType, FlowRunFilterTags
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import PrefectHTTPStatusError
from prefect.states import Crashed

from flows.prefect_server.embedded import API, KEY, EmbeddedServer
from schemas.errors import Failed, WrongInput

RUN_TAG = "touchstone"
LEFT_OVER_AT_ONCE = 200
"""Most left-over flow runs marked at one start (Prefect lists no more at once); the next start marks more."""


@contextmanager
def engine() -> Iterator[None]:
    """Run flows inside this context; it first marks left-over flow runs as crashed.

    Raises `Failed` if the server does not answer, `WrongInput` if it refuses the login.
    """
    server = EmbeddedServer.begun
    if server is not None:
        server.wait()
    with server_answers():
        mark_crashed()
    try:
        with server_answers(), tags(RUN_TAG, f"host:{socket.gethostname()}", f"pid:{os.getpid()}"):
            yield
    finally:
        if server is not None:
            shrink(server.home / "prefect.db")


@contextmanager
def server_answers() -> Iterator[None]:
    """Raise `Failed` if the server does not answer inside this context, `WrongInput` if it refuses the login."""
    try:
        yield
    except (httpx.TransportError, PrefectHTTPStatusError) as error:  # it may lack memory or space, or have ended
        server, asked = httpx.URL(os.environ[API]), error.request.url
        if (asked.host, asked.port) != (server.host, server.port):
            raise
        trouble = f"does not answer ({type(error).__name__})"
        if isinstance(error, PrefectHTTPStatusError):
            if error.response.status_code == httpx.codes.UNAUTHORIZED:
                raise WrongInput(
                    f"{API}: the Prefect server there refuses the login; set {KEY} to it (that of a `touchstone serve` "
                    "is the line in its .touchstone/keys/login)"
                ) from error
            trouble = f"answers {error.response.status_code}"
        raise Failed(
            f"the Prefect server {trouble}; run again, when this machine, or the server "
            "in PREFECT_API_URL, has less to do"
        ) from error


def shrink(database: Path) -> None:
    """Move the write-ahead log of a temporary server's database into it: the server ends without closing its database.

    Parts that another process still uses stay in the log for the next call.
    """
    if not database.is_file():
        return
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(database, timeout=1)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def runs_in(*states: StateType, **other: Any) -> FlowRunFilter:
    """Return a filter for flow runs in one of the states, with `other` conditions."""
    return FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(states))), **other)


def mark_crashed() -> int:
    """Mark flow runs of ended processes of this machine as crashed. Returns their number."""
    here = f"host:{socket.gethostname()}"
    running = runs_in(StateType.RUNNING, StateType.PENDING, tags=FlowRunFilterTags(all_=[RUN_TAG, here]))
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
