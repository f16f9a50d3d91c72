"""When each row of a dataset came, of which source date it is, and when it was retired: `history.jsonl`.

A row comes with the version from which on it is as a model is shown it now: one that changed in that came anew. The
file is carried on from version to version, and knows public rows alone.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from data.publish.folder import CHANGES, HISTORY, Release
from data.publish.reading import read_batches
from data.whole_file import whole_file
from schemas.errors import Failed, first_problem
from schemas.release import Change, RowHistory

_READ = ("key", "provenance", "place", "places")
"""Columns by which the date of a row's source is known."""
Name = tuple[str, str]
"""Configuration and key of a row."""


def read_history(folder: Path) -> Iterator[RowHistory]:
    """Yield the lines of a version's file; none if it has no such file. Raises `Failed` for a damaged one."""
    path = folder / HISTORY
    if not path.is_file():
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
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
    version without such a file came with that version, as far as is known.
    """
    came, gone = _changes(now.folder / CHANGES)
    is_first, number, date = before is None, now.manifest.version, now.manifest.date
    present: dict[Name, tuple[str, str | None]] = {}
    retired: dict[Name, RowHistory] = {}
    for line in read_history(before.folder) if before is not None else ():
        name = line.config, line.key
        if line.retired is None:
            present[name] = line.since, line.since_date
        else:
            retired[name] = line
        if name in gone:
            gone[name] = line
    unknown = before.manifest.version if before is not None else number, None
    why = reasons([name for name, line in gone.items() if line is not None]) if gone else {}
    with whole_file(now.folder / HISTORY) as file:
        for config in now.manifest.configs:
            for path in config.files:
                columns = [name for name in _READ if name in config.fields]
                for batch in read_batches(now.folder / path, columns):
                    for row in batch.rows():
                        name = config.name, row["key"]
                        is_new = is_first or name in came
                        since, since_date = (number, date) if is_new else present.get(name, unknown)
                        retired.pop(name, None)
                        line = RowHistory(
                            config=config.name, key=row["key"], since=since, since_date=since_date,
                            source_date=source_date(row),
                        )  # fmt: skip
                        file.write(f"{line.model_dump_json()}\n")
        for name, last in gone.items():
            was = last or RowHistory(config=name[0], key=name[1], since=unknown[0], since_date=None)
            retired[name] = was.model_copy(
                update={"retired": number, "retired_date": date, "reason": why.get(name, "")}
            )
        file.writelines(f"{retired[name].model_dump_json()}\n" for name in sorted(retired))


def _changes(path: Path) -> tuple[set[Name], dict[Name, RowHistory | None]]:
    """Return the rows that came with a version, also as changed ones, and those that went."""
    came: set[Name] = set()
    gone: dict[Name, RowHistory | None] = {}
    with path.open("rb") as lines:
        for line in lines:
            change = Change.model_validate_json(line)
            if change.change == "removed":
                gone[change.config, change.key] = None
            elif change.change in ("added", "changed"):
                came.add((change.config, change.key))
    return came, gone


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
