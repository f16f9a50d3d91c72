"""Push and pull as Prefect flows. Each is safe to run at any time, any number of times."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from prefect import flow
from prefect.artifacts import create_table_artifact

from flows.annotate.progress import QueueProgress, progress
from flows.annotate.pull import pull
from flows.annotate.push import Pushed, push
from flows.annotate.report import progress_row, write_annotation
from flows.annotate.server import connect_configured
from flows.annotate.work import Collected
from flows.prefect_server.flow_runs import engine
from flows.project.locks import one_writer
from flows.project.output_files import open_for_people
from schemas.annotation import Agreement

Tell = Callable[[str], None]
"""Gets a line for the lead: that the flow waits for another push or pull. Without it, the line goes to the log."""
_log = logging.getLogger(__name__)


@flow(name="annotate", validate_parameters=False)
def push_flow(out: str, tell: Tell | None = None) -> Pushed:
    """Bring everybody's current tasks to their queues."""
    project = open_for_people(Path(out))
    with (
        one_writer(project.state, tell or _log.warning),
        connect_configured(project) as client,
    ):
        return push(project, client)


@flow(name="collect", validate_parameters=False)
def pull_flow(out: str, tell: Tell | None = None) -> tuple[list[Collected], list[QueueProgress]]:
    """Pull people's annotations, and write down what comes of them."""
    project = open_for_people(Path(out))
    with (
        one_writer(project.state, tell or _log.warning),
        connect_configured(project) as client,
    ):
        collected = pull(project, client)
        lines = progress(project, client, collected)
    seed = project.config.seed
    rows = [dict(progress_row(line)) for line in lines]
    create_table_artifact(table=rows, key="annotation", description="Who has done what")
    agreement = [(work.rubric, row) for work in collected for row in work.agreement(seed)]
    _artifact("agreement", "How far people agree, by question and measure", agreement)
    if compared := [(work.rubric, row) for work in collected for row in work.compared(seed)]:
        _artifact("programs", "How far programs agree with people", compared)
    write_annotation(project, collected, lines)
    return collected, lines


def _artifact(key: str, description: str, rows: Sequence[tuple[str, Agreement]]) -> None:
    table = [{"rubric": rubric, **row.model_dump(mode="json")} for rubric, row in rows]
    create_table_artifact(table=table, key=key, description=description)


def run_push(out: Path, tell: Tell) -> Pushed:
    """Run `push_flow` here and now."""
    with engine():
        return push_flow(str(out), tell)


def run_pull(out: Path, tell: Tell) -> tuple[list[Collected], list[QueueProgress]]:
    """Run `pull_flow` here and now."""
    with engine():
        return pull_flow(str(out), tell)
