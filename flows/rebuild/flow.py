"""The rebuild as a Prefect flow, whose steps are flows, too."""

from pathlib import Path

from prefect import flow

from flows.annotate.flow import pull_flow, push_flow
from flows.construct.progress import ProgressListener
from flows.prefect_server.flow_runs import engine
from flows.rebuild.changes import Rebuilt
from flows.rebuild.steps import Steps, rebuild_by
from flows.release.flow import release
from flows.run.flow import build

FLOWS = Steps(build, pull_flow, push_flow, release)


@flow(name="rebuild", validate_parameters=False)
def rebuild(
    config: str,
    out: str = "out",
    to: str | None = None,
    hub: str | None = None,
    refresh: bool = False,
    listener: ProgressListener | None = None,
) -> Rebuilt:
    """Rebuild as `rebuild_by` does."""
    return rebuild_by(FLOWS, Path(config), Path(out), to, hub, refresh=refresh, listener=listener)


def run_rebuild(
    config: Path, out: Path, to: Path | None, hub: str | None, *, refresh: bool, listener: ProgressListener
) -> Rebuilt:
    """Run the rebuild flow in this process."""
    with engine():
        done: Rebuilt = rebuild(str(config), str(out), str(to) if to else None, hub, refresh, listener)
        return done
