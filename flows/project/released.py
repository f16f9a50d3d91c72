"""Notes in a store which stages the releases of a dataset were made from. These stages are never removed."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from data.publish.version_number import parsed_version
from data.store import Store
from schemas.base import Frozen, content_hash
from schemas.errors import Failed
from schemas.release import ReleaseManifest

RELEASES = "releases"


class MadeOf(Frozen):
    """A build, or a released version."""

    what: str
    """The output folder, or the dataset and its version."""
    stages: tuple[str, ...]
    """Their folders in the store: `uraq/items/prescreen-e6c0ee4b57838374`."""


def stages_of_release(released: ReleaseManifest) -> tuple[str, ...]:
    """Return the folders of the stages that a released version was made from."""
    return tuple(f"{name}-{fingerprint}" for name, fingerprint in released.stages.items())


def note_release(store: Store, released: ReleaseManifest) -> None:
    """Note a released version, wherever its files are. If the store no longer exists, there is nothing to keep."""
    if not store.fs.exists(store.root):
        return
    made = MadeOf(what=f"{released.name} {released.version}", stages=stages_of_release(released))
    path = f"{store.root}/{RELEASES}/{content_hash(made.what, made.stages)}.json"
    content = made.model_dump_json().encode()
    if store.read(path) != content:
        store.write(path, content)


def releases(store: Store) -> list[MadeOf]:
    """Return the released versions noted in a store. Raises `Failed` for a damaged note."""
    folder = f"{store.root}/{RELEASES}"
    notes = []
    for path in sorted(store.fs.ls(folder, detail=False)) if store.fs.exists(folder) else ():
        try:
            notes.append(MadeOf.model_validate_json(store.fs.cat_file(path)))
        except ValidationError as error:
            advice = "remove it, then `touchstone release` writes it again from the versions in its folder"
            raise Failed(f"{path}: damaged note on a release; {advice}") from error
    return notes


def released_stages(store: Store, name: str) -> list[Mapping[str, str]]:
    """Return, for each noted version of the dataset `name` from the first on, stage -> fingerprint."""
    versions = [(parsed_version(made.what.rpartition(" ")[2]), made.stages) for made in releases(store)
                if made.what.rpartition(" ")[0] == name]  # fmt: skip
    return [dict(_named(stages)) for _, stages in sorted(versions)]


def _named(stages: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for folder in stages:
        stage, _, fingerprint = folder.rpartition("-")
        yield stage, fingerprint


def newest_first(store: Store, folder: str) -> Iterator[MadeOf]:
    """Yield the notes in a folder of the store, the last by name first."""
    if not store.fs.exists(folder):
        return
    for path in sorted(store.fs.ls(folder, detail=False), reverse=True):
        try:
            yield MadeOf.model_validate_json(store.fs.cat_file(path))
        except ValidationError:
            continue  # half written, on a store without renaming, by a killed build: the next build notes itself
