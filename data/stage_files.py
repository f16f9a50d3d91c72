"""The one place that writes stage files.

A stage is a folder `<family>/<part>/<step>-<fingerprint>/`. For each shard it holds the kept records
(`00000-<mark>.jsonl`, or `.parquet` for rows with a long text), the drops (`00000-<mark>.dropped.jsonl`), each if there
are any, and a manifest (`00000.json`) that names the mark. `manifest.json` is written last and makes the stage exist. A
stage whose build was killed holds whole shards only, and the next build goes on from them. Every writer has its own
mark: if two workers write the same shard, neither touches the other's files, and whichever manifest is written last is
true.
"""

import contextlib
import errno
import hashlib
import math
import os
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Generic, Self, TypeVar

import orjson
import pyarrow as pa
from pydantic import ValidationError

from data.checksum import checksum
from data.parquet import LongTextWriter, read_columns, read_rows
from data.store import DamageError, Store
from schemas.base import Dropped, Frozen, Record
from schemas.errors import Failed
from schemas.manifest import ShardManifest, StageManifest, UsageOfPrompt

R = TypeVar("R", bound=Record)
M = TypeVar("M", StageManifest, ShardManifest)
BLOCK_BYTES = 2**20
"""Read at once of a stage's file."""


class StageFiles:
    """The files of one stage, finished or not."""

    def __init__(self, store: Store, family: str, part: str, step: str, fingerprint: str) -> None:
        self.store = store
        self.name = f"{family}/{part}/{step}-{fingerprint}"
        self.folder = f"{store.root}/{self.name}"

    def manifest(self) -> StageManifest | None:
        """Return the stage's manifest; None while it is unfinished."""
        return self._read(f"{self.folder}/manifest.json", StageManifest)

    def shard(self, index: int) -> ShardManifest | None:
        """Return a finished shard's manifest; None while it is unfinished."""
        return self._read(f"{self.folder}/{index:05}.json", ShardManifest)

    def spans(self) -> list[ShardManifest]:
        """Return the manifests of the finished shards that cover spans of the input, in order, none twice."""
        shards: list[ShardManifest] = []
        for index in sorted(self._indices()):
            shard = self.shard(index)
            # Two builds that made the stage on two machines may have cut it in two ways.
            if shard is not None and shard.stop is not None and (not shards or (shards[-1].stop or 0) <= index):
                shards.append(shard)
        return shards

    def _indices(self) -> Iterator[int]:
        for name in self._names():
            if name.removesuffix(".json").isdigit():
                yield int(name.removesuffix(".json"))

    def _names(self) -> set[str]:
        """Return the names of the files that there are."""
        with self.store.reaching(self.folder):
            try:
                return {path.rpartition("/")[2] for path in self.store.fs.ls(self.folder, detail=False)}
            except FileNotFoundError:
                return set()

    def _read(self, path: str, kind: type[M]) -> M | None:
        content = self.store.read(path)
        if content is None:
            return None
        try:
            return kind.model_validate_json(content)
        except ValidationError as error:
            raise DamageError(path) from error

    def check(self) -> None:
        """Raise `DamageError` if a file of the stage, or of a finished shard of it, is missing or was changed.

        In a remote store, files are looked for, but not fetched. Shards of a finished stage are in its manifest.
        """
        manifest = self.manifest()
        shards = manifest.shards if manifest else [self.shard(index) for index in sorted(self._indices())]
        there = self._names()
        for shard in filter(None, shards):
            kept = [(self.kept(shard), shard.kept_sha256)] if shard.kept else []
            dropped = [(self.dropped(shard), shard.dropped_sha256)] if shard.dropped else []
            for path, sha256 in (*kept, *dropped):
                if path.rpartition("/")[2] not in there:
                    raise DamageError(path)
                if self.store.is_local and checksum(Path(path)) != sha256:
                    raise DamageError(path)

    def finish(self, manifest: StageManifest) -> None:
        """Make the stage exist, with its shards' files alone: killed runs may have left others behind."""
        shards = {f"{shard.index:05}.json" for shard in manifest.shards}
        files = {path(shard).rpartition("/")[2] for shard in manifest.shards for path in (self.kept, self.dropped)}
        self.store.sweep(self.folder, {*shards, *files}.__contains__)
        self.store.write(f"{self.folder}/manifest.json", manifest.sealed(indent=True))

    def finish_shard(self, manifest: ShardManifest) -> None:
        """Make a shard exist."""
        self.store.write(f"{self.folder}/{manifest.index:05}.json", manifest.sealed())

    def path(self, index: int, mark: str, kind: str) -> str:
        """Return the path of a shard's file; `kind` is `kept`, `dropped`, or `rows` (kept records as Parquet)."""
        ending = {"kept": "jsonl", "dropped": "dropped.jsonl", "rows": "parquet"}[kind]
        return f"{self.folder}/{index:05}{'-' if mark else ''}{mark}.{ending}"

    def kept(self, shard: ShardManifest) -> str:
        """Return the path of a shard's kept records."""
        return self.path(shard.index, shard.mark, "kept" if shard.rows is None else "rows")

    def dropped(self, shard: ShardManifest) -> str:
        """Return the path of a shard's drops."""
        return self.path(shard.index, shard.mark, "dropped")

    @contextlib.contextmanager
    def reading(self, path: str) -> Iterator[IO[bytes]]:
        """Yield an open file of the stage. Raises `DamageError` if it is missing or wrong, and `Failed`."""
        try:
            with self.store.reaching(path), self.store.fs.open(path, "rb") as file:
                yield file
        except OSError as error:
            if error.errno not in (None, errno.ENOENT):  # Arrow's have none
                reason = os.strerror(error.errno)
                raise Failed(f"{path}: cannot be read ({reason}); check the disk, then run again") from error
            raise DamageError(path) from error
        except (ValueError, pa.ArrowException) as error:  # also a record that is not valid
            raise DamageError(path) from error

    def lines(self, path: str, sha256: str, start: int = 0, stop: float = math.inf) -> Iterator[bytes]:
        """Yield lines `start` to `stop` (exclusive) of a shard's file. Raises `DamageError` if it was changed.

        The whole file is read, to compare it with its checksum; blocks that hold none of the lines are only counted.
        """
        digest = hashlib.sha256()
        number, rest = 0, b""
        with self.reading(path) as file:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
                count = block.count(b"\n")
                if count == 0 or number + count <= start or number >= stop:
                    rest = block[block.rfind(b"\n") + 1 :] if count else rest + block
                    number += count
                    continue
                *lines, rest = (rest + block).split(b"\n")
                yield from lines[max(0, start - number) : max(0, int(min(stop - number, count)))]
                number += count
        if digest.hexdigest() != sha256:
            raise DamageError(path)


