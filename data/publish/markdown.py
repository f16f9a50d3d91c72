"""Values as Markdown that shows them literally: no markup, HTML, table cell or fence begins or ends in a value."""

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from schemas.base import counted, odd_character

LINE: Final = 300
"""Characters that the card shows of a value by default."""

_MARKDOWN = re.compile(r"[\\`*_\[\]|~$]")
_OPENING = re.compile(r"^(?:[#+\-=:]|\d+(?=[.)](?:\s|$)))")
_PLAIN_CODE = re.compile(r"[\w .,:;/@=+(){}\[\]-]+", re.ASCII)
_NAMED = re.compile(r"`([\w ,./:=<>-]+)`", re.ASCII)
_ELEMENT = re.compile(r"<(?:element|item): ")


def one_line(text: str, most: int = LINE) -> str:
    """Return `text` on one line without invisible characters, cut if it is longer than `most`."""
    head = text[: most * 4]  # enough whatever is left out; a value may be megabytes long
    plain = " ".join("".join(c for c in head if c.isspace() or is_seen(c)).split())
    return plain if len(plain) <= most and len(head) == len(text) else f"{plain[: most - 1]}…"


def is_seen(character: str) -> bool:
    """Return whether a character is visible."""
    return odd_character(character) is None and unicodedata.category(character) != "Cn"


def inline(value: object, most: int = LINE) -> Markup:
    """Return a value as Markdown that shows it literally."""
    if isinstance(value, Markup):
        return value
    text = _escaped(one_line(str(value), most))
    opening = _OPENING.match(text)
    if opening:
        text = f"\\{text}" if opening.end() == 1 and not text[0].isdigit() else f"{opening[0]}\\{text[opening.end() :]}"
    return Markup(text)  # noqa: S704 - escaped above


def _escaped(text: str) -> str:
    return html.escape(_MARKDOWN.sub(r"\\\g<0>", text), quote=False)


def in_html(value: object, most: int = LINE) -> Markup:
    """Return a value as HTML that shows it literally, for an element in which Markdown is not read."""
    return Markup(html.escape(one_line(str(value), most)))  # noqa: S704 - escaped here


def prose(value: object, most: int = LINE) -> Markup:
    """Return a description of ours, with its `names` as code and everything else shown literally."""
    first, *rest = _NAMED.split(one_line(str(value), most))
    shown = str(inline(first, most)) + " " * first.endswith(" ")
    shown += "".join(_escaped(piece) if place % 2 else code(piece) for place, piece in enumerate(rest))
    return Markup(shown)  # noqa: S704 - escaped above


def arrow_type(kind: str) -> Markup:
    """Return an Arrow type for a reader; of nested fields only the names: `list of {kind, text}`."""
    return code(_of(_ELEMENT.sub("<", one_line(kind, LINE * 4))), 120)


def _of(kind: str) -> str:
    inner = kind.partition("<")[2].removesuffix(">")
    if kind.startswith("list<"):
        return f"list of {_of(inner)}"
    if kind.startswith("map<"):
        return "map"
    if kind.startswith("struct<"):
        return f"{{{', '.join(part.partition(':')[0].strip() for part in _parts(inner))}}}"
    return kind


def _parts(inner: str) -> Iterator[str]:
    """Yield the fields of a struct: the parts between commas outside brackets."""
    depth, start = 0, 0
    for place, character in enumerate(inner):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            yield inner[start:place]
            start = place + 1
    yield inner[start:]


def code(value: object, most: int = LINE) -> Markup:
    """Return a name or a type as code, also for tables."""
    text = one_line(str(value), most)
    if not text:
        return Markup("")
    if _PLAIN_CODE.fullmatch(text):
        return Markup(f"`{text}`")  # noqa: S704 - of plain characters alone
    return Markup("<code>{}</code>").format(inline(text, most))


def link(url: str, text: str = "") -> Markup:
    """Return a link to a web address, shown as `text` or else as the address; any other address is text alone."""
    shown = inline(text or url)
    if not url.startswith(("http://", "https://")):
        return shown
    return Markup("[{}]({})").format(shown, quote(url, safe="/:?#@!$&+,;=%~"))


def fenced(text: str, language: str = "") -> Markup:
    """Return a block of code, with a fence longer than any run of backticks in it."""
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return Markup(f"{fence}{language}\n{text.rstrip()}\n{fence}")  # noqa: S704 - cannot leave its fence


def literal(value: str) -> str:
    """Return a text as Python and YAML both write it, on one line."""
    return json.dumps(value)


def codes(names: Iterable[str]) -> Markup:
    """Return names as code."""
    return Markup(", ").join(map(code, names))


def listed(names: Sequence[str], most: int = 4) -> Markup:
    """Return names as code, only the first if there are many."""
    more = len(names) - most
    return codes(names[:most]) + (Markup(f" and {more} more") if more > 0 else Markup(""))  # noqa: S704 - a number


def versions(named: Mapping[str, str]) -> Markup:
    """Return names as code, each with its version."""
    return Markup(", ").join(code(name) + Markup(" ") + inline(version) for name, version in named.items())


def percent(count: int, of: int) -> str:
    """Return a share in per cent; a share of nothing is a dash."""
    return f"{count / of:.1%}" if of else "–"


def decimal(value: float | None) -> str:
    """Return a measure to two places."""
    return "–" if value is None else f"{value:.2f}"


def megabytes(count: int) -> str:
    """Return a number of bytes for a reader."""
    return f"{count / 1e6:,.1f} MB" if count >= 10**6 else f"{count / 1e3:,.1f} kB"


def money(usd: float | None) -> str:
    """Return an amount; `?` if a model's price is not known."""
    return "?" if usd is None else f"${usd:,.4f}"


def environment() -> jinja2.Environment:
    """Return the environment of the Markdown templates in this folder: it shows every value literally."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - every value goes through `finalize`, which escapes it for Markdown
        finalize=inline,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update({"code": code, "counted": counted, "fenced": fenced, "listed": listed, "prose": prose})
    return environment
