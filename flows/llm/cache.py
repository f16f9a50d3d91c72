"""Every completion that was ever paid for, in a database."""

import hashlib
import logging
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import xxhash

if TYPE_CHECKING:
    import sqlite3

    from sqlalchemy import Engine

from schemas.errors import Failed

_log = logging.getLogger(__name__)

RETRY_S = 0.05
SAID_AFTER_S = 2.0
BUSY_S = 60
"""Seconds after which a write that waits for another process says so, and at most."""

_CREATE = (
    "CREATE TABLE IF NOT EXISTS completions (key TEXT PRIMARY KEY, answer TEXT NOT NULL, kind TEXT NOT NULL, "
    "input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost_usd REAL NOT NULL, "
    "served TEXT NOT NULL DEFAULT '', checksum TEXT NOT NULL DEFAULT '')"
)
_SELECT = "SELECT answer, kind, input_tokens, output_tokens, cost_usd, served, checksum FROM completions WHERE key = ?"
_INSERT = (
    "INSERT OR IGNORE INTO completions (key, answer, kind, input_tokens, output_tokens, cost_usd, served, checksum) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_DELETE = "DELETE FROM completions WHERE key = ? AND checksum = ?"
_LATER = {
    name: f"ALTER TABLE completions ADD COLUMN {name} VARCHAR({length}) DEFAULT '' NOT NULL"
    for name, length in (("served", 200), ("checksum", 16))
}
"""Columns that a table of an earlier version does not have."""

Kind = Literal["answer", "cut off", "refusal", "filtered", "no text", "no room", "overlong"]
"""`filtered`: the server's own words, in place of an answer. `no text`: it contains NUL, written out as in Python
because not every database can store it. The last two are asked again with another limit of tokens: `no room`, cut off
after thoughts took most of its tokens; `overlong`, without thoughts, but too long."""


class CacheError(Failed):
    """The cache cannot be read or written: one line with its place and what to do."""


class Completion(NamedTuple):
    """An answer that was paid for; `cost_usd` is in dollars."""

    answer: str
    kind: Kind
    input_tokens: int
    output_tokens: int
    cost_usd: float
    served: str = ""
    """The model that the server says has answered; empty if it does not say, or was not asked to keep it."""


class Row(NamedTuple):
    """A completion as the database has it."""

    completion: Completion
    checksum: str
    """Empty if an earlier version kept it."""


def _checksum(key: str, completion: Completion) -> str:
    """The checksum of all but the money, of which databases keep different numbers of digits."""
    content = repr((key, *completion._replace(cost_usd=0.0)))
    return xxhash.xxh3_64_hexdigest(content.encode("utf-8", "surrogatepass"))


def completion_key(*parts: bytes) -> str:
    """The name of a completion: 128 bits of the SHA-256 of the parts, each with its length before it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:32]


class CompletionCache:
    """Completions by key, each committed before `put` returns, in the database of a SQLAlchemy URL.

    With SQLite, a process that is killed loses nothing, and several processes may use the same file. An
    object belongs to one thread at a time; it blocks for the length of a query (SQLite: 40 us).

    Raises `CacheError` if the database cannot be opened, read or written. After a failed write nothing more is
    served: an answer that cannot be kept should not be paid for. A completion that the disk has changed is not served:
    it goes, with a line, and is asked for again.
    """

    def __init__(self, url: str, tell: Callable[[str], None] = _log.warning) -> None:
        """`tell` gets the line on a damaged completion."""
        import sqlite3

        from sqlalchemy import create_engine
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError, SQLAlchemyError

        # ImportError: a URL whose driver is not installed.
        self._errors = (sqlite3.Error, SQLAlchemyError, OSError, ImportError)
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError):  # the latter for a port that is no number
            raise CacheError("cache: not a database URL; write one such as sqlite:///path/to/completions.db") from None
        self._tell = tell
        self._failed: CacheError | None = None
        self._sqlite = parsed.get_backend_name() == "sqlite"
        self._where = parsed.render_as_string(hide_password=True)
        if self._sqlite and parsed.database:
            self._where = parsed.database
        try:
            if self._sqlite and parsed.database and parsed.database != ":memory:":
                Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
            # It is opened where a run is set up and used where its event loop runs.
            self._table: _SqliteTable | _CoreTable = (
                _SqliteTable(create_engine(parsed, connect_args={"check_same_thread": False}), self._waits)
                if self._sqlite
                else _CoreTable(create_engine(parsed))
            )
        except self._errors as error:
            raise self._explain(error) from error

    def get(self, key: str) -> Completion | None:
        """The completion of this key, if any; raises `CacheError`."""
        self.check()
        try:
            row = self._table.get(key)
            if row is None or row.checksum in ("", _checksum(key, row.completion)):
                return None if row is None else row.completion
            self._table.remove(key, row.checksum)
        except self._errors as error:
            raise self._explain(error) from error
        self._tell(f"{self._where}: an answer is damaged ({key}), and is asked for again")
        return None

    def check(self) -> None:
        """Raise `CacheError` if a write has failed: what cannot be kept should not be paid for."""
        if self._failed is not None:
            raise self._failed

    def put(self, key: str, completion: Completion) -> None:
        """Keep a completion; the first completion of a key stays. Raises `CacheError` if it fails twice."""
        try:
            try:
                self._table.put(key, Row(completion, _checksum(key, completion)))
            except self._errors:  # it is paid for
                self._table.put(key, Row(completion, _checksum(key, completion)))
        except self._errors as error:
            self._failed = self._explain(error)
            raise self._failed from error

    def sync(self) -> None:
        """Bring what was kept to the disk: a commit only hands it to the operating system. Raises `CacheError`."""
        log = Path(f"{self._where}-wal")
        try:
            for path in (log, log.parent) if self._sqlite and log.exists() else ():
                number = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(number)
                finally:
                    os.close(number)
        except OSError as error:
            raise self._explain(error) from error

    def _waits(self) -> None:
        self._tell(f"{self._where}: waiting for another process, which holds this database")

    def spent_usd(self) -> float:
        """The cost of all completions kept here; raises `CacheError`."""
        try:
            return self._table.spent()
        except self._errors as error:
            raise self._explain(error) from error

    def close(self) -> None:
        """Close the cache's database."""
        self._table.close()

    def _explain(self, error: Exception) -> CacheError:
        message = str(getattr(error, "orig", None) or error).partition("\n")[0]
        if "full" in message or "disk I/O" in message:
            advice = "free some space there and run again: what was answered before is kept"
        elif "not a database" in message or "malformed" in message:
            advice = (
                "the file is damaged; move it away and run again (its answers are paid for anew), "
                "or put a copy of it back"
            )
        elif "locked" in message:
            advice = "another program holds it; close that program and run again"
        elif not self._sqlite:
            advice = "check the database URL and that its server and driver are there"
        else:
            advice = "check that its folder exists and that you may write there"
        return CacheError(f"{self._where}: the cache of completions cannot be used ({message}); {advice}")


class _Patient:
    """Runs statements on a SQLite connection. While another process holds the database, it waits, and says so once."""

    def __init__(self, connection: "sqlite3.Connection", tell: Callable[[], None]) -> None:
        self._connection, self._tell, self._has_told = connection, tell, False
        connection.execute(f"PRAGMA busy_timeout = {SAID_AFTER_S * 1000:.0f}")

    def execute(self, statement: str, parameters: Sequence[str | int | float] = ()) -> "sqlite3.Cursor":
        """Run a statement. Raises `sqlite3.Error`, also if the database is held for longer than `BUSY_S`."""
        import sqlite3

        began = time.monotonic()
        while True:
            try:
                return self._connection.execute(statement, parameters)
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - began
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waited > BUSY_S:
                    raise
                if waited >= SAID_AFTER_S and not self._has_told:
                    self._has_told = True
                    self._tell()
                time.sleep(RETRY_S)  # SQLite may refuse at once, without its busy time, while others switch to a log


def _add_later_columns(execute: "Callable[[str], sqlite3.Cursor]") -> None:
    """Give a table of an earlier version the columns that it lacks; another process may be doing the same."""
    import sqlite3

    def columns() -> set[str]:
        return {column[1] for column in execute("PRAGMA table_info(completions)")}

    for name in _LATER.keys() - columns():
        try:
            execute(_LATER[name])
        except sqlite3.OperationalError:
            if name not in columns():
                raise


class _SqliteTable:
    """The table in SQLite, without SQLAlchemy's statement layer, which would take six times as long."""

    def __init__(self, engine: "Engine", tell: Callable[[], None]) -> None:
        import sqlite3

        self._engine = engine
        self._pooled = engine.raw_connection()
        connection = self._pooled.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        connection.isolation_level = None  # each statement is its own transaction
        # A damaged text is read, too: its checksum tells.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        self._execute = _Patient(connection, tell).execute
        self._execute("PRAGMA journal_mode = WAL")
        # In WAL mode NORMAL hands each commit to the operating system: a killed process loses nothing.
        self._execute("PRAGMA synchronous = NORMAL")
        self._execute(_CREATE)
        _add_later_columns(self._execute)

    def get(self, key: str) -> Row | None:
        row = self._execute(_SELECT, (key,)).fetchone()
        return None if row is None else Row(Completion(*row[:-1]), row[-1])

    def put(self, key: str, row: Row) -> None:
        self._execute(_INSERT, (key, *row.completion, row.checksum))

    def remove(self, key: str, checksum: str) -> None:
        self._execute(_DELETE, (key, checksum))

    def spent(self) -> float:
        return float(self._execute("SELECT COALESCE(SUM(cost_usd), 0) FROM completions").fetchone()[0])

    def close(self) -> None:
        self._pooled.close()
        self._engine.dispose()  # or the pool would keep the file open


class _CoreTable:
    """The table in any other database, through SQLAlchemy."""

    def __init__(self, engine: "Engine") -> None:
        from sqlalchemy import Column, Float, Integer, MetaData, String, Table, Text, inspect, text

        metadata = MetaData()
        self._table = Table(
            "completions",
            metadata,
            Column("key", String(32), primary_key=True),
            Column("answer", Text, nullable=False),
            Column("kind", String(16), nullable=False),
            Column("input_tokens", Integer, nullable=False),
            Column("output_tokens", Integer, nullable=False),
            Column("cost_usd", Float, nullable=False),
            Column("served", String(200), nullable=False, server_default=""),
            Column("checksum", String(16), nullable=False, server_default=""),
        )
        metadata.create_all(engine)
        present = {column["name"] for column in inspect(engine).get_columns("completions")}
        for name in _LATER.keys() - present:
            with engine.begin() as connection:
                connection.execute(text(_LATER[name]))
        self._engine = engine

    def get(self, key: str) -> Row | None:
        from sqlalchemy import select

        columns = (self._table.c[name] for name in (*Completion._fields, "checksum"))
        with self._engine.connect() as connection:
            row = connection.execute(select(*columns).where(self._table.c.key == key)).fetchone()
        return None if row is None else Row(Completion(*row[:-1]), row[-1])

    def put(self, key: str, row: Row) -> None:
        from sqlalchemy.exc import IntegrityError

        values = {"key": key, **row.completion._asdict(), "checksum": row.checksum}
        try:
            with self._engine.begin() as connection:
                connection.execute(self._table.insert(), values)
        except IntegrityError:
            # Another process kept this completion in the meantime; any other fault shows on the next read.
            if self.get(key) is None:
                raise

    def remove(self, key: str, checksum: str) -> None:
        columns = self._table.c
        with self._engine.begin() as connection:
            connection.execute(self._table.delete().where(columns.key == key, columns.checksum == checksum))

    def spent(self) -> float:
        from sqlalchemy import func, select

        with self._engine.connect() as connection:
            return float(connection.execute(select(func.coalesce(func.sum(self._table.c.cost_usd), 0))).scalar_one())

    def close(self) -> None:
        self._engine.dispose()
