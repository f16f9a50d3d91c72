"""Every rubric that the families ship, with its guideline and worked examples."""

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from annotation.review import judging_of
from flows.annotate.guidelines import examples_of, guideline_of
from flows.families import family_names, load_family
from schemas.rubric import Rubric, Task


class Shipped(NamedTuple):
    """A rubric with its guideline and examples."""

    rubric: Rubric
    guideline: str
    examples: tuple[Task, ...]


def declared_rubrics() -> Iterator[tuple[Rubric, Path]]:
    """Yield the rubrics of every family's parts, and the `RUBRICS` of its `rubric.py`, with the family's folder."""
    for name in family_names():
        family = load_family(name)
        people = [part.people for part in family.parts if part.people is not None]
        declared = [rubric for each in people for rubric in (each.rubric, each.review) if rubric is not None]
        declared += [judging_of(each.rubric) for each in people if each.review is not None]
        module = f"flows.families.{name}.rubric"
        if importlib.util.find_spec(module) is not None:
            declared += getattr(importlib.import_module(module), "RUBRICS", ())
        yield from ((rubric, family.folder) for rubric in {rubric.name: rubric for rubric in declared}.values())


def rubrics() -> Mapping[str, Shipped]:
    """Return every rubric of every family, by name. Imports all families."""
    return {
        rubric.name: Shipped(rubric, guideline_of(rubric, folder), examples_of(rubric, folder))
        for rubric, folder in declared_rubrics()
    }
