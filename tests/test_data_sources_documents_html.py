"""HTML as sites and programs for documentation write it: what is text, heading, term, code, and what is around it."""

from pathlib import Path

import pytest

from data.sources.documents import html
from data.sources.documents.document import Block
from tests.documents import LONG, read, sentences, written

OTHER = " ".join(f"Anyone who is ill on day {day} tells the desk by phone at {day + 7}." for day in range(7))
FRAMES = {
    "body": "<body>{}</body>",
    "div": "<body><div class='chapter'>{}</div></body>",
    "content": "<body><div id='content'>{}</div></body>",
    "main": "<body><main>{}</main></body>",
    "article": "<body><article>{}</article></body>",
    "role": "<body><div class='body' role='main'>{}</div></body>",
}
AROUND = (
    "<nav><ul><li><a href='/'>Home</a></li><li><a href='/pay'>Pay at Acme</a></li></ul></nav>"
    "<div role='navigation'><h3>This page</h3><p>Show the source of this page, or report a problem with it.</p></div>"
    "<div class='sidebar'><h3>Latest</h3><ul><li><a href='/1'>A new office</a></li></ul></div>"
    "<aside><h2>Topics</h2><p>More about travel and pay at Acme.</p></aside>{}"
    "<div class='cookie-banner'><p>We use cookies to improve the site. Accept all cookies.</p></div>"
    "<footer><h2>Legal</h2><p>Copyright Acme</p></footer>"
)


def page(body: str) -> bytes:
    return f"<!DOCTYPE html><html><head><title>Acme</title></head>{body}</html>".encode()


def blocks(body: str, frame: str = "body") -> list[Block]:
    """Return the blocks after two that make the page long enough to be one."""
    before = f"<h1>Handbook</h1><p>{LONG}</p><p>{sentences(9)}</p>"
    head, first, second, *rest = html.read(page(FRAMES[frame].format(before + body))).blocks
    assert (head, first.text, second.text) == (Block("Handbook", 1), LONG, sentences(9))
    return rest


def texts(body: str) -> list[str]:
    return [block.text.strip() for block in blocks(body)]


@pytest.mark.parametrize("frame", FRAMES)
def test_headings_items_and_terms_are_kept_wherever_the_text_is(frame: str) -> None:
    body = (
        f"<h2>Can I sell disks?</h2><p>{sentences(2)}</p><h3 class='title'><a id='x'></a>Which ones?</h3>"
        "<ul><li>Large disks</li><li>Small disks</li></ul><h2>Which scripts are there?</h2>"
        f"<dl><dt><span class='term'>prerm</span></dt><dd><p>{sentences(1)}</p></dd></dl>"
    )
    assert blocks(AROUND.format(body) if frame == "body" else body, frame) == [
        Block("Can I sell disks?", 2),
        Block(sentences(2)),
        Block("Which ones?", 3),
        Block("Large disks\nSmall disks"),
        Block("Which scripts are there?", 2),
        Block(f"prerm: {sentences(1)}"),
    ]


@pytest.mark.parametrize(
    "heading",
    ["<div class='titlepage'><div><div><h2 class='title'><a id='x'></a>Pay</h2></div></div></div>",
     "<div class='titlepage'><h2><a name='x'>Pay</a></h2></div>",
     "<h2><a href='#pay'>Pay</a></h2>",
     "<h2 id='pay'><a class='anchor' href='#pay'></a>Pay</h2>",
     "<header><h2><span class='menu-number'>Pay</span><a href='#pay'>§</a></h2></header>",
     "<hgroup><h2>Pay</h2></hgroup>"],
)  # fmt: skip
def test_a_heading_with_an_anchor_is_no_link(heading: str) -> None:
    assert blocks(f"{heading}<p>{sentences(2)}</p>") == [Block("Pay", 2), Block(sentences(2))]


@pytest.mark.parametrize("tag", ["section", "div"])
@pytest.mark.parametrize("title", ["Advice to authors", "Related work", "Menus and buttons", "1.2 Cookies"])
def test_a_section_named_after_its_heading_is_no_part_of_the_site(tag: str, title: str) -> None:
    name = title.removeprefix("1.2 ").lower().replace(" ", "-")
    body = f"<{tag} id='{name}'><h2>{title}</h2><p>{sentences(2)}</p></{tag}>"
    assert blocks(body) == [Block(title, 2), Block(sentences(2))]


