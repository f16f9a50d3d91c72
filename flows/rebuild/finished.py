"""The steps of a rebuild around its build, and the rebuild of a build that is finished already.

That one needs no Prefect, whose start takes longer than all else: there are no tasks to run.
"""

import shlex
import time
from collections.abc import Callable
from pathlib import Path

from data.publish.changelog import summary
from flows.construct.progress import ProgressListener
from flows.project.build_note import note_draw
from flows.project.gc import stages_of_build
from flows.project.locks import building, one_rebuild
from flows.project.output_files import last_manifest
from flows.project.project import Project
from flows.project.released import RELEASES
from flows.project.settings import load_config
from flows.rebuild.changes import Rebuilt, asks_people, compared_with, drift, note_rows, refuse_too_many, rows_of
from flows.rebuild.refresh import decide_draw
from flows.release.outcome import Outcome, release_built
from flows.release.ready import check_rebuild
from flows.release.version import AS_BEFORE, NothingToRelease
from flows.run.damage import remove_damaged, stages_of
from flows.run.finished import finished_build, report_if_new
from schemas.errors import Conflicts, Stopped


def rebuild_finished(
    config: Path, out: Path, to: Path | None, hub: str | None, listener: ProgressListener
) -> Rebuilt | None:
    """Rebuild without Prefect if no stage has to run and nobody is asked.

    Otherwise, or if the user names a Prefect server, where the run is to be seen, it does nothing and returns None.
    Raises as the `rebuild` flow does.
    """
    if last_manifest(out) is None:
        return None
    settings = load_config(config)
    with one_rebuild(settings.state, settings.name):
        began = time.monotonic()
        refresh = decide_draw(settings, out, to or out / RELEASES)
        project = Project(config, out, draw=refresh.draw)
        try:
            check_rebuild(project, hub or settings.release.repo, to or out / RELEASES)
            note_draw(out, config, settings.store, refresh.draw)
            if asks_people(project):
                return None
            with building(project.state):
                remove_damaged(project.build, project.state, stages_of(project.build), listener.noted)
            built = finished_build(project, listener)
        finally:
            project.close()
        if built is None:
            return None
        rows, _, since = compared_with(project)
        report_if_new(project)
        done = Rebuilt(built, drift(rows, rows_of(project, built)), since, told=refresh.lines, began=began)
        refuse_too_many(project, done.drift)
        release_rows(release_built, out, str(to) if to else None, hub, done)
        note_rows(out, rows_of(project, built), stages_of_build(built))
    return done


def release_rows(release: Callable[..., Outcome], out: Path, to: str | None, hub: str | None, done: Rebuilt) -> None:
    """Release the rows that pass the gate by calling `release`.

    Raises `Stopped` if a whole configuration would be gone, or if people changed what the version changes too.
    """
    try:
        outcome = release(str(out), to=to, hub=hub, withdraw=False)
    except NothingToRelease as error:
        done.told.append(str(error))
        return
    except Conflicts:
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
    done.told += (*done.released.kept, *done.released.private)
    version = f"version {done.released.version}"
    done.told.append(f"{version} is new" if done.released.is_new else f"nothing differs from {version}")
    if done.released.difference is not None:
        done.told.append(summary(done.released.difference))
    if outcome.url:
        done.told.append(f"{'published' if outcome.published else 'there already'}: {outcome.url}")
