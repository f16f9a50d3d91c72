"""When each row of a dataset came, of which source date it is, and when it was retired: `history.jsonl`.

A row comes with the version from which on it is as a model is shown it now: one that changed in that came anew. The
file is carried on from version to version, and knows public rows alone.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import compress, islice
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from data.publish.folder import CHANGES, HISTORY, Release
from data.publish.reading import read_batches
from data.publish.row_keys import Numbers, numbers_of
from data.seen import are_in, places_of
from data.sources.opening import lines
from data.whole_file import whole_file
from schemas.errors import Failed, first_problem
from schemas.release import Change, RowHistory

_READ = ("key", "provenance", "place", "places")
"""Columns by which the date of a row's source is known."""
Name = tuple[str, str]
"""Configuration and key of a row."""
AT_ONCE = 4096
"""Rows that are in memory together."""
RETIRED_AT_ONCE = 50_000
"""Names of retired rows that are: each time, the whole build is read for the reasons."""


def read_history(folder: Path) -> Iterator[RowHistory]:
    """Yield the lines of a version's file; none if it has no such file. Raises `Failed` for a damaged one."""
    path = folder / HISTORY
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(lines(str(path), file), 1):
            try:
                yield RowHistory.model_validate_json(line)
            except ValidationError as error:
                problem = first_problem(error, "the line")
                raise Failed(f"{path}: line {number}: {problem}; restore it as it was released") from error


def write_history(
    now: Release,
    before: Release | None,
    source_date: Callable[[Mapping[str, Any]], str | None],
    reasons: Callable[[list[Name]], Mapping[Name, str]],
) -> None:
    """Write the history of the rows of a version whose manifest has its number and date, and that has `changes.jsonl`.

    `source_date` gives the date of a row's source from its columns; `reasons` says why rows were retired. Rows of a
    version without such a file came with that version, as far as is known. In memory are some 30 bytes for each row
    of the version before.
    """
    number, date = now.manifest.version, now.manifest.date
    came = None if before is None else _sorted(_changed(now, "added", "changed"))
    earlier = _Came(before)
    with whole_file(now.folder / HISTORY) as file:
        for config in now.manifest.configs:
            for path in config.files:
                columns = [name for name in _READ if name in config.fields]
                for batch in read_batches(now.folder / path, columns):
                    rows = list(batch.rows())
                    numbers = _numbers((config.name, row["key"]) for row in rows)
                    is_new = [True] * len(rows) if came is None else are_in(numbers, came).tolist()
                    for row, is_new_, last in zip(rows, is_new, earlier.of(numbers), strict=True):
                        since, since_date = (number, date) if is_new_ else last[:2]
                        line = RowHistory(
                            config=config.name, key=row["key"], since=since, since_date=since_date,
                            source_date=source_date(row),
                        )  # fmt: skip
                        file.write(f"{line.model_dump_json()}\n")
        if before is None or came is None:
            return
        retired = (line for line in read_history(before.folder) if line.retired is not None)
        while lines := list(islice(retired, AT_ONCE)):
            is_back = are_in(_numbers((line.config, line.key) for line in lines), came)
            file.writelines(f"{line.model_dump_json()}\n" for line in compress(lines, ~is_back))
        gone = _changed(now, "removed")
        while names := list(islice(gone, RETIRED_AT_ONCE)):
            why = reasons(names)
            for name, (since, since_date, day) in zip(names, earlier.of(_numbers(names)), strict=True):
                line = RowHistory(
                    config=name[0], key=name[1], since=since, since_date=since_date, source_date=day,
                    retired=number, retired_date=date, reason=why.get(name, ""),
                )  # fmt: skip
                file.write(f"{line.model_dump_json()}\n")


class _Came:
    """When the rows of a version came, and of which date their sources are: 12 bytes a row."""

    def __init__(self, release: Release | None) -> None:
        numbers, places = array("Q"), array("I")
        self._known: dict[tuple[str, str | None, str | None], int] = {}
        lines = read_history(release.folder) if release is not None else iter(())
        present = (line for line in lines if line.retired is None)
        while some := list(islice(present, AT_ONCE)):
            numbers.extend(_numbers((line.config, line.key) for line in some).tolist())
            for line in some:
                came = line.since, line.since_date, line.source_date
                places.append(self._known.setdefault(came, len(self._known)))
        order = np.argsort(np.frombuffer(numbers, np.uint64))
        self._numbers = np.frombuffer(numbers, np.uint64)[order]
        self._places = np.frombuffer(places, np.uint32)[order]
        self._came = list(self._known)
        self._unknown = release.manifest.version if release is not None else "", None, None

    def of(self, numbers: Numbers) -> Iterator[tuple[str, str | None, str | None]]:
        """Yield for each row since which version and day it is there, and the date of its source."""
        for place in places_of(numbers, self._numbers).tolist():
            yield self._unknown if place < 0 else self._came[self._places[place]]


def _changed(release: Release, *changes: str) -> Iterator[Name]:
    """Yield the rows that differ from the version before in one of these ways."""
    path = release.folder / CHANGES
    with path.open("rb") as file:
        for line in lines(str(path), file):
            change = Change.model_validate_json(line)
            if change.change in changes:
                yield change.config, change.key


def _sorted(names: Iterator[Name]) -> Numbers:
    """Return the numbers of names, sorted."""
    numbers = array("Q")
    while some := list(islice(names, AT_ONCE)):
        numbers.extend(_numbers(some).tolist())
    return np.sort(np.frombuffer(numbers, np.uint64))


def _numbers(names: Iterable[Name]) -> Numbers:
    return numbers_of("\n".join(name) for name in names)


def history_faults(release: Release) -> Iterator[str]:
    """Yield what is wrong with a version's history; nothing if it has none."""
    if HISTORY not in {file.path for file in release.manifest.files}:
        return
    counts: Counter[str] = Counter()
    try:
        for line in read_history(release.folder):
            counts[line.config] += line.retired is None
    except Failed as error:
        yield f"{HISTORY}: {error}"
        return
    expected = {config.name: config.rows for config in release.manifest.configs if config.rows}
    for name in sorted({name for name, count in counts.items() if count} | expected.keys()):
        if counts[name] != expected.get(name, 0):
            yield f"{HISTORY}: {counts[name]:,} rows of {name}, expected {expected.get(name, 0):,}"
