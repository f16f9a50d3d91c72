"""The build as a Prefect flow: every stage of every configured family, as soon as its inputs are finished.

The layer is thin. Prefect runs shards and whole steps, retries them, and shows progress and counts; paths and names
travel between tasks, not data. Finished stages, which the store knows, are not run again.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from prefect import flow, task
from prefect.artifacts import create_progress_artifact, create_table_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture

from flows.construct.engine import SetStep
from flows.construct.progress import ProgressListener
from flows.construct.runner import File, Pending, Piece, Runner, Shard
from flows.construct.running import run_file, run_shard
from flows.construct.stages import Build, StageRef
from flows.llm.model import BudgetSpent, TransportError
from flows.prefect_server.flow_runs import engine
from flows.project.locks import one_stage
from flows.project.project import Project
from flows.project.settings import ConfigError
from flows.run.damage import healing, stages_of
from flows.run.finished import write_build
from flows.run.in_process import SHARDS_AT_ONCE, InProcess, run_whole_here
from schemas.errors import Failed
from schemas.manifest import BuildManifest, ShardManifest, StageManifest

if TYPE_CHECKING:  # importing Dask takes seconds
    from flows.run.cluster import Workers

DASK_CLUSTER = "DASK_SCHEDULER_ADDRESS"
"""Dask's own variable: the scheduler of an existing cluster, with workers on any number of machines."""
RETRY_DELAYS = [2.0, 10.0]
"""Seconds before a shard is tried again after its model could not be reached, on top of the SDK's retries."""


def _unreachable(task: Any, run: Any, state: State[Any]) -> bool:
    """True if a task failed because its model did not answer, so that trying again may help."""
    try:
        state.result()
    except TransportError as error:
        return error.transient
    except BaseException:  # noqa: BLE001 - any other failure is final; reading the task's result raises it
        return False
    return False


RETRIED: dict[str, Any] = {
    "cache_policy": NO_CACHE,
    "persist_result": False,
    "retries": len(RETRY_DELAYS),
    "retry_delay_seconds": RETRY_DELAYS,
    "retry_condition_fn": _unreachable,
}
"""Options of a task that asks a model: the store keeps results, and only an unanswered call is tried again."""


@task(name="shard", task_run_name="{piece.chain[0]} {piece.start} to {piece.stop}", **RETRIED)
def shard(project: Project, piece: Shard, workers: "Workers | None") -> Sequence[ShardManifest] | None:
    """Run the steps of a chain over a span of input records, here or on a worker."""
    if project.loop.stopped:
        return None
    if workers is not None:
        return workers.run(piece.chain[-1], piece)
    return project.loop.run(run_shard(project.build, piece.chain, piece.start, piece.stop))


@task(name="file", task_run_name="{piece.ref} {piece.file.name}", cache_policy=NO_CACHE, persist_result=False)
def row_file(project: Project, piece: File, workers: "Workers | None") -> Sequence[ShardManifest] | None:
    """Write one file of a `files` step, here or on a worker."""
    if project.loop.stopped:
        return None
    if workers is not None:
        return workers.run(piece.ref, piece)
    return [run_file(project.build, piece.ref, piece.index, piece.file)]


@task(name="set", task_run_name="{ref}", **RETRIED)
def whole_set(project: Project, ref: StageRef, progress: Callable[[int, int], None]) -> None:
    """Run a whole `all_` step."""
    run_whole_here(project, project.build, ref, progress)


@task(name="sources", task_run_name="{ref}", cache_policy=NO_CACHE, persist_result=False)
def sources(project: Project, ref: StageRef, progress: Callable[[int, int], None]) -> None:
    """Read a part's sources, or apply its people's verdicts."""
    run_whole_here(project, project.build, ref, progress)


@flow(name="build", validate_parameters=False)
def build(config: str, out: str, limit: int | None = None, listener: ProgressListener | None = None) -> BuildManifest:
    """Build every configured family into `out`."""
    artifacts = Artifacts(listener or ProgressListener())
    work = partial(_build, listener=artifacts)
    return healing(lambda: Project(Path(config), Path(out), limit), work, artifacts.noted)


def _build(project: Project, listener: ProgressListener) -> BuildManifest:
    if project.config.runner == "dask":
        project.models.share = None  # until the workers that there are have shared the limits
    stages = project.build
    try:
        with _workers_of(project) as workers:
            project.store.probe()
            stages.called, project.models.progress = listener.called, listener.noted
            lock, example = partial(one_stage, project.state), partial(_first_item, project)
            runner = Runner(stages, PrefectTasks(project, stages, workers), lock, listener, example)
            runner.run(stages_of(stages))
            return write_build(project, listener)
    except BudgetSpent as stopped:
        raise project.over_budget() from stopped


