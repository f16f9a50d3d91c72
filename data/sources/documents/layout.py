"""The lines of printed pages, put in reading order and joined to headings and paragraphs."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile
from statistics import median

from data.sources.documents.document import Block
from data.sources.documents.lines import ends_sentence, hyphenated, joined

LARGER = 1.12
"""A heading's size, in sizes of the text. A bold line between two paragraphs is a heading at any size."""
LONGEST_HEADING = 25
"""Words."""
WIDER = 1.35
"""Distance of two lines between which a paragraph ends, in usual distances."""
SHORTER = 0.12
"""A line that ends a paragraph leaves free this part of its column's width, or more."""
INDENT = 0.8
"""Of a paragraph's first line, in sizes of the text."""
LEAST_IN_COLUMN = 5
"""Lines."""
MOST_ACROSS = 0.3
"""Share of a page's lines that may cross the gap between two columns: titles, wide tables."""
SMALLER = 0.92
"""The most of a footnote's size, in sizes of the text."""
MOST_LEVELS = 4

_BULLET = re.compile(r"(?:[•◦▪■●‣∙]|(?P<unsure>[·–—*-]|\(?(?:\d{1,3}|[a-zA-Z])[.)]))\s")
"""What an item of a list begins with; the unsure also begin a line in the middle of a sentence."""
_NOTE = re.compile(r"[\d*†‡§¹²³⁴-⁹①-⑳〔\[]")
"""What a footnote begins with."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page; lengths in points, from the page's lower left corner."""

    text: str
    page: int
    left: float
    right: float
    bottom: float
    size: float
    """The height of its font, to half a point."""
    bold: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """A line in its column."""

    line: Line
    column: tuple[int, int, int]
    """The page, the part of it from the top, and the column in that."""
    edge: float
    """Where the column ends on the right."""
    width: float
    """Of the column."""


def blocks_of(pages: Sequence[Sequence[Line]]) -> Iterator[Block]:
    """Yield the blocks of the pages' lines, which come in the order in which they were drawn.

    Footnotes come after the paragraph that they stand below: it may go on in the next column, or on the next page.
    """
    placed = [line for lines in pages for line in _in_reading_order(lines)]
    words = hyphenated(line.line.text for line in placed)
    levels = _Levels(placed)
    usual = _usual_distance(placed)
    footnotes = _footnotes(placed, levels.body)
    notes: list[Placed] = []
    text: list[Placed] = []
    for line in placed:
        if line.line in footnotes:
            notes.append(line)
            continue
        if text and _begins(text, line, levels, usual):
            yield _block(text, levels, words)
            yield from (_block(run, levels, words) for run in _runs(notes, levels, usual))
            notes, text = [], []
        text.append(line)
    yield from (_block(run, levels, words) for run in _runs([*text, *notes], levels, usual))


def _runs(lines: Sequence[Placed], levels: "_Levels", usual: float) -> Iterator[list[Placed]]:
    """Yield the lines of each block."""
    run: list[Placed] = []
    for line in lines:
        if run and _begins(run, line, levels, usual):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _footnotes(placed: Sequence[Placed], body: float) -> set[Line]:
    """Return the lines of footnotes: smaller than the text, at the foot of a column, below a number or a mark."""
    notes: set[Line] = set()
    for _, column in groupby(placed, lambda line: line.column):
        upwards = sorted((line.line for line in column), key=lambda line: line.bottom)
        small = list(takewhile(lambda line: line.size <= SMALLER * body, upwards))
        while small and not _NOTE.match(small[-1].text):
            small.pop()
        if len(small) < len(upwards):
            notes.update(small)
    return notes


def _block(run: Sequence[Placed], levels: "_Levels", words: frozenset[str]) -> Block:
    return Block(joined([line.line.text for line in run], words), levels.of(run[0].line), run[0].line.page)


