"""The guideline and the worked examples of a rubric.

Both are in the family's folder: `guideline*.md` and `examples.NAME.yaml`. The guideline for reviewers is here.
"""

from pathlib import Path
from typing import Any

import yaml

from schemas.base import key_of
from schemas.rubric import Rubric, Task

HERE = Path(__file__).parent
EXAMPLE = "example"


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


def _file(folder: Path, name: str) -> Path:
    return folder / name if (folder / name).exists() else HERE / name
