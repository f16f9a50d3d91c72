"""Runs the stages of a build: their order, locks, shards, counting and progress.

An `Executor` runs the pieces of a stage: in tasks of Prefect (`flows/run/flow.py`), or in this process
(`flows/run/in_process.py`). Finished stages, which the store knows, are not run again.
"""

import gc
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Protocol

from flows.construct.counting import finish
from flows.construct.engine import RecordStep
from flows.construct.files_step import FilesStep, RowFile
from flows.construct.preparing import expected_calls, prepared_step, row_files
from flows.construct.progress import ProgressListener
from flows.construct.spans import Spans
from flows.construct.stages import Build, StageRef
from schemas.errors import Failed
from schemas.manifest import ShardManifest

STAGES_AT_ONCE = 8
"""Most stages that run at once."""
TICK_S = 1.0
"""How often a listener is called while nothing happens, in seconds."""


@dataclass(frozen=True)
class Shard:
    """One shard of an `each` or `expand` step: its input records from `start` to `stop` (exclusive)."""

    start: int
    stop: int


@dataclass(frozen=True)
class File:
    """One file of a `files` step."""

    index: int
    file: RowFile


Piece = Shard | File


class Pending(Protocol):
    """A piece that runs, like `concurrent.futures.Future`."""

    def result(self) -> ShardManifest | None:
        """Wait for the piece; None if the build was stopped before it. Raises the exception that it failed with."""
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

    def submit(self, ref: StageRef, piece: Piece) -> Pending:
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

        Each stage has a thread of its own that starts its pieces.
        """
        refs = dict.fromkeys(stages)
        waiting = {ref: refs.keys() & set(self._build.needs(ref)) for ref in refs}
        running: dict[Future[None], StageRef] = {}
        with ThreadPoolExecutor(STAGES_AT_ONCE, thread_name_prefix="stage") as threads:
            try:
                while waiting or running:
                    for ref in [ref for ref, needed in waiting.items() if not needed]:
                        del waiting[ref]
                        running[threads.submit(copy_context().run, self._run, ref)] = ref
                    done, _ = wait(running, TICK_S, FIRST_COMPLETED)
                    for stage in done:
                        stage.result()
                        for needed in waiting.values():
                            needed.discard(running[stage])
                        del running[stage]
                    self._listener.waited()
            except BaseException:
                self._executor.stop()
                threads.shutdown(cancel_futures=True)
                raise
            finally:
                gc.unfreeze()

    def _run(self, ref: StageRef) -> None:
        """Run one stage, unless it is finished; if another run is making it, wait for that run."""
        build, is_new = self._build, False
        if build.manifest(ref) is None:
            with self._lock(build.fingerprint(ref), self._waits(ref)):
                if is_new := build.manifest(ref) is None:
                    self._make(ref)
        manifest = build.manifest(ref)
        assert manifest is not None
        self._listener.finished(ref, manifest, before=not is_new, example=self._example(ref))

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

    def _make(self, ref: StageRef) -> None:
        """Run a stage that is not finished."""
        step = self._build.step(ref)
        # Objects that exist by now stay: the collector need not scan them again and again.
        gc.collect()
        gc.freeze()
        self._executor.load(ref)
        if isinstance(step, RecordStep):
            self._make_of_shards(ref)
        elif isinstance(step, FilesStep):
            self._make_of_files(ref)
        else:
            self._listener.started(ref, None)
            self._executor.run_whole(ref, partial(self._listener.advanced, ref))

    def _make_of_shards(self, ref: StageRef) -> None:
        """Run an `each` or `expand` step shard by shard; those that an earlier run finished count."""
        prepared_step(self._build, ref, RecordStep)  # not on the event loop that waits for models
        total = len(self._build.inputs(ref))
        self._listener.started(ref, total, expected_calls(self._build, ref))
        done = self._build.files(ref).spans()
        at_once, workers = self._executor.at_once, self._executor.workers
        spans = Spans(total, [(shard.index, shard.stop or 0) for shard in done], at_once=at_once, workers=workers)

        def next_shard() -> Shard | None:
            return Shard(*span) if (span := spans.take()) is not None else None

        def advance(shards: Sequence[ShardManifest]) -> None:
            spans.finished((shards[-1].stop or 0) - shards[-1].index)
            self._listener.advanced(ref, sum((shard.stop or 0) - shard.index for shard in [*done, *shards]), total)

        self._finish(ref, [*done, *self._run_pieces(ref, next_shard, advance)])

    def _make_of_files(self, ref: StageRef) -> None:
        """Run a `files` step file by file."""
        files = [File(index, file) for index, file in enumerate(row_files(self._build, ref))]
        self._listener.started(ref, len(files))
        remaining = iter(files[::-1])  # the last file is the longest

        def advance(shards: Sequence[ShardManifest]) -> None:
            self._listener.advanced(ref, len(shards), len(files))

        self._finish(ref, self._run_pieces(ref, lambda: next(remaining, None), advance))

    def _run_pieces(
        self, ref: StageRef, next_piece: Callable[[], Piece | None], advance: Callable[[Sequence[ShardManifest]], None]
    ) -> list[ShardManifest]:
        """Run pieces until there is none, and return their shards; `advance` is called with those finished so far."""
        ended: SimpleQueue[Pending] = SimpleQueue()
        running = 0
        shards: list[ShardManifest] = []
        while True:
            while running < self._executor.at_once and (piece := next_piece()) is not None:
                self._executor.submit(ref, piece).add_done_callback(ended.put)
                running += 1
            if not running:
                return shards
            shard = ended.get().result()
            running -= 1
            if shard is None or self._executor.stopped:
                raise Failed(f"{ref}: the build was stopped")
            shards.append(shard)
            advance(shards)

    def _finish(self, ref: StageRef, shards: Sequence[ShardManifest]) -> None:
        """Finish a stage whose shards are all in the store. Raises `Failed` if they are not."""
        files = self._build.files(ref)
        missing = sum(files.shard(shard.index) is None for shard in shards)
        if missing:
            raise Failed(
                f"{ref}: {missing} of {len(shards)} shards were finished, but are not in {self._build.store.url}; "
                "name a store that all workers reach, such as s3://bucket/prefix"
            )
        finish(self._build, ref, sorted(shards, key=lambda shard: shard.index))
