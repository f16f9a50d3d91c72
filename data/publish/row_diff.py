"""Compares the rows of a configuration with those of the previous version, key by key."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import JsonValue

from data.publish.folder import Release
from data.publish.reading import opened, plain_rows, read_batches, unreadable
from data.publish.row_keys import Numbers, Places, RowKeys, hash_of, keys_in, numbers_of
from schemas.base import canonical_json
from schemas.errors import Failed
from schemas.release import Change, ReleasedConfig

SHOWN = 200
"""Characters that a change shows of a longer text."""
SHOWN_BEFORE = 60
"""How many of them are before the first difference."""
EXAMPLES = 3
"""Changed rows of a configuration that people are shown."""

CANARY = "canary"
_FETCHED_BYTES = 32 * 2**20
_FIELD = re.compile(r"[.\[]")

Record = Callable[[Change], object]
"""Is called with each row that differs."""
Hides = Callable[[Mapping[str, Any]], bool]
"""Whether nothing of a row may be shown."""
HIDDEN = "(not shown)"
"""In place of what such a row was."""


@dataclass
class RowDifference:
    """How many rows of a configuration differ, and how."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    bookkeeping: int = 0
    """Rows of which bookkeeping columns alone changed."""
    unchanged: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    """Field of the content -> number of rows in which it changed."""
    bookkeeping_fields: Counter[str] = field(default_factory=Counter)
    """Field -> number of those rows in which bookkeeping alone changed."""
    examples: list[Change] = field(default_factory=list)
    """The first changed rows, with the fields of their content."""


def compare_rows(
    before: Release,
    now: Release,
    old: ReleasedConfig,
    new: ReleasedConfig,
    bookkeeping: frozenset[str],
    record: Record,
    hides: Hides,
    *,
    comparable: bool,
) -> RowDifference:
    """Compare the rows of a configuration that both versions have, and pass each that differs to `record`.

    A row of which the columns `bookkeeping` alone differ counts apart from the changed ones. If rows with equal content
    are not `comparable`, because they are asked or scored in another way, they are passed too.
    Raises `Failed` for unreadable files, and for rows without unique keys.
    """
    columns = [name for name in old.fields if name in new.fields and name != CANARY]
    if "key" not in columns and old.rows and new.rows:
        raise Failed(f"{now.folder}: configuration {new.name} has no column `key`, by which rows are compared")
    comparison = _Comparison(new.name, _Rows(before, old, columns), bookkeeping, record, hides, comparable=comparable)
    keys = RowKeys(map(numbers_of, keys_in(now.folder, new.files)))
    _refuse_repeated(keys, new, now)
    for path in new.files:
        for batch in read_batches(now.folder / path, columns or ["key"]):
            comparison.add(list(batch.rows()))
    return comparison.finish(keys)


