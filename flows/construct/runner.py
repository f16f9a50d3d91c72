"""Runs the stages of a build: their order, locks, shards, counting and progress.

An `Executor` runs the pieces of a stage: in tasks of Prefect (`flows/run/flow.py`), or in this process
(`flows/run/in_process.py`). Finished stages, which the store knows, are not run again.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Protocol

from flows.construct.counting import finish
from flows.construct.engine import RecordStep
from flows.construct.files_step import FilesStep, RowFile
from flows.construct.preparing import (
    asks_in_batches,
    asks_servers,
    can_follow,
    expected_calls,
    prepared_step,
    row_files,
)
from flows.construct.progress import ProgressListener
from flows.construct.running import finished_shard
from flows.construct.spans import FilesLeft, Spans
from flows.construct.stages import Build, StageRef
from schemas.errors import Failed
from schemas.manifest import ShardManifest

STAGES_AT_ONCE = 8
"""Most stages that run at once."""
TICK_S = 1.0
"""How often a listener is called while nothing happens, in seconds."""


@dataclass(frozen=True)
class Shard:
    """One shard of each stage of a chain: input records `start` to `stop` (exclusive) of the first stage."""

    chain: tuple[StageRef, ...]
    """`each` and `expand` steps, each over what the one before makes; most are alone."""
    start: int
    stop: int
    worker: int
    """Number of the worker that made the shard before it, from 0. Another can run it as well, but may take longer."""


@dataclass(frozen=True)
class File:
    """One file of a `files` step."""

    ref: StageRef
    index: int
    file: RowFile
    worker: int
    """Number of the worker that is best placed to run it, from 0."""


Piece = Shard | File


class Pending(Protocol):
    """A piece that runs, like `concurrent.futures.Future`."""

    def result(self) -> Sequence[ShardManifest] | None:
        """Wait for the shard of each stage; None if the build was stopped before. Raises what the piece failed with."""
        ...

    def add_done_callback(self, fn: Callable[["Pending"], None], /) -> object: ...


class Executor(Protocol):
    """Runs the pieces of stages."""

    @property
    def at_once(self) -> int:
        """Pieces of a stage that run at once; this bounds memory, and leaves room for other stages."""
        ...

    @property
    def workers(self) -> int:
        """Processes that share the pieces."""
        ...

    @property
    def stopped(self) -> bool: ...

    def load(self, ref: StageRef) -> None:
        """Load the models that a stage needs before its pieces start."""

    def submit(self, piece: Piece) -> Pending:
        """Start a piece."""
        ...

    def run_whole(self, ref: StageRef, progress: Callable[[int, int], None]) -> None:
        """Run a stage of an `all_` step, a source or people stage, and wait for it."""

    def stop(self) -> None:
        """Start no more pieces, and cancel those that wait for models."""


class Runner:
    """Runs stages of a build with an executor."""

    def __init__(
        self,
        build: Build,
        executor: Executor,
        lock: Callable[[str, Callable[[str], None]], AbstractContextManager[None]],
        listener: ProgressListener | None = None,
        example: Callable[[StageRef], str | None] = lambda ref: None,
    ) -> None:
        """`lock(fingerprint, waits)` is held while a stage is made; `waits` is called with the name of another holder.

        `example(ref)` returns a text of a finished stage that a listener may show.
        """
        self._build = build
        self._executor = executor
        self._lock = lock
        self._listener = listener or ProgressListener()
        self._example = example

    def run(self, stages: Iterable[StageRef]) -> None:
        """Run stages, each as soon as the stages that it needs are finished. The first failure stops the others.

        Stages that can take records as the stage before makes them run with it, as a chain. Each chain has a thread of
        its own that starts its pieces.
        """
        refs = dict.fromkeys(stages)
        needs = {ref: set(self._build.needs(ref)) for ref in refs}
        waiting = {ref: refs.keys() & needed for ref, needed in needs.items()}
        finished: set[StageRef] = set()
        running: dict[Future[int], list[StageRef]] = {}
        were_frozen = gc.get_freeze_count()  # by the caller: these stay so
        with ThreadPoolExecutor(STAGES_AT_ONCE, thread_name_prefix="stage") as threads:
            try:
                while waiting or running:
                    for ref in [ref for ref, needed in waiting.items() if not needed]:
                        chain = _chain_from(self._build, ref, waiting)
                        waiting = {ref: needed for ref, needed in waiting.items() if ref not in chain}
                        running[threads.submit(copy_context().run, self._run, chain)] = chain
                    done, _ = wait(running, TICK_S, FIRST_COMPLETED)
                    for stage in done:
                        chain = running.pop(stage)
                        made = stage.result()
                        finished.update(chain[:made])
                        waiting |= {ref: refs.keys() & needs[ref] for ref in chain[made:]}
                        waiting = {ref: needed - finished for ref, needed in waiting.items()}
                    self._listener.waited()
            except BaseException as error:
                if not isinstance(error, Exception):  # Ctrl-C, or what Prefect makes of SIGTERM
                    self._listener.stopping()
                self._executor.stop()
                threads.shutdown(cancel_futures=True)
                raise
            finally:
                if not were_frozen:
                    gc.unfreeze()

    def _run(self, chain: Sequence[StageRef]) -> int:
        """Run the first stage of a chain, unless it is finished, and the others as far as they can run with it.

        If another run is making a stage, wait for that run. Returns the number of stages that are finished.
        """
        build, made = self._build, 0
        with ExitStack() as locks:
            for ref in chain:
                if build.manifest(ref) is not None or (made and not can_follow(build, ref)):
                    break
                locks.enter_context(self._lock(build.fingerprint(ref), self._waits(ref)))
                if build.manifest(ref) is not None:  # finished by the run that held the lock
                    break
                made += 1
            if made:
                self._make(chain[:made])
        for ref in chain[: made or 1]:
            manifest = build.manifest(ref)
            assert manifest is not None
            self._listener.finished(ref, manifest, before=not made, example=self._example(ref))
        return made or 1

    def _waits(self, ref: StageRef) -> Callable[[str], None]:
        """Return a function that reports once who makes the stage, and raises `Failed` if the build was stopped."""
        is_reported = False

        def waits(by: str) -> None:
            nonlocal is_reported
            if self._executor.stopped:
                raise Failed(f"{ref}: the build was stopped")
            if not is_reported:
                is_reported = True
                self._listener.blocked(ref, by)

        return waits

    def _make(self, chain: Sequence[StageRef]) -> None:
        """Run a stage that is not finished, or several that form a chain."""
        ref, step = chain[0], self._build.step(chain[0])
        # Objects that exist by now stay: the collector need not scan them again and again.
        gc.collect()
        gc.freeze()
        for member in chain:
            self._executor.load(member)
        if isinstance(step, RecordStep):
            self._make_of_shards(tuple(chain))
        elif isinstance(step, FilesStep):
            self._make_of_files(ref)
        else:
            self._listener.started(ref, None)
            self._executor.run_whole(ref, partial(self._listener.advanced, ref))

    def _make_of_shards(self, chain: tuple[StageRef, ...]) -> None:
        """Run `each` and `expand` steps shard by shard; shards that an earlier run finished count."""
        build = self._build
        prepared_step(build, chain[0], RecordStep)  # not on the event loop that waits for models
        total = len(build.inputs(chain[0]))
        done = [
            of_span
            for first in build.files(chain[0]).spans()
            if (of_span := finished_shard(build, chain, first.index)) is not None
        ]
        spans = Spans(
            total,
            [_span(shards) for shards in done],
            at_once=self._executor.at_once,
            workers=self._executor.workers,
            asks=any(asks_servers(build, ref) for ref in chain),
            in_batches=any(asks_in_batches(build, ref) for ref in chain),
        )
        before = total - spans.left
        for ref, calls in zip(chain, expected_calls(build, chain), strict=True):
            self._listener.started(ref, total, calls)

        def next_shard(worker: int) -> Shard | None:
            return Shard(chain, *span, worker) if (span := spans.take(worker)) is not None else None

        def advance(made: Sequence[Sequence[ShardManifest]]) -> None:
            start, stop = _span(made[-1])
            spans.finished(stop - start)
            for ref in chain:
                self._listener.advanced(ref, before + spans.measured, total)

        shards = sorted([*done, *self._run_pieces(chain[0], next_shard, advance)], key=_span)
        # The last stage first: after a kill in between, the chain begins as before, and all its shards count.
        for number, ref in reversed([*enumerate(chain)]):
            self._finish(ref, [of_chain[number] for of_chain in shards])

    def _make_of_files(self, ref: StageRef) -> None:
        """Run a `files` step file by file."""
        files = [*enumerate(row_files(self._build, ref))]
        self._listener.started(ref, len(files))
        remaining = FilesLeft([file.group for _, file in files])

        def next_file(worker: int) -> File | None:
            index = remaining.take(worker)
            return File(ref, index, files[index][1], worker) if index is not None else None

        def advance(made: Sequence[Sequence[ShardManifest]]) -> None:
            self._listener.advanced(ref, len(made), len(files))

        made = self._run_pieces(ref, next_file, advance)
        self._finish(ref, sorted((shard for (shard,) in made), key=lambda shard: shard.index))

    def _run_pieces(
        self,
        ref: StageRef,
        next_piece: Callable[[int], Piece | None],
        advance: Callable[[Sequence[Sequence[ShardManifest]]], None],
    ) -> list[Sequence[ShardManifest]]:
        """Run pieces until there is none, and return their shards; `advance` is called with those finished so far.

        `next_piece(worker)` returns the next piece for a worker: each has as many under way as the others, so one that
        is done sooner gets more.
        """
        ended: SimpleQueue[tuple[int, Pending]] = SimpleQueue()
        running: Counter[int] = Counter()
        made: list[Sequence[ShardManifest]] = []

        def start() -> bool:
            worker = min(range(self._executor.workers), key=lambda worker: running[worker])
            if running.total() >= self._executor.at_once or (piece := next_piece(worker)) is None:
                return False
            running[worker] += 1
            self._executor.submit(piece).add_done_callback(lambda pending: ended.put((worker, pending)))
            return True

        while True:
            while start():
                pass
            if not running.total():
                return made
            worker, pending = ended.get()
            shards = pending.result()
            running[worker] -= 1
            if shards is None or self._executor.stopped:
                raise Failed(f"{ref}: the build was stopped")
            made.append(shards)
            advance(made)

    def _finish(self, ref: StageRef, shards: Sequence[ShardManifest]) -> None:
        """Finish a stage whose shards are all in the store. Raises `Failed` if they are not."""
        files = self._build.files(ref)
        missing = sum(files.shard(shard.index) is None for shard in shards)
        if missing:
            raise Failed(
                f"{ref}: {missing} of {len(shards)} shards were finished, but are not in {self._build.store.url}; "
                "name a store that all workers reach, such as s3://bucket/prefix"
            )
        finish(self._build, ref, shards)


def _span(shards: Sequence[ShardManifest]) -> tuple[int, int]:
    """Return the (start, stop) of what a chain made together."""
    assert shards[0].stop is not None
    return shards[0].index, shards[0].stop


def _chain_from(build: Build, ref: StageRef, waiting: Mapping[StageRef, set[StageRef]]) -> list[StageRef]:
    """Return a stage and those after it that may take records as they come: nothing else waits for what is between.

    `waiting` has the unfinished stages that each stage needs.
    """
    chain = [ref]
    while isinstance(build.step(chain[-1]), RecordStep):
        last = chain[-1]
        readers = [other for other, needed in waiting.items() if last in needed]
        if len(readers) != 1 or waiting[readers[0]] != {last} or not _takes_all_of(build, readers[0], last):
            break
        chain.append(readers[0])
    return chain


def _takes_all_of(build: Build, ref: StageRef, before: StageRef) -> bool:
    """Return whether a stage runs over all records of one other, which its step reads in no other way."""
    is_sampled = build.pilot_size(ref, build.limit) is not None
    is_record_step = isinstance(build.step(ref), RecordStep)
    return is_record_step and build.needs(ref).count(before) == 1 and build.before(ref) == (before,) and not is_sampled
