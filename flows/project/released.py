"""Notes in a store which stages the releases of a dataset were made from. These stages are never removed."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from data.publish.folder import read_release, versions_in
from data.publish.version_number import parsed_version
from data.store import Store
from schemas.base import content_hash
from schemas.errors import Failed, WrongInput
from schemas.manifest import is_none
from schemas.release import ReleaseManifest
from schemas.sealed import Sealed

RELEASES = "releases"
"""The folder of the versions in an output folder, and of the notes on them in a store."""


class MadeOf(Sealed):
    """A build, or a released version."""

    what: str
    """The output folder, or the dataset and its version."""
    stages: tuple[str, ...]
    """Their folders in the store: `uraq/items/prescreen-e6c0ee4b57838374`."""
    draw: str | None = Field(None, exclude_if=is_none, description="Of a version's swaps and replacements")
    date: str | None = Field(None, exclude_if=is_none, description="The day a version was made on; null: not known")


def stages_of_release(released: ReleaseManifest) -> tuple[str, ...]:
    """Return the folders of the stages that a released version was made from."""
    return tuple(f"{name}-{fingerprint}" for name, fingerprint in released.stages.items())


def note_release(store: Store, released: ReleaseManifest) -> None:
    """Note a released version, wherever its files are. If the store no longer exists, there is nothing to keep."""
    if not store.fs.exists(store.root):
        return
    name, stages = f"{released.name} {released.version}", stages_of_release(released)
    made = MadeOf(what=name, stages=stages, draw=released.draw, date=released.date)
    path = f"{store.root}/{RELEASES}/{content_hash(made.what, made.stages)}.json"
    content = made.sealed()
    if store.read(path) != content:
        store.write(path, content)


def note_newest(store: Store, out: Path) -> None:
    """Note the newest version in an output folder, if it is whole: its release may have been killed before it did."""
    for version in versions_in(out / RELEASES)[-1:]:
        with contextlib.suppress(WrongInput):
            note_release(store, read_release(version).manifest)


def releases(store: Store) -> list[MadeOf]:
    """Return the released versions noted in a store. Raises `Failed` for a damaged note, and `StoreError`."""
    folder = f"{store.root}/{RELEASES}"
    notes = []
    with store.reaching(folder):
        for path in _notes_in(store, folder):
            try:
                notes.append(MadeOf.model_validate_json(store.fs.cat_file(path)))
            except ValidationError as error:
                advice = "remove it, then `touchstone release` writes it again from the versions in its folder"
                raise Failed(f"{path}: damaged note on a release; {advice}") from error
    return notes


def released_stages(store: Store, name: str) -> list[Mapping[str, str]]:
    """Return, for each noted version of the dataset `name` from the first on, stage -> fingerprint."""
    return [dict(_named(made.stages)) for _, made in _versions(store, name)]


@dataclass(frozen=True)
class Draws:
    """The draws of a dataset's swaps and replacements: those of its versions, and that of a build."""

    newest: str | None
    """The newest version; None before the first."""
    released: str | None
    """Its draw; None for the first."""
    since: str | None
    """The day of the first version with that draw; None if that is not known."""
    present: str | None
    """That of a build: the one decided for it, if no version has it yet, otherwise that of the newest version."""

    @property
    def is_new(self) -> bool:
        """Whether no version has the present draw."""
        return self.present != self.released


def draws_of(store: Store, name: str, decided: str | None) -> Draws:
    """Return the draws of the dataset `name`; `decided` is the draw that is noted for a build."""
    versions = _versions(store, name)
    draws = [made.draw for _, made in versions]
    newest, released = (versions[-1][0], draws[-1]) if versions else (None, None)
    since = versions[draws.index(released)][1].date if versions else None
    return Draws(newest, released, since, decided if decided is not None and decided not in draws else released)


def _versions(store: Store, name: str) -> list[tuple[str, MadeOf]]:
    """Return the noted versions of a dataset, from the first on."""
    versions = [(made.what.rpartition(" ")[2], made) for made in releases(store)
                if made.what.rpartition(" ")[0] == name]  # fmt: skip
    return sorted(versions, key=lambda version: (parsed_version(version[0]), version[1].stages))


def _named(stages: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for folder in stages:
        stage, _, fingerprint = folder.rpartition("-")
        yield stage, fingerprint


def newest_first(store: Store, folder: str) -> Iterator[MadeOf]:
    """Yield the notes in a folder of the store, the last by name first."""
    for path in reversed(_notes_in(store, folder)):
        try:
            yield MadeOf.model_validate_json(store.fs.cat_file(path))
        except ValidationError:
            continue  # half written, on a store without renaming, by a killed build: the next build notes itself


def _notes_in(store: Store, folder: str) -> list[str]:
    """Return the paths of the notes in a folder of the store, by name; what a run is writing, or was, is none."""
    if not store.fs.exists(folder):
        return []
    return sorted(path for path in store.fs.ls(folder, detail=False) if path.endswith(".json"))
