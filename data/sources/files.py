"""Rows from files: JSON lines, a JSON array or a single JSON object, CSV (all plain or gzipped), and Parquet."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import orjson

from data.sources.opening import BYTE_ORDER_MARK, MOST_LINE, MOST_WHOLE, check_is_file, lines, megabytes, opened, whole
from data.sources.spec import OutOfRange, Row, SourceError, SourceSpec
from schemas.errors import first_line

BATCH_ROWS, MOST_ROW = 16, 16 * 2**20
"""Rows of a Parquet file that are read at once, and the most bytes of one: a repeated value takes no room in a file."""
AS_LINES = "give the rows as JSON lines, an object in each line"


def json_lines(path: str) -> Iterator[Row]:
    r"""Yield one row for each line. Lines end with "\n" only, since strings may hold any other separator."""
    for place, content in _lines(path):
        yield _row(path, place, _parsed(path, place, content))


def json_lines_and_errors(path: str) -> Iterator[Row | SourceError]:
    """Yield one row for each line, or what is wrong with it."""
    for place, content in _lines(path):
        try:
            yield _row(path, place, _parsed(path, place, content))
        except SourceError as error:
            yield error


def _lines(path: str) -> Iterator[tuple[str, bytes]]:
    with opened(path) as stream:
        for number, line in enumerate(lines(path, stream), start=1):
            if content := (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).rstrip():
                yield f"line {number}", content


def json_rows(path: str) -> Iterator[Row]:
    """Yield the objects of a file that is either a JSON array or JSON lines."""
    with opened(path) as stream:
        start = stream.read(64).removeprefix(BYTE_ORDER_MARK).lstrip()
    if not start.startswith(b"["):
        yield from json_lines(path)
        return
    values = _parsed(path, "the array", whole(path, MOST_WHOLE, AS_LINES))
    for number, value in enumerate(cast(list[object], values), start=1):
        yield _row(path, f"row {number}", value)


def json_object(path: str) -> Row:
    """Return a file that is a single JSON object as one row."""
    value = _parsed(path, "the file", whole(path, MOST_WHOLE, "cut it into several"))
    if not isinstance(value, dict):
        raise SourceError(
            f"{path}: expected one JSON object, found {type(value).__name__}; check the format and the path"
        )
    return Row(path, "", value)


def _parsed(path: str, place: str, content: bytes) -> object:
    try:
        return cast(object, orjson.loads(content))
    except orjson.JSONDecodeError as error:
        try:
            content.decode()
        except UnicodeDecodeError as undecodable:
            raise SourceError(
                f"{path}: {place}: expected UTF-8, found byte {content[undecodable.start]:#04x} "
                f"at {undecodable.start}; save the file as UTF-8"
            ) from undecodable
        at = f"character {error.colno}" if error.lineno == 1 else f"line {error.lineno}, character {error.colno}"
        problem = f"{error.msg} at {at}; correct it, or name another format"
        raise SourceError(f"{path}: {place}: expected JSON, found {problem}") from error


def _row(path: str, place: str, value: object) -> Row:
    if not isinstance(value, dict):
        raise SourceError(
            f"{path}: {place}: expected a JSON object, found {type(value).__name__}; "
            "each row is an object with named fields"
        )
    return Row(path, place, value)


def csv_rows(spec: SourceSpec) -> Iterator[Row]:
    """Yield the rows below the header, numbered from 1. Cells are separated by tabs if the name has `.tsv` in it."""
    path = spec.path
    tabs = ".tsv" in Path(path).suffixes
    csv.field_size_limit(MOST_LINE)
    with opened(path) as stream:
        text = _Lines(path, stream)
        reader = csv.reader(text, delimiter="\t" if tabs else ",", strict=True)
        number = 0
        try:
            header = next(reader, [])
            for cells in reader:
                text.begin_row()
                if not cells:
                    continue
                number += 1
                if len(cells) != len(header):
                    raise SourceError(
                        f"{path}: row {number} (line {reader.line_num}): expected {len(header)} cells as in the "
                        f"header, found {len(cells)}; quote cells that hold separators or line ends"
                    )
                yield Row(path, f"row {number}", dict(zip(header, cells, strict=True)))
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{path}: after row {number}: expected UTF-8, found {error.reason}; save the file as UTF-8"
            ) from error
        except csv.Error as error:
            raise SourceError(
                f"{path}: after row {number} (line {reader.line_num}): expected a CSV row, found {error}; "
                "correct the row, or give the data as jsonl"
            ) from error


class _Lines(Iterator[str]):
    """The lines of a CSV file, as long as a row has an end."""

    def __init__(self, path: str, stream: IO[bytes]) -> None:
        self._path, self._text = path, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        self._number = self._in_row = 0

    def begin_row(self) -> None:
        self._in_row = 0

    def __next__(self) -> str:
        line = self._text.readline(MOST_LINE + 1)
        if not line:
            raise StopIteration
        self._number += 1
        self._in_row += len(line)
        if self._in_row > MOST_LINE:
            raise SourceError(
                f"{self._path}: line {self._number}: expected at most {megabytes(MOST_LINE)} in a row, found more; "
                "look for a quotation mark that is not closed, and for line ends"
            )
        return line


def parquet_rows(path: str, columns: tuple[str, ...] | None = None) -> Iterator[Row]:
    """Yield the rows, numbered from 1, with those of `columns` that the file has."""
    check_is_file(path)

    import pyarrow.parquet  # here, so that naming a source does not load it

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            wanted = None if columns is None else [name for name in file.schema_arrow.names if name in columns]
            number = 0
            for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
                is_large = batch.nbytes > MOST_ROW
                for rows in (batch.slice(place, 1) for place in range(len(batch))) if is_large else (batch,):
                    if rows.nbytes > MOST_ROW:
                        raise SourceError(
                            f"{path}: row {number + 1}: expected at most {megabytes(MOST_ROW)} in a row, found more; "
                            "split its texts into rows"
                        )
                    for values in _python_rows(rows):
                        number += 1
                        yield Row(path, f"row {number}", values)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:  # of what is damaged inside it
        raise SourceError(f"{path}: expected Parquet, found {first_line(error)}; write the file again") from error


def _python_rows(batch: Any) -> Sequence[Mapping[str, object]]:
    """Return the rows of a record batch; a day or a time that Python cannot hold becomes `OutOfRange`."""
    try:
        return cast(list[dict[str, object]], batch.to_pylist())
    except OverflowError:
        columns = [[_python_value(value) for value in column] for column in batch.columns]
        return [dict(zip(batch.schema.names, values, strict=True)) for values in zip(*columns, strict=True)]


def _python_value(value: Any) -> object:
    try:
        return cast(object, value.as_py())
    except OverflowError:
        return OutOfRange(str(value.type))
