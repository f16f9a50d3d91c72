"""What people changed since the last version: in its card, and in files that they added or edited.

They do so in the version's folder, or on the Hub's branch. Both go into the next version.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from data.checksum import checksum
from data.publish.check import others_in
from data.publish.folder import CARD, Release, is_inside
from data.publish.merge import (
    BOTH_BY_HAND,
    Card,
    Changes,
    Conflict,
    merge,
    merge_metadata,
    merge_words,
    read_card,
    refuse_edited_text,
)
from data.whole_file import whole_bytes, write_whole
from schemas.base import content_hash, visible
from schemas.errors import WrongInput
from schemas.release import ReleaseManifest


@dataclass(frozen=True)
class Branch:
    """The Hub's branch, against the last version on it."""

    repo: str
    tags: Mapping[str, str]
    """Published version -> its commit, the earliest first."""
    version: ReleaseManifest | None
    """The last version on the branch, whose publication may have ended before its tag; None if there is none."""
    commit: str
    """The commit of that version; empty if there is none."""
    now: Mapping[str, str]
    """Path -> digest of the files on the branch."""
    changed: Changes
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """Content of the edited files that may be merged."""
    last_card: bytes = b""
    """The card of the last version; empty if there is none."""


@dataclass(frozen=True)
class Edits:
    """What people changed."""

    folder: str = ""
    """That of the last version."""
    on_hub: Mapping[str, str] = field(default_factory=dict)
    """Key of the card's metadata that was changed on the Hub -> the dataset there."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The card's metadata as they left it."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """The card's metadata as the last version made it."""
    words: bytes | None = None
    """Their own words in the card; None if there is no section for them."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Path -> SHA-256 of each file that they added or edited."""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Path -> SHA-256 of what the last version made in place of an edited file."""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """Content of those that were edited on the Hub."""
    conflicts: Sequence[str] = ()
    """What stands against another version, a line each."""

    @property
    def keys(self) -> list[str]:
        """The keys of the card's metadata that they changed."""
        return sorted(
            key for key in {**self.made, **self.metadata} if self.made.get(key) != self.metadata.get(key)
        )  # fmt: skip

    def card_of(self, key: str) -> str:
        """Return where the card is in which people changed a key."""
        return self.on_hub.get(key, self.folder)

    @property
    def digest(self) -> str:
        """A hash of the edits: the same before and after a version that keeps them."""
        metadata = {key: repr(self.metadata.get(key)) for key in self.keys}
        return content_hash(metadata, (self.words or b"").decode("utf-8", "replace").strip(), dict(self.files))


def edits_of(before: Release | None, branch: Branch | None = None) -> Edits:
    """Return what people changed in the folder of the last version and on the Hub.

    Raises `WrongInput` for a card that cannot be read, or a file that cannot be released.
    """
    edits = _edits_here(before) if before is not None else Edits()
    return edits if branch is None else _with_branch(edits, before, branch)


def kept_edits(edits: Edits) -> dict[str, list[str]]:
    """Return kind of edit that a version keeps -> files, or parts of the card."""
    kinds = {
        "added by hand, part of the release": [path for path in edits.files if path not in edits.bases],
        "edited by hand, kept": [path for path in edits.files if path in edits.bases],
        f"edited by hand, kept in {CARD}": [*edits.keys, *(["own words"] if (edits.words or b"").strip() else [])],
    }
    return {kind: names for kind, names in kinds.items() if names}


def in_words(edits: Edits, branch: Branch | None) -> list[str]:
    """Return a line on each kind of edit that a version keeps, or leaves on the Hub."""
    beside = [path for path in branch.changed.added if path != CARD and path not in edits.files] if branch else []
    kinds = {**({"kept on the Hub, not part of the release": beside} if beside else {}), **kept_edits(edits)}
    return [f"{kind}: {', '.join(map(visible, names))}" for kind, names in kinds.items()]


def put_files(edits: Edits, before: Release, folder: Path) -> tuple[dict[str, str], list[str]]:
    """Put the files that people added to the last version, or edited in it, into the next one, in `folder`.

    Returns path -> SHA-256 of what was made in its place, empty for what they added; and a line on each conflict.
    """
    made, conflicts = dict[str, str](), list[str]()
    for path, theirs in edits.files.items():
        place, content = folder / path, edits.contents.get(path)
        new = checksum(place) if place.is_file() else None
        try:
            merged = merge(edits.bases.get(path), theirs, new)
        except Conflict:
            where = before.folder if content is None else "the Hub"
            conflicts.append(
                f"{where}: {visible(path)}: changed by hand, and this version has another file there; rename it if you "
                "added it, or put it back as the release had made it"
            )
            merged = theirs
        if merged == new:
            continue
        made[path] = new or ""
        if content is not None:
            write_whole(place, content)
        else:
            with whole_bytes(place) as file, (before.folder / path).open("rb") as kept:
                shutil.copyfileobj(kept, file)
    return made, conflicts


