"""Files that exist only when they are whole, and are on the disk before anything is told of them.

A file is written under a temporary name, brought to the disk, and renamed. The temporary name is always the same, so
that the next run overwrites what a killed run left behind.
"""

import contextlib
import errno
import fcntl
import io
import logging
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TextIO

from schemas.errors import Failed

_log = logging.getLogger(__name__)

SAID_AFTER_S = 2.0
"""Another process that writes the same file takes less; one that takes longer may have been stopped."""
_LOOKS_EVERY_S = 0.02
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_CLOSED = frozenset({errno.EACCES, errno.EROFS})
_BROKEN = frozenset({errno.EIO})


_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
"""How a file system says that it has none."""
_IN_THE_WAY = frozenset({errno.EISDIR, errno.ELOOP, errno.ENXIO})
"""How a folder, a link and a pipe refuse to be opened as a file."""


class Unwritable(Failed):
    """The disk is full or broken, or the folder is closed."""


@contextlib.contextmanager
def whole_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Yield a binary file that takes the name `path` when the block ends without an error. Leave it open.

    If another process is writing the same file, wait for it, and say so if that takes long. Raises `Unwritable`, and
    `Failed` if something else is in its place.
    """
    with explaining(path):
        make_folder(path.parent)
        with _held(path.with_name(f"{path.name}.tmp")) as (temporary, file):
            try:
                yield file
                sync_file(file)
                temporary.replace(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)
                raise
        sync_folder(path.parent)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Yield a UTF-8 text file that takes the name `path` when the block ends without an error; see `whole_bytes`."""
    with whole_bytes(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8")
        yield text
        text.detach()


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file whole or not at all. Raises `Failed` as `whole_bytes` does."""
    with whole_bytes(path) as file:
        file.write(content)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, whose names are then on the disk."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_file(file: IO[bytes]) -> None:
    """Bring what was written to a file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_path(path: Path) -> None:
    """Bring a finished file, or the names in a folder, to the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where its file system can do so."""
    try:
        sync_path(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def sync_tree(folder: Path) -> None:
    """Bring all files below a folder, and their names, to the disk. Raises `Failed`."""
    with explaining(folder):
        for place, _, names in os.walk(folder):
            for name in names:
                sync_path(Path(place, name))
            sync_folder(Path(place))


def rename_folder(folder: Path, to: Path) -> Path:
    """Give a finished folder its name, once all that is in it is on the disk. Raises `Failed`."""
    sync_tree(folder)
    with explaining(to):
        folder.replace(to)
        sync_folder(to.parent)
    return to


@contextlib.contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn the error of a full or broken disk or a closed folder into `Unwritable` with `path`; let others through."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            folder = next(place for place in (path, *path.absolute().parents) if place.is_dir())
            reason = f"{os.strerror(error.errno)}; {shutil.disk_usage(folder).free // 2**20} MB are free there"
            raise Unwritable(f"{path}: cannot be written ({reason}); free space, then run again") from error
        if error.errno in _CLOSED:
            message = f"{path}: cannot be written ({os.strerror(error.errno)}); allow writing there, then run again"
            raise Unwritable(message) from error
        if error.errno in _BROKEN:
            message = f"{path}: cannot be written ({os.strerror(error.errno)}); check the disk, then run again"
            raise Unwritable(message) from error
        raise


@contextlib.contextmanager
def _held(temporary: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Yield an empty file that no other process writes meanwhile, with its path; a killed process holds nothing.

    Where the file system has no locks, it has a name of its own.
    """
    while True:
        with _opened(temporary) as file:
            try:
                _lock(file, temporary)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
                temporary.unlink(missing_ok=True)
                own = temporary.with_name(f"{temporary.name}-{os.getpid()}-{time.monotonic_ns()}")
                with own.open("xb") as unshared:
                    yield own, unshared
                return
            if not is_at(temporary, file.fileno()):  # who held it has just given it its name
                continue
            file.truncate(0)
            yield temporary, file
            return


def _lock(file: IO[bytes], path: Path) -> None:
    until = time.monotonic() + SAID_AFTER_S
    while time.monotonic() < until:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_LOOKS_EVERY_S)
    _log.warning("%s: waiting for another process, which writes this file", path)
    fcntl.flock(file, fcntl.LOCK_EX)


def _opened(temporary: Path) -> IO[bytes]:
    """Open a file without following a link or waiting for a pipe. Raises `Failed` if something else is in the way."""
    try:
        number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno in _IN_THE_WAY:
            raise Failed(f"{temporary}: is in the way of a file of that name; remove it, then run again") from error
        raise
    return os.fdopen(number, "wb")


def is_at(path: Path, file: int) -> bool:
    """Return whether a path still leads to an open file, given by its number."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False
