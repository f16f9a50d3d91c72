"""Documents: files and pages of text for people, cut into passages. One module a format, and one table of them.

A document's name is its path below the folder that the source names, so that neither the order of the files, nor their
times, nor the folder's place changes a passage. One document is in memory at a time.
"""

import glob
import hashlib
import importlib.util
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from data.sources.documents import html, markdown, office, pdf, plain, table
from data.sources.documents.boilerplate import without_boilerplate
from data.sources.documents.document import Block, Document, Removed, Unreadable, cleaned
from data.sources.documents.near_duplicates import NearDuplicates
from data.sources.documents.passages import Piece, cut, without_endless_lines
from data.sources.opening import check_is_file, is_file, is_folder
from data.sources.spec import Entry, SourceError, SourceSpec, says_something, shortened
from schemas.source import Passage, Place

LEAST_WORDS, MOST_WORDS = 80, 400
"""Of a passage, unless the source says otherwise."""
MOST_BYTES = 128 * 2**20
"""Of a document, most of which are pictures in a long one."""
MOST_TEXT = 16 * 2**20
"""Bytes of a document that is text: some 8,000 pages. Read whole, it takes a multiple of that in memory."""
MOST_MARKS = 500_000
"""Tags, lines, list items, cells and such of a document. Texts have one in 50 bytes or more."""
AT_ONCE = 64
"""Passages that are compared with the earlier ones together."""
CHINESE_SHARE = 0.5
"""Share of a document's letters from which on it is Chinese, whatever the source's language."""

_LETTERS, _HAN = re.compile(r"[^\W\d_]+"), re.compile("[\u4e00-\u9fff]+")


@dataclass(frozen=True)
class Format:
    """How files with an ending are read."""

    read: Callable[[bytes], Document]
    needs: str | None = None
    """A module of the extra `office`."""
    most_bytes: int = MOST_TEXT
    marks: re.Pattern[bytes] | None = None
    """What the parser makes an object of, each of some kilobytes."""


_MARKDOWN = Format(markdown.read, marks=re.compile(rb"[\n|*_\[`<]"))
_HTML = Format(html.read, marks=re.compile(b"<"))
_PLAIN, _PDF = Format(plain.read), Format(pdf.read, most_bytes=MOST_BYTES)
_LINES = re.compile(rb"\n")
READERS: Mapping[str, Format] = {
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
    ".txt": _PLAIN,
    ".text": _PLAIN,
    ".pdf": _PDF,
    ".docx": Format(office.read_docx, needs="docx", most_bytes=MOST_BYTES),
    ".pptx": Format(office.read_pptx, needs="pptx", most_bytes=MOST_BYTES),
    ".csv": Format(table.read_csv, marks=_LINES),
    ".tsv": Format(table.read_tsv, marks=_LINES),
}


def files(spec: SourceSpec) -> list[tuple[str, Path]]:
    """Return the documents of a source at hand, each with its name, in the order of the names.

    A folder stands for all that is in it. Names that begin with a dot are left out. Raises `SourceError` if there are
    none, or if an extra is missing.
    """
    if spec.url is not None:
        parts = urlsplit(spec.url)
        found = [(f"{parts.netloc}{parts.path}", Path(spec.path))]
    else:
        root, pattern = _root(spec.path)
        names = glob.glob(pattern, root_dir=root, recursive=True)  # noqa: PTH207 - before 3.13 its `**` are folders
        nearest_first = sorted(names, key=lambda name: (name.count(os.sep), name))
        found = sorted(_each_once(root, nearest_first))
        if not found:
            has_any = root.is_dir() and any(root.iterdir())
            what = "no file matches" if has_any else "is empty" if root.is_dir() else "no such folder"
            raise SourceError(f"{spec.path}: {what}; looked in the folder {root}")
    for name, _ in found:
        reader = READERS.get(PurePosixPath(name).suffix.lower())
        if reader is not None and reader.needs is not None and importlib.util.find_spec(reader.needs) is None:
            raise SourceError(
                f'{spec.path}: {name}: reading it takes the extra "office"; pip install "touchstone[office]", '
                "or name a path without such files"
            )
    return found


def is_output(folder: Path) -> bool:
    """Return whether a folder is the output of a build, which holds no documents."""
    return (folder / "manifest.json").is_file() and (folder / "accepted").is_dir()


