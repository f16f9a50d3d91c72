"""Word documents (DOCX) and slides (PPTX), with the extra `office`.

Departure from a single library for both, docling: it requires a typer below 0.27, and ours is a later one.
"""

import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress, groupby
from typing import Any

from data.sources.documents.boilerplate import form, removed_lines, running
from data.sources.documents.document import Block, Document, Removed, Unreadable, one_line, row

MOST_UNPACKED = 256 * 2**20
"""Bytes of all parts together, pictures among them; a ZIP bomb has more."""
MOST_XML = 32 * 2**20
"""Bytes of the parts that are texts and their forms; 500 pages have some 5 million."""
_DAMAGED = (
    AttributeError, EOFError, IndexError, KeyError, RuntimeError, SyntaxError, TypeError, ValueError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What the libraries raise where a byte of a file is another: they take files to be whole."""
LONGEST_FOOTER = 100
"""Characters of a text on most slides that is no part of what they say; what is longer, or has lines, is."""
UNNAMED = "PowerPoint Presentation"
"""The title of a file to which nobody gave one; then the first slide's title is the document's."""
_PROPERTIES = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
_LEGACY = b"\xd0\xcf\x11\xe0"
"""How a file that Office encrypted begins, and one of an Office before 2007."""


def read_docx(content: bytes) -> Document:
    """Return headings, paragraphs, lists and tables; not what stands in margins, notes and comments."""
    _check(content)
    import docx
    from docx.opc.exceptions import OpcError
    from docx.oxml.exceptions import XmlchemyError

    try:
        file = docx.Document(io.BytesIO(content))
        styles = _styles(file)
        parts = [_part_of(item, styles) for item in file.iter_inner_content()]
        title, date = _stated(file)
    except (OpcError, XmlchemyError, *_DAMAGED) as error:
        raise Unreadable("damaged", one_line(str(error))) from error
    blocks = list(_joined(part for part in parts if part[0] != "contents"))
    removed = [Removed("table of contents", block.text) for kind, block in parts if kind == "contents"]
    first = next((block.text for block in blocks if block.level == 1), None)
    return Document(title or first, blocks, removed, date)


def _stated(file: Any) -> tuple[str, str | None]:
    """Return the title and the date in a file's properties. If it has none, the libraries would say: made just now."""
    try:
        file.part.package.part_related_by(_PROPERTIES)
    except KeyError:
        return "", None
    properties = file.core_properties
    time = properties.modified or properties.created
    return one_line(properties.title or ""), time.date().isoformat() if time else None


def _styles(file: Any) -> Mapping[str | None, str]:
    """Return id -> name of the styles of paragraphs; None is that of a paragraph that names none.

    Asked for each paragraph by itself, the library goes through all styles: milliseconds.
    """
    from docx.enum.style import WD_STYLE_TYPE

    default = file.styles.default(WD_STYLE_TYPE.PARAGRAPH)
    named = {style.style_id: style.name or "" for style in file.styles if style.type == WD_STYLE_TYPE.PARAGRAPH}
    return {None: (default.name if default is not None else None) or "", **named}


def _part_of(item: Any, styles: Mapping[str | None, str]) -> tuple[str, Block]:
    """Return what a paragraph or a table is (`contents`, `list`, `other`), and its block."""
    if hasattr(item, "rows"):
        return "other", Block("\n".join(row(_cells(line)) for line in item.rows))
    style = styles.get(item._p.style, styles[None]).casefold()
    name, _, number = style.rpartition(" ")
    if style == "title" or (name == "heading" and number.isdigit()):
        return "other", Block(one_line(item.text), 1 if style == "title" else int(number) + 1)
    if style.startswith("toc "):
        return "contents", Block(item.text)
    listed = style.startswith("list") or (item._p.pPr is not None and item._p.pPr.numPr is not None)
    return ("list" if listed else "other"), Block(one_line(item.text))


def _cells(line: Any) -> list[str]:
    """Return the texts of a row's cells, of merged ones once."""
    return [cell.text for _, (cell, *_) in groupby(line.cells, lambda cell: cell._tc)]


def _joined(parts: Iterable[tuple[str, Block]]) -> Iterator[Block]:
    """Yield the blocks, with the items of a list in one."""
    for kind, group in groupby(parts, lambda part: part[0]):
        blocks = [block for _, block in group]
        if kind == "list":
            yield Block("\n".join(block.text for block in blocks))
        else:
            yield from blocks


def read_pptx(content: bytes) -> Document:
    """Return the slides, each below its title: its texts, its tables, and the speaker's notes."""
    _check(content)
    import pptx
    from pptx.exc import PythonPptxError

    try:
        file = pptx.Presentation(io.BytesIO(content))
        slides = [list(_of_slide(slide, number)) for number, slide in enumerate(file.slides, start=1)]
        title, date = _stated(file)
    except (PythonPptxError, *_DAMAGED) as error:
        raise Unreadable("damaged", one_line(str(error))) from error
    counts = running([block.text for block in slide if _may_be_a_footer(block)] for slide in slides)
    every = [block for slide in slides for block in slide]
    footers = [_may_be_a_footer(block) and form(block.text) in counts for block in every]
    blocks = [block for block, is_footer in zip(every, footers, strict=True) if not is_footer]
    removed = list(removed_lines((block.text for block in compress(every, footers)), counts))
    if title and title != UNNAMED:
        return Document(title, [Block(title, level=1), *blocks], removed, date)
    return Document(
        every[0].text if every else None, [Block(block.text, 1) for block in every[:1]] + blocks[1:], removed, date
    )


def _may_be_a_footer(block: Block) -> bool:
    return not block.level and 0 < len(block.text) <= LONGEST_FOOTER and "\n" not in block.text


def _of_slide(slide: Any, number: int) -> Iterator[Block]:
    title = slide.shapes.title
    heading = one_line(title.text_frame.text) if title is not None else ""
    yield Block(heading or f"slide {number}", level=2, page=number)
    for shape in _flat(slide.shapes):
        if shape.has_text_frame and (title is None or shape.shape_id != title.shape_id):
            lines = [one_line(paragraph.text) for paragraph in shape.text_frame.paragraphs]
            yield Block("\n".join(filter(None, lines)), page=number)
        elif getattr(shape, "has_table", False):
            lines = [row(cell.text for cell in line.cells) for line in shape.table.rows]
            yield Block("\n".join(lines), page=number)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        for paragraph in slide.notes_slide.notes_text_frame.paragraphs:
            yield Block(one_line(paragraph.text), page=number)


def _flat(shapes: Iterable[Any]) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _flat(shape.shapes)
        else:
            yield shape


def _check(content: bytes) -> None:
    """Raise `Unreadable` if it is encrypted, is no ZIP file, or unpacks to too much."""
    if content.startswith(_LEGACY):
        raise Unreadable("encrypted", "or of an Office before 2007")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            sizes = [(part.filename, part.file_size) for part in file.infolist()]
    except _DAMAGED as error:
        raise Unreadable("damaged", one_line(str(error))) from error
    size, xml = (sum(size for name, size in sizes if name.endswith(end)) for end in ("", (".xml", ".rels")))
    if size > MOST_UNPACKED or xml > MOST_XML:
        raise Unreadable("too large", f"unpacks to {size:,} bytes, {xml:,} of XML")
