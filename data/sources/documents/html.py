"""HTML: what trafilatura takes for the text of the page, with its tables and without its navigation."""

import logging
from collections.abc import Iterator
from functools import cache
from typing import Any

from data.sources.dates import iso_date
from data.sources.documents.document import Block, Document, Removed, Unreadable, one_line, row
from data.sources.documents.html_tree import prepare

_BLOCKS = frozenset(("p", "head", "list", "table", "quote", "code", "div"))
"""Of trafilatura's tree, in an item or a cell."""
_DATES = (
    "article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified",
    "date", "article:published_time", "datepublished", "dc.date", "dcterms.date", "dcterms.created",
)  # fmt: skip
"""Names of a page's metadata in which it states when it was last changed, and when it was made."""


def read(content: bytes) -> Document:
    """Return the blocks. The title is the page's first heading of the first level, or the one of its head."""
    from trafilatura import bare_extraction, load_html

    page: Any = load_html(content)
    if page is None:
        raise Unreadable("no text", "no HTML")
    title, date = _stated(page.getroottree().find("head"))
    contents = prepare(page)
    extracted: Any = bare_extraction(page, options=_options())
    if extracted is None or extracted.body is None:
        raise Unreadable("no text", "nothing beside navigation")
    blocks = list(_blocks(extracted.body))
    first = next((one_line(block.text) for block in blocks if block.level == 1), None)
    removed = [Removed("table of contents", text) for text in contents]
    return Document(first or title, blocks, removed, date)


def _stated(head: Any) -> tuple[str | None, str | None]:
    """Return the title and the date in a page's head."""
    if head is None:
        return None, None
    stated: dict[str, str] = {}
    for element in head.iter("meta"):
        name = element.get("property") or element.get("name") or element.get("itemprop") or ""
        stated.setdefault(name.lower(), element.get("content") or "")
    dates = (iso_date(stated[name]) for name in _DATES if name in stated)
    return one_line(head.findtext("title") or "") or None, next(filter(None, dates), None)


@cache
def _options() -> Any:
    """Return what trafilatura is asked for: its tree alone. By default it also writes it down as text."""
    from trafilatura.settings import Extractor

    logging.getLogger("trafilatura").propagate = False  # what it says of a page names no file, and a drop says it
    logging.getLogger("trafilatura").addHandler(logging.NullHandler())
    return Extractor(output_format="xml", comments=False)


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
            pieces += ("\n", _text(child, without), "\n") if child.tag in _BLOCKS else (_text(child, without),)
        pieces.append(child.tail or "")
    return "".join(pieces)