def new_mark() -> str:
    """Return a mark that no other writer has."""
    return uuid.uuid4().hex[:8]


class ShardWriter:
    """Writes one shard: records and drops as they come, then its manifest."""

    def __init__(self, files: StageFiles, index: int, stop: int | None = None, mark: str | None = None) -> None:
        """Of a shard that covers a span of the input, `index` is the first record and `stop` the one after the last.

        Shards of several stages that are written together share a `mark`.
        """
        self._files = files
        self._index = index
        self._stop = stop
        self._mark = mark or new_mark()
        self._started = time.monotonic()
        self._stack = contextlib.ExitStack()
        self._out: dict[str, IO[bytes]] = {}
        self._digests = {kind: hashlib.sha256() for kind in ("kept", "dropped")}
        self.kept = 0
        self.dropped: dict[str, int] = {}
        self.notes: dict[str, None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)  # type: ignore[arg-type] # the three that `with` gives

    def _file(self, kind: str) -> IO[bytes]:
        path = self._files.path(self._index, self._mark, kind)
        return self._stack.enter_context(self._files.store.writing(path))

    def _line(self, kind: str, record: Record | Dropped) -> None:
        line = record.model_dump_json().encode() + b"\n"
        if kind not in self._out:
            self._out[kind] = self._file(kind)
        self._digests[kind].update(line)
        self._out[kind].write(line)

    def keep(self, record: Record) -> None:
        """Write a record that passed."""
        self._line("kept", record)
        self.kept += 1

    def drop(self, dropped: Dropped) -> None:
        """Write a record that did not pass."""
        self._line("dropped", dropped)
        self.dropped[dropped.reason] = self.dropped.get(dropped.reason, 0) + 1

    def note(self, text: str) -> None:
        """Say something of the shard for people; the same text once."""
        self.notes[text] = None

    def finish(self, planned: int, usage: Mapping[str, UsageOfPrompt]) -> ShardManifest:
        """Make the shard exist. Call it after the `with` block."""
        return self._finished(planned, usage, self._digests["kept"].hexdigest(), None)

    def _finished(
        self, planned: int, usage: Mapping[str, UsageOfPrompt], sha256: str, rows: str | None
    ) -> ShardManifest:
        manifest = ShardManifest(
            index=self._index,
            stop=self._stop,
            mark=self._mark,
            planned=planned,
            kept=self.kept,
            dropped=dict(sorted(self.dropped.items())),
            kept_sha256=sha256,
            dropped_sha256=self._digests["dropped"].hexdigest(),
            usage=usage,
            seconds=time.monotonic() - self._started,
            rows=rows,
            notes=tuple(self.notes),
        )
        self._files.finish_shard(manifest)
        return manifest


class LongTextShardWriter(ShardWriter):
    """Writes one shard of rows with a long text: a finished Parquet file, and the drops."""

    def __init__(self, files: StageFiles, index: int, name: str, model: type[Record], long: str) -> None:
        super().__init__(files, index)
        self._name = name
        self._model = model
        self._long = long
        self._sha256 = ""

    def __enter__(self) -> Self:
        super().__enter__()
        self._rows = LongTextWriter(self._file("rows"), self._model, self._long)
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._sha256 = self._rows.close()
        super().__exit__(*error)

    def write(self, values: Mapping[str, Any], text: bytes) -> None:
        """Write a row: its fields as JSON values, and the long field as UTF-8."""
        self._rows.write(values, text)
        self.kept += 1

    def finish(self, planned: int, usage: Mapping[str, UsageOfPrompt] = MappingProxyType({})) -> ShardManifest:
        """Make the shard exist. Call it after the `with` block."""
        return self._finished(planned, usage, self._sha256, self._name)


