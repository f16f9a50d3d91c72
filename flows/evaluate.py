"""Puts a family's accepted rows to a model: predictions, one a row and variant (and prompting and shots)."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import IO, Any

from data.store import Stage
from flows.compose import Project
from flows.construct.engine import Family, Request
from flows.llm.endpoint import Endpoint
from flows.llm.model import InvalidAnswer, Model, Usage
from flows.llm.truncation import PretrainedTokenizer, cut_to
from schemas.base import Record
from schemas.errors import WrongInput
from schemas.prediction import Prediction

EVALUATED = "evaluated"
"""The role of the model that is asked."""
ROWS_AT_ONCE = 64
"""Rows whose questions are in flight together; the model's own limits decide how many requests are."""
LONG_ROWS_AT_ONCE = 8
"""The same, of rows with a text of up to 1.5 MB, which several questions of a row repeat."""


class EvaluatedRows:
    """The accepted rows that are put to a model, part after part, read from disk as they are asked for."""

    def __init__(self, stages: list[Stage[Any]], limit: int | None) -> None:
        """With a `limit`, so many rows of each part: of one in several files, of each file as many as of the others."""
        self._pieces = [piece for stage in stages for piece in _pieces(stage, limit)]

    def __len__(self) -> int:
        return sum(stop - start for _, start, stop in self._pieces)

    def __iter__(self) -> Iterator[Any]:
        for stage, start, stop in self._pieces:
            yield from stage.slice(start, stop)

    def batches(self) -> Iterator[list[Any]]:
        """The rows, some at a time."""
        for stage, first, last in self._pieces:
            size = LONG_ROWS_AT_ONCE if _in_files(stage) else ROWS_AT_ONCE
            for start in range(first, last, size):
                yield list(stage.slice(start, min(start + size, last)))


def _in_files(stage: Stage[Any]) -> bool:
    """Whether its rows are finished files, each of one kind (a dataset and level), of long texts."""
    return any(shard.rows for shard in stage.manifest.shards)


def _pieces(stage: Stage[Any], limit: int | None) -> list[tuple[Stage[Any], int, int]]:
    """The stretches of a stage that are asked about, as start and stop."""
    sizes = [shard.kept for shard in stage.manifest.shards] if _in_files(stage) else [len(stage)]
    taken, left = [0] * len(sizes), len(stage) if limit is None else limit
    for number, place in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):  # the small ones leave more
        taken[place] = min(sizes[place], -(-left // (len(sizes) - number)))
        left -= taken[place]
    starts = [stop - size for stop, size in zip(accumulate(sizes), sizes, strict=True)]
    return [(stage, start, start + count) for start, count in zip(starts, taken, strict=True) if count]


def evaluated_rows(project: Project, family: Family, limit: int | None) -> EvaluatedRows:
    """The rows of the evaluated parts that the build has. Raises `WrongInput` where it has none of them."""
    there = [part.name for one, part in project.build.parts() if one.name == family.name]
    parts = [name for name in family.evaluation.parts if name in there]
    if not parts:
        raise WrongInput(
            f"{family.name}: this build has none of the parts that are put to a model "
            f"({', '.join(family.evaluation.parts)}); build one of them"
        )
    return EvaluatedRows([project.build.accepted(family.name, name) for name in parts], limit)


def predict(
    project: Project,
    family: Family,
    model: Model,
    rows: EvaluatedRows,
    path: Path,
    progress: Callable[[int, int], None],
) -> Usage:
    """Ask `model` about the rows and write its predictions to `path`, in the rows' order.

    A refusal or an empty answer is a prediction like any other: it is scored as it stands. Rows of one id
    are one question (two pivots may have made the same case): it is asked once.
    """
    one = project.build.families[family.name]
    # A family may ask its pivot by the same prompts; here another role is asked.
    prompts = {prompt.name: replace(one.prompts[prompt.name], role=EVALUATED) for prompt in family.evaluation.prompts}
    if isinstance(model, Endpoint) and model.settings.window and model.settings.tokenizer:
        tokenizer = PretrainedTokenizer(model.settings.tokenizer)
        prompts = {name: cut_to(prompt, tokenizer, model.settings.window) for name, prompt in prompts.items()}
    usage = Usage()
    done = 0
    asked: set[str] = set()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with ExitStack() as stack:
        out = stack.enter_context(temporary.open("w", encoding="utf-8"))
        for batch in rows.batches():
            new = [row for row in {row.id: row for row in batch}.values() if row.id not in asked]
            asked.update(row.id for row in new)
            requests = [(row, request) for row in new for request in family.evaluation.requests(row, one.settings)]
            project.run(_ask(model, requests, out, usage, prompts))
            done += len(batch)
            progress(done, len(rows))
    temporary.replace(path)
    return usage


async def _ask(model: Model, requests: list[tuple[Record, Request]], out: IO[str], usage: Usage, prompts: Any) -> None:
    async def one(row: Record, request: Request) -> Prediction:
        try:
            answer = await model.complete(prompts[request.prompt.name], request.inputs, usage=usage)
            text = answer.text
        except InvalidAnswer as invalid:
            text = invalid.answer
        return Prediction(
            id=row.id,
            variant=request.variant,
            prediction=text,
            model=model.name,
            prompting=request.prompting,
            shots=request.shots,
        )

    for prediction in await asyncio.gather(*(one(row, request) for row, request in requests)):
        out.write(json.dumps(prediction.model_dump(exclude_none=True), ensure_ascii=False) + "\n")
