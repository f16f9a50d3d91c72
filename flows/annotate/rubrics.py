"""Every rubric, with its guideline and worked examples.

A family's rubrics are those of its parts, and the `RUBRICS` of its `rubric.py`. Their `guideline*.md` and
`examples.NAME.yaml` are in the family's folder. The guideline for reviewers is here.
"""

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from annotation.review import judging_of
from flows.families import family_names, load_family
from schemas.base import key_of
from schemas.rubric import Rubric, Task

HERE = Path(__file__).parent
EXAMPLE = "example"


class Shipped(NamedTuple):
    """A rubric with its guideline and examples."""

    rubric: Rubric
    guideline: str
    """Markdown."""
    examples: tuple[Task, ...]
    """Tasks with their right answers and the reasons; may be empty."""


def rubrics() -> Mapping[str, Shipped]:
    """Return every rubric of every family, by name. Imports all families."""
    return {
        rubric.name: Shipped(rubric, guideline_of(rubric, folder), examples_of(rubric, folder))
        for rubric, folder in _declared()
    }


def guideline_of(rubric: Rubric, folder: Path) -> str:
    """Return the guideline, in Markdown, of a rubric of the family in `folder`."""
    return _file(folder, rubric.guideline).read_text(encoding="utf-8")


def examples_of(rubric: Rubric, folder: Path) -> tuple[Task, ...]:
    """Return the worked examples of a rubric of the family in `folder`."""
    path = _file(folder, f"examples.{rubric.name}.yaml")
    rows: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []
    return tuple(
        Task(
            key=key_of("task", rubric.name, EXAMPLE, {"number": number}),
            rubric=rubric.name,
            version=rubric.version,
            sample=EXAMPLE,
            item_id=EXAMPLE,
            item_key=EXAMPLE,
            item_view=EXAMPLE,
            **row,
        )
        for number, row in enumerate(rows)
    )


def _declared() -> Iterator[tuple[Rubric, Path]]:
    for name in family_names():
        family = load_family(name)
        people = [part.people for part in family.parts if part.people is not None]
        declared = [rubric for each in people for rubric in (each.rubric, each.review) if rubric is not None]
        declared += [judging_of(each.rubric) for each in people if each.review is not None]
        module = f"flows.families.{name}.rubric"
        if importlib.util.find_spec(module) is not None:
            declared += getattr(importlib.import_module(module), "RUBRICS", ())
        yield from ((rubric, family.folder) for rubric in {one.name: one for one in declared}.values())


def _file(folder: Path, name: str) -> Path:
    return folder / name if (folder / name).exists() else HERE / name
