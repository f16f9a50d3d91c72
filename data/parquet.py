"""The one Parquet writer: record types as Arrow schemas, and rows as Parquet files. Equal rows give equal bytes.

There are two writers. `FilesWriter` (and `write_parquet` on top of it) writes tables to files that share a name.
`LongTextWriter` writes rows with one long text: a context of 256k words is 1.5 MB. The text is compressed where
it was assembled and never passes through a record, and a reader holds one row group of a few rows at a time.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import IO, Any, Literal, Union, get_args, get_origin

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from data.checksum import checksum
from data.whole_file import explaining, sync_folder, sync_path
from schemas.manifest import FileManifest

ROW_GROUP_BYTES = 64 * 2**20
"""Text of a row group in `write_parquet`. Groups are limited by bytes, so that rows of any length stream."""
WAITING_ROWS, WAITING_BYTES = 4096, 2**23
"""Limits on the rows that wait as Python's values in `write_parquet`, and on their text."""
FILE_BYTES = 500 * 2**20
"""A longer file is continued in another: `-NNNNN-of-NNNNN`."""
GROUP_BYTES = 32 * 2**20
"""Text of a row group of long texts: as much as a reader, or the Hub's viewer, holds at once."""
WRITTEN_AT_ONCE = 2**23
"""Bytes that reach the file together: each write calls back into Python, which blocks its other threads."""
PAGE_BYTES = 2**20
"""A page holds one row of 256k words or several shorter ones; its index lets one row be read without the others."""
COMPRESSION = {"compression": "zstd", "compression_level": 3}
"""zstd's own default level: books take 15 % less space than at pyarrow's level 1, in 1.7 times the time."""

_SCALARS = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


# ---- schemas ----


def arrow_type(annotation: Any) -> pa.DataType:  # noqa: PLR0911 - one return for each kind of type
    """Return the Arrow type of a field's annotation. Raises `TypeError` if there is none."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if origin is Literal:
        return _SCALARS[type(arguments[0])]
    if origin in (Union, UnionType):
        (inner,) = [argument for argument in arguments if argument is not type(None)]
        return arrow_type(inner)
    if origin in (tuple, list):
        return pa.list_(arrow_type(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, value = arguments
        if get_origin(key) is Literal:
            return pa.struct([(name, arrow_type(value)) for name in get_args(key)])
        return pa.map_(arrow_type(key), arrow_type(value))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct(arrow_fields(annotation))
    raise TypeError(f"no Arrow type for {annotation}")


def arrow_fields(model: type[BaseModel]) -> list[pa.Field]:
    """Return a record type's fields as Arrow fields, with their descriptions."""
    return [
        pa.field(name, arrow_type(field.annotation), metadata=field.description and {"description": field.description})
        for name, field in model.model_fields.items()
    ]


# ---- tables to files ----


class FilesWriter:
    """Writes row groups to `folder/name.parquet`, or to several files `name-NNNNN-of-NNNNN.parquet`.

    Files keep temporary names until `finish`, which then replaces all files of that name.
    """

    def __init__(self, folder: Path, name: str, options: Callable[[pa.Table], Mapping[str, Any]]) -> None:
        """`options` gives pyarrow's writer options for a file, from the file's first row group."""
        self._folder, self._name, self._options = folder, name, options
        self._file: pq.ParquetWriter | None = None
        self._bytes_in_file = 0
        self._rows: dict[Path, int] = {}
        """Temporary file -> its rows."""

    def write(self, group: pa.Table, size: int) -> None:
        """Write a row group that counts as `size` bytes. Raises `Failed`."""
        with explaining(self._folder / self._name):
            if self._bytes_in_file >= FILE_BYTES:
                self._close()
            if self._file is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                temporary = self._folder / f".{self._name}-{len(self._rows)}.parquet.tmp"
                self._rows[temporary] = 0
                self._file = pq.ParquetWriter(temporary, group.schema, **self._options(group))
            if group.num_rows:
                self._file.write_table(group)
            self._rows[next(reversed(self._rows))] += group.num_rows
            self._bytes_in_file += size

    def finish(self) -> list[tuple[Path, int]]:
        """Give the files their names and remove older files of that name. Returns each path with its number of rows."""
        with explaining(self._folder / self._name):
            self._close()
            for temporary in self._rows:
                sync_path(temporary)
            for pattern in (f"{self._name}.parquet", f"{self._name}-[0-9]*-of-[0-9]*.parquet"):
                for stale in self._folder.glob(pattern):
                    stale.unlink()
            count = len(self._rows)
            files = []
            for number, (temporary, rows) in enumerate(self._rows.items()):
                suffix = f"-{number:05}-of-{count:05}" if count > 1 else ""
                files.append((temporary.replace(self._folder / f"{self._name}{suffix}.parquet"), rows))
            sync_folder(self._folder)
            return files

    def discard(self) -> None:
        """Remove everything written so far."""
        with contextlib.suppress(OSError):  # a full disk has been reported already
            self._close()
        for temporary in self._rows:
            temporary.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._file is not None:
            file, self._file, self._bytes_in_file = self._file, None, 0
            file.close()


