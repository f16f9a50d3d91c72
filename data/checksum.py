"""The checksum of files in manifests and fingerprints."""

import hashlib
from pathlib import Path


def checksum(path: Path) -> str:
    """Return the file's SHA-256 in hexadecimal digits. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
