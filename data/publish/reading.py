"""Reads the Parquet files of a release, or of accepted rows, a few megabytes at a time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.publish.maps import holds_map, with_maps
from schemas.errors import Failed, first_line

_BATCH_BYTES = 4 * 2**20
"""About what is read at once."""
_MOST_ROWS = 1024


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows of a file."""

    group: int
    first: int
    """Place of the first row in its row group."""
    values: pa.RecordBatch

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as plain values."""
        return plain_rows(self.values)


def read_released(folder: Path, files: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a configuration's files as plain values, as `schemas` records take them.

    Beside the record's fields each row has `reviewed`, `decision` and `canary`. Raises `Failed`.
    """
    for path in files:
        for batch in read_batches(folder / path):
            yield from batch.rows()


def read_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[Batch]:
    """Yield the file's rows, with all columns or only `columns`. Raises `Failed`."""
    with opened(path) as file:
        for group in range(file.num_row_groups):
            described = file.metadata.row_group(group)
            fit = _BATCH_BYTES * described.num_rows // max(described.total_byte_size, 1)
            first = 0
            batches = file.iter_batches(max(1, min(fit, _MOST_ROWS)), row_groups=[group], columns=columns)
            while (values := _next(batches, path)) is not None:
                yield Batch(group, first, values)
                first += values.num_rows


def opened(path: Path) -> pq.ParquetFile:
    """Open a Parquet file whose page checksums are verified as they are read. Raises `Failed`."""
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def plain_rows(values: pa.RecordBatch | pa.Table) -> Iterator[dict[str, Any]]:
    """Yield each row as plain values."""
    mapped = [field for field in values.schema if holds_map(field)]
    for place in range(values.num_rows):
        (row,) = values.slice(place, 1).to_pylist()
        yield row | {field.name: with_maps(field, row[field.name]) for field in mapped}


def unreadable(path: Path, error: Exception) -> Failed:
    """Return the error for a file that is missing or damaged."""
    return Failed(f"{path}: cannot be read ({first_line(error)}); download it again, or run the build again")


def _next(batches: Iterator[pa.RecordBatch], path: Path) -> pa.RecordBatch | None:
    try:
        return next(batches, None)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error
