"""The licence of a configuration's rows, if those of its sources leave no doubt. Licences are never combined."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from schemas.base import SourceRef
from schemas.errors import nearest, raise_all

PUBLIC_DOMAIN = "public domain"
DEDICATIONS = frozenset({"CC0-1.0", "PDDL-1.0", PUBLIC_DOMAIN})
"""Free of all conditions: they change nothing beside another licence."""
KNOWN = (
    "Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MPL-2.0", "AFL-3.0",
    "GPL-2.0", "GPL-3.0", "LGPL-2.1", "LGPL-3.0", "AGPL-3.0",
    "CC0-1.0", "CC-BY-2.0", "CC-BY-2.5", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0",
    "CC-BY-NC-2.0", "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-ND-4.0", "CC-BY-NC-ND-3.0", "CC-BY-NC-ND-4.0",
    "CC-BY-NC-SA-2.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0",
    "CDLA-Sharing-1.0", "CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "C-UDA", "ODbL", "ODC-By", "PDDL-1.0",
    PUBLIC_DOMAIN,
)  # fmt: skip
"""As SPDX writes them, except ODbL, ODC-By and C-UDA, which the Hub writes without their version."""
ON_THE_HUB = {licence: licence.lower() for licence in KNOWN} | {"PDDL-1.0": "pddl", PUBLIC_DOMAIN: "other"}
"""Licence -> its name in a card on the Hub."""
_CREATIVE_COMMONS = re.compile(r"CC-(BY(?:-[A-Z]{2})*)-(\d\.\d)")
_SPDX = {"ODbL": "ODbL-1.0", "ODC-By": "ODC-By-1.0", "C-UDA": "C-UDA-1.0"}
LONGEST = 100
"""Characters of a licence's name that an error repeats."""

_IGNORED = re.compile(r"[\s_-]+|\b(?:licen[cs]e|version)\b", re.IGNORECASE)
_BEFORE_DIGIT = re.compile(r"(?<=[a-z])v(?=\d)")


def _plain(stated: str) -> str:
    return _BEFORE_DIGIT.sub("", _IGNORED.sub("", stated).lower())


_BY_PLAIN = {_plain(licence): licence for licence in KNOWN}


def normalised(stated: str) -> str:
    """Return the licence as SPDX writes it if only spaces, hyphens and case differ ("CC BY-SA 4.0"), else as stated."""
    return _BY_PLAIN.get(_plain(stated), " ".join(stated.split()))


def hub_licence(licence: str) -> str:
    """Return the Hub's name for a licence in a card's metadata; `other` if it has none."""
    return ON_THE_HUB.get(normalised(licence), "other")


def licence_text(stated: str) -> str | None:
    """Return the address of a licence's text; None if the licence is not known, or has no text."""
    licence = normalised(stated)
    if licence not in KNOWN or licence == PUBLIC_DOMAIN:
        return None
    if licence == "CC0-1.0":
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    if (parts := _CREATIVE_COMMONS.fullmatch(licence)) is not None:
        return f"https://creativecommons.org/licenses/{parts[1].lower()}/{parts[2]}/"
    return f"https://spdx.org/licenses/{_SPDX.get(licence, licence)}.html"


def licences_of(
    sources: Mapping[str, Iterable[SourceRef]], declared: str | Mapping[str, str] | None = None
) -> Mapping[str, str]:
    """Return configuration -> licence; `sources` are those that its rows name or may hold text of.

    A declared licence (`release.licence`: one for all, or configuration -> licence) counts. Otherwise all sources have
    to state the same licence; dedications to the public domain do not matter, and of dedications alone the first by
    name counts. Raises `WrongInput` for all configurations where that does not give exactly one.
    """
    if isinstance(declared, str):
        return dict.fromkeys(sources, normalised(declared))
    declared = declared or {}
    raise_all(unknown(declared, sources))
    raise_all([*undetermined(sources, declared).values()])
    return {
        name: normalised(declared[name]) if name in declared else _only(_stated(refs)) or ""
        for name, refs in sources.items()
    }


def unknown(declared: Iterable[str], names: Collection[str]) -> Sequence[str]:
    """Return a line for each configuration that a licence is declared for and that is not among the names."""
    strange = [name for name in declared if name not in names]
    return [f"release.licence.{name}: there is no such configuration; {nearest(name, names)}" for name in strange]


def undetermined(
    sources: Mapping[str, Iterable[SourceRef]],
    declared: str | Mapping[str, str] | None,
    unnamed: Collection[str] = (),
) -> Mapping[str, str]:
    """Return the configurations whose licence nothing determines, each with a line that says so.

    The `unnamed` are parts of several configurations, whose names are not known before they are built.
    """
    if isinstance(declared, str):
        return {}
    stated = {name: _stated(refs) for name, refs in sources.items() if name not in (declared or {})}
    return {
        name: _problem(name, statements, named=name not in unnamed)
        for name, statements in stated.items()
        if _only(statements) is None
    }


_Statement = tuple[str, str | None]
"""The name of a source, and its licence, if it states one."""


def _stated(refs: Iterable[SourceRef]) -> frozenset[_Statement]:
    return frozenset(
        (ref.source, None if ref.licence is None or not ref.licence.strip() else normalised(ref.licence))
        for ref in refs
    )


def _only(statements: Iterable[_Statement]) -> str | None:
    """Return the one licence that sources give; None if they do not give exactly one."""
    licences = {licence for _, licence in statements}
    stated = sorted(licence for licence in licences if licence is not None)
    binding = [licence for licence in stated if licence not in DEDICATIONS]
    return (*binding, *stated)[0] if stated and None not in licences and len(binding) <= 1 else None


def _problem(name: str, statements: Iterable[_Statement], *, named: bool) -> str:
    sources = ", ".join(
        f"{_cut(source)} ({_cut(licence) if licence else 'none stated'})"
        for source, licence in sorted(statements, key=lambda pair: (pair[0], pair[1] or ""))
    )
    one_for_all = "one for all: release: {licence: ...}"
    declare = f"it: release: {{licence: {{{name}: ...}}}}, or one for all" if named else one_for_all
    silent = any(licence is None for _, licence in statements)
    return (
        f"{name}: its sources do not determine the licence of its rows: {sources or 'it has no sources'}; "
        f"declare {declare}{', or state the licence of each source, and run the build again' if silent else ''}"
    )


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
