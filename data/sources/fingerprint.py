"""Fingerprints of sources: everything that their records depend on."""

from pathlib import Path

from data.checksum import checksum
from data.sources import documents, touchstone
from data.sources.opening import check_is_file
from data.sources.spec import ATTRIBUTION, PART, SourceError, SourceSpec

READERS = {"documents": 5, "hotpotqa": 2, "touchstone": 3}
"""Format -> version of its reader, if it is not 1: raised when the reader gives other records."""


def source_fingerprint(spec: SourceSpec) -> dict[str, object]:
    """Return the specification with the version of its reader, and checksums of its files in place of their folder.

    A data set on the Hub is identified by its commit. A URL is identified by its checksum as any file is, so that a
    new ETag for the same bytes rebuilds nothing. A part is identified by its name; what it holds, its stage says. What
    only a card shows does not count, nor whether it is private. Raises `SourceError`.
    """
    spec = spec.at_hand
    settings = spec.model_dump(mode="json", exclude={"path", "revision", "private", "internal", *ATTRIBUTION})
    if spec.format in READERS:
        settings["reader"] = READERS[spec.format]
    if spec.format == "hub":
        return {**settings, "name": spec.path, **({"revision": spec.revision} if spec.revision else {})}
    if spec.format == PART:
        return {**settings, "name": spec.path}
    if spec.format == "documents":
        checksums = {name: _checksum_of_document(path) for name, path in documents.files(spec)}
        return {**settings, "name": spec.name, "sha256": checksums}
    files = touchstone.parts(spec.path) if spec.format == "touchstone" else [Path(spec.path)]
    return {**settings, "name": spec.name, "sha256": [_checksum(file) for file in files]}


def _checksum_of_document(path: Path) -> str | None:
    """Return the checksum of a document; None if it cannot be opened, which is told where it is read."""
    try:
        return checksum(path)
    except OSError:
        return None


def _checksum(path: Path) -> str:
    check_is_file(path)
    try:
        return checksum(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); correct the source's path") from error
