"""A real Label Studio for tests: made once on a machine, run once by each worker, with a new database for each test."""

import contextlib
import fcntl
import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from annotation.label_studio import server
from annotation.label_studio.accounts import PEOPLE_FILE
from annotation.label_studio.client import Client, connect
from annotation.label_studio.install import MARK, install, mark
from annotation.label_studio.strangers import JOINED, STANDING, STUDY


@dataclass(frozen=True)
class Served:
    """A running server of a test's own."""

    folder: Path
    url: str
    token: str
    client: Client


def make_seed(cache: Path) -> Path:
    """The state folder that tests copy: an installation, and a database with nothing but its owner (a minute, once)."""
    cache = cache.resolve()
    seed = cache / f"label-studio-{hashlib.sha256(mark().encode()).hexdigest()[:8]}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "seed.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers that come together make one
        ready = seed / "ready"
        if not (ready.exists() and (seed / "env" / MARK).exists()):
            server.up(seed)
            server.down(seed)
            ready.touch()
        else:
            with (seed / "install.lock").open("a") as out:
                install(seed, out, lambda line: None)  # quick, unless its Python is gone
    return seed


def copy_seed(seed: Path, folder: Path) -> Path:
    """A state folder of a test's own, with the seed's installation."""
    folder.mkdir(parents=True, mode=0o700)
    (folder / "env").symlink_to(seed / "env")
    shutil.copytree(seed / server.DATA, folder / server.DATA)
    shutil.copy(seed / "owner.json", folder)
    return folder


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Run the server under `folder` as long as the block lasts."""
    running = server.up(folder)
    try:
        with connect(running.url, running.owner.token) as client:
            yield Served(folder, running.url, running.owner.token, client)
    finally:
        server.down(folder)


class SharedServer:
    """A server that a worker's tests use one after the other: a start takes five seconds of processor time."""

    def __init__(self, seed: Path, folder: Path) -> None:
        self._seed = seed
        self._folder = copy_seed(seed, folder)

    @contextlib.contextmanager
    def emptied(self, folder: Path, saved: Path | None = None) -> Iterator[Served]:
        """The running server with the seed's state, or what was `saved`; its folder linked at `folder`."""
        _copy_database(
            (saved or self._seed / server.DATA) / server.DATABASE, self._folder / server.DATA / server.DATABASE
        )
        for name in (PEOPLE_FILE, STUDY, JOINED, STANDING, server.PUBLIC):
            (self._folder / name).unlink(missing_ok=True)
        if saved is not None:
            shutil.copy(saved / PEOPLE_FILE, self._folder)
        running = server.up(self._folder)
        folder.parent.mkdir(parents=True)
        folder.symlink_to(self._folder)
        with connect(running.url, running.owner.token) as client:
            yield Served(folder, running.url, running.owner.token, client)

    def save(self, folder: Path) -> None:
        """Copy the server's database and the passwords of its people."""
        folder.mkdir()
        _copy_database(self._folder / server.DATA / server.DATABASE, folder / server.DATABASE)
        shutil.copy(self._folder / PEOPLE_FILE, folder)

    def stop(self) -> None:
        """End the server."""
        server.down(self._folder)


def _copy_database(source: Path, target: Path) -> None:
    """Copy under SQLite's own locks: a running server opens a connection for each request."""
    with contextlib.closing(sqlite3.connect(source)) as read, contextlib.closing(sqlite3.connect(target)) as written:
        read.backup(written)