def _in_reading_order(lines: Sequence[Line]) -> list[Placed]:
    """Return the lines of a page, column by column where there are two; within one, in the order of drawing.

    A line that crosses the gap ends the columns above it.
    """
    if not lines:
        return []
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    gap = _gap(lines, left, right)
    if gap is None:
        return [Placed(line, (line.page, 0, 0), right, right - left) for line in lines]
    across = sorted((line for line in lines if line.left < gap < line.right), key=lambda line: -line.bottom)
    edge = max((line.right for line in lines if line.right <= gap), default=gap)
    placed = []
    for line in lines:
        above = sum(other.bottom >= line.bottom for other in across)
        if line.left < gap < line.right:
            placed.append(Placed(line, (line.page, above, 0), right, right - left))
        elif line.right <= gap:
            placed.append(Placed(line, (line.page, above, 1), edge, edge - left))
        else:
            placed.append(Placed(line, (line.page, above, 2), right, right - gap))
    return sorted(placed, key=lambda line: line.column)


def _gap(lines: Sequence[Line], left: float, right: float) -> float | None:
    """Return where two columns part, left of where most lines of the right one begin; None if there is one column."""
    width = right - left
    starts = Counter(round(line.left) for line in lines if 0.35 * width < line.left - left < 0.7 * width)
    if not starts:
        return None
    start, count = max(starts.items(), key=lambda item: (item[1], -item[0]))
    gap = start - 1.5
    across = sum(line.left < gap < line.right for line in lines)
    before = sum(line.right <= gap for line in lines)
    few = count < LEAST_IN_COLUMN or before < LEAST_IN_COLUMN or across > MOST_ACROSS * len(lines)
    return None if few else gap


def _usual_distance(placed: Sequence[Placed]) -> float:
    """Return the median distance from line to line, in sizes of the text."""
    distances = [
        (above.line.bottom - line.line.bottom) / line.line.size
        for above, line in pairwise(placed)
        if above.column == line.column and above.line.size == line.line.size > 0
        and above.line.bottom > line.line.bottom
    ]  # fmt: skip
    return median(distances) if distances else 1.0


class _Levels:
    """The levels of the headings, by the size of their letters; bold ones of the text's size come last."""

    def __init__(self, placed: Sequence[Placed]) -> None:
        characters: Counter[float] = Counter()
        bold = 0
        for line in placed:
            characters[line.line.size] += len(line.line.text)
            bold += line.line.bold
        self.body = max(characters.items(), key=lambda item: (item[1], -item[0]))[0] if characters else 0.0
        self._tells_bold = 4 * bold < len(placed)
        larger = sorted({line.line.size for line in placed if self._is_larger(line.line)}, reverse=True)
        self._of_size = {size: min(place, MOST_LEVELS) for place, size in enumerate(larger, start=1)}
        self._of_bold = min(len(larger), MOST_LEVELS) + 1

    def _is_larger(self, line: Line) -> bool:
        return line.size >= LARGER * self.body and len(line.text.split()) <= LONGEST_HEADING

    def of(self, line: Line) -> int:
        """Return the level of a line; 0 if it is no heading."""
        if line.size in self._of_size and self._is_larger(line):
            return self._of_size[line.size]
        is_bold = line.bold and self._tells_bold and line.size >= 0.9 * self.body
        return self._of_bold if is_bold and not line.text.endswith((".", ":", ",", ";")) else 0


def _begins(run: Sequence[Placed], placed: Placed, levels: _Levels, usual: float) -> bool:
    """Return whether a line begins a block. A sentence is only cut where the page shows it: by space or by letters."""
    above, line = run[-1].line, placed.line
    level = levels.of(line)
    if level != levels.of(above):
        return True
    below = run[-1].column == placed.column and line.bottom < above.bottom
    distance = (above.bottom - line.bottom) / (line.size or 1.0)
    if level:
        return not below or distance > WIDER * max(usual, 1.0)
    ended = ends_sentence(above.text)
    in_list = _BULLET.match(run[0].line.text)
    bullet = _BULLET.match(line.text)
    if (below and distance > WIDER * usual) or (bullet and (ended or in_list or not bullet["unsure"])):
        return True
    indented = line.left - above.left > INDENT * line.size and not in_list
    return ended and (not below or indented or run[-1].edge - above.right > SHORTER * run[-1].width)
