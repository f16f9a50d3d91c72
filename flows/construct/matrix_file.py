"""Matrices of float32 that may be larger than memory: written a few rows at a time to a file, then mapped."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from schemas.errors import Failed


class MatrixFile:
    """Rows of a matrix to be written in any order, to a file without a name: it goes with the matrix or the process."""

    def __init__(self, rows: int, folder: Path, *, in_memory_up_to: int) -> None:
        """Use a file in `folder` for more rows than `in_memory_up_to`. Raises `Failed` if it cannot be made.

        Small matrices have no file: a mapped one keeps a file descriptor, and there may be thousands of them.
        """
        self._rows = rows
        self._folder = folder
        self.dimensions: int | None = None
        """Columns: those of the vectors written first."""
        with self._writable():
            in_memory = rows <= in_memory_up_to
            self._file: IO[bytes] = BytesIO() if in_memory else TemporaryFile(dir=folder)  # noqa: SIM115

    def put(self, rows: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Write vectors, shape (len(rows), dim), with the same `dim` each time. Raises `Failed` if the disk is full."""
        self.dimensions = vectors.shape[1]
        with self._writable():
            for run in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows) != 1) + 1):
                self._file.seek(rows[run[0]] * vectors[0].nbytes)
                self._file.write(vectors[run].astype("<f4").tobytes())

    def finished(self) -> NDArray[np.float32]:
        """Return the matrix, read-only. A mapped file exists until the last array that uses it is gone."""
        content: bytes | mmap
        if isinstance(self._file, BytesIO):
            content = self._file.getvalue()
        else:
            with self._writable(), self._file as file:
                file.flush()
                content = mmap(file.fileno(), 0, access=ACCESS_READ)
        matrix: NDArray[np.float32] = np.frombuffer(content, "<f4").reshape(self._rows, -1)
        return matrix

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Failed(
                f"{self._folder}: cannot hold {self._rows:,} vectors ({error.strerror}); make room on its disk"
            ) from error
