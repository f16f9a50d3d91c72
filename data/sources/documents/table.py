"""A CSV file of texts: a text for each row, below its title if it has one."""

import csv
import io
from collections.abc import Iterator, Sequence

from data.sources.documents.document import Block, Document, Unreadable, decoded, one_line
from data.sources.opening import MOST_LINE

TEXT, TITLE = "text", "title"


def read_csv(content: bytes) -> Document:
    """Return the column `text`, or the only one; each text below its `title`, or its place (`row 3`)."""
    return _document(content, ",")


def read_tsv(content: bytes) -> Document:
    """Return the same of cells that are separated by tabs."""
    return _document(content, "\t")


def _document(content: bytes, delimiter: str) -> Document:
    csv.field_size_limit(MOST_LINE)
    rows = csv.reader(io.StringIO(decoded(content), newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip().casefold() for name in next(rows, [])]
        text = 0 if len(header) == 1 else header.index(TEXT)
        title = header.index(TITLE) if TITLE in header else None
        return Document(None, list(_blocks(rows, len(header), text, title)))
    except ValueError as error:
        raise Unreadable("no texts", f"no column called {TEXT}") from error
    except csv.Error as error:
        raise Unreadable("damaged", f"line {rows.line_num}: {error}") from error


def _blocks(rows: Iterator[Sequence[str]], width: int, text: int, title: int | None) -> Iterator[Block]:
    for number, cells in enumerate(filter(None, rows), start=1):
        if len(cells) != width:
            raise csv.Error(f"{len(cells)} cells, where the header has {width}")
        heading = one_line(cells[title]) if title is not None else ""
        yield Block(heading or f"row {number}", level=1)
        for paragraph in cells[text].replace("\r\n", "\n").split("\n\n"):
            yield Block(one_line(paragraph))
