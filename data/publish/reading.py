"""Reads the Parquet files of a release, or of accepted rows, a few megabytes at a time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.errors import Failed, first_line

_BATCH_BYTES = 4 * 2**20
"""About what is read at once."""
_MOST_ROWS = 1024
_MAP_MARK = {b"touchstone": b"map"}
"""Marks a list in place of a map."""


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
        try:
            for group in range(file.num_row_groups):
                described = file.metadata.row_group(group)
                fit = _BATCH_BYTES * described.num_rows // max(described.total_byte_size, 1)
                first = 0
                for values in file.iter_batches(max(1, min(fit, _MOST_ROWS)), row_groups=[group], columns=columns):
                    yield Batch(group, first, values)
                    first += values.num_rows
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from error


def opened(path: Path) -> pq.ParquetFile:
    """Open a Parquet file whose page checksums are verified as they are read. Raises `Failed`."""
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        _ = file.schema_arrow  # read here, where a damaged one can be told
        return file
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error


def plain_rows(values: pa.RecordBatch | pa.Table) -> Iterator[dict[str, Any]]:
    """Yield each row as plain values."""
    mapped = [field for field in values.schema if holds_map(field)]
    for row in values.to_pylist():
        yield row | {field.name: with_maps(field, row[field.name]) for field in mapped} if mapped else row


def unreadable(path: Path, error: Exception) -> Failed:
    """Return the error for a file that is missing or damaged."""
    return Failed(f"{path}: cannot be read ({first_line(error)}); download it again, or run the build again")


# ---- Arrow's map type, which `datasets` cannot read: released as a list of `{key, value}`, read as a mapping ----


def without_maps(field: pa.Field) -> pa.Field:
    """Return the field with every map in it, at any depth, as a marked list of `{key, value}`."""
    kind = field.type
    if pa.types.is_map(kind):
        value = without_maps(pa.field("value", kind.item_type))
        pair = pa.struct([pa.field("key", kind.key_type), value])
        return pa.field(field.name, pa.list_(pair), metadata={**(field.metadata or {}), **_MAP_MARK})
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(without_maps(kind.value_field)))
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([without_maps(inner) for inner in kind]))
    return field


def holds_map(field: pa.Field) -> bool:
    """Return whether there is a marked list in the field."""
    if _is_marked(field):
        return True
    if pa.types.is_list(field.type):
        return holds_map(field.type.value_field)
    return pa.types.is_struct(field.type) and any(map(holds_map, field.type))


def with_maps(field: pa.Field, value: Any) -> Any:
    """Return a plain value of the field with its marked lists as mappings."""
    if value is None:
        return None
    if _is_marked(field):
        values = field.type.value_type.field("value")
        return {pair["key"]: with_maps(values, pair["value"]) for pair in value}
    if pa.types.is_list(field.type):
        return [with_maps(field.type.value_field, element) for element in value]
    if pa.types.is_struct(field.type):
        return {inner.name: with_maps(inner, value[inner.name]) for inner in field.type}
    return value


def _is_marked(field: pa.Field) -> bool:
    return _MAP_MARK.items() <= (field.metadata or {}).items()
