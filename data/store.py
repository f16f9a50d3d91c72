"""The one place that writes stage files.

A stage is a folder `<family>/<part>/<step>-<fingerprint>/` with, for each shard, the kept records
(`00000.jsonl`), the drops (`00000.dropped.jsonl`) and a manifest (`00000.json`); `manifest.json` comes
last and makes it exist. Every file is written under a temporary name and then renamed, so a stage that
was killed holds whole shards only, and goes on from them.
"""

import contextlib
import errno
import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import IO, Any, Generic, Self, TypeVar

import fsspec
import pyarrow as pa
from pydantic import ValidationError

from data.rows import RowsWriter, read_columns, read_rows
from schemas.base import Dropped, Record
from schemas.errors import Failed
from schemas.manifest import ShardManifest, StageManifest, UsageOfPrompt

R = TypeVar("R", bound=Record)
M = TypeVar("M", StageManifest, ShardManifest)


class StoreError(Failed):
    """A stage file is damaged or cannot be written."""


class Store:
    """Stage files under a folder or an fsspec URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.fs, self.root = fsspec.core.url_to_fs(url)

    def __reduce__(self) -> tuple[type["Store"], tuple[str]]:
        return Store, (self.url,)

    def stage(self, family: str, part: str, step: str, fingerprint: str) -> "StageFiles":
        """The stage at this fingerprint, whether or not it is finished."""
        return StageFiles(self, f"{self.root}/{family}/{part}/{step}-{fingerprint}")

    def write(self, path: str, content: bytes) -> None:
        """Write a whole file, or none of it."""
        with self.writing(path) as file:
            file.write(content)

    @contextlib.contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        """A file to write to that takes its name when the block ends without an error."""
        temporary = f"{path}.tmp-{os.getpid()}-{time.monotonic_ns()}"
        try:
            self.fs.makedirs(path.rpartition("/")[0], exist_ok=True)
            with self.fs.open(temporary, "wb") as file:
                yield file
            self.fs.mv(temporary, path)
        except OSError as error:
            self._discard(temporary)
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
                is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                advice = "free space there" if is_full else "allow writing there"
                raise StoreError(f"{path}: cannot be written ({error.strerror}); {advice}, then run again") from error
            raise
        except NotImplementedError as error:
            raise StoreError(f"{path}: this kind of store cannot be written to; name another under store") from error
        except BaseException:
            self._discard(temporary)
            raise

    def _discard(self, path: str) -> None:
        with contextlib.suppress(OSError):
            self.fs.rm(path)


class StageFiles:
    """The files of one stage."""

    def __init__(self, store: Store, folder: str) -> None:
        self.store = store
        self.folder = folder

    def manifest(self) -> StageManifest | None:
        """The stage's manifest; None while it is unfinished."""
        return self._read(f"{self.folder}/manifest.json", StageManifest)

    def shard(self, index: int) -> ShardManifest | None:
        """A finished shard's manifest; None while it is unfinished."""
        return self._read(f"{self.folder}/{index:05}.json", ShardManifest)

    def _read(self, path: str, kind: type[M]) -> M | None:
        if not self.store.fs.exists(path):
            return None
        try:
            return kind.model_validate_json(self.store.fs.cat_file(path))
        except ValidationError as error:
            raise StoreError(f"{path}: damaged stage manifest; remove its folder to build the stage again") from error

    def finish(self, manifest: StageManifest) -> None:
        """Make the stage exist."""
        self.store.write(f"{self.folder}/manifest.json", manifest.model_dump_json(indent=1).encode())

    def path(self, index: int, kind: str) -> str:
        """Path of a shard's file; `kind` is `kept` or `dropped`."""
        return f"{self.folder}/{index:05}.{'dropped.' if kind == 'dropped' else ''}jsonl"

    def rows_path(self, index: int) -> str:
        """Path of a shard's Parquet file, where it is one of rows."""
        return f"{self.folder}/{index:05}.parquet"

    def lines(self, index: int, kind: str, sha256: str) -> Iterator[bytes]:
        """The lines of a shard's file. Raises `StoreError` if its bytes are not those written."""
        path = self.path(index, kind)
        damaged = _damaged(path)
        digest = hashlib.sha256()
        try:
            with self.store.fs.open(path, "rb") as file:
                for line in file:
                    digest.update(line)
                    yield line
        except FileNotFoundError as error:
            raise damaged from error
        if digest.hexdigest() != sha256:
            raise damaged


