"""Removes stage folders that nothing needs any more.

Needed are the stages of the last builds of every output folder, by what builds note in the store
(`stages_in_use.py`) and by the manifests that lie in the output folders themselves, and the stages of every released
version. What a build writes is never removed: on this machine a lock holds builds off, or is held by one; in a store
that other machines share, what was written to within `QUIET` stays.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from data.publish.folder import MANIFEST
from data.store import Store
from flows.families import family_names
from flows.project.output_files import read_manifest
from flows.project.stages_in_use import builds, releases, stages_of_build, stages_of_release
from schemas.base import HASH_LENGTH
from schemas.release import ReleaseManifest

QUIET = timedelta(days=1)
STAGE = re.compile(rf"[^/]+/[^/]+/[^/]+-[0-9a-f]{{{HASH_LENGTH}}}")


@dataclass(frozen=True)
class StageFolder:
    """A stage in the store, finished or not."""

    name: str
    """`uraq/items/prescreen-e6c0ee4b57838374`."""
    bytes: int
    """What removing it frees: files that an output folder shares count nothing."""
    written: datetime | None
    """When it was last written to; None where the store does not tell."""


@dataclass(frozen=True)
class Found:
    """What of a store is needed, and what is not."""

    needed: tuple[StageFolder, ...]
    unneeded: tuple[StageFolder, ...]
    at_work: tuple[StageFolder, ...]
    """Not needed, and so lately written to that a build elsewhere may be at work on it."""


def look(store: Store, keep: int, outs: Collection[Path], now: datetime) -> Found:
    """Tell what the last `keep` builds of each output folder and the releases need from what they do not.

    `outs` are output folders that are known beside those that the store names.
    """
    wanted = set(_needed(store, keep, outs))
    shared = "://" in store.url
    needed, unneeded, at_work = [], [], []
    for folder in stage_folders(store):
        if folder.name in wanted:
            needed.append(folder)
        elif shared and (folder.written is None or now - folder.written < QUIET):
            at_work.append(folder)
        else:
            unneeded.append(folder)
    return Found(tuple(needed), tuple(unneeded), tuple(at_work))


def remove(store: Store, folders: Iterable[StageFolder]) -> None:
    """Remove stages: each stops existing before its files go, so that a kill leaves none that seems whole."""
    for folder in folders:
        path = f"{store.root}/{folder.name}"
        if store.fs.exists(f"{path}/manifest.json"):
            store.fs.rm(f"{path}/manifest.json")
        store.fs.rm(path, recursive=True)


def stage_folders(store: Store) -> Iterator[StageFolder]:
    """The stages of all families in a store."""
    files: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for family in family_names():
        root = f"{store.root}/{family}"
        for path, info in store.fs.find(root, detail=True).items() if store.fs.exists(root) else ():
            name = "/".join(path.removeprefix(f"{store.root}/").split("/")[:3])
            if STAGE.fullmatch(name):
                files[name].append(info)
    for name, infos in sorted(files.items()):
        freed = sum(info["size"] or 0 for info in infos if info.get("nlink", 1) < 2)
        times = [_written(info) for info in infos]
        yield StageFolder(name, freed, None if None in times else max(filter(None, times), default=None))


def _written(info: dict[str, Any]) -> datetime | None:
    """When a file was written, as local disks and object stores tell it."""
    for name in ("mtime", "LastModified", "last_modified", "updated", "created"):
        told = info.get(name)
        if isinstance(told, datetime):
            return told if told.tzinfo else told.replace(tzinfo=UTC)
        if isinstance(told, int | float):
            return datetime.fromtimestamp(told, UTC)
    return None


def _needed(store: Store, keep: int, outs: Collection[Path]) -> Iterator[str]:
    noted = builds(store)
    for made in noted.values():
        for one in made[:keep]:
            yield from one.stages
    for one in releases(store):
        yield from one.stages
    for out in {*outs, *map(Path, noted)}:
        if (built := read_manifest(out, missing_ok=True)) is not None:
            yield from stages_of_build(built)
        for path in out.glob(f"releases/*/{MANIFEST}"):
            try:
                yield from stages_of_release(ReleaseManifest.model_validate_json(path.read_bytes()))
            except ValidationError:
                continue  # a damaged one names no stage; the store's note of it does
