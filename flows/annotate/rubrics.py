"""Every rubric there is, with the guideline and the worked examples that go with it.

A family's rubrics are those that its parts ask, and the `RUBRICS` of its `rubric.py` beside them; they lie in its
folder with `guideline*.md` and `examples.NAME.yaml`. What reviewers of any author's work read lies here.
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
    """A rubric with what people learn it from."""

    rubric: Rubric
    guideline: str
    """Markdown."""
    examples: tuple[Task, ...]
    """Tasks with their right answers and why those are right; none where nothing was worked out."""


def rubrics() -> Mapping[str, Shipped]:
    """By name, every rubric of every family. Imports them all."""
    return {
        rubric.name: Shipped(rubric, guideline_of(rubric, folder), examples_of(rubric, folder))
        for rubric, folder in _declared()
    }


def guideline_of(rubric: Rubric, folder: Path) -> str:
    """The guideline of a rubric of the family in `folder`, in Markdown."""
    return _lies(folder, rubric.guideline).read_text(encoding="utf-8")


def examples_of(rubric: Rubric, folder: Path) -> tuple[Task, ...]:
    """The worked examples of a rubric of the family in `folder`."""
    path = _lies(folder, f"examples.{rubric.name}.yaml")
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
        declared = [one for each in people for one in (each.rubric, each.review) if one is not None]
        declared += [judging_of(each.rubric) for each in people if each.review is not None]
        module = f"flows.families.{name}.rubric"
        if importlib.util.find_spec(module) is not None:
            declared += getattr(importlib.import_module(module), "RUBRICS", ())
        yield from ((one, family.folder) for one in {one.name: one for one in declared}.values())


def _lies(folder: Path, name: str) -> Path:
    return folder / name if (folder / name).exists() else HERE / name
