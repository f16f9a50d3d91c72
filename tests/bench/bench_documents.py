"""Documents as a source beside what it stands on: PDFium's text of a PDF, and trafilatura's text of HTML pages.

`python tests/bench/bench_documents.py [PAGES]`: a PDF of about PAGES pages (1,000 by default), and ten times as many
HTML pages, of a book's paragraphs. Prints processor times, their ratio beside what is aimed at, and the most memory.
"""

import gzip
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pypdfium2
import trafilatura

sys.path.insert(0, str(Path(__file__).parents[2]))

from data.sources import SourceSpec, read_source
from schemas.source import Passage
from tests.documents import printed

SHARED = Path(os.environ.get("TOUCHSTONE_SHARED", Path(__file__).parents[3] / "shared"))
PAGES, TURNS = 1_000, 3
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


def plain_html(folder: Path) -> None:
    """trafilatura's text of each page."""
    for path in sorted(folder.iterdir()):
        trafilatura.extract(path.read_bytes(), include_comments=False)


def read(path: Path) -> int:
    """Read the documents as a source; return the number of passages."""
    return sum(1 for _ in read_source(SourceSpec(format="documents", path=str(path)), Passage, lambda dropped: None))


def seconds(works: Sequence[Callable[[], object]]) -> list[float]:
    """Return the processor time that each takes: the least of some turns, in which one follows the other."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(TURNS):
        for work, measured in zip(works, times, strict=True):
            begun = time.process_time()
            work()
            measured.append(time.process_time() - begun)
    return list(map(min, times))


def main() -> None:
    """Measure both."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    with tempfile.TemporaryDirectory() as name:
        book, site = Path(name) / "book.pdf", Path(name) / "site"
        site.mkdir()
        write_pdf(book, pages)
        write_html(site, 10 * pages)
        number = {"PDF": len(pypdfium2.PdfDocument(book)), "HTML": 10 * pages}
        passages = {"PDF": read(book), "HTML": read(site)}
        times = {
            "PDF": seconds([lambda: plain_pdf(book), lambda: read(book)]),
            "HTML": seconds([lambda: plain_html(site), lambda: read(site)]),
        }
    for kind, (plain, ours) in times.items():
        print(
            f"{kind}: {number[kind]:,} pages, {passages[kind]:,} passages: {ours:.2f} s, {plain:.2f} s for plain text: "
            f"{ours / plain:.2f} times (aimed at: {AIMED[kind]})"
        )
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:,.0f} MiB")


if __name__ == "__main__":
    main()
