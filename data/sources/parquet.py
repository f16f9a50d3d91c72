"""Parquet, with a field map."""

from collections.abc import Iterator
from pathlib import Path

from data.sources.spec import Row, SourceError
from schemas.errors import first_line

BATCH_ROWS = 1024


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
        raise SourceError(f"{path}: expected Parquet, found {first_line(error)}; write the file again") from error
