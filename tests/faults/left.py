"""What a command leaves on the disk: what must be the same, and what must not be there."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

MARK = re.compile(r"-[0-9a-f]{8}(?=\.(?:dropped\.)?jsonl$|\.parquet$)")
"""Of the process that wrote a shard's file."""
NOTE = re.compile(r"(?<=/)\d{20}(?=\.json$)")
"""The moment of a build."""
SPENT = re.compile(rb'"spent":.*?\}', re.DOTALL)
TIMES = re.compile(rb'"(?:seconds|mark|checksum|stop)": ?(?:[0-9.e+-]+|null|"[^"]*")|[0-9.]+ s\b')
USAGE = re.compile(rb'"calls": ?(\d+),\s*"cached": ?(\d+)[^}]*')
"""Of a prompt: what an earlier run paid for, this one read from the cache."""
SHOWS_USAGE = ("report.html",)
STAGE_LOCK = "stage-"
TEMPORARY = "temporary"
"""Stands for the system's folder of temporary files, which the system empties."""
NOT_COMPARED = (".sqlite", *SHOWS_USAGE)
MAY_GO = re.compile(r"\.lock$|-wal$|-shm$|^lessons-")
"""Locks; logs of databases, which stay until the next run if one was not closed; what a server will teach again."""


def told(folder: Path) -> Mapping[str, str]:
    """Checksums by path, without the marks of writers, cuts into shards, times, and what was paid in which run."""
    return {
        NOTE.sub("", MARK.sub("", path.relative_to(folder).as_posix())): _checksum(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and TEMPORARY not in path.parts and ".tmp" not in path.name and not MAY_GO.search(path.name)
    }


def _checksum(path: Path) -> str:
    if path.name.endswith(NOT_COMPARED):
        return "is there"
    content = USAGE.sub(
        lambda match: str(int(match[1]) + int(match[2])).encode(), TIMES.sub(b"", SPENT.sub(b"", path.read_bytes()))
    )
    return hashlib.sha256(content).hexdigest()


def left_over(folder: Path) -> Iterator[str]:
    """Yield the files that no later command reads."""
    for path in sorted(folder.rglob("*")):
        if (".tmp" in path.name and TEMPORARY not in path.parts) or path.name.startswith(STAGE_LOCK):
            yield path.relative_to(folder).as_posix()
    for manifest in sorted(folder.rglob("*/manifest.json")):
        content = json.loads(manifest.read_bytes())
        if "shards" not in content:
            continue
        marks = {shard["mark"] for shard in content["shards"]}
        for path in sorted(manifest.parent.iterdir()):
            if (mark := MARK.search(path.name)) and mark.group()[1:] not in marks:
                yield path.relative_to(folder).as_posix()