def _each_once(root: Path, names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the files, without those of builds, each once: a link to a folder above leads to the same ones again."""
    seen: set[str] = set()

    @cache
    def is_in_output(folder: Path) -> bool:
        return folder != root and (is_output(folder) or is_in_output(folder.parent))

    for name in names:
        path = root / name
        if not path.is_file() or (real := os.path.realpath(path)) in seen:
            continue
        seen.add(real)
        try:
            name.encode()
        except UnicodeEncodeError as error:
            shown = os.fsencode(name).decode(errors="backslashreplace")
            raise SourceError(f"{root}: {shown}: its name is no UTF-8; rename the file") from error
        if not is_in_output(path.parent):
            yield PurePosixPath(name).as_posix(), path


def _root(path: str) -> tuple[Path, str]:
    """Return the folder below which documents have their names, and the pattern of these."""
    whole = Path(path)
    if is_folder(path):
        return whole, "**"
    if is_file(path):
        return whole.parent, glob.escape(whole.name)
    if os.path.lexists(path):
        check_is_file(path)
    # A folder that there is is no pattern, whatever signs its name has.
    there = next(number for number in range(len(whole.parts), -1, -1) if is_folder(Path(*whole.parts[:number])))
    ahead = range(there, len(whole.parts))
    fixed = next((place for place in ahead if glob.has_magic(whole.parts[place])), len(whole.parts) - 1)
    return Path(*whole.parts[:fixed]), str(Path(*whole.parts[fixed:]))


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Yield the passages of each document, and what is refused: of a document, or the whole of it."""
    near = NearDuplicates()
    for name, path in files(spec):
        try:
            yield from _entries(name, path, spec, near)
        except Unreadable as error:
            yield Entry(name, refused=error.reason, evidence=error.evidence or name)


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """Yield the passages as texts to work on, to be summarised, say (RefuteBench 2.0, section 4.1)."""
    for entry in passages(spec):
        values = {name: entry.values[name] for name in ("text", "language") if name in entry.values}
        if values:
            values = {**values, "given": "text", "date": entry.values["place"].date}
        yield replace(entry, values=values)


def _entries(name: str, path: Path, spec: SourceSpec, near: NearDuplicates) -> Iterator[Entry]:
    content = _content(path)
    reader = _reader(name, content, spec)
    _check_size(content, reader)
    document = reader.read(content)
    checksum = hashlib.sha256(content).hexdigest()
    del content
    blocks, boilerplate = without_boilerplate(document.blocks)
    blocks = [block for block in map(cleaned, blocks) if block.text]
    language = _language(blocks, spec.language)
    blocks, endless = without_endless_lines(blocks, language)
    text, pieces, short = cut(blocks, language, *(spec.words or (LEAST_WORDS, MOST_WORDS)))
    removed = [*document.removed, *boilerplate, *endless, *short]
    if not pieces and not any(says_something(gone.text) for gone in removed):
        raise Unreadable("empty")
    yield from _refused(name, removed)
    times: Counter[str] = Counter()
    for begin in range(0, len(pieces), AT_ONCE):
        some = pieces[begin : begin + AT_ONCE]
        places = [_place(name, document, piece, checksum) for piece in some]
        contents = [
            {"title": place.title, "text": text[place.start : place.end], "language": language} for place in places
        ]
        firsts = near.earlier(
            [values["text"] or "" for values in contents], language, [Passage.id_of(values) for values in contents]
        )
        for place, values, first in zip(places, contents, firsts, strict=True):
            shown = str(place)
            times[shown] += 1
            nth = times[shown]
            yield Entry(
                f"{shown}, part {nth}" if nth > 1 else shown,
                {**values, "place": place},
                refused="near-duplicate" if first else "",
                evidence=shortened(values["text"] or ""),
                related=first,
            )


def _place(name: str, document: Document, piece: Piece, checksum: str) -> Place:
    return Place(
        document=name,
        title=document.title,
        headings=tuple(heading.text for heading in piece.headings),
        page=piece.page,
        start=piece.start,
        end=piece.end,
        checksum=checksum,
        date=document.date,
    )


def _refused(name: str, removed: list[Removed]) -> Iterator[Entry]:
    counts: Counter[str] = Counter()
    for gone in removed:
        counts[gone.reason] += 1
        id_ = f"{name}, {gone.reason} {counts[gone.reason]}"
        yield Entry(id_, refused=gone.reason, evidence=shortened(" ".join(gone.text[:200].split())))


def _content(path: Path) -> bytes:
    """Return the bytes of a document. Raises `Unreadable` if there are too many, or none."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise Unreadable("too large", f"{size:,} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise Unreadable("cannot be opened", error.strerror or "") from error
    if not content.strip():
        raise Unreadable("empty")
    return content


def _check_size(content: bytes, reader: Format) -> None:
    """Raise `Unreadable` if a document is too large for its format."""
    if len(content) > reader.most_bytes:
        raise Unreadable("too large", f"{len(content):,} bytes")
    marks = sum(1 for _ in reader.marks.finditer(content)) if reader.marks and len(content) > MOST_MARKS else 0
    if marks > MOST_MARKS:
        raise Unreadable("too large", f"{marks:,} lines, tags or marks")


def _reader(name: str, content: bytes, spec: SourceSpec) -> Format:
    """Return the reader of a document, by the ending of its name; of a page on the web also by how it begins."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in READERS:
        return READERS[suffix]
    if spec.url is not None:
        return _PDF if content.startswith(b"%PDF-") else _HTML
    raise Unreadable("unknown format", suffix or "no ending")


def _language(blocks: list[Block], declared: str) -> str:
    """Return `zh` for a document that is Chinese, otherwise what the source declares; `en` where that is `zh`."""
    wide = sum(len(run) for block in blocks if not block.text.isascii() for run in _HAN.findall(block.text))
    letters = sum(len(run) for block in blocks for run in _LETTERS.findall(block.text)) if wide else 0
    if wide and wide >= CHINESE_SHARE * letters:
        return "zh"
    return "en" if declared == "zh" else declared
