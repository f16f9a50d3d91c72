"""What every reader of documents gives: blocks of text in reading order, each on a page if there are pages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

WIDE = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
"""Characters that need no space between them, for a regular expression."""
CELLS = " | "
"""Between the cells of a row."""

_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe]+")
_SPACES = re.compile(r"(?<=\S)[^\S\n]+")
_LINE_ENDS = re.compile(r"(?<! ) *\n(?: *\n)*")
_BREAK = re.compile(rf"(?<=[{WIDE}])\n|\n(?=[{WIDE}])")


class Unreadable(Exception):  # noqa: N818 - a refusal
    """Raised for a document that cannot be read: the reason, out of a small set, and what shows it."""

    def __init__(self, reason: str, evidence: str = "") -> None:
        super().__init__(reason)
        self.reason, self.evidence = reason, evidence


@dataclass(frozen=True)
class Block:
    """A heading, a paragraph, a list or a table. Items and rows stand on lines of their own; nothing else has lines."""

    text: str
    level: int = 0
    """Of a heading, from 1; 0 if it is none."""
    page: int | None = None
    """From 1; of a slide its number."""


@dataclass(frozen=True)
class Removed:
    """A text of a document that is in no passage, and why."""

    reason: str
    text: str


@dataclass(frozen=True)
class Document:
    """A document as its reader gives it."""

    title: str | None
    blocks: Sequence[Block]
    removed: Sequence[Removed] = field(default=())
    date: str | None = None
    """The date that the document itself states, as `2024-01-31`: when it was last changed, or else when it was made."""

    def __post_init__(self) -> None:
        if self.title is not None and not self.title.isprintable():
            object.__setattr__(self, "title", _UNSEEN.sub("", self.title).strip() or None)


def cleaned(block: Block) -> Block:
    """Return the block without characters that nobody sees, blank lines, and more than one space between words."""
    text = block.text
    if not text.isprintable() or "  " in text:
        text = _UNSEEN.sub(lambda odd: " " if "\t" in odd[0] else "", text)
        text = _LINE_ENDS.sub("\n", _SPACES.sub(" ", text))
    text = text.strip()
    return Block(one_line(text) if block.level else text, block.level, block.page)


def one_line(text: str) -> str:
    """Return a text whose lines are broken anywhere on one line; Chinese is joined without a space."""
    return " ".join((_BREAK.sub("", text.strip()) if "\n" in text else text).split())


def row(cells: Iterable[str]) -> str:
    """Return a row of a table as a line."""
    return CELLS.join(one_line(cell) for cell in cells)


def decoded(content: bytes) -> str:
    """Return a text file's content. Raises `Unreadable` if it is neither in UTF-8 nor in UTF-16 with its mark."""
    try:
        utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("not UTF-8", f"byte {content[error.start]:#04x} at {error.start}") from error
    if "\0" in text:
        raise Unreadable("not UTF-8", f"a zero byte at {text.index(chr(0))}")
    return text
