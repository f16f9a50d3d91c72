"""Puts a family's accepted rows to a model: predictions, one a row and variant (and prompting and shots).

Where it takes dialogues, parts of the build are made anew with the model in place of the build's own.
"""

import asyncio
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from data.publish.rows import ADDED
from data.sources.files import json_lines
from data.sources.spec import Row
from data.store import Stage
from flows.compose import Project
from flows.construct.engine import Choice, Family, HeldContext, Request
from flows.construct.stages import Anew, Build, FamilyBuild, StageRef, side_by_side
from flows.estimate import expected_calls
from flows.llm.endpoint import Endpoint
from flows.llm.model import InvalidAnswer, Model, Prompt, Usage
from flows.llm.options import LikelihoodModel, Options
from flows.llm.truncation import PretrainedTokenizer, cut_to
from flows.locks import one_evaluation
from flows.scoring.attention import AttentionModel, ChunkedText, attention_tables, pointed_shares
from flows.scoring.likelihood import SCORES
from flows.scoring.tables import ScoreTables
from flows.watch import Watcher
from schemas.base import Dropped, Frozen, Record
from schemas.errors import WrongInput, first_problem
from schemas.manifest import ShardManifest, UsageOfPrompt, sum_usage
from schemas.prediction import Prediction

EVALUATED = "evaluated"
"""The role of the model that is asked."""
ROWS_AT_ONCE = 64
"""Rows whose questions are in flight together; the model's own limits decide how many requests are."""
WEIGHED_AT_ONCE = 16
"""Rows whose options are weighed together: prompts among them that begin alike are read one after the other."""
LONG_ROWS_AT_ONCE = 8
"""The same, of rows with a text of up to 1.5 MB, which several questions of a row repeat."""
SHARDS_AT_ONCE = 8
"""Shards of dialogues in work at once: this bounds memory."""


One = TypeVar("One", bound=Frozen)


class Rows(Protocol):
    """What is put to a model, some rows at a time."""

    def __len__(self) -> int: ...
    def batches(self, most: int) -> Iterator[list[Any]]: ...


class GivenRows:
    """Rows that are at hand."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def batches(self, most: int) -> Iterator[list[Any]]:
        """The rows, some at a time."""
        for start in range(0, len(self._rows), most):
            yield list(self._rows[start : start + most])


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

    def sampled(self, long: int) -> Iterator[tuple[Any, float]]:
        """The rows, each with how many it stands for: of a file of long texts, `long` of its rows."""
        for stage, start, stop in self._pieces:
            if not _in_files(stage):
                yield from ((row, 1.0) for row in stage.slice(start, stop))
                continue
            taken = min(long, stop - start)
            for place in range(taken):
                at = start + place * (stop - start) // taken
                yield from ((row, (stop - start) / taken) for row in stage.slice(at, at + 1))

    def batches(self, most: int = ROWS_AT_ONCE) -> Iterator[list[Any]]:
        """The rows, some at a time."""
        for stage, first, last in self._pieces:
            size = LONG_ROWS_AT_ONCE if _in_files(stage) else most
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

    def ask(batch: list[Any]) -> Iterable[Prediction]:
        requests = [(row, request) for row in batch for request in family.evaluation.requests(row, one.settings)]
        return project.run(_ask(model, requests, usage, prompts))

    with one_evaluation(project.state, path):
        _write(rows, rows.batches(), path, progress, ask)
    return usage


def weigh(
    project: Project,
    family: Family,
    model: LikelihoodModel,
    rows: Rows,
    path: Path,
    progress: Callable[[int, int], None],
) -> Usage:
    """Have `model` weigh the rows' options and write their scores to `path`, in the rows' order, as `predict` does."""
    choices = family.evaluation.choices
    assert choices is not None
    settings = project.build.families[family.name].settings
    usage = Usage()

    def ask(batch: list[Any]) -> Iterable[Prediction]:
        asked = [(row, choice) for row in batch for choice in choices(row, settings)]
        return project.run(_weigh(model, asked, usage))

    with one_evaluation(project.state, path):
        _write(rows, rows.batches(WEIGHED_AT_ONCE), path, progress, ask)
    return usage


def attend(
    family: Family, model: AttentionModel, rows: EvaluatedRows, progress: Callable[[int, int], None]
) -> ScoreTables:
    """Where the tokens of the rows' responses look, by layer."""
    chunks = family.evaluation.chunks
    assert chunks is not None

    def shares() -> Iterator[tuple[ChunkedText, Any]]:
        for done, row in enumerate(rows, 1):
            text = chunks(row)
            yield text, pointed_shares(model, text)
            progress(done, len(rows))

    return attention_tables(model.name, shares())


