"""`history.jsonl`, carried on from version to version: rows that come, change, go and come back."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from data.publish import history
from data.publish.folder import HISTORY, Release
from data.publish.history import Name, read_history, write_history
from schemas.release import ReleasedConfig, ReleaseManifest


def version(
    folder: Path, number: str, rows: Mapping[str, str | None], before: Release | None = None, **changes: Sequence[str]
) -> Release:
    """A version with rows that have these source dates, and what it says of the differences to the one before."""
    folder = folder / number
    folder.mkdir()
    table = pyarrow.table({"key": [*rows], "place": [{"date": day} for day in rows.values()]})
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    lines = [{"config": "c", "key": key, "change": change} for change, keys in changes.items() for key in keys]
    (folder / "changes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = ReleasedConfig(
        name="c", family="f", part="p", split="test", rows=len(rows), reviewed=0, held_back={}, licence="CC0-1.0",
        fields={"key": "string", "place": "struct"}, method={}, files=("rows.parquet",),
    )  # fmt: skip
    manifest = ReleaseManifest(
        name="d", version=number, date=f"2026-0{number[2]}-01", canary="c", seed=1, configs=(config,), files=(),
        stages={}, models={}, prompts={}, versions={}, settings={},
    )  # fmt: skip
    release = Release(folder, manifest)
    write_history(release, before, lambda row: row["place"]["date"], reasons)
    return release


def reasons(gone: Sequence[Name]) -> Mapping[Name, str]:
    return {name: f"why {name[1]} went" for name in gone}


def told(release: Release) -> dict[str, tuple[Any, ...]]:
    """By key: since, source date, the first version without it, and why; each row once."""
    lines = list(read_history(release.folder))
    assert len({line.key for line in lines}) == len(lines)
    return {line.key: (line.since, line.since_date, line.source_date, line.retired, line.reason) for line in lines}


def test_rows_come_change_go_and_come_back(tmp_path: Path) -> None:
    first = version(tmp_path, "1.1.0", {"a": None, "b": "2024-01-31", "c": None})
    assert told(first) == {
        "a": ("1.1.0", "2026-01-01", None, None, ""),
        "b": ("1.1.0", "2026-01-01", "2024-01-31", None, ""),
        "c": ("1.1.0", "2026-01-01", None, None, ""),
    }
    second = version(tmp_path, "1.2.0", {"a": "2025-05-05", "c": None, "d": None}, first,
                     removed=["b"], changed=["c"], added=["d"], bookkeeping=["a"])  # fmt: skip
    gone = ("1.1.0", "2026-01-01", "2024-01-31", "1.2.0", "why b went")
    assert told(second) == {
        "a": ("1.1.0", "2026-01-01", "2025-05-05", None, ""),
        "c": ("1.2.0", "2026-02-01", None, None, ""),
        "d": ("1.2.0", "2026-02-01", None, None, ""),
        "b": gone,
    }
    third = version(tmp_path, "1.3.0", {"a": None, "c": None}, second, removed=["d"])
    assert told(third)["b"] == gone
    assert told(third)["d"] == ("1.2.0", "2026-02-01", None, "1.3.0", "why d went")
    fourth = version(tmp_path, "1.4.0", {"a": None, "b": None, "c": None}, third, added=["b"])
    assert told(fourth)["b"] == ("1.4.0", "2026-04-01", None, None, ""), "it is back"
    assert list(told(fourth)) == ["a", "b", "c", "d"]


def test_rows_of_a_version_without_a_history_came_with_it_as_far_as_is_known(tmp_path: Path) -> None:
    first = version(tmp_path, "1.1.0", {"a": None, "b": None})
    (first.folder / HISTORY).unlink()
    second = version(tmp_path, "1.2.0", {"a": None, "c": None}, first, removed=["b"], added=["c"])
    assert told(second) == {
        "a": ("1.1.0", None, None, None, ""),
        "c": ("1.2.0", "2026-02-01", None, None, ""),
        "b": ("1.1.0", None, None, "1.2.0", "why b went"),
    }


def test_more_rows_than_are_in_memory_together_are_told_apart(tmp_path: Path) -> None:
    keys = [f"{number:x}" for number in range(2 * history.AT_ONCE + 5)]
    first = version(tmp_path, "1.1.0", dict.fromkeys(keys))
    second = version(tmp_path, "1.2.0", dict.fromkeys(keys[5:]), first, removed=keys[:5], changed=keys[-3:])
    found = told(second)
    assert len(found) == len(keys)
    assert {key for key, line in found.items() if line[3] == "1.2.0"} == set(keys[:5])
    assert {key for key, line in found.items() if line[0] == "1.2.0"} == set(keys[-3:])
