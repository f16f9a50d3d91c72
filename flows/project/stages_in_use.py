"""Notes which stages the builds and releases of a store were made from: `touchstone gc` has to keep them.

The notes are in the store itself, so that they cover the builds of every machine that shares it.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from data.store import Store
from schemas.base import Frozen, content_hash
from schemas.manifest import BuildManifest
from schemas.release import ReleaseManifest

BUILDS, RELEASES = "builds", "releases"


class MadeOf(Frozen):
    """A build, or a released version."""

    what: str
    """The output folder, or the version."""
    stages: tuple[str, ...]
    """Their folders in the store: `uraq/items/prescreen-e6c0ee4b57838374`."""


def stages_of_build(built: BuildManifest) -> tuple[str, ...]:
    """Return the folders of a build's stages."""
    stages = (stage for part in built.parts for stage in part.stages)
    return tuple(f"{stage.family}/{stage.part}/{stage.step}-{stage.fingerprint}" for stage in stages)


def stages_of_release(released: ReleaseManifest) -> tuple[str, ...]:
    """Return the folders of the stages that a released version was made from."""
    return tuple(f"{name}-{fingerprint}" for name, fingerprint in released.stages.items())


def note_build(store: Store, out: Path, built: BuildManifest) -> None:
    """Note a finished build if it differs from the last one in its output folder."""
    made = MadeOf(what=str(out.resolve()), stages=stages_of_build(built))
    folder = f"{store.root}/{BUILDS}/{content_hash(made.what)}"
    last = next(iter(_newest_first(store, folder)), None)
    if last != made:
        store.write(f"{folder}/{time.time_ns():020}.json", made.model_dump_json().encode())


def note_release(store: Store, released: ReleaseManifest) -> None:
    """Note a released version, wherever its files are. If the store no longer exists, there is nothing to keep."""
    if not store.fs.exists(store.root):
        return
    made = MadeOf(what=f"{released.name} {released.version}", stages=stages_of_release(released))
    path = f"{store.root}/{RELEASES}/{content_hash(made.what, made.stages)}.json"
    if not store.fs.exists(path):
        store.write(path, made.model_dump_json().encode())


def builds(store: Store) -> dict[str, list[MadeOf]]:
    """Return output folder -> the builds noted for it, the newest first."""
    folders = store.fs.ls(f"{store.root}/{BUILDS}", detail=False) if store.fs.exists(f"{store.root}/{BUILDS}") else []
    noted = [list(_newest_first(store, folder)) for folder in folders]
    return {builds_[0].what: builds_ for builds_ in noted if builds_}


def releases(store: Store) -> list[MadeOf]:
    """Return the released versions noted in a store."""
    return list(_newest_first(store, f"{store.root}/{RELEASES}"))


def _newest_first(store: Store, folder: str) -> Iterator[MadeOf]:
    if not store.fs.exists(folder):
        return
    for path in sorted(store.fs.ls(folder, detail=False), reverse=True):
        try:
            yield MadeOf.model_validate_json(store.fs.cat_file(path))
        except ValidationError:
            continue  # half written, on a store without renaming, by a killed build: the next build notes itself
