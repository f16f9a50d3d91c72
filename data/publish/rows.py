"""Turns a part's accepted rows into the Parquet files of released configurations.

Rows travel as Arrow tables: a context of 1.5 MB is copied, never made into a Python text. No `huggingface` metadata
is written: every version of `datasets` derives the same features from the Arrow types, while versions before 4 refuse
files whose metadata name the feature types of later ones.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.parquet import COMPRESSION, GROUP_BYTES, PAGE_BYTES, FilesWriter
from data.publish.benchmark import ReadyColumn
from data.publish.folder import DATA
from data.publish.reading import plain_rows, read_batches, without_maps
from schemas.errors import Failed, WrongInput

SPLIT = "test"
"""Benchmarks are for testing."""
UNREVIEWED_ALLOWED = "unreviewed_allowed"
"""The `decision` of a row that nobody reviewed, though its part asks people for every row, and that was released."""
ADDED = (
    pa.field("reviewed", pa.bool_(), metadata={"description": "People accepted this row as it stands"}),
    pa.field(
        "decision",
        pa.string(),
        metadata={
            "description": "What people decided: `accept`, or `fix`, and the row stands as they corrected it; "
            f"`{UNREVIEWED_ALLOWED}`: people had to, nobody did, and it was let through; null: nobody did, and "
            "nobody had to"
        },
    ),
    pa.field(
        "canary",
        pa.string(),
        metadata={"description": "The same in every row, to be found again where the data got into a training corpus"},
    ),
)
"""Columns of a released row beside the record's own fields; `reviewed` may be one of those already."""
BOOKKEEPING = frozenset(("id", "provenance", *(field.name for field in ADDED)))
"""Columns of every configuration that no model is shown or scored by: its name, its origin, and its review."""

_WAITING_BYTES = 4 * GROUP_BYTES
"""Limit on rows that wait for their row group to fill, over all configurations of a part."""
_CONFIG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,95}")
_SPLIT = re.compile(r"[A-Za-z0-9_]{1,32}")
"""`datasets` takes no hyphen in a split's name."""


@dataclass(frozen=True)
class Ruling:
    """Where an accepted row goes."""

    config: str
    held_back: str | None = None
    """Why it is not released: a short phrase out of a small set, to be counted."""
    held_out: bool = False
    """It goes to the private rows."""
    of_private_source: bool = False
    """It is held out since it rests on a private source, or shows text of one."""
    decision: str | None = None


@dataclass(frozen=True)
class ReleasedRows:
    """A configuration as it was written; fields as in `schemas.release.ReleasedConfig`."""

    name: str
    split: str
    rows: int
    reviewed: int
    held_back: Mapping[str, int]
    held_out: int
    of_private_sources: int
    fields: Mapping[str, str]
    """Column -> Arrow type; empty if no row was released."""
    files: tuple[str, ...]
    private_files: tuple[str, ...]
    """Files of the private share, relative to its own folder."""


def write_rows(
    files: Iterable[Path],
    folder: Path,
    rule: Callable[[Mapping[str, Any]], Ruling],
    *,
    canary: str,
    columns: Sequence[str] = (),
    private: Path | None = None,
    split: str = SPLIT,
    ready: Sequence[ReadyColumn] = (),
) -> tuple[ReleasedRows, ...]:
    """Write the accepted rows in `files` to `folder/data/<config>/<split>[-NNNNN-of-NNNNN].parquet`.

    `rule` is called once for each row, in order, with its `key`, `id`, `reviewed` (None if the part has no such
    field) and the named `columns`. The `ready` columns are made for every row. Each file is read once, a few
    megabytes at a time, and each configuration's files are replaced as a whole. A configuration of which no row is
    released has no files. Rows of the private share go into the folder `private` under the same names.

    Returns the configurations sorted by name. Equal rows and rulings give equal bytes. Raises `Failed` if a file
    cannot be read or written, `WrongInput` for a name that no configuration can have.
    """
    part = _Part(folder, private, canary, split, ready)
    try:
        for path in files:
            for batch in read_batches(path):
                table = pa.Table.from_batches([batch.values])
                part.add(table, [rule(row) for row in _short(table, columns)])
        return part.finish()
    except BaseException:
        part.discard()
        raise


