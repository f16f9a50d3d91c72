"""PDFs as printers write them: what stands at the foot of a page, and pages that are pictures."""

import io
from pathlib import Path

import pypdfium2

from tests.documents import LONG, paragraph, pdf, read, written


def test_a_footnote_does_not_part_the_sentence_above_it(tmp_path: Path) -> None:
    pages = [
        [*paragraph(70, 730, ["The office of the town pays", "what the", "letter of the board says. It asks whom"]),
         *paragraph(70, 90, ["1 Not before June, by a decision", "of the board."], 8)],
        [*paragraph(70, 730, ["it likes, and tells the board", "after a year."]),
         *paragraph(70, 640, ["12 members of it", "have a seat."], 10)],
    ]  # fmt: skip
    records, _ = read(written(tmp_path, {"h.pdf": pdf(pages)}), words=[40, 100])
    assert [record.text for record in records] == [
        "The office of the town pays what the letter of the board says. It asks whom it likes, and tells the board "
        "after a year.\n\n1 Not before June, by a decision of the board.\n\n12 members of it have a seat."
    ]


def test_a_page_that_is_a_picture_is_counted(tmp_path: Path) -> None:
    file = pypdfium2.PdfDocument(pdf([paragraph(70, 700, LONG.split(". ")), [], []]))
    picture = pypdfium2.PdfImage.new(file)
    picture.set_bitmap(pypdfium2.PdfBitmap.new_native(8, 8, pypdfium2.raw.FPDFBitmap_BGR))
    picture.set_matrix(pypdfium2.PdfMatrix().scale(500, 700))
    page = file[1]
    page.insert_obj(picture)
    page.gen_content()
    stream = io.BytesIO()
    file.save(stream)
    records, dropped = read(written(tmp_path, {"h.pdf": stream.getvalue()}))
    assert len(records) == 1
    assert [(drop.reason, drop.evidence) for drop in dropped] == [("scanned page", "page 2")], "page 3 is empty"


def test_a_narrow_gap_beside_chinese_is_no_space(tmp_path: Path) -> None:
    texts = {70: "报销单第", 121: "16", 138: "号由部门 ", 202: "OFK", 232: "pays", 300: "三天"}
    line = [(x, 700.0, 12, "Helvetica" if text.isascii() else "STSong-Light", text) for x, text in texts.items()]
    records, _ = read(written(tmp_path, {"h.pdf": pdf([line])}), words=[1, 100])
    assert [record.text for record in records] == ["报销单第16号由部门 OFK pays 三天"], "one was typed, one is wide"
