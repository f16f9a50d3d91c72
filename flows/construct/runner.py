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
from flows.construct.preparing import expected_calls, row_files, shard_spans
from flows.construct.progress import ProgressListener
from flows.construct.stages import Build, StageRef
from schemas.errors import Failed

STAGES_AT_ONCE = 8
"""Most stages that run at once."""
TICK_S = 1.0
"""How often a listener is called while nothing happens, in seconds."""


@dataclass(frozen=True)
class Shard:
    """One shard of an `each` or `expand` step."""

    index: int
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

    def result(self) -> object:
        """Wait for the piece. Raises the exception that it failed with."""
        ...

    def add_done_callback(self, fn: Callable[["Pending"], None], /) -> object: ...


class Executor(Protocol):
    """Runs the pieces of stages."""

    @property
    def at_once(self) -> int:
        """Pieces of a stage that run at once; this bounds memory, and leaves room for other stages."""
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
            self._make_of_pieces(ref, [Shard(index, *span) for index, span in enumerate(shard_spans(self._build, ref))])
        elif isinstance(step, FilesStep):
            files = [File(index, file) for index, file in enumerate(row_files(self._build, ref))]
            self._make_of_pieces(ref, files[::-1])  # the last file is the longest
        else:
            self._listener.started(ref, None)
            self._executor.run_whole(ref, partial(self._listener.advanced, ref))

    def _make_of_pieces(self, ref: StageRef, pieces: Sequence[Piece]) -> None:
        """Run a stage piece by piece, and finish it once all pieces exist."""
        self._listener.started(ref, len(pieces), expected_calls(self._build, ref))
        done: SimpleQueue[Pending] = SimpleQueue()
        remaining = iter(pieces)

        def begin_next() -> None:
            if (piece := next(remaining, None)) is not None:
                self._executor.submit(ref, piece).add_done_callback(done.put)

        for _ in range(self._executor.at_once):
            begin_next()
        for count in range(1, len(pieces) + 1):
            done.get().result()
            begin_next()
            if self._executor.stopped:
                raise Failed(f"{ref}: the build was stopped")
            self._listener.advanced(ref, count, len(pieces))
        files = self._build.files(ref)
        shards = [shard for index in range(len(pieces)) if (shard := files.shard(index)) is not None]
        if len(shards) < len(pieces):
            raise Failed(
                f"{ref}: {len(pieces) - len(shards)} of {len(pieces)} shards were finished, but are not in "
                f"{self._build.store.url}; name a store that all workers reach, such as s3://bucket/prefix"
            )
        finish(self._build, ref, shards)
