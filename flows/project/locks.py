"""Locks between processes of one state folder. The system lets go of them however a process ends."""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from schemas.base import content_hash
from schemas.errors import Failed


@contextlib.contextmanager
def one_rebuild(state: Path, name: str) -> Iterator[None]:
    """Hold the lock of all rebuilds of the dataset of that name. Raises `Failed` where another holds it."""
    path = state / f"rebuild-{content_hash(name)}.lock"
    with _locked(path, fcntl.LOCK_EX, f"another rebuild of {name} is at work here; this one did nothing"):
        yield


@contextlib.contextmanager
def one_evaluation(state: Path, path: Path) -> Iterator[None]:
    """Hold the lock of what writes these predictions: two at once would pay for most twice. Raises `Failed`."""
    lock = state / f"evaluation-{content_hash(str(path.resolve()))}.lock"
    with _locked(lock, fcntl.LOCK_EX, f"another evaluation writes {path} now; wait for it"):
        yield


@contextlib.contextmanager
def one_writer(state: Path, out: Path) -> Iterator[None]:
    """Hold the lock of an output folder, once whoever holds it has written its files."""
    with _locked(state / f"outputs-{content_hash(str(out.resolve()))}.lock", fcntl.LOCK_EX):
        yield


LOOK_EVERY_S = 0.5
"""How often who waits for a stage looks whether it is free, in seconds."""


@contextlib.contextmanager
def one_stage(state: Path, fingerprint: str, waits: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of what makes this stage: two at once would pay for its calls twice.

    While another holds it, `waits` is told who that is at each look; what it raises ends the waiting.
    """
    path = state / "locks" / f"stage-{fingerprint}.lock"
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
            if not _is_at(path, lock.fileno()):  # who had it before has just removed it: nobody else sees this one
                continue
            lock.truncate(0)
            lock.write(f"process {os.getpid()} on {socket.gethostname()}")
            lock.flush()
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def building(state: Path) -> Iterator[None]:
    """Hold off `touchstone gc`; builds do not hold off each other. Raises `Failed` while it is at work."""
    with _locked(state / "stages.lock", fcntl.LOCK_SH, "`touchstone gc` is at work here; run again when it is done"):
        yield


@contextlib.contextmanager
def no_build(state: Path) -> Iterator[None]:
    """Hold off builds. Raises `Failed` while one is at work."""
    with _locked(state / "stages.lock", fcntl.LOCK_EX, "a build is at work here; run again when it is done"):
        yield


@contextlib.contextmanager
def _locked(path: Path, how: int, refusal: str | None = None) -> Iterator[None]:
    """Hold the lock of that file. Where another holds it, raises `Failed` with the refusal; without one, waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, how | (fcntl.LOCK_NB if refusal else 0))
        except BlockingIOError as error:
            raise Failed(f"{path}: {refusal}") from error
        yield
