"""The store: a folder or an fsspec URL in which several processes and machines may work at the same time.

A file appears whole or not at all.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import fsspec
import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem

from data.temporary_folder import temporary_folder
from data.whole_file import explaining, whole_bytes
from schemas.errors import Failed, WrongInput
from schemas.secrets import without_secrets

OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl"})
"""Protocols whose uploads are atomic: files need no temporary name."""
PROBE = ".writable"
"""The object that a build writes first, to see that the store is writable."""
LONGEST_MESSAGE = 300
"""Characters of a library's error message that are shown."""


class StoreError(Failed):
    """A stage file is damaged, or the store cannot be reached."""


class DamageError(StoreError):
    """A stage file is missing, or not as it was written."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: damaged or missing stage file; run the build again, which makes the stage anew")
        self.path = path

    def __reduce__(self) -> tuple[type["DamageError"], tuple[str]]:
        return DamageError, (self.path,)


class Store:
    """Files under a folder or an fsspec URL. Raises `WrongInput` if that is none, or cannot be opened."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            # A cached listing would hide what another worker has written since.
            self.fs, self.root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        except Exception as error:  # each kind of store has its own
            reason = f"{type(error).__name__}: {_message(error)}"
            raise WrongInput(f"store: cannot be opened ({reason}); give a folder, or an fsspec URL") from error
        self.is_local = isinstance(self.fs, LocalFileSystem)
        protocols = {self.fs.protocol} if isinstance(self.fs.protocol, str) else set(self.fs.protocol)
        self._uploads_are_atomic = not OBJECT_STORES.isdisjoint(protocols)

    def __reduce__(self) -> tuple[type["Store"], tuple[str]]:
        return Store, (self.url,)

    def probe(self) -> None:
        """Check that a remote store is writable, before anything is paid for. Raises `StoreError`."""
        if not self.is_local:
            self.write(f"{self.root}/{PROBE}", b"")

    def read(self, path: str) -> bytes | None:
        """Return a file's content, or None if there is no such file. Raises `StoreError`."""
        try:
            with self.reaching(path):
                content: bytes = self.fs.cat_file(path)
                return content
        except FileNotFoundError:
            return None

    def fetch(self, path: str, local: str) -> None:
        """Copy a file to this machine. Raises `DamageError` if it is not there, and `StoreError`."""
        try:
            with self.reaching(path):
                self.fs.get_file(path, local)
        except FileNotFoundError as error:
            raise DamageError(path) from error

    def remove(self, folder: str, keep: str = "") -> None:
        """Remove a stage's folder, or all in it but one file, whose name is given.

        The manifest goes first, so that a kill leaves no stage that seems whole.

        Raises `Failed`.
        """
        with self.reaching(folder), explaining(Path(folder)):
            if self.fs.exists(f"{folder}/manifest.json"):
                self.fs.rm(f"{folder}/manifest.json")
            if not keep:
                self.fs.rm(folder, recursive=True)
                return
            for path in self.fs.ls(folder, detail=False):
                if path.rpartition("/")[2] != keep:
                    self.fs.rm(path)

    def write(self, path: str, content: bytes) -> None:
        """Write a whole file, or none of it. Raises `Failed`."""
        with self.writing(path) as file:
            file.write(content)

    @contextlib.contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        """Yield a file that takes its name when the block ends without an error. Raises `Failed`."""
        if self.is_local:
            with whole_bytes(Path(path)) as file:
                yield file
            return
        with explaining(Path(tempfile.gettempdir())), temporary_folder() as folder:
            local = folder / "file"
            with local.open("xb") as file:
                yield file
            self._upload(str(local), path)

    def sweep(self, folder: str, keep: Callable[[str], bool]) -> None:
        """Remove the files of a folder on this machine that killed runs left behind: those whose name is not kept.

        Call it while no other process may write there. In a remote store there are none but finished objects, which
        `touchstone gc` removes.
        """
        if self.is_local and Path(folder).is_dir():
            with explaining(Path(folder)):
                for path in Path(folder).iterdir():
                    if not keep(path.name):
                        path.unlink(missing_ok=True)

    def _upload(self, local: str, path: str) -> None:
        temporary = f"{path}.tmp-{os.getpid()}-{time.monotonic_ns()}"
        try:
            with self.reaching(path):
                if self._uploads_are_atomic:
                    self.fs.put_file(local, path)
                else:
                    self.fs.makedirs(path.rpartition("/")[0], exist_ok=True)
                    self.fs.put_file(local, temporary)
                    self.fs.mv(temporary, path)
        except FileNotFoundError as error:
            bucket = self.root.partition("/")[0]
            raise StoreError(f"{self.url}: {bucket!r} does not exist; create it, or correct store") from error

    @contextlib.contextmanager
    def reaching(self, path: str) -> Iterator[None]:
        """Turn a remote store's error into one line that says what to do; let a missing file and wrong content through.

        Every kind of store has its own errors, and few of them are `OSError`. Raises `StoreError`.
        """
        try:
            yield
        except Exception as error:
            is_content = isinstance(error, FileNotFoundError | ValueError | pa.ArrowException | Failed | WrongInput)
            is_checksum = type(error) is OSError and error.errno is None  # how Arrow reports a page that was changed
            if self.is_local or is_content or is_checksum:
                raise
            if isinstance(error, NotImplementedError):
                raise StoreError(f"{path}: this kind of store is read-only; name another under store") from error
            if isinstance(error, PermissionError) or "redentials" in type(error).__name__:
                advice = "correct the key in the environment (AWS_ACCESS_KEY_ID, FSSPEC_S3_KEY and the like)"
            else:
                advice = "check that it is up and reachable from here, then run again: finished work is kept"
            raise StoreError(f"{self.url}: the store refuses ({_message(error)}); {advice}") from error


def _message(error: Exception) -> str:
    """Return a library's message on one line; half of a secret, cut off, would not be found any more."""
    return without_secrets(" ".join(str(error).split()))[:LONGEST_MESSAGE].rstrip(".") or type(error).__name__
