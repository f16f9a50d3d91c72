"""Compares a version with the previous one, row by row, and derives its number."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from data.publish.folder import CARD, CHANGELOG, CHANGES, HISTORY, MANIFEST, MOST_TEXT, Release, claims_of, is_reserved
from data.publish.reading import unreadable
from data.publish.row_diff import Hides, Record, compare_rows, record_all
from data.publish.rows import BOOKKEEPING
from data.publish.version_number import FIRST_VERSION, Bump, bumped, parsed_version
from data.whole_file import whole_file
from schemas.errors import Failed, WrongInput
from schemas.release import Change, ReleasedConfig, ReleaseManifest

_METADATA = ("name", "seed", "canary", "pilot", "allowed_unreviewed", "models", "prompts", "settings", "baselines")
_METADATA_OF_CONFIG = ("family", "part", "licence", "held_back", "held_out")
"""Other parts of a manifest that matter to a consumer. Library versions and stages do not if rows and methods agree."""
_CHANGES_SECTION = re.compile(rb"^## Changes in this version$.*?^(?=## )", re.MULTILINE | re.DOTALL)
"""The card's section on how a version differs from the previous one."""
Pair = tuple[str | None, str | None]
"""(Before, now); None if it does not exist."""


@dataclass(frozen=True)
class ConfigDifference:
    """How a configuration differs. If only one version has it, all its rows are added or removed."""

    name: str
    added: int = 0
    published: int = 0
    """Added rows that were private in the previous version."""
    changed: int = 0
    """Rows that differ in what a model may be shown or scored by."""
    removed: int = 0
    bookkeeping: int = 0
    """Rows that differ in bookkeeping alone."""
    unchanged: int = 0
    comparable: int = 0
    """Rows on which scores on either version are comparable."""
    is_new: bool = False
    is_gone: bool = False
    fields: Mapping[str, int] = field(default_factory=dict)
    """Field of the content -> rows in which it changed."""
    bookkeeping_fields: Mapping[str, int] = field(default_factory=dict)
    """Field -> rows of which bookkeeping alone changed, and it did."""
    columns: Mapping[str, Pair] = field(default_factory=dict)
    """Column -> Arrow type."""
    split: Pair | None = None
    is_scored_otherwise: bool = False
    """True if the scorer changed, in more than its comments."""
    asked: Sequence[str] = ()
    """Tasks and prompts that ask a model in another way."""
    method: Mapping[str, Pair] = field(default_factory=dict)
    """The method that made the rows: step or prompt -> version."""
    licence: Pair | None = None
    held_back: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Reason -> rows held back for it before and now, if the numbers differ."""
    examples: Sequence[Change] = ()
    """A few of the changed rows."""

    @property
    def before(self) -> int:
        """Rows of the previous version."""
        return self.changed + self.removed + self.bookkeeping + self.unchanged

    @property
    def breaks(self) -> bool:
        """True if the rows can no longer be read or scored as before."""
        lost = any(kind is not None for kind, _ in self.columns.values())
        return bool(lost or self.split or self.is_scored_otherwise or self.asked or self.is_gone)

    @property
    def grows(self) -> bool:
        """True if a model is shown or scored by other rows, or there is more to read."""
        return bool(self.added or self.changed or self.removed or self.is_new or self.columns)

    @property
    def is_same(self) -> bool:
        """True if nothing differs in the rows, nor in how they are made, read and scored."""
        return not (self.breaks or self.grows or self.bookkeeping or self.method)


@dataclass(frozen=True)
class Difference:
    """How a version differs from the previous one."""

    before: str | None
    """None for a first version."""
    now: str
    configs: Sequence[ConfigDifference]
    metadata: Sequence[str]
    """Other differences: files by path, and the manifest's statements."""
    by_hand: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Kind of edit by people that the version keeps -> files, or parts of the card."""

    @property
    def bump(self) -> Bump | None:
        """The rule: what can no longer be read or scored as before is major, other rows are minor, all else is a patch.

        A changed method alone is a patch: whether it changed anything that a model is shown, the rows themselves tell.
        None if nothing differs, or for a first version.
        """
        if self.before is None:
            return None
        if any(config.breaks for config in self.configs):
            return "major"
        if any(config.grows for config in self.configs):
            return "minor"
        return "patch" if self.metadata or not all(config.is_same for config in self.configs) else None

    @property
    def comparable(self) -> bool:
        """True if scores are comparable on every row of the previous version."""
        return all(config.comparable == config.before for config in self.configs)

    def stated_in(self, manifest: ReleaseManifest) -> ReleaseManifest:
        """Return the manifest with the previous version, and on which rows scores are comparable with those on it."""
        rows = {config.name: config.comparable for config in self.configs if self.before and not config.is_new}
        configs = tuple(config.model_copy(update={"comparable": rows.get(config.name)}) for config in manifest.configs)
        return manifest.model_copy(update={"previous": self.before, "comparable": self.comparable, "configs": configs})


def compare(
    before: Release | None, now: Release, changes: Path | None = None, hides: Hides = lambda row: False
) -> Difference:
    """Return the difference, and write each row that differs to the file `changes` as a `schemas.release.Change`.

    If `hides` says so of a row of the version before, what it was is not shown.

    Where no score is comparable, the file lists the other rows of the configuration too: who takes the rows that it
    does not list, or lists as bookkeeping, takes the comparable ones.
    Rows with the same `key` are compared without `canary`, in the columns that both versions have; a new, removed or
    retyped column is reported once for its configuration. The scorer and what a model is asked are compared if both
    manifests state them. The order of rows does not matter. Files with the same bytes are not read. Memory: about 40
    bytes a row, and some row groups. A text that contains its own version or canary, such as the card, differs only if
    something else in it does. Raises `Failed`.
    """
    old = {config.name: config for config in before.manifest.configs if config.files} if before else {}
    new = {config.name: config for config in now.manifest.configs if config.files}
    with _recording(changes) as record:
        configs = []
        for name in sorted(old.keys() | new.keys()):
            if name not in old:
                count = record_all(now, new[name], "added", record)
                configs.append(ConfigDifference(name, added=count, is_new=True))
            elif name not in new:
                assert before is not None
                count = record_all(before, old[name], "removed", record)
                configs.append(ConfigDifference(name, removed=count, is_gone=True))
            else:
                assert before is not None
                configs.append(_compare_config(before, now, old[name], new[name], record, hides))
    metadata = _metadata(before, now) if before else ()
    return Difference(before.manifest.version if before else None, now.manifest.version, configs, metadata)


def next_version(difference: Difference, override: str | None = None) -> str | None:
    """Return the version that the difference calls for, or the higher `override`; None if there is no new version.

    Raises `WrongInput` if `override` is no version, or lower.
    """
    before, bump = difference.before, difference.bump
    if before is None:
        least, why = FIRST_VERSION, "the first version"
    elif bump is None:
        least, why = bumped(before, "patch"), f"the one after {before}"
    else:
        least, why = bumped(before, bump), f"a {bump} change of {before}"
    if override is None:
        return None if before is not None and bump is None else least
    if parsed_version(override) < parsed_version(least):
        raise WrongInput(f"version {override}: lower than {least}, {why}; give that version, a higher one, or none")
    return override


def _compare_config(
    before: Release, now: Release, old: ReleasedConfig, new: ReleasedConfig, record: Record, hides: Hides
) -> ConfigDifference:
    same = ConfigDifference(
        new.name, unchanged=new.rows,
        columns=_pairs(old.fields, new.fields),
        split=(old.split, new.split) if old.split != new.split else None,
        is_scored_otherwise=bool(old.scorer and new.scorer and old.scorer != new.scorer),
        asked=[name for name in sorted(old.asked.keys() & new.asked.keys()) if old.asked[name] != new.asked[name]],
        method=_pairs(old.method, new.method),
        licence=(old.licence, new.licence) if old.licence != new.licence else None,
        held_back={
            reason: (old.held_back.get(reason, 0), new.held_back.get(reason, 0))
            for reason in sorted(old.held_back.keys() | new.held_back.keys())
            if old.held_back.get(reason, 0) != new.held_back.get(reason, 0)
        },
    )  # fmt: skip
    bookkeeping = frozenset(new.bookkeeping or old.bookkeeping or BOOKKEEPING)
    lost = {name for name, (kind, _) in same.columns.items() if kind is not None}
    incomparable = same.is_scored_otherwise or same.asked or lost - bookkeeping
    if _checksums(before, old) == _checksums(now, new):
        if incomparable:
            record_all(now, new, "incomparable", record)
        return replace(same, comparable=0 if incomparable else same.unchanged)
    rows = compare_rows(before, now, old, new, bookkeeping, record, hides, comparable=not incomparable)
    return replace(
        same,
        added=rows.added,
        changed=rows.changed,
        removed=rows.removed,
        bookkeeping=rows.bookkeeping,
        unchanged=rows.unchanged,
        comparable=0 if incomparable else rows.unchanged + rows.bookkeeping,
        fields=dict(sorted(rows.fields.items())),
        bookkeeping_fields=dict(sorted(rows.bookkeeping_fields.items())),
        examples=rows.examples,
    )


# ---- what else differs ----


def _pairs(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, Pair]:
    return {
        name: (before.get(name), now.get(name))
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    }


def _checksums(release: Release, config: ReleasedConfig) -> list[str | None]:
    checksums = {file.path: file.sha256 for file in release.manifest.files}
    return [checksums.get(path, f"{release.folder}/{path}") for path in config.files]


def _metadata(before: Release, now: Release) -> tuple[str, ...]:
    differing = [
        f"{MANIFEST}: {name}" for name in _METADATA if getattr(before.manifest, name) != getattr(now.manifest, name)
    ]
    old = {config.name: config for config in before.manifest.configs}
    for config in now.manifest.configs:
        if config.name in old:
            differing += [
                f"{MANIFEST}: {config.name}: {name}"
                for name in _METADATA_OF_CONFIG
                if getattr(old[config.name], name) != getattr(config, name)
            ]
    old_files, new_files = _other_files(before), _other_files(now)
    for path in sorted(old_files.keys() | new_files.keys()):
        if old_files.get(path) == new_files.get(path):
            continue
        in_one = path not in old_files or path not in new_files
        if in_one or path.endswith(".parquet") or _neutral(before, path) != _neutral(now, path):
            differing.append(path)
    return tuple(sorted(differing))


def _other_files(release: Release) -> dict[str, str]:
    """Return path -> checksum of the files that hold neither rows nor the difference itself."""
    rows = {path for config in release.manifest.configs for path in config.files}
    return {
        file.path: file.sha256
        for file in release.manifest.files
        if file.path not in {*rows, CHANGELOG, CHANGES, HISTORY}
    }


def _neutral(release: Release, path: str) -> bytes:
    """Return a file's content without version, canary and digest, and a card's without its section on changes.

    Of a file that is too large to be looked into, that is its checksum.
    """
    try:
        if (release.folder / path).stat().st_size > MOST_TEXT:
            return _other_files(release)[path].encode()
        content = (release.folder / path).read_bytes()
    except OSError as error:
        raise unreadable(release.folder / path, error) from error
    if is_reserved(path) and hashlib.sha256(content).hexdigest() != _other_files(release)[path]:
        raise Failed(f"{release.folder / path}: not as it was released; download it again, or put it back from a copy")
    if path == CARD:  # it differs in every version
        content = _CHANGES_SECTION.sub(b"", content, count=1)
    content = content.replace(release.manifest.canary.encode(), b"CANARY")
    content = content.replace(claims_of(release.manifest).encode(), b"MANIFEST")
    version = re.escape(release.manifest.version.encode())
    return re.sub(rb"(?<![\d.])" + version + rb"(?!\.?\d)", b"VERSION", content)


@contextmanager
def _recording(path: Path | None) -> Iterator[Record]:
    """Yield a function that writes each change to `path`, which exists once they are all written."""
    if path is None:
        yield lambda change: None
        return
    with whole_file(path) as file:
        yield lambda change: file.write(f"{change.model_dump_json()}\n")
