"""What an output folder was built from, or is to be built from: noted there beside the manifest."""

from pathlib import Path

from pydantic import Field, ValidationError

from data.sources.opening import whole
from data.sources.spec import SourceError
from data.whole_file import write_whole
from schemas.errors import Failed
from schemas.manifest import BuildManifest, is_none
from schemas.sealed import Sealed

NOTE = ".build.json"
MANIFEST = "manifest.json"
MOST_NOTE = 2**20
"""Bytes of a note."""


class DamagedNote(Failed):
    """The note is there, but not as it was written."""


class BuildNote(Sealed):
    """Where the configuration and stage files of a build are: with its manifest, all that reading it takes."""

    config: str
    limit: int | None
    store: str
    draw: str | None = Field(None, exclude_if=is_none, description="Of refreshed steps, decided before they run")


def note_build(out: Path, config: Path, limit: int | None, store: str, draw: str | None = None) -> None:
    """Note in the output folder what it was built from, or is to be built from."""
    note = BuildNote(config=str(config.resolve()), limit=limit, store=_absolute(store), draw=draw)
    write_whole(out / NOTE, note.sealed())


def build_note(out: Path) -> BuildNote | None:
    """Return the note in an output folder; None if there is none. Raises `DamagedNote`."""
    path = out / NOTE
    try:
        if not path.exists():
            return None
        return BuildNote.model_validate_json(whole(str(path), MOST_NOTE, "it is no note"))
    except (OSError, SourceError, ValidationError) as error:
        raise DamagedNote(f"{path}: damaged; run the build again, which writes it anew") from error


def decided_draw(out: Path) -> str | None:
    """Return the draw that was decided for an output folder; None if none was.

    If the note is gone or damaged, it is that of the build that is there.
    """
    try:
        note = build_note(out)
    except DamagedNote:
        note = None
    if note is not None:
        return note.draw
    if not (out / MANIFEST).is_file():
        return None
    try:
        return BuildManifest.model_validate_json((out / MANIFEST).read_bytes()).draw
    except (OSError, ValidationError):
        return None


def note_draw(out: Path, config: Path, store: str, draw: str | None) -> None:
    """Note the draw that an output folder is to be built for; all else stays as it was noted, if it was."""
    try:
        note = build_note(out)
    except DamagedNote:
        note = None
    if note is None and draw is not None:
        note_build(out, config, None, store, draw)
    elif note is not None and note.draw != draw:
        note_build(out, Path(note.config), note.limit, note.store, draw)


def _absolute(store: str) -> str:
    return store if "://" in store else str(Path(store).resolve())
