"""Texts and numbers for a reader: cut, compared word by word, counted in per cent."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

TEXT_CHARACTERS = 600
"""Of a longer text, the beginning is shown, and how much follows."""
LISTED_CHARACTERS = 200
SLACK = 1.2
"""A text of up to this many times the limit is shown whole."""
ALIKE = 0.4
"""Texts with at least this share of words in common are compared word by word."""
COMPARED_WORDS = 1000
"""Texts are compared if no more words than this lie between their first and last difference."""
SURROUNDING_WORDS = 20
"""Of a long text, as many words are shown before and after a change."""
SURROUNDING_CHARACTERS = 80
"""Fewer between those are shown too."""
_WORD = re.compile(r"\s*(?:[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s])|\s+")


@dataclass(frozen=True)
class Segment:
    """A span of a text, and whether the text beside it lacks it."""

    text: str
    changed: bool = False


def clip(text: str, most: int = TEXT_CHARACTERS) -> str:
    """Return the text, or its beginning and the number of characters that follow; a short rest is not cut."""
    return text if len(text) <= most * SLACK else f"{text[:most].rstrip()} … (+{len(text) - most:,} characters)"


def compared(left: str, right: str) -> tuple[Sequence[Segment], Sequence[Segment]]:
    """Return both texts in segments. Words that the other lacks are marked, unless they have little in common.

    Of texts that are too long to be shown, the changes are shown with the words around them. What is left out is
    counted, and never marked.
    """
    blocks = _blocks(_WORD.findall(left), _WORD.findall(right))
    if not any(block.changed for block in blocks[0]):
        return (Segment(clip(left)),), (Segment(clip(right)),)
    if max(len(left), len(right)) > TEXT_CHARACTERS * SLACK:
        return _around_changes(blocks[0]), _around_changes(blocks[1])
    return tuple(chain(*map(_segments, blocks[0]))), tuple(chain(*map(_segments, blocks[1])))


@dataclass(frozen=True)
class _Block:
    """Successive words of a text, each with the space before it, and whether the text beside it lacks them."""

    words: Sequence[str]
    changed: bool

    @property
    def text(self) -> str:
        return "".join(self.words)


def _blocks(left: Sequence[str], right: Sequence[str]) -> tuple[list[_Block], list[_Block]]:
    """Return the blocks of two texts, in pairs; one unchanged block of each if they have too little in common."""
    bare = [[word.strip() for word in side] for side in (left, right)]
    before = _same_at_start(*bare)
    after = _same_at_start(*(side[before:][::-1] for side in bare))
    middle = [side[before : len(side) - after] for side in bare]
    if max(map(len, middle)) > COMPARED_WORDS:
        return [_Block(left, False)], [_Block(right, False)]
    matcher = difflib.SequenceMatcher(None, middle[0], middle[1], autojunk=False)
    same = before + after + sum(match.size for match in matcher.get_matching_blocks())
    if 2 * same < ALIKE * (len(left) + len(right)):
        return [_Block(left, False)], [_Block(right, False)]
    blocks = [_Block(left[:before], False)], [_Block(right[:before], False)]
    for kind, *spans in matcher.get_opcodes():
        for words, side, (start, stop) in zip((left, right), blocks, (spans[:2], spans[2:]), strict=True):
            side.append(_Block(words[before + start : before + stop], kind != "equal"))
    for words, side in zip((left, right), blocks, strict=True):
        side.append(_Block(words[len(words) - after :], False))
    return blocks


def _same_at_start(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many words both begin with."""
    pairs = zip(left, right, strict=False)
    return next((place for place, (word, other) in enumerate(pairs) if word != other), min(len(left), len(right)))


def _around_changes(blocks: Sequence[_Block]) -> tuple[Segment, ...]:
    """Return the changes of a long text with the words around them, as far as there is room."""
    segments: list[Segment] = []
    left_out = 0
    for place, block in enumerate(blocks):
        if sum(len(segment.text) for segment in segments) > TEXT_CHARACTERS:
            left_out += len(block.text)
        elif block.changed:
            shown = block.text[:TEXT_CHARACTERS]
            segments += _segments(_Block((shown,), True))
            left_out += len(block.text) - len(shown)
        else:
            last = len(block.words)
            head = min(last, SURROUNDING_WORDS) if place else 0
            tail = max(head, last - SURROUNDING_WORDS if place < len(blocks) - 1 else last)
            hidden = "".join(block.words[head:tail])
            if len(hidden) > SURROUNDING_CHARACTERS:
                hidden = f"{' ' if place else ''}… ({len(hidden):,} characters) …"
            segments += _segments(_Block((*block.words[:head], hidden, *block.words[tail:]), False))
    return (*segments, Segment(f" … (+{left_out:,} characters)")) if left_out else tuple(segments)


def _segments(block: _Block) -> Iterator[Segment]:
    """Yield a block's text; the space before a change is not marked."""
    gap = block.text[: len(block.text) - len(block.text.lstrip())] if block.changed else ""
    if gap:
        yield Segment(gap)
    if rest := block.text[len(gap) :]:
        yield Segment(rest, block.changed)


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