def _edits_here(before: Release) -> Edits:
    """Return what people changed in the folder of a version."""
    conflicts: list[str] = []
    if not (before.folder / CARD).is_file():
        raise WrongInput(f"{before.folder}/{CARD}: missing; restore it as it was released")
    try:
        card = read_card((before.folder / CARD).read_bytes())
        refuse_edited_text(before.manifest.card.text or card.text, card)
    except WrongInput as error:
        raise WrongInput(f"{before.folder}/{error}") from None
    except Conflict as error:
        conflicts.append(f"{before.folder}/{error}")
    listed = {file.path: file for file in before.manifest.files}
    paths = [path for path in before.manifest.touched if (before.folder / path).is_file()]
    paths += (path for path in others_in(before) if not any(part.startswith(".") for part in path.split("/")))
    for path in paths:
        if not (before.folder / path).is_file() or not is_inside(path):
            raise WrongInput(
                f"{before.folder}/{visible(path)}: a release holds files with plain names alone; remove or rename it"
            )
    return Edits(
        folder=str(before.folder),
        metadata=card.metadata,
        made=before.manifest.card.metadata or card.metadata,
        words=card.words,
        files={path: checksum(before.folder / path) for path in sorted(paths)},
        bases={
            path: file.sha256 if file.made is None else file.made for path, file in listed.items() if file.made != ""
        },
        conflicts=conflicts,
    )


def _with_branch(here: Edits, before: Release | None, branch: Branch) -> Edits:
    """Return the edits with those on the Hub."""
    edits = here
    if CARD in branch.contents:
        try:
            edits = _with_card(here, branch.repo, read_card(branch.last_card), read_card(branch.contents[CARD]))
        except WrongInput as error:
            edits = replace(here, conflicts=[*here.conflicts, f"{branch.repo}: {error}"])
    return edits if before is None or branch.version is None else _with_files(edits, before, branch, branch.version)


def _with_card(here: Edits, repo: str, last: Card, theirs: Card) -> Edits:
    """Return the edits with those of the card on the Hub."""
    metadata, in_keys = merge_metadata(last.metadata, theirs.metadata, here.metadata, BOTH_BY_HAND)
    conflicts, words = [*in_keys.values()], theirs.words
    try:
        words = merge_words(last.words, theirs.words, here.words)
    except Conflict as error:
        conflicts.append(str(error))
    try:
        refuse_edited_text(last.text, theirs)
    except Conflict as error:
        conflicts.append(str(error))
    keys = {**last.metadata, **theirs.metadata}
    return replace(
        here,
        on_hub={key: repo for key in keys if last.metadata.get(key) != theirs.metadata.get(key)},
        metadata=metadata,
        words=words,
        conflicts=[*here.conflicts, *(f"{repo}: {conflict}" for conflict in conflicts)],
    )


def _with_files(edits: Edits, before: Release, branch: Branch, version: ReleaseManifest) -> Edits:
    """Return the edits with those of files on the Hub."""
    files, contents, conflicts = dict(edits.files), dict[str, bytes](), [*edits.conflicts]
    released = {file.path: file.sha256 for file in version.files}
    unedited = {file.path: file.sha256 for file in before.manifest.files if file.made is None}
    edited = {path: sha256(content).hexdigest() for path, content in branch.contents.items() if path != CARD}
    for path in sorted({*edited, *version.added.intersection(branch.changed.deleted)}):
        theirs, here = edited.get(path), files.get(path, unedited.get(path))
        try:
            merged = merge(released[path], theirs, here)
        except Conflict:
            conflicts.append(
                f"{branch.repo}: {visible(path)}: changed on the Hub, and otherwise in {before.folder}; put one of "
                "the two back as it was"
            )
            merged = theirs
        if merged is None:
            files.pop(path, None)
        elif merged != here:
            files[path], contents[path] = merged, branch.contents[path]
    return replace(edits, files=files, contents=contents, conflicts=conflicts)