def build_with(project: Project, family: Family, name: str, limit: int | None) -> Build:
    """The build, with the parts that dialogues are held and rated in to be made anew, with the model of that name.

    They lie in the build's store, each stage under what it depends on: what the build, or an earlier evaluation, has
    made so already is there, and nothing of it changes. With a `limit`, of so many records. Raises `WrongInput`.
    """
    held = family.evaluation.held
    assert held is not None
    evaluated_rows(project, family, limit)
    one = project.build.families[family.name]
    settings = one.settings.model_copy(update={held.models: (name,)})
    models = {**one.models, name: project.model(name, family)}
    if family.ready is not None:
        family.ready(settings, models)
    return Build(
        [FamilyBuild(family, settings, one.prompts, models)],
        store=project.store,
        seed=project.build.seed,
        limit=project.build.limit,
        embedder=project.embedder,
        verdicts=project.verdicts,
        built=project.built,
        anew=Anew(family.name, held.parts, limit),
    )


def hold(project: Project, family: Family, build: Build, watcher: Watcher) -> UsageOfPrompt:
    """Make what is not made yet of a build by `build_with`, shard by shard, and tell what was asked for it now.

    What was finished when a run was killed is not run again; what was answered in the rest comes from the cache.
    """
    held = family.evaluation.held
    assert held is not None
    asked: list[Mapping[str, UsageOfPrompt]] = []
    build.called = watcher.called
    for ref in (ref for name in held.parts for ref in build.stages(family, family.part(name))):
        before = build.manifest(ref)
        if before is None:
            files, spans = build.files(ref), build.shards(ref)
            there = {index for index in range(len(spans)) if files.shard(index) is not None}
            watcher.started(ref, len(spans), expected_calls(build, ref))
            shards = project.run(_run_shards(build, ref, spans, watcher))
            asked += [shard.usage for shard in shards if shard.index not in there]
            build.finish(ref, shards)
        manifest = build.manifest(ref)
        assert manifest is not None
        watcher.finished(ref, manifest, before=before is not None, example=None)
    total = sum_usage({"all": one} for usage in asked for one in usage.values())
    return total.get("all", UsageOfPrompt())


async def _run_shards(
    build: Build, ref: StageRef, spans: Sequence[tuple[int, int]], watcher: Watcher
) -> list[ShardManifest]:
    """All shards of a stage, in order. The first failure ends the rest; those that are finished stay so."""
    room = asyncio.Semaphore(SHARDS_AT_ONCE)
    done = 0

    async def one(index: int, span: tuple[int, int]) -> ShardManifest:
        nonlocal done
        async with room:
            shard = await build.run_shard(ref, index, *span)
        done += 1
        watcher.advanced(ref, done, len(spans))
        return shard

    return await side_by_side(one(index, span) for index, span in enumerate(spans))


def held_context(family: Family, build: Build) -> HeldContext:
    """What the tables may read of a finished build, of its own or by `build_with`."""

    def dropped(name: str) -> Iterator[Dropped]:
        for ref in build.stages(family, family.part(name)):
            yield from build.read(ref).dropped()

    return HeldContext(
        build.families[family.name].settings, build.seed, lambda name: build.accepted(family.name, name), dropped
    )


DROPPED = "dropped"


def write_held(family: Family, context: HeldContext, stem: Path) -> list[Path]:
    """Write an evaluation's records to `STEM.PART.jsonl`, and what was dropped, and why, to `STEM.dropped.jsonl`."""
    held = family.evaluation.held
    assert held is not None
    paths = []
    for part in held.parts:
        paths.append(_beside(stem, part))
        write_records(context.records(part), paths[-1])
    paths.append(_beside(stem, DROPPED))
    write_records((one for part in held.parts for one in context.dropped(part)), paths[-1])
    return paths


