"""The build as a Prefect flow: every stage of every configured family, as soon as what it is made from is there.

Thin: Prefect runs shards and whole steps, and knows retries, progress and results as tables; paths and
names travel between tasks, not data. What is finished is not run again; the store knows.
"""

import asyncio
import gc
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from uuid import UUID

from prefect import flow, task
from prefect.artifacts import create_progress_artifact, create_table_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows.construct.engine import Family, Part, SetStep
from flows.construct.files_step import FilesStep, RowFile
from flows.construct.stages import SOURCE, StageRef
from flows.llm.model import BudgetSpent, TransportError
from flows.llm.rules import Rules
from flows.prefect_server.flow_runs import engine
from flows.project.locks import building, one_stage
from flows.project.output_files import remember, write_output_files
from flows.project.progress import NoListener, ProgressListener
from flows.project.project import Project
from flows.project.settings import ConfigError
from flows.project.stages_in_use import note_build
from flows.run.estimate import expected_calls
from schemas.errors import Failed
from schemas.manifest import BuildManifest, StageManifest

DASK_WORKERS = os.cpu_count() or 1
"""Worker processes, where no cluster is named."""
DASK_CLUSTER = "DASK_SCHEDULER_ADDRESS"
"""Dask's own variable: the scheduler of a cluster that is there already, of workers on any number of machines."""
SHARDS_AT_ONCE = 8
"""Shards of a stage in work at once. They share one event loop and the models' limits; this bounds memory."""
STAGES_AT_ONCE = 8
"""Stages in work at once, of those that wait for no other."""
TICK_S = 1.0
"""How often a watcher hears that nothing has happened, in seconds."""
RETRY_DELAYS = [2.0, 10.0]
"""Seconds before a shard is tried again after its model could not be reached, on top of the SDK's retries."""


def _unreachable(task: Any, run: Any, state: State[Any]) -> bool:
    """Whether a task failed for want of an answer, so that trying again may help."""
    try:
        state.result()
    except TransportError as error:
        return error.transient
    except BaseException:  # noqa: BLE001 - any other failure is final, and raised where the task's result is read
        return False
    return False


RETRIED: dict[str, Any] = {
    "cache_policy": NO_CACHE,
    "persist_result": False,
    "retries": len(RETRY_DELAYS),
    "retry_delay_seconds": RETRY_DELAYS,
    "retry_condition_fn": _unreachable,
}
"""How Prefect treats a task that asks a model: the store knows results, and only an unanswered call is tried again."""


@task(name="shard", task_run_name="{ref} shard {index}", **RETRIED)
def run_shard(project: Project, ref: StageRef, fingerprint: str, index: int, start: int, stop: int) -> None:
    """One shard of an `each` or `expand` step."""
    if not project.stopped:
        _check_same(project, ref, fingerprint)
        project.run(project.build.run_shard(ref, index, start, stop))


@task(name="file", task_run_name="{ref} {file.name}", cache_policy=NO_CACHE, persist_result=False)
def run_file(project: Project, ref: StageRef, fingerprint: str, index: int, file: RowFile) -> None:
    """One file of a `rows` step."""
    if not project.stopped:
        _check_same(project, ref, fingerprint)
        project.build.run_file(ref, index, file)


def _check_same(project: Project, ref: StageRef, fingerprint: str) -> None:
    """Refuse work for a stage that would be another one on this machine. Raises `Failed`."""
    if project.build.fingerprint(ref) != fingerprint:
        raise Failed(
            f"{ref}: the worker on {socket.gethostname()} has another configuration, other sources, verdicts or code "
            "than where the build was started; bring them to the same state at the same paths, then run again"
        )


@task(name="set", task_run_name="{ref}", **RETRIED)
def run_set(project: Project, ref: StageRef, watcher: ProgressListener) -> None:
    """A whole `all_` step. One that asks nothing keeps the loop free on which calls wait."""
    step = project.build.step(ref)
    assert step is not None
    work = project.build.run_set(ref, lambda done, total: watcher.advanced(ref, done, total))
    project.run(work) if step.prompts else asyncio.run(work)


@task(name="rows", task_run_name="{ref}", cache_policy=NO_CACHE, persist_result=False)
def run_rows(project: Project, ref: StageRef) -> None:
    """A part's sources, or its people's verdicts."""
    project.build.run_source(ref) if ref.step == SOURCE else project.build.run_people(ref)