class ShardWriter:
    """Writes one shard: records and drops as they come, then its manifest."""

    def __init__(self, files: StageFiles, index: int) -> None:
        self._files = files
        self._index = index
        self._started = time.monotonic()
        self._stack = contextlib.ExitStack()
        self._out: dict[str, IO[bytes]] = {}
        self._digests = {kind: hashlib.sha256() for kind in self._kinds}
        self.kept = 0
        self.dropped: dict[str, int] = {}

    _kinds: tuple[str, ...] = ("kept", "dropped")

    def __enter__(self) -> Self:
        for kind in self._kinds:
            self._out[kind] = self._stack.enter_context(self._files.store.writing(self._files.path(self._index, kind)))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)  # type: ignore[arg-type] # the three that `with` gives

    def _line(self, kind: str, record: Record | Dropped) -> None:
        line = record.model_dump_json().encode() + b"\n"
        self._digests[kind].update(line)
        self._out[kind].write(line)

    def keep(self, record: Record) -> None:
        """Write a record that passed."""
        self._line("kept", record)
        self.kept += 1

    def drop(self, dropped: Dropped) -> None:
        """Write a record that did not."""
        self._line("dropped", dropped)
        self.dropped[dropped.reason] = self.dropped.get(dropped.reason, 0) + 1

    def finish(self, planned: int, usage: Mapping[str, UsageOfPrompt]) -> ShardManifest:
        """Close the files and make the shard exist. Call it after the `with` block."""
        return self._finished(planned, usage, self._digests["kept"].hexdigest(), None)

    def _finished(
        self, planned: int, usage: Mapping[str, UsageOfPrompt], sha256: str, rows: str | None
    ) -> ShardManifest:
        manifest = ShardManifest(
            index=self._index,
            planned=planned,
            kept=self.kept,
            dropped=dict(sorted(self.dropped.items())),
            kept_sha256=sha256,
            dropped_sha256=self._digests["dropped"].hexdigest(),
            usage=usage,
            seconds=time.monotonic() - self._started,
            rows=rows,
        )
        self._files.store.write(f"{self._files.folder}/{self._index:05}.json", manifest.model_dump_json().encode())
        return manifest


class RowShardWriter(ShardWriter):
    """Writes one shard of rows with a long text: a finished Parquet file, and the drops."""

    _kinds = ("dropped",)

    def __init__(self, files: StageFiles, index: int, name: str, model: type[Record], long: str) -> None:
        super().__init__(files, index)
        self._name = name
        self._model = model
        self._long = long
        self._sha256 = ""

    def __enter__(self) -> Self:
        super().__enter__()
        file = self._stack.enter_context(self._files.store.writing(self._files.rows_path(self._index)))
        self._rows = RowsWriter(file, self._model, self._long)
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._sha256 = self._rows.close()
        super().__exit__(*error)

    def write(self, values: Mapping[str, Any], text: bytes) -> None:
        """Write a row: its fields as JSON has them, and the long one in UTF-8."""
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
        """Names the stage's content in what is made from it."""
        return self.manifest.fingerprint

    def __len__(self) -> int:
        return self.manifest.kept

    def __iter__(self) -> Iterator[R]:
        return self.slice(0, len(self))

    def slice(self, start: int, stop: int) -> Iterator[R]:
        """Records `start` to `stop` (exclusive); opens only the shards that hold them."""
        first = 0
        for shard in self.manifest.shards:
            last = first + shard.kept
            if shard.kept and first < stop and start < last and shard.rows is not None:
                yield from self._rows(shard, start - first, stop - first)
            elif shard.kept and first < stop and start < last:
                for number, line in enumerate(self.files.lines(shard.index, "kept", shard.kept_sha256), first):
                    if start <= number < stop:
                        yield self._parse(line, shard.index)
            first = last

    def dropped(self) -> Iterator[Dropped]:
        """What the stage dropped."""
        for shard in self.manifest.shards:
            if shard.dropped:
                for line in self.files.lines(shard.index, "dropped", shard.dropped_sha256):
                    try:
                        yield Dropped.model_validate_json(line)
                    except ValidationError as error:
                        raise _damaged(self.files.path(shard.index, "dropped")) from error

    def columns(self, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Some fields of all records of a stage of finished files, as plain values."""
        for shard in self.manifest.shards:
            if not shard.kept:
                continue
            path = self.files.rows_path(shard.index)
            try:
                with self.files.store.fs.open(path, "rb") as file:
                    yield from read_columns(file, names)
            except (OSError, pa.ArrowException) as error:
                raise _damaged(path) from error

    def _rows(self, shard: ShardManifest, start: int, stop: int) -> Iterator[R]:
        path = self.files.rows_path(shard.index)
        try:
            with self.files.store.fs.open(path, "rb") as file:
                for values in read_rows(file, start, stop):
                    yield self.record.model_validate(values)
        except (OSError, ValueError, pa.ArrowException) as error:  # bytes that are no text, or no such record
            raise _damaged(path) from error

    def _parse(self, line: bytes, shard: int) -> R:
        try:
            return self.record.model_validate_json(line)
        except ValidationError as error:
            raise _damaged(self.files.path(shard, "kept")) from error


def _damaged(path: str) -> StoreError:
    return StoreError(f"{path}: damaged or missing stage file; remove its folder to build the stage again")


class Joined(Generic[R]):
    """Several stages read as one, in their order."""

    def __init__(self, stages: Sequence[Stage[R]]) -> None:
        self.stages = tuple(stages)

    def __len__(self) -> int:
        return sum(len(stage) for stage in self.stages)

    def __iter__(self) -> Iterator[R]:
        for stage in self.stages:
            yield from stage

    def slice(self, start: int, stop: int) -> Iterator[R]:
        """Records `start` to `stop` (exclusive) of the joined sequence."""
        first = 0
        for stage in self.stages:
            yield from stage.slice(start - first, stop - first)
            first += len(stage)
