"""Titles of pages."""

import re

BRACKET = re.compile(r"\s*[(（].*?[)）]\s*$")
"""The bracket that tells a page from others of its name: "Mercury (planet)"."""


def page_name(title: str | None) -> str:
    """Return the subject of a page: its title without the bracket and without the underscores of some sources."""
    return BRACKET.sub("", (title or "").replace("_", " ")).strip()
