"""Puts a family's accepted rows to a model: predictions, one a row and variant (and prompting and shots).

Where it takes dialogues, parts of the build are made anew with the model in place of the build's own.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from data.publish.rows import ADDED
from data.sources.files import json_lines
from data.sources.spec import Row
from data.stage_files import Stage
from data.whole_file import whole_file
from flows.construct.engine import Family
from flows.construct.evaluation import Choice, ChunkedText, DialogueContext, DialogueEvaluation, Request
from flows.construct.settings import FamilySettings
from flows.construct.stages import Anew, Build, FamilyBuild, StageRef, side_by_side
from flows.evaluate.attention import AttentionModel, attention_tables, pointed_shares
from flows.llm.likelihood import SCORES
from flows.llm.model import CUT_OFF, TOO_LONG, BudgetSpent, InvalidAnswer, Model, NoAnswer, Out, Prompt, Usage
from flows.llm.options import Likelihood, LikelihoodModel, Options, TooLong
from flows.project.locks import one_evaluation, one_stage
from flows.project.progress import ProgressListener
from flows.project.project import Project
from flows.run.estimate import expected_calls
from flows.scoring.tables import ScoreTables
from schemas.base import Dropped, Frozen, Record
from schemas.errors import WrongInput, first_problem
from schemas.manifest import ShardManifest
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


class NothingAnswered(BudgetSpent):
    """The budget was spent before there was an answer: no file was written, and one of before is as it was."""


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

    def __init__(
        self,
        stages: list[Stage[Any]],
        limit: int | None,
        chosen: Callable[[Any], bool] | None = None,
    ) -> None:
        """The rows that are `chosen`, by default all.

        With a `limit`, so many of each part: of one in several files, of each file as many as of the others.
        """
        self._pieces = [piece for stage in stages for piece in _pieces(stage, limit, chosen)]
        self.built = sum(map(len, stages))
        """How many rows there are, chosen or not."""
        self.notes: tuple[str, ...] = ()
        """What a reader of their scores should know."""

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


def _pieces(
    stage: Stage[Any], limit: int | None, chosen: Callable[[Any], bool] | None
) -> list[tuple[Stage[Any], int, int]]:
    """The stretches of a stage that are asked about, as start and stop."""
    groups = _files(stage, chosen) if _in_files(stage) else [_stretches(stage, chosen)]
    sizes = [sum(stop - start for start, stop in stretches) for stretches in groups]
    taken, left = [0] * len(sizes), len(stage) if limit is None else limit
    for number, place in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):  # the small ones leave more
        taken[place] = min(sizes[place], -(-left // (len(sizes) - number)))
        left -= taken[place]
    pieces = []
    for stretches, count in zip(groups, taken, strict=True):
        wanted = count
        for start, stop in stretches:
            if wanted > 0:
                pieces.append((stage, start, min(stop, start + wanted)))
                wanted -= stop - start
    return pieces


def _files(stage: Stage[Any], chosen: Callable[[Any], bool] | None) -> list[list[tuple[int, int]]]:
    """The chosen files of a stage, as start and stop: the rows of a file are of one kind, so its first tells."""
    sizes = [shard.kept for shard in stage.manifest.shards]
    spans = [(stop - size, stop) for stop, size in zip(accumulate(sizes), sizes, strict=True) if size]
    return [
        [(start, stop)]
        for start, stop in spans
        if chosen is None or any(chosen(row) for row in stage.slice(start, start + 1))
    ]


def _stretches(stage: Stage[Any], chosen: Callable[[Any], bool] | None) -> list[tuple[int, int]]:
    """The chosen rows of a stage, as start and stop of those that follow each other."""
    if chosen is None:
        return [(0, len(stage))]
    kept = groupby(enumerate(map(chosen, stage)), key=lambda one: one[1])
    runs = [[place for place, _ in run] for is_chosen, run in kept if is_chosen]
    return [(run[0], run[-1] + 1) for run in runs]


def settings_now(project: Project, family: Family) -> FamilySettings:
    """The build's settings, but for those of evaluations, which are as the configuration says now."""
    built, evaluation = project.build.families[family.name].settings, family.evaluation
    names = [*evaluation.settings, *([evaluation.selection.setting] if evaluation.selection else ())]
    if not names:
        return built
    now = project.settings_now[family.name]
    return built.model_copy(update={name: getattr(now, name) for name in names})


