"""Locks between processes of one state folder. The system lets go of them however a process ends."""

import contextlib
import fcntl
from collections.abc import Iterator
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
def _locked(path: Path, how: int, said: str) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failed(f"{path}: {said}") from error
        yield
