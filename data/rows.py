"""Parquet files of rows that hold one long text: written as they come, read one at a time.

A context of 256k words is 1.5 MB. It is compressed where it was joined, and never passes through a record on
its way; a reader holds one row group, of a few rows, at a time.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import BaseModel

from data.output import arrow_fields

GROUP_BYTES = 32 * 2**20
"""Text of a row group: what a reader, and the Hub's viewer, holds at once."""
WRITTEN_AT_ONCE = 2**23
"""Bytes that go to the file together: Python is called for each, and waits there for its other threads."""
PAGE_BYTES = 2**20
"""A page holds one row of 256k words, or several shorter ones; its index lets one row be read without the others."""
COMPRESSION = {"compression": "zstd", "compression_level": 3}
"""The level that is zstd's own default: books take 15 % less than at pyarrow's level 1, in 1.7 times the time."""


class _Digesting:
    """A file that hashes what is written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.closed = False

    def write(self, content: Any) -> int:
        if self._file.closed:  # writing was broken off, and Arrow would put out what it holds
            return len(content)
        self.digest.update(content)
        return self._file.write(content)

    def flush(self) -> None:
        self._file.flush()

    def tell(self) -> int:
        return self._file.tell()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


class RowsWriter:
    """Writes rows of one type to a Parquet file; `long` names the field whose text comes in UTF-8.

    The long texts of a row group are gathered in memory that is used again for the next: asking the system for
    so much anew each time takes longer than copying.
    """

    def __init__(self, file: IO[bytes], model: type[BaseModel], long: str) -> None:
        self._long = long
        self._schema = pa.schema(arrow_fields(model))
        self._digesting = _Digesting(file)
        self._out = pa.BufferedOutputStream(pa.PythonFile(self._digesting, "w"), WRITTEN_AT_ONCE)
        self._writer = pq.ParquetWriter(self._out, self._schema, **options(self._schema, long))
        self._rows: list[Mapping[str, Any]] = []
        self._texts: NDArray[np.uint8] = np.empty(GROUP_BYTES, np.uint8)
        self._ends = [0]

    def write(self, row: Mapping[str, Any], text: bytes) -> None:
        """Write a row: all of its fields but the long one, as JSON values, and the long one."""
        start, end = self._ends[-1], self._ends[-1] + len(text)
        if end > len(self._texts):
            self._texts = np.concatenate((self._texts, np.empty(end, np.uint8)))
        self._texts[start:end] = np.frombuffer(text, np.uint8)
        self._rows.append(row)
        self._ends.append(end)
        if end >= GROUP_BYTES:
            self._flush()

    def close(self) -> str:
        """Finish the file; its SHA-256."""
        self._flush()
        self._writer.close()
        self._out.close()
        return self._digesting.digest.hexdigest()

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = [
            self._long_column() if field.name == self._long
            else pa.array([row[field.name] for row in self._rows], field.type)
            for field in self._schema
        ]  # fmt: skip
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        self._rows, self._ends = [], [0]

    def _long_column(self) -> pa.StringArray:
        ends = np.array(self._ends, np.int32)
        return pa.StringArray.from_buffers(len(self._rows), pa.py_buffer(ends), pa.py_buffer(self._texts))


def options(schema: pa.Schema, long: str) -> dict[str, Any]:
    """How such a file is written: no dictionary and no statistics of the long texts, a page index, checksums."""
    short = [name for name in _leaves(schema) if name != long]
    return {
        **COMPRESSION,
        "use_dictionary": short,
        "write_statistics": short,
        "write_page_index": True,
        "write_page_checksum": True,
        "write_batch_size": 1,
        "data_page_size": PAGE_BYTES,
    }


def _leaves(schema: pa.Schema) -> list[str]:
    """The paths of the columns, as Parquet names them."""
    names: list[str] = []

    def walk(prefix: str, kind: pa.DataType) -> None:
        if pa.types.is_list(kind):
            walk(f"{prefix}.list.element", kind.value_type)
        elif pa.types.is_struct(kind):
            for field in kind:
                walk(f"{prefix}.{field.name}", field.type)
        else:
            names.append(prefix)

    for field in schema:
        walk(field.name, field.type)
    return names


def read_columns(file: Any, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Some columns of all rows of such a file: what is long need not be read. Raises `OSError`, as `read_rows`."""
    parquet = pq.ParquetFile(file, page_checksum_verification=True)
    for batch in parquet.iter_batches(columns=list(names)):
        yield from batch.to_pylist()


def read_rows(file: Any, start: int, stop: int) -> Iterator[dict[str, Any]]:
    """Rows `start` to `stop` (exclusive) of such a file; opens only the row groups that hold them.

    Raises `OSError` where a page's bytes are not those written.
    """
    parquet = pq.ParquetFile(file, page_checksum_verification=True)
    first = 0
    for group in range(parquet.num_row_groups):
        last = first + parquet.metadata.row_group(group).num_rows
        if first < stop and start < last:
            table = parquet.read_row_group(group)
            for place in range(max(start, first) - first, min(stop, last) - first):
                yield table.slice(place, 1).to_pylist()[0]
        first = last
