"""Comma-separated values (tab-separated where the name ends in `.tsv`), with a header and a field map."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from data.sources.files import opened
from data.sources.spec import Row, SourceError, SourceSpec


def csv_rows(spec: SourceSpec) -> Iterator[Row]:
    """The rows below the header, numbered from 1; an empty cell is an empty string."""
    path = spec.path
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
