"""Temporary folders that do not outlast a killed process for long: the next one removes them."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from data.whole_file import is_at
from schemas.errors import Failed

PREFIX = ".touchstone-temporary-"


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield an empty folder in the folder for temporary files, and remove it when the block ends. Raises `Failed`."""
    remove_left_folders()
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        try:
            with contextlib.suppress(FileNotFoundError):  # something that tidies up has removed it
                shutil.rmtree(folder)
        finally:
            os.close(lock)


def remove_left_folders() -> None:
    """Remove the folders of killed processes: this user's that nobody has locked. The system releases their locks."""
    try:
        place = Path(tempfile.gettempdir())
    except FileNotFoundError:  # there is none that can be written to
        return
    for folder in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # it is in use, another user's, or just removed by another process
            lock = _opened(folder)
            try:
                if os.fstat(lock).st_uid == os.getuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder)
            finally:
                os.close(lock)


def _locked_folder() -> tuple[Path, int]:
    """Return a new folder and its open lock. Where the file system has no locks, nobody removes what is left."""
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        except FileNotFoundError as error:
            raise Failed(
                "no folder for temporary files can be written to; make room in /tmp, or name another in TMPDIR"
            ) from error
        with contextlib.suppress(FileNotFoundError):  # another process took it for one that was left
            lock = _opened(folder)
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
            if is_at(folder, lock):
                return folder, lock
            os.close(lock)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
