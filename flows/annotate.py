"""Hands out and collects people's work, as Prefect flows: each safe to run at any time, and any number of times."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact

from annotation.label_studio.sync import one_writer
from flows.embedded import engine
from flows.label_studio import connect_configured
from flows.outputs import open_built
from flows.people import Collected, HandedOut, Standing, hand_out, pull, status


@flow(name="annotate", validate_parameters=False)
def annotate(out: str) -> HandedOut:
    """Bring to everybody's queues what is theirs to do now."""
    project = open_built(Path(out))
    with one_writer(project.state), connect_configured(project.config) as client:
        return hand_out(project, client)


@flow(name="collect", validate_parameters=False)
def collect(out: str) -> tuple[list[Collected], list[Standing]]:
    """Pull what people handed in, and write down what it comes to."""
    project = open_built(Path(out))
    with one_writer(project.state), connect_configured(project.config) as client:
        collected = pull(project, client)
        standings = status(project, client)
    rows: list[dict[str, Any]] = [one.model_dump(mode="json") for one in standings]
    create_table_artifact(table=rows, key="annotation", description="Who has done what")
    return collected, standings


def run_annotate(out: Path) -> HandedOut:
    """Run `annotate` here and now."""
    with engine():
        return annotate(str(out))


def run_collect(out: Path) -> tuple[list[Collected], list[Standing]]:
    """Run `collect` here and now."""
    with engine():
        return collect(str(out))
