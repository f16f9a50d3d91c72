"""How a version differs from the one before, row by row, and which version number that asks for."""

import hashlib
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
from pydantic import JsonValue

from data.publish.folder import CARD, CHANGELOG, CHANGES, MANIFEST, Release, claims_of
from data.publish.rows import opened, plain_rows, read_batches, unreadable
from schemas.base import canonical_json
from schemas.errors import Failed, WrongInput
from schemas.release import Change, ReleasedConfig

FIRST_VERSION = "1.0.0"
SHOWN = 200
"""Characters of a longer text that a change shows."""
SHOWN_BEFORE = 60
"""Of these, before the first difference."""
EXAMPLES = 3
"""Changed rows of a configuration that are shown to people."""

Bump = Literal["major", "minor", "patch"]

_CANARY = "canary"
_METADATA = ("name", "seed", "canary", "pilot", "allowed_unreviewed", "models", "prompts", "settings")
_METADATA_OF_CONFIG = ("family", "part", "licence", "held_back", "held_out")
"""What else of a manifest a consumer sees. Library versions and stages decide nothing where rows and methods agree."""
_FETCHED_BYTES = 32 * 2**20
_PLACE = struct.Struct(">II")
_DIGEST_BYTES = 16
_FIELD = re.compile(r"[.\[]")
_TOLD = re.compile(rb"^## Changes in this version$.*?^(?=## )", re.MULTILINE | re.DOTALL)
"""The card's section on how a version differs from the one before it."""
_NUMBER = r"(0|[1-9][0-9]{0,8})"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")

Pair = tuple[str | None, str | None]
"""(Before, now); None where it is not there."""

_Record = Callable[[Change], object]


@dataclass(frozen=True)
class ConfigDifference:
    """A configuration's difference; of one that is only in one of the versions, all rows are added or removed."""

    name: str
    added: int
    changed: int
    removed: int
    unchanged: int
    is_new: bool = False
    is_gone: bool = False
    fields: Mapping[str, int] = field(default_factory=dict)
    """Field -> rows in which it changed."""
    columns: Mapping[str, Pair] = field(default_factory=dict)
    """Column -> Arrow type."""
    split: Pair | None = None
    method: Mapping[str, Pair] = field(default_factory=dict)
    licence: Pair | None = None
    held_back: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Reason -> rows held back for it before and now, where that is another number."""
    examples: Sequence[Change] = ()
    """A few of the changed rows."""

    @property
    def is_same(self) -> bool:
        """Whether nothing of it differs."""
        return not (self.added or self.changed or self.removed or self.is_new or self.is_gone or self.breaks)

    @property
    def breaks(self) -> bool:
        """Whether what is read in the version before is read otherwise, was made otherwise, or is no longer there."""
        return bool(self.columns or self.split or self.method or self.is_gone)


@dataclass(frozen=True)
class Difference:
    """How a version differs from the one before."""

    before: str | None
    """None: there is none before."""
    now: str
    configs: Sequence[ConfigDifference]
    metadata: Sequence[str]
    """What else differs: files by path, and what the manifest says."""

    @property
    def bump(self) -> Bump | None:
        """The rule: what breaks is major, rows and new configurations are minor, anything else is a patch.

        None where nothing differs, or there is no version before.
        """
        if self.before is None:
            return None
        if any(one.breaks for one in self.configs):
            return "major"
        if not all(one.is_same for one in self.configs):
            return "minor"
        return "patch" if self.metadata else None

    @property
    def comparable(self) -> bool:
        """Whether every row of the version before is there unchanged, in the same columns and by the same method."""
        return not any(one.breaks or one.changed or one.removed for one in self.configs)


def compare(before: Release | None, now: Release, changes: Path | None = None) -> Difference:
    """The difference, whose rows are written to `changes` as JSON lines (`schemas.release.Change`) where it is given.

    Rows of one `key` are compared without `canary`, in the columns that both versions have (that a column is new,
    gone or of another type is told once, of the configuration). Their order makes no difference. Files that are
    the same bytes are not read. Memory: about 250 bytes a row, and some row groups.

    A text that names its own version or canary, such as the card, differs only where something else of it does.
    Raises `Failed`.
    """
    old = {one.name: one for one in before.manifest.configs if one.files} if before else {}
    new = {one.name: one for one in now.manifest.configs if one.files}
    with _recording(changes) as record:
        configs = []
        for name in sorted(old.keys() | new.keys()):
            if name not in old:
                count = _record_all(now, new[name], "added", record)
                configs.append(ConfigDifference(name, count, 0, 0, 0, is_new=True))
            elif name not in new:
                assert before is not None
                count = _record_all(before, old[name], "removed", record)
                configs.append(ConfigDifference(name, 0, 0, count, 0, is_gone=True))
            else:
                assert before is not None
                configs.append(_compare_config(before, now, old[name], new[name], record))
    metadata = _metadata(before, now) if before else ()
    return Difference(before.manifest.version if before else None, now.manifest.version, configs, metadata)


def next_version(difference: Difference, override: str | None = None) -> str | None:
    """The version that the difference asks for, or the higher one somebody asks for; None: no new version.

    Raises `WrongInput` where `override` is no version or a lower one.
    """
    proposed, least, why = None, FIRST_VERSION, "the first version"
    if difference.before is not None and difference.bump is None:
        least, why = bumped(difference.before, "patch"), f"the one after {difference.before}"
    elif difference.before is not None and difference.bump is not None:
        proposed = least = bumped(difference.before, difference.bump)
        why = f"a {difference.bump} change of {difference.before}"
    else:
        proposed = FIRST_VERSION
    if override is None:
        return proposed
    if parsed_version(override) < parsed_version(least):
        raise WrongInput(f"version {override}: lower than {least}, {why}; give that one, a higher one, or none")
    return override


def parsed_version(version: str) -> tuple[int, int, int]:
    """A semantic version's three numbers. Raises `WrongInput`."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise WrongInput(f"version {version!r}: expected MAJOR.MINOR.PATCH, three plain numbers such as 1.4.0")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def bumped(version: str, bump: Bump) -> str:
    """The next version of that kind. Raises `WrongInput`."""
    major, minor, patch = parsed_version(version)
    return {
        "major": f"{major + 1}.0.0",
        "minor": f"{major}.{minor + 1}.0",
        "patch": f"{major}.{minor}.{patch + 1}",
    }[bump]


