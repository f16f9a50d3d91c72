"""The release as a Prefect flow: makes a version from a finished build and publishes it if asked to."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from data.publish.changelog import section
from data.publish.folder import CHANGELOG
from flows.prefect_server.flow_runs import engine
from flows.release.outcome import Outcome, release_built


@flow(name="release", validate_parameters=False)
def release(
    out: str,
    to: str | None = None,
    hub: str | None = None,
    version: str | None = None,
    allow_unreviewed: bool | None = None,
    withdraw: bool = True,
) -> Outcome:
    """Release the build in `out`. If nothing differs from the previous version, nothing happens.

    Without `allow_unreviewed`, unreviewed rows are treated as in the previous version. Unless it may `withdraw`, it
    stops (`Stopped`) before a version that lacks a whole configuration of the previous one.
    """
    outcome = release_built(out, to, hub, version=version, allow_unreviewed=allow_unreviewed, withdraw=withdraw)
    prepared = outcome.prepared
    held_back: list[dict[str, Any]] = [
        {"configuration": name, "held back": reason, "rows": count}
        for name, reasons in prepared.held_back.items()
        for reason, count in reasons.items()
    ]
    create_table_artifact(table=held_back, key="held-back", description="Rows that are built and not released")
    if prepared.difference is not None:
        text = section(prepared.difference, prepared.version)
        create_markdown_artifact(markdown=text, key="changelog", description=f"{CHANGELOG} of {prepared.version}")
    return outcome


def run_release(out: Path, **options: Any) -> Outcome:
    """Run `release` in this process."""
    with engine():
        outcome: Outcome = release(str(out), **options)
        return outcome
