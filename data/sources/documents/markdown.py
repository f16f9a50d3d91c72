"""Markdown: CommonMark with tables. A block of metadata on top (between lines of `---`) may hold title and date."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from data.sources.dates import iso_date
from data.sources.documents.document import Block, Document, decoded, one_line, row

if TYPE_CHECKING:
    from markdown_it.token import Token

_METADATA = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r"""^title:[ \t]*["']?(.+?)["']?[ \t]*$""", re.MULTILINE)
_STATED = re.compile(r"""^date:[ \t]*["']?(\d.*)""", re.MULTILINE)
_TAG = re.compile(
    r"<!--(?:(?!<!--).)*?-->|<(?:script|style)\b(?:(?!<script|<style).)*?</(?:script|style)>|<[^<>]*>",
    re.DOTALL | re.IGNORECASE,
)


def read(content: bytes) -> Document:
    """Return the blocks. The title is that of the metadata, or the first heading of the first level."""
    from markdown_it import MarkdownIt

    text = decoded(content).replace("\r\n", "\n")
    metadata = _METADATA.match(text)
    title = _TITLE.search(metadata[1]) if metadata else None
    date = _STATED.search(metadata[1]) if metadata else None
    tokens = MarkdownIt("commonmark").enable("table").parse(text[metadata.end() :] if metadata else text)
    blocks = list(_blocks(tokens))
    first = next((block.text for block in blocks if block.level == 1), None)
    return Document(title[1] if title else first, blocks, date=iso_date(date[1]) if date else None)


def _blocks(tokens: Sequence["Token"]) -> Iterator[Block]:
    lines: list[str] = []  # of the list or table that is open
    cells: list[str] = []
    depth = level = 0
    for token in tokens:
        match token.type:
            case "bullet_list_open" | "ordered_list_open" | "table_open":
                depth += 1
            case "bullet_list_close" | "ordered_list_close" | "table_close":
                depth -= 1
                if not depth and lines:
                    yield Block("\n".join(lines))
                    lines = []
            case "heading_open":
                level = int(token.tag[1:])
            case "tr_close":
                lines.append(row(cells))
                cells = []
            case "th_open" | "td_open":
                cells.append("")
            case "inline" | "fence" | "code_block" | "html_block":
                text = _text(token)
                if cells:
                    cells[-1] = text
                elif depth:
                    lines.append(text)
                else:
                    yield Block(text, level)
                level = 0


def _text(token: "Token") -> str:
    """Return what a reader sees of a token."""
    if token.type == "html_block":
        return one_line(_TAG.sub(" ", token.content))
    if token.type != "inline":
        return token.content.rstrip("\n")  # code keeps its lines
    pieces: list[str] = []
    for child in token.children or ():
        if child.type in ("softbreak", "hardbreak"):
            pieces.append("\n")
        elif child.type in ("text", "code_inline", "image"):
            pieces.append(child.content)
    return one_line("".join(pieces))
