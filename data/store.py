"""The one place that writes stage files.

A stage is a folder `<family>/<part>/<step>-<fingerprint>/` with, for each shard, the kept records
(`00000-<mark>.jsonl`), the drops (`00000-<mark>.dropped.jsonl`) and a manifest (`00000.json`) that names the
mark; `manifest.json` comes last and makes the stage exist. A file appears whole or not at all, so a stage that
was killed holds whole shards only, and goes on from them. The mark is the writer's own: where two workers write
one shard, neither touches what the other's manifest names, and whichever manifest stays is true.
"""

import contextlib
import errno
import hashlib
import os
import re
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import IO, Any, Generic, Self, TypeVar

import fsspec
import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem
from pydantic import ValidationError

from data.rows import RowsWriter, read_columns, read_rows
from schemas.base import Dropped, Record
from schemas.errors import Failed, WrongInput
from schemas.manifest import ShardManifest, StageManifest, UsageOfPrompt

R = TypeVar("R", bound=Record)
M = TypeVar("M", StageManifest, ShardManifest)


OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl"})
"""Protocols of which an upload makes a whole object or none: their files need no temporary name."""
PROBE = ".writable"
"""The object by which a build sees at its start that its store can be written to."""

LONGEST_SAID = 300
"""Characters of what a library says of an error."""


class StoreError(Failed):
    """A stage file is damaged or cannot be written, or the store cannot be reached."""


class Store:
    """Stage files under a folder or an fsspec URL. Several processes and machines may work in one store."""

    def __init__(self, url: str) -> None:
        self.url = url
        # A remembered listing would hide what another worker has written since.
        self.fs, self.root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        self.is_local = isinstance(self.fs, LocalFileSystem)
        protocols = {self.fs.protocol} if isinstance(self.fs.protocol, str) else set(self.fs.protocol)
        self._puts_whole = not OBJECT_STORES.isdisjoint(protocols)

    def __reduce__(self) -> tuple[type["Store"], tuple[str]]:
        return Store, (self.url,)

    def stage(self, family: str, part: str, step: str, fingerprint: str) -> "StageFiles":
        """The stage at this fingerprint, whether or not it is finished."""
        return StageFiles(self, f"{self.root}/{family}/{part}/{step}-{fingerprint}")

    def probe(self) -> None:
        """See that a store elsewhere can be written to, before anything is paid for. Raises `StoreError`."""
        if not self.is_local:
            self.write(f"{self.root}/{PROBE}", b"")

    def read(self, path: str) -> bytes | None:
        """A whole file; None where there is none. Raises `StoreError`."""
        try:
            with self.reaching(path):
                content: bytes = self.fs.cat_file(path)
                return content
        except FileNotFoundError:
            return None

    def fetch(self, path: str, local: str) -> None:
        """Copy a file to this machine. Raises `StoreError`."""
        try:
            with self.reaching(path):
                self.fs.get_file(path, local)
        except FileNotFoundError as error:
            raise _damaged(path) from error

    def write(self, path: str, content: bytes) -> None:
        """Write a whole file, or none of it."""
        with self.writing(path) as file:
            file.write(content)

    @contextlib.contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        """A file to write to that takes its name when the block ends without an error. Raises `StoreError`."""
        temporary = f"{path}.tmp-{os.getpid()}-{time.monotonic_ns()}"
        with self._placing(path, temporary) if self.is_local else self._uploading(path, temporary) as file:
            yield file

    @contextlib.contextmanager
    def _placing(self, path: str, temporary: str) -> Iterator[IO[bytes]]:
        try:
            self.fs.makedirs(path.rpartition("/")[0], exist_ok=True)
            with self.fs.open(temporary, "wb") as file:
                yield file
            self.fs.mv(temporary, path)
        except OSError as error:
            self._discard(temporary)
            if (explained := _unwritable(path, error)) is not None:
                raise explained from error
            raise
        except BaseException:
            self._discard(temporary)
            raise

    @contextlib.contextmanager
    def _uploading(self, path: str, temporary: str) -> Iterator[IO[bytes]]:
        """A file of this machine, sent off when it is finished: one that is broken off leaves nothing there."""
        try:
            with tempfile.NamedTemporaryFile(prefix="touchstone-") as file:
                yield file
                file.flush()
                self._upload(file.name, path, temporary)
        except OSError as error:
            if (explained := _unwritable(tempfile.gettempdir(), error)) is not None:
                raise explained from error
            raise

    def _upload(self, local: str, path: str, temporary: str) -> None:
        try:
            with self.reaching(path):
                if self._puts_whole:
                    self.fs.put_file(local, path)
                else:
                    self.fs.makedirs(path.rpartition("/")[0], exist_ok=True)
                    self.fs.put_file(local, temporary)
                    self.fs.mv(temporary, path)
        except FileNotFoundError as error:
            bucket = self.root.partition("/")[0]
            raise StoreError(f"{self.url}: there is no {bucket!r} there; make it, or correct store") from error

    @contextlib.contextmanager
    def reaching(self, path: str) -> Iterator[None]:
        """Say in one line why a store elsewhere does not do what is asked of it; what is not there is let through.

        Each kind of store has errors of its own, most of them no `OSError`. Raises `StoreError`.
        """
        try:
            yield
        except Exception as error:
            is_content = isinstance(error, FileNotFoundError | ValueError | pa.ArrowException | Failed | WrongInput)
            is_checksum = type(error) is OSError and error.errno is None  # Arrow's word for a page that was changed
            if self.is_local or is_content or is_checksum:
                raise
            if isinstance(error, NotImplementedError):
                raise StoreError(
                    f"{path}: this kind of store cannot be written to; name another under store"
                ) from error
            if isinstance(error, PermissionError) or "redentials" in type(error).__name__:
                advice = "correct the key in the environment (AWS_ACCESS_KEY_ID, FSSPEC_S3_KEY and the like)"
            else:
                advice = "see that it is up and can be reached from here, then run again: what is finished is kept"
            raise StoreError(f"{self.url}: the store refuses ({_told(error)}); {advice}") from error

    def _discard(self, path: str) -> None:
        with contextlib.suppress(OSError):
            self.fs.rm(path)


