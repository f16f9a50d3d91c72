"""Documents as a source: every format, how they are cut, what is dropped, and what changes no id."""

import hashlib
import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data.sources import SourceError, SourceSpec, check_source, documents, read_entries, read_source
from data.sources.documents.document import Block, Unreadable, cleaned
from data.sources.documents.lines import hyphenated, joined
from data.sources.documents.near_duplicates import NearDuplicates
from data.sources.documents.passages import count_words, cut
from data.sources.fingerprint import source_fingerprint
from schemas.source import Assignment, Passage, Place, QASource
from tests.documents import LONG, SENTENCE, bomb, docx, encrypted_pdf, paragraph, pdf, pptx, read, sentences, written

# ---- formats ----


def test_markdown_gives_passages_with_their_place(tmp_path: Path) -> None:
    text = (
        "---\ntitle: 'Travel policy'\n---\n\n# Travel\n\n<!-- draft -->\n\n## Reimbursement\n\n"
        f"{LONG} See *the* [list](x.md) of `codes`.\n\n## Rates\n\n| City | Per day |\n|---|---|\n"
        f"| Leeds | 55 pounds |\n\n- {sentences(4)}\n- {sentences(4, 'A clerk in Oslo')}\n"
    )
    records, dropped = read(written(tmp_path, {"a/travel.md": text}))
    first, second = records
    assert dropped == []
    assert first.text == f"{LONG} See the list of codes."
    assert first.title == "Travel policy"
    assert first.source.id == 'a/travel.md, "Travel / Reimbursement"'
    place = first.place
    assert place is not None
    assert (place.document, place.title, place.headings) == (
        "a/travel.md",
        "Travel policy",
        ("Travel", "Reimbursement"),
    )
    assert place.checksum == hashlib.sha256(text.encode()).hexdigest()
    assert place.end - place.start == len(first.text)
    assert second.text.startswith("City | Per day\nLeeds | 55 pounds\n\nThe office in Leeds keeps")
    assert "\nA clerk in Oslo" in second.text


def test_html_keeps_tables_and_drops_navigation_and_banners(tmp_path: Path) -> None:
    page = (
        "<html><head><title>Travel | Acme</title></head><body><nav><ul><li><a href='/'>Home</a></li></ul></nav>"
        "<div><p>We use cookies to improve the site. Accept all cookies or change your settings.</p></div>"
        f"<main><h1>Travel</h1><p>{LONG}</p><h2>Rates</h2><p>{sentences(8)}</p>"
        "<table><tr><th>City</th><th>Per day</th></tr><tr><td>Leeds</td><td>55 pounds</td></tr></table>"
        "<ul><li>One<br>line</li><li>Two<ul><li>Inner</li></ul></li></ul></main>"
        "<footer><p>Copyright Acme</p></footer></body></html>"
    )
    records, _ = read(written(tmp_path, {"travel.html": page}))
    assert [record.source.id for record in records] == ['travel.html, "Travel"', 'travel.html, "Travel / Rates"']
    assert records[1].text.endswith("City | Per day\nLeeds | 55 pounds\n\nOne line\nTwo\nInner")
    whole = " ".join(record.text for record in records)
    assert not any(word in whole for word in ("cookies", "Home", "Copyright"))


def test_a_heading_comes_without_the_link_to_itself(tmp_path: Path) -> None:
    link = "<a class='headerlink' href='#a' title='Link to this heading'>{}</a>"
    heads = f"<h1>C#{link.format('¶')}</h1><p>{LONG}</p><h2>Pay {link.format('#')}</h2>"
    page = f"<html><body><main>{heads}<p>{sentences(9)}</p></main></body></html>"
    records, _ = read(written(tmp_path, {"a.html": page}))
    assert [record.source.id for record in records] == ['a.html, "C#"', 'a.html, "C# / Pay"']


@pytest.mark.parametrize(
    "head",
    ["<html><head><title>Pay &amp;\n leave</title></head><body>",
     '<?xml version="1.0" encoding="UTF-8"?>\n<html><HEAD><TITLE>Pay & leave</TITLE></HEAD><body>',
     "<html><title>Pay &amp; leave</title><body class=x>"],
)  # fmt: skip
def test_a_page_without_a_first_heading_has_the_title_of_its_head(tmp_path: Path, head: str) -> None:
    page = f"{head}<svg><title>A drawing</title></svg><p>{LONG}</p><p>{sentences(5)}</p></body></html>"
    records, _ = read(written(tmp_path, {"a.html": page}))
    assert [record.title for record in records] == ["Pay & leave"]


