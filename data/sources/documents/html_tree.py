"""The tree of an HTML page, made such that trafilatura keeps all of its text.

In a page that does not say where its text is, trafilatura looks for paragraphs only: headings, terms and the items of
lists are lost. It takes a heading with an anchor for a link, a list of sentences with links for a menu, a section about
authors for the name of one, and the name of a button in a sentence for the button.
"""

import re
from typing import Any

from lxml import etree

from data.sources.book import CONTENTS

LEAST_ENTRIES = 3
"""Links of a list that is a table of contents."""
LEAST_HEADINGS = 0.5
"""Share of these that are headings of the page."""
LEAST_LINKED = 0.9
"""Share of its letters that are in links."""
MOST_LINKED = 0.5
"""Share of the letters of a paragraph, or of an item, that are in links that are part of its sentences."""

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS = ("ul", "ol", "dl")
_AROUND = ("nav", "aside", "footer")
_CONTAINERS = (*_AROUND, "div", "section", "header", "form", *_LISTS)
_ROLES_AROUND = frozenset(("navigation", "complementary", "banner", "contentinfo", "search"))
_CLASSES_AROUND = frozenset(("navheader", "navfooter"))  # DocBook's
_CONTENTS = frozenset(("toc", "table-of-contents"))
_NOTES = frozenset(("note", "tip", "important", "caution", "warning"))
_PERMALINKS = frozenset(("", "¶", "#", "§"))
"""What a link to a heading or a term says that stands behind it."""
_PLACES_OF_CODE = frozenset(("pre", "div", "section", "article", "main", "body"))
"""Where code is a block."""
_BLOCKS = frozenset(
    ("p", "div", "section", "ul", "ol", "dl", "li", "pre", "table", "blockquote", "figure", "details", *_HEADINGS)
)
_ENDS = tuple(".:?!;,。：？！；，")
_NO_LETTERS = re.compile(r"[\W_\d]+")


def prepare(page: Any) -> list[str]:
    """Change the tree; return the tables of contents that were in it."""
    body = page.find("body")
    if body is None:
        body = page  # a part of a page
    contents = _without_contents_and_surroundings(body)
    for element in body.iter("section", "div"):
        _without_name(element)
    _without_links(body)
    for code in list(body.iter("pre", "code")):
        _without_markup(code)
    for words in body.iter("span"):
        if "hid" not in words.get("class", ""):
            words.attrib.clear()
    for definitions in list(body.iter("dl")):
        _as_paragraphs(definitions)
    if body.find(".//td") is not None:
        _without_lists_in_cells(body)
    if not any(map(_says_where, body.iter("main", "article", "section", "div"))):
        main = body.makeelement("main")
        main.text, body.text = body.text, None
        main.extend(list(body))
        body.append(main)
    return contents


def _without_contents_and_surroundings(body: Any) -> list[str]:
    contents: list[str] = []
    gone: set[Any] = set()
    for element in list(body.iterdescendants(*_CONTAINERS)):
        if element in gone:
            continue
        is_contents = _is_contents(element, body)
        if is_contents or _is_around(element):
            gone.update(element.iter(*_CONTAINERS))
            if is_contents:
                contents.append(element.text_content())
                _drop_label(element.getprevious())
            element.drop_tree()
    return contents


def _drop_label(label: Any) -> None:
    """Take out what stands before a table of contents if it says no more than that."""
    if label is not None and _letters(label.text_content()) in CONTENTS:
        label.drop_tree()


def _is_around(element: Any) -> bool:
    """Return whether the markup says that this is not the text of the page."""
    if element.tag in _AROUND or element.get("class") in _CLASSES_AROUND:
        return True
    return element.get("role") in _ROLES_AROUND


def _says_where(element: Any) -> bool:
    """Return whether the markup says that this is the text of the page."""
    if element.tag in ("main", "article") or element.get("role") == "main":
        return True
    return any(element.get(name, "").startswith("main") for name in ("id", "class"))


def _is_contents(element: Any, body: Any) -> bool:
    """Return whether this is called a table of contents, or is a list of links to the page's headings."""
    name = element.get("class", "")
    if name in _CONTENTS or element.get("id") in _CONTENTS or name.startswith("list-of-"):
        return True
    if element.tag not in _LISTS:
        return False
    first = next(element.iter("a"), None)
    if first is None or not first.get("href", "").startswith("#"):
        return False
    titles = [_letters(link.text_content()) for link in element.iter("a")]
    if len(titles) < LEAST_ENTRIES or sum(map(len, titles)) < LEAST_LINKED * len(_letters(element.text_content())):
        return False
    headings = {_letters(heading.text_content()) for heading in body.iter(*_HEADINGS)}
    return sum(title in headings for title in titles) >= LEAST_HEADINGS * len(titles)


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())


