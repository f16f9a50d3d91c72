"""The one reader of dataset versions: MAJOR.MINOR.PATCH in plain numbers, nothing else that is a version elsewhere."""

import re
from typing import Literal

from schemas.errors import WrongInput

FIRST_VERSION = "1.0.0"

Bump = Literal["major", "minor", "patch"]

_NUMBER = r"(0|[1-9][0-9]{0,8})"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")


def is_version(text: str) -> bool:
    """Return whether the text is a version."""
    return _VERSION.fullmatch(text) is not None


def parsed_version(version: str) -> tuple[int, int, int]:
    """Return a version's three numbers, which sort as versions do. Raises `WrongInput`."""
    match = _VERSION.fullmatch(version)
    if match is None:
        raise WrongInput(f"version {version!r}: expected MAJOR.MINOR.PATCH, three plain numbers such as 1.4.0")
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def bumped(version: str, bump: Bump) -> str:
    """Return the next version of that kind. Raises `WrongInput`."""
    major, minor, patch = parsed_version(version)
    return {
        "major": f"{major + 1}.0.0",
        "minor": f"{major}.{minor + 1}.0",
        "patch": f"{major}.{minor}.{patch + 1}",
    }[bump]
