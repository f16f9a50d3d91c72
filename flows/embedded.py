"""Prefect's embedded server, ready for a flow: started where none is named, and cleared of what a kill left there."""

import contextlib
import os
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
LOOKED_OUT_EVERY_S = 0.02
CLOSES_WITHIN_S = 5
"""What a server is given to end by itself."""
_guards: list["subprocess.Popen[bytes]"] = []
LEFT_OVER_AT_ONCE = 200
"""Left-over flow runs marked at one start (the most that Prefect lists at once); the next start marks more."""


@contextmanager
def engine() -> Iterator[None]:
    """Flows run inside it, after what a kill left running is marked as crashed. Raises `Failed`."""
    state = Path(os.environ["PREFECT_HOME"]) if "PREFECT_HOME" in os.environ else Path.home() / ".prefect"
    try:
        with guarding_server():
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
        if _guards:  # the server is a temporary one of this process
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
def guarding_server() -> Iterator[None]:
    """See that the temporary server ends with this process, also where that is killed and cannot stop it.

    Starting it takes seconds, in which the first call of Prefect's client waits; so a thread looks out for it.
    """
    asked = threading.Event()

    def look_out() -> None:
        while (server := SubprocessASGIServer().server_process) is None:
            if asked.wait(LOOKED_OUT_EVERY_S):
                return
        end_with_us(server.pid)

    watch = threading.Thread(target=look_out, name="server guard", daemon=True)
    watch.start()
    try:
        yield
    finally:
        asked.set()
        watch.join()


def end_with_us(server: int) -> None:
    """Have the server stopped once this process is gone, however that comes about: its end of a pipe closes then."""
    named = f"grep -qs prefect.server /proc/{server}/cmdline"  # where there is no ps
    there = f"{{ {named} || ps -ww -o command= -p {server} | grep -q prefect.server; }}"  # -ww: COLUMNS cuts lines
    ended = f"cat; {there} && kill {server}; sleep {CLOSES_WITHIN_S}; {there} && kill -9 {server}"
    guard = subprocess.Popen(  # noqa: S603
        ["/bin/sh", "-c", ended], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    _guards.append(guard)  # with it the pipe would go


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