def test_plain_text_joins_broken_lines_and_words(tmp_path: Path) -> None:
    text = f"The inter-\nnational office of a long-term\nkind, in a long-\nterm stay, keeps\nthe records.\n\n{LONG}\n"
    records, _ = read(written(tmp_path, {"notes.txt": text}))
    start = "The international office of a long-term kind, in a long-term stay, keeps the records.\n\nThe committee"
    assert records[0].text.startswith(start)
    assert records[0].source.id == "notes.txt"


def test_a_pdf_in_columns_gives_pages_headings_and_whole_words(tmp_path: Path) -> None:
    left = [
        "Receipts go to the finance depart-", "ment in Leeds. It pays within ten", "days after it has them, and tells",
        "the traveller by letter. A taxi is", "paid for up to 45 euros a day, and",
    ]  # fmt: skip
    right = [
        "a train without a limit. The rules", "hold for contractors, who send what",
        "they paid to the same office, with", "the name of the person who asked", "them to come on this day. Nothing",
        "else is paid for, ever.",
    ]  # fmt: skip
    pages = [
        [
            *paragraph(70, 800, ["Acme Handbook 2024"]),
            *paragraph(70, 760, [heading], 16),
            *paragraph(320, 730, right),  # drawn before the left column
            *paragraph(70, 730, [line.replace("Leeds", city) for line in left]),
            *paragraph(290, 40, [f"Page {number} of 3"]),
        ]
        for number, (heading, city) in enumerate([("Travel", "Leeds"), ("Hotels", "Oslo"), ("Meals", "Bern")], start=1)
    ]
    records, dropped = read(written(tmp_path, {"h.pdf": pdf(pages, title="Handbook")}), words=[40, 400])
    assert records[0].text == (
        "Receipts go to the finance department in Leeds. It pays within ten days after it has them, and tells the "
        "traveller by letter. A taxi is paid for up to 45 euros a day, and a train without a limit. The rules hold for "
        "contractors, who send what they paid to the same office, with the name of the person who asked them to come "
        "on this day. Nothing else is paid for, ever."
    )
    assert records[0].source.id == 'h.pdf, page 1, "Travel"'
    assert records[0].title == "Handbook"
    assert Counter(drop.reason for drop in dropped) == {"boilerplate": 2, "near-duplicate": 2}
    assert {drop.evidence for drop in dropped if drop.reason == "boilerplate"} == {
        "Acme Handbook 2024 (on 3 pages)", "Page 1 of 3 (on 3 pages)",
    }  # fmt: skip
    assert {drop.related_id for drop in dropped if drop.reason == "near-duplicate"} == {records[0].id}


def test_a_sentence_goes_on_over_a_page(tmp_path: Path) -> None:
    pages = [
        [*paragraph(70, 730, ["The office reads the rules and", "tells all people in"])],
        [*paragraph(70, 730, ["June by a letter, which they keep", "in their records."])],
    ]
    records, _ = read(written(tmp_path, {"h.pdf": pdf(pages)}), words=[10, 100])
    assert [record.text for record in records] == [
        "The office reads the rules and tells all people in June by a letter, which they keep in their records."
    ]


def test_chinese_is_counted_in_characters_and_joined_without_spaces(tmp_path: Path) -> None:
    lines = ["出差的费用由财务部门在十个工作日内支付，员工应当", "在三十天内提交发票。出租车费每次不超过四十五元。"]
    pages = [[*paragraph(70, 760, ["北京手册"], 18, "STSong-Light"), *paragraph(70, 700, lines, 12, "STSong-Light")]]
    text = "。".join(f"第{n}条规定员工在{n}天内提交第{n}号发票，由财务部门支付" for n in range(20)) + "。"
    folder = written(tmp_path, {"a.pdf": pdf(pages), "b.md": f"# 手册\n\n{text}\n", "c.md": f"# Rules\n\n{LONG}\n"})
    records, _ = read(folder, words=[20, 100])
    assert records[0].text == "".join(lines)
    assert records[0].source.id == 'a.pdf, page 1, "北京手册"'
    assert Counter((record.source.id.partition(",")[0], record.language) for record in records) == {
        ("a.pdf", "zh"): 1, ("b.md", "zh"): 7, ("c.md", "en"): 1,
    }  # fmt: skip
    of_text = [record for record in records if record.source.id.startswith("b.md")]
    assert all(record.text.endswith("。") and 20 <= len(record.text) <= 100 for record in of_text)


