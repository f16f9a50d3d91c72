"""The private share: rows that are never published, to tell later whether a model has seen the public ones.

A row rests on a source record: a question as its source asks it, a response, a text to work on (`Released.origin`). A
secret of the maintainer's draws source records: by HMAC-SHA256 of that text, so that nobody else can tell a draw from a
coin's. Equal texts are one record, in whatever file and format. So all rows on a record, of all families, lie on one
side, and it does not matter which other records there are.

Two kinds of rows on other records are private too: those that are made of private rows (a dialogue in which another
seed's query is put), and those that show the text of a drawn record. They are not held back, since nothing is wrong
with them.

A published row stays public, and a private row stays private, whatever the share, the seed and the settings. New rows
on a record of which their family published rows are public, and private if the family has private rows on it alone. If
the family had none, the rows of the other families decide in the same way.
"""

import hmac
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from data.publish.folder import DATA, Release
from data.publish.reading import opened, read_batches
from data.whole_file import write_whole
from flows.construct.overlap import tokens
from flows.construct.release import Released
from flows.families import family_names, load_family
from flows.language.phrase_finder import PhraseFinder
from flows.project.output_files import accepted_files
from flows.project.project import Project
from schemas.base import texts_in
from schemas.errors import WrongInput

SECRET = "TOUCHSTONE_HELD_OUT_SECRET"  # noqa: S105 - the name of a variable
SHORTEST_SECRET = 32
"""Characters. A secret that is tried out is known by the sides of the rows, so that there must be too many to try."""
DRAWN_BY = "secret.fingerprint"
"""File beside a version's private rows that tells a maintainer's secret from another one."""
SHORTEST_SHOWN = 3
"""Words of a text that is looked for in other rows: fewer stand anywhere."""
ANY = ""
"""In place of a family's name."""
BETWEEN = " | "
"""Between the texts of a row that are searched as one: no text has it once its words are taken."""


def is_drawn(secret: str, record: str, share: float) -> bool:
    """Return whether a source record is drawn, for a share from 0 (none) to 1 (all).

    A larger share includes every smaller one.
    """
    return int.from_bytes(_mac(secret, "record", record)[:8]) < share * (1 << 64)


def fingerprint(secret: str) -> str:
    """Return a text that is the same for no other secret."""
    return _mac(secret, "fingerprint", "").hex()


def _mac(secret: str, purpose: str, text: str) -> bytes:
    return hmac.digest(secret.encode(), f"{purpose}\0{text}".encode(), "sha256")


class _Row(NamedTuple):
    key: str
    id: str
    family: str
    record: str
    """The words of the text that it rests on; empty if it rests on none."""
    parents: frozenset[str]


@dataclass
class _Side:
    """One side of the earlier versions: the keys of its rows, and the source records that they rest on."""

    keys: set[str] = field(default_factory=set)
    records: set[tuple[str, str]] = field(default_factory=set)
    """By family, and once more as of any."""

    def add(self, rows: Iterable[_Row]) -> None:
        for row in rows:
            self.keys.add(row.key)
            self.records |= {(row.family, row.record), (ANY, row.record)}


