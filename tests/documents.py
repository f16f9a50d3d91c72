"""Documents of every format made on the spot, with facts and boilerplate planted in them."""

import io
import subprocess
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data.sources import SourceSpec, check_source, read_source
from schemas.base import Dropped
from schemas.source import Passage

CHROMIUM = "/usr/bin/chromium"
SENTENCE = "The committee of the town reads the rules once a year and tells all people in June. "
LONG = (SENTENCE * 6).strip()  # 96 words
Words = tuple[float, float, int, str, str]
"""x, y and size in points; a font (`Helvetica`, `Helvetica-Bold`, `STSong-Light`); a text."""


def sentences(number: int, subject: str = "The office in Leeds") -> str:
    """Sentences of 11 words that differ, so that no passage resembles another."""
    return " ".join(f"{subject} keeps record {n} of shelf {7 * n} for {n + 3} years." for n in range(number))


def read(path: Path | str, **more: object) -> tuple[list[Passage], list[Dropped]]:
    """The passages of documents as a source, and what is refused."""
    dropped: list[Dropped] = []
    spec = SourceSpec.model_validate({"format": "documents", "path": str(path), **more})
    check_source(spec, Passage)
    return list(read_source(spec, Passage, dropped.append)), dropped


def written(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """The folder, with these files in it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def pdf(pages: Sequence[Iterable[Words]], extra: str = "", title: str = "") -> bytes:
    """A PDF of texts at places, as a printer would write it."""
    fonts = {"Helvetica": "/F1", "Helvetica-Bold": "/F2", "STSong-Light": "/F3"}
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{7 + 2 * n} 0 R' for n in range(len(pages)))}] >>",
        font.format("Helvetica"),
        font.format("Helvetica-Bold"),
        "<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [<< /Type "
        "/Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) "
        "/Supplement 2 >> /DW 1000 >>] >>",
        f"<< /Title ({title}) >>",
    ]
    for page in pages:
        shown = "\n".join(
            f"BT {fonts[name]} {size} Tf 1 0 0 1 {x} {y} Tm <{_encoded(text, name)}> Tj ET"
            for x, y, size, name, text in page
        )
        number = len(objects) + 2
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {number} 0 R "
            "/Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >> >>",
            f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        ]
    content = b"%PDF-1.5\n"
    places = []
    for number, text in enumerate(objects, start=1):
        places.append(len(content))
        content += f"{number} 0 obj\n{text}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return content + (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R "
        f"/Info 6 0 R {extra} >>\nstartxref\n{len(content)}\n%%EOF\n"
    ).encode("latin-1")


def _encoded(text: str, font: str) -> str:
    return text.encode("utf-16-be" if font == "STSong-Light" else "cp1252").hex()


def paragraph(x: float, y: float, lines: Iterable[str], size: int = 10, font: str = "Helvetica") -> list[Words]:
    """Lines below each other, at the usual distance."""
    return [(x, y - place * 1.2 * size, size, font, line) for place, line in enumerate(lines)]


def encrypted_pdf() -> bytes:
    """A PDF that opens with a password alone."""
    encrypt = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{'a1' * 32}> /U <{'b2' * 32}> /P -4 >> /ID [<01> <01>]"
    return pdf([paragraph(70, 700, ["A secret."])], encrypt)


def printed(html: str, folder: Path) -> bytes:
    """What Chromium prints of a page, as PDF."""
    page, file = folder / "page.html", folder / "page.pdf"
    page.write_text(html, encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={file}")
    subprocess.run([CHROMIUM, *flags, str(page)], check=True, capture_output=True, timeout=120)
    content = file.read_bytes()
    page.unlink()
    file.unlink()
    return content


def bomb() -> bytes:
    """A DOCX of half a megabyte that unpacks to 400."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"word/document{number}.xml", b"\0" * 100_000_000)
    return file.getvalue()


def docx(sections: Iterable[tuple[str, Sequence[str]]], title: str, table: Sequence[Sequence[str]] = ()) -> bytes:
    """A Word document with a heading for each section, a running header, and a table at the end."""
    import docx

    document = docx.Document()
    document.core_properties.title = title
    document.sections[0].header.paragraphs[0].text = "Confidential header"
    document.add_paragraph(title, style="Title")
    for heading, texts in sections:
        document.add_heading(heading, level=1)
        for text in texts:
            document.add_paragraph(text)
    if table:
        grid = document.add_table(rows=0, cols=len(table[0]))
        for cells in table:
            for cell, text in zip(grid.add_row().cells, cells, strict=True):
                cell.text = text
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def pptx(slides: Iterable[tuple[str, Sequence[str], str]], footer: str) -> bytes:
    """Slides of a title and bullets, with notes, and the same footer on each."""
    import pptx
    from pptx.util import Inches

    deck = pptx.Presentation()
    for number, (title, bullets, notes) in enumerate(slides, start=1):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(bullets)
        slide.notes_slide.notes_text_frame.text = notes
        box = slide.shapes.add_textbox(Inches(1), Inches(7), Inches(8), Inches(0.4))
        box.text_frame.text = f"{footer} {number}"
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()


@dataclass
class Planted:
    """A folder of documents, and what was planted in it."""

    folder: Path
    facts: list[str] = field(default_factory=list)
    boilerplate: list[str] = field(default_factory=list)

    def write(self, name: str, content: str | bytes) -> None:
        """Write a document."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def fact(self, text: str) -> str:
        """Return a fact that has to stand whole in a passage."""
        self.facts.append(text)
        return text

    def lines(self, *texts: str) -> tuple[str, ...]:
        """Return lines that have to stand in no passage."""
        self.boilerplate += texts
        return texts
