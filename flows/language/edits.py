"""Edits that exchange the mentions in a text and the words beside them."""

from collections.abc import Iterable
from typing import NamedTuple

from flows.language import CannotReplace, Change, Replaced


class Edit(NamedTuple):
    """A stretch of the text and what replaces it; `mention` tells a mention from a word beside one."""

    start: int
    end: int
    new: str
    mention: bool


def edited(text: str, edits: Iterable[Edit]) -> Replaced:
    """Return the text with the edits made. Raises `CannotReplace` if two overlap."""
    pieces: list[str] = []
    at = 0
    replacements: list[Change] = []
    agreement: list[Change] = []
    for edit in sorted(edits):
        if edit.start < at:
            raise CannotReplace("two changes meet")
        pieces += [text[at : edit.start], edit.new]
        (replacements if edit.mention else agreement).append(Change(text[edit.start : edit.end], edit.new))
        at = edit.end
    pieces.append(text[at:])
    return Replaced("".join(pieces), tuple(replacements), tuple(agreement))
