"""Deploys each flow on a Prefect server; one rebuild of a dataset runs at a time.

The flows are those that a person starts at a terminal, but with retries, since nobody is there to start them again.
"""

import hashlib
import logging
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import update_wrapper
from pathlib import Path
from typing import Any
from uuid import UUID
from weakref import WeakSet

from prefect import Flow, flow, get_client
from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilterParentFlowRunId,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import (
    ConcurrencyLimitStrategy,
    ConcurrencyOptions,
    FlowRun,
    State,
    StateType,
    WorkerStatus,
)
from prefect.client.schemas.schedules import CronSchedule
from prefect.client.schemas.sorting import FlowRunSort
from prefect.context import FlowRunContext
from prefect.events.actions import CallWebhook
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectAlreadyExists
from prefect.states import Cancelled, Completed, Crashed
from prefect.utilities.callables import parameter_schema
from pydantic import SecretStr

from flows.annotate.flow import pull_flow, push_flow
from flows.prefect_server.flow_runs import LEFT_OVER_AT_ONCE, RUN_TAG, mark_crashed, runs_in
from flows.project.build_report import write_report
from flows.project.project import Project
from flows.project.settings import Config, load_config
from flows.rebuild.flow import rebuild as rebuild_once
from flows.release.flow import release as release_once
from flows.release.outcome import Outcome
from flows.run.flow import build as build_once
from schemas.errors import Failed, Stopped, WrongInput
from schemas.secrets import hide_in_logs

RETRIES: dict[str, Any] = {"retries": 2, "retry_delay_seconds": 60}
"""Retries of a failed run, after those of the build's tasks and the Hub's client. A run that somebody has to look at
first (`WrongInput`, `Stopped`) is not tried again."""
AT_ONCE = 1
"""Rebuilds of a dataset at a time. A second one waits; it finds little to do, and nothing is missed."""
PROCESS = "process"
RAISED = re.compile(r"^Flow run encountered an exception: *(?:\w+: )?")
"""The beginning of Prefect's message on a failed run."""
FINAL = (StateType.COMPLETED, StateType.FAILED, StateType.CRASHED, StateType.CANCELLED)
UNFINISHED = (StateType.RUNNING, StateType.PENDING, StateType.CANCELLING)
NOTICE_TEXT = (
    "touchstone: {{ flow.name }} of {{ deployment.name }} has {{ flow_run.state.name | lower }}: "
    "{{ flow_run.state.message }} ({{ flow_run | ui_url }})"
)


def in_one_line(record: logging.LogRecord) -> bool:
    """Make the log show an error that is meant for people once, on one line, without a traceback."""
    error = record.exc_info[1] if record.exc_info else None
    if not isinstance(error, WrongInput | Failed):
        return True
    record.msg, record.args, record.exc_info, record.exc_text = str(error), (), None, None
    fresh = error not in _logged
    _logged.add(error)
    return fresh


_logged: WeakSet[BaseException] = WeakSet()
"""Errors that were logged: a flow, the flow around it and their process all log the same error."""


hide_in_logs()
for _name in ("prefect.flow_runs", "prefect.task_runs", "prefect.engine"):
    logging.getLogger(_name).addFilter(in_one_line)


def unattended(
    name: str, done: Callable[..., Any], tell: Callable[[Any], str] = lambda result: "done"
) -> Flow[..., State[Any]]:
    """Return `done` as a flow that is tried again if that may help, and ends with a one-line message."""

    def run(*args: Any, **kwargs: Any) -> State[Any]:
        try:
            return Completed(message=tell(done(*args, **kwargs)))
        except (WrongInput, Stopped):
            _try_no_more()
            raise

    wrapped: Callable[..., State[Any]] = update_wrapper(run, done)
    unattended_flow: Flow[..., State[Any]] = flow(name=name, validate_parameters=False, **RETRIES)(wrapped)
    return unattended_flow


def _try_no_more() -> None:
    """Cancel further retries of the current run: a flow's own setting applies to every run unconditionally."""
    context = FlowRunContext.get()
    assert context is not None
    assert context.flow_run is not None
    policy = context.flow_run.empirical_policy.model_copy(update={"retries": 0})
    with get_client(sync_client=True) as client:
        client.update_flow_run(context.flow_run.id, empirical_policy=policy)


def _build(config: str, out: str) -> None:
    """Build every configured family into `out`, and write the report."""
    build_once(config, out)
    write_report(Project(Path(config), Path(out), None))