class _Part:
    """The configurations that a part's rows go to."""

    def __init__(
        self, folder: Path, private: Path | None, canary: str, split: str, ready: Sequence[ReadyColumn]
    ) -> None:
        if _SPLIT.fullmatch(split) is None:
            raise WrongInput(f"split {split!r}: expected letters, digits and `_`; give it another name")
        self._roots = {False: folder, True: private}
        self._canary = canary
        self._split = split
        self._ready = ready
        self._held_back: dict[str, Counter[str]] = {}
        self._of_private_sources: Counter[str] = Counter()
        self._writers: dict[tuple[str, bool], _ConfigWriter] = {}

    def add(self, table: pa.Table, rulings: Sequence[Ruling]) -> None:
        places: dict[tuple[str, bool], list[int]] = {}
        for place, ruling in enumerate(rulings):
            held_back = self._held_back.setdefault(ruling.config, Counter())
            if ruling.held_back is not None:
                held_back[ruling.held_back] += 1
            else:
                places.setdefault((ruling.config, ruling.held_out), []).append(place)
                self._of_private_sources[ruling.config] += ruling.of_private_source
        for (config, held_out), chosen in places.items():
            rows = table if len(chosen) == table.num_rows else table.take(chosen)
            decisions = [rulings[place].decision for place in chosen]
            self._writer(config, held_out).add(_released(rows, decisions, self._canary, self._ready))
        while sum(writer.waiting_bytes for writer in self._writers.values()) > _WAITING_BYTES:
            max(self._writers.values(), key=lambda writer: writer.waiting_bytes).flush()

    def finish(self) -> tuple[ReleasedRows, ...]:
        files = {name: writer.finish() for name, writer in sorted(self._writers.items())}
        return tuple(
            self._config(config, held_back, files.get((config, False), []), files.get((config, True), []))
            for config, held_back in sorted(self._held_back.items())
        )

    def _config(
        self, config: str, held_back: Counter[str], public: Sequence[Path], private: Sequence[Path]
    ) -> ReleasedRows:
        writer, private_writer = (self._writers.get((config, held_out)) for held_out in (False, True))
        return ReleasedRows(
            name=config,
            split=self._split,
            rows=writer.rows if writer else 0,
            reviewed=writer.reviewed if writer else 0,
            held_back=dict(sorted(held_back.items())),
            held_out=private_writer.rows if private_writer else 0,
            of_private_sources=self._of_private_sources[config],
            # As a reader finds them: Parquet renames what a list holds.
            fields=fields_of(pq.read_schema(public[0])) if public else {},
            files=tuple(f"{DATA}/{config}/{path.name}" for path in public),
            private_files=tuple(f"{DATA}/{config}/{path.name}" for path in private),
        )

    def discard(self) -> None:
        for writer in self._writers.values():
            writer.discard()

    def _writer(self, config: str, held_out: bool) -> "_ConfigWriter":
        if (config, held_out) not in self._writers:
            if _CONFIG.fullmatch(config) is None:
                advice = "expected letters, digits, `_` and `-`; rename the dataset or the part in the configuration"
                raise WrongInput(f"configuration {config!r}: {advice}")
            root = self._roots[held_out]
            assert root is not None, "a row is held out, and there is no folder for the private share"
            self._writers[config, held_out] = _ConfigWriter(root / DATA / config, self._split)
        return self._writers[config, held_out]


class _ConfigWriter:
    """Gathers the rows of a configuration into row groups and writes them."""

    def __init__(self, folder: Path, split: str) -> None:
        self.waiting_bytes = 0
        self.rows = 0
        self.reviewed = 0
        self._folder = folder
        self._waiting: list[pa.Table] = []
        self._files = FilesWriter(folder, split, _options)
        self._schema: pa.Schema | None = None

    def add(self, table: pa.Table) -> None:
        self._schema = self._schema or table.schema
        if not table.schema.equals(self._schema):
            raise Failed(
                f"configuration {self._folder.name}: its accepted files have different columns; run the build again"
            )
        self.rows += table.num_rows
        self.reviewed += sum(table["reviewed"].to_pylist())
        for piece in _pieces(table):
            if self.waiting_bytes + piece.nbytes > GROUP_BYTES:
                self.flush()
            self._waiting.append(piece)
            self.waiting_bytes += piece.nbytes

    def flush(self) -> None:
        """Write the waiting rows as a row group."""
        if self._waiting:
            group = pa.concat_tables(self._waiting)
            self._files.write(group, group.nbytes)
            self._waiting, self.waiting_bytes = [], 0

    def finish(self) -> list[Path]:
        """Give the files their names, in place of all files that were in the folder before."""
        self.flush()
        files = [path for path, _ in self._files.finish()]
        for stale in (*self._folder.glob("*.parquet"), *self._folder.glob(".*.parquet.tmp")):
            if stale not in files:
                stale.unlink()
        return files

    def discard(self) -> None:
        self._files.discard()


def _options(group: pa.Table) -> dict[str, Any]:
    return {
        **COMPRESSION,
        "write_page_index": True,
        "write_page_checksum": True,
        "data_page_size": PAGE_BYTES,
        # pyarrow checks a page's size after so many rows: a page is to hold few long ones.
        "write_batch_size": max(1, min(1024, PAGE_BYTES * group.num_rows // max(group.nbytes, 1))),
    }


def _short(table: pa.Table, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the columns of each row that a rule sees."""
    names = [name for name in ("key", "id", "reviewed", *columns) if name in table.column_names]
    for row in table.select(names).to_pylist():
        yield {"reviewed": None, **row}


def _released(table: pa.Table, decisions: Sequence[str | None], canary: str, ready: Sequence[ReadyColumn]) -> pa.Table:
    """Return the rows with the columns that a release adds, in types that `datasets` reads."""
    count = table.num_rows
    reviewed, decision, stamp = ADDED
    if "reviewed" in table.column_names:
        seen = table["reviewed"].fill_null(False)
    else:
        seen = pa.array([False] * count, pa.bool_())
    record = table.drop_columns([field.name for field in ADDED if field.name in table.column_names])
    record = record.cast(pa.schema([without_maps(field) for field in record.schema]))
    for column in ready:
        made = [column.value(row[column.of]) for row in plain_rows(record.select([column.of]))]
        record = record.append_column(
            pa.field(column.name, pa.string(), metadata={"description": column.description}),
            pa.array(made, pa.string()),
        )
    return (
        record.append_column(reviewed, seen)
        .append_column(decision, pa.array(decisions, pa.string()))
        .append_column(stamp, pa.array([canary] * count, pa.string()))
    )


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the table in pieces of at most a row group's size; a single row may be longer."""
    if table.nbytes <= GROUP_BYTES or table.num_rows == 1:
        yield table
        return
    middle = table.num_rows // 2
    yield from _pieces(table.slice(0, middle))
    yield from _pieces(table.slice(middle))


def fields_of(schema: pa.Schema) -> dict[str, str]:
    """Return column -> Arrow type."""
    return {field.name: str(field.type) for field in schema}
