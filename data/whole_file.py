"""Files that exist only when they are whole: written under a temporary name, then renamed."""

import contextlib
import errno
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TextIO

from schemas.errors import Failed

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_CLOSED = frozenset({errno.EACCES, errno.EROFS})


@contextlib.contextmanager
def whole_bytes(path: Path, temporary: Path | None = None) -> Iterator[IO[bytes]]:
    """Yield a binary file that takes the name `path` when the block ends without an error.

    The default temporary name is always the same, so that the next run overwrites what a killed run left behind. Where
    several processes may write the same file without a lock, give each its own `temporary` name.
    Raises `Failed` if the disk is full or the folder is not writable.
    """
    temporary = temporary or path.with_name(f"{path.name}.tmp")
    try:
        with explaining(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                yield file
            temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Yield a UTF-8 text file that takes the name `path` when the block ends without an error; see `whole_bytes`."""
    with whole_bytes(path) as file, io.TextIOWrapper(file, encoding="utf-8") as text:
        yield text


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file whole or not at all. Raises `Failed` as `whole_bytes` does."""
    with whole_bytes(path) as file:
        file.write(content)


@contextlib.contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn the error of a full disk or a read-only folder into a `Failed` that names `path`; let others through."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            folder = next(place for place in (path, *path.absolute().parents) if place.is_dir())
            reason = f"{error.strerror}; {shutil.disk_usage(folder).free // 2**20} MB are free there"
            raise Failed(f"{path}: cannot be written ({reason}); free space, then run again") from error
        if error.errno in _CLOSED:
            message = f"{path}: cannot be written ({error.strerror}); allow writing there, then run again"
            raise Failed(message) from error
        raise
