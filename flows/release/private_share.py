"""The private share: rows that are never published, to tell later whether a model has seen the public ones.

A row rests on a source record: a question as its source asks it, a response, a text to work on (`Released.origin`). A
secret of the maintainer's draws source records: by HMAC-SHA256 of that text, so that nobody else can tell a draw from a
coin's. Equal texts are one record, in whatever file and format. So all rows on a record, of all families, lie on one
side, and it does not matter which other records there are.

Two kinds of rows on other records are private too: those that are made of private rows (a dialogue in which another
seed's query is put), and those that show the text of a drawn record. They are not held back, since nothing is wrong
with them.

Rows that are private for their sources (`private_sources.py`) have no part in this: a file in the folder of private
rows lists them, and the draw is as if they had never been there.

A published row stays public, and a private row stays private, whatever the share, the seed and the settings. New rows
on a record of which their family published rows are public, and private if the family has private rows on it alone. If
the family had none, the rows of the other families decide in the same way.

A share that rolls is private for one version: what earlier versions kept private counts as published, so that the draw
is among the records on which no version has rows. Where it draws none, nothing rolls: a version is never left without a
private share that the version before had.
"""

import hmac
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from data.publish.diff import Difference
from data.publish.folder import DATA, Release
from data.publish.reading import opened, read_batches
from data.publish.version_number import is_version, parsed_version
from data.seen import Hashes, are_in, place_of, sorted_hashes
from data.whole_file import sync_tree, write_whole
from flows.construct.overlap import tokens
from flows.construct.release import Released
from flows.families import family_names, load_family
from flows.language.phrase_finder import PhraseFinder
from flows.project.output_files import accepted_files
from flows.project.project import Project
from flows.project.settings import ReleaseSettings
from schemas.base import content_hash, counted, texts_in
from schemas.errors import WrongInput

SECRET = "TOUCHSTONE_HELD_OUT_SECRET"  # noqa: S105 - the name of a variable
SHORTEST_SECRET = 32
"""Characters. A secret that is tried out is known by the sides of the rows, so that there must be too many to try."""
DRAWN_BY = "secret.fingerprint"
"""File beside a version's private rows that tells a maintainer's secret from another one."""
OF_PRIVATE_SOURCES = "private-sources.keys"
"""File beside a version's private rows with the keys of those that are private for their sources."""
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
    # A variable of the environment may have bytes that are no UTF-8.
    return hmac.digest(secret.encode(errors="surrogateescape"), f"{purpose}\0{text}".encode(), "sha256")


class _Row(NamedTuple):
    key: str
    id: str
    family: str
    text: str
    """The text that it rests on; empty if it rests on none."""
    parents: Sequence[str]

    @property
    def record(self) -> str:
        """The words of that text."""
        return _words(self.text) or self.text.strip()


class _Rows(NamedTuple):
    """Rows in order, as numbers: 40 bytes for each, and 8 for each parent."""

    keys: Hashes
    ids: Hashes
    of_family: Hashes
    """The source record that each rests on, as one of its family; 0 if it rests on none."""
    of_any: Hashes
    """The same source record, as one of any family."""
    drawn: NDArray[np.bool_]
    """Whether its source record is drawn."""
    parents: Hashes
    ends: NDArray[np.uint64]
    """Where the parents of each end."""

    @classmethod
    def of(cls, rows: Iterable[_Row], is_drawn: Callable[[str], bool] = lambda record: False) -> "_Rows":
        keys, ids, of_family, of_any, parents, ends = (array("Q") for _ in range(6))
        drawn = array("B")
        for row in rows:
            record = row.record
            keys.append(int(row.key, 16))
            ids.append(int(row.id, 16))
            of_family.append(_number(row.family, record))
            of_any.append(_number(ANY, record))
            drawn.append(bool(record) and is_drawn(record))
            parents.extend(int(parent, 16) for parent in row.parents)
            ends.append(len(parents))
        names, records = (np.asarray(keys), np.asarray(ids)), (np.asarray(of_family), np.asarray(of_any))
        return cls(*names, *records, np.asarray(drawn, np.bool_), np.asarray(parents), np.asarray(ends))


def _number(family: str, record: str) -> int:
    """Return a number for a source record, as one of a family; 0 for none."""
    return int(content_hash(family, record), 16) if record else 0


