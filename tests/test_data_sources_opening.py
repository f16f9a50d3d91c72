"""What is no file, unpacks to too much or never ends is refused by name, before it takes time or memory."""

import gzip
import io
import os
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.sources import SourceError, SourceSpec, check_source, opening, read_source
from data.sources import documents as reading
from data.sources.fingerprint import source_fingerprint
from schemas.source import Passage, QASource, Statement
from tests import documents

MIB = 2**20
FORMATS = {"jsonl": Statement, "csv": Statement, "parquet": Statement, "squad": QASource, "book": Passage,
           "documents": Passage, "touchstone": Statement}  # fmt: skip


def told(path: Path | str, format_: str) -> str:
    """What is said of a source, whose shape follows from its format."""
    spec = SourceSpec(format=format_, path=str(path))
    with pytest.raises(SourceError) as raised:  # noqa: PT012 - the first that notices
        check_source(spec, FORMATS[format_])
        list(read_source(spec, FORMATS[format_], lambda dropped: None))
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)
    return str(raised.value)


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Things that are no files, by what they are."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "circle.jsonl").symlink_to(tmp_path / "circle.jsonl")
    (tmp_path / "zeros.jsonl").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket.jsonl"))
        yield {
            "found a pipe": tmp_path / "pipe.jsonl", "found a device": tmp_path / "zeros.jsonl",
            "found a socket": tmp_path / "socket.jsonl", "levels of symbolic links": tmp_path / "circle.jsonl",
            "File name too long": tmp_path / ("a" * 300),
        }  # fmt: skip


@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_no_file_is_refused_by_what_it_is(strange: dict[str, Path], format_: str) -> None:
    for what, path in strange.items():
        is_pattern = format_ == "documents" and not os.path.lexists(path)
        assert ("no file matches" if is_pattern else what) in told(path, format_)
        if format_ != "documents":
            with pytest.raises(SourceError, match=what):
                source_fingerprint(SourceSpec(format=format_, path=str(path)))
    assert "found a device" in told("/dev/urandom", format_)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    assert "found a folder; name a file" in told(tmp_path, "csv")


def test_a_gzip_file_unpacks_to_no_more_than_a_hundred_times_its_size(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.jsonl.gz"
    lines = (b" " * 16383 + b"\n") * (80 * MIB >> 14)
    bomb.write_bytes(gzip.compress(lines, compresslevel=1, mtime=0))
    assert "unpacks to more than 64 MiB, 100 times its size; unpack it yourself" in told(bomb, "jsonl")
    bomb.write_bytes(gzip.compress(b"text\n" + lines, compresslevel=1, mtime=0))
    assert "unpacks to more than 64 MiB" in told(bomb, "csv")


def test_a_gzip_file_of_texts_is_read_whatever_it_unpacks_to(tmp_path: Path) -> None:
    rows = b"".join(b'{"text": "%s"}\n' % os.urandom(20_000).hex().encode() for _ in range(45)) * 40
    path = tmp_path / "facts.jsonl.gz"
    path.write_bytes(gzip.compress(rows, compresslevel=1))
    assert len(rows) > opening.SMALL
    spec = SourceSpec(format="jsonl", path=str(path))
    assert sum(1 for _ in read_source(spec, Statement, lambda dropped: None)) == 45


def test_a_line_that_never_ends_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "endless.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": "' + b"a" * 33 * MIB)
    assert "line 2: expected at most 32 MiB in a line, found more" in told(path, "jsonl")


def test_a_row_of_csv_that_never_ends_is_refused(tmp_path: Path) -> None:
    one_line, many_lines, many_cells = (tmp_path / f"{name}.csv" for name in ("one", "many", "cells"))
    one_line.write_bytes(b"text\n" + b"a" * 33 * MIB)
    line = b"a" * 999 + b"\n"
    many_lines.write_bytes(b'text\n"' + line * 34_000)
    many_cells.write_bytes(b"text\n" + (b'"' + line * 2 + b'",') * 17_000)
    assert "line 2: expected at most 32 MiB in a row" in told(one_line, "csv")
    assert "expected at most 32 MiB in a row, found more; look for a quotation mark" in told(many_lines, "csv")
    assert "expected at most 32 MiB in a row" in told(many_cells, "csv")


def test_a_cell_may_be_as_long_as_a_row(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_bytes(b"text\r" + b"a b " * MIB + b"\rIce is cold.\r")
    records = list(read_source(SourceSpec(format="csv", path=str(path)), Statement, pytest.fail))
    assert [len(record.text) for record in records] == [4 * MIB - 1, 12]


def test_a_single_value_of_json_has_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "squad.json"
    path.write_bytes(b'{"data": [' + b" " * 257 * MIB + b"]}")
    assert "squad.json: expected at most 256 MiB, found more; cut it into several" in told(path, "squad")
    path = tmp_path / "book.txt"
    path.write_bytes(b"a" * 33 * MIB)
    assert "book.txt: expected at most 32 MiB, found more" in told(path, "book")


def test_documents_that_are_too_large_are_dropped_by_their_format(tmp_path: Path) -> None:
    files = {
        "notes.txt": b"a " * 9 * MIB,
        "list.md": b"- a\n" * (reading.MOST_MARKS // 2 + 1) + b"*a* " * (reading.MOST_MARKS // 4 + 1),
        "tags.html": b"<i>" * (reading.MOST_MARKS + 1),
        "rows.csv": b"text\n" + b"a\n" * (reading.MOST_MARKS + 1),
        "zeros.docx": documents.bomb(),
        "xml.docx": packed({"word/document.xml": b" " * 40 * MIB}),
    }
    kept, dropped = documents.read(documents.written(tmp_path, {**files, "a.txt": documents.sentences(9)}))
    assert len(kept) == 1
    assert {(drop.item_id is not None, drop.reason) for drop in dropped} == {(True, "too large")}
    assert sorted(drop.evidence for drop in dropped) == sorted([
        "18,874,368 bytes", "500,003 lines, tags or marks", "500,001 lines, tags or marks",
        "500,002 lines, tags or marks", "unpacks to 400,000,000 bytes, 400,000,000 of XML",
        "unpacks to 41,943,040 bytes, 41,943,040 of XML",
    ])  # fmt: skip


def packed(parts: dict[str, bytes]) -> bytes:
    """A ZIP file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def test_a_row_of_parquet_unpacks_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    texts = ["a" * 8 * MIB, *["b" * 8 * MIB] * 3, "c" * (16 * MIB + 1)]
    pq.write_table(pa.table({"text": texts}), path, compression="zstd")
    assert path.stat().st_size < MIB // 4
    assert "rows.parquet: row 5: expected at most 16 MiB in a row, found more" in told(path, "parquet")


def test_parquet_that_is_damaged_inside_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    pq.write_table(pa.table({"text": [f"Snow is white {number}." for number in range(50)]}), path, compression="snappy")
    whole, messages = path.read_bytes(), set()
    for place in range(4, len(whole) - 8, 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            list(read_source(SourceSpec(format="parquet", path=str(path)), Statement, lambda dropped: None))
        except SourceError as error:
            messages.add(str(error).partition(": ")[2].partition(" found")[0])
    assert "expected Parquet," in messages
