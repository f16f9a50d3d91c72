"""The rebuild that a dataset missed while nothing served it: one that was cut off, or one that was due.

The Prefect server knows both: it keeps the runs that it planned, and `clear` has marked a run that was cut off as
crashed. However many rebuilds were missed, one makes up for all of them.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from prefect import get_client
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterName,
    FlowFilter,
    FlowFilterName,
    FlowRunFilterExpectedStartTime,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.states import AwaitingConcurrencySlot

from flows.prefect_server.flow_runs import LEFT_OVER_AT_ONCE, runs_in
from flows.project.settings import Config
from flows.serve.deployments import FINAL, deployed_name

REBUILD = "rebuild"
WAITS = AwaitingConcurrencySlot().name
"""A planned run that waits for another one starts by itself, however long nothing served the dataset."""


@dataclass(frozen=True)
class Missed:
    """A rebuild to make up for."""

    what: str
    """A rebuild that was missed, and its time."""
    key: str
    """The same until it is made up for, so that a start that was itself cut off does not make up for it twice."""
    parameters: dict[str, Any]
    """Parameters of the run."""


def missed_rebuild(config: Config, now: datetime) -> Missed | None:
    """Return what was missed until `now`; None if nothing was. Call it after `clear`."""
    with get_client(sync_client=True) as client:
        last = _rebuilds(client, config, now, FINAL, FlowRunSort.END_TIME_DESC)[:1]
        due = _due(client, config, now)
    for run in last:
        if run.state is not None and run.state.is_crashed():
            began = run.start_time or run.expected_start_time
            return Missed(f"the rebuild of {_time(began)} was cut off", f"again-{run.id}", run.parameters)
    if config.schedule.cron is None or not due:
        return None
    when = _time(due[0].expected_start_time)
    return Missed(f"a rebuild was due at {when}, when nothing served it", f"due-{when}", due[0].parameters)


def make_up(deployment: UUID, missed: Missed) -> None:
    """Run the rebuild now, unless it is made up for already."""
    with get_client(sync_client=True) as client:
        present = client.read_deployment(deployment).parameters  # the files may be served from elsewhere now
        client.create_flow_run_from_deployment(
            deployment, parameters={**missed.parameters, **present}, idempotency_key=missed.key
        )


def forget_due(config: Config, now: datetime) -> None:
    """Delete the runs that were due until `now`: a worker would begin each of them. Call it before there is one."""
    with get_client(sync_client=True) as client:
        while due := _due(client, config, now):
            for run in due:
                client.delete_flow_run(run.id)


def _due(client: SyncPrefectClient, config: Config, now: datetime) -> list[FlowRun]:
    """Return planned rebuilds that were to start by now and have not, the latest first."""
    planned = _rebuilds(client, config, now, (StateType.SCHEDULED,), FlowRunSort.EXPECTED_START_TIME_DESC)
    return [run for run in planned if run.auto_scheduled and run.run_count == 0 and run.state_name != WAITS]


def _rebuilds(
    client: SyncPrefectClient, config: Config, now: datetime, states: tuple[StateType, ...], sort: FlowRunSort
) -> list[FlowRun]:
    """Return rebuilds of the dataset that were to start by now."""
    by_now = FlowRunFilterExpectedStartTime(before_=now)
    return client.read_flow_runs(
        flow_filter=FlowFilter(name=FlowFilterName(any_=[REBUILD])),
        deployment_filter=DeploymentFilter(name=DeploymentFilterName(any_=[deployed_name(config)])),
        flow_run_filter=runs_in(*states, expected_start_time=by_now),
        sort=sort,
        limit=LEFT_OVER_AT_ONCE,
    )


def _time(when: datetime | None) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if when else "an unknown time"