@pytest.mark.parametrize(
    ("definitions", "expected"),
    [
        ("<dt>preinst</dt><dd>This script stops it.</dd><dt>postinst</dt><dd>This one starts it.</dd>",
         ["preinst: This script stops it.", "postinst: This one starts it."]),
        ("<div><dt><code>-D <em>folder</em></code><br><code>--data</code></dt><dd><p>The <b>folder</b>.</p></dd></div>",
         ["-D folder --data: The folder."]),
        ("<dt>get(key)<a class='headerlink' href='#get'>¶</a></dt><dt>get(key, default)</dt><dd><p>A key.</p></dd>",
         ["get(key), get(key, default): A key."]),
        ("<dt id='x.make_related'>Why?</dt><dd>It <a href='b.html'>depends</a>.</dd>", ["Why? It depends."]),
        ("<dt>Kinds:</dt><dd><p>Two.</p><p>Both are large.</p><ul><li>Red</li><li>Blue</li></ul></dd>",
         ["Kinds: Two.", "Both are large.", "Red\nBlue"]),
        ("<dt>Levels</dt><dd><dl><dt>0</dt><dd>Nothing.</dd><dt>1</dt><dd>Some.</dd></dl></dd>",
         ["Levels:", "0: Nothing.", "1: Some."]),
        ("<dt>术语</dt><dd>一个定义。</dd><dt>Alone</dt>", ["术语: 一个定义。", "Alone"]),
        ("<dt><h3>Pay</h3></dt><dd><p>It is paid on Monday.</p></dd>", ["Pay", "It is paid on Monday."]),
    ],
)  # fmt: skip
def test_a_term_and_its_definition_are_a_paragraph(definitions: str, expected: list[str]) -> None:
    assert texts(f"<dl class='options'>{definitions}</dl>") == expected


@pytest.mark.parametrize(
    "contents",
    ["<div class='toc'><p><strong>Table of Contents</strong></p><dl class='toc'><dt><a href='a.html#b'>1. Pay</a></dt>"
     "<dd><dl><dt><a href='a.html#c'>1.1. Leave</a></dt></dl></dd></dl></div>",
     "<div id='toc'><h2>On this page</h2><ul><li><a href='#pay'>Pay</a></li></ul></div>",
     "<h2>Contents</h2><ul><li><a href='#pay'>1 Pay</a></li><li><a href='#leave'>2 Leave</a><ul><li>"
     "<a href='#sick'>2.1 Sick leave</a></li></ul></li></ul>",
     "<ol><li><a href='#pay'>Pay</a></li><li><a href='#leave'>Leave</a></li><li><a href='#x'>Sick leave</a></li></ol>"],
)  # fmt: skip
def test_a_table_of_contents_is_a_drop(tmp_path: Path, contents: str) -> None:
    parts = f"<h2 id='pay'>Pay</h2><p>{LONG}</p><h2>Leave</h2><h3 id='sick'>Sick leave</h3><p>{OTHER}</p>"
    files = {"a.html": page(f"<body><h1>Handbook</h1><p>{sentences(9)}</p>{contents}{parts}</body>")}
    records, dropped = read(written(tmp_path, files))
    headings = [record.place.headings for record in records if record.place]
    assert headings == [("Handbook",), ("Handbook", "Pay"), ("Handbook", "Leave", "Sick leave")]
    assert [record.text for record in records] == [sentences(9), LONG, OTHER]
    assert [drop.reason for drop in dropped] == ["table of contents"]


def test_a_list_of_links_in_sentences_is_text() -> None:
    items = ["See <a href='a.html'>pay</a> or <a href='b.html'>leave</a>, both on paper.", "Or <a href='c'>ask</a> us."]
    expected = "See pay or leave, both on paper.\nOr ask us."
    assert texts(f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>") == [expected]


def test_words_of_a_sentence_are_kept_whatever_they_are_called() -> None:
    body = (
        "<p>Press <span class='guibutton'>Go Back</span>, choose <span class='menuselection'>Start</span> and write "
        "<em class='replaceable'><code>name<code>=value</code></code></em>.<a class='indexterm' id='i'></a></p>"
    )
    assert texts(body) == ["Press Go Back, choose Start and write name=value."]


def test_code_keeps_its_lines() -> None:
    body = "<pre class='screen'><span class='prompt'>$</span> <code>cd <i>folder</i></code><br>$ ls\n  -l</pre>"
    assert texts(body) == ["$ cd folder\n$ ls\n  -l"]


def test_what_is_in_a_cell_is_on_its_line() -> None:
    cells = "<td><p>depth</p><p>integer</p></td><td>One of: <ul><li>0 for none</li><li>1 for some</li></ul></td>"
    table = f"<table><tr><th><p>Name</p></th><th>Meaning</th></tr><tr>{cells}</tr></table>"
    assert texts(table) == ["Name | Meaning\ndepth integer | One of: 0 for none 1 for some"]


def test_paragraphs_of_an_item_are_apart() -> None:
    assert texts("<ol><li><p>Go home.</p><p>Then rest.</p></li><li>Sleep.</li></ol>") == ["Go home. Then rest.\nSleep."]


def test_the_title_of_a_note_heads_nothing() -> None:
    body = f"<h2>Pay</h2><div class='note'><h3 class='title'>Note</h3><p>{sentences(1)}</p></div><p>{sentences(2)}</p>"
    assert [block.level for block in blocks(body)] == [2, 0, 0, 0]


def test_docbook_navigation_is_dropped() -> None:
    link = "<a accesskey='n' href='b.html'>Next</a>"
    bar = f"<table><tr><th>Handbook of Acme</th></tr><tr><td>{link}</td></tr></table>"
    body = f"<body><div class='navheader'>{bar}</div><h1>Pay</h1><p>{LONG}</p><div class='navfooter'>{bar}</div></body>"
    assert list(html.read(page(body)).blocks) == [Block("Pay", 1), Block(LONG)]
