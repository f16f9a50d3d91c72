"""Runs one stage, or a shard of one or of several that form a chain. A shard that is finished is never run again.

The runner (`flows/construct/runner.py`) decides which stages run, in what order and where.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TypeVar

import numpy as np
from pydantic import ValidationError

from data.seen import Hashes, Seen, places_of, sorted_hashes, text_of
from data.sources import AT_ONCE, read_source
from data.stage_files import LongTextShardWriter, ShardWriter, StageFiles, new_mark
from flows.construct.counting import AccountingError, finish
from flows.construct.engine import Context, Drop, RecordStep, SetContext, SetStep, Slot
from flows.construct.files_step import FilesContext, FilesStep, RowFile
from flows.construct.part_sources import opened
from flows.construct.people import People
from flows.construct.preparing import asks_in_batches, prepared_step, step_context
from flows.construct.reviewed import fewer_than_wanted, verdicts_on_no_record
from flows.construct.spans import BATCHED_RECORDS
from flows.construct.stages import PEOPLE, SOURCE, Build, StageRef
from flows.llm.model import InvalidAnswer, Usage
from schemas.base import Dropped, Record, key_of
from schemas.errors import WrongInput, first_problem, raise_all
from schemas.manifest import ShardManifest, StageManifest, UsageOfPrompt
from schemas.verdict import Verdict

T = TypeVar("T")


WINDOW = 256
"""Most records of a shard that are worked on at once, those included that wait for a slower one before them."""
BATCHED_WINDOW = BATCHED_RECORDS
"""The same if models are asked in batches: each wait takes hours."""
SET_SHARD_RECORDS = 256
"""Records in the first shards that a set is written to. Later ones grow with the set, to keep their number small."""
LOOKED_UP_AT_ONCE = 4096
"""Keys of records that come out of a set."""
SET_SHARD_SHARE = 6
"""One shard holds at most one record for so many that were written before it: 65 shards for 10 million records."""


class StepAtWork:
    """The step of a stage while it works on the records of a shard."""

    def __init__(self, build: Build, ref: StageRef) -> None:
        self._ref = ref
        self._step, self._context, self._preparation = prepared_step(build, ref, RecordStep)
        self._source = build.part(ref).source
        self._record_type = build.record_type(ref)
        self.usage: dict[str, Usage] = {}
        self.planned = 0

    def slots(self, record: Record) -> Sequence[Slot | None]:
        """Return the slots of a record; None stands for the single result of an `each` step."""
        slots = (None,) if self._step.slots is None else self._step.slots(record, self._preparation)
        self.planned += len(slots)
        return slots

    async def attempt(self, record: Record, slot: Slot | None) -> Record | Dropped:
        """Return the record that the step makes, or the drop."""
        # A record of this part keeps its key.
        is_own = not isinstance(record, self._source) and slot is None
        key = record.key if is_own else key_of(self._ref.family, self._ref.part, record.key, slot)
        ctx = Context(self._context, self._ref.step, key, self._preparation, self.usage)
        try:
            work = self._step.function(record, ctx) if slot is None else self._step.function(record, slot, ctx)
            return await work
        except Drop as drop:
            return drop.of(record, self._ref.step, key)
        except InvalidAnswer as invalid:
            return Drop(invalid.reason, evidence=invalid.evidence).of(record, self._ref.step, key)

    def as_read(self, record: Record) -> Record:
        """Return a record that the step made as the next step would read it from the store."""
        return self._record_type.model_validate_json(record.model_dump_json())


async def run_shard(build: Build, chain: Sequence[StageRef], start: int, stop: int) -> list[ShardManifest]:
    """Run a chain of `each` and `expand` steps over input records `start` to `stop` (exclusive), unless that was done.

    Each record goes through all steps, without waiting for others. Records are read as they are worked on, and what
    becomes of them is written in their order. Returns the shard of each stage.
    """
    if (done := finished_shard(build, chain, start)) is not None and done[0].stop == stop:
        return done
    steps = [StepAtWork(build, ref) for ref in chain]
    mark = new_mark()

    def attempts() -> Iterator[Coroutine[object, object, list[list[Record | Dropped]]]]:
        for record in build.inputs(chain[0]).slice(start, stop):
            for slot in steps[0].slots(record):
                yield _through(steps, record, slot)

    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(ShardWriter(build.files(ref), start, None if number else stop, mark))
            for number, ref in enumerate(chain)
        ]

        def write(outcomes_by_step: list[list[Record | Dropped]]) -> None:
            for writer, outcomes in zip(writers, outcomes_by_step, strict=True):
                for outcome in outcomes:
                    if isinstance(outcome, Dropped):
                        writer.drop(outcome)
                    else:
                        writer.keep(outcome)

        await in_order(attempts(), window_of(build, chain), write)
    # The first stage last: its shard says that those of the others exist.
    shards = [
        writer.finish(step.planned, _usage_of_prompts(step.usage))
        for writer, step in reversed([*zip(writers, steps, strict=True)])
    ]
    return shards[::-1]


def window_of(build: Build, chain: Sequence[StageRef]) -> int:
    """Return how many records of a shard of these stages are worked on at once."""
    return BATCHED_WINDOW if any(asks_in_batches(build, ref) for ref in chain) else WINDOW


def finished_shard(build: Build, chain: Sequence[StageRef], start: int) -> list[ShardManifest] | None:
    """Return the shard of each stage that a chain made of its input records from `start` on; None if one is missing.

    Shards that were made together have one mark. Those of later stages are of use to the same chain alone.
    """
    shards = [shard for ref in chain if (shard := build.files(ref).shard(start)) is not None]
    is_whole = len(shards) == len(chain) and len({shard.mark for shard in shards}) == 1
    return shards if is_whole else None


async def _through(steps: Sequence[StepAtWork], record: Record, slot: Slot | None) -> list[list[Record | Dropped]]:
    """Return what each step makes of a record, in order. What one step makes goes through the next side by side."""
    step, later = steps[0], steps[1:]
    outcome = await step.attempt(record, slot)
    outcomes: list[list[Record | Dropped]] = [[outcome], *([] for _ in later)]

    def add(more: list[list[Record | Dropped]]) -> None:
        for of_step, of_slot in zip(outcomes[1:], more, strict=True):
            of_step.extend(of_slot)

    if later and not isinstance(outcome, Dropped):
        made = step.as_read(outcome)
        await in_order((_through(later, made, slot) for slot in later[0].slots(made)), WINDOW, add)
    return outcomes


class SetWriter:
    """Writes a whole stage, shard after shard, as its records come."""

    def __init__(self, files: StageFiles) -> None:
        self._files = files
        self._shards: list[ShardManifest] = []
        self._writer: ShardWriter | None = None
        self._begun = 0
        """Records written before the present shard."""
        self.kept = 0
        self.dropped = 0

    def __enter__(self) -> "SetWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._writer is not None and kind is not None:
            self._writer.__exit__(kind, *error)

    def _open(self) -> ShardWriter:
        written = self.kept + self.dropped
        if self._writer is not None and written - self._begun >= max(SET_SHARD_RECORDS, self._begun // SET_SHARD_SHARE):
            self._close({})
        if self._writer is None:
            self._writer = ShardWriter(self._files, len(self._shards)).__enter__()
            self._begun = written
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


class _Passed:
    """Which of a set's input records came out of the step. Keys are looked up sorted, some at a time: that is quick."""

    def __init__(self, ref: StageRef, keys: Hashes, *, creates: bool) -> None:
        """`keys` are those of the input; with `creates`, others may come as well."""
        self._ref, self._keys, self._creates = ref, keys, creates
        self._has_passed = np.zeros(len(keys), np.bool_)
        self._recent: list[int] = []
        self._created = 0

    def add(self, record: Record) -> None:
        """Note a record that came. Raises `AccountingError`, perhaps some records later, if it must not have come."""
        self._recent.append(int(record.key, 16))
        if len(self._recent) >= LOOKED_UP_AT_ONCE:
            self._look_up()

    def created(self) -> int:
        """Return how many other records came. Raises `AccountingError` if a record of the input did not come."""
        self._look_up()
        if not self._has_passed.all():
            missing = len(self._keys) - self._has_passed.sum()
            raise AccountingError(f"{self._ref}: {missing} records were neither kept nor dropped")
        return self._created

    def _look_up(self) -> None:
        recent = np.sort(np.array(self._recent, np.uint64))
        self._recent.clear()
        places = places_of(recent, self._keys)
        comes = places >= 0
        comes &= ~self._has_passed[places] if len(self._keys) else comes
        comes[1:] &= recent[1:] != recent[:-1]
        self._has_passed[places[comes]] = True
        others = recent[~comes]
        if len(others) and not self._creates:
            name = text_of(int(others[0]))
            raise AccountingError(f"{self._ref}: record {name} was not among the step's input, or came twice")
        self._created += len(others)