def evaluated_rows(project: Project, family: Family, limit: int | None) -> EvaluatedRows:
    """The rows of the evaluated parts that the build has, and the configuration wants now.

    What it wants and the build has not is noted. Raises `WrongInput` where there are none.
    """
    there = [part.name for one, part in project.build.parts() if one.name == family.name]
    parts = [name for name in family.evaluation.parts if name in there]
    if not parts:
        raise WrongInput(
            f"{family.name}: this build has none of the parts that are put to a model "
            f"({', '.join(family.evaluation.parts)}); build one of them"
        )
    stages = [project.build.accepted(family.name, name) for name in parts]
    if not any(map(len, stages)):
        raise WrongInput(
            f"{family.name}: this build has no rows to be put to a model: nothing was kept, or people have yet to "
            "write what is theirs (`touchstone annotate push`)"
        )
    selection = family.evaluation.selection
    if selection is None:
        return EvaluatedRows(stages, limit)
    name = selection.setting
    wanted = dict.fromkeys(getattr(settings_now(project, family), name))
    if wanted.keys() == set(getattr(project.build.families[family.name].settings, name)):
        return EvaluatedRows(stages, limit)
    built = set()

    def chosen(row: Any) -> bool:
        built.add(selection.of(row))
        return selection.of(row) is None or selection.of(row) in wanted

    rows = EvaluatedRows(stages, limit, chosen)
    if lacking := [str(one) for one in wanted if one not in built]:
        said = (
            f"families.{family.name}.{name}: {', '.join(lacking)}: this build has no rows of it; "
            f"`touchstone run {project.config_path} --out {project.out}` builds them, where the sources suffice"
        )
        if not len(rows):
            raise WrongInput(f"{project.config_path}: {said}")
        rows.notes = (said,)
    return rows


def predict(
    project: Project,
    family: Family,
    model: Model,
    rows: EvaluatedRows,
    path: Path,
    progress: Callable[[int, int], None],
    usage: Usage | None = None,
) -> Usage:
    """Ask `model` about the rows and write its predictions to `path`, in the rows' order; what it took is in `usage`.

    A refusal or an empty answer is a prediction like any other: it is scored as it stands. What the model was not
    asked, since its server refused, is a failure. Rows of one id are one question (two pivots may have made the same
    case): it is asked once. Where the budget is spent, what was answered is written, and `BudgetSpent` raised, or
    `NothingAnswered`.
    """
    one = project.build.families[family.name]
    # A family may ask its pivot by the same prompts; here another role is asked.
    prompts = {prompt.name: replace(one.prompts[prompt.name], role=EVALUATED) for prompt in family.evaluation.prompts}
    usage = Usage() if usage is None else usage
    asking = _Asking(model, prompts, usage)
    settings = settings_now(project, family)

    def ask(batch: list[Any]) -> Iterable[Prediction | BudgetSpent]:
        requests = [(row, request) for row in batch for request in family.evaluation.requests(row, settings)]
        return project.run(asking.all(requests))

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
    usage: Usage | None = None,
) -> Usage:
    """Have `model` weigh the rows' options and write their scores to `path`, in the rows' order, as `predict` does."""
    choices = family.evaluation.choices
    assert choices is not None
    settings = settings_now(project, family)
    took = Usage() if usage is None else usage

    def ask(batch: list[Any]) -> Iterable[Prediction | BudgetSpent]:
        asked = [(row, choice) for row in batch for choice in choices(row, settings)]
        return project.run(_weigh(model, asked, took))

    with one_evaluation(project.state, path):
        _write(rows, rows.batches(WEIGHED_AT_ONCE), path, progress, ask)
    return took


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
    held = family.evaluation.dialogues
    assert held is not None
    evaluated_rows(project, family, limit)
    one = project.build.families[family.name]
    settings = one.settings.model_copy(update={held.models: (name,)})
    models = {**project.models.of(family, settings), name: project.models.model(name, family)}
    if family.ready is not None:
        family.ready(settings, models)
    return _beside_build(project, FamilyBuild(family, settings, one.prompts, models), held, limit)