def test_word_documents_and_slides(tmp_path: Path) -> None:
    word = docx([("Leave", [LONG]), ("Pay", [sentences(9)])], "Staff rules", [("Grade", "Days"), ("A", "31")])
    slides = pptx([("Plan", ["Open in Oslo", sentences(5)], "Say it slowly."), ("Cost", [sentences(8, "A clerk")], "")],
                  "Acme confidential")  # fmt: skip
    records, dropped = read(written(tmp_path, {"a.docx": word, "b.pptx": slides}))
    assert [record.source.id for record in records] == [
        'a.docx, "Staff rules / Leave"', 'a.docx, "Staff rules / Pay"', 'b.pptx, page 1, "Plan"',
    ]  # fmt: skip
    assert records[1].text.endswith("Grade | Days\nA | 31")
    assert records[2].text.startswith("Open in Oslo\nThe office")
    assert "\n\nCost\n\nA clerk" in records[2].text
    assert "Say it slowly." in records[2].text
    assert [(drop.reason, drop.evidence) for drop in dropped] == [("boilerplate", "Acme confidential 1 (on 2 pages)")]


def test_slides_that_differ_in_numbers_alone_keep_them(tmp_path: Path) -> None:
    slides = [(f"Year {n}", [f"Sold: {n}", f"Paid: {7 * n}", "Left open."], "") for n in range(2020, 2026)]
    records, dropped = read(written(tmp_path, {"a.pptx": pptx(slides, "Acme confidential")}), words=[5, 400])
    assert all(f"Sold: {n}\nPaid: {7 * n}" in records[n - 2020].text for n in range(2020, 2026))
    assert [drop.reason for drop in dropped] == ["boilerplate"]


def test_a_table_of_texts_gives_each_by_itself(tmp_path: Path) -> None:
    rows = f'Title,Text\nLeave,"{LONG}"\n,"{sentences(9)}"\nShort,Too few words.\n'
    records, dropped = read(written(tmp_path, {"faq.csv": rows, "numbers.csv": "a,b\n1,2\n"}))
    assert [record.source.id for record in records] == ['faq.csv, "Leave"', 'faq.csv, "row 2"']
    assert [(drop.reason, drop.evidence) for drop in dropped] == [
        ("too short", "Too few words."), ("no texts", "no column called text"),
    ]  # fmt: skip


# ---- what cannot be read ----


def test_what_cannot_be_read_is_dropped_and_the_others_go_on(tmp_path: Path) -> None:
    whole = pdf([paragraph(70, 700, [SENTENCE])])
    folder = written(
        tmp_path,
        {
            "bad.docx": b"no zip", "bad.pdf": whole[:300], "bomb.docx": bomb(), "empty.md": "",
            "endless.txt": "a" * 3_000_000, "good.md": f"# Rules\n\n{LONG}", "heading.md": "# Rules",
            "latin.txt": "Grüße".encode("latin-1"), "locked.docx": b"\xd0\xcf\x11\xe0 and more",
            "locked.pdf": encrypted_pdf(), "scan.pdf": pdf([[]]),
            "x.png": b"\x89PNG", ".hidden.md": LONG,
        },
    )  # fmt: skip
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(2 * 2**30)
    records, dropped = read(folder)
    assert [record.source.id for record in records] == ['good.md, "Rules"']
    assert Counter(drop.reason for drop in dropped) == {
        "damaged": 2, "too large": 2, "empty": 2, "endless line": 1, "not UTF-8": 1, "encrypted": 2, "no text layer": 1,
        "unknown format": 1,
    }  # fmt: skip
    assert len({drop.key for drop in dropped}) == len(dropped)


def test_a_changed_byte_crashes_no_reader() -> None:
    word, slides = docx([("Leave", [LONG])], "Rules"), pptx([("Plan", [LONG], "Notes")], "Acme")
    whole = {".docx": word, ".pptx": slides, ".pdf": pdf([paragraph(70, 700, [SENTENCE])])}
    random = Random(3)
    outcomes: Counter[str] = Counter()
    for number in range(300):
        ending, content = list(whole.items())[number % 3]
        damaged = bytearray(content)
        for _ in range(random.choice([1, 5, 50])):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        try:
            documents.READERS[ending].read(bytes(damaged))
            outcomes["read"] += 1
        except Unreadable as error:
            outcomes[error.reason] += 1
    assert outcomes["damaged"] > 50