class PrefectTasks(InProcess):
    """Runs shards and files as submitted tasks, and whole stages as tasks in the thread of their stage."""

    def __init__(self, project: Project, build: Build, workers: "Workers | None") -> None:
        """`workers` are those of a Dask cluster."""
        super().__init__(project, build)
        self._workers = workers

    @property
    def at_once(self) -> int:
        """Tasks of a stage in work at once: a stage of many shards leaves room for others.

        A worker has another piece ready, and no more: those wait for it, even if others have nothing left.
        """
        return SHARDS_AT_ONCE if self._workers is None else 2 * max(self._workers.threads, self._project.workers)

    def submit(self, piece: Piece) -> Pending:  # type: ignore[override]
        """Submit a shard or a file."""
        future: PrefectFuture[Sequence[ShardManifest] | None]
        if isinstance(piece, File):
            future = row_file.submit(self._project, piece, self._workers)
        else:
            future = shard.submit(self._project, piece, self._workers)
        return future

    def run_whole(self, ref: StageRef, progress: Callable[[int, int], None]) -> None:
        """Run a stage in one piece."""
        step = self._build.step(ref)
        if not isinstance(step, SetStep):
            sources(self._project, ref, progress)
            return
        with self._workers.asking_here(ref) if self._workers is not None and step.prompts else nullcontext():
            whole_set(self._project, ref, progress)

    def stop(self) -> None:
        """Stop the project: on this machine, pieces that use models end; workers are given nothing more."""
        self._project.stop()
        if self._workers is not None:
            self._workers.cancel()


class Artifacts(ProgressListener):
    """Shows the progress and counts of stages as Prefect artifacts, and passes all reports on to another listener."""

    def __init__(self, listener: ProgressListener) -> None:
        self._listener = listener
        self._progress: dict[StageRef, UUID] = {}
        self._in_pieces: set[StageRef] = set()
        self.called, self.blocked = listener.called, listener.blocked  # type: ignore[method-assign]
        self.waited, self.noted = listener.waited, listener.noted  # type: ignore[method-assign]
        self.stopping = listener.stopping  # type: ignore[method-assign]

    def started(self, ref: StageRef, total: int | None, calls: int = 0) -> None:
        """Create the progress artifact of a stage."""
        artifact = create_progress_artifact(progress=0.0, key=_artifact_key(ref, "progress"), description=str(ref))
        assert isinstance(artifact, UUID)
        self._progress[ref] = artifact
        if total is not None:
            self._in_pieces.add(ref)
        self._listener.started(ref, total, calls)

    def advanced(self, ref: StageRef, done: int, total: int) -> None:
        """Update the progress of a stage that runs in pieces."""
        self._listener.advanced(ref, done, total)
        if ref in self._in_pieces:
            update_progress_artifact(self._progress[ref], progress=round(100 * done / total, 1))

    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None:
        """Show the counts of a stage, unless it was finished before this run."""
        if not before:
            update_progress_artifact(self._progress[ref], progress=100.0)
            create_table_artifact(table=_counts(manifest), key=_artifact_key(ref, "counts"), description=str(ref))
        self._listener.finished(ref, manifest, before=before, example=example)


def _counts(manifest: StageManifest) -> list[dict[str, Any]]:
    return [
        {"what": "planned", "records": manifest.planned},
        {"what": "kept", "records": manifest.kept},
        *({"what": f"dropped: {reason}", "records": count} for reason, count in manifest.dropped.items()),
        *({"what": f"calls: {prompt}", "records": usage.calls} for prompt, usage in manifest.usage.items()),
    ]


def _first_item(project: Project, ref: StageRef) -> str | None:
    """Return the first record of the part that a person would read first, if the stage ends that part."""
    family = project.build.families[ref.family].family
    if ref.part != family.reads or ref.step != family.part(ref.part).steps[-1].name:
        return None
    return next((family.view_of(record).in_markdown() for record in project.build.read(ref).slice(0, 1)), None)


def _artifact_key(ref: StageRef, kind: str) -> str:
    return f"{ref.family}-{ref.part}-{ref.step}-{kind}".replace("_", "-").lower()


def run_build(config: Path, out: Path, limit: int | None, listener: ProgressListener) -> BuildManifest:
    """Run the build flow in this process."""
    with engine():
        return build(str(config), str(out), limit, listener)


def _workers_of(project: Project) -> "AbstractContextManager[Workers | None]":
    """Return the workers of the Dask cluster that runs the build, if one does. Raises `Failed`."""
    if project.config.runner != "dask":
        return nullcontext()
    from flows.run.cluster import Workers

    address = os.environ.get(DASK_CLUSTER)
    if address and project.config.budget_usd is not None and (project.config.cache or "sqlite:").startswith("sqlite:"):
        raise ConfigError(
            f"{project.config_path}: budget_usd: what several machines spend is counted in a cache that they share; "
            "name its database under cache, such as postgresql://host/touchstone"
        )
    try:
        return Workers(project, address)
    except OSError as error:
        raise Failed(f"{DASK_CLUSTER}: no scheduler answers at {address}; start `dask scheduler` there") from error
