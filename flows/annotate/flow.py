"""Hands out and collects people's work, as Prefect flows: each safe to run at any time, and any number of times."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact

from annotation.label_studio.sync import one_writer
from flows.annotate.progress import Standing, status
from flows.annotate.pull import pull
from flows.annotate.push import HandedOut, hand_out
from flows.annotate.report import figures_of, write_annotation
from flows.annotate.server import connect_configured
from flows.annotate.work import Collected
from flows.prefect_server.flow_runs import engine
from flows.project.output_files import open_for_people


@flow(name="annotate", validate_parameters=False)
def annotate(out: str) -> HandedOut:
    """Bring to everybody's queues what is theirs to do now."""
    project = open_for_people(Path(out))
    with one_writer(project.state), connect_configured(project.config) as client:
        return hand_out(project, client)


@flow(name="collect", validate_parameters=False)
def collect(out: str) -> tuple[list[Collected], list[Standing]]:
    """Pull what people handed in, and write down what it comes to."""
    project = open_for_people(Path(out))
    with one_writer(project.state), connect_configured(project.config) as client:
        collected = pull(project, client)
        standings = status(project, client, collected)
    create_table_artifact(
        table=[dict(figures_of(one)) for one in standings], key="annotation", description="Who has done what"
    )
    agreed: list[dict[str, Any]] = [
        {"rubric": one.rubric, **row.model_dump(mode="json")}
        for one in collected
        for row in one.agreement(project.config.seed)
    ]
    create_table_artifact(table=agreed, key="agreement", description="How far people agree, by question and measure")
    likened: list[dict[str, Any]] = [
        {"rubric": one.rubric, **row.model_dump(mode="json")}
        for one in collected
        for row in one.compared(project.config.seed)
    ]
    if likened:
        create_table_artifact(table=likened, key="programs", description="How far programs agree with people")
    write_annotation(project, collected, standings)
    return collected, standings


def run_annotate(out: Path) -> HandedOut:
    """Run `annotate` here and now."""
    with engine():
        return annotate(str(out))


def run_collect(out: Path) -> tuple[list[Collected], list[Standing]]:
    """Run `collect` here and now."""
    with engine():
        return collect(str(out))
