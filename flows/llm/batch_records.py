"""The batches that were sent and are not collected yet, on disk: each is known before its server hears of it.

A batch is a folder. `requests.jsonl` is what is uploaded; `keys.json` says how the replies are to be read; `batch.json`
is written last, and anew with each thing that becomes known: the batch is there while that file is.
"""

import asyncio
import contextlib
import datetime
import fcntl
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson
from pydantic import ValidationError

from schemas.base import content_hash
from schemas.errors import Failed
from schemas.sealed import Sealed

REQUESTS, KEYS, NOTE = "requests.jsonl", "keys.json", "batch.json"
LOCK = "sending.lock"
TEMPORARY = ".tmp"
LOOK_EVERY_S = 0.2
"""Seconds between two looks whether another process still sends a batch."""


class Reading(NamedTuple):
    """What is needed to read the reply to a request, also if nobody waits for it any longer."""

    limit: int
    """The most tokens of its answer, without the room for thoughts."""
    room: int
    """The tokens for thoughts."""
    input_tokens: int
    """An estimate, if the server counts none."""


class Request(NamedTuple):
    """A request that is to be sent in a batch."""

    key: str
    """The cache key of its answer, by which its reply is known."""
    body: bytes
    reading: Reading


class BatchNote(Sealed):
    """What is known of a batch."""

    name: str
    """Ours: it stands in the batch's metadata at the server."""
    model: str
    base_url: str
    api_key_env: str | None
    requests: int
    made: datetime.datetime
    file_id: str | None = None
    """Of the uploaded file. Noted before the batch is created: while there is none, there is no batch either."""
    batch_id: str | None = None
    """None: it may or may not have been created."""


class BatchRecord:
    """A batch on disk."""

    def __init__(self, folder: Path, note: BatchNote) -> None:
        self._folder = folder
        self.note = note

    @property
    def file(self) -> Path:
        """The file to upload."""
        return self._folder / REQUESTS

    @property
    def readings(self) -> Mapping[str, Reading]:
        """By cache key, how the replies are to be read."""
        path = self._folder / KEYS
        try:
            listed: dict[str, list[int]] = orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError:
            raise _damaged(path) from None
        return {key: Reading(*values) for key, values in listed.items()}

    def is_there(self) -> bool:
        """Read the note again, which another process may have changed; False if it has collected the batch."""
        try:
            self.note = _read_note(self._folder / NOTE)
        except FileNotFoundError:
            return False
        return True

    def update(self, **known: str) -> None:
        """Note what became known."""
        self.note = self.note.model_copy(update=known)
        write_safely(self._folder / NOTE, self.note.sealed())

    def remove(self) -> None:
        """Forget the batch; another process may have done so."""
        (self._folder / NOTE).unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)


class BatchRecords:
    """The batches of one state folder. Several processes may use it; one at a time sends a batch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.collecting: dict[str, asyncio.Event] = {}
        """By name, the batches that a model of this process waits for; set when it has them, or has failed."""

    def lessons(self, settings: bytes) -> Path:
        """Return the file of what is known of a server that is asked with these settings."""
        return self._folder / f"lessons-{content_hash(settings.decode())}.json"

    def __iter__(self) -> Iterator[BatchRecord]:
        """Yield the batches, the oldest first."""
        records = []
        for path in self._folder.glob(f"*/{NOTE}"):
            with contextlib.suppress(FileNotFoundError):  # collected by another process in this moment
                records.append(BatchRecord(path.parent, _read_note(path)))
        yield from sorted(records, key=lambda record: (record.note.made, record.note.name))

    @contextlib.asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Wait until no other process sends a batch, and keep others from it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / LOCK).open("a") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(LOOK_EVERY_S)
            self._remove_remains()
            yield

    def sweep(self) -> None:
        """Remove what a process has left that was killed while it wrote, or removed, a batch; not while one is sent."""
        with contextlib.suppress(FileNotFoundError, BlockingIOError), (self._folder / LOCK).open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._remove_remains()

    def _remove_remains(self) -> None:
        for path in self._folder.iterdir():
            if path.is_dir() and not (path / NOTE).exists():
                shutil.rmtree(path, ignore_errors=True)
            elif path.suffix == TEMPORARY:
                path.unlink(missing_ok=True)

    def add(
        self, requests: Sequence[Request], path: str, model: str, base_url: str, api_key_env: str | None
    ) -> BatchRecord:
        """Write down a batch that is about to be sent to this path of the server. Call it while `sending`."""
        note = BatchNote(
            name=uuid.uuid4().hex[:16],
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            requests=len(requests),
            made=datetime.datetime.now(datetime.UTC),
        )
        folder = self._folder / note.name
        folder.mkdir(parents=True)
        head = b',"method":"POST","url":%s,"body":' % orjson.dumps(path)
        with (folder / REQUESTS).open("wb") as file:
            file.writelines(
                b'{"custom_id":"%s"%s%s}\n' % (request.key.encode(), head, request.body) for request in requests
            )
            file.flush()
            os.fsync(file.fileno())
        write_safely(folder / KEYS, orjson.dumps({request.key: [*request.reading] for request in requests}))
        record = BatchRecord(folder, note)
        record.update()
        return record


def _read_note(path: Path) -> BatchNote:
    try:
        return BatchNote.model_validate_json(path.read_bytes())
    except ValidationError:
        raise _damaged(path) from None


def _damaged(path: Path) -> Failed:
    return Failed(
        f"{path}: is damaged, so the batch that it tells of cannot be collected; put it back from a copy, or remove "
        f"{path.parent}: its requests are then sent, and paid for, again"
    )


def write_safely(path: Path, content: bytes) -> None:
    """Write a file that appears whole, and is on disk then."""
    temporary = path.with_name(f"{path.name}{TEMPORARY}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
