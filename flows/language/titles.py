"""Titles of pages."""

import re

BRACKET = re.compile(r"\s*[(（].*?[)）]\s*$")
"""What tells a page from others of its name: "Mercury (planet)"."""


def page_name(title: str | None) -> str:
    """What the page of a title is about: without the bracket, and without the underscores of some sources."""
    return BRACKET.sub("", (title or "").replace("_", " ")).strip()