def _version(outcome: Outcome) -> str:
    version = f"version {outcome.prepared.version}"
    return f"{version} released" if outcome.prepared.is_new else f"nothing differs from {version}"


build = unattended("build", _build)
push = unattended("push", push_flow.fn)
collect = unattended("collect", pull_flow.fn)
release = unattended("release", release_once.fn, _version)
rebuild = unattended("rebuild", rebuild_once.fn, lambda done: "; ".join(done.told))


def flows_of(config: Path, out: Path) -> Mapping[str, tuple[Flow[..., Any], dict[str, Any]]]:
    """Return name in this module -> deployed flow and its parameters."""
    both = {"config": str(config.resolve()), "out": str(out.resolve())}
    only_out = {"out": both["out"]}
    return {
        "build": (build, both),
        "push": (push, only_out),
        "collect": (collect, only_out),
        "release": (release, only_out),
        "rebuild": (rebuild, both),
    }


def deployed_name(config: Config) -> str:
    """Return the name of the dataset's deployments: its own name in characters that Prefect's addresses allow."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", config.name).strip("-") or "dataset"


def pool_of(config: Config) -> str:
    """Return the name of the dataset's work pool: other workers may not have its files and keys."""
    return f"{RUN_TAG}-{deployed_name(config)}"


def worker_of(config: Config) -> str:
    """Return the name of this folder's worker on this machine."""
    place = hashlib.sha256(str(config.state.resolve()).encode()).hexdigest()
    return f"{socket.gethostname()}-{place[:8]}"


def schedule_of(config: Config) -> CronSchedule | None:
    """Return when rebuilds run, in UTC."""
    return None if config.schedule.cron is None else CronSchedule(cron=config.schedule.cron, timezone="UTC")


def reach(shown: str) -> None:
    """Raise `Failed` if no Prefect server answers. `shown` is its address without secrets."""
    with get_client(sync_client=True) as client:
        error = client.api_healthcheck()
        if error is None:
            client.api_version()  # it asks for the login; everybody may ask for its health
    if error is not None:
        raise Failed(
            f"PREFECT_API_URL: no Prefect server answers at {shown} ({type(error).__name__}); start it, or unset the "
            "variable to have one started here"
        )


def open_pool(config: Config) -> str:
    """Create the dataset's work pool if necessary and return its name. Raises `Failed`."""
    pool = pool_of(config)
    with get_client(sync_client=True) as client:
        try:
            client.create_work_pool(WorkPoolCreate(name=pool, type=PROCESS, description=f"Runs of {config.name}"))
        except ObjectAlreadyExists:
            if client.read_work_pool(pool).type != PROCESS:
                raise Failed(f"{pool}: the server has a work pool with this name and another type; delete it") from None
    return pool


def deploy(path: Path, out: Path, command: str) -> Mapping[str, UUID]:
    """Create or update the deployments of a configuration on the server. Returns flow's name -> deployment.

    `command` runs a flow in a process of its own, in the current folder. Only rebuilds, which include every step, are
    on a schedule; the others run on demand. Runs that were planned for later are planned anew.
    """
    config = load_config(path)
    schedule = schedule_of(config)
    name, pool = deployed_name(config), pool_of(config)
    deployed: dict[str, UUID] = {}
    with get_client(sync_client=True) as client:
        for key, (flow_, parameters) in flows_of(path, out).items():
            rebuilds = key == "rebuild"
            deployed[key] = client.create_deployment(
                client.create_flow(flow_),
                name,
                entrypoint=f"{__name__}.{key}",
                description=flow_.description,
                parameters=parameters,
                parameter_openapi_schema=parameter_schema(flow_).model_dump(exclude_unset=True),
                enforce_parameter_schema=False,
                tags=[RUN_TAG],
                work_pool_name=pool,
                job_variables={"command": command, "working_dir": str(Path.cwd())},
                pull_steps=[],
                schedules=[DeploymentScheduleCreate(schedule=schedule)] if rebuilds and schedule else [],
                concurrency_limit=AT_ONCE if rebuilds else None,
                concurrency_options=ConcurrencyOptions(collision_strategy=ConcurrencyLimitStrategy.ENQUEUE)
                if rebuilds
                else None,
            )
    return deployed


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    id: UUID
    flow: str
    at: datetime
    succeeded: bool
    message: str
    """The result, or why it failed."""