# ---- rows ----


class _Place(NamedTuple):
    """Where a row lies: which of the configuration's row groups, and where in it."""

    group: int
    row: int


class _Rows:
    """The rows of the version before: where each key lies, and a digest of what it holds. See `_SEEN`."""

    def __init__(self, release: Release, config: ReleasedConfig, columns: Sequence[str]) -> None:
        self.index: dict[str, bytes] = {}
        self._columns = columns
        self._groups: list[tuple[Path, int]] = []
        self._read: tuple[int, pa.Table] | None = None
        for name in config.files:
            path = release.folder / name
            for batch in read_batches(path, columns):
                if not self._groups or self._groups[-1] != (path, batch.group):
                    self._groups.append((path, batch.group))
                for number, row in enumerate(batch.rows(), start=batch.first):
                    if row["key"] in self.index:
                        raise _twice(row["key"], config, release)
                    self.index[row["key"]] = _digest(canonical_json(row)) + _PLACE.pack(len(self._groups) - 1, number)

    def fetch(self, places: Sequence[_Place]) -> dict[_Place, dict[str, Any]]:
        """The rows at these places; each row group is read once."""
        found: dict[_Place, dict[str, Any]] = {}
        wanted = sorted(places)
        for group in sorted({place.group for place in wanted}):
            here = [place for place in wanted if place.group == group]
            rows = plain_rows(self._group(group).take([place.row for place in here]))
            found.update(zip(here, rows, strict=True))
        return found

    def _group(self, number: int) -> pa.Table:
        if self._read is None or self._read[0] != number:
            self._read = None  # so that only one is held
            path, group = self._groups[number]
            with opened(path) as file:
                try:
                    self._read = (number, file.read_row_group(group, columns=list(self._columns)))
                except (OSError, pa.ArrowException) as error:
                    raise unreadable(path, error) from error
        return self._read[1]