class Stage(Generic[R]):
    """A finished stage, read-only: a sequence of records that stays on disk."""

    def __init__(self, files: StageFiles, manifest: StageManifest, record: type[R]) -> None:
        self.files = files
        self.manifest = manifest
        self.record = record

    @property
    def fingerprint(self) -> str:
        """The name of the stage's content, for what is made from it."""
        return self.manifest.fingerprint

    def __len__(self) -> int:
        return self.manifest.kept

    def __iter__(self) -> Iterator[R]:
        return self.slice(0, len(self))

    def slice(self, start: int, stop: int) -> Iterator[R]:
        """Yield records `start` to `stop` (exclusive), opening only the shards that hold them."""
        first = 0
        for shard in self.manifest.shards:
            last = first + shard.kept
            if shard.kept and first < stop and start < last:
                records = self._lines if shard.rows is None else self._rows
                yield from records(shard, start - first, stop - first)
            first = last

    def dropped(self, mentioning: Collection[str] | None = None) -> Iterator[Dropped]:
        """Yield the records that the stage dropped, or those alone that have one of these ids or keys somewhere."""
        for shard in self.manifest.shards:
            if shard.dropped:
                path = self.files.dropped(shard)
                lines = self.files.lines(path, shard.dropped_sha256)
                wanted = (line for line in lines if mentioning is None or _mentions(line, mentioning))
                yield from (_parsed(Dropped, line, path) for line in wanted)

    def record_keys(self) -> Iterator[str]:
        """Yield the keys of all records, without reading the rest of them."""
        return (values["key"] for values in self.columns(["key"]))

    def mentioning(self, names: Collection[str]) -> Iterator[R]:
        """Yield the records that have one of these ids or keys somewhere, without parsing the others."""
        for shard in self.manifest.shards:
            if shard.kept and shard.rows is None:
                path = self.files.kept(shard)
                lines = self.files.lines(path, shard.kept_sha256)
                yield from (_parsed(self.record, line, path) for line in lines if _mentions(line, names))
            elif shard.kept:
                columns = [name for name in ("id", "key", "provenance") if name in self.record.model_fields]
                with self.files.reading(self.files.kept(shard)) as file:
                    rows = list(map(orjson.dumps, read_columns(file, columns)))
                for place in (place for place, row in enumerate(rows) if _mentions(row, names)):
                    yield from self._rows(shard, place, place + 1)

    def columns(self, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Yield some fields of all records as plain values, without checking them as records; None if left out."""
        for shard in self.manifest.shards:
            if shard.kept and shard.rows is None:
                path = self.files.kept(shard)
                for line in self.files.lines(path, shard.kept_sha256):
                    yield _values(line, path, names)
            elif shard.kept:
                with self.files.reading(self.files.kept(shard)) as file:
                    yield from read_columns(file, names)

    def _lines(self, shard: ShardManifest, start: int, stop: int) -> Iterator[R]:
        path = self.files.kept(shard)
        for line in self.files.lines(path, shard.kept_sha256, max(0, start), stop):
            yield _parsed(self.record, line, path)

    def _rows(self, shard: ShardManifest, start: int, stop: int) -> Iterator[R]:
        with self.files.reading(self.files.kept(shard)) as file:
            for values in read_rows(file, start, stop):
                yield self.record.model_validate(values)


def _mentions(line: bytes, names: Collection[str]) -> bool:
    return any(name.encode() in line for name in names)


D = TypeVar("D", bound=Frozen)


def _parsed(kind: type[D], line: bytes, path: str) -> D:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise DamageError(path) from error


def _values(line: bytes, path: str, names: Sequence[str]) -> Mapping[str, Any]:
    try:
        values = orjson.loads(line)
    except ValueError as error:
        raise DamageError(path) from error
    return {name: values.get(name) for name in names}


class Joined(Generic[R]):
    """Several stages read as a single stage, in their order."""

    def __init__(self, stages: Sequence[Stage[R]]) -> None:
        self.stages = tuple(stages)

    def __len__(self) -> int:
        return sum(len(stage) for stage in self.stages)

    def __iter__(self) -> Iterator[R]:
        for stage in self.stages:
            yield from stage

    def slice(self, start: int, stop: int) -> Iterator[R]:
        """Yield records `start` to `stop` (exclusive) of the joined sequence."""
        first = 0
        for stage in self.stages:
            yield from stage.slice(start - first, stop - first)
            first += len(stage)

    def record_keys(self) -> Iterator[str]:
        """Yield the keys of all records, without reading the rest of them."""
        for stage in self.stages:
            yield from stage.record_keys()
