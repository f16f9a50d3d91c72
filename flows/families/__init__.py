"""One folder per paper. A new family is a folder here that exports FAMILY, and a file in schemas."""

import importlib
import pkgutil
from collections.abc import Container, Iterable, Iterator
from functools import cache
from importlib.resources import files

from flows.construct.engine import Family, Part
from schemas.errors import Failed


@cache
def family_names() -> tuple[str, ...]:
    """The existing families: every package in this folder."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg))


def load_family(name: str) -> Family:
    """The family's declaration, checked. Raises `KeyError` for an unknown name, `Failed` for a faulty declaration."""
    if name not in family_names():
        raise KeyError(name)
    family = getattr(importlib.import_module(f"{__name__}.{name}"), "FAMILY", None)
    if not isinstance(family, Family):
        raise Failed(f"flows/families/{name}: expected a declaration named FAMILY, found none; add it to __init__.py")
    if family.name != name:
        raise Failed(
            f"flows/families/{name}/__init__.py: FAMILY is named {family.name!r}; name it {name!r}, as its folder"
        )
    check_declaration(family)
    return family


def citation(name: str) -> str:
    """The BibTeX entry of the family's paper, `citation.bib` in its folder; empty if there is none."""
    entry = files(f"{__name__}.{name}") / "citation.bib"
    return entry.read_text(encoding="utf-8").strip() if entry.is_file() else ""


def check_declaration(family: Family) -> None:
    """Raise `Failed` for the first name in a family's declaration that does not exist."""
    for part in family.parts:
        for owner, names, kind, existing in _names(family, part):
            for name in names:
                if name not in existing:
                    raise Failed(f"{family.folder}: {owner} names the {kind} {name}, which does not exist; correct it")


def _names(family: Family, part: Part) -> Iterator[tuple[str, Iterable[str], str, Container[str]]]:
    """Each referring declaration, its names, the kind of thing they name, and all known names of that kind."""
    prompts = {prompt.name for prompt in family.prompts}
    parts = {other.name for other in family.parts}
    # A setting is a field, or a property that joins several.
    settings = {*family.settings.model_fields, *vars(family.settings)}
    fields = part.item.model_fields
    for step in part.steps:
        owner = f"the step {step.name} of {part.name}"
        yield owner, [prompt.name for prompt in step.prompts], "prompt", prompts
        yield owner, step.settings, "setting", family.settings.model_fields  # the fingerprint has fields alone
        yield owner, step.asks.values(), "setting", settings
    if not family.makers(part):
        yield f"`sources` of {part.name}", part.sources, "setting", settings
    yield f"`uses` of {part.name}", part.uses, "part", parts
    if (released := part.released) is not None:
        owner = f"`released` of {part.name}"
        named = (released.together, *released.origin, *released.named_by, *released.text_fields)
        yield owner, (*named, *(column.of for column in released.ready)), "field", fields
        yield owner, released.verification_inputs, "part", parts
    if part.people is not None:
        rubric = part.people.rubric
        owner = f"the rubric {rubric.name}"
        yield owner, rubric.corrects, "field", fields
        yield owner, part.people.fields, "field", {*fields, *vars(part.item)}
        yield owner, [rubric.guideline], "file", {path.name for path in family.folder.iterdir()}
