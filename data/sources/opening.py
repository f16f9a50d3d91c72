"""Opens files that anybody may have sent: nothing but files, unpacked within limits, with lines that end."""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from data.sources.spec import NO_SUCH_FILE, SourceError

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MOST_LINE = 32 * 2**20
"""Bytes of a line of JSON or of a row of CSV."""
MOST_WHOLE = 256 * 2**20
"""Bytes of a file that is a single JSON value: read, it takes about four times as much memory."""
MOST_TIMES = 100
"""As many times its size a gzip file may unpack to; texts do to 3 to 20, a bomb to a thousand."""
SMALL = 64 * 2**20
"""Bytes to which any gzip file may unpack."""
KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
         stat.S_IFBLK: "a device"}  # fmt: skip


def megabytes(size: int) -> str:
    """Return a number of bytes for a person."""
    return f"{size / 2**20:,.0f} MiB"


def check_is_file(path: str | Path, advice: str = "name a file") -> None:
    """Raise `SourceError` with what there is, if it is no file: reading a pipe or a device may never end."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)  # noqa: PTH116 - a path of any text
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # or there is a zero byte in it
        raise SourceError(f"{path}: {NO_SUCH_FILE}") from error
    except OSError as error:  # a circle of links, a name too long, a folder that is closed to us
        raise SourceError(f"{path}: cannot be opened ({error.strerror}); correct the path") from error
    if kind != stat.S_IFREG:
        raise SourceError(f"{path}: expected a file, found {KINDS.get(kind, 'something else')}; {advice}")


def is_file(path: str | Path) -> bool:
    """Return whether there is a file; a path that cannot even be looked up leads to none."""
    return os.path.isfile(path)  # noqa: PTH113 - `Path` raises errors for some


def is_folder(path: str | Path) -> bool:
    """Return whether there is a folder."""
    return os.path.isdir(path)  # noqa: PTH112


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """Open a file, unpacking it if its name ends in `.gz`. Raises `SourceError`."""
    check_is_file(path)
    file = Path(path)
    with file.open("rb") as stream:
        packed = stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    if packed != (file.suffix == ".gz"):
        content = "gzip data" if packed else "something else"
        advice = "add .gz to its name" if packed else "take .gz off its name, or compress it"
        raise SourceError(f"{path}: expected {'plain text' if packed else 'gzip data'}, found {content}; {advice}")
    with cast(IO[bytes], io.BufferedReader(_Unpacked(file), SMALL >> 9)) if packed else file.open("rb") as stream:
        try:
            yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise SourceError(f"{path}: expected whole gzip data, found {error}; fetch the file again") from error


class _Unpacked(io.RawIOBase):
    """What a gzip file unpacks to, as long as that is not out of all proportion."""

    def __init__(self, file: Path) -> None:
        self._path, self._stream = file, gzip.open(file)  # noqa: SIM115 - closed with this
        self._most = max(SMALL, MOST_TIMES * file.stat().st_size)
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count = self._stream.readinto(buffer)
        self._given += count
        if self._given > self._most:
            raise SourceError(
                f"{self._path}: unpacks to more than {megabytes(self._most)}, {MOST_TIMES} times its size; "
                "unpack it yourself if it is what you expect"
            )
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


def whole(path: str, most: int, advice: str) -> bytes:
    """Return all of a file, without its mark. Raises `SourceError` if that is more than `most` bytes."""
    with opened(path) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise SourceError(f"{path}: expected at most {megabytes(most)}, found more; {advice}")
    return content.removeprefix(BYTE_ORDER_MARK)


def lines(path: str, stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines, each with its end. Raises `SourceError` for one that is too long to be one."""
    number = 0
    while line := stream.readline(MOST_LINE + 1):
        number += 1
        if len(line) > MOST_LINE:
            raise SourceError(
                f"{path}: line {number}: expected at most {megabytes(MOST_LINE)} in a line, found more; "
                "check that its rows end in line ends"
            )
        yield line