def write_parquet(
    folder: Path, name: str, model: type[BaseModel], rows: Iterable[Mapping[str, Any]], more: Iterable[pa.Field] = ()
) -> tuple[FileManifest, ...]:
    """Write `rows` (a record's fields, and the fields `more`) with a `FilesWriter`; no rows make one empty file.

    Raises `Failed` if the disk is full or the folder is not writable.
    """
    schema = pa.schema([*arrow_fields(model), *more])
    writer = FilesWriter(folder, name, lambda group: {"compression": "zstd"})
    try:
        writer.write(schema.empty_table(), 0)
        for group, size in _row_groups(rows, schema):
            writer.write(group, size)
        files = writer.finish()
    except BaseException:
        writer.discard()
        raise
    return tuple(
        FileManifest(path=f"{folder.name}/{path.name}", rows=count, sha256=checksum(path)) for path, count in files
    )


def _row_groups(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> Iterator[tuple[pa.Table, int]]:
    """Yield the rows in row groups, each with the bytes of its text.

    They wait as Arrow tables: as Python's values they would take ten times the memory.
    """
    waiting: list[pa.Table] = []
    rest: list[Mapping[str, Any]] = []
    size = rest_size = 0
    for row in rows:
        rest.append(row)
        rest_size += _weight(row)
        is_full = size + rest_size >= ROW_GROUP_BYTES
        if is_full or len(rest) >= WAITING_ROWS or rest_size >= WAITING_BYTES:
            waiting.append(pa.Table.from_pylist(rest, schema=schema))
            rest, size, rest_size = [], size + rest_size, 0
        if is_full:
            yield pa.concat_tables(waiting).combine_chunks(), size
            waiting, size = [], 0
    if rest:
        waiting.append(pa.Table.from_pylist(rest, schema=schema))
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks(), size + rest_size


def _weight(value: Any) -> int:
    """Return roughly how many bytes of text a row holds."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_weight, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(_weight, value))
    return 8


# ---- rows with a long text ----


class _HashingFile:
    """A file that hashes everything written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.closed = False

    def write(self, content: Any) -> int:
        if self._file.closed:  # writing was broken off, and Arrow still flushes its buffer
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


class LongTextWriter:
    """Writes rows of a type to a Parquet file; `long` names the field whose text is passed as UTF-8 bytes.

    The long texts of a row group stay where they are: each is a chunk of its column. A field that is None by default is
    a column only of files whose rows have it.
    """

    def __init__(self, file: IO[bytes], model: type[BaseModel], long: str) -> None:
        self._long = long
        self._model = model
        self._hashing = _HashingFile(file)
        self._out = pa.BufferedOutputStream(pa.PythonFile(self._hashing, "w"), WRITTEN_AT_ONCE)
        self._writer: pq.ParquetWriter | None = None
        self._rows: list[Mapping[str, Any]] = []
        self._texts: list[bytes] = []
        self._size = 0

    def write(self, row: Mapping[str, Any], text: bytes) -> None:
        """Write a row: all its other fields as JSON values, and the long text."""
        self._rows.append(row)
        self._texts.append(text)
        self._size += len(text)
        if self._size >= GROUP_BYTES:
            self._flush()

    def close(self) -> str:
        """Finish the file and return its SHA-256."""
        self._flush()
        self._opened().close()
        self._out.close()
        return self._hashing.digest.hexdigest()

    def _opened(self) -> pq.ParquetWriter:
        """The writer of the file: its first row decides on the columns."""
        if self._writer is None:
            present = self._rows[0] if self._rows else {}
            optional = {name for name, field in self._model.model_fields.items() if field.default is None}
            fields = [field for field in arrow_fields(self._model) if field.name not in optional - present.keys()]
            schema = pa.schema(fields)
            self._writer = pq.ParquetWriter(self._out, schema, **long_text_options(schema, self._long))
        return self._writer

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = [
            pa.chunked_array([_one_text(text) for text in self._texts]) if field.name == self._long
            else pa.array([row[field.name] for row in self._rows], field.type)
            for field in self._opened().schema
        ]  # fmt: skip
        self._opened().write_table(pa.Table.from_arrays(columns, schema=self._opened().schema))
        self._rows, self._texts, self._size = [], [], 0


def _one_text(text: bytes) -> pa.StringArray:
    """An array of one text, in the memory in which it is."""
    return pa.StringArray.from_buffers(1, pa.array([0, len(text)], pa.int32()).buffers()[1], pa.py_buffer(text))


def long_text_options(schema: pa.Schema, long: str) -> dict[str, Any]:
    """Return the writer options of such a file: a page index, checksums, no dictionary or statistics of long texts."""
    short = [path for field in schema for path in _leaves(field.name, field.type) if path != long]
    return {
        **COMPRESSION,
        "use_dictionary": short,
        "write_statistics": short,
        "write_page_index": True,
        "write_page_checksum": True,
        "write_batch_size": 1,
        "data_page_size": PAGE_BYTES,
    }


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the paths of the columns in a field, as Parquet names them."""
    if pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    else:
        yield path


def read_columns(file: Any, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield some columns of all rows of a file with long texts. Raises `OSError` as `read_rows` does."""
    parquet = pq.ParquetFile(file, page_checksum_verification=True)
    for batch in parquet.iter_batches(columns=list(names)):
        yield from batch.to_pylist()


def read_rows(file: Any, start: int, stop: int) -> Iterator[dict[str, Any]]:
    """Yield rows `start` to `stop` (exclusive) of a file with long texts, reading only the row groups they are in.

    Raises `OSError` if a page's checksum does not match.
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
