"""Vectors that were computed before, in a SQLite file."""

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from flows.construct.embed import UNIT_WITHIN, Embedder, FloatMatrix
from flows.construct.matrix_file import MatrixFile
from schemas.errors import Failed

_ROUND: Final = 1024
"""Texts that `CachedEmbedder` reads at once, and the fewest that it computes between two commits, which are all that a
kill can lose. A matrix of more rows is a file."""
_EARLIER_COLUMNS: Final = 3
"""Of files that were written before vectors had a checksum."""
_LENGTHS: Final = "its vectors differ in length"


class _DamageError(Exception):
    """The file is no such cache, or a vector in it is not as it was computed."""


class CachedEmbedder:
    """An embedder that remembers, in the SQLite file `path`, every vector it has given.

    Vectors are keyed by the embedder's name and the SHA-256 of the text. Missing vectors are computed and committed in
    rounds, so that a killed run loses one round at most. Several processes may share the file. A damaged file is
    removed, and what it held is computed anew.
    """

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self.embedder = embedder
        self.path = path

    @property
    def name(self) -> str:
        """The name of the wrapped embedder: the vectors are the same."""
        return self.embedder.name

    def reads(self, text: str) -> bool:
        """Return what the wrapped embedder returns."""
        return self.embedder.reads(text)

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Vectors of unit length, shape (len(texts), dim), read-only.

        For more than one round of texts the matrix is a file beside `path`, mapped into memory, so that the system can
        take its pages back. The file is deleted with the matrix, and if the process is killed.

        Raises `Failed` for a file that cannot be used, and what the embedder raises.
        """
        if not texts:
            return self.embedder.embed(texts)
        try:
            return self._embed(texts)
        except _DamageError:
            for ending in ("", "-journal"):
                self.path.with_name(f"{self.path.name}{ending}").unlink(missing_ok=True)
        try:
            return self._embed(texts)
        except _DamageError as error:
            raise self._unusable(str(error), "check the disk that it is on") from error

    def _embed(self, texts: Sequence[str]) -> FloatMatrix:
        with self._open():  # makes the folder
            matrix = MatrixFile(len(texts), self.path.parent, in_memory_up_to=_ROUND)
        missing: dict[str, list[int]] = {}
        for start in range(0, len(texts), _ROUND):
            rows_of: dict[str, list[int]] = {}
            for row in range(start, min(start + _ROUND, len(texts))):
                rows_of.setdefault(texts[row], []).append(row)
            for text in self._read(rows_of, matrix):
                missing.setdefault(text, []).extend(rows_of[text])
            if len(missing) >= _ROUND:
                self._compute(missing, matrix)
                missing = {}
        if missing:
            self._compute(missing, matrix)
        return matrix.finished()

    def _compute(self, rows_of: Mapping[str, list[int]], matrix: MatrixFile) -> None:
        """Store the vectors of texts, and put them into the matrix."""
        vectors = self.embedder.embed(list(rows_of))
        self._write({_key(text): row for text, row in zip(rows_of, vectors, strict=True)})
        for rows, vector in zip(rows_of.values(), vectors, strict=True):
            self._put(matrix, rows, np.broadcast_to(vector, (len(rows), len(vector))))

    def _read(self, rows_of: Mapping[str, list[int]], matrix: MatrixFile) -> list[str]:
        """Put the stored vectors of texts into the matrix; return the texts whose vector is not stored."""
        name, query = self.name, "SELECT vector, checksum FROM vectors WHERE model = ? AND text = ?"
        with self._open() as connection:
            answers = {text: connection.execute(query, (name, _key(text))).fetchone() for text in rows_of}
        stored: dict[str, bytes] = {text: row[0] for text, row in answers.items() if row is not None}
        if not all(isinstance(blob, bytes) and blob and not len(blob) % 4 for blob in stored.values()):
            raise _DamageError("a stored vector is not valid")
        if any(row is not None and row[1] not in (None, crc32(row[0])) for row in answers.values()):
            raise _DamageError("a stored vector is not as it was computed")
        if len({len(blob) for blob in stored.values()}) > 1:
            raise _DamageError(_LENGTHS)
        if stored:
            vectors: NDArray[np.float32] = np.frombuffer(b"".join(stored.values()), "<f4").reshape(len(stored), -1)
            if not (np.abs(np.linalg.norm(vectors, axis=1) - 1) <= UNIT_WITHIN).all():
                raise _DamageError("a vector in it is not of unit length")
            rows = [(row, place) for place, text in enumerate(stored) for row in rows_of[text]]
            rows.sort()
            self._put(matrix, [row for row, _ in rows], vectors[[place for _, place in rows]])
        return [text for text in rows_of if text not in stored]

    def _put(self, matrix: MatrixFile, rows: Sequence[int], vectors: NDArray[np.float32]) -> None:
        if matrix.dimensions not in (None, vectors.shape[1]):
            raise _DamageError(_LENGTHS)
        matrix.put(rows, vectors)

    def _write(self, vectors: dict[bytes, NDArray[np.float32]]) -> None:
        blobs = ((key, row.astype("<f4").tobytes()) for key, row in vectors.items())
        rows = ((self.name, key, blob, crc32(blob)) for key, blob in blobs)
        with self._open() as connection, connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=60)) as connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors "
                    "(model TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, checksum INTEGER, "
                    "PRIMARY KEY (model, text))"
                )
                if len(connection.execute("PRAGMA table_info(vectors)").fetchall()) == _EARLIER_COLUMNS:
                    with suppress(sqlite3.OperationalError):  # another process has just done so
                        connection.execute("ALTER TABLE vectors ADD COLUMN checksum INTEGER")
                yield connection
        except (sqlite3.OperationalError, OSError) as error:
            advice = "check that its folder can be written to and that no other process holds it"
            raise self._unusable(str(error), advice) from error
        except sqlite3.Error as error:
            raise _DamageError(str(error)) from error

    def _unusable(self, reason: str, advice: str) -> Failed:
        return Failed(f"{self.path}: cannot be used as an embedding cache ({reason}); {advice}")


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
