"""Runs one stage, or one shard of it. A shard that is finished is never run again.

The runner (`flows/construct/runner.py`) decides which stages run, in what order and where.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import asdict
from typing import TypeVar

from pydantic import ValidationError

from data.sources import read_source
from data.stage_files import LongTextShardWriter, ShardWriter, StageFiles
from flows.construct.counting import AccountingError, finish
from flows.construct.engine import Context, Drop, RecordStep, SetContext, SetStep, Slot
from flows.construct.files_step import FilesContext, FilesStep, RowFile
from flows.construct.people import People
from flows.construct.preparing import SHARD_RECORDS, prepared_step, step_context
from flows.construct.stages import PEOPLE, SOURCE, Build, StageRef
from flows.llm.model import InvalidAnswer, Usage
from schemas.base import Dropped, Record, key_of
from schemas.errors import WrongInput, first_problem
from schemas.manifest import ShardManifest, StageManifest, UsageOfPrompt
from schemas.verdict import Verdict

T = TypeVar("T")


async def run_shard(build: Build, ref: StageRef, index: int, start: int, stop: int) -> ShardManifest:
    """Run one shard of an `each` or `expand` step, unless it is finished."""
    files = build.files(ref)
    if (done := files.shard(index)) is not None:
        return done
    step, context, preparation = prepared_step(build, ref, RecordStep)
    part = build.part(ref)
    usage: dict[str, Usage] = {}
    records = list(build.inputs(ref).slice(start, stop))

    def key_at(record: Record, slot: Slot | None) -> str:
        """Return the key of the record to make; a record of this part keeps its own."""
        is_own = not isinstance(record, part.source) and slot is None
        return record.key if is_own else key_of(ref.family, ref.part, record.key, slot)

    async def attempt(record: Record, slot: Slot | None) -> Record | Dropped:
        key = key_at(record, slot)
        ctx = Context(context, ref.step, key, preparation, usage)
        try:
            work = step.function(record, ctx) if slot is None else step.function(record, slot, ctx)
            return await work
        except Drop as drop:
            return drop.of(record, ref.step, key)
        except InvalidAnswer as invalid:
            return Drop(invalid.reason, evidence=invalid.evidence).of(record, ref.step, key)

    work: list[tuple[Record, Slot | None]] = [
        (record, slot)
        for record in records
        for slot in ((None,) if step.slots is None else step.slots(record, preparation))
    ]
    with ShardWriter(files, index) as writer:
        for outcome in await side_by_side(attempt(record, slot) for record, slot in work):
            if isinstance(outcome, Dropped):
                writer.drop(outcome)
            else:
                writer.keep(outcome)
    return writer.finish(len(work), _usage_of_prompts(usage))


class SetWriter:
    """Writes a whole stage, shard after shard, as its records come."""

    def __init__(self, files: StageFiles) -> None:
        self._files = files
        self._shards: list[ShardManifest] = []
        self._writer: ShardWriter | None = None
        self.kept = 0
        self.dropped = 0

    def __enter__(self) -> "SetWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._writer is not None and kind is not None:
            self._writer.__exit__(kind, *error)

    def _open(self) -> ShardWriter:
        if self._writer is not None and self._writer.kept >= SHARD_RECORDS:
            self._close({})
        if self._writer is None:
            self._writer = ShardWriter(self._files, len(self._shards)).__enter__()
        return self._writer

    def _close(self, usage: dict[str, UsageOfPrompt]) -> None:
        writer = self._open() if self._writer is None else self._writer
        writer.__exit__(None, None, None)
        self._shards.append(writer.finish(writer.kept + sum(writer.dropped.values()), usage))
        self._writer = None

    def keep(self, record: Record) -> None:
        self._open().keep(record)
        self.kept += 1

    def drop(self, dropped: Dropped) -> None:
        self._open().drop(dropped)
        self.dropped += 1

    def finish(self, usage: dict[str, UsageOfPrompt]) -> list[ShardManifest]:
        self._close(usage)
        return self._shards


async def run_set(build: Build, ref: StageRef, progress: Callable[[int, int], None]) -> StageManifest:
    """Run a whole `all_` step."""
    step = build.step(ref)
    assert isinstance(step, SetStep)
    context = step_context(build, ref)
    usage: dict[str, Usage] = {}
    notes: list[str] = []
    writer = SetWriter(build.files(ref))
    inputs = context.inputs
    waiting = {record.key for record in inputs}
    created = 0

    def passed(record: Record) -> None:
        nonlocal created
        if record.key in waiting:
            waiting.remove(record.key)
        elif step.creates:
            created += 1
        else:
            raise AccountingError(f"{ref}: record {record.key} was not among the step's input, or came twice")

    def drop(record: Record, refusal: Drop) -> None:
        passed(record)
        writer.drop(refusal.of(record, ref.step))

    with writer:
        async for record in step.function(inputs, SetContext(context, ref.step, drop, notes.append, usage, progress)):
            passed(record)
            writer.keep(record)
    if waiting:
        raise AccountingError(f"{ref}: {len(waiting)} records were neither kept nor dropped")
    shards = writer.finish(_usage_of_prompts(usage))
    return finish(build, ref, shards, planned=len(inputs) + created, notes=notes)


def run_file(build: Build, ref: StageRef, index: int, file: RowFile) -> ShardManifest:
    """Write one file of a `files` step, unless it is finished. As many are written at once as there are cores."""
    files = build.files(ref)
    if (done := files.shard(index)) is not None:
        return done
    step, _, preparation = prepared_step(build, ref, FilesStep)

    def key(record: Record, slot: Slot) -> str:
        return key_of(ref.family, ref.part, record.key, slot)

    with build.writing, LongTextShardWriter(files, index, file.name, build.record_type(ref), step.long) as writer:

        def drop(record: Record, slot: Slot, refusal: Drop) -> None:
            writer.drop(refusal.of(record, ref.step, key(record, slot)))

        for values, text in step.function(file, FilesContext(preparation, key, drop)):
            writer.write(values, text)
    return writer.finish(file.planned)


def run_source(build: Build, ref: StageRef) -> StageManifest:
    """Read a part's sources into a stage; rows that cannot be read are drops."""
    part = build.part(ref)
    assert isinstance(part.source, type)
    writer = SetWriter(build.files(ref))
    seen: dict[str, str] = {}
    with writer:
        for spec in build.source_specs(ref):
            for record in read_source(spec, part.source, writer.drop):  # type: ignore[type-var]
                first = seen.get(record.key)
                if first is not None and first != record.id:
                    raise WrongInput(
                        f"{spec.path}: another source of format {spec.format} is called {spec.name} too and has "
                        "other rows of the same ids; give one of the files another name"
                    )
                if first is not None:
                    writer.drop(Drop("row of a source that was read before", related_id=first).of(record, SOURCE))
                    continue
                seen[record.key] = record.id
                writer.keep(record)
    return finish(build, ref, writer.finish({}), planned=writer.kept + writer.dropped, notes=())


