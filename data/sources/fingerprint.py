"""What the records of a source depend on."""

from pathlib import Path

from data.checksum import checksum
from data.sources import touchstone
from data.sources.spec import SourceError, SourceSpec

READERS = {"hotpotqa": 2, "touchstone": 2}
"""The version of a format's reader where it is not the first: it goes up when the reader gives other records."""


def source_fingerprint(spec: SourceSpec) -> dict[str, object]:
    """The specification, with the checksums of its files in place of their folder, and the version of its reader.

    Of a data set on the Hub its commit tells its rows; of a URL, as of any file, the checksum does, so that an ETag
    which moved over the same bytes makes nothing anew. Raises `SourceError`.
    """
    spec = spec.at_hand
    settings = spec.model_dump(mode="json", exclude={"path", "revision"})
    if spec.format in READERS:
        settings["reader"] = READERS[spec.format]
    if spec.format == "hub":
        return {**settings, "name": spec.path, **({"revision": spec.revision} if spec.revision else {})}
    files = touchstone.parts(spec.path) if spec.format == "touchstone" else [Path(spec.path)]
    return {**settings, "name": spec.name, "sha256": [_checksum(file) for file in files]}


def _checksum(path: Path) -> str:
    try:
        return checksum(path)
    except FileNotFoundError as error:
        raise SourceError(f"{path}: no such file; paths are relative to the configuration file") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); correct the source's path") from error
