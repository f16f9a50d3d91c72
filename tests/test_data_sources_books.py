"""Books of plain text: real ones, the ways in which lines are broken, tables of contents, and what is no book."""

import gzip
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from data.sources import SourceError, SourceSpec, check_source
from data.sources.book import MOST_CHARACTERS
from schemas.base import Dropped
from schemas.source import Passage
from tests.test_data_sources import error, read

PROSE = (
    "Call me Ishmael. Some years ago—never\nmind how long precisely—having little\nor no money in my purse, I went.\n"
)


def book(tmp_path: Path, text: str | bytes, **more: object) -> tuple[list[str], list[tuple[str, str]]]:
    """The passages of a file that holds `text`, and (reason, evidence) of what is refused."""
    path = tmp_path / "book.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    records, refused = read(path, Passage, "book", **more)
    return [record.text for record in records], [(drop.reason, drop.evidence) for drop in refused]


# ---- the shared books ----


@cache
def shared_book(path: Path) -> tuple[list[Passage], list[Dropped]]:
    """What a real book gives: several tests look at each."""
    return read(path, Passage, "book")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kept", "dropped"),
    [
        ("books_en/david_copperfield", 7165, {"table of contents": 2, "duplicate text": 24}),
        ("books_en/moby_dick", 2651, {"table of contents": 139, "duplicate text": 11, "empty text": 2}),
        # The chapters of its seventeen books are all called CHAPTER I, CHAPTER II, ...
        ("books_en/war_and_peace", 11376, {"table of contents": 383, "duplicate text": 350}),
        ("books_zh/xiyouji", 3308, {"duplicate text": 4}),
        ("books_zh/sanguoyanyi", 1566, {}),
    ],
)
def test_every_paragraph_is_kept_or_dropped(shared: Path, name: str, kept: int, dropped: dict[str, int]) -> None:
    records, refused = shared_book(shared / "data" / f"{name}.txt.gz")
    assert len(records) == kept
    assert Counter(one.reason for one in refused) == dropped
    numbers = [int(one.source.id.removeprefix("paragraph ")) for one in records]
    assert numbers == sorted(numbers)
    assert numbers[-1] == kept + sum(dropped.values())
    assert all(one.text == one.text.strip() and "\n" not in one.text and one.title is None for one in records)


@pytest.mark.slow
def test_english_paragraphs_are_those_between_blank_lines(shared: Path) -> None:
    for name in ("david_copperfield", "moby_dick", "war_and_peace"):
        path = shared / "data" / "books_en" / f"{name}.txt.gz"
        text = gzip.decompress(path.read_bytes()).decode()
        plain = {re.sub(r"[\s_]", "", one) for one in re.split(r"\n\s*\n", text)}
        records, _ = shared_book(path)
        assert all(re.sub(r"\s", "", one.text) in plain for one in records)
        assert not any("_" in one.text for one in records)


def test_chinese_paragraphs_are_lines(shared: Path) -> None:
    for name in ("xiyouji", "sanguoyanyi"):
        path = shared / "data" / "books_zh" / f"{name}.txt.gz"
        lines = gzip.decompress(path.read_bytes()).decode().split("\n")
        records, _ = read(path, Passage, "book", language="zh")
        assert [one.text for one in records] == list(dict.fromkeys(line.strip() for line in lines if line.strip()))
        headings = [one.text for one in records if re.match(r"(?:《》目录 )?第\S+回\s", one.text)]
        assert len(headings) == {"xiyouji": 100, "sanguoyanyi": 120}[name]


@pytest.mark.slow
def test_tables_of_contents_end_where_their_entries_do(shared: Path) -> None:
    for name, last, then in (
        ("david_copperfield", "I.      I Am Born", "PREFACE TO 1850 EDITION"),
        ("moby_dick", "Epilogue", "Original Transcriber’s Notes:"),
        ("war_and_peace", "CHAPTER XII", "BOOK ONE: 1805"),
    ):
        records, refused = shared_book(shared / "data" / "books_en" / f"{name}.txt.gz")
        contents = [one.evidence for one in refused if one.reason == "table of contents"]
        assert contents[0] == "CONTENTS"
        assert contents[-1].startswith(last)
        place = next(number for number, one in enumerate(records) if one.text == then)
        before = int(records[place - 1].source.id.removeprefix("paragraph "))
        assert int(records[place].source.id.removeprefix("paragraph ")) == before + len(contents) + 1


# ---- lines and paragraphs ----


