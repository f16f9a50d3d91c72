"""What an output folder was built from, or is to be built from: noted there beside the manifest."""

from pathlib import Path

from pydantic import Field, ValidationError

from data.whole_file import write_whole
from schemas.base import Frozen
from schemas.manifest import is_none

NOTE = ".build.json"


class BuildNote(Frozen):
    """Where the configuration and stage files of a build are: with its manifest, all that reading it takes."""

    config: str
    limit: int | None
    store: str
    draw: str | None = Field(None, exclude_if=is_none, description="Of refreshed steps, decided before they run")


def note_build(out: Path, config: Path, limit: int | None, store: str, draw: str | None = None) -> None:
    """Note in the output folder what it was built from, or is to be built from."""
    note = BuildNote(config=str(config.resolve()), limit=limit, store=_absolute(store), draw=draw)
    write_whole(out / NOTE, note.model_dump_json().encode())


def build_note(out: Path) -> BuildNote | None:
    """Return the note in an output folder; None if there is none."""
    try:
        return BuildNote.model_validate_json((out / NOTE).read_bytes())
    except (OSError, ValidationError):
        return None


def decided_draw(out: Path) -> str | None:
    """Return the draw that was decided for an output folder; None if none was."""
    note = build_note(out)
    return None if note is None else note.draw


def note_draw(out: Path, config: Path, store: str, draw: str | None) -> None:
    """Note the draw that an output folder is to be built for; all else stays as it was noted, if it was."""
    note = build_note(out)
    if note is None and draw is not None:
        note_build(out, config, None, store, draw)
    elif note is not None and note.draw != draw:
        note_build(out, Path(note.config), note.limit, note.store, draw)


def _absolute(store: str) -> str:
    return store if "://" in store else str(Path(store).resolve())
