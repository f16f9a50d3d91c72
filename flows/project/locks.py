"""Locks between processes of one machine. The system releases them however a process ends."""

import contextlib
import fcntl
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path

from data.temporary_folder import remove_left_folders
from data.whole_file import is_at
from schemas.base import content_hash
from schemas.errors import Failed

_log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
"""Seconds between two looks at what another process holds."""
STAGE_LOCKS = "locks"
"""The folder of the locks on stages."""
WAIT_S = 600.0
"""Seconds that a push or a pull waits for another at most."""


def locked(path: Path, refusal: str, *, shared: bool = False) -> contextlib.AbstractContextManager[None]:
    """Return the lock on a file. If another process holds it, raise `Failed` with the refusal and its name.

    A `shared` lock excludes exclusive ones only.
    """

    def refuse(by: str) -> None:
        raise Failed(f"{path}: {refusal} ({by})")

    return _held(path, refuse, shared=shared)


def one_rebuild(state: Path, name: str) -> contextlib.AbstractContextManager[None]:
    """Return the lock of all rebuilds of a dataset."""
    path = state / f"rebuild-{content_hash(name)}.lock"
    return locked(path, f"another rebuild of {name} is running here; this one did nothing")


def one_evaluation(state: Path, path: Path) -> contextlib.AbstractContextManager[None]:
    """Return the lock on a file of predictions: two evaluations at once would pay for most of them twice."""
    lock = state / f"evaluation-{content_hash(str(path.resolve()))}.lock"
    return locked(lock, f"another evaluation is writing {path}; wait for it")


def one_output(
    state: Path, out: Path, tell: Callable[[str], None] = _log.warning
) -> contextlib.AbstractContextManager[None]:
    """Return the lock on the files in an output folder. While another process holds it, say so once, and wait."""
    path = state / f"outputs-{content_hash(str(out.resolve()))}.lock"
    return _held(path, once(lambda by: tell(f"{out}: waiting for {by}, which writes or reads the files there")))


@contextlib.contextmanager
def building(state: Path) -> Iterator[None]:
    """Hold the lock that keeps `touchstone gc` away. Builds do not exclude each other."""
    with locked(state / "stages.lock", "`touchstone gc` is running here; run again when it has finished", shared=True):
        for path in (state / STAGE_LOCKS).glob("*"):  # those that nobody holds are of killed builds
            with contextlib.suppress(FileNotFoundError, BlockingIOError), path.open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
        remove_left_folders()
        yield


def no_build(state: Path) -> contextlib.AbstractContextManager[None]:
    """Return the lock that keeps builds away."""
    return locked(state / "stages.lock", "a build is running here; run again when it has finished")


def one_writer(state: Path, tell: Callable[[str], None]) -> contextlib.AbstractContextManager[None]:
    """Return the lock on all that pushes and pulls write. While another process holds it, say so once, and wait.

    Raises `Failed` if it does for longer than `WAIT_S`.
    """
    path, end = state / "annotate.lock", time.monotonic() + WAIT_S
    say = once(lambda by: tell(f"{path}: another push or pull is at work here; waiting for it ({by})"))

    def waits(by: str) -> None:
        say(by)
        if time.monotonic() >= end:
            raise Failed(f"{path}: another push or pull is at work here; wait for it, or stop it ({by})")

    return _held(path, waits)


@contextlib.contextmanager
def one_stage(state: Path, fingerprint: str, waits: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock on making a stage: two processes at once would pay for its calls twice.

    While another process holds it, `waits` is called with its name at each look; what it raises ends the wait.
    """
    path = state / STAGE_LOCKS / f"stage-{fingerprint}.lock"
    with _held(path, waits):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that tells the first of its lines."""
    told: list[str] = []

    def say(line: str) -> None:
        if not told:
            told.append(line)
            tell(line)

    return say


@contextlib.contextmanager
def _held(path: Path, waits: Callable[[str], None], *, shared: bool = False) -> Iterator[None]:
    """Hold the lock on a file, which has the holder's name as long, but for a `shared` lock.

    While another process holds it, `waits` is called with its name at each look; what it raises ends the wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a+") as lock:
            try:
                fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                waits(lock.read() or "another process")
                time.sleep(LOOK_EVERY_S)
                continue
            if not is_at(path, lock.fileno()):  # the last holder has just removed the file: nobody else sees this one
                continue
            with contextlib.suppress(OSError):  # a full disk is no reason not to hold a lock
                os.ftruncate(lock.fileno(), 0)
                if not shared:
                    os.write(lock.fileno(), _this_process().encode())
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    os.ftruncate(lock.fileno(), 0)
            return


def _this_process() -> str:
    """Return the command as far as it is words, without paths and addresses, and where it runs."""
    words = takewhile(lambda word: word.replace("-", "").isalpha() and not word.startswith("-"), sys.argv[1:])
    command = " ".join((Path(sys.argv[0]).name, *words))
    return f"`{command}`, process {os.getpid()} on {socket.gethostname()}"