@flow(name="build", validate_parameters=False)
def build(config: str, out: str, limit: int | None = None, watcher: ProgressListener | None = None) -> BuildManifest:
    """Build every configured family into `out`."""
    watching: ProgressListener = watcher or NoListener()
    project = Project(Path(config), Path(out), limit)
    if project.config.runner == "dask":
        project = Project(Path(config), Path(out), limit, workers=_dask_workers(project))
    try:
        with building(project.state):
            project.store.probe()
            _stages(project, watching)
            manifest = write_output_files(project)
            note_build(project.store, project.out, manifest)
            remember(project)
    except BudgetSpent as stopped:
        raise project.over_budget() from stopped
    finally:
        gc.unfreeze()
        project.close()
    return manifest


def _stages(project: Project, watcher: ProgressListener) -> None:
    """Run all stages, each as soon as those are finished that it needs. The first failure stops the others.

    Each has a thread of its own that hands out its shards; models, with their limits, are shared by all of them.
    """
    builder = project.build
    builder.called = watcher.called
    parts = {ref: (family, part) for family, part in builder.parts() for ref in builder.stages(family, part)}
    waiting = {ref: set(builder.needs(ref)) for ref in parts}
    running: dict[Future[None], StageRef] = {}
    with ThreadPoolExecutor(STAGES_AT_ONCE, thread_name_prefix="stage") as threads:
        try:
            while waiting or running:
                for ref in [ref for ref, needed in waiting.items() if not needed]:
                    del waiting[ref]
                    family, part = parts[ref]
                    work = partial(_stage, project, family, part, ref, watcher)
                    running[threads.submit(copy_context().run, work)] = ref
                done, _ = wait(running, TICK_S, FIRST_COMPLETED)
                for stage in done:
                    stage.result()
                    for needed in waiting.values():
                        needed.discard(running[stage])
                    del running[stage]
                watcher.waited()
        except BaseException:
            project.stop()
            threads.shutdown(cancel_futures=True)
            raise


def _stage(project: Project, family: Family, part: Part, ref: StageRef, watcher: ProgressListener) -> None:
    """Run one stage, unless it is finished; where another run is at it, wait for that one."""
    builder = project.build
    if builder.manifest(ref) is None:
        with one_stage(project.state, builder.fingerprint(ref), project.waiting(ref, watcher)):
            if builder.manifest(ref) is None:
                _make(project, family, part, ref, watcher)
                return
    done = builder.manifest(ref)
    assert done is not None
    watcher.finished(ref, done, before=True, example=_example(project, family, part, ref))


def _make(project: Project, family: Family, part: Part, ref: StageRef, watcher: ProgressListener) -> None:
    """Run a stage that is not finished."""
    builder = project.build
    step = builder.step(ref)
    # What is there by now stays: it is not to be looked through for garbage with every few calls.
    gc.collect()
    gc.freeze()
    if step is not None and step.embeds and _asks_servers(project, ref):
        project.load_embedder()
    with _progress(ref) as progress:
        if step is None:
            watcher.started(ref, None)
            run_rows(project, ref)
        elif isinstance(step, SetStep):
            watcher.started(ref, None)
            run_set(project, ref, watcher)
        else:
            fingerprint = builder.fingerprint(ref)
            submits: list[Callable[[], PrefectFuture[None]]]
            if isinstance(step, FilesStep):
                files_of_rows = reversed(list(enumerate(builder.row_files(ref))))
                submits = [partial(run_file.submit, project, ref, fingerprint, *one) for one in files_of_rows]
            else:
                spans = enumerate(builder.shards(ref))
                submits = [partial(run_shard.submit, project, ref, fingerprint, index, *span) for index, span in spans]
            watcher.started(ref, len(submits), expected_calls(builder, ref))
            for count in _some_at_once(submits, max(SHARDS_AT_ONCE, 2 * project.workers)):
                if project.stopped:
                    raise Failed(f"{ref}: the build was stopped")
                watcher.advanced(ref, count, len(submits))
                progress(count / len(submits))
            files = builder.files(ref)
            shards = [shard for index in range(len(submits)) if (shard := files.shard(index)) is not None]
            if len(shards) < len(submits):
                raise Failed(
                    f"{ref}: {len(submits) - len(shards)} of {len(submits)} shards were finished, but are not in "
                    f"{project.config.store}; name a store that all workers reach, such as s3://bucket/prefix"
                )
            builder.finish(ref, shards)
    manifest = builder.manifest(ref)
    assert manifest is not None
    _table(ref, manifest)
    watcher.finished(ref, manifest, before=False, example=_example(project, family, part, ref))


