"""Searches everything in a version's folder for the texts of private sources, whoever put them there."""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from data.publish.folder import Release, paths_in
from data.publish.reading import opened, read_batches
from data.publish.row_keys import keys_in
from data.publish.rows import ReleasedRows
from data.seen import Hashes, place_of
from flows.project.private_sources import PrivateSources
from schemas.base import counted, visible
from schemas.errors import Failed
from schemas.release import ReleasedConfig

_ESCAPE = re.compile(r'\\u([0-9a-fA-F]{4})|\\[nrtbf"/\\]')
_TAG = re.compile("<[^<>]*>")
HIDDEN = "(text of a source that is private now)"
"""In place of what an earlier version published."""


def refuse_leaks(sources: PrivateSources, folder: Path) -> None:
    """Raise `Failed`, with file, row and source, if there is anything of a private source in a folder."""
    if sources and (leak := next(leaks(sources, folder), None)) is not None:
        raise Failed(
            f"{folder}: {visible(leak)}; nothing is published: take it out if you put it there, or mark as private the "
            "source that it comes from as well"
        )


def leaks(sources: PrivateSources, folder: Path) -> Iterator[str]:
    """Yield a line, without the text, for each row and each file that names a private source or shows text of one."""
    for path in paths_in(folder):
        if (source := sources.shown_in([path])) is not None:
            yield f"{path}: its name is text of the private source {source}"
        if path.endswith(".parquet"):
            yield from _in_rows(sources, folder, path)
        elif (place := _in_file(sources, folder / path)) is not None:
            yield f"{path}: {place}"


def without_leaks(sources: PrivateSources, text: str) -> str:
    """Return a text with another line in place of each that shows text of a private source."""
    if not sources:
        return text
    return "".join(HIDDEN + "\n" if _shown(sources, line) else line for line in text.splitlines(keepends=True))


def private_in_words(
    sources: PrivateSources, configs: Sequence[ReleasedRows | ReleasedConfig], earlier: Sequence[Release] = ()
) -> list[str]:
    """Return a line on the rows of private sources, and another one if the version before published any."""
    told = []
    if rows := sum(config.of_private_sources for config in configs):
        names = ", ".join(map(visible, sources.names))
        told.append(f"not published, but beside the private rows: {counted(rows, 'row')} of private sources ({names})")
    if earlier and (rows := _rows_among(earlier[-1], sources.rows)):
        versions = ", ".join(version.manifest.version for version in earlier if _rows_among(version, sources.rows))
        told.append(
            f"{counted(rows, 'row')} of private sources: published already by version {versions}, and not again"
        )
    return told


def _rows_among(release: Release, keys: Hashes) -> int:
    """Return how many public rows of a version have one of these keys."""
    public = [path for config in release.manifest.configs for path in config.files] if len(keys) else []
    return sum(place_of(key, keys) is not None for some in keys_in(release.folder, public) for key in some)


def _in_rows(sources: PrivateSources, folder: Path, path: str) -> Iterator[str]:
    """Yield the leaks in a Parquet file: in its rows, and in what it says of its columns."""
    with opened(folder / path) as file:
        about = file.schema_arrow.to_string(truncate_metadata=False), str(file.metadata.metadata)
    if (source := sources.shown_in(about)) is not None:
        yield f"{path}: its metadata show text of the private source {source}"
    for number, row in enumerate((row for batch in read_batches(folder / path) for row in batch.rows()), 1):
        if (source := sources.source_of(row)) is not None:
            how = "rests on" if sources.named_by(row) else "shows text of"
            yield f"{path}: row {number} (key {row.get('key')}) {how} the private source {source}"


def _in_file(sources: PrivateSources, path: Path) -> str | None:
    """Return where a file that is no table shows text of a private source; None if it shows none."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return "is no text in UTF-8, and cannot be searched for text of private sources"
    if (source := _shown(sources, text)) is None:
        return None
    line = next((number for number, line in enumerate(text.splitlines(), 1) if _shown(sources, line)), None)
    return f"{f'line {line} ' if line else ''}shows text of the private source {source}"


def _shown(sources: PrivateSources, text: str) -> str | None:
    """Return the private source of which a file's text shows a run: as it stands, or read as JSON or as a page."""
    unescaped = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text)
    return sources.shown_in([text, unescaped, html.unescape(unescaped), html.unescape(_TAG.sub(" ", text))])
