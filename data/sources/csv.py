"""Comma-separated values (tab-separated where the name ends in `.tsv`), with a header and a field map."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from data.sources import mapped
from data.sources.files import opened
from data.sources.spec import Entry, Row, SourceError, SourceSpec


def statements(spec: SourceSpec) -> Iterator[Entry]:
    """A statement a row."""
    return mapped.statements(spec, csv_rows(spec.path))


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """A question a row; its one answer is the whole cell."""
    return mapped.questions(spec, csv_rows(spec.path), mapped.CELL_FIELDS)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """A passage a row."""
    return mapped.passages(spec, csv_rows(spec.path))


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """An assignment a row."""
    return mapped.assignments(spec, csv_rows(spec.path))


def csv_rows(path: str) -> Iterator[Row]:
    """The rows below the header, numbered from 1; an empty cell is an empty string."""
    tabs = ".tsv" in Path(path).suffixes
    with opened(path) as stream:
        reader = csv.reader(
            io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), delimiter="\t" if tabs else ",", strict=True
        )
        number = 0
        try:
            header = next(reader, [])
            for cells in reader:
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
