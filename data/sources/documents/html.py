"""HTML: what trafilatura takes for the text of the page, with its tables and without its navigation."""

from collections.abc import Iterator
from typing import Any

from data.sources.documents.document import Block, Document, Unreadable, one_line, row


def read(content: bytes) -> Document:
    """Return the blocks. The title is the page's first heading of the first level, or the one of its head."""
    from trafilatura import bare_extraction
    from trafilatura.utils import load_html

    tree = load_html(content)
    if tree is None:
        raise Unreadable("damaged", "no HTML")
    title = one_line(tree.findtext("head/title") or "")
    extracted: Any = bare_extraction(tree, include_comments=False)
    if extracted is None or extracted.body is None:
        raise Unreadable("no text", "nothing beside navigation")
    blocks = list(_blocks(extracted.body))
    first = next((one_line(block.text) for block in blocks if block.level == 1), None)
    return Document(first or title or None, blocks)


def _blocks(body: Any) -> Iterator[Block]:
    """Yield the blocks of trafilatura's tree: heads, paragraphs, lists, tables, quotes, code."""
    for element in body:
        match element.tag:
            case "head":
                level = (element.get("rend") or "h2")[1:]
                yield Block(one_line(_text(element)), int(level) if level.isdigit() else 2)
            case "list":
                yield Block("\n".join(one_line(_text(item, "list")) for item in element.iter("item")))
            case "table":
                yield Block("\n".join(row(_text(cell) for cell in line.iter("cell")) for line in element.iter("row")))
            case "code":
                yield Block(_text(element))  # keeps its lines
            case "quote" | "div" if len(element):
                if element.text:
                    yield Block(one_line(element.text))
                yield from _blocks(element)
            case _:
                yield Block(one_line(_text(element)))
        if element.tail:
            yield Block(one_line(element.tail))


def _text(element: Any, without: str = "") -> str:
    """Return the text in an element, with its line breaks, and without what is in elements `without`."""
    if not len(element):
        return element.text or ""
    pieces = [element.text or ""]
    for child in element:
        if child.tag == "lb":
            pieces.append("\n")
        elif child.tag != without:
            pieces.append(_text(child, without))
        pieces.append(child.tail or "")
    return "".join(pieces)
