"""Sequences that are written from the first member to the last, to a temporary file, and then read by place."""

import copy
import pickle
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from schemas.errors import Failed

T = TypeVar("T")


@contextmanager
def _room_for(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = tempfile.tempdir or "the folder for temporary files"
        raise Failed(
            f"{where}: cannot hold {what} ({error.strerror}); make room on its disk, or set TMPDIR to a folder of a "
            "larger one"
        ) from error


class NumbersOnDisk:
    """An array that is written from the first number to the last; if it is large, to a file without a name."""

    def __init__(self, dtype: DTypeLike, in_memory_up_to: int) -> None:
        self._dtype = np.dtype(dtype)
        self._in_memory_up_to = in_memory_up_to
        self._file = SpooledTemporaryFile(max_size=in_memory_up_to)  # noqa: SIM115
        self._bytes = 0

    def append(self, numbers: NDArray[Any]) -> None:
        """Raises `Failed` if there is no room on the disk."""
        with _room_for("an index of words"):
            self._bytes += self._file.write(numbers.astype(self._dtype, copy=False).tobytes())
            self._file.flush()

    def finished(self) -> NDArray[Any]:
        """Return the array, read-only. A mapped file exists until the last array that uses it is gone."""
        with self._file as file:
            if self._bytes > self._in_memory_up_to:
                with _room_for("an index of words"):
                    return np.frombuffer(mmap(file.fileno(), 0, access=ACCESS_READ), self._dtype)
            file.seek(0)
            return np.frombuffer(file.read(), self._dtype)


class SequenceOnDisk(Sequence[T]):
    """Rows of any kind, each read when it is looked up. In memory are 16 bytes for each."""

    def __init__(self, rows: Iterable[T] = ()) -> None:
        """Raises `Failed` if there is no room on the disk."""
        with _room_for("rows to be looked up"):
            self._file = TemporaryFile()  # noqa: SIM115 - the file goes with the sequence
        self._starts, self._ends = array("Q"), array("Q")
        self._content: mmap | None = None
        for row in rows:
            self.append(row)

    def append(self, row: T) -> None:
        """Write another row. Raises `Failed` if there is no room on the disk."""
        pickled = pickle.dumps(row)
        with _room_for("rows to be looked up"):
            self._file.write(pickled)
        start = self._ends[-1] if self._ends else 0
        self._starts.append(start)
        self._ends.append(start + len(pickled))
        self._content = None

    def at(self, places: ArrayLike) -> "SequenceOnDisk[T]":
        """Return the rows at some places alone, in their order; the file is the same."""
        chosen, numbers = copy.copy(self), np.asarray(places, np.int64)
        chosen._starts, chosen._ends = (
            array("Q", np.array(bounds)[numbers].tobytes()) for bounds in (self._starts, self._ends)
        )
        return chosen

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> "SequenceOnDisk[T]": ...
    def __getitem__(self, place: int | slice) -> "T | SequenceOnDisk[T]":
        if isinstance(place, slice):
            return self.at(range(len(self))[place])
        start, end = self._starts[place], self._ends[place]
        if self._content is None:
            with _room_for("rows to be looked up"):
                self._file.flush()
                self._content = mmap(self._file.fileno(), 0, access=ACCESS_READ)
        row: T = pickle.loads(self._content[start:end])  # noqa: S301 - nobody else writes the file
        return row