@dataclass(frozen=True)
class PrivateShare:
    """The secret and the earlier versions, which decide on the private rows of the next version."""

    share: float
    folder: Path
    """The private rows of each version, under its number."""
    versions: Sequence[Release]
    """The earlier versions, the newest last."""
    secret: SecretStr | None
    """None if nothing is to be drawn."""

    @classmethod
    def opened(cls, share: float, folder: Path, versions: Sequence[Release]) -> "PrivateShare":
        """Return the private share of the version after these.

        Raises `WrongInput` if a share is to be drawn and the secret is missing or another one than before, or the
        private rows of the newest version are not at hand.
        """
        secret = _secret() if share else None
        opened = cls(share, folder, versions, secret)
        if secret is not None and versions:
            opened._check_newest(versions[-1], secret)
        return opened

    def _check_newest(self, newest: Release, secret: SecretStr) -> None:
        version, kept = newest.manifest.version, self.folder / newest.manifest.version
        count = sum(config.held_out for config in newest.manifest.configs)
        if count and not (kept / DATA).is_dir():
            raise WrongInput(
                f"{kept}: no such folder, but version {version} kept {count:,} rows private there; bring it here: "
                "without it they could be published"
            )
        drawn_by = self._drawn_by()
        if drawn_by is not None and drawn_by != fingerprint(secret.get_secret_value()):
            raise WrongInput(
                f"{SECRET}: another secret drew the private share of version {version}; set that one. If it is lost, "
                f"remove {kept / DRAWN_BY}: earlier rows stay where they are, and this secret draws new ones"
            )

    def write_fingerprint(self, folder: Path) -> None:
        """Write what tells the secret from another one to a version's private folder. Raises `Failed`."""
        drawn_by = fingerprint(self.secret.get_secret_value()) if self.secret else self._drawn_by()
        if drawn_by is not None:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / DRAWN_BY, f"{drawn_by}\n".encode())

    def _drawn_by(self) -> str | None:
        """Return the fingerprint of the secret that drew the newest version's private share; None if none did."""
        path = self.folder / self.versions[-1].manifest.version / DRAWN_BY if self.versions else None
        return path.read_text(encoding="utf-8").strip() if path is not None and path.is_file() else None

    def rows(self, project: Project) -> frozenset[str]:
        """Return the keys of the build's accepted rows that are private. Raises `Failed`."""
        if self.secret is None and not self.folder.is_dir():
            return frozenset()
        public, private = self._earlier()
        # The manifest holds the settings, in which a fact to be recalled may stand with its question.
        public.records |= {(ANY, _words(text)) for text in texts_in(project.manifest.config["families"])}
        built = [row for path, family, released in _released_files(project) for row in _rows(path, family, released)]
        for side in (public, private):
            side.add([row for row in built if row.key in side.keys])  # on what they rest now
        rows = [row for row in built if row.key not in public.keys]
        drawn = {row.key: row.record for row in rows if self._is_private(row, public, private)}
        keys = private.keys | drawn.keys() | _showing(project, frozenset(drawn.values()))
        ids: set[str] = set()
        for row in rows:  # a row comes after those that it is made of
            if row.key in keys or not ids.isdisjoint(row.parents):
                ids.add(row.id)
        return frozenset(row.key for row in rows if row.id in ids)

    def _is_private(self, row: _Row, public: _Side, private: _Side) -> bool:
        """Return whether the source record that a row rests on is private."""
        if not row.record:
            return False
        for record in ((row.family, row.record), (ANY, row.record)):
            if record in public.records or record in private.records:
                return record not in public.records
        return self.secret is not None and is_drawn(self.secret.get_secret_value(), row.record, self.share)

    def _earlier(self) -> tuple[_Side, _Side]:
        """Return the public side and the private side of all earlier versions."""
        public, private = _Side(), _Side()
        for folder, manifest in self.versions:
            for config in manifest.configs:
                released = _declaration(config.family, config.part)
                for path in config.files:
                    public.add(_rows(folder / path, config.family, released))
                for kept in sorted((self.folder / manifest.version / DATA / config.name).glob("*.parquet")):
                    private.add(_rows(kept, config.family, released))
        return public, private


def _secret() -> SecretStr:
    secret = os.environ.get(SECRET, "").strip()
    if len(secret) < SHORTEST_SECRET:
        problem = f"has fewer than {SHORTEST_SECRET} characters" if secret else "is not set"
        raise WrongInput(
            f"{SECRET}: {problem}; it draws the rows "
            'that `release.held_out` keeps private: make it with `python -c "import secrets; '
            'print(secrets.token_hex(32))"`, set it in the environment, and keep it for all later versions'
        )
    return SecretStr(secret)


def _declaration(family: str, part: str) -> Released | None:
    """Return the declaration of a released part; None if there is no such part any more."""
    parts = load_family(family).parts if family in family_names() else ()
    return next((built.released for built in parts if built.name == part), None)


def _released_files(project: Project) -> Iterator[tuple[Path, str, Released]]:
    """Yield the files of accepted rows that are to be released, with their family's name, makers first."""
    for family, part in project.build.parts():
        if part.released is not None:
            for path in accepted_files(project, family.name, part.name):
                yield path, family.name, part.released


def _rows(path: Path, family: str, released: Released | None) -> Iterator[_Row]:
    """Yield the rows of a file. Those of an earlier version may lack columns: they rest on nothing that is known."""
    with opened(path) as file:
        existing = set(file.schema_arrow.names)
    origin = released.origin if released is not None and existing.issuperset(released.origin) else ()
    columns = sorted({"key", "id", "provenance", *origin} & existing)
    for batch in read_batches(path, columns):
        for row in batch.rows():
            text = released.rests_on(*(row[name] for name in origin)) if released is not None and origin else ""
            parents = row["provenance"]["parents"] if "provenance" in row else ()
            record = sys.intern(_words(text) or text.strip())  # hundreds of rows may rest on one long text
            yield _Row(row["key"], row["id"], family, record, frozenset(parents))


def _words(text: str) -> str:
    """Return a text by which equal questions are equal: its words, without case, punctuation and white space."""
    return " ".join(tokens(text))


def _showing(project: Project, records: frozenset[str]) -> frozenset[str]:
    """Return the keys of the rows that show the text of one of these source records."""
    finder = PhraseFinder([text for text in sorted(records) if len(text.split()) >= SHORTEST_SHOWN], "en")
    showing: set[str] = set()
    for path, _, _ in _released_files(project) if records else ():
        for batch in read_batches(path):
            rows = list(batch.rows())
            held = finder.holding([BETWEEN.join(map(_words, texts_in(row))) for row in rows])
            showing.update(rows[number]["key"] for numbers in held.values() for number in numbers)
    return frozenset(showing)