def _beside_build(project: Project, made: FamilyBuild, held: DialogueEvaluation, limit: int | None) -> Build:
    """The build with its held parts to be made anew as `made` has it."""
    return Build(
        [made],
        store=project.store,
        seed=project.build.seed,
        limit=project.build.limit,
        embedder=project.embedder,
        verdicts=project.verdicts,
        built=project.built,
        anew=Anew(made.family.name, held.parts, limit),
    )


class _AsPaid:
    """A model where the budget is spent: what was paid for is answered, the rest drops its record."""

    def __init__(self, model: Model, spent_usd: float) -> None:
        self.name = model.name
        self._model = model
        self._spent_usd = spent_usd

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        try:
            return await self._model.complete(prompt, inputs, draw=draw, usage=usage)
        except BudgetSpent as spent:
            raise NoAnswer("the budget is spent", str(spent)) from spent

    def identity(self) -> Mapping[str, object]:
        """That of the model, and what had been paid by then: another time there may be more."""
        return {**self._model.identity(), "paid": self._spent_usd}


def as_paid(project: Project, family: Family, build: Build, limit: int | None) -> Build:
    """A build by `build_with` that the budget has stopped, as far as it was answered: the rest is dropped in it.

    Its stages lie beside those of the whole, which goes on from where it was another time.
    """
    one, held = build.families[family.name], family.evaluation.dialogues
    assert held is not None
    spent = project.models.cache.spent_usd()
    models: dict[str, Model] = {name: _AsPaid(model, spent) for name, model in one.models.items()}
    return _beside_build(project, FamilyBuild(family, one.settings, one.prompts, models), held, limit)


def hold(project: Project, family: Family, build: Build, watcher: ProgressListener, usage: Usage) -> None:
    """Make what is not made yet of a build by `build_with`, shard by shard; what was asked for it now is in `usage`.

    What was finished when a run was killed is not run again; what was answered in the rest comes from the cache.
    """
    held = family.evaluation.dialogues
    assert held is not None

    def called(ref: StageRef, took: Usage) -> None:
        usage.add(took)
        watcher.called(ref, took)

    build.called = called
    for ref in (ref for name in held.parts for ref in build.stages(family, family.part(name))):
        is_new = False
        if build.manifest(ref) is None:
            with one_stage(project.state, build.fingerprint(ref), project.waiting(ref, watcher)):
                if is_new := build.manifest(ref) is None:
                    _make(project, build, ref, watcher)
        manifest = build.manifest(ref)
        assert manifest is not None
        watcher.finished(ref, manifest, before=not is_new, example=None)


def _make(project: Project, build: Build, ref: StageRef, watcher: ProgressListener) -> None:
    """Make a stage; its shards that are there stay."""
    spans = build.shards(ref)
    watcher.started(ref, len(spans), expected_calls(build, ref))
    build.finish(ref, project.run(_run_shards(build, ref, spans, watcher)))