def _without_links(body: Any) -> None:
    """Take out permalinks and anchors, and make the links of sentences a part of them."""
    blocks: dict[Any, None] = {}
    for link in list(body.iter("a")):
        target = link.get("href")
        if target is not None and not target.startswith("#"):
            block = next(link.iterancestors("p", "li"), None)
            if block is not None:
                blocks[block] = None
        elif target is not None and link.text_content().strip() in _PERMALINKS:
            link.drop_tree()
        else:
            link.drop_tag()
    for block in [block for block in blocks if _is_of_sentences(block)]:
        for link in list(block.iter("a")):
            link.drop_tag()


def _is_of_sentences(block: Any) -> bool:
    linked = sum(len(_letters(link.text_content())) for link in block.iter("a"))
    return linked <= MOST_LINKED * len(_letters(block.text_content()))


def _without_markup(code: Any) -> None:
    """Leave of a block of code its text, and of code in a sentence the text as a part of it."""
    if code.tag == "pre":
        for end in code.iter("br"):
            end.tail = f"\n{end.tail or ''}"
        text = code.text_content()
        del code[:]
        code.text = None
        etree.SubElement(code, "code").text = text
    elif code.getparent() is not None and code.getparent().tag not in _PLACES_OF_CODE:
        code.drop_tag()


def _without_name(element: Any) -> None:
    """Take away the name of a section that is called like its heading, and make the title of a note a paragraph."""
    name = element.get("id")
    is_note = element.tag == "div" and element.get("class") in _NOTES
    heading = next((child for child in element if child.tag in _HEADINGS), None) if name or is_note else None
    if heading is None:
        return
    if is_note:  # which does not head what comes after it
        heading.tag = "p"
    elif (letters := _letters(name)) and letters in _letters(heading.text_content()):
        del element.attrib["id"]


def _without_lists_in_cells(body: Any) -> None:
    """Make the items of lists in tables paragraphs, unless there are links: a menu."""
    for listed in list(body.iter("ul", "ol")):
        if next(listed.iterancestors("td", "th"), None) is not None and next(listed.iter("a"), None) is None:
            listed.tag = "div"
            for item in listed.findall("li"):
                item.tag = "p"


def _as_paragraphs(definitions: Any) -> None:
    """Turn definitions into paragraphs "term: definition", and what else is in a definition into blocks after these."""
    for group in definitions.findall("div"):
        group.drop_tag()
    for link in list(definitions.iter("a")):
        link.drop_tag()
    definitions.attrib.clear()
    definitions.tag = "div"
    term: Any = None
    for element in list(definitions):
        element.attrib.clear()
        if element.tag == "dt" and not any(child.tag in _BLOCKS for child in element):
            for end in list(element.iter("br")):
                end.tail = f" {end.tail or ''}"
                end.drop_tag()
            if term is None:
                element.tag, term = "p", element
            else:
                _append(term, element, ", ")
                element.drop_tree()
        elif element.tag == "dd" and term is not None:
            element.tag = "div"
            _join(term, element)
            term = None
        else:
            element.tag, term = "div", None


def _join(term: Any, definition: Any) -> None:
    """Move the text with which a definition begins into the paragraph of its term."""
    between = " " if term.text_content().rstrip().endswith(_ENDS) else ": "
    first = next(iter(definition), None)
    if first is not None and first.tag == "p" and not (definition.text or "").strip():
        _append(term, first, between)
        first.drop_tree()
        return
    inline = definition.makeelement("span")
    inline.text, definition.text = definition.text, None
    for child in list(definition):
        if child.tag in _BLOCKS:
            break
        inline.append(child)
    _append(term, inline, between)


def _append(paragraph: Any, element: Any, between: str) -> None:
    """Move what is in an element to the end of a paragraph."""
    last = paragraph[-1] if len(paragraph) else None
    before = ((paragraph.text if last is None else last.tail) or "").rstrip()
    text = f"{before}{between}{(element.text or '').lstrip()}"
    if last is None:
        paragraph.text = text
    else:
        last.tail = text
    paragraph.extend(list(element))