def test_hard_wrapped_lines_are_joined(tmp_path: Path) -> None:
    texts, _ = book(
        tmp_path, f"CHAPTER I\n\n\n{PROSE}\n  \t\u3000\n“Well,” said a well-\nknown man, “no--\nyes—\nso it is.”\n"
    )
    assert texts == [
        "CHAPTER I",
        "Call me Ishmael. Some years ago—never mind how long precisely—having little or no money in my purse, I went.",
        "“Well,” said a well-known man, “no--yes—so it is.”",
    ]


def test_a_line_is_a_paragraph_where_lines_end_sentences(tmp_path: Path) -> None:
    texts, _ = book(
        tmp_path,
        "第一回\n\u3000\u3000话说天下大势，分久必合。\n\u3000\u3000“好水！好水！”\n\t周末七国分争，并入于秦。\n",
    )
    assert texts == ["第一回", "话说天下大势，分久必合。", "“好水！好水！”", "周末七国分争，并入于秦。"]
    texts, _ = book(tmp_path, "It was late. He slept.\n“Who is it?”\nShe did not say.\n")
    assert texts == ["It was late. He slept.", "“Who is it?”", "She did not say."]


def test_hard_wrapped_chinese_is_joined_by_nothing(tmp_path: Path) -> None:
    text = "话说天下大势，分久必合，合久必\n分。周末七国分争，并入于秦。及\n秦灭之后，用 Python\n写成。\n\n又一段\n。"
    texts, _ = book(tmp_path, text, language="zh")
    assert texts == [
        "话说天下大势，分久必合，合久必分。周末七国分争，并入于秦。及秦灭之后，用 Python写成。",
        "又一段。",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_line_end_and_a_byte_order_mark_do_no_harm(tmp_path: Path, end: str, mark: str) -> None:
    texts, _ = book(tmp_path, mark + f"One\n\n{PROSE}".replace("\n", end))
    assert texts == ["One", PROSE.replace("\n", " ").strip()]


def test_marks_of_italics_go_and_other_underscores_stay(tmp_path: Path) -> None:
    texts, _ = book(
        tmp_path,
        "The _Pequod_’s _whole\ncrew_, on the 1_st_ (_hval_).\n\nsnake_case_name, __init__ and ____ and _ a _.\n",
    )
    assert texts == ["The Pequod’s whole crew, on the 1st (hval).", "snake_case_name, __init__ and ____ and _ a _."]


def test_a_paragraph_that_says_nothing_or_the_same_is_refused(tmp_path: Path) -> None:
    texts, refused = book(tmp_path, "“No.”\n\n* * *\n\n“Yes.”\n\n“No.”\n")
    assert texts == ["“No.”", "“Yes.”"]
    assert refused == [("empty text", "* * *"), ("duplicate text", "“No.”")]


def test_the_same_text_packed_or_not_has_the_same_keys(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(PROSE)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(PROSE.encode()))
    (plain,), _ = read(tmp_path / "a.txt", Passage, "book", licence="public domain")
    (packed,), _ = read(tmp_path / "a.txt.gz", Passage, "book")
    assert (plain.key, plain.id, plain.source.id) == (packed.key, packed.id, "paragraph 1")
    assert plain.source.licence == "public domain"


# ---- tables of contents ----

BODY = "{0}\n\nIt began.\n\n{1}\n\nIt went\non and on.\n\n{2}\n\nIt ended.\n"


@pytest.mark.parametrize(
    ("entries", "headings"),
    [
        ("I. Loomings\nII. The Inn\nIII. The End", ("CHAPTER 1. LOOMINGS", "CHAPTER 2. THE INN", "CHAPTER 3. THE END")),
        ("CHAPTER I\n\nCHAPTER II\n\nCHAPTER III", ("CHAPTER I", "CHAPTER II", "CHAPTER III")),
        ("Loomings . . . . 1\nThe Inn ..... 23\nThe End      456", ("Loomings.", "The Inn.", "The End.")),
        ("Loomings\nAn Inn\nThe End", ("Loomings", "The Inn", "The End")),  # one is misquoted
        ("I. Loomings\n\nII. The Inn at the\nSea\n\nIII. The End", ("LOOMINGS", "THE INN AT\nTHE SEA", "THE END")),
    ],
)
def test_what_repeats_the_headings_is_left_out(tmp_path: Path, entries: str, headings: tuple[str, str, str]) -> None:
    body = BODY.format(*headings)
    texts, refused = book(
        tmp_path,
        f"A BOOK\n\nTable of Contents:\n\n{entries}\n\n\nA preface of\nthree lines or\nof four\nof them.\n\n{body}",
    )
    plain = [one.replace("\n", " ").strip() for one in body.split("\n\n")]
    assert texts == ["A BOOK", "A preface of three lines or of four of them.", *plain]
    assert {reason for reason, _ in refused} == {"table of contents"}


def test_a_chinese_table_of_contents_is_left_out(tmp_path: Path) -> None:
    entries = ["第一回 桃园结义", "第二回 怒鞭督邮"]
    body = [entries[0], "话说天下。", "且说。", "来了。", "好。", entries[1], "又说。", "去了。", "真的。", "完。"]
    texts, refused = book(tmp_path, "\n".join(["三国", "目 录", *entries, *body]), language="zh")
    assert texts == ["三国", *body]
    assert refused == [("table of contents", one) for one in ("目 录", *entries)]


def test_contents_that_head_nothing_are_kept(tmp_path: Path) -> None:
    texts, refused = book(tmp_path, f"Contents\n\nOne thing\n\nAnother\n\n{PROSE}")
    assert (texts[:3], refused) == (["Contents", "One thing", "Another"], [])


# ---- what is no book ----


def test_bytes_that_are_no_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for mark in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(mark + "西游\n记 ".encode() + b"\xce\xf7")
        assert (
            error(path, Passage, "book")
            == f"{path}: line 2: expected UTF-8, found byte 0xce at 4; save the file as UTF-8"
        )
    path.write_bytes("西游记\n第一回".encode("gb18030"))
    says = f"{path}: line 1: expected UTF-8, found byte 0xce at 0; save the file as UTF-8"
    assert error(path, Passage, "book", language="zh") == f"{says} (iconv -f GB18030 -t UTF-8)"
    assert error(path, Passage, "book") == says
    path.write_bytes(b"caf\xe9\n")
    assert "line 1: expected UTF-8, found byte 0xe9 at 3" in error(path, Passage, "book", language="zh")


def test_binary_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("One\nTwo".encode("utf-16-le"))
    assert "a.txt: line 1: expected text in UTF-8, found a zero byte; save the file as plain text" in error(
        path, Passage, "book"
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    assert "a.txt: line 1: expected UTF-8, found byte 0x89 at 0" in error(path, Passage, "book")
    path.write_bytes(gzip.compress(PROSE.encode()))
    assert "found gzip data; add .gz to its name" in error(path, Passage, "book")
    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress(PROSE.encode() * 1000)[:-20])
    assert "a.txt.gz: expected whole gzip data" in error(packed, Passage, "book")


@pytest.mark.parametrize("text", ["", "\n \n\t\n", "\ufeff"])
def test_an_empty_book_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert "a.txt: expected at least one row, found none; check the path" in error(path, Passage, "book")
    assert "no such file" in error(tmp_path / "b.txt", Passage, "book")


def test_a_paragraph_without_end_is_a_drop(tmp_path: Path) -> None:
    for endless in ("word " * 200_000, "." * 1_000_000 + "a", "_a " * 300_000, "“x”" * 300_000):
        texts, refused = book(tmp_path, f"Contents\n\nOne\n\n{endless}\n\nOne\n")
        assert texts == ["One"]
        assert [reason for reason, _ in refused] == ["table of contents"] * 2 + ["paragraph too long"]
        assert all(len(evidence) <= 60 for _, evidence in refused)
    texts, refused = book(tmp_path, "word " * (MOST_CHARACTERS // 5))
    assert (len(texts), refused) == (1, [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "<!DOCTYPE html>\n<html><head><style>p { color: red }</style></head><body><p>One.</p></body></html>"),
        ("a.txt", '\ufeff<?xml version="1.0"?>\n<!-- saved -->\n<HTML xmlns="x">\n<p>One.</p></HTML>'),
        ("a.txt", '<div class="page"><p>One.</p></div>'),
        ("a.html", "One.\n\nTwo."),
        ("a.HTM", "One."),
    ],
)
def test_html_is_refused_by_name_before_anything_is_built(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    said = (
        f"{path}: expected a book as plain text, found HTML, whose tags and style sheets would be read as text; "
        "write `format: documents`, which reads HTML, or save it as plain text in UTF-8"
    )
    assert error(path, Passage, "book") == said
    with pytest.raises(SourceError) as caught:
        check_source(SourceSpec(format="book", path=str(path)), Passage)
    assert str(caught.value) == said


@pytest.mark.parametrize("text", ["<Paris, 1889>\n\nOne.", "< 3 and more", "A <b>bold</b> word.", "<Title>"[:6] + "s"])
def test_angle_brackets_of_a_plain_book_stay(tmp_path: Path, text: str) -> None:
    assert book(tmp_path, text)[0][0] == text.partition("\n")[0]


def test_a_book_takes_no_fields(tmp_path: Path) -> None:
    assert "format book takes no fields" in error(tmp_path / "a.txt", Passage, "book", fields={"text": "t"})
