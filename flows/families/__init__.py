"""One folder a paper. A new family is a folder here that exports FAMILY, and a file in schemas."""

import importlib
import pkgutil
from functools import cache
from importlib.resources import files

from flows.construct.declaration import check_declaration
from flows.construct.engine import Family
from schemas.errors import Failed


@cache
def family_names() -> tuple[str, ...]:
    """The families there are: every package in this folder."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg))


def load_family(name: str) -> Family:
    """The family's declaration, checked. Raises `KeyError` for an unknown name, `Failed` for a faulty declaration."""
    if name not in family_names():
        raise KeyError(name)
    family = getattr(importlib.import_module(f"{__name__}.{name}"), "FAMILY", None)
    if not isinstance(family, Family):
        raise Failed(f"flows/families/{name}: expected a declaration named FAMILY, found none; add it to __init__.py")
    check_declaration(family)
    return family


def citation(name: str) -> str:
    """The BibTeX entry of the family's paper, `citation.bib` in its folder; empty where there is none."""
    entry = files(f"{__name__}.{name}") / "citation.bib"
    return entry.read_text(encoding="utf-8").strip() if entry.is_file() else ""