class _Comparison:
    """Compares rows one by one with those of the previous version.

    Rows that differ wait until there are some megabytes of them: their earlier content is read a row group at a time.
    """

    def __init__(
        self, config: str, before: "_Rows", bookkeeping: frozenset[str], record: Record, hides: Hides, *,
        comparable: bool,
    ) -> None:  # fmt: skip
        self._config, self._before, self._bookkeeping, self._record = config, before, bookkeeping, record
        self._hides = hides
        self._comparable = comparable
        self._waiting: list[tuple[int, dict[str, Any]]] = []
        """Place of a row in the previous version, and the row as it is now."""
        self._waiting_bytes = 0
        self._difference = RowDifference()

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Compare some rows."""
        places = self._before.keys.places(numbers_of(row["key"] for row in rows))
        for row, place in zip(rows, places.tolist(), strict=True):
            content = canonical_json(row)
            if place < 0:
                self._difference.added += 1
                self._record(Change(config=self._config, key=row["key"], change="added"))
            elif self._before.hashes[place] == hash_of(content):
                self._difference.unchanged += 1
                if not self._comparable:
                    self._record(Change(config=self._config, key=row["key"], change="incomparable"))
            else:
                self._waiting.append((place, row))
                self._waiting_bytes += len(content)
        if self._waiting_bytes > _FETCHED_BYTES:
            self._fetch()

    def finish(self, keys: RowKeys) -> RowDifference:
        """Return the difference, after the last row was added; `keys` are those of all rows."""
        self._fetch()
        for key in self._before.keys_at(self._before.keys.missing_in(keys)):
            self._difference.removed += 1
            self._record(Change(config=self._config, key=key, change="removed"))
        return self._difference

    def _fetch(self) -> None:
        """Record how the waiting rows differ."""
        earlier = self._before.fetch([place for place, _ in self._waiting])
        for place, row in self._waiting:
            change = _change(self._config, earlier[place], row, self._bookkeeping)
            if self._hides(earlier[place]):
                fields = {place: (HIDDEN, now) for place, (_, now) in change.fields.items()}
                change = change.model_copy(update={"fields": fields})
            self._count(change)
        self._waiting, self._waiting_bytes = [], 0

    def _count(self, change: Change) -> None:
        difference = self._difference
        if change.change == "bookkeeping":
            self._record(change if self._comparable else change.model_copy(update={"change": "incomparable"}))
            difference.bookkeeping += 1
            difference.bookkeeping_fields.update(map(_field_of, change.fields))
            return
        self._record(change)
        difference.changed += 1
        content = {place: pair for place, pair in change.fields.items() if _field_of(place) not in self._bookkeeping}
        difference.fields.update(map(_field_of, content))
        if len(difference.examples) < EXAMPLES:
            difference.examples.append(change.model_copy(update={"fields": content}))


def record_all(
    release: Release, config: ReleasedConfig, change: Literal["added", "removed", "incomparable"], record: Record
) -> int:
    """Pass each row of a configuration to `record`, with the same change. Returns their number."""
    count = 0
    for path in config.files:
        for batch in read_batches(release.folder / path, ["key"]):
            for row in batch.rows():
                record(Change(config=config.name, key=row["key"], change=change))
                count += 1
    return count


class _Rows:
    """The rows of the previous version: their keys, hashes and places; their content is read again where it counts."""

    def __init__(self, release: Release, config: ReleasedConfig, columns: Sequence[str]) -> None:
        self._release, self._config, self._columns = release, config, columns
        self._groups: list[tuple[Path, int]] = []
        self._starts: list[int] = []
        """Place of the first row of each row group."""
        self._read: tuple[int, pa.Table] | None = None
        numbers: list[Numbers] = []
        hashes: list[Numbers] = [np.empty(0, np.uint64)]
        count = 0
        for name in config.files:
            path = release.folder / name
            for batch in read_batches(path, columns):
                if not self._groups or self._groups[-1] != (path, batch.group):
                    self._groups.append((path, batch.group))
                    self._starts.append(count)
                rows = list(batch.rows())
                numbers.append(numbers_of(row["key"] for row in rows))
                hashes.append(np.array([hash_of(canonical_json(row)) for row in rows], np.uint64))
                count += len(rows)
        self.keys = RowKeys(numbers)
        self.hashes = np.concatenate(hashes)
        _refuse_repeated(self.keys, config, release)

    def keys_at(self, places: Places) -> Iterator[str]:
        """Yield the keys of the rows at these places, in order."""
        return _keys_at(places, self._config, self._release)

    def fetch(self, places: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Return the rows at these places; each row group is read once."""
        rows: dict[int, dict[str, Any]] = {}
        wanted = np.sort(np.array(places, np.int64))
        groups = np.searchsorted(self._starts, wanted, side="right") - 1
        for group in np.unique(groups).tolist():
            in_group = wanted[groups == group]
            group_rows = plain_rows(self._group(group).take(in_group - self._starts[group]))
            rows.update(zip(in_group.tolist(), group_rows, strict=True))
        return rows

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


def _field_of(place: str) -> str:
    """Return the field of a place in `Change.fields`: `contexts` for `contexts[3]`."""
    return _FIELD.split(place, maxsplit=1)[0]


def _change(config: str, before: Mapping[str, Any], now: Mapping[str, Any], bookkeeping: frozenset[str]) -> Change:
    differing = [name for name in now if canonical_json(before[name]) != canonical_json(now[name])]
    fields = dict(_shown(name, before[name], now[name]) for name in differing)
    kind: Literal["changed", "bookkeeping"] = "bookkeeping" if bookkeeping.issuperset(differing) else "changed"
    return Change(config=config, key=now["key"], change=kind, fields=fields)


def _shown(place: str, before: Any, now: Any) -> tuple[str, tuple[JsonValue, JsonValue]]:
    """Return the place where two values differ, and both values there.

    For long lists and mappings it is the first part that differs; for long texts, the surroundings of the difference.
    """
    while max(len(_text(before)), len(_text(now))) > SHOWN:
        if isinstance(before, list) and isinstance(now, list):
            both = min(len(before), len(now))
            at = next((n for n in range(both) if canonical_json(before[n]) != canonical_json(now[n])), both)
            place += f"[{at}]"
            before, now = (values[at] if at < len(values) else None for values in (before, now))
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
    """Return both values; of a long value, the text or its JSON around the first difference."""
    texts = [_text(before), _text(now)]
    start = max(0, _first_difference(*texts) - SHOWN_BEFORE)
    cut = [
        ("…" if start else "") + text[start : start + SHOWN] + ("…" if len(text) > start + SHOWN else "")
        for text in texts
    ]
    # A short value that is not text keeps its type: null must not look like the text "null".
    before, now = (
        shown if len(text) > SHOWN or isinstance(value, str) else value
        for value, text, shown in zip((before, now), texts, cut, strict=True)
    )
    return before, now


def _first_difference(text: str, other: str) -> int:
    """Return where two different texts begin to differ, by halving: comparing long stretches is quick."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _keys_at(places: Places, config: ReleasedConfig, release: Release) -> Iterator[str]:
    """Yield the keys of the rows at these places, which are in order."""
    first = 0
    for keys in keys_in(release.folder, config.files) if len(places) else ():
        start, stop = np.searchsorted(places, (first, first + len(keys)))
        yield from (keys[place - first] for place in places[start:stop].tolist())
        first += len(keys)


def _refuse_repeated(keys: RowKeys, config: ReleasedConfig, release: Release) -> None:
    for key in _keys_at(keys.repeated()[:1], config, release):
        raise Failed(
            f"{release.folder}: configuration {config.name} has key {key!r} twice; keys have to be unique: "
            "release it again"
        )