_SEEN = b""
"""In place of a row's digest: its key is in the version now, too."""


def _compare_config(
    before: Release, now: Release, old: ReleasedConfig, new: ReleasedConfig, record: _Record
) -> ConfigDifference:
    same = ConfigDifference(
        new.name, 0, 0, 0, new.rows,
        columns=_pairs(old.fields, new.fields),
        split=(old.split, new.split) if old.split != new.split else None,
        method=_pairs(old.method, new.method),
        licence=(old.licence, new.licence) if old.licence != new.licence else None,
        held_back={
            reason: (old.held_back.get(reason, 0), new.held_back.get(reason, 0))
            for reason in sorted(old.held_back.keys() | new.held_back.keys())
            if old.held_back.get(reason, 0) != new.held_back.get(reason, 0)
        },
    )  # fmt: skip
    if _checksums(before, old) == _checksums(now, new):
        return same
    columns = [name for name in old.fields if name in new.fields and name != _CANARY]
    if "key" not in columns and old.rows and new.rows:
        raise Failed(f"{now.folder}: configuration {new.name} has no column `key`, by which rows are compared")
    counts: Counter[str] = Counter()
    fields: Counter[str] = Counter()
    examples: list[Change] = []
    rows = _Rows(before, old, columns)

    def flush() -> None:
        earlier = rows.fetch([place for place, _ in waiting])
        for place, row in waiting:
            change = _change(new.name, earlier[place], row)
            record(change)
            fields.update(map(field_of, change.fields))
            examples.extend([change] if len(examples) < EXAMPLES else [])
        waiting.clear()

    waiting: list[tuple[_Place, dict[str, Any]]] = []
    held = 0
    for name in new.files:
        for batch in read_batches(now.folder / name, columns or ["key"]):
            for row in batch.rows():
                key, content = row["key"], canonical_json(row)
                known = rows.index.get(key)
                rows.index[key] = _SEEN
                if known is None:
                    counts["added"] += 1
                    record(Change(config=new.name, key=key, change="added"))
                elif known == _SEEN:
                    raise _twice(key, new, now)
                elif known[:_DIGEST_BYTES] == _digest(content):
                    counts["unchanged"] += 1
                else:
                    counts["changed"] += 1
                    waiting.append((_Place(*_PLACE.unpack(known[_DIGEST_BYTES:])), row))
                    held += len(content)
            if held > _FETCHED_BYTES:
                flush()
                held = 0
    flush()
    for key, known in rows.index.items():
        if known != _SEEN:
            counts["removed"] += 1
            record(Change(config=new.name, key=key, change="removed"))
    return replace(
        same,
        added=counts["added"],
        changed=counts["changed"],
        removed=counts["removed"],
        unchanged=counts["unchanged"],
        fields=dict(sorted(fields.items())),
        examples=examples,
    )


def field_of(place: str) -> str:
    """The field that a place of `Change.fields` is in: `contexts` of `contexts[3]`."""
    return _FIELD.split(place, maxsplit=1)[0]