def given_context(family: Family, project: Project, path: Path) -> HeldContext:
    """What the tables may read of the last part's records in a file, and of what lies beside it by `write_held`.

    Columns that a release adds are left out. Raises `WrongInput` for a row that is no such record.
    """
    held = family.evaluation.held
    assert held is not None
    *earlier, last = held.parts
    records = {last: read_records(path, family, last)}
    stem = path.with_name(path.name.removesuffix(f".{last}.jsonl"))
    dropped: list[Dropped] = []
    if stem != path and all(_beside(stem, name).is_file() for name in (*earlier, DROPPED)):
        records |= {name: read_records(_beside(stem, name), family, name) for name in earlier}
        advice = f"a row tells what was dropped; `touchstone evaluate {family.name}` writes them"
        dropped = [_row_as(Dropped, row, advice) for row in json_lines(str(_beside(stem, DROPPED)))]
    steps = {name: {step.name for step in family.part(name).steps} for name in held.parts}

    def of(name: str) -> Iterable[Any]:
        if name in held.parts:
            return records.get(name, ())
        return project.build.accepted(family.name, name)

    return HeldContext(
        project.build.families[family.name].settings,
        project.build.seed,
        of,
        lambda name: [one for one in dropped if one.step in steps[name]],
    )


def read_records(path: Path, family: Family, part: str) -> list[Record]:
    """The records of a part in a JSONL file. Raises `WrongInput` for a row that is none, or a key that stands twice."""
    item = family.part(part).item
    added = {field.name for field in ADDED} - set(item.model_fields)
    advice = f"a row is a record of {family.name}-{part}; `touchstone evaluate {family.name}` writes them"
    found: dict[str, Record] = {}
    for row in json_lines(str(path)):
        record = _row_as(item, row, advice, added)
        if record.key in found:
            raise row.error(f"the key {record.key} stands twice", "give one row for each")
        found[record.key] = record
    return list(found.values())


def _row_as(kind: type[One], row: Row, advice: str, added: Collection[str] = ()) -> One:
    try:
        return kind.model_validate({name: value for name, value in row.values.items() if name not in added})
    except ValidationError as error:
        raise row.error(first_problem(error, "the row"), advice) from error


def _beside(stem: Path, name: str) -> Path:
    return stem.with_name(f"{stem.name}.{name}.jsonl")


def write_records(records: Iterable[Frozen], path: Path) -> None:
    """Write records as JSONL, to a file that is there when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as out:
        for record in records:
            out.write(record.model_dump_json() + "\n")
    temporary.replace(path)


def _write(
    rows: Rows,
    batches: Iterable[list[Any]],
    path: Path,
    progress: Callable[[int, int], None],
    ask: Callable[[list[Any]], Iterable[Prediction]],
) -> None:
    """Write the predictions of each row, once for each id, to a file that is there when it is whole."""
    done = 0
    asked: set[str] = set()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as out:
        for batch in batches:
            new = [row for row in {row.id: row for row in batch}.values() if row.id not in asked]
            asked.update(row.id for row in new)
            for prediction in ask(new):
                written = prediction.model_dump(
                    exclude_none=True, exclude={"prediction"} if prediction.scores else None
                )
                out.write(json.dumps(written, ensure_ascii=False) + "\n")
            done += len(batch)
            progress(done, len(rows))
    temporary.replace(path)


async def _ask(
    model: Model, requests: list[tuple[Record, Request]], usage: Usage, prompts: Mapping[str, Prompt[Any]]
) -> list[Prediction]:
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

    return await asyncio.gather(*(one(row, request) for row, request in requests))


async def _weigh(model: LikelihoodModel, asked: list[tuple[Record, Choice]], usage: Usage) -> list[Prediction]:
    options = [Options(choice.prompt, tuple(choice.options.values())) for _, choice in asked]
    return [
        Prediction(
            id=row.id,
            variant=name,
            scores={kind: score(likelihood) for kind, likelihood in zip(choice.options, likelihoods, strict=True)},
            model=model.name,
            prompting=choice.prompting,
            shots=choice.shots,
        )
        for (row, choice), likelihoods in zip(asked, await model.likelihoods(options, usage=usage), strict=True)
        for name, score in SCORES.items()
    ]