def run_people(build: Build, ref: StageRef) -> StageManifest:
    """Apply the verdicts: drop the records that people rejected, revise those that they fixed."""
    verdicts = build.verdicts(ref.family, ref.part)
    people = build.families[ref.family].family.part(ref.part).people
    assert people is not None, f"{ref}: nobody is asked"
    writer = SetWriter(build.files(ref))
    inputs = build.inputs(ref)
    stale = 0
    seen: set[str] = set()
    with writer:
        for record in inputs:
            verdict = verdicts.get(record.key)
            if verdict is not None and verdict.rubric != people.rubric.name:
                raise WrongInput(
                    f"verdict on {record.key}: its rubric is {verdict.rubric!r}, where people are asked by "
                    f"{people.rubric.name!r}; correct it in verdicts/{ref.family}-{ref.part}.jsonl"
                )
            if verdict is not None and verdict.view_hash != record.view_hash:
                stale += 1
                verdict = None
            if verdict is None or verdict.decision == "accept":
                writer.keep(record)
            elif verdict.decision == "reject":
                writer.drop(Drop("rejected by people", verdict.comment).of(record, PEOPLE))
            else:
                writer.keep(_fixed(record, verdict, people))
            seen.add(record.key)
    strangers = len(set(verdicts) - seen)
    notes = [f"verdicts given on an earlier state of their record, which do not count: {stale}"] if stale else []
    notes += [f"verdicts on records that are not there: {strangers}"] if strangers else []
    return finish(build, ref, writer.finish({}), planned=len(inputs), notes=notes)


def _fixed(record: Record, verdict: Verdict, people: People) -> Record:
    """Return the record with the texts that people corrected. Raises `WrongInput` if it would not be valid."""
    if {"id", "key", "provenance"}.intersection(verdict.changes):
        raise WrongInput(f"verdict on {record.key}: id, key and provenance are not for people to change")
    if other := sorted(set(verdict.changes).difference(people.rubric.corrects)):
        raise WrongInput(
            f"verdict on {record.key}: {', '.join(other)} is not for people to change; {people.rubric.name} corrects "
            f"{', '.join(sorted(people.rubric.corrects)) or 'nothing'}"
        )
    try:
        fixed = record.revised(**verdict.changes)
    except ValidationError as error:
        problem = first_problem(error, "the record")
        raise WrongInput(f"verdict on {record.key}: {problem}; correct its `changes`") from error
    if (unfit := people.unfit(fixed)) is not None:
        raise WrongInput(f"verdict on {record.key}: {unfit[0]} ({unfit[1]}); correct its `changes`")
    return fixed


async def side_by_side(attempts: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """Run the attempts in parallel and return their results in order. The first failure cancels the others.

    The event loop is free between two starts: while one attempt works, calls of earlier ones go out and come in.
    """
    tasks = []
    try:
        async with asyncio.TaskGroup() as group:
            for attempt in attempts:
                tasks.append(group.create_task(attempt))
                await asyncio.sleep(0)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]


def _usage_of_prompts(usage: Mapping[str, Usage]) -> dict[str, UsageOfPrompt]:
    return {prompt: UsageOfPrompt(**asdict(prompt_usage)) for prompt, prompt_usage in sorted(usage.items())}
