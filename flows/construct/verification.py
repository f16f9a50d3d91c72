"""The input and output of a part's verifier."""

import pickle
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flows.construct.embed import Embedder
from schemas.base import Frozen
from schemas.verdict import Verdict


class Fault(Frozen):
    """A claim of a finished row that does not hold."""

    id: str
    problem: str


@dataclass(frozen=True)
class VerifyContext:
    """The data that a verifier may read in addition to the rows."""

    settings: Any
    """The family's settings, untyped because a verifier imports nothing that builds rows."""
    embedder: Embedder
    rows: Callable[[str], Iterable[Any]]
    """The accepted rows of another part of the family."""
    verdicts: Callable[[str], Mapping[str, Verdict]] | None = None
    """By key, people's verdicts on the records of a part; None if they are not known, as in a release."""

    def rows_by(self, part: str, name: Callable[[Any], str]) -> Mapping[str, Any]:
        """Return the accepted rows of another part by a name of theirs. They stay on disk."""
        return RowsOnDisk((name(row), row) for row in self.rows(part))


class RowsOnDisk(Mapping[str, Any]):
    """Rows by name in a temporary file, each read when it is looked up: millions of them take no memory."""

    def __init__(self, rows: Iterable[tuple[str, Any]]) -> None:
        """`rows` are given with their names. Of several with the same name, the last counts."""
        self._file = sqlite3.connect("")  # one without a name is temporary
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("CREATE TABLE rows (name TEXT, row BLOB)")
        self._file.executemany("INSERT INTO rows VALUES (?, ?)", ((name, pickle.dumps(row)) for name, row in rows))
        self._file.execute("CREATE INDEX names ON rows (name)")  # at once is quicker than row by row

    def __getitem__(self, name: str) -> Any:
        found = self._file.execute("SELECT row FROM rows WHERE name = ? ORDER BY rowid DESC LIMIT 1", (name,))
        if (values := found.fetchone()) is None:
            raise KeyError(name)
        return pickle.loads(values[0])  # noqa: S301 - nobody else writes the file

    def __iter__(self) -> Iterator[str]:
        return (name for (name,) in self._file.execute("SELECT name FROM rows GROUP BY name ORDER BY MIN(rowid)"))

    def __len__(self) -> int:
        (count,) = self._file.execute("SELECT COUNT(DISTINCT name) FROM rows").fetchone()
        return int(count)

    def __del__(self) -> None:
        self._file.close()
