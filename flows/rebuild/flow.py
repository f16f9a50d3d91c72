"""The rebuild as a Prefect flow: everything from the sources to the release; each step skips what did not change.

It builds, pulls annotations, builds again what the verdicts change, pushes new tasks, and releases the rows that pass
the gate. It can run unattended:

- If Label Studio does not answer, only the steps with people are left out. The rows reviewed so far are still released
  (the gate holds back rows that nobody saw), and the run fails with a line that says what was missed. The next rebuild
  makes up for it.
- More changed rows than `schedule.max_changed_items`, or a spent budget, stop it before the push and the release.
- It does not make a release without a whole configuration that the version before had: a person has to decide that.
- If no row passes the gate yet, nothing is released: while people are at work, that is not a failure.
"""

import shlex
import time
from pathlib import Path

from prefect import flow

from data.publish.changelog import summary
from data.publish.merge import Conflict
from data.sources.pins import Pins, lock_of
from flows.annotate.flow import pull_flow, push_flow
from flows.annotate.server import connect_configured
from flows.construct.progress import ProgressListener
from flows.construct.reviewed import is_current
from flows.prefect_server.flow_runs import engine
from flows.project.locks import one_rebuild
from flows.project.output_files import REPORT, last_manifest, open_built, write_report
from flows.project.project import COPIES, Project
from flows.project.settings import load_config
from flows.rebuild.changes import (
    Incomplete,
    Rebuilt,
    asks_people,
    drift,
    note_rows,
    refuse_too_many,
    rows_before,
    rows_of,
)
from flows.release.flow import release
from flows.release.ready import check_rebuild
from flows.release.version import AS_BEFORE, RELEASES, NothingToRelease
from flows.run.flow import build, task_runner
from schemas.errors import Failed, Stopped, WrongInput
from schemas.manifest import BuildManifest


@flow(name="rebuild", validate_parameters=False)
def rebuild(
    config: str,
    out: str = "out",
    to: str | None = None,
    hub: str | None = None,
    refresh: bool = False,
    listener: ProgressListener | None = None,
) -> Rebuilt:
    """Rebuild the parts of the dataset that changed, from its configuration.

    Raises `WrongInput`, before it builds, if something that the release needs is not set. Raises `Failed` if another
    rebuild of it is running, if more rows changed than allowed, and at the end (`Incomplete`) if something could not be
    done.
    """
    began = time.monotonic()
    path, folder = Path(config), Path(out)
    settings = load_config(path)
    with one_rebuild(settings.state, settings.name):
        pins = Pins(lock_of(path), settings.state / COPIES, refresh=refresh)
        project = Project(path, folder, pins=pins)
        check_rebuild(project, hub or settings.release.repo, Path(to) if to else folder / RELEASES)
        built = _build(project, listener)
        done = Rebuilt(built, None, tuple(f"{pin.source}: {pin.before} → {pin.now}" for pin in pins.moved), began=began)
        before, now = rows_before(folder), rows_of(project, built)
        if before is not None:
            done.drift = drift(before, now)
            refuse_too_many(project, done.drift)
        if asks_people(project):
            done.built = _people(project, built, listener, done)
        _release(folder, to, hub, done)
        note_rows(folder, rows_of(project, done.built))
    if done.missed:
        raise Incomplete(done)
    return done


def _build(project: Project, listener: ProgressListener | None) -> BuildManifest:
    """Build, and write the report if anything is new."""
    before = last_manifest(project.out)
    runner = task_runner(project.config.runner)
    built: BuildManifest = build.with_options(task_runner=runner)(
        str(project.config_path), str(project.out), None, listener
    )
    if built != before or not (project.out / REPORT).exists():
        write_report(Project(project.config_path, project.out))
    return built


def _people(project: Project, built: BuildManifest, listener: ProgressListener | None, done: Rebuilt) -> BuildManifest:
    """Pull annotations, apply the verdicts, and push new tasks. Returns the build after that."""
    try:
        connect_configured(project.config).close()
        pull_flow(str(project.out))
    except (Failed, WrongInput) as error:
        done.missed.append(f"nothing was pulled from people and nothing handed out: {error}")
        return built
    opened = open_built(project.out)
    if all(is_current(opened.build, family, part) for family, part in opened.build.parts()):
        done.told.append("no new verdict")
    else:
        built = _build(project, listener)
        done.told.append("verdicts applied")
    try:
        pushed = push_flow(str(project.out))
    except (Failed, WrongInput) as error:
        done.missed.append(f"what is new was not handed out: {error}")
        return built
    new = sum(queue.imported + queue.revived for queue in pushed.queues)
    done.told.append(f"{new:,} new tasks" if new else "no new task")
    done.told += pushed.shortages
    return built


def _release(out: Path, to: str | None, hub: str | None, done: Rebuilt) -> None:
    """Release the rows that pass the gate.

    Raises `Stopped` if a whole configuration would be gone, or if people changed what the version changes too.
    """
    try:
        outcome = release(str(out), to=to, hub=hub, withdraw=False)
    except NothingToRelease as error:
        done.told.append(str(error))
        return
    except Conflict:
        raise
    except Stopped as error:
        options = [*(["--to", to] if to else []), *(["--hub", hub] if hub else [])]
        command = shlex.join(["touchstone", "release", "--out", str(out), *options])
        raise Stopped(
            f"{error}; see why (`touchstone rebuild CONFIG --preview`), then `{command}` withdraws it"
        ) from None
    done.released, done.url = outcome.prepared, outcome.url
    if outcome.prepared.as_before:
        done.told.append(AS_BEFORE)
    done.told += done.released.kept
    version = f"version {done.released.version}"
    done.told.append(f"{version} is new" if done.released.is_new else f"nothing differs from {version}")
    if done.released.difference is not None:
        done.told.append(summary(done.released.difference))
    if outcome.url:
        done.told.append(f"{'published' if outcome.published else 'there already'}: {outcome.url}")


def run_rebuild(
    config: Path, out: Path, to: Path | None, hub: str | None, *, refresh: bool, listener: ProgressListener
) -> Rebuilt:
    """Run the rebuild flow in this process."""
    with engine():
        done: Rebuilt = rebuild(str(config), str(out), str(to) if to else None, hub, refresh, listener)
        return done
