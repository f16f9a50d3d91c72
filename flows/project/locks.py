"""Locks between processes of one machine. The system releases them however a process ends."""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from data.whole_file import is_at
from schemas.base import content_hash
from schemas.errors import Failed

LOOK_EVERY_S = 0.5
"""Seconds between two looks at what another process holds."""
STAGE_LOCKS = "locks"
"""The folder of the locks on stages."""
WAIT_S = 600.0
"""Seconds that a push or a pull waits for another at most."""


@contextlib.contextmanager
def locked(path: Path, refusal: str | None = None, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock on a file. If another process holds it, raise `Failed` with the refusal; without a refusal, wait.

    A `shared` lock excludes exclusive ones only.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (fcntl.LOCK_NB if refusal else 0))
        except BlockingIOError as error:
            raise Failed(f"{path}: {refusal}") from error
        yield


def one_rebuild(state: Path, name: str) -> contextlib.AbstractContextManager[None]:
    """Return the lock of all rebuilds of a dataset."""
    path = state / f"rebuild-{content_hash(name)}.lock"
    return locked(path, f"another rebuild of {name} is running here; this one did nothing")


def one_evaluation(state: Path, path: Path) -> contextlib.AbstractContextManager[None]:
    """Return the lock on a file of predictions: two evaluations at once would pay for most of them twice."""
    lock = state / f"evaluation-{content_hash(str(path.resolve()))}.lock"
    return locked(lock, f"another evaluation is writing {path}; wait for it")


def one_output(state: Path, out: Path) -> contextlib.AbstractContextManager[None]:
    """Return the lock on an output folder, which waits until another process has written its files."""
    return locked(state / f"outputs-{content_hash(str(out.resolve()))}.lock")


@contextlib.contextmanager
def building(state: Path) -> Iterator[None]:
    """Hold the lock that keeps `touchstone gc` away. Builds do not exclude each other."""
    with locked(state / "stages.lock", "`touchstone gc` is running here; run again when it has finished", shared=True):
        for path in (state / STAGE_LOCKS).glob("*"):  # those that nobody holds are of killed builds
            with contextlib.suppress(FileNotFoundError, BlockingIOError), path.open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
        yield


def no_build(state: Path) -> contextlib.AbstractContextManager[None]:
    """Return the lock that keeps builds away."""
    return locked(state / "stages.lock", "a build is running here; run again when it has finished")


@contextlib.contextmanager
def one_writer(state: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock on all that pushes and pulls write. While another process holds it, say so once, and wait.

    Raises `Failed` if it does for longer than `WAIT_S`.
    """
    path, waits, end = state / "annotate.lock", False, time.monotonic() + WAIT_S
    with contextlib.ExitStack() as held:
        while True:
            try:
                held.enter_context(locked(path, "another push or pull is at work here; wait for it, or stop it"))
                break
            except Failed:
                if time.monotonic() >= end:
                    raise
            if not waits:
                tell("another push or pull is at work here; waiting for it")
            waits = True
            time.sleep(LOOK_EVERY_S)
        yield


@contextlib.contextmanager
def one_stage(state: Path, fingerprint: str, waits: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock on making a stage: two processes at once would pay for its calls twice.

    While another process holds it, `waits` is called with its name at each look; what it raises ends the wait.
    """
    path = state / STAGE_LOCKS / f"stage-{fingerprint}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                waits(lock.read() or "another process")
                time.sleep(LOOK_EVERY_S)
                continue
            if not is_at(path, lock.fileno()):  # the last holder has just removed the file: nobody else sees this one
                continue
            lock.truncate(0)
            lock.write(f"process {os.getpid()} on {socket.gethostname()}")
            lock.flush()
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return