async def run_set(build: Build, ref: StageRef, progress: Callable[[int, int], None]) -> StageManifest:
    """Run a whole `all_` step."""
    step = build.step(ref)
    assert isinstance(step, SetStep)
    context = step_context(build, ref)
    usage: dict[str, Usage] = {}
    notes: list[str] = []
    writer = SetWriter(build.files(ref))
    inputs = context.inputs
    passed = _Passed(ref, sorted_hashes(build.inputs(ref).record_keys(), len(inputs)), creates=step.creates)

    def drop(record: Record, refusal: Drop) -> None:
        passed.add(record)
        writer.drop(refusal.of(record, ref.step))

    with writer:
        async for record in step.function(inputs, SetContext(context, ref.step, drop, notes.append, usage, progress)):
            passed.add(record)
            writer.keep(record)
        created = passed.created()
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

        for values, text in step.function(file, FilesContext(preparation, key, drop, writer.note)):
            writer.write(values, text)
    return writer.finish(file.planned)


def run_source(build: Build, ref: StageRef) -> StageManifest:
    """Read a part's sources into a stage; rows that cannot be read are drops."""
    part = build.part(ref)
    assert isinstance(part.source, type)
    writer = SetWriter(build.files(ref))
    specs = build.source_specs(ref)
    several = len(specs) > 1  # within one, an id is not read twice
    seen = Seen()
    with writer:
        for spec in specs:
            records = read_source(opened(build, spec), part.source, writer.drop)  # type: ignore[type-var]
            while some := list(islice(records, AT_ONCE)):
                first = seen.known([record.key for record in some]) if several else {}
                for record in some:
                    if record.key not in first:
                        writer.keep(record)
                    elif record.id == first[record.key]:
                        drop = Drop("row of a source that was read before", related_id=record.id)
                        writer.drop(drop.of(record, SOURCE))
                    else:
                        raise WrongInput(
                            f"{spec.path}: another source of format {spec.format} is called {spec.name} too and has "
                            "other rows of the same ids; give one of the files another name"
                        )
                if several:
                    seen.add({record.key: record.id for record in some if record.key not in first})
    return finish(build, ref, writer.finish({}), planned=writer.kept + writer.dropped, notes=())


