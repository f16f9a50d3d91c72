"""Fact recall (appendix A): one fact at 200 evenly spaced positions of a book, at every level.

The book is read, and the rules are applied to it, once; a context is its beginning, cut at the end of a sentence.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from flows.construct.engine import Drop
from flows.families.lveval.datasets import DEPTHS
from flows.families.lveval.distractor_index import Numbers, count
from flows.families.lveval.mixing import LACKING, Laid, Seeds, Text, slack
from flows.language.boundaries import boundaries
from schemas.lveval import Position, PositionKind

PARAGRAPHS = "\n\n"


@dataclass(frozen=True)
class Book:
    """A book after replacement, and the facts that are put into it."""

    text: str
    fact: Text
    facts: tuple[Text, ...]
    language: str

    @cached_property
    def ends(self) -> list[int]:
        """The offsets at which a sentence begins after another, from 0 to the end of the book."""
        return [0, *boundaries(self.text, self.language), len(self.text)]

    @cached_property
    def places(self) -> Numbers:
        """The same offsets, to be reckoned with."""
        return np.array(self.ends, np.int64)

    @cached_property
    def words(self) -> Numbers:
        """Words (characters) before each of them."""
        return np.cumsum([0, *(count(self.text[start:end], self.language) for start, end in pairwise(self.ends))])

    @cached_property
    def bytes_before(self) -> Numbers:
        """Bytes before each of them."""
        return np.cumsum([0, *(len(self.text[start:end].encode()) for start, end in pairwise(self.ends))])

    @cached_property
    def encoded(self) -> bytes:
        """The book in UTF-8."""
        return self.text.encode()


@dataclass(frozen=True)
class Level:
    """How much of the book a level takes, and where its confusing facts go."""

    last: int  # the boundary at which the book is cut
    length: int
    confusing: tuple[int, ...]  # the boundary before which each confusing fact goes


def level_of(book: Book, level: int, seeds: Seeds) -> Level:
    """Return the level's stretch of the book. Raises `Drop` if the book is too short."""
    inserted = sum(fact.count for fact in (book.fact, *book.facts))
    last = int(np.searchsorted(book.words, level - inserted, side="right")) - 1
    if inserted > level:
        raise Drop("supporting documents too long", f"they have {inserted:,} words", value=float(inserted))
    if last < 1:
        raise Drop("no end of a sentence within the level", f"the book's first one comes after {level:,} words")
    length = int(book.words[last]) + inserted
    if (missing := level - length) > slack(level, book.language):
        raise Drop(LACKING, f"{missing:,} words are missing", value=float(missing))
    inner = max(1, last - 1)
    return Level(last, length, tuple(1 + seeds("place", fact.id) % inner for fact in book.facts))


def place_of(book: Book, level: Level, depth: int) -> int:
    """Return the boundary of the book before which the fact goes: the nearest to one of the 200 places.

    The first place is the book's beginning, the last its end. In a short book, several places share a boundary.
    """
    away = np.abs(book.places[: level.last + 1] - depth / (DEPTHS - 1) * book.ends[level.last])
    return level.last - int(np.argmin(away[::-1]))  # of two equally near boundaries, the later


def recalled(book: Book, level: Level, place: int) -> Laid:
    """Return the context with the fact before that boundary."""
    joint = "" if book.language == "zh" else " "
    inserted: list[tuple[int, int, PositionKind, Text]] = [
        (place, 0, "support", book.fact),
        *(
            (at, 1 + number, "confusing", piece)
            for number, (at, piece) in enumerate(zip(level.confusing, book.facts, strict=True))
        ),
    ]
    pieces: list[bytes] = []
    positions: list[Position] = []
    done = at = 0
    for boundary, _, kind, text in sorted(inserted, key=lambda piece: piece[:2]):
        stretch = book.encoded[book.bytes_before[done] : book.bytes_before[boundary]]
        at += book.ends[boundary] - book.ends[done]
        positions.append(Position(kind=kind, source=text.id, start=at, end=at + len(text.text)))
        pieces += [stretch, text.bytes, joint.encode()]
        at += len(text.text) + len(joint)
        done = boundary
    pieces.append(book.encoded[book.bytes_before[done] : book.bytes_before[level.last]])
    return Laid(pieces, level.length, tuple(positions))