async def _run_shards(
    build: Build, ref: StageRef, spans: Sequence[tuple[int, int]], watcher: ProgressListener
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


def held_context(family: Family, build: Build) -> DialogueContext:
    """What the tables may read of a finished build, of its own or by `build_with`."""

    def dropped(name: str) -> Iterator[Dropped]:
        for ref in build.stages(family, family.part(name)):
            yield from build.read(ref).dropped()

    return DialogueContext(
        build.families[family.name].settings, build.seed, lambda name: build.accepted(family.name, name), dropped
    )


DROPPED = "dropped"


class Written(NamedTuple):
    """A file of records, and how many it had before."""

    path: Path
    before: int


def write_held(family: Family, context: DialogueContext, stem: Path) -> list[Written]:
    """Write an evaluation's records to `STEM.PART.jsonl`, and what was dropped, and why, to `STEM.dropped.jsonl`.

    Tables of what was there before are removed.
    """
    held = family.evaluation.dialogues
    assert held is not None
    for name in (stem, *(beside(stem, part).with_suffix("") for part in held.parts)):
        _remove_tables(name)
    written = [write_records(context.records(part), beside(stem, part)) for part in held.parts]
    dropped = (one for part in held.parts for one in context.dropped(part))
    return [*written, write_records(dropped, beside(stem, DROPPED))]


def given_context(family: Family, project: Project, path: Path) -> DialogueContext:
    """What the tables may read of the last part's records in a file, and of what lies beside it by `write_held`.

    Columns that a release adds are left out. Raises `WrongInput` for a row that is no such record.
    """
    held = family.evaluation.dialogues
    assert held is not None
    *earlier, last = held.parts
    records = {last: read_records(path, family, last)}
    stem = path.with_name(path.name.removesuffix(f".{last}.jsonl"))
    dropped: list[Dropped] = []
    if stem != path and all(beside(stem, name).is_file() for name in (*earlier, DROPPED)):
        records |= {name: read_records(beside(stem, name), family, name) for name in earlier}
        advice = f"a row tells what was dropped; `touchstone evaluate {family.name}` writes them"
        dropped = [_row_as(Dropped, row, advice) for row in json_lines(str(beside(stem, DROPPED)))]
    steps = {name: {step.name for step in family.part(name).steps} for name in held.parts}

    def of(name: str) -> Iterable[Any]:
        if name in held.parts:
            return records.get(name, ())
        return project.build.accepted(family.name, name)

    return DialogueContext(
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


def beside(stem: Path, name: str) -> Path:
    """The file of a part's records, of those that an evaluation writes."""
    return stem.with_name(f"{stem.name}.{name}.jsonl")


def write_records(records: Iterable[Frozen], path: Path) -> Written:
    """Write records as JSONL, to a file that is there when it is whole."""
    before = rows_in(path)
    with whole_file(path) as out:
        for record in records:
            out.write(record.model_dump_json() + "\n")
    return Written(path, before)


def rows_in(path: Path) -> int:
    """How many rows a JSONL file has; none where there is no file."""
    if not path.exists():
        return 0
    with path.open("rb") as lines:
        return sum(1 for _ in lines)


def _write(
    rows: Rows,
    batches: Iterable[list[Any]],
    path: Path,
    progress: Callable[[int, int], None],
    ask: Callable[[list[Any]], Iterable[Prediction | BudgetSpent]],
) -> None:
    """Write the predictions of each row, once for each id, to a file that is there when it is whole.

    The first batch that the budget stops is the last: its own predictions are written, then `BudgetSpent` is raised.
    Where there are none at all, nothing is written, and `NothingAnswered` raised.
    """
    done, is_answered = 0, False
    asked: set[str] = set()
    stopped: BudgetSpent | None = None
    with whole_file(path) as out:
        for batch in batches:
            new = [row for row in {row.id: row for row in batch}.values() if row.id not in asked]
            asked.update(row.id for row in new)
            for prediction in ask(new):
                if isinstance(prediction, BudgetSpent):
                    stopped = stopped or prediction
                    continue
                written = prediction.model_dump(
                    exclude_none=True, exclude={"prediction"} if prediction.scores else None
                )
                out.write(json.dumps(written, ensure_ascii=False) + "\n")
                is_answered = True
            if stopped is not None:
                break
            done += len(batch)
            progress(done, len(rows))
        if stopped is not None and not is_answered:
            raise NothingAnswered(str(stopped)) from stopped
        _remove_tables(path.with_suffix(""))
    if stopped is not None:
        raise stopped


def _remove_tables(stem: Path) -> None:
    """Remove the tables and pages beside predictions that others are about to replace: they tell nothing of those."""
    for end in (".html", ".tables.html", ".tables.json"):
        stem.with_name(f"{stem.name}{end}").unlink(missing_ok=True)


class _Asking:
    """Puts requests to a model, each cut to its window; what cannot be asked is told in place of a prediction."""

    def __init__(self, model: Model, prompts: Mapping[str, Prompt[Any]], usage: Usage) -> None:
        self._model = model
        self._prompts = {name: replace(prompt, may_be_cut=True) for name, prompt in prompts.items()}
        self._usage = usage

    async def all(self, requests: list[tuple[Record, Request]]) -> list[Prediction | BudgetSpent]:
        """The predictions, in the order of the requests; `BudgetSpent` in the place of one that was not paid for."""
        return await asyncio.gather(*(self._one(row, request) for row, request in requests))

    async def _one(self, row: Record, request: Request) -> Prediction | BudgetSpent:
        prompt = self._prompts[request.prompt.name]
        text, failure, cut_off = "", None, False
        try:
            answer = await self._model.complete(prompt, request.inputs, usage=self._usage)
            text, cut_off, prompt_cut = answer.text, answer.cut_off, answer.prompt_cut
        except NoAnswer as refused:
            failure, prompt_cut = refused.reason, refused.prompt_cut
        except InvalidAnswer as invalid:
            text, cut_off, prompt_cut = invalid.answer, invalid.reason == CUT_OFF, invalid.prompt_cut
        except BudgetSpent as spent:
            return spent
        return Prediction(
            id=row.id,
            variant=request.variant,
            prediction=text,
            failure=failure,
            cut_off=cut_off or None,
            prompt_cut=prompt_cut or None,
            model=self._model.name,
            prompting=request.prompting,
            shots=request.shots,
        )


async def _weigh(
    model: LikelihoodModel, asked: list[tuple[Record, Choice]], usage: Usage
) -> list[Prediction | BudgetSpent]:
    options = [Options(choice.prompt, tuple(choice.options.values())) for _, choice in asked]
    weighed: list[tuple[Likelihood, ...] | BudgetSpent | TooLong]
    try:
        weighed = [*await model.likelihoods(options, usage=usage)]
    except (BudgetSpent, TooLong):  # what was paid for by then is kept, and costs nothing again
        weighed = [await _weighed_alone(model, one, usage) for one in options]
    predictions: list[Prediction | BudgetSpent] = []
    for (row, choice), likelihoods in zip(asked, weighed, strict=True):
        if isinstance(likelihoods, BudgetSpent):
            predictions.append(likelihoods)
            continue
        for name, score in SCORES.items():
            told: dict[str, Any] = {"prediction": "", "failure": TOO_LONG}
            if not isinstance(likelihoods, TooLong):
                told = {"scores": {kind: score(one) for kind, one in zip(choice.options, likelihoods, strict=True)}}
            predictions.append(
                Prediction(
                    id=row.id,
                    variant=name,
                    model=model.name,
                    prompting=choice.prompting,
                    shots=choice.shots,
                    **told,
                )
            )
    return predictions


async def _weighed_alone(
    model: LikelihoodModel, options: Options, usage: Usage
) -> tuple[Likelihood, ...] | BudgetSpent | TooLong:
    try:
        [likelihoods] = await model.likelihoods([options], usage=usage)
    except (BudgetSpent, TooLong) as error:
        return error
    return likelihoods
