"""Plain text: paragraphs at blank lines, or one a line; see `data.sources.book` for how it is told which."""

from data.sources.book import paragraphs_of
from data.sources.documents.document import Block, Document, decoded
from data.sources.documents.lines import hyphenated, joined


def read(content: bytes) -> Document:
    """Return the paragraphs; plain text has no headings and no title."""
    lines = [line.strip() for line in decoded(content).replace("\f", "\n\n").splitlines()]
    words = hyphenated(lines)
    return Document(None, [Block(joined(lines, words)) for lines in paragraphs_of(lines)])
