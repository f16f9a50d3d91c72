"""Values as Markdown that shows them and obeys none of them: no markup, HTML, cell or fence begins or ends in one."""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from markupsafe import Markup

from schemas.base import odd_character

LINE: Final = 300
"""Characters of a value that the card shows, unless it says otherwise."""

_MARKDOWN = re.compile(r"[\\`*_\[\]|~$]")
HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_OPENING = re.compile(r"^(?:[#+\-=:]|\d+(?=[.)](?:\s|$)))")
_PLAIN_CODE = re.compile(r"[\w .,:;/@=+(){}\[\]-]+", re.ASCII)
_NAMED = re.compile(r"`([\w ,./:=<>-]+)`", re.ASCII)
_ELEMENT = re.compile(r"<(?:element|item): ")


def one_line(text: str, most: int = LINE) -> str:
    """`text` on one line without controls and marks that are not seen, cut where it is longer than `most`."""
    head = text[: most * 4]  # enough, whatever falls away of it: a value may be megabytes long
    plain = " ".join("".join(" " if one.isspace() else one for one in head if one.isspace() or is_seen(one)).split())
    return plain if len(plain) <= most and len(head) == len(text) else f"{plain[: most - 1]}…"


def is_seen(character: str) -> bool:
    """Whether a character shows, and nothing else."""
    return odd_character(character) is None and unicodedata.category(character) != "Cn"


def inline(value: object, most: int = LINE) -> Markup:
    """A value as Markdown that shows it: no markup, no HTML, no cell of a table begins or ends in it."""
    if isinstance(value, Markup):
        return value
    text = _escaped(one_line(str(value), most))
    opening = _OPENING.match(text)
    if opening:
        text = f"\\{text}" if opening.end() == 1 and not text[0].isdigit() else f"{opening[0]}\\{text[opening.end() :]}"
    return Markup(text)  # noqa: S704 - escaped above


def _escaped(text: str) -> str:
    return "".join(HTML.get(one, one) for one in _MARKDOWN.sub(r"\\\g<0>", text))


def prose(value: object, most: int = LINE) -> Markup:
    """A description in our own words, whose `names` are code; whatever else is in it is shown as it is."""
    first, *rest = _NAMED.split(one_line(str(value), most))
    shown = str(inline(first, most)) + " " * first.endswith(" ")
    shown += "".join(_escaped(piece) if place % 2 else code(piece) for place, piece in enumerate(rest))
    return Markup(shown)  # noqa: S704 - escaped above


def arrow_type(kind: str) -> Markup:
    """An Arrow type for a reader: of what is nested the names alone, `list of {kind, text}`."""
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
    """The fields of a struct: what commas part that stand in no bracket."""
    depth, start = 0, 0
    for place, character in enumerate(inner):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            yield inner[start:place]
            start = place + 1
    yield inner[start:]


def code(value: object, most: int = LINE) -> Markup:
    """A name or a type as code; in tables too."""
    text = one_line(str(value), most)
    if not text:
        return Markup("")
    if _PLAIN_CODE.fullmatch(text):
        return Markup(f"`{text}`")  # noqa: S704 - of plain characters alone
    return Markup("<code>{}</code>").format(inline(text, most))


def fenced(text: str, language: str = "") -> Markup:
    """A block of code whose fence is longer than any run of backticks in it."""
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return Markup(f"{fence}{language}\n{text.rstrip()}\n{fence}")  # noqa: S704 - cannot leave its fence


def literal(value: str) -> str:
    """A text as Python and YAML both write it, on one line."""
    return json.dumps(value)


def codes(names: Iterable[str]) -> Markup:
    """Several names as code."""
    return Markup(", ").join(map(code, names))


def listed(names: Sequence[str], most: int = 4) -> Markup:
    """Several names as code, of many the first ones."""
    more = len(names) - most
    return codes(names[:most]) + (Markup(f" and {more} more") if more > 0 else Markup(""))  # noqa: S704 - a number


def versions(named: Mapping[str, str]) -> Markup:
    """Names as code, each with its version."""
    return Markup(", ").join(code(name) + Markup(" ") + inline(version) for name, version in named.items())


def percent(count: int, of: int) -> str:
    """A share; of nothing there is none."""
    return f"{count / of:.1%}" if of else "–"


def decimal(value: float | None) -> str:
    """A measure to two places."""
    return "–" if value is None else f"{value:.2f}"


def megabytes(count: int) -> str:
    """Bytes for a reader."""
    return f"{count / 1e6:,.1f} MB" if count >= 10**6 else f"{count / 1e3:,.1f} kB"


def money(usd: float | None) -> str:
    """An amount; `?` where a model's price is not known."""
    return "?" if usd is None else f"${usd:,.4f}"