def ended(deployed: Mapping[str, UUID]) -> Sequence[Ended]:
    """Return the last runs of deployments that have ended, the earliest first."""
    names = {deployment: name for name, deployment in deployed.items()}
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(
            deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=list(names))),
            flow_run_filter=runs_in(*FINAL),
            sort=FlowRunSort.END_TIME_DESC,
            limit=LEFT_OVER_AT_ONCE,
        )
    return [_ended(run, names) for run in reversed(runs)]


def _ended(run: FlowRun, names: Mapping[UUID, str]) -> Ended:
    assert run.state is not None
    assert run.deployment_id is not None
    at = run.end_time or run.state.timestamp
    message = " ".join(RAISED.sub("", run.state.message or "").split()) or str(run.state.name).lower()
    return Ended(run.id, names[run.deployment_id], at.astimezone(UTC), run.state.is_completed(), message)


def next_run(deployment: UUID) -> datetime | None:
    """Return when a deployment's schedule runs it next; None if it has none, or the scheduler has not planned it."""
    ours = DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(
            deployment_filter=ours,
            flow_run_filter=runs_in(StateType.SCHEDULED),
            sort=FlowRunSort.NEXT_SCHEDULED_START_TIME_ASC,
            limit=LEFT_OVER_AT_ONCE,
        )
    planned = [run.next_scheduled_start_time for run in runs if run.auto_scheduled]
    return next((when.astimezone(UTC) for when in planned if when is not None), None)


def notify(config: Config, url: str | None) -> None:
    """Make the server post a line to `url` when a run of the dataset fails or crashes; without a URL, to nobody.

    The address, which may itself be a secret, is kept in a block whose value the server encrypts.
    """
    title = f"{RUN_TAG} {deployed_name(config)}: a run failed"
    with get_client(sync_client=True) as client:
        for old in client.read_automations_by_name(title):
            client.delete_automation(old.id)
    if url is None:
        return
    block = Webhook(url=SecretStr(url), headers={"Content-Type": "application/json"})
    document = block.save(f"{pool_of(config).lower().replace('.', '-').replace('_', '-')}-notice", overwrite=True)
    assert isinstance(document, UUID)
    failed = EventTrigger(
        posture=Posture.Reactive,
        expect={"prefect.flow-run.Failed", "prefect.flow-run.Crashed", "prefect.flow-run.TimedOut"},
        match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
        match_related=ResourceSpecification(
            {"prefect.resource.role": "work-pool", "prefect.resource.name": pool_of(config)}
        ),
        threshold=1,
    )
    text = '{"text": {% filter tojson %}' + NOTICE_TEXT + "{% endfilter %}}"
    with get_client(sync_client=True) as client:
        client.create_automation(
            AutomationCore(name=title, trigger=failed, actions=[CallWebhook(block_document_id=document, payload=text)])
        )


def clear(config: Config) -> int:
    """Mark abandoned runs as crashed, or as cancelled if somebody asked for that, and return their number.

    These are runs of a terminal whose process has ended, and all runs of the dataset's pool, which has no worker now.
    Raises `Failed` if another worker is online: a dataset is served from one place.
    """
    mine, pool = worker_of(config), pool_of(config)
    with get_client(sync_client=True) as client:
        for worker in client.read_workers_for_work_pool(pool, offset=0, limit=LEFT_OVER_AT_ONCE):
            if worker.status == WorkerStatus.ONLINE and worker.name != mine:
                raise Failed(
                    f"{config.name}: is already served by {worker.name}; stop it first (a killed one is "
                    "forgotten after a minute and a half), or give this dataset another `name:`"
                )
        marked = 0
        for run in _unfinished(client, pool):
            state = Cancelled if run.state_type == StateType.CANCELLING else Crashed
            client.set_flow_run_state(run.id, state(message="its worker is gone"), force=True)
            marked += 1
    return marked + mark_crashed()


def _unfinished(client: SyncPrefectClient, pool: str) -> Iterator[FlowRun]:
    """Yield the unfinished runs of a pool, inner runs first."""

    def listed(pools: WorkPoolFilter | None, parents: FlowRunFilterParentFlowRunId | None) -> list[FlowRun]:
        return client.read_flow_runs(
            flow_run_filter=runs_in(*UNFINISHED, parent_flow_run_id=parents),
            work_pool_filter=pools,
            sort=FlowRunSort.START_TIME_DESC,
            limit=LEFT_OVER_AT_ONCE,
        )

    levels = [listed(WorkPoolFilter(name=WorkPoolFilterName(any_=[pool])), None)]
    while levels[-1]:
        levels.append(listed(None, FlowRunFilterParentFlowRunId(any_=[run.id for run in levels[-1]])))
    for level in reversed(levels):
        yield from level
