"""A rebuild: everything from the sources to the release; each step skips what did not change.

It builds, pulls annotations, builds again what the verdicts change, pushes new tasks, and releases the rows that pass
the gate. It can run unattended:

- If Label Studio does not answer, only the steps with people are left out. The rows reviewed so far are still released
  (the gate holds back rows that nobody saw), and the run fails with a line that says what was missed. The next rebuild
  makes up for it.
- More changed rows than `schedule.max_changed_items`, or a spent budget, stop it before the push and the release.
- It does not make a release without a whole configuration that the version before had: a person has to decide that.
- If no row passes the gate yet, nothing is released: while people are at work, that is not a failure.

What runs the steps is given: the flow of `flow.py` has Prefect do so.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from data.sources.pins import Pins, lock_of
from data.whole_file import Unwritable
from flows.annotate.push import Pushed
from flows.annotate.server import connect_configured
from flows.construct.progress import ProgressListener
from flows.construct.reviewed import is_current
from flows.project.build_note import note_draw
from flows.project.gc import stages_of_build
from flows.project.locks import one_rebuild
from flows.project.output_files import open_built
from flows.project.project import COPIES, Project
from flows.project.released import RELEASES
from flows.project.settings import load_config
from flows.rebuild.changes import (
    Incomplete,
    Rebuilt,
    asks_people,
    compared_with,
    drift,
    note_rows,
    refuse_too_many,
    rows_of,
)
from flows.rebuild.finished import release_rows
from flows.rebuild.refresh import decide_draw
from flows.release.outcome import Outcome
from flows.release.ready import check_rebuild
from flows.run.finished import report_if_new
from schemas.base import counted
from schemas.errors import Failed, WrongInput
from schemas.manifest import BuildManifest


class Steps(NamedTuple):
    """What runs the steps of a rebuild."""

    build: Callable[[str, str, int | None, ProgressListener | None], BuildManifest]
    """(configuration, output folder, limit, listener)"""
    pull: Callable[[str], object]
    """(output folder), as the next."""
    push: Callable[[str], Pushed]
    release: Callable[..., Outcome]


def rebuild_by(
    steps: Steps,
    path: Path,
    folder: Path,
    to: str | None,
    hub: str | None,
    *,
    refresh: bool,
    listener: ProgressListener | None,
) -> Rebuilt:
    """Rebuild the parts of a dataset that changed, from its configuration.

    Raises `WrongInput`, before it builds, if something that the release needs is not set. Raises `Failed` if another
    rebuild of it is running, if more rows changed than allowed, and at the end (`Incomplete`) if something could not be
    done.
    """
    began = time.monotonic()
    settings = load_config(path)
    with one_rebuild(settings.state, settings.name):
        pins = Pins(lock_of(path), settings.state / COPIES, refresh=refresh)
        versions = Path(to) if to else folder / RELEASES
        drawn = decide_draw(settings, folder, versions)
        project = Project(path, folder, pins=pins, draw=drawn.draw)
        check_rebuild(project, hub or settings.release.repo, versions)
        note_draw(folder, path, settings.store, drawn.draw)
        rows, _, since = compared_with(project)
        built = _build(steps, project, listener)
        moved = tuple(f"{pin.source}: {pin.before} → {pin.now}" for pin in pins.moved)
        done = Rebuilt(built, drift(rows, rows_of(project, built)), since, moved, told=drawn.lines, began=began)
        refuse_too_many(project, done.drift)
        if asks_people(project):
            done.built = _people(steps, project, built, listener, done)
        release_rows(steps.release, folder, to, hub, done)
        note_rows(folder, rows_of(project, done.built), stages_of_build(done.built))
    if done.missed:
        raise Incomplete(done)
    return done


def _build(steps: Steps, project: Project, listener: ProgressListener | None) -> BuildManifest:
    """Build, and write the report if anything is new."""
    built = steps.build(str(project.config_path), str(project.out), None, listener)
    report_if_new(project)
    return built


def _people(
    steps: Steps, project: Project, built: BuildManifest, listener: ProgressListener | None, done: Rebuilt
) -> BuildManifest:
    """Pull annotations, apply the verdicts, and push new tasks. Returns the build after that.

    Raises `Unwritable`: a disk that cannot keep what people did is no place for a release.
    """
    try:
        connect_configured(project).close()
        steps.pull(str(project.out))
    except Unwritable:
        raise
    except (Failed, WrongInput) as error:
        done.missed.append(f"nothing was pulled from people and nothing handed out: {error}")
        return built
    opened = open_built(project.out)
    if all(is_current(opened.build, family, part) for family, part in opened.build.parts()):
        done.told.append("no new verdict")
    else:
        built = _build(steps, project, listener)
        done.told.append("verdicts applied")
    try:
        pushed = steps.push(str(project.out))
    except Unwritable:
        raise
    except (Failed, WrongInput) as error:
        done.missed.append(f"what is new was not handed out: {error}")
        return built
    new = sum(queue.imported + queue.revived for queue in pushed.queues)
    done.told.append(counted(new, "new task") if new else "no new task")
    done.told += pushed.shortages
    return built