def run_people(build: Build, ref: StageRef) -> StageManifest:
    """Apply the verdicts: drop the records that people rejected, revise those that they fixed."""
    verdicts = build.verdicts(ref.family, ref.part)
    people = build.families[ref.family].family.part(ref.part).people
    assert people is not None, f"{ref}: nobody is asked"
    writer = SetWriter(build.files(ref))
    inputs = build.inputs(ref)
    stale = 0
    strangers = dict(verdicts)
    problems: list[str] = []
    rejected = 0
    with writer:
        for record in inputs:
            verdict = verdicts.get(record.key)
            if verdict is not None and verdict.view_hash != record.view_hash:
                stale += 1
                verdict = None
            if verdict is None or verdict.decision == "accept":
                writer.keep(record)
            elif verdict.decision == "reject":
                rejected += 1
                writer.drop(Drop(verdict.dropped_for, verdict.comment).of(record, PEOPLE))
            else:
                try:
                    writer.keep(_fixed(record, verdict, people))
                except WrongInput as error:
                    problems.append(f"verdicts/{ref.family}-{ref.part}.jsonl: {error}")
            strangers.pop(record.key, None)
        raise_all(problems)
    return finish(
        build,
        ref,
        writer.finish({}),
        planned=len(inputs),
        notes=[
            *verdicts_on_no_record(ref, len(verdicts), stale, strangers.values()),
            *fewer_than_wanted(build, ref, len(inputs), rejected),
        ],
    )


def _fixed(record: Record, verdict: Verdict, people: People) -> Record:
    """Return the record with the texts that people corrected. Raises `WrongInput` if it would not be valid."""
    try:
        fixed = record.revised(**verdict.changes)
    except ValidationError as error:
        problem = first_problem(error, "the record")
        raise WrongInput(f"verdict on {record.key}: {problem}; correct its `changes`") from error
    if (unfit := people.unfit(fixed)) is not None:
        raise WrongInput(f"verdict on {record.key}: {unfit[0]} ({unfit[1]}); correct its `changes`")
    return fixed


async def in_order(attempts: Iterable[Coroutine[object, object, T]], at_once: int, take: Callable[[T], None]) -> None:
    """Run at most `at_once` attempts in parallel and `take` their results in order. A failure cancels the others.

    The event loop is free between two starts: while one attempt works, calls of earlier ones go out and come in.
    """
    window: deque[asyncio.Task[T]] = deque()
    try:
        async with asyncio.TaskGroup() as group:
            for attempt in attempts:
                window.append(group.create_task(attempt))
                await asyncio.sleep(0)
                while window and (len(window) >= at_once or window[0].done()):
                    take(await window.popleft())
            for task in window:
                take(await task)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures


def _usage_of_prompts(usage: Mapping[str, Usage]) -> dict[str, UsageOfPrompt]:
    return {prompt: UsageOfPrompt(**asdict(prompt_usage)) for prompt, prompt_usage in sorted(usage.items())}
