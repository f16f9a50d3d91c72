"""Puts a family's accepted rows to a model: predictions, one a row and variant."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from flows.compose import Project
from flows.construct.engine import Family
from flows.llm.model import InvalidAnswer, Model, Usage
from schemas.base import Record
from schemas.prediction import Prediction

ROWS_AT_ONCE = 64
"""Rows whose questions are in flight together; the model's own limits decide how many requests are."""


def predict(
    project: Project, family: Family, model: Model, path: Path, limit: int | None, progress: Callable[[int, int], None]
) -> Usage:
    """Ask `model` about the accepted rows and write its predictions to `path`, in the rows' order.

    A refusal or an empty answer is a prediction like any other: it is scored as it stands.
    """
    rows = project.build.accepted(family.name, family.evaluation.part)
    total = min(limit or len(rows), len(rows))
    usage = Usage()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with ExitStack() as stack:
        out = stack.enter_context(temporary.open("w", encoding="utf-8"))
        for start in range(0, total, ROWS_AT_ONCE):
            batch = list(rows.slice(start, min(start + ROWS_AT_ONCE, total)))
            project.run(_ask(family, model, batch, out, usage, project.build.families[family.name].prompts))
            progress(min(start + ROWS_AT_ONCE, total), total)
    temporary.replace(path)
    return usage


async def _ask(family: Family, model: Model, rows: list[Record], out: IO[str], usage: Usage, prompts: Any) -> None:
    async def one(row: Record, variant: str, prompt: Any, inputs: Any) -> Prediction:
        try:
            answer = await model.complete(prompts[prompt.name], inputs, usage=usage)
            text = answer.text
        except InvalidAnswer as invalid:
            text = invalid.answer
        return Prediction(id=row.id, variant=variant, prediction=text, model=model.name)

    asked = [one(row, *request) for row in rows for request in family.evaluation.requests(row)]
    for prediction in await asyncio.gather(*asked):
        out.write(json.dumps(prediction.model_dump(exclude_none=True), ensure_ascii=False) + "\n")


def scored_rows(project: Project, family: Family, limit: int | None) -> Iterator[Any]:
    """What scoring needs of the accepted rows, one after the other."""
    rows = project.build.accepted(family.name, family.evaluation.part)
    return (family.evaluation.scored(row) for row in rows.slice(0, limit or len(rows)))