@pytest.mark.parametrize(
    "text",
    ["a\n" * 100_000, "a-" * 300_000, ". " * 100_000, "<!--" * 100_000, " " * 500_000 + "x", "。" * 500_000],
    ids=["lines", "hyphens", "dots", "comments", "spaces", "ends"],
)
@pytest.mark.parametrize("ending", ["txt", "md"])
@pytest.mark.timeout(60)
def test_odd_texts_take_no_more_than_their_length(tmp_path: Path, text: str, ending: str) -> None:
    records, dropped = read(written(tmp_path, {f"odd.{ending}": text}))
    assert len(records) + len(dropped) >= 1


def test_a_path_that_names_nothing_is_a_mistake(tmp_path: Path) -> None:
    written(tmp_path, {"a/x.md": LONG})
    (tmp_path / "b").mkdir()
    for path, expected in {
        "a/*.pdf": f"{tmp_path}/a/*.pdf: no file matches; looked in the folder {tmp_path}/a",
        "b": f"{tmp_path}/b: is empty; looked in the folder {tmp_path}/b",
        "c/**": f"{tmp_path}/c/**: no such folder; looked in the folder {tmp_path}/c",
    }.items():
        with pytest.raises(SourceError) as raised:
            check_source(SourceSpec(format="documents", path=f"{tmp_path}/{path}"), Passage)
        assert expected in str(raised.value)


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = documents.importlib.util.find_spec
    monkeypatch.setattr(documents.importlib.util, "find_spec", lambda name: None if name == "docx" else real(name))
    written(tmp_path, {"a.docx": b"", "b.md": LONG})
    with pytest.raises(SourceError, match=r'a\.docx: .*the extra "office"; pip install "touchstone\[office\]"'):
        check_source(SourceSpec(format="documents", path=str(tmp_path)), Passage)


def test_settings_that_do_not_go_with_it_are_refused(tmp_path: Path) -> None:
    path = str(written(tmp_path, {"b.md": LONG}) / "b.md")
    with pytest.raises(SourceError, match="words"):
        check_source(SourceSpec(format="book", path=path, words=(10, 20)), Passage)
    with pytest.raises(SourceError, match=r"words: expected the least before the most, found \[20, 10\]"):
        check_source(SourceSpec(format="documents", path=path, words=(20, 10)), Passage)
    with pytest.raises(SourceError, match="expected a format that gives a QASource"):
        check_source(SourceSpec(format="documents", path=path), QASource)


# ---- what changes no id ----


def test_neither_order_nor_times_nor_place_change_an_id(tmp_path: Path) -> None:
    files = {"b.md": f"# B\n\n{LONG}", "a/c.txt": sentences(9), "a/b.txt": sentences(9, "A clerk in Oslo")}
    one = written(tmp_path / "one", files)
    two = written(tmp_path / "two" / "deep", dict(reversed(files.items())))
    os.utime(two / "b.md", (0, 0))
    first, second = read(one)[0], read(f"{two}/**")[0]
    assert [record.id for record in first] == [record.id for record in second]
    assert [record.key for record in first] == [record.key for record in second]
    assert [record.source.id for record in first] == ["a/b.txt", "a/c.txt", 'b.md, "B"']
    single = read(one / "b.md")[0]
    assert (single[0].id, single[0].key) == (first[2].id, first[2].key)
    assert read(f"{one}/*/c.txt")[0][0].source.id == "a/c.txt"


def test_a_fingerprint_has_each_document_and_the_settings(tmp_path: Path) -> None:
    def fingerprint(**more: object) -> dict[str, object]:
        spec = {"format": "documents", "path": f"{tmp_path}/h/**", **more}
        return source_fingerprint(SourceSpec.model_validate(spec))

    written(tmp_path, {"h/a.md": LONG, "h/b/c.md": LONG})
    before = fingerprint()
    assert before["name"] == "h/**"
    assert list(before["sha256"]) == ["a.md", "b/c.md"]  # type: ignore[call-overload]
    assert "words" not in before
    assert fingerprint(words=[1, 2]) != before
    (tmp_path / "h/a.md").rename(tmp_path / "h/d.md")
    assert fingerprint() != before


