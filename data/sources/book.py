r"""A book as plain text: a passage for each paragraph, headings among them, in the book's order.

Lines end with "\n", "\r\n" or "\r", and are stripped. If most lines that have another right below them stop in
mid-sentence, the book is hard-wrapped: a blank line ends a paragraph, and its lines are joined by a space (by nothing
between Chinese characters, and after a hyphen or a dash that follows a word). Otherwise each line is a paragraph.

The underscores of `_italics_` are left out: they are the typist's, and would hide the word between them from a search.
Everything else stays.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

from data.sources.opening import BYTE_ORDER_MARK, opened, whole
from data.sources.spec import Entry, SourceError, SourceSpec, shortened

MOST_BYTES = 32 * 2**20
"""Of a book."""
MOST_CHARACTERS = 100_000
"""The longest paragraph; a longer one is a book without line ends, or no book."""
CONTENTS = frozenset({"contents", "tableofcontents", "目录", "目錄"})
"""Headings of a table of contents, letters only."""
MOST_MISSED = 3
"""Successive lines of a table of contents that may head nothing below it, since headings are misquoted."""
LONGEST_HEADING = 300
"""The most characters of a heading or an entry."""
HTML_NAMES = frozenset((".html", ".htm", ".xhtml"))
BEGINNING = 4096
"""Bytes at the beginning of a file that show whether it is HTML."""

_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*"
    rb"<(?:!doctype\s+html|(?:html|head|body|meta|title|link|style|script|div|p|h[1-6]|article|section|main)\b[^<]*>)",
    re.IGNORECASE | re.DOTALL,
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_SENTENCE_END = re.compile(r"""[.!?。！？…][”’"'」』》）)]*$""")
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_TIGHT = re.compile(rf"(?<=[{_WIDE}])\n|\n(?=[{_WIDE}])|(?<=\w[-–—])\n|(?<=\w--)\n")
_ITALICS = re.compile(r"(?<![^\W\d])_(?=\S)([^_]+)(?<=\S)_(?!\w)")
_NUMBER = re.compile(r"^(?:chapter\s+(?:\d+|[ivxlcdm]+)[.:]?|(?:\d+|[ivxlcdm]+)[.:])\s+", re.IGNORECASE)
_NO_LETTERS = re.compile(r"[\W_]+")
_PAGE = re.compile(r"(?:\s*[.·…]){2,}\s*\d+$|\s{2,}\d+$")


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each paragraph, under its number; of equal paragraphs, only the first is kept.

    The table of contents is refused: a line such as "Contents", and the entries below it as long as they head something
    further down (`MOST_MISSED`), up to where the first of them does. An entry heads a line or a paragraph with the same
    words, whatever its case, punctuation, chapter or page number.
    """
    paragraphs = paragraphs_of(_lines(spec))
    contents = _contents(paragraphs)
    for place, lines in enumerate(paragraphs):
        text = _ITALICS.sub(r"\1", _joined(lines))
        refused = "paragraph too long" if len(text) > MOST_CHARACTERS else ""
        if place in contents:
            refused = "table of contents"
        yield Entry(f"paragraph {place + 1}", {"text": text}, refused=refused, evidence=shortened(text))


def refuse_html(spec: SourceSpec) -> None:
    """Raise `SourceError` if name or beginning are those of HTML: its tags and styles would be read as text."""
    with opened(spec.path) as stream:
        beginning = stream.read(BEGINNING).removeprefix(BYTE_ORDER_MARK)
    suffix = Path(spec.name.removesuffix(".gz")).suffix.lower()
    if suffix in HTML_NAMES or _HTML.match(beginning):
        raise SourceError(
            f"{spec.path}: expected a book as plain text, found HTML, whose tags and style sheets would be read as "
            "text; write `format: documents`, which reads HTML, or save it as plain text in UTF-8"
        )


def _lines(spec: SourceSpec) -> list[str]:
    """Return the lines of the file, stripped. Raises `SourceError` if it is not text in UTF-8, or is HTML."""
    refuse_html(spec)
    content = whole(spec.path, MOST_BYTES, "cut it into several")
    if b"\0" in content:
        raise SourceError(
            f"{spec.path}: line {_line(content, content.index(0))}: expected text in UTF-8, found a zero byte; "
            "save the file as plain text in UTF-8"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        start = error.start
        within = start - (content.rfind(b"\n", 0, start) + 1)
        raise SourceError(
            f"{spec.path}: line {_line(content, start)}: expected UTF-8, found byte {content[start]:#04x} at {within}; "
            f"save the file as UTF-8{_hint(spec, content)}"
        ) from error
    return [line.strip() for line in _LINE_END.split(text)]


def _line(content: bytes, place: int) -> int:
    return content.count(b"\n", 0, place) + 1


def _hint(spec: SourceSpec, content: bytes) -> str:
    """Return the likely encoding of a Chinese book. It is not read that way, because other bytes decode as well."""
    if spec.language != "zh":
        return ""
    try:
        content.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    return " (iconv -f GB18030 -t UTF-8)"


def paragraphs_of(lines: Sequence[str]) -> list[list[str]]:
    """Return the lines of each paragraph, from the stripped lines of a text that is hard-wrapped or is not."""
    above = [line for line, below in pairwise(lines) if line and below]
    wrapped = 2 * sum(_SENTENCE_END.search(line) is not None for line in above) < len(above)
    paragraphs: list[list[str]] = []
    begins = True
    for line in lines:
        if line and begins:
            paragraphs.append([line])
        elif line:
            paragraphs[-1].append(line)
        begins = not line or not wrapped
    return paragraphs


def _joined(lines: Sequence[str]) -> str:
    return _TIGHT.sub("", "\n".join(lines)).replace("\n", " ")


def _contents(paragraphs: Sequence[Sequence[str]]) -> range:
    """Return the places of the table of contents, its heading first; empty if it cannot be told."""
    bare = [(place, _bare(line)) for place, lines in enumerate(paragraphs) for line in lines]
    heading = next((number for number, (_, line) in enumerate(bare) if line in CONTENTS), None)
    if heading is None:
        return range(0)
    whole = [_bare(_joined(lines)) for lines in paragraphs]
    places: dict[str, list[int]] = defaultdict(list)
    for place, form in chain(enumerate(whole), bare):
        if form:
            places[form].append(place)
    first = end = bare[heading][0]
    bound, missed = len(paragraphs), 0
    for place, line in bare[heading + 1 :]:
        if place >= bound or missed == MOST_MISSED:
            break
        below = [later for form in (line, whole[place]) for later in places.get(form, ()) if later > place]
        if below:
            bound = min(below) if bound == len(paragraphs) else bound
            end, missed = place, 0
        else:
            missed += 1
    return range(first, end + 1) if bound < len(paragraphs) else range(0)


def _bare(line: str) -> str:
    """Return a line's letters and digits without chapter and page numbers; empty if it is too long for a heading."""
    if len(line) > LONGEST_HEADING:
        return ""
    bare = _NUMBER.sub("", _PAGE.sub("", line), count=1)
    return _NO_LETTERS.sub("", bare.casefold())
