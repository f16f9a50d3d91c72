"""Files that exist only when they are whole, and are on the disk before anything is told of them.

A file is written under a temporary name, brought to the disk, and renamed. The temporary name is always the same, so
that the next run overwrites what a killed run left behind.
"""

import contextlib
import errno
import fcntl
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TextIO

from schemas.errors import Failed

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_CLOSED = frozenset({errno.EACCES, errno.EROFS})
_BROKEN = frozenset({errno.EIO})


@contextlib.contextmanager
def whole_bytes(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Yield a binary file that takes the name `path` when the block ends without an error. Leave it open.

    If another process is writing the same file, wait for it. Raises `Failed` if the disk is full or broken, or the
    folder is not writable.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    with explaining(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _held(temporary, mode) as file:
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


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a small file whole or not at all. Raises `Failed` as `whole_bytes` does."""
    with whole_bytes(path, mode) as file:
        file.write(content)


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
    """Turn the error of a full or broken disk or a closed folder into a `Failed` with `path`; let others through."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            folder = next(place for place in (path, *path.absolute().parents) if place.is_dir())
            reason = f"{os.strerror(error.errno)}; {shutil.disk_usage(folder).free // 2**20} MB are free there"
            raise Failed(f"{path}: cannot be written ({reason}); free space, then run again") from error
        if error.errno in _CLOSED:
            message = f"{path}: cannot be written ({os.strerror(error.errno)}); allow writing there, then run again"
            raise Failed(message) from error
        if error.errno in _BROKEN:
            message = f"{path}: cannot be written ({os.strerror(error.errno)}); check the disk, then run again"
            raise Failed(message) from error
        raise


@contextlib.contextmanager
def _held(temporary: Path, mode: int) -> Iterator[IO[bytes]]:
    """Yield an empty file that no other process writes meanwhile; a killed process holds nothing."""
    while True:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT, mode), "wb") as file:
            with contextlib.suppress(OSError):  # file systems without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(temporary, file):  # who held it has just given it its name
                continue
            file.truncate(0)
            yield file
            return


def _is_at(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
