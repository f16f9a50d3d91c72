"""The checksum by which files are named in manifests and fingerprints."""

import hashlib
from pathlib import Path


def checksum(path: Path) -> str:
    """The file's sha256 in hexadecimal digits. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
