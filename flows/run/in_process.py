"""Runs the pieces of stages in this process: for estimates, previews, and evaluations in dialogues."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from flows.construct.engine import SetStep
from flows.construct.preparing import asks_servers
from flows.construct.progress import ProgressListener
from flows.construct.runner import File, Piece, Runner
from flows.construct.running import run_file, run_people, run_set, run_shard, run_source
from flows.construct.stages import SOURCE, Build, StageRef
from flows.project.locks import one_stage
from flows.project.project import Project
from schemas.manifest import ShardManifest

SHARDS_AT_ONCE = 8
"""Shards of a stage that run at once. They share one event loop and the models' limits."""


class InProcess:
    """Runs shards on the event loop that all model calls share, and everything else in the thread of its stage."""

    def __init__(self, project: Project, build: Build) -> None:
        self._project = project
        self._build = build
        self._work: set[Future[list[ShardManifest]]] = set()
        self._stopped = False

    @property
    def at_once(self) -> int:
        """Shards of a stage that run at once."""
        return SHARDS_AT_ONCE

    @property
    def workers(self) -> int:
        """Processes that share the shards."""
        return self._project.workers

    @property
    def stopped(self) -> bool:
        """True if a stage has failed or the project is stopped."""
        return self._stopped or self._project.loop.stopped

    def load(self, ref: StageRef) -> None:
        """Load the embedder for a stage that asks servers; loaded on the event loop, it would make calls time out."""
        step = self._build.step(ref)
        if step is not None and step.embeds and asks_servers(self._build, ref):
            self._project.load_embedder()

    def submit(self, piece: Piece) -> Future[list[ShardManifest]]:
        """Start a shard, or write a file."""
        if isinstance(piece, File):
            done: Future[list[ShardManifest]] = Future()
            done.set_result([run_file(self._build, piece.ref, piece.index, piece.file)])
            return done
        future = self._project.loop.submit(run_shard(self._build, piece.chain, piece.start, piece.stop))
        self._work.add(future)
        future.add_done_callback(self._work.discard)
        if self._stopped:  # by another stage
            future.cancel()
        return future

    def run_whole(self, ref: StageRef, progress: Callable[[int, int], None]) -> None:
        """Run a stage in one piece."""
        run_whole_here(self._project, self._build, ref, progress)

    def stop(self) -> None:
        """Cancel the pieces that wait for models."""
        self._stopped = True
        for future in list(self._work):
            future.cancel()


def run_whole_here(project: Project, build: Build, ref: StageRef, progress: Callable[[int, int], None]) -> None:
    """Run a stage of an `all_` step, a source or people stage. Steps that ask nothing do not use the models' loop."""
    step = build.step(ref)
    if isinstance(step, SetStep):
        work = run_set(build, ref, progress)
        project.loop.run(work) if step.prompts else asyncio.run(work)
    elif ref.step == SOURCE:
        run_source(build, ref)
    else:
        run_people(build, ref)


def runner_here(project: Project, build: Build, listener: ProgressListener | None = None) -> Runner:
    """Return a runner that runs a build's stages in this process."""
    return Runner(build, InProcess(project, build), partial(one_stage, project.state), listener)