def _asks_servers(project: Project, ref: StageRef) -> bool:
    """Whether a stage asks models other than the rules."""
    step, family = project.build.step(ref), project.build.families[ref.family]
    names = step.models(family.settings) if step is not None else ()
    return not all(isinstance(family.models[name], Rules) for name in names)


def _some_at_once(submits: Sequence[Callable[[], PrefectFuture[None]]], most: int) -> Iterator[int]:
    """Have tasks run, at most so many at once: a stage of many shards leaves room for others. Yields how many are done.

    Raises what a task failed with, as soon as it has.
    """
    done: SimpleQueue[PrefectFuture[None]] = SimpleQueue()
    left = iter(submits)
    for submit in islice(left, most):
        submit().add_done_callback(done.put)
    for count in range(1, len(submits) + 1):
        done.get().result()
        for submit in islice(left, 1):
            submit().add_done_callback(done.put)
        yield count


def _example(project: Project, family: Family, part: Part, ref: StageRef) -> str | None:
    if part.name != family.reads or ref.step != part.steps[-1].name:
        return None
    return next((family.show(record) for record in project.build.read(ref).slice(0, 1)), None)


@contextmanager
def _progress(ref: StageRef) -> Iterator[Any]:
    """A progress artifact for a stage, with a function that moves it."""
    name = create_progress_artifact(progress=0.0, key=_artifact_key(ref, "progress"), description=str(ref))
    assert isinstance(name, UUID)

    def move(share: float) -> None:
        update_progress_artifact(name, progress=round(100 * share, 1))

    yield move
    move(1.0)


def _table(ref: StageRef, manifest: StageManifest) -> None:
    """The stage's counts as a table artifact."""
    rows: list[dict[str, Any]] = [
        {"what": "planned", "records": manifest.planned},
        {"what": "kept", "records": manifest.kept},
        *({"what": f"dropped: {reason}", "records": count} for reason, count in manifest.dropped.items()),
        *({"what": f"calls: {prompt}", "records": usage.calls} for prompt, usage in manifest.usage.items()),
    ]
    create_table_artifact(table=rows, key=_artifact_key(ref, "counts"), description=str(ref))


def _artifact_key(ref: StageRef, kind: str) -> str:
    return f"{ref.family}-{ref.part}-{ref.step}-{kind}".replace("_", "-").lower()


def run_build(config: Path, out: Path, limit: int | None, watcher: ProgressListener, runner: str) -> BuildManifest:
    """Run the build flow here and now."""
    with engine():
        return build.with_options(task_runner=task_runner(runner))(str(config), str(out), limit, watcher)


def task_runner(name: str) -> TaskRunner[Any]:
    """The configured task runner."""
    if name == "dask":
        from prefect_dask import DaskTaskRunner

        # A connection that closes while the workers end is no fault, and is said with a traceback.
        logging.getLogger("distributed.batched").setLevel(logging.CRITICAL)
        local = {"n_workers": DASK_WORKERS, "threads_per_worker": 1, "dashboard_address": None}
        address = os.environ.get(DASK_CLUSTER)
        runner: TaskRunner[Any] = DaskTaskRunner(address=address) if address else DaskTaskRunner(cluster_kwargs=local)
        return runner
    return ThreadPoolTaskRunner(max_workers=STAGES_AT_ONCE * SHARDS_AT_ONCE)


def _dask_workers(project: Project) -> int:
    """How many worker processes share the models' limits and the budget. Raises `Failed`."""
    address = os.environ.get(DASK_CLUSTER)
    if not address:
        return DASK_WORKERS
    if project.config.budget_usd is not None and (project.config.cache or "sqlite:").startswith("sqlite:"):
        raise ConfigError(
            f"{project.config_path}: budget_usd: what several machines spend is counted in a cache that they share; "
            "name its database under cache, such as postgresql://host/touchstone"
        )
    context = FlowRunContext.get()
    assert context is not None
    try:
        workers: int = len(context.task_runner.client.nthreads())  # type: ignore[attr-defined] # a DaskTaskRunner
    except OSError as error:
        raise Failed(f"{DASK_CLUSTER}: no scheduler answers at {address}; start `dask scheduler` there") from error
    if not workers:
        raise Failed(f"{DASK_CLUSTER}: {address} has no workers; start `dask worker {address}` on each machine")
    return workers
