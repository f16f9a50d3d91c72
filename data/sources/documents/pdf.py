"""PDF with a text layer, read by PDFium."""

import ctypes
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Any

from data.sources.dates import iso_date
from data.sources.documents.boilerplate import form, removed_lines, running
from data.sources.documents.document import WIDE, Document, Removed, Unreadable, one_line
from data.sources.documents.layout import Line, blocks_of

MARGIN_LINES = 3
"""Lines at the top and at the bottom of a page among which running lines are looked for."""
APART = 1.5
"""Distance from such lines to the text, in sizes of the font: more than from line to line."""
NARROW = 0.5
"""Gap beside a Chinese character, in sizes of the font, that is no space."""
_PDFIUM = threading.Lock()
"""PDFium works for one thread at a time, whatever the document."""

_HYPHEN = "\ufffe"
"""What PDFium makes of a hyphen at the end of a line, and of the line's end."""
_LINE_END = re.compile(rf"\r?\n|{_HYPHEN}")
_GAP = re.compile(rf"(?<=[{WIDE}]) (?=[^\s{WIDE}])|(?<=[^\s{WIDE}]) (?=[{WIDE}])")
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_BOLD = re.compile(rb"bold|black|heavy|demi", re.IGNORECASE)
_NAME_BYTES = 128


def read(content: bytes) -> Document:
    """Return the blocks. The title is that of the file's properties, or the first heading of the first level."""
    removed: list[Removed] = []
    with _PDFIUM:
        title, date, pages = _read(content, removed)
    counts = running(map(_at_margins, pages))
    at_margins = [[line for line in _in_margins(lines) if form(line.text) in counts] for lines in pages]
    removed += removed_lines((line.text for lines in at_margins for line in lines), counts)
    text = [
        [line for line in lines if line not in gone]
        for lines, gone in zip(pages, map(set, at_margins), strict=True)
    ]  # fmt: skip
    blocks = list(blocks_of(text))
    first = next((block.text for block in blocks if block.level == 1), None)
    return Document(title or first, blocks, removed, date)


def _in_margins(lines: Sequence[Line]) -> list[Line]:
    """Return the first and the last line of a page, and those beside them that stand apart from the text."""
    downwards = sorted(lines, key=lambda line: -line.bottom)
    return list(dict.fromkeys([*_outermost(downwards), *_outermost(downwards[::-1])]))


def _outermost(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines up to the first wide space; the first alone if there is none among the first few."""
    for place, (outer, inner) in enumerate(pairwise(lines[: MARGIN_LINES + 1]), start=1):
        if abs(outer.bottom - inner.bottom) > APART * max(outer.size, inner.size):
            return lines[:place]
    return lines[:1]


def _at_margins(lines: Sequence[Line]) -> list[str]:
    return [line.text for line in _in_margins(lines)]


def _read(content: bytes, removed: list[Removed]) -> tuple[str, str | None, list[list[Line]]]:
    """Return the title, the date and the lines of each page, in the order in which they were drawn."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        raise Unreadable("encrypted" if "assword" in str(error) else "damaged", one_line(str(error))) from error
    with closing(pdf):
        title = one_line(pdf.get_metadata_value("Title"))
        dates = (iso_date(pdf.get_metadata_value(name).removeprefix("D:")) for name in ("ModDate", "CreationDate"))
        date = next(filter(None, dates), None)
        pages: list[list[Line]] = []
        scanned: list[Removed] = []
        for number in range(1, len(pdf) + 1):
            try:
                with closing(pdf[number - 1]) as page, closing(page.get_textpage()) as text:
                    pages.append(list(_lines(text, number)))
                    if not pages[-1] and next(page.get_objects((pypdfium2.raw.FPDF_PAGEOBJ_IMAGE,)), None):
                        scanned.append(Removed("scanned page", f"page {number}"))
            except pypdfium2.PdfiumError as error:
                removed.append(Removed("damaged page", f"page {number}: {error}"))
        if not any(pages):
            raise Unreadable("no text layer", f"{len(pdf)} pages")
        removed += scanned
    return title, date, pages


def _lines(page: Any, number: int) -> Iterator[Line]:
    """Yield the lines of a page. Where a line stands is asked of its first and its last character alone."""
    from pypdfium2 import raw

    box, name, flags = raw.FS_RECTF(), ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    content = page.get_text_range()
    units = len if _units(content) == len(content) else _units
    is_aligned = raw.FPDFText_CountChars(page) == units(content)

    def index_of(place: int) -> int:
        return place if is_aligned else int(raw.FPDFText_GetCharIndexFromTextIndex(page, place))

    place = begin = 0
    for end in _LINE_END.finditer(content + "\n"):
        line = content[begin : end.start()]
        text = line.strip()
        first = place + len(line) - len(line.lstrip())
        last = first + units(text) - 1
        place += units(line) + len(end[0])
        begin = end.end()
        if not text:
            continue
        if not text.isascii():
            gaps = [match.start() for match in _GAP.finditer(text)]
            narrow = [gap for gap in gaps if _is_narrow(page, index_of(first + units(text[:gap])))]
            text = "".join(text[start + 1 : stop] for start, stop in pairwise([-1, *narrow, len(text)]))
            text = text.translate(_LIGATURES)
        first, last = index_of(first), index_of(last)
        raw.FPDFText_GetLooseCharBox(page, first, box)
        left, bottom, size = box.left, box.bottom, round(2 * (box.top - box.bottom)) / 2
        raw.FPDFText_GetLooseCharBox(page, last, box)
        bold = all(
            raw.FPDFText_GetFontInfo(page, index, name, _NAME_BYTES, flags) and _BOLD.search(name.value)
            for index in (first, last)
        )
        yield Line(text + ("-" if end[0] == _HYPHEN else ""), number, left, box.right, bottom, size, bold)


def _is_narrow(page: Any, index: int) -> bool:
    """Return whether a space is a narrow gap and nobody typed it.

    Word processors leave such gaps between Chinese characters and digits or Latin letters.
    """
    from pypdfium2 import raw

    before, after = raw.FS_RECTF(), raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(page, index - 1, before)
    raw.FPDFText_GetLooseCharBox(page, index + 1, after)
    is_generated = bool(raw.FPDFText_IsGenerated(page, index) == 1)
    return is_generated and bool(after.left - before.right < NARROW * (after.top - after.bottom))


def _units(text: str) -> int:
    """Return the length of a text as PDFium counts it."""
    return len(text.encode("utf-16-le")) // 2
