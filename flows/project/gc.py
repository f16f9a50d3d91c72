"""Notes which stages the builds of a store were made from, and removes the stages that nothing needs.

Needed are the stages of every released version and of the last builds in every output folder. These are known from the
manifests in the output folders and from notes in the store, which cover the builds of every machine that shares it.
What a running build writes is never removed: on this machine a lock excludes builds; in a store shared with other
machines, folders written to within `QUIET` are kept.
"""

import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from data.publish.folder import MANIFEST
from data.store import PROBE, Store
from flows.families import family_names
from flows.project.output_files import last_manifest
from flows.project.released import MadeOf, newest_first, releases, stages_of_release
from schemas.base import HASH_LENGTH, content_hash
from schemas.manifest import BuildManifest
from schemas.release import ReleaseManifest

QUIET = timedelta(days=1)
STAGE = re.compile(rf"[^/]+/[^/]+/[^/]+-[0-9a-f]{{{HASH_LENGTH}}}")
BUILDS = "builds"


def stages_of_build(built: BuildManifest) -> tuple[str, ...]:
    """Return the folders of a build's stages."""
    stages = (stage for part in built.parts for stage in part.stages)
    return tuple(f"{stage.family}/{stage.part}/{stage.step}-{stage.fingerprint}" for stage in stages)


def note_build(store: Store, out: Path, built: BuildManifest) -> None:
    """Note a finished build if it differs from the last one in its output folder."""
    made = MadeOf(what=str(out.resolve()), stages=stages_of_build(built))
    folder = f"{store.root}/{BUILDS}/{content_hash(made.what)}"
    last = next(iter(newest_first(store, folder)), None)
    store.sweep(folder, lambda name: name.endswith(".json"))
    if last != made:
        numbers = [int(name[:-5]) for name in _names(store, folder) if re.fullmatch(r"\d+\.json", name)]
        # The newest by name, even if the clock has been set back since the last one was noted.
        number = max([time.time_ns(), *(number + 1 for number in numbers)])
        store.write(f"{folder}/{number:020}.json", made.sealed())


def _names(store: Store, folder: str) -> list[str]:
    paths = store.fs.ls(folder, detail=False) if store.fs.exists(folder) else []
    return [path.rpartition("/")[2] for path in paths]


def builds(store: Store) -> dict[str, list[MadeOf]]:
    """Return output folder -> the builds noted for it, the newest first."""
    folders = store.fs.ls(f"{store.root}/{BUILDS}", detail=False) if store.fs.exists(f"{store.root}/{BUILDS}") else []
    noted = [list(newest_first(store, folder)) for folder in folders]
    return {builds_[0].what: builds_ for builds_ in noted if builds_}


@dataclass(frozen=True)
class StageFolder:
    """A stage in the store, finished or not."""

    name: str
    """`uraq/items/prescreen-e6c0ee4b57838374`."""
    bytes: int
    """The space that its removal frees; files that are shared with an output folder do not count."""
    written: datetime | None
    """When it was last written to; None if the store does not say."""


@dataclass(frozen=True)
class StageFolders:
    """The stages of a store."""

    needed: tuple[StageFolder, ...]
    unneeded: tuple[StageFolder, ...]
    at_work: tuple[StageFolder, ...]
    """Not needed, but written to so recently that a build on another machine may be working on it."""


def look(store: Store, keep: int, outs: Collection[Path], now: datetime) -> StageFolders:
    """Sort the stages by whether the releases and the last `keep` builds of each output folder need them.

    `outs` are output folders in addition to those that the store knows.
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
    return StageFolders(tuple(needed), tuple(unneeded), tuple(at_work))


def time_in(store: Store) -> datetime:
    """Return the time by the clock that dates a store's files: that of this machine may be wrong. Raises `Failed`."""
    if "://" in store.url:
        path = f"{store.root}/{PROBE}"
        store.write(path, b"")
        if (now := _written(store.fs.info(path))) is not None:
            return now
    return datetime.now(UTC)


def remove(store: Store, folders: Iterable[StageFolder]) -> None:
    """Remove stages."""
    for folder in folders:
        store.remove(f"{store.root}/{folder.name}")


def stage_folders(store: Store) -> Iterator[StageFolder]:
    """Yield the stages of all families in a store."""
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
    """Return when a file was written, under any of the names that local disks and object stores give it."""
    for name in ("mtime", "LastModified", "last_modified", "updated", "created"):
        time = info.get(name)
        if isinstance(time, datetime):
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        if isinstance(time, int | float):
            return datetime.fromtimestamp(time, UTC)
    return None


def _needed(store: Store, keep: int, outs: Collection[Path]) -> Iterator[str]:
    noted = builds(store)
    for made in noted.values():
        for build in made[:keep]:
            yield from build.stages
    for release in releases(store):
        yield from release.stages
    for out in {*outs, *map(Path, noted)}:
        if (built := last_manifest(out)) is not None:
            yield from stages_of_build(built)
        for path in out.glob(f"releases/*/{MANIFEST}"):
            try:
                yield from stages_of_release(ReleaseManifest.model_validate_json(path.read_bytes()))
            except ValidationError:
                continue  # the note in the store names its stages
