"""The folder of a released version: what its files are called, and the manifest that names them."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import ValidationError

from data.checksum import checksum
from data.whole_file import write_whole
from schemas.base import content_hash, odd_character
from schemas.errors import Failed, WrongInput, first_problem
from schemas.release import ReleasedFile, ReleaseManifest

MANIFEST = "manifest.json"
CARD = "README.md"
CHANGELOG = "CHANGELOG.md"
CHANGES = "changes.jsonl"
DATA = "data"
"""`data/<config>/<split>.parquet` lie in it, and nothing else."""
PROOF = "proof"
"""Rows of other parts that verifiers read lie in it, as `data/<family>-<part>/`: no configuration of the dataset."""
OF_THE_HUB = frozenset((".gitattributes", ".cache", ".huggingface", ".git"))
"""What a download, or a clone, brings along that no one released."""


class Release(NamedTuple):
    """A version, and where it lies."""

    folder: Path
    manifest: ReleaseManifest


def read_release(folder: Path) -> Release:
    """The version in `folder`; all paths in its manifest stay in the folder. Raises `WrongInput`."""
    path = folder / MANIFEST
    try:
        manifest = ReleaseManifest.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        advice = "name a folder that `touchstone release` wrote, or one downloaded from the Hub"
        raise WrongInput(f"{folder}: there is no {MANIFEST}, so this is no released version; {advice}") from error
    except ValidationError as error:
        problem = first_problem(error, "manifest")
        raise WrongInput(f"{path}: damaged manifest ({problem}); download it again, or release again") from error
    named = [*(file.path for file in manifest.files), *(file for one in manifest.configs for file in one.files)]
    if outside := [one for one in named if not _inside(one)]:
        raise WrongInput(f"{path}: it names {outside[0]!r}, which is no path in this folder; do not trust this release")
    return Release(folder, manifest)


def claims_of(manifest: ReleaseManifest) -> str:
    """Digest of what a manifest says beside its list of files: its card names it, so that neither changes alone."""
    return content_hash(manifest.model_dump(mode="json", exclude={"files"}))


def write_manifest(folder: Path, manifest: ReleaseManifest) -> ReleaseManifest:
    """Write the manifest with every file that lies in `folder` now; the version is there when it is. Raises `Failed`.

    Any `files` that `manifest` has are put in place by those found.
    """
    whole = manifest.model_copy(update={"files": tuple(files_in(folder))})
    write_whole(folder / MANIFEST, whole.model_dump_json(indent=1).encode() + b"\n")
    return whole


def files_in(folder: Path) -> Iterator[ReleasedFile]:
    """The files of a release, by path, but for the manifest itself. Raises `Failed` for what is no plain file."""
    for path in paths_in(folder):
        if path == MANIFEST:
            continue
        place = folder / path
        if not place.is_file():
            raise Failed(f"{place}: expected a file; a release holds files alone, remove it and release again")
        yield ReleasedFile(path=path, bytes=place.stat().st_size, sha256=checksum(place))


def paths_in(folder: Path) -> list[str]:
    """What lies in `folder`, relative and with `/`, but for what the Hub brings along; a linked folder counts as one.

    The Hub's own cache links files to where it keeps them, so links to files are files.
    """
    found = []
    for place in folder.rglob("*"):
        path = place.relative_to(folder)
        if path.parts[0] not in OF_THE_HUB and (place.is_symlink() or not place.is_dir()):
            found.append(path.as_posix())
    return sorted(found)


def _inside(path: str) -> bool:
    pure = PurePosixPath(path)
    plain = path == str(pure) and "\\" not in path and odd_character(path) is None
    return plain and not pure.is_absolute() and ".." not in pure.parts and path != "."
