"""A part's accepted rows become the Parquet files of released configurations, and are read back from them.

Rows travel as Arrow tables: a context of 1.5 MB is copied, never made into a Python text. What `datasets` cannot
read, which is Arrow's map type, is released as a list of `{key, value}` and read back as the mapping it was.
No `huggingface` metadata is written into the files: every version of `datasets` derives the same features from
the Arrow types, while versions before 4 refuse files whose metadata name the feature types of later ones.
"""

import contextlib
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.output import FILE_BYTES
from data.publish.folder import DATA
from data.rows import COMPRESSION, GROUP_BYTES, PAGE_BYTES
from schemas.errors import Failed, WrongInput, first_line

SPLIT = "test"
"""A benchmark is there to test with."""
UNREVIEWED_ALLOWED = "unreviewed_allowed"
"""The `decision` of a row whose part asks people for every row, that none of them saw, and that was let through."""
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
"""What a released row has beside the record's own fields; `reviewed` may be one of them already."""

_HELD_BYTES = 4 * GROUP_BYTES
"""Rows that wait for their row group to be full, over all configurations of a part."""
_BATCH_BYTES = 4 * 2**20
"""About what is read at once."""
_CONFIG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,95}")
_SPLIT = re.compile(r"[A-Za-z0-9_]{1,32}")
"""`datasets` takes no hyphen in a split's name."""
_MARK = b"touchstone"
_MAP = b"map"


@dataclass(frozen=True)
class Ruling:
    """What becomes of an accepted row."""

    config: str
    held_back: str | None = None
    """Why it is not released: a short phrase out of a small set, to be counted."""
    held_out: bool = False
    """It goes to the private share."""
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
    fields: Mapping[str, str]
    """Column -> Arrow type; empty where no row was released."""
    files: tuple[str, ...]
    private_files: tuple[str, ...]
    """Of the private share, relative to its own folder."""


def write_rows(
    files: Iterable[Path],
    folder: Path,
    rule: Callable[[Mapping[str, Any]], Ruling],
    *,
    canary: str,
    columns: Sequence[str] = (),
    private: Path | None = None,
    split: str = SPLIT,
) -> tuple[ReleasedRows, ...]:
    """Write the accepted rows in `files` to `folder/data/<config>/<split>[-NNNNN-of-NNNNN].parquet`.

    `rule` is called once for each row, in order, with its `key`, `id`, `reviewed` (None where the part has no
    such field) and the `columns` named. Each file is read once, some megabytes at a time, and each configuration's
    files are replaced as a whole. A configuration none of whose rows is released has no files. Rows of the
    private share go under the same names into the folder `private`.

    The configurations come by name. Equal rows and rulings give equal bytes. Raises `Failed` where a file cannot
    be read or written, `WrongInput` for a name that no configuration can have.
    """
    part = _Part(folder, private, canary, split)
    try:
        for path in files:
            for batch in read_batches(path):
                table = pa.Table.from_batches([batch.values])
                part.add(table, [rule(row) for row in _short(table, columns)])
        return part.finish()
    except BaseException:
        part.discard()
        raise


