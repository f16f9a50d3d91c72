"""The folder of a released version: the names of its files, and the manifest that lists them."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import ValidationError

from data.checksum import checksum
from data.publish.benchmark import BENCHMARK
from data.publish.version_number import is_version, parsed_version
from data.sources.opening import check_is_file, is_folder, megabytes
from data.sources.spec import SourceError
from data.whole_file import write_whole
from schemas.base import content_hash, odd_character
from schemas.errors import Failed, WrongInput, first_problem
from schemas.release import ReleasedFile, ReleaseManifest

MANIFEST = "manifest.json"
CARD = "README.md"
CHANGELOG = "CHANGELOG.md"
CHANGES = "changes.jsonl"
HISTORY = "history.jsonl"
DATA = "data"
"""The folder of `<config>/<split>.parquet`, and nothing else."""
SCORERS = "scorers"
"""The folder of the scorers that travel, and of the tasks for lm-evaluation-harness."""
VERIFICATION_INPUTS = "proof"
"""The folder of other parts' rows that verifiers read, as `data/<family>-<part>/`. They are no configuration."""
OF_THE_HUB = frozenset((".gitattributes", ".cache", ".huggingface", ".git"))
"""Files that come with a download or a clone but were not released."""
OF_PYTHON = "__pycache__"
"""The folder that Python writes beside a scorer when lm-evaluation-harness loads it."""
MOST_TEXT = 64 * 2**20
"""Bytes of a file that is read whole: the manifest, the card, the changelog, or the Hub's benchmark file."""
NO_RELEASE_HAS_IT = "no release has that: do not trust this one"


class Release(NamedTuple):
    """A version and its folder."""

    folder: Path
    manifest: ReleaseManifest


def versions_in(to: Path) -> list[Path]:
    """Return the folders of the versions in `to`, the newest last."""
    folders = [path for path in to.glob("*.*.*") if path.is_dir() and is_version(path.name)]
    return sorted(folders, key=lambda path: parsed_version(path.name))


def read_release(folder: Path) -> Release:
    """Return the version in `folder`; all paths in its manifest are inside the folder.

    Anybody may have sent it: raises `WrongInput` also if there is a pipe or a device in it, or a file that is read
    whole is too large, before anything else of it is read.
    """
    path = folder / MANIFEST
    if not folder.is_dir():
        raise WrongInput(f"{folder}: no such folder; name that of a released version")
    if not path.exists():
        advice = "name a folder that `touchstone release` wrote, or one downloaded from the Hub"
        raise WrongInput(f"{folder}: has no {MANIFEST}, so this is not a released version; {advice}")
    check_is_file(path)
    _check_ends(folder, [MANIFEST])
    manifest = read_manifest(path.read_bytes(), str(path))
    _check_ends(folder, [*paths_in(folder), *(file.path for file in manifest.files)])
    return Release(folder, manifest)


def _check_ends(folder: Path, paths: Iterable[str]) -> None:
    """Raise `SourceError` for what would never be read to its end; what is missing or a folder is told elsewhere."""
    for path in paths:
        place = folder / path
        if not os.path.exists(place) or is_folder(place):  # noqa: PTH110 - `Path` raises errors for some
            continue
        check_is_file(place, NO_RELEASE_HAS_IT)
        if path in (MANIFEST, CARD, CHANGELOG, BENCHMARK) and (size := place.stat().st_size) > MOST_TEXT:
            most = megabytes(MOST_TEXT)
            raise SourceError(f"{place}: expected at most {most}, found {size:,} bytes; {NO_RELEASE_HAS_IT}")


def read_manifest(content: bytes, name: str) -> ReleaseManifest:
    """Return the manifest, whose paths all stay inside its folder. Raises `WrongInput`, which shows `name`."""
    try:
        manifest = ReleaseManifest.model_validate_json(content)
        claims_of(manifest)
    except (ValidationError, TypeError) as error:  # a number may be too long to be hashed
        problem = first_problem(error, "manifest") if isinstance(error, ValidationError) else str(error)
        raise WrongInput(f"{name}: damaged manifest ({problem}); download it again, or release again") from error
    named = [*(file.path for file in manifest.files), *(path for config in manifest.configs for path in config.files)]
    if outside := [path for path in named if not is_inside(path)]:
        raise WrongInput(
            f"{name}: it names {outside[0]!r}, which is not a path in this folder; do not trust this release"
        )
    return manifest


def is_reserved(path: str) -> bool:
    """Return whether only a release may write there: it holds rows, or the proof of them, or code that is run."""
    return path in (MANIFEST, CHANGELOG, CHANGES, HISTORY) or PurePosixPath(path).parts[0] in (
        DATA,
        VERIFICATION_INPUTS,
        SCORERS,
    )


def claims_of(manifest: ReleaseManifest) -> str:
    """Return a digest of a manifest without its files and card. The card has it, so that neither can change alone.

    Fields that the manifest does not state have no part in it, so that an old manifest keeps its digest.
    """
    return content_hash(manifest.model_dump(mode="json", exclude={"files", "card"}, exclude_unset=True))


def write_manifest(folder: Path, manifest: ReleaseManifest) -> ReleaseManifest:
    """Write the manifest with the files that are in `folder` now, in place of its own. Raises `Failed`.

    What its own say of people's edits (`made`) stays. The version exists once its manifest does.
    """
    made = {file.path: {"made": file.made} for file in manifest.files if file.made is not None}
    files = (file.model_copy(update=made.get(file.path)) for file in files_in(folder))
    whole = manifest.model_copy(update={"files": tuple(files)})
    write_whole(folder / MANIFEST, whole.model_dump_json(indent=1, exclude_unset=True).encode() + b"\n")
    return whole


def files_in(folder: Path) -> Iterator[ReleasedFile]:
    """Yield the files of a release without the manifest, sorted by path. Raises `Failed` for what is not a file."""
    for path in paths_in(folder):
        if path == MANIFEST:
            continue
        place = folder / path
        if not place.is_file():
            raise Failed(f"{place}: expected a file; a release holds files alone, remove it and release again")
        yield ReleasedFile(path=path, bytes=place.stat().st_size, sha256=checksum(place))


def paths_in(folder: Path) -> list[str]:
    """Return the relative paths (with `/`) of the files in `folder`, without those that the Hub and Python add.

    A link to a folder counts as one file. The Hub's cache links files to where it keeps them, so links to files count
    as files.
    """
    paths = []
    for place in folder.rglob("*"):
        path = place.relative_to(folder)
        added = path.parts[0] in OF_THE_HUB or path.parts[:2] == (SCORERS, OF_PYTHON)
        if not added and (place.is_symlink() or not place.is_dir()):
            paths.append(path.as_posix())
    return sorted(paths)


def is_inside(path: str) -> bool:
    """Return whether this is a plain relative path that stays inside its folder."""
    pure = PurePosixPath(path)
    plain = path == str(pure) and "\\" not in path and odd_character(path) is None
    return plain and not pure.is_absolute() and ".." not in pure.parts and path != "."