class _Side:
    """One side of the earlier versions: the keys of its rows, and the source records that they rest on."""

    def __init__(self) -> None:
        self.keys = sorted_hashes(())
        self.records = sorted_hashes(())
        """By family, and once more as of any."""

    def add(self, rows: _Rows) -> None:
        self.keys = np.union1d(self.keys, rows.keys)
        self.add_records(rows.of_family, rows.of_any)

    def add_records(self, *records: Hashes) -> None:
        self.records = np.unique(np.concatenate([self.records, *records]))

    def joined(self, other: "_Side") -> "_Side":
        """Return a side with what both have."""
        both = _Side()
        both.keys = np.union1d(self.keys, other.keys)
        both.records = np.union1d(self.records, other.records)
        return both


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
    rolls: bool = False

    @classmethod
    def opened(cls, settings: ReleaseSettings, folder: Path, versions: Sequence[Release]) -> "PrivateShare":
        """Return the private share of the version after these.

        Raises `WrongInput` if a share is to be drawn and the secret is missing or another one than before, or private
        rows of an earlier version are not at hand, or the public ones of the newest. Without a share and without a
        folder, what was private is published.
        """
        secret = _secret() if settings.held_out else None
        opened = cls(settings.held_out, folder, versions, secret, settings.held_out_rolls)
        if secret is not None or folder.is_dir():
            opened._check_rows()
            opened._check_versions()
        if secret is not None:
            opened._check_secret(secret)
        return opened

    def _check_rows(self) -> None:
        """Check that the private rows of all versions are here, back to one that has none."""
        for _, manifest in reversed(self.versions):
            drawn = [config for config in manifest.configs if config.held_out > config.of_private_sources]
            if not drawn:
                return  # rows that were private before may have been published with it
            for config in drawn:
                kept = self.folder / manifest.version / DATA / config.name
                rows = sum(_number_of_rows(path) for path in kept.glob("*.parquet"))
                if rows != config.held_out:
                    raise WrongInput(
                        f"{kept}: holds {counted(rows, 'row')}, but version {manifest.version} kept "
                        f"{config.held_out:,} private there; bring that folder here as it was: without it what is "
                        "private could be published"
                    )

    def _check_versions(self) -> None:
        """Check that no private rows are of a version after the newest: it was published, and its number is used."""
        newest = parsed_version(self.versions[-1].manifest.version) if self.versions else (0, 0, 0)
        for kept in sorted(self.folder.glob("*.*.*")):
            if is_version(kept.name) and parsed_version(kept.name) > newest:
                version = self.folder.parent / kept.name
                raise WrongInput(
                    f"{version}: missing, but {kept} has its private rows; bring that version here as it was: without "
                    "it they could be published under its number"
                )

    def _check_secret(self, secret: SecretStr) -> None:
        """Check that the secret drew the private rows of the newest version."""
        drawn_by = self._drawn_by()
        if drawn_by is not None and drawn_by != fingerprint(secret.get_secret_value()):
            version = self.versions[-1].manifest.version
            raise WrongInput(
                f"{SECRET}: another secret drew the private share of version {version}; set that one. If it is lost, "
                f"remove {self.folder / version / DRAWN_BY}: earlier rows stay where they are, and this secret draws "
                "new ones"
            )

    def finish(self, folder: Path) -> None:
        """Finish a version's private folder: write what tells the secret from another one. Raises `Failed`."""
        drawn_by = fingerprint(self.secret.get_secret_value()) if self.secret else self._drawn_by()
        if drawn_by is not None:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / DRAWN_BY, f"{drawn_by}\n".encode())
        sync_tree(folder)  # before the public one has its number

    def _drawn_by(self) -> str | None:
        """Return the fingerprint of the secret that drew the newest version's private share; None if none did."""
        path = self.folder / self.versions[-1].manifest.version / DRAWN_BY if self.versions else None
        return (
            path.read_text(encoding="utf-8", errors="replace").strip() if path is not None and path.is_file() else None
        )

    def with_published(self, difference: Difference, now: Release) -> Difference:
        """Return the difference of the next version, `now`, with how many of its rows were private in the newest."""
        if not self.versions:
            return difference
        kept = self.folder / self.versions[-1].manifest.version / DATA
        files = {config.name: config.files for config in now.manifest.configs}

        def published(config: str) -> int:
            private = _keys(kept.glob(f"{config}/*.parquet"))
            return int(are_in(_keys(now.folder / path for path in files.get(config, ())), private).sum())

        configs = [replace(one, published=published(one.name) if one.added else 0) for one in difference.configs]
        return replace(difference, configs=configs)

    def rows(self, project: Project) -> Hashes:
        """Return the keys of the build's accepted rows that are private. Raises `Failed`."""
        if self.secret is None and not self.folder.is_dir():
            return sorted_hashes(())
        public, private = self._earlier()
        built = _Rows.of(_built(project), self._is_drawn)
        if self.rolls:
            rolled = self._private(project, built, public.joined(private), _Side())
            if len(rolled):
                return rolled
        return self._private(project, built, public, private)

    def _private(self, project: Project, built: _Rows, public: _Side, private: _Side) -> Hashes:
        """Return the keys of the build's rows that are private, by what was public and private before."""
        # The manifest holds the settings, in which a fact to be recalled may stand with its question.
        texts = texts_in(project.manifest.config["families"])
        public.add_records(np.array([_number(ANY, _words(text)) for text in texts], np.uint64))
        for side in (public, private):
            had = are_in(built.keys, side.keys)
            side.add_records(built.of_family[had], built.of_any[had])  # on what they rest now
        is_open = ~are_in(built.keys, public.keys)
        drawn = is_open & _rests_on_private(built, public, private)
        records = frozenset(row.record for row, is_drawn in zip(_built(project), drawn, strict=True) if is_drawn)
        is_private = are_in(built.keys, private.keys) | drawn | _showing(project, records, len(built.keys))
        ids: set[int] = set()
        for place in np.flatnonzero(is_open):  # a row comes after those that it is made of
            start, end = built.ends[place - 1] if place else 0, built.ends[place]
            if is_private[place] or not ids.isdisjoint(built.parents[start:end].tolist()):
                ids.add(int(built.ids[place]))
        return np.sort(built.keys[is_open & are_in(built.ids, np.sort(np.fromiter(ids, np.uint64)))])

    def _is_drawn(self, record: str) -> bool:
        return self.secret is not None and is_drawn(self.secret.get_secret_value(), record, self.share)

    def _earlier(self) -> tuple[_Side, _Side]:
        """Return the public side and the private side of all earlier versions."""
        public, private = _Side(), _Side()
        known: dict[str, tuple[str, Released | None]] = {}
        for folder, manifest in self.versions:
            for config in manifest.configs:
                family, released = known[config.name] = config.family, _declaration(config.family, config.part)
                for path in config.files:
                    public.add(_Rows.of(_rows(folder / path, family, released)))
        for kept in sorted(self.folder.glob(f"*.*.*/{DATA}/*/*.parquet")):  # also where the public folder is gone
            of_sources = keys_of_private_sources(kept.parent.parent.parent)
            rows = _rows(kept, *known.get(kept.parent.name, (ANY, None)))
            private.add(_Rows.of(row for row in rows if place_of(row.key, of_sources) is None))
        return public, private


