"""Guidelines and worked examples: in the family's folder; those for reviews and questionnaires in this one."""

from pathlib import Path
from typing import Any

import yaml

from schemas.base import key_of
from schemas.rubric import ENGLISH, Rubric, Task

HERE = Path(__file__).parent
EXAMPLE = "example"


def guideline_of(rubric: Rubric, folder: Path) -> str:
    """Return the guideline, in Markdown, of a rubric of the family in `folder`."""
    return _file(folder, rubric.guideline).read_text(encoding="utf-8")


def examples_file(rubric: Rubric) -> str:
    """Return the name of the file with the worked examples of a rubric: `examples.lveval-keywords.zh.yaml`."""
    return f"examples.{rubric.name}{'' if rubric.language == ENGLISH else f'.{rubric.language}'}.yaml"


def examples_of(rubric: Rubric, folder: Path) -> tuple[Task, ...]:
    """Return the worked examples of a rubric of the family in `folder`, in the rubric's language.

    An example has the same key and the same right answers in all languages: who answers it in one has practised it.
    """
    path = _file(folder, examples_file(rubric))
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
            language=rubric.language,
            **row,
        )
        for number, row in enumerate(rows)
    )


def _file(folder: Path, name: str) -> Path:
    return folder / name if (folder / name).exists() else HERE / name
