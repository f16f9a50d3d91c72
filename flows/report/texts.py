"""Texts and numbers for a reader: cut, compared word by word, counted in per cent."""

import difflib
import re
from dataclasses import dataclass

TEXT_CHARACTERS = 600
"""Of a longer text, the beginning is shown, and how much follows."""
LISTED_CHARACTERS = 200
SLACK = 1.2
"""A text of up to this many times the limit is shown whole."""
ALIKE = 0.4
"""Texts with at least this share of words in common are compared word by word."""
_WORD = re.compile(r"\s*(?:[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s])|\s+")


@dataclass(frozen=True)
class Segment:
    """A span of a text, and whether the text beside it lacks it."""

    text: str
    changed: bool = False


def clip(text: str, most: int = TEXT_CHARACTERS) -> str:
    """Return the text, or its beginning and the number of characters that follow; a short rest is not cut."""
    return text if len(text) <= most * SLACK else f"{text[:most].rstrip()} … (+{len(text) - most:,} characters)"


def compared(left: str, right: str) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """Return both texts in segments. Words that the other lacks are marked, unless they have little in common."""
    words = _WORD.findall(left), _WORD.findall(right)
    bare = [[word.strip() for word in side] for side in words]
    matcher = difflib.SequenceMatcher(None, bare[0], bare[1], autojunk=False)
    if matcher.ratio() < ALIKE:
        return (Segment(left),), (Segment(right),)
    sides: tuple[list[Segment], list[Segment]] = ([], [])
    for kind, *spans in matcher.get_opcodes():
        for side, tokens, (start, stop) in zip(sides, words, (spans[:2], spans[2:]), strict=True):
            if text := "".join(tokens[start:stop]):
                gap = text[: len(text) - len(text.lstrip())]
                side.extend([Segment(gap)] * bool(gap) + [Segment(text[len(gap) :], kind != "equal")])
    return tuple(sides[0]), tuple(sides[1])


def words_of(name: str) -> str:
    """Return a Python name in words."""
    return name.replace("_", " ")


def percent(part: float, whole: float) -> str:
    """Return a share for a reader; empty if the whole is zero."""
    if not whole:
        return ""
    share = 100 * part / whole
    return f"{share:.0f}%" if share in (0, 100) or 1 <= share <= 99 else f"{share:.1f}%"


def width(part: float, whole: float) -> float:
    """Return a share in per cent, for drawing."""
    return round(100 * part / whole, 2) if whole else 0.0
