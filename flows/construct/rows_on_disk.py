"""Rows that are looked up by name, in a temporary file."""

import pickle
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from schemas.errors import Failed


class RowsOnDisk(Mapping[str, Any]):
    """Rows by name in a temporary file, each read when it is looked up: millions of them take no memory."""

    def __init__(self, rows: Iterable[tuple[str, Any]]) -> None:
        """`rows` are given with their names. Of several with the same name, the last counts.

        Raises `Failed` if there is no room for the file.
        """
        # A file without a name is temporary. Whichever thread collects garbage may close it.
        # Threads share the connection: from Python 3.12 on, one that is about to run a statement of the connection's
        # cache may be given the row that another looks up by the same statement. So none is kept.
        self._file = sqlite3.connect("", check_same_thread=False, cached_statements=0)
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("CREATE TABLE rows (name TEXT, row BLOB)")
        try:
            self._file.executemany("INSERT INTO rows VALUES (?, ?)", ((name, pickle.dumps(row)) for name, row in rows))
            self._file.execute("CREATE INDEX names ON rows (name)")  # at once is quicker than row by row
        except sqlite3.OperationalError as error:
            raise Failed(
                f"the folder for temporary files (TMPDIR, by default /var/tmp) cannot hold rows to be looked up "
                f"({error}); make room there, or name another in TMPDIR"
            ) from error

    def __getitem__(self, name: str) -> Any:
        found = self._file.execute("SELECT row FROM rows WHERE name = ? ORDER BY rowid DESC LIMIT 1", (name,))
        if (values := found.fetchone()) is None:
            raise KeyError(name)
        return pickle.loads(values[0])  # noqa: S301 - nobody else writes the file

    def named(self, name: str) -> Iterator[Any]:
        """Yield all rows with a name in the order in which they were given, each read when it is wanted."""
        found = self._file.execute("SELECT row FROM rows WHERE name = ? ORDER BY rowid", (name,))
        return (pickle.loads(row) for (row,) in found)  # noqa: S301 - nobody else writes the file

    def sorted_names(self) -> Iterator[str]:
        """Yield each name once, in the order of the names."""
        return (name for (name,) in self._file.execute("SELECT DISTINCT name FROM rows ORDER BY name"))

    def __iter__(self) -> Iterator[str]:
        return (name for (name,) in self._file.execute("SELECT name FROM rows GROUP BY name ORDER BY MIN(rowid)"))

    def __len__(self) -> int:
        (count,) = self._file.execute("SELECT COUNT(DISTINCT name) FROM rows").fetchone()
        return int(count)

    def __del__(self) -> None:
        self._file.close()