def _change(config: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Change:
    differing = [name for name in now if canonical_json(before[name]) != canonical_json(now[name])]
    fields = dict(_shown(name, before[name], now[name]) for name in differing)
    return Change(config=config, key=now["key"], change="changed", fields=fields)


def _shown(place: str, before: Any, now: Any) -> tuple[str, tuple[JsonValue, JsonValue]]:
    """Where two values differ, and both there: of long lists and mappings the first part that differs, of long texts
    what stands around their first difference."""
    while max(len(_text(one)) for one in (before, now)) > SHOWN:
        if isinstance(before, list) and isinstance(now, list):
            both = min(len(before), len(now))
            at = next((n for n in range(both) if canonical_json(before[n]) != canonical_json(now[n])), both)
            place += f"[{at}]"
            before, now = (one[at] if at < len(one) else None for one in (before, now))
        elif isinstance(before, dict) and isinstance(now, dict):
            name = next(
                name
                for name in sorted(before.keys() | now.keys())
                if name not in before or name not in now or canonical_json(before[name]) != canonical_json(now[name])
            )
            place += f".{name}"
            before, now = before.get(name), now.get(name)
        else:
            return place, _cut(before, now)
    return place, (before, now)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()


def _cut(before: Any, now: Any) -> tuple[JsonValue, JsonValue]:
    """Both values; of the long ones the text (of what is no text, its JSON) around their first difference."""
    texts = [_text(one) for one in (before, now)]
    start = max(0, _first_difference(*texts) - SHOWN_BEFORE)
    cut = [
        ("…" if start else "") + text[start : start + SHOWN] + ("…" if len(text) > start + SHOWN else "")
        for text in texts
    ]
    # What is nothing, or no text and short, is not to look like a text that says so.
    before, now = (
        shown if len(text) > SHOWN or isinstance(one, str) else one
        for one, text, shown in zip((before, now), texts, cut, strict=True)
    )
    return before, now


def _first_difference(one: str, other: str) -> int:
    """Where two different texts begin to differ: halved, for comparing long stretches is quick."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _record_all(release: Release, config: ReleasedConfig, change: Literal["added", "removed"], record: _Record) -> int:
    count = 0
    for name in config.files:
        for batch in read_batches(release.folder / name, ["key"]):
            for row in batch.rows():
                record(Change(config=config.name, key=row["key"], change=change))
                count += 1
    return count


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:_DIGEST_BYTES]


def _twice(key: str, config: ReleasedConfig, release: Release) -> Failed:
    return Failed(
        f"{release.folder}: configuration {config.name} has key {key!r} twice; keys name rows, release it again"
    )


# ---- what else differs ----


def _pairs(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, Pair]:
    return {
        name: (before.get(name), now.get(name))
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    }


def _checksums(release: Release, config: ReleasedConfig) -> list[str | None]:
    known = {file.path: file.sha256 for file in release.manifest.files}
    return [known.get(path, f"{release.folder}/{path}") for path in config.files]


def _metadata(before: Release, now: Release) -> tuple[str, ...]:
    found = [
        f"{MANIFEST}: {name}" for name in _METADATA if getattr(before.manifest, name) != getattr(now.manifest, name)
    ]
    old = {one.name: one for one in before.manifest.configs}
    for config in now.manifest.configs:
        if config.name in old:
            found += [
                f"{MANIFEST}: {config.name}: {name}"
                for name in _METADATA_OF_CONFIG
                if getattr(old[config.name], name) != getattr(config, name)
            ]
    old_files, new_files = _other_files(before), _other_files(now)
    for path in sorted(old_files.keys() | new_files.keys()):
        if old_files.get(path) == new_files.get(path):
            continue
        in_one = path not in old_files or path not in new_files
        if in_one or _neutral(before, path) != _neutral(now, path):
            found.append(path)
    return tuple(sorted(found))


def _other_files(release: Release) -> dict[str, str]:
    """The files that are neither rows nor tell the difference itself."""
    rows = {path for config in release.manifest.configs for path in config.files}
    return {file.path: file.sha256 for file in release.manifest.files if file.path not in {*rows, CHANGELOG, CHANGES}}


def _neutral(release: Release, path: str) -> bytes:
    """A file's content without the version's number, canary and digest, a card's without what it tells of changes."""
    try:
        content = (release.folder / path).read_bytes()
    except OSError as error:
        raise unreadable(release.folder / path, error) from error
    if path == CARD:  # that a version tells how it differed from the one before it is no difference to the next one
        content = _TOLD.sub(b"", content, count=1)
    content = content.replace(release.manifest.canary.encode(), b"CANARY")
    content = content.replace(claims_of(release.manifest).encode(), b"MANIFEST")
    version = re.escape(release.manifest.version.encode())
    return re.sub(rb"(?<![\d.])" + version + rb"(?!\.?\d)", b"VERSION", content)


@contextmanager
def _recording(path: Path | None) -> Iterator[_Record]:
    """What writes the changes to `path`, which is there when they all are."""
    if path is None:
        yield lambda change: None
        return
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield lambda change: file.write(change.model_dump_json().encode() + b"\n")
        temporary.replace(path)
    except OSError as error:
        raise Failed(f"{path}: cannot be written ({error}); free space there, then run again") from error
    finally:
        temporary.unlink(missing_ok=True)