def keys_of_private_sources(folder: Path) -> Hashes:
    """Return the keys of the rows in a version's private folder that are private for their sources."""
    path = folder / OF_PRIVATE_SOURCES
    return sorted_hashes(path.read_text(encoding="utf-8").split() if path.is_file() else ())


def _rests_on_private(rows: _Rows, public: _Side, private: _Side) -> NDArray[np.bool_]:
    """Return a mask of the rows that rest on a private source record."""
    is_private = rows.drawn.copy()
    for records in (rows.of_any, rows.of_family):  # what a row's family has decides before the others
        is_private |= are_in(records, private.records)
        is_private &= ~are_in(records, public.records)
    is_private &= rows.of_any != 0
    return is_private


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


def _built(project: Project) -> Iterator[_Row]:
    """Yield the accepted rows of a build that are to be released, makers first."""
    for path, family, released in _released_files(project):
        yield from _rows(path, family, released)


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
            yield _Row(row["key"], row["id"], family, text, parents)


def _keys(paths: Iterable[Path]) -> Hashes:
    return sorted_hashes(row["key"] for path in paths for batch in read_batches(path, ["key"]) for row in batch.rows())


def _number_of_rows(path: Path) -> int:
    with opened(path) as file:
        return int(file.metadata.num_rows)


def _words(text: str) -> str:
    """Return a text by which equal questions are equal: its words, without case, punctuation and white space."""
    return " ".join(tokens(text))


def _showing(project: Project, records: frozenset[str], rows: int) -> NDArray[np.bool_]:
    """Return a mask of the build's rows, of which there are `rows`: those that show the text of a source record."""
    finder = PhraseFinder([text for text in sorted(records) if len(text.split()) >= SHORTEST_SHOWN], "en")
    showing = np.zeros(rows, np.bool_)
    first = 0
    for path, _, _ in _released_files(project) if records else ():
        for batch in read_batches(path):
            texts = [BETWEEN.join(map(_words, texts_in(row))) for row in batch.rows()]
            for numbers in finder.holding(texts).values():
                showing[first + np.array(numbers)] = True
            first += len(texts)
    return showing
