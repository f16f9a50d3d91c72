"""HTML: what trafilatura takes for the text of the page, with its tables and without its navigation."""

import logging
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from data.sources.documents.document import Block, Document, Unreadable, iso_date, one_line, row

_PERMALINK = re.compile(r"\s*¶$|\s+[#§]$")
"""The link to a heading that programs for documentation put behind it."""
_DATES = (
    "article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified",
    "date", "article:published_time", "datepublished", "dc.date", "dcterms.date", "dcterms.created",
)  # fmt: skip
"""Names of a page's metadata in which it states when it was last changed, and when it was made."""
_HEAD_END = re.compile(r"</head\b|<body\b", re.IGNORECASE)


def read(content: bytes) -> Document:
    """Return the blocks. The title is the page's first heading of the first level, or the one of its head."""
    from trafilatura import bare_extraction
    from trafilatura.utils import decode_file

    text = decode_file(content)
    extracted: Any = bare_extraction(text, options=_options())
    if extracted is None or extracted.body is None:
        raise Unreadable("no text", "nothing beside navigation")
    blocks = list(_blocks(extracted.body))
    first = next((one_line(block.text) for block in blocks if block.level == 1), None)
    title, date = _stated(text)
    return Document(first or title, blocks, date=date)


def _stated(text: str) -> tuple[str | None, str | None]:
    """Return the title and the date in a page's head, which is parsed without the rest."""
    from lxml import etree

    end = _HEAD_END.search(text)
    tree: Any = etree.HTML(text[: end.start() if end else None].encode(), etree.HTMLParser(encoding="utf-8"))
    head = tree.find("head") if tree is not None else None
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
                heading = _PERMALINK.sub("", one_line(_text(element)))
                yield Block(heading, int(level) if level.isdigit() else 2)
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