def read_released(folder: Path, files: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The rows of a configuration's files as plain values, as `schemas` records take them: mappings as mappings.

    Beside the record's fields each has `reviewed`, `decision` and `canary`. Raises `Failed`.
    """
    for path in files:
        for batch in read_batches(folder / path):
            yield from batch.rows()


@dataclass(frozen=True)
class Batch:
    """Some rows of a released file, in order."""

    group: int
    first: int
    """Place of its first row in the row group."""
    values: pa.RecordBatch

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as plain values, one at a time."""
        return plain_rows(self.values)


def read_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[Batch]:
    """The file's rows, of `columns` or of all, some megabytes at a time. Raises `Failed`."""
    with opened(path) as file:
        for group in range(file.num_row_groups):
            described = file.metadata.row_group(group)
            fit = _BATCH_BYTES * described.num_rows // max(described.total_byte_size, 1)
            first = 0
            batches = file.iter_batches(max(1, min(fit, 1024)), row_groups=[group], columns=columns)
            while (values := _next(batches, path)) is not None:
                yield Batch(group, first, values)
                first += values.num_rows


def opened(path: Path) -> pq.ParquetFile:
    """The Parquet file, its pages' checksums verified as they are read. Raises `Failed`."""
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def plain_rows(values: pa.RecordBatch | pa.Table) -> Iterator[dict[str, Any]]:
    """Each row as plain values, one at a time."""
    mapped = [field.name for field in values.schema if _holds_map(field)]
    for place in range(values.num_rows):
        (row,) = values.slice(place, 1).to_pylist()
        for name in mapped:
            row[name] = _with_maps(values.schema.field(name), row[name])
        yield row


# ---- writing ----


class _Part:
    """The configurations that a part's rows go to."""

    def __init__(self, folder: Path, private: Path | None, canary: str, split: str) -> None:
        if _SPLIT.fullmatch(split) is None:
            raise WrongInput(f"split {split!r}: expected letters, digits and `_`; give it another name")
        self._roots = {False: folder, True: private}
        self._canary = canary
        self._split = split
        self._held_back: dict[str, Counter[str]] = {}
        self._writers: dict[tuple[str, bool], _Writer] = {}

    def add(self, table: pa.Table, rulings: Sequence[Ruling]) -> None:
        places: dict[tuple[str, bool], list[int]] = {}
        for place, ruling in enumerate(rulings):
            held_back = self._held_back.setdefault(ruling.config, Counter())
            if ruling.held_back is not None:
                held_back[ruling.held_back] += 1
            else:
                places.setdefault((ruling.config, ruling.held_out), []).append(place)
        for (config, held_out), chosen in places.items():
            rows = table if len(chosen) == table.num_rows else table.take(chosen)
            decisions = [rulings[place].decision for place in chosen]
            self._writer(config, held_out).add(_released(rows, decisions, self._canary))
        while sum(one.held for one in self._writers.values()) > _HELD_BYTES:
            max(self._writers.values(), key=lambda one: one.held).flush()

    def finish(self) -> tuple[ReleasedRows, ...]:
        written = {name: writer.finish() for name, writer in sorted(self._writers.items())}
        made = []
        for config, held_back in sorted(self._held_back.items()):
            public, private = (self._writers.get((config, held_out)) for held_out in (False, True))
            made.append(
                ReleasedRows(
                    name=config,
                    split=self._split,
                    rows=public.rows if public else 0,
                    reviewed=public.reviewed if public else 0,
                    held_back=dict(sorted(held_back.items())),
                    held_out=private.rows if private else 0,
                    fields=_fields(self._folder(config, held_out=False), written.get((config, False))),
                    files=written.get((config, False), ()),
                    private_files=written.get((config, True), ()),
                )
            )
        return tuple(made)

    def discard(self) -> None:
        for writer in self._writers.values():
            writer.discard()

    def _writer(self, config: str, held_out: bool) -> "_Writer":
        if (config, held_out) not in self._writers:
            if _CONFIG.fullmatch(config) is None:
                advice = "expected letters, digits, `_` and `-`; rename the dataset or the part in the configuration"
                raise WrongInput(f"configuration {config!r}: {advice}")
            self._writers[config, held_out] = _Writer(self._folder(config, held_out), self._split)
        return self._writers[config, held_out]

    def _folder(self, config: str, held_out: bool) -> Path:
        root = self._roots[held_out]
        assert root is not None, "a row is held out, and there is no folder for the private share"
        return root / DATA / config


class _Writer:
    """Writes the files of a configuration, under temporary names until they are whole."""

    def __init__(self, folder: Path, split: str) -> None:
        self.held = 0
        self.rows = 0
        self.reviewed = 0
        self._folder = folder
        self._split = split
        self._waiting: list[pa.Table] = []
        self._file: pq.ParquetWriter | None = None
        self._in_file = 0
        self._temporary: list[Path] = []
        self._schema: pa.Schema | None = None

    def add(self, table: pa.Table) -> None:
        if self._schema is None:
            self._schema = table.schema
        elif not table.schema.equals(self._schema):
            raise Failed(
                f"configuration {self._folder.name}: its accepted files have different columns; run the build again"
            )
        self.rows += table.num_rows
        self.reviewed += sum(table["reviewed"].to_pylist())
        for piece in _pieces(table):
            if self.held + piece.nbytes > GROUP_BYTES:
                self.flush()
            self._waiting.append(piece)
            self.held += piece.nbytes

    def flush(self) -> None:
        """Write what waits as a row group."""
        if not self._waiting:
            return
        try:
            self._write(pa.concat_tables(self._waiting))
        except OSError as error:
            raise self._unwritable(error) from error
        self._waiting, self.held = [], 0

    def finish(self) -> tuple[str, ...]:
        """Give the files their names, in place of those that were there."""
        self.flush()
        try:
            self._close()
            for stale in self._folder.glob("*.parquet"):
                stale.unlink()
            names = []
            for number, temporary in enumerate(self._temporary):
                count = len(self._temporary)
                suffix = f"-{number:05}-of-{count:05}" if count > 1 else ""
                path = self._folder / f"{self._split}{suffix}.parquet"
                temporary.replace(path)
                names.append(f"{DATA}/{self._folder.name}/{path.name}")
            for left in self._folder.glob(".*.parquet.tmp"):  # by a run that was killed
                left.unlink()
        except OSError as error:
            raise self._unwritable(error) from error
        return tuple(names)

    def discard(self) -> None:
        """Remove what was begun."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # it says again what is said already
                self._file.close()
            self._file = None
        for temporary in self._temporary:
            temporary.unlink(missing_ok=True)

    def _write(self, group: pa.Table) -> None:
        if self._in_file >= FILE_BYTES:
            self._close()
        if self._file is None:
            temporary = self._folder / f".{self._split}-{len(self._temporary)}.parquet.tmp"
            self._folder.mkdir(parents=True, exist_ok=True)
            self._temporary.append(temporary)
            self._file = pq.ParquetWriter(
                temporary,
                group.schema,
                **COMPRESSION,
                write_page_index=True,
                write_page_checksum=True,
                data_page_size=PAGE_BYTES,
                # A page's size is looked at after so many rows: of long ones a page is to hold few.
                write_batch_size=max(1, min(1024, PAGE_BYTES * group.num_rows // max(group.nbytes, 1))),
            )
        self._file.write_table(group, row_group_size=group.num_rows)
        self._in_file += group.nbytes

    def _close(self) -> None:
        if self._file is not None:
            file, self._file, self._in_file = self._file, None, 0
            file.close()

    def _unwritable(self, error: OSError) -> Failed:
        free = shutil.disk_usage(self._folder).free // 2**20 if self._folder.is_dir() else 0
        return Failed(
            f"{self._folder}: cannot be written ({error}; {free} MB are free there); free space, then run again"
        )


def _short(table: pa.Table, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What a rule is told of each row."""
    names = [name for name in ("key", "id", "reviewed", *columns) if name in table.column_names]
    for row in table.select(names).to_pylist():
        yield {"reviewed": None, **row}


def _released(table: pa.Table, decisions: Sequence[str | None], canary: str) -> pa.Table:
    """The rows with the columns that a release adds, in types that `datasets` reads."""
    own = [name for name in table.column_names if name not in {field.name for field in ADDED}]
    count = table.num_rows
    reviewed, decision, stamp = ADDED
    seen = (
        table["reviewed"].fill_null(False)
        if "reviewed" in table.column_names
        else pa.array([False] * count, pa.bool_())
    )
    record = table.select(own)
    record = record.cast(pa.schema([_without_maps(field) for field in record.schema]))
    return (
        record.append_column(reviewed, seen)
        .append_column(decision, pa.array(decisions, pa.string()))
        .append_column(stamp, pa.array([canary] * count, pa.string()))
    )


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    """The table in pieces of a row group's size or less, where a single row is no longer than that."""
    if table.nbytes <= GROUP_BYTES or table.num_rows == 1:
        yield table
        return
    middle = table.num_rows // 2
    yield from _pieces(table.slice(0, middle))
    yield from _pieces(table.slice(middle))


def _fields(folder: Path, files: Sequence[str] | None) -> dict[str, str]:
    """The columns as a reader finds them: Parquet renames what a list holds."""
    if not files:
        return {}
    return fields_of(pq.read_schema(folder / Path(files[0]).name))


def fields_of(schema: pa.Schema) -> dict[str, str]:
    """Column -> Arrow type."""
    return {field.name: str(field.type) for field in schema}


# ---- maps ----


def _without_maps(field: pa.Field) -> pa.Field:
    """The field with each map in it, however deep, as a list of `{key, value}` that says what it was."""
    kind = field.type
    if pa.types.is_map(kind):
        value = _without_maps(pa.field("value", kind.item_type))
        pair = pa.struct([pa.field("key", kind.key_type), value])
        return pa.field(field.name, pa.list_(pair), metadata={**(field.metadata or {}), _MARK: _MAP})
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(_without_maps(kind.value_field)))
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([_without_maps(one) for one in kind]))
    return field


def _holds_map(field: pa.Field) -> bool:
    if (field.metadata or {}).get(_MARK) == _MAP:
        return True
    if pa.types.is_list(field.type):
        return _holds_map(field.type.value_field)
    return pa.types.is_struct(field.type) and any(_holds_map(one) for one in field.type)


def _with_maps(field: pa.Field, value: Any) -> Any:
    if value is None:
        return None
    if (field.metadata or {}).get(_MARK) == _MAP:
        held = field.type.value_type.field("value")
        return {pair["key"]: _with_maps(held, pair["value"]) for pair in value}
    if pa.types.is_list(field.type):
        return [_with_maps(field.type.value_field, one) for one in value]
    if pa.types.is_struct(field.type):
        return {one.name: _with_maps(one, value[one.name]) for one in field.type}
    return value


# ---- reading ----


def _next(batches: Iterator[pa.RecordBatch], path: Path) -> pa.RecordBatch | None:
    try:
        return next(batches, None)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> Failed:
    """What is said of a file that is not there, or not whole."""
    return Failed(f"{path}: cannot be read ({first_line(error)}); download it again, or run the build again")
