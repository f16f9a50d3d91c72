"""Makes a version from a finished build, and publishes it if asked to."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from data.publish.check import damage_of
from data.publish.edits import Branch
from data.publish.folder import read_release, versions_in
from flows.project.locks import one_output
from flows.project.output_files import open_built
from flows.project.private_sources import PrivateSources
from flows.project.project import Project
from flows.project.released import RELEASES, note_release
from flows.project.settings import load_config
from flows.release.history import tell_of_clock
from flows.release.private_leaks import refuse_leaks
from flows.release.ready import check_release
from flows.release.version import Prepared, look_at, newest, prepare
from schemas.base import visible
from schemas.errors import Failed


@dataclass(frozen=True)
class Outcome:
    """The result of a release."""

    prepared: Prepared
    url: str | None
    """Address of the version on the Hub; None if it is only in a folder."""
    published: bool
    """True if it was not on the Hub before."""


def release_built(
    out: str,
    to: str | None = None,
    hub: str | None = None,
    *,
    version: str | None = None,
    allow_unreviewed: bool | None = None,
    withdraw: bool = True,
) -> Outcome:
    """Release the build in `out`. If nothing differs from the previous version, nothing happens.

    While another process writes the build, it waits, and one that would write there waits until the version is made.
    The options, and what it raises, are those of `prepare`.
    """
    with _unwritten(Path(out)) as project:
        load_config(project.config_path)  # it says what stays private: without it everything would be released
        repo = hub or project.config.release.repo
        folder = Path(to) if to else project.out / RELEASES
        check_release(project, repo, folder, allow_unreviewed=allow_unreviewed)
    branch = look_at(repo, folder)
    tell_of_clock(newest(folder))
    with _unwritten(Path(out)) as project:
        prepared = prepare(
            project,
            folder,
            repo=repo,
            version=version,
            allow_unreviewed=allow_unreviewed,
            withdraw=withdraw,
            branch=branch,
        )
        for earlier in versions_in(prepared.folder.parent):  # also those that another run was killed before noting
            note_release(project.store, read_release(earlier).manifest)
    return _publish(project, prepared, repo, branch)


@contextmanager
def _unwritten(out: Path) -> Iterator[Project]:
    """Yield the build in `out`, which no other process writes meanwhile."""
    state = open_built(out).state
    with one_output(state, out) if state.is_dir() else nullcontext():
        yield open_built(out)


def _publish(project: Project, prepared: Prepared, repo: str | None, branch: Branch | None) -> Outcome:
    if repo is None:
        return Outcome(prepared, None, published=False)
    from data.publish.hub import publish

    is_published = branch is not None and prepared.version in branch.tags
    if not is_published and (fault := next(damage_of(read_release(prepared.folder)), None)):
        raise Failed(
            f"{prepared.folder}: {visible(fault)}; nothing was published: remove this folder, and release again"
        )
    if not is_published:
        # People may have edited it since it was made.
        refuse_leaks(PrivateSources.to_be_released(project), prepared.folder)
    done = publish(prepared.folder, repo, prepared.version, message=f"Version {prepared.version}")
    return Outcome(prepared, done.url, published=done.new)
