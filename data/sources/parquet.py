"""Parquet, with a field map."""

from collections.abc import Iterator
from pathlib import Path

from data.sources import mapped
from data.sources.spec import Entry, Row, SourceError, SourceSpec

BATCH_ROWS = 1024


def statements(spec: SourceSpec) -> Iterator[Entry]:
    """A statement a row."""
    return mapped.statements(spec, parquet_rows(spec.path))


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """A question a row."""
    return mapped.questions(spec, parquet_rows(spec.path))


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """A passage a row."""
    return mapped.passages(spec, parquet_rows(spec.path))


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """An assignment a row."""
    return mapped.assignments(spec, parquet_rows(spec.path))


def parquet_rows(path: str, columns: tuple[str, ...] | None = None) -> Iterator[Row]:
    """The rows, numbered from 1; of `columns` those that the file has."""
    if not Path(path).is_file():
        raise SourceError(f"{path}: no such file; paths are relative to the configuration file")

    import pyarrow.parquet  # here, so that naming a source does not load it

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            wanted = None if columns is None else [name for name in file.schema_arrow.names if name in columns]
            number = 0
            for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(path, f"row {number}", values)
    except pyarrow.ArrowException as error:
        first = str(error).splitlines()[0]
        raise SourceError(f"{path}: expected Parquet, found {first}; write the file again") from error
