"""Documents cut into passages: at headings and between paragraphs, never in a sentence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import filterfalse, groupby
from math import ceil

from data.sources.documents.document import Block, Removed

BETWEEN = "\n\n"
"""Between the blocks of a document's text."""
LONGEST_LINE = 1_000_000
"""Characters of a line that is looked through for sentences; a book of one line has fewer."""
LONGEST_SENTENCE = 10_000
"""Characters; what is longer is no sentence: data, or a text without an end."""
LEAST_SHARE = 4
"""What is left over is a passage of its own if it has this part of the least words, one in four."""

_CHINESE_SENTENCE = re.compile(r"[^。！？…\n]*[。！？…\n]*[”’」』）)》\"]*")
_NO_SPACE = re.compile(r"\S+")


@dataclass(frozen=True)
class Heading:
    """A heading, and where it stands in the document's text."""

    text: str
    start: int


@dataclass(frozen=True)
class Piece:
    """A passage: `text[start:end]` of the document's text."""

    start: int
    end: int
    words: int
    headings: tuple[Heading, ...]
    """Under which all of it stands, from the top."""
    page: int | None
    """On which it begins."""

    @property
    def top(self) -> tuple[Heading, ...]:
        """The heading at the top, if there is one."""
        return self.headings[:1]

    def and_(self, other: "Piece", after: int) -> "Piece":
        """Return the passage from here to the end of the next one; `after` is where the one before ends.

        If it does not stand under all headings of this one, it begins with those of them that it does not stand under,
        unless another passage stands between them and this one.
        """
        common = sum(1 for mine, theirs in zip(self.headings, other.headings, strict=False) if mine == theirs)
        first = self.headings[common].start if common < len(self.headings) else self.start
        start = min(first, self.start) if first >= after else self.start
        return Piece(start, other.end, self.words + other.words, self.headings[:common], self.page or other.page)


def count_words(text: str, language: str) -> int:
    """Words with a letter or a digit; in Chinese, characters that are not white space."""
    if language == "zh":
        return sum(map(len, text.split()))
    words = text.split()
    return len(words) - sum(not any(map(str.isalnum, word)) for word in filterfalse(str.isalnum, words))


def without_endless_lines(blocks: Sequence[Block], language: str) -> tuple[list[Block], list[Removed]]:
    """Return the blocks that have sentences, and those that are data, or text without an end."""
    kept: list[Block] = []
    removed: list[Removed] = []
    for block in blocks:
        endless = len(block.text) > LONGEST_SENTENCE and any(
            end - start > LONGEST_SENTENCE for start, end in _sentences(block.text, language)
        )
        if endless:
            removed.append(Removed("endless line", block.text))
        else:
            kept.append(block)
    return kept, removed


def cut(blocks: Sequence[Block], language: str, least: int, most: int) -> tuple[str, list[Piece], list[Removed]]:
    """Return a document's text, its passages in order, and what is too short to be one.

    A passage is a paragraph, or as many below the same heading as it takes to have `least` words. A paragraph of more
    than `most` is cut between sentences, in parts of about the same length; a sentence of more is a passage. What is
    left over below a heading joins the passage before it, and otherwise the next or the last below the same heading
    at the top, as long as they have no more than `most` together. Failing that, it is kept if it has a quarter of
    `least`.
    """
    text = BETWEEN.join(block.text for block in blocks)
    pieces: list[Piece] = []
    for _, units in groupby(_units(blocks, language, most), lambda unit: unit.headings):
        pieces += _joined(list(units), least, most)
    pieces = _joined(pieces, least, most)
    floor = least // LEAST_SHARE
    short = [Removed("too short", text[piece.start : piece.end]) for piece in pieces if piece.words < floor]
    return text, [piece for piece in pieces if piece.words >= floor], short


def _units(blocks: Sequence[Block], language: str, most: int) -> Iterator[Piece]:
    """Yield the paragraphs, and the parts of long ones."""
    headings: list[tuple[int, Heading]] = []
    start = 0
    for block in blocks:
        if block.level:
            headings = [(level, heading) for level, heading in headings if level < block.level]
            headings.append((block.level, Heading(block.text, start)))
        else:
            path = tuple(heading for _, heading in headings)
            for begin, end, words in _parts(block.text, language, most):
                yield Piece(start + begin, start + end, words, path, block.page)
        start += len(block.text) + len(BETWEEN)


def _parts(text: str, language: str, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, words) of a paragraph, or of its parts: lines if it has any, otherwise sentences."""
    words = count_words(text, language)
    if words <= most:
        yield 0, len(text), words
        return
    spans = [(start, end, count_words(text[start:end], language)) for start, end in _small_spans(text, language, most)]
    target = words / ceil(words / most)
    begin, count, last = 0, 0, 0
    for start, end, number in spans:
        if count and (count + number > most or count >= target):
            yield begin, last, count
            begin, count = start, 0
        count += number
        last = end
    yield begin, last, count


def _small_spans(text: str, language: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield the lines, and of lines that are too long the sentences."""
    start = 0
    for line in text.split("\n"):
        if count_words(line, language) <= most:
            yield start, start + len(line)
        else:
            yield from ((start + begin, start + end) for begin, end in _sentences(line, language))
        start += len(line) + 1


def _sentences(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences, without the white space around them. Of a longer text than `LONGEST_LINE` it is all."""
    if len(text) > LONGEST_LINE or any(
        match.end() - match.start() > LONGEST_SENTENCE and language != "zh" for match in _NO_SPACE.finditer(text)
    ):
        yield 0, len(text)
    elif language == "zh":
        yield from _stripped(text, [match.start() for match in _CHINESE_SENTENCE.finditer(text) if match[0].strip()])
    else:
        import syntok.segmenter

        starts = [
            tokens[0].offset
            for paragraph in syntok.segmenter.analyze(text)
            for sentence in paragraph
            if (tokens := list(sentence))
        ]
        yield from _stripped(text, starts)


def _stripped(text: str, starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        stretch = text[start:end]
        yield start + len(stretch) - len(stretch.lstrip()), start + len(stretch.rstrip())


def _joined(pieces: Sequence[Piece], least: int, most: int) -> list[Piece]:
    """Join each piece that is too short with the next; failing that, with the one before it."""
    forward: list[Piece] = []
    for piece in pieces:
        if forward and forward[-1].words < least and _fit(forward[-1], piece, most):
            _join_last(forward, piece)
        else:
            forward.append(piece)
    back: list[Piece] = []
    for piece in forward:
        if back and piece.words < least and _fit(back[-1], piece, most):
            _join_last(back, piece)
        else:
            back.append(piece)
    return back


def _join_last(pieces: list[Piece], piece: Piece) -> None:
    pieces[-1] = pieces[-1].and_(piece, pieces[-2].end if len(pieces) > 1 else 0)


def _fit(piece: Piece, next_: Piece, most: int) -> bool:
    """Return whether two pieces make a passage: with a sentence that is too long by itself, a short one always does."""
    fits = piece.words + next_.words <= most or max(piece.words, next_.words) > most
    return fits and piece.top == next_.top
