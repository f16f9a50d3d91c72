"""What is on the pages of a document and is not its text: running lines, tables of contents, cookie banners."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from data.sources.book import CONTENTS
from data.sources.documents.document import Block, Removed

MOST_PAGES = 2 / 3
"""Share of the pages, or of the left or the right ones, on which a running line stands."""
LEAST_PAGES, LEAST_OF_A_SIDE = 2, 5
"""Pages on which a line has to stand to be one, and left or right pages."""
ENTRIES_IN_A_ROW = 3
"""Lines that end in a page number after dots, which make a table of contents without a heading."""
LONGEST_ENTRY, LONGEST_ENTRY_CHARACTERS = 15, 120
"""Words and characters of a line of a table of contents."""
LONGEST_BANNER = 400
"""Characters."""

_DIGITS = re.compile(r"\d+")
_NO_LETTERS = re.compile(r"[\W_\d]+")
_ENTRY = re.compile(r"(?<![.·…\s])(?:[^\S\n]*[.·…]){3,}[^\S\n]*\d+$|\t\d+$", re.MULTILINE)
_LEADER = re.compile(r"(?<![.·…\s])(?:[^\S\n]*[.·…]){5,}[^\S\n]*\d+\b")
"""The dots up to a page number: in prose, into which a PDF's lines may have been joined, they stand nowhere else."""
_DOTS = re.compile(r"[.·…][^\S\n]*[.·…]")
_COOKIES = re.compile("cookie|小甜饼")
_CONSENT = re.compile(
    r"\b(?:accept|agree|consent|allow|reject|decline|settings|preferences|we use|uses? cookies|by continuing)\b"
    r"|接受|同意|拒绝|使用.{0,6}cookie|继续浏览",
    re.IGNORECASE,
)


def form(text: str) -> str:
    """Return a line without what changes from page to page: its numbers, its case, its spaces."""
    return _DIGITS.sub("#", " ".join(text.casefold().split()))


def running(pages: Iterable[Iterable[str]]) -> Mapping[str, int]:
    """Return the forms that stand on most pages, or on most left or right ones, with the number of pages.

    `pages` has the lines of each page among which there may be such: those at its top and its bottom.
    """
    counts: Mapping[int, Counter[str]] = {0: Counter(), 1: Counter()}
    number = 0
    for lines in pages:
        counts[number % 2].update({form(line) for line in lines})
        number += 1
    both = counts[0] + counts[1]
    sides = ((both, number, LEAST_PAGES), (counts[0], (number + 1) // 2, LEAST_OF_A_SIDE),
             (counts[1], number // 2, LEAST_OF_A_SIDE))  # fmt: skip
    return {
        line: both[line]
        for line in both
        if any(side[line] >= max(least, MOST_PAGES * size) for side, size, least in sides)
    }


def removed_lines(lines: Iterable[str], counts: Mapping[str, int]) -> Iterator[Removed]:
    """Yield each running line once, as it stands on its first page, with the number of its pages."""
    first: dict[str, str] = {}
    for line in lines:
        first.setdefault(form(line), line)
    for line, text in first.items():
        yield Removed("boilerplate", f"{text} (on {counts[line]} pages)")


def without_boilerplate(blocks: Sequence[Block]) -> tuple[list[Block], list[Removed]]:
    """Return the blocks that are text, and what is removed: banners and tables of contents."""
    contents = _contents(blocks)
    kept: list[Block] = []
    removed: list[Removed] = []
    for place, block in enumerate(blocks):
        if place in contents:
            removed.append(Removed("table of contents", block.text))
        elif is_banner(block.text):
            removed.append(Removed("boilerplate", block.text))
        else:
            kept.append(block)
    return kept, removed


def is_banner(text: str) -> bool:
    """Return whether a text asks for consent to cookies."""
    return len(text) <= LONGEST_BANNER and bool(_COOKIES.search(text.casefold()) and _CONSENT.search(text))


def _contents(blocks: Sequence[Block]) -> set[int]:
    """Return the places of the tables of contents.

    One is below a heading "Contents", up to the next heading, if its lines are short; or it is lines that end in dots
    and a page number.
    """
    places: set[int] = set()
    for has_entries, group in groupby(enumerate(blocks), lambda placed: _is_of_entries(placed[1])):
        run = list(group)
        if has_entries and sum(_number_of_entries(block) for _, block in run) >= ENTRIES_IN_A_ROW:
            places.update(place for place, _ in run)
    for place, block in enumerate(blocks):
        if len(block.text) <= LONGEST_ENTRY_CHARACTERS and _NO_LETTERS.sub("", block.text.casefold()) in CONTENTS:
            entries = list(_entries(blocks, place + 1))
            if entries:
                places.update((place, *entries))
    return places


def _number_of_entries(block: Block) -> int:
    return max(block.text.count("\n") + 1, len(_LEADER.findall(block.text)))


def _is_of_entries(block: Block) -> bool:
    """Return whether most lines of a block end in dots and a page number, or its only line has several such ends."""
    if "\t" not in block.text and not _DOTS.search(block.text):
        return False  # most blocks: the rest takes longer
    return len(_LEADER.findall(block.text)) > 1 or 2 * len(_ENTRY.findall(block.text)) > block.text.count("\n") + 1


def _entries(blocks: Sequence[Block], start: int) -> Iterator[int]:
    """Yield the places of short blocks from `start` up to a heading, or to a block with a longer line."""
    for place in range(start, len(blocks)):
        block = blocks[place]
        lines = block.text.split("\n")
        if block.level or any(
            len(line) > LONGEST_ENTRY_CHARACTERS or len(line.split()) > LONGEST_ENTRY for line in lines
        ):
            return
        yield place
