"""Documents as a source beside what it stands on: PDFium's text of a PDF, and trafilatura's text of HTML pages.

`python tests/bench/bench_documents.py [PAGES]`: a PDF of about PAGES pages (1,000 by default), and ten times as many
HTML pages, of a book's paragraphs. Prints processor times, their ratio beside what is aimed at, and the most memory
after one document and after all: reading takes what one document takes.
"""

import gzip
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import pypdfium2
import trafilatura

sys.path.insert(0, str(Path(__file__).parents[2]))

from data.sources import SourceSpec, read_source
from schemas.source import Passage
from tests.documents import printed

SHARED = Path(os.environ.get("TOUCHSTONE_SHARED", Path(__file__).parents[3] / "shared"))
PAGES, TURNS = 1_000, 3
"""Of the PDF, and how often it is read."""
PARAGRAPHS, LINKS = 8, 60
"""Of a chapter or an HTML page, and of each of its bars."""
LONGEST = 300
"""Words of a paragraph."""
AIMED = {"PDF": 2.0, "HTML": 1.2}


def paragraphs() -> Iterator[str]:
    """Paragraphs of a novel, over and over, each with its number, so that none repeats another."""
    with gzip.open(SHARED / "data" / "books_en" / "war_and_peace.txt.gz", "rt", encoding="utf-8") as file:
        texts = (" ".join(text.split()) for text in file.read().split("\n\n") if len(text) > 200)
        whole = [text for text in texts if len(text.split()) <= LONGEST]
    turn = 0
    while True:
        turn += 1
        for number, text in enumerate(whole):
            words = text.split(" ")
            words[:: 2 + turn] = [f"{word}{number if turn > 1 else ''}" for word in words[:: 2 + turn]]
            yield " ".join(words)


def write_pdf(path: Path, pages: int) -> None:
    """Write a PDF of about so many pages, with a running head and page numbers, as Chromium prints it."""
    text = paragraphs()
    style = (
        "@page {size: A4; margin: 25mm 20mm; @top-center {content: 'War and Peace'} "
        "@bottom-center {content: counter(page)}} body {font: 11pt serif; text-align: justify}"
    )
    chapters = "".join(
        f"<h2>Chapter {number}</h2>{''.join(f'<p>{next(text)}</p>' for _ in range(PARAGRAPHS))}"
        for number in range(1, pages // 3 + 2)
    )
    path.write_bytes(printed(f"<title>War and Peace</title><style>{style}</style>{chapters}", path.parent))


def write_html(folder: Path, pages: int) -> None:
    """Write pages as sites have them: with navigation, a side bar, a table and a footer."""
    text = paragraphs()
    links = "".join(f"<li class='item'><a href='/{number}' title='Part {number}'><span>Part {number}</span></a></li>"
                    for number in range(LINKS))  # fmt: skip
    cells = "".join(f"<tr><td>Row {number}</td><td>{number * 7}</td></tr>" for number in range(20))
    for number in range(pages):
        body = "".join(f"<h2>Part {part}</h2><p>{next(text)}</p><p>{next(text)}</p>" for part in range(PARAGRAPHS // 2))
        (folder / f"{number:06}.html").write_text(
            f"<html><head><title>Page {number}</title></head><body><div class='top'><nav><ul>{links}</ul></nav></div>"
            f"<aside class='sidebar'><ul>{links}</ul></aside><main><h1>Page {number}</h1>{body}<table>{cells}</table>"
            f"</main><footer><ul>{links}</ul><p>All rights reserved.</p></footer></body></html>",
            encoding="utf-8",
        )


def plain_pdf(path: Path) -> None:
    """PDFium's text of each page."""
    document = pypdfium2.PdfDocument(path.read_bytes())
    for page in document:
        page.get_textpage().get_text_range()


def plain_html(path: Path) -> None:
    """trafilatura's text of a page."""
    trafilatura.extract(path.read_bytes(), include_comments=False)


def read(path: Path) -> Iterator[int]:
    """Read documents as a source; yield after each the number of its passages."""
    passages = read_source(SourceSpec(format="documents", path=str(path)), Passage, lambda dropped: None)
    for _, of_document in groupby(passages, lambda passage: passage.place and passage.place.document):
        yield sum(1 for _ in of_document)


@dataclass
class Measured:
    """The documents of a kind, read by turns: one by plain text, then the same one by us."""

    plain: float = 0.0
    ours: float = 0.0
    """Processor time."""
    passages: int = 0
    memory: list[float] = field(default_factory=list)
    """The most so far, after each document, in MiB."""

    def add(self, plain: Iterable[object], ours: Iterable[int]) -> None:
        """Take turns. What is done to a machine meanwhile is then done to both."""
        left, right = iter(plain), iter(ours)
        while True:
            begun = time.process_time()
            done = next(left, self) is self
            middle = time.process_time()
            number = next(right, 0)
            self.plain += middle - begun
            self.ours += time.process_time() - middle
            if done and not number:
                return
            self.passages += number
            self.memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)


def main() -> None:
    """Measure both."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    measured = {"HTML": Measured(), "PDF": Measured()}
    with tempfile.TemporaryDirectory() as name:
        book, site = Path(name) / "book.pdf", Path(name) / "site"
        site.mkdir()
        write_pdf(book, pages)
        write_html(site, 10 * pages)
        number = {"PDF": TURNS * len(pypdfium2.PdfDocument(book)), "HTML": 10 * pages}
        measured["HTML"].add(map(plain_html, sorted(site.iterdir())), read(site))
        for _ in range(TURNS):
            measured["PDF"].add(map(plain_pdf, [book]), read(book))
    for kind, result in measured.items():
        print(
            f"{kind}: {number[kind]:,} pages in {len(result.memory):,} documents, {result.passages:,} passages: "
            f"{result.ours:.2f} s, {result.plain:.2f} s for plain text: {result.ours / result.plain:.2f} times "
            f"(aimed at: {AIMED[kind]}); most memory after the first document {result.memory[0]:,.0f} MiB, "
            f"after the last {result.memory[-1]:,.0f} MiB"
        )


if __name__ == "__main__":
    main()