def test_a_passage_without_a_place_has_the_bytes_that_it_had() -> None:
    record = Passage.model_validate({"key": "k", "text": "A text.", "source": {"source": "a.csv", "id": "row 1"}})
    assert b"place" not in record.model_dump_json().encode()


# ---- cutting ----


BLOCKS = st.lists(
    st.builds(
        Block,
        st.text(st.characters(codec="utf-8"), max_size=60)
        | st.integers(1, 40).map(sentences)
        | st.integers(1, 60).map(lambda n: "财务部门支付费用。" * n),
        st.sampled_from([0, 0, 0, 1, 2, 3]),
        st.none() | st.integers(1, 3),
    ),
    max_size=12,
)


PARTED = [Block("Leave", 1), Block("In short", 2), Block(sentences(5)), Block("Notes", 2), Block("None.")]
"""The second part of a paragraph is joined with what stands below the next heading."""


@settings(deadline=None, max_examples=60)
@example(PARTED, "en", (20, 60))
@given(BLOCKS, st.sampled_from(["en", "zh"]), st.sampled_from([(1, 10), (20, 60), (80, 400)]))
def test_passages_are_spans_that_do_not_meet(blocks: list[Block], language: str, words: tuple[int, int]) -> None:
    blocks = [block for block in map(cleaned, blocks) if block.text]
    text, pieces, short = cut(blocks, language, *words)
    at = 0
    for piece in pieces:
        assert at <= piece.start < piece.end <= len(text)
        assert text[piece.start : piece.end] == text[piece.start : piece.end].strip()
        at = piece.end
    counted = sum(piece.words for piece in pieces) + sum(count_words(gone.text, language) for gone in short)
    assert counted >= sum(count_words(block.text, language) for block in blocks if not block.level)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_no_sentence_is_cut(lengths: list[int]) -> None:
    blocks = [Block(sentences(number, f"The office {place}")) for place, number in enumerate(lengths)]
    text, pieces, short = cut(blocks, "en", 80, 400)
    for stretch in [*(text[piece.start : piece.end] for piece in pieces), *(gone.text for gone in short)]:
        assert stretch.startswith("The office")
        assert stretch.endswith("years.")
    assert all(count_words(text[piece.start : piece.end], "en") <= 400 for piece in pieces)
    if sum(lengths) * 11 >= 80:
        assert not short


def test_short_sections_join_below_the_same_top_heading() -> None:
    blocks = [
        Block("Rules", 1), Block("Leave", 2), Block(sentences(3)), Block("Pay", 2), Block(sentences(5)),
        Block("Other", 1), Block(sentences(3)),
    ]  # fmt: skip
    text, pieces, _ = cut(blocks, "en", 80, 400)
    assert [[heading.text for heading in piece.headings] for piece in pieces] == [["Rules"], ["Other"]]
    assert text[pieces[0].start : pieces[0].end].startswith("Leave\n\nThe office")
    assert "\n\nPay\n\n" in text[pieces[0].start : pieces[0].end]


def test_a_sentence_that_is_too_long_stays_whole() -> None:
    long = " ".join(["Word"] * 500) + "."
    text, pieces, short = cut([Block(f"Before it. {long} {sentences(20)}")], "en", 80, 400)
    assert [text[piece.start : piece.end] for piece in pieces] == [f"Before it. {long}", sentences(20)]
    assert not short


def test_a_table_of_contents_is_dropped(tmp_path: Path) -> None:
    text = (
        f"# Handbook\n\n## Contents\n\n- [Leave](#leave)\n- [Pay](#pay)\n\n## Leave\n\n{LONG}\n\n## Pay\n\n"
        f"{sentences(9)}\n\nLeave ........ 3\n\nPay . . . . . 12\n\nAll the rest ..... 14\n"
    )
    records, dropped = read(written(tmp_path, {"a.md": text}))
    assert len(records) == 2
    assert not any("...." in record.text or "Contents" in record.text for record in records)
    assert Counter(drop.reason for drop in dropped) == {"table of contents": 5}


# ---- lines and near-duplicates ----


def test_hyphens_that_belong_to_a_word_stay() -> None:
    words = hyphenated(["a long-term plan"])
    assert joined(["a long-", "term plan of inter-", "national Franco-", "German soft\u00ad", "ware"], words) == (
        "a long-term plan of international Franco-German software"
    )
    assert joined(["财务部门", "支付"], words) == "财务部门支付"


