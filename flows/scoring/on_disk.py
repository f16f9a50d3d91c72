"""Rows and lines of a scorer in temporary files: there may be millions, and memory holds a few of them.

This module needs the standard library alone: a release ships it as part of each scorer.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")
"""Half of a character: somebody else's text may have one, and none of SQLite has."""


class TemporaryTable:
    """A table in a file without a name, which is gone when nothing refers to it."""

    def __init__(self, columns: str) -> None:
        # Whichever thread collects garbage may close it.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode = OFF", f"CREATE TABLE lines ({columns})", "BEGIN"):
            self._file.execute(statement)
        self._has_bytes = False
        """Whether a text is stored as bytes."""

    def insert(self, statement: str, lines: Iterable[Sequence[Any]]) -> None:
        """Run a statement with each of the lines."""
        try:
            self._file.executemany(statement, map(self._stored, lines))
        except sqlite3.OperationalError as error:
            raise _no_room(error) from error

    def insert_one(self, statement: str, line: Sequence[Any]) -> int:
        """Run a statement with a line; return the number of the last line that was added to the table."""
        try:
            return self._file.execute(statement, self._stored(line)).lastrowid or 0
        except sqlite3.OperationalError as error:
            raise _no_room(error) from error

    def select(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield what a query returns, line by line."""
        try:
            for line in self._file.execute(statement, self._stored(values)):
                yield tuple(map(_in_text, line)) if self._has_bytes else line
        except sqlite3.OperationalError as error:
            raise _no_room(error) from error

    def _stored(self, line: Sequence[Any]) -> Sequence[Any]:
        return [
            self._in_bytes(value) if isinstance(value, str) and not value.isascii() and _HALF.search(value) else value
            for value in line
        ]

    def _in_bytes(self, text: str) -> bytes:
        self._has_bytes = True
        return text.encode("utf-8", "surrogatepass")

    def __del__(self) -> None:
        self._file.close()


def _in_text(value: Any) -> Any:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _no_room(error: sqlite3.OperationalError) -> OSError:
    return OSError(
        f"the folder for temporary files (TMPDIR, by default /var/tmp) cannot hold what is scored ({error}); make room "
        "there, or name another in TMPDIR"
    )


class Rows:
    """Rows by id, in their order. Of two with the same id the last counts, in the place of the first, as in a dict."""

    def __init__(self, rows: Iterable[tuple[str, Any]] = ()) -> None:
        """Take rows, each with its id."""
        self._table = TemporaryTable("place INTEGER PRIMARY KEY, id UNIQUE, row TEXT")
        self._size = 0
        for id_, row in rows:
            self.add(id_, row)

    def add(self, id_: str, row: Any) -> bool:
        """Add a row; return whether its id is new."""
        before = self._size
        self._size = self._table.insert_one(
            "INSERT INTO lines (id, row) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET row = excluded.row",
            (id_, json.dumps(row)),
        )
        return self._size > before

    def find(self, id_: str) -> tuple[int, Any]:
        """Return the place of a row, counted from 0, and the row; -1 and None if there is none."""
        for place, row in self._table.select("SELECT place - 1, row FROM lines WHERE id = ?", (id_,)):
            return place, json.loads(row)
        return -1, None

    def get(self, id_: str) -> Any:
        """Return a row; None if there is none."""
        return self.find(id_)[1]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for id_, row in self._table.select("SELECT id, row FROM lines ORDER BY place"):
            yield id_, json.loads(row)

    def __len__(self) -> int:
        return self._size


class Spooled:
    """Rows to be read later, in their order."""

    def __init__(self, rows: Iterable[Any] = ()) -> None:
        """Take rows."""
        self._table = TemporaryTable("row TEXT")
        self._size = 0
        for row in rows:
            self.append(row)

    def append(self, row: Any) -> None:
        """Add a row."""
        self._size = self._table.insert_one("INSERT INTO lines VALUES (?)", (json.dumps(row),))

    def __iter__(self) -> Iterator[Any]:
        return (json.loads(row) for (row,) in self._table.select("SELECT row FROM lines ORDER BY rowid"))

    def __len__(self) -> int:
        return self._size


class Lines:
    """Lines of texts, numbers and None, each of as many columns."""

    def __init__(self, columns: int, lines: Iterable[Sequence[Any]] = ()) -> None:
        """Take lines."""
        self._names = [f"c{number}" for number in range(columns)]
        self._table = TemporaryTable(", ".join(self._names))
        self.add(lines)

    def add(self, lines: Iterable[Sequence[Any]]) -> None:
        """Add lines."""
        values = ", ".join("?" * len(self._names))
        self._table.insert(f"INSERT INTO lines VALUES ({values})", lines)  # noqa: S608

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._table.select("SELECT * FROM lines ORDER BY rowid")

    def groups(self, columns: int) -> Iterator[tuple[tuple[Any, ...], Iterator[tuple[Any, ...]]]]:
        """Yield the lines with the same values in the first columns: those values, and the rest of each line in order.

        The groups are in the order of those values. Read one before you go on to the next.
        """
        order = ", ".join((*self._names[:columns], "rowid"))
        lines = self._table.select(f"SELECT * FROM lines ORDER BY {order}")  # noqa: S608
        for key, of_key in groupby(lines, key=lambda line: line[:columns]):
            yield key, (line[columns:] for line in of_key)