def _unwritable(path: str, error: OSError) -> StoreError | None:
    """What to do where a folder of this machine is full or closed; None where something else is wrong."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
        return None
    advice = "free space there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "allow writing there"
    return StoreError(f"{path}: cannot be written ({error.strerror}); {advice}, then run again")


def _told(error: Exception) -> str:
    """What a library says of an error, in one line, without what an address in it may hold of a password."""
    said = " ".join(str(error).split())[:LONGEST_SAID].rstrip(".") or type(error).__name__
    return re.sub(r"//[^/@\s]*@", "//", said)


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
        content = self.store.read(path)
        if content is None:
            return None
        try:
            return kind.model_validate_json(content)
        except ValidationError as error:
            raise StoreError(f"{path}: damaged stage manifest; remove its folder to build the stage again") from error

    def finish(self, manifest: StageManifest) -> None:
        """Make the stage exist."""
        self.store.write(f"{self.folder}/manifest.json", manifest.model_dump_json(indent=1).encode())

    def finish_shard(self, manifest: ShardManifest) -> None:
        """Make a shard exist."""
        self.store.write(f"{self.folder}/{manifest.index:05}.json", manifest.model_dump_json().encode())

    def path(self, index: int, mark: str, kind: str) -> str:
        """Path of a shard's file; `kind` is `kept`, `dropped`, or `rows`: kept ones, as Parquet."""
        ending = {"kept": "jsonl", "dropped": "dropped.jsonl", "rows": "parquet"}[kind]
        return f"{self.folder}/{index:05}{'-' if mark else ''}{mark}.{ending}"

    def kept(self, shard: ShardManifest) -> str:
        """Path of a shard's kept records."""
        return self.path(shard.index, shard.mark, "kept" if shard.rows is None else "rows")

    def dropped(self, shard: ShardManifest) -> str:
        """Path of a shard's drops."""
        return self.path(shard.index, shard.mark, "dropped")

    def lines(self, path: str, sha256: str) -> Iterator[bytes]:
        """The lines of a shard's file. Raises `StoreError` if its bytes are not those written."""
        damaged = _damaged(path)
        digest = hashlib.sha256()
        try:
            with self.store.reaching(path), self.store.fs.open(path, "rb") as file:
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
        self._mark = uuid.uuid4().hex[:8]
        self._started = time.monotonic()
        self._stack = contextlib.ExitStack()
        self._out: dict[str, IO[bytes]] = {}
        self._digests = {kind: hashlib.sha256() for kind in self._kinds}
        self.kept = 0
        self.dropped: dict[str, int] = {}

    _kinds: tuple[str, ...] = ("kept", "dropped")

    def __enter__(self) -> Self:
        for kind in self._kinds:
            self._out[kind] = self._stack.enter_context(self._file(kind))
        return self

    def _file(self, kind: str) -> contextlib.AbstractContextManager[IO[bytes]]:
        return self._files.store.writing(self._files.path(self._index, self._mark, kind))

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
            mark=self._mark,
            planned=planned,
            kept=self.kept,
            dropped=dict(sorted(self.dropped.items())),
            kept_sha256=sha256,
            dropped_sha256=self._digests["dropped"].hexdigest(),
            usage=usage,
            seconds=time.monotonic() - self._started,
            rows=rows,
        )
        self._files.finish_shard(manifest)
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
        self._rows = RowsWriter(self._stack.enter_context(self._file("rows")), self._model, self._long)
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
                path = self.files.kept(shard)
                for number, line in enumerate(self.files.lines(path, shard.kept_sha256), first):
                    if start <= number < stop:
                        yield self._parse(line, path)
            first = last

    def dropped(self) -> Iterator[Dropped]:
        """What the stage dropped."""
        for shard in self.manifest.shards:
            if shard.dropped:
                path = self.files.dropped(shard)
                for line in self.files.lines(path, shard.dropped_sha256):
                    try:
                        yield Dropped.model_validate_json(line)
                    except ValidationError as error:
                        raise _damaged(path) from error

    def columns(self, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Some fields of all records of a stage of finished files, as plain values."""
        for shard in self.manifest.shards:
            if not shard.kept:
                continue
            path, store = self.files.kept(shard), self.files.store
            try:
                with store.reaching(path), store.fs.open(path, "rb") as file:
                    yield from read_columns(file, names)
            except (OSError, pa.ArrowException) as error:
                raise _damaged(path) from error

    def _rows(self, shard: ShardManifest, start: int, stop: int) -> Iterator[R]:
        path, store = self.files.kept(shard), self.files.store
        try:
            with store.reaching(path), store.fs.open(path, "rb") as file:
                for values in read_rows(file, start, stop):
                    yield self.record.model_validate(values)
        except (OSError, ValueError, pa.ArrowException) as error:  # bytes that are no text, or no such record
            raise _damaged(path) from error

    def _parse(self, line: bytes, path: str) -> R:
        try:
            return self.record.model_validate_json(line)
        except ValidationError as error:
            raise _damaged(path) from error


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