def test_near_duplicates_are_those_of_a_few_other_words() -> None:
    near = NearDuplicates()
    text = sentences(12)
    others = [text, text.replace("shelf 21", "shelf 22"), " ".join(text.split()[::-1])]
    names = ["0" * 16, "1" * 16, "2" * 16]
    assert near.earlier(others, "en", names) == [None, "0" * 16, None], "with those beside it too"
    chinese = ["财务部门在十个工作日内支付费用。" * 6, "。。。", "财务部门在十个工作日内支付费用。" * 7]
    assert [near.earlier([one], "zh", [f"{place:016}"]) for place, one in enumerate(chinese)] == [
        [None], [None], ["0" * 16]
    ]  # fmt: skip


def test_passages_are_texts_to_work_on_too(tmp_path: Path) -> None:
    spec = SourceSpec(format="documents", path=str(written(tmp_path, {"a.md": f"# Handbook\n\n{LONG}\n"})))
    (passage,) = read_source(spec, Passage, lambda dropped: None)
    (assignment,) = read_source(spec, Assignment, lambda dropped: None)
    assert (assignment.given, assignment.text, assignment.language) == ("text", passage.text, "en")
    assert [type(entry.values.get("place")) for entry in read_entries(spec)] == [Place], "once, for contamination"


def test_a_table_of_contents_whose_lines_were_joined_is_one(tmp_path: Path) -> None:
    entries = " ".join(f"2.{number} Getting started{' .' * 30} {number + 4}" for number in range(1, 9))
    text = f"# Handbook\n\nApplying 5\n\n{entries}\n\n## Travel\n\n{LONG}\n"
    records, dropped = read(written(tmp_path, {"a.md": text}))
    assert [drop.reason for drop in dropped] == ["table of contents"]
    assert not any(". . ." in record.text for record in records)


def test_a_title_has_no_signs_that_nobody_sees(tmp_path: Path) -> None:
    page = f"<html><head><title>\x1b]0;own\x07Travel\u202e</title></head><body><p>{LONG}</p></body></html>"
    records, _ = read(
        written(tmp_path, {"a.html": page, "b.md": f"# Pay\x1b[31m\n\n{sentences(9, 'A clerk in Oslo')}"})
    )
    assert [record.title for record in records] == ["]0;ownTravel", "Pay[31m"]


# ---- which files are documents ----


def names(path: Path | str) -> list[str]:
    return [name for name, _ in documents.files(SourceSpec(format="documents", path=str(path)))]


def test_a_folder_that_there_is_is_no_pattern(tmp_path: Path) -> None:
    folder = written(tmp_path / "My docs [1]", {"a.md": LONG, "b/c.md": LONG})
    assert names(folder) == ["a.md", "b/c.md"]
    assert names(f"{folder}/*.md") == ["a.md"]
    assert names(f"{folder}/[ab]/*.md") == ["b/c.md"]
    with pytest.raises(SourceError, match="no such folder"):
        names(f"{folder}/d/*.md")


def test_no_file_is_read_twice_and_none_of_a_build(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "docs", {"a.md": LONG, "b/c.md": LONG, "out/report.html": LONG, "site/manifest.json": ""}
    )
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "site" / "page.html").write_text(LONG)
    (folder / "out" / "manifest.json").write_text("{}")
    assert names(f"{folder}/**/*.[mh]*") == ["a.md", "b/c.md", "out/report.html", "site/page.html"]
    (folder / "out" / "accepted").mkdir()
    assert names(f"{folder}/**/*.[mh]*") == ["a.md", "b/c.md", "site/page.html"]


def test_a_name_that_is_no_utf_8_is_told(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / os.fsdecode(b"bad\xff.md")).write_text(LONG)
    with pytest.raises(SourceError, match=r"bad\\xff\.md: its name is no UTF-8; rename the file"):
        names(tmp_path / "docs")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no file here that nobody can read")
def test_a_document_that_cannot_be_read_is_a_drop(tmp_path: Path) -> None:
    folder = written(tmp_path / "docs", {"a.md": LONG})
    (folder / "b.md").symlink_to("/proc/self/mem")
    source_fingerprint(SourceSpec(format="documents", path=str(folder)))
    records, dropped = read(folder)
    assert len(records) == 1
    assert [drop.reason for drop in dropped] == ["cannot be opened"]
