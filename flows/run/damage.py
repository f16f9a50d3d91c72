"""Damaged stages: a build removes them and makes them again. What they asked of models is in the cache."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from data.stage_files import StageFiles
from data.store import DamageError
from flows.construct.stages import Build, StageRef
from flows.project.locks import building, once, one_output, one_stage
from flows.project.project import Project
from flows.project.released import note_newest
from schemas.errors import Failed

T = TypeVar("T")
DAMAGED = "damaged"
"""The file that is left of a damaged stage until it is made again."""


def remove_damaged(build: Build, state: Path, stages: Iterable[StageRef], tell: Callable[[str], None]) -> None:
    """Remove the stages, finished or not, that have a damaged file, and say so. Raises `Failed`."""
    files_of = {ref: build.files(ref) for ref in stages}
    with ThreadPoolExecutor() as threads:  # most of the time goes into checksums
        found = dict(zip(files_of, threads.map(_damage, files_of.values()), strict=True))
    for ref in (ref for ref, damage in found.items() if damage is not None):
        with one_stage(state, build.fingerprint(ref), _waits(ref, tell)):
            if (damage := _damage(files_of[ref])) is not None:  # no other build has made it again
                _remove(build, ref, damage, tell)


def _damage(files: StageFiles) -> DamageError | None:
    try:
        files.check()
    except DamageError as error:
        return error
    return None


def healing(opened: Callable[[], Project], work: Callable[[Project], T], tell: Callable[[str], None]) -> T:
    """Do the work of a build, without its damaged stages, and close it. A release that has begun there ends first.

    If a reader finds another one that is damaged (no file of a remote store is read before, only looked for), that one
    goes as well, and the work begins again, at most once a stage. Raises `Failed`.
    """
    removed: set[StageRef] = set()
    while True:
        project = opened()
        try:
            with one_output(project.state, project.out, tell):
                note_newest(project.store, project.out)  # steps may draw from what was released
            with building(project.state):
                remove_damaged(project.build, project.state, stages_of(project.build), tell)
                try:
                    return work(project)
                except DamageError as error:
                    ref = _stage_with(project.build, error)
                    if ref in removed:
                        raise
                    removed.add(ref)
                    with one_stage(project.state, project.build.fingerprint(ref), _waits(ref, tell)):
                        _remove(project.build, ref, error, tell)
        finally:
            project.close()


def stages_of(build: Build) -> Iterator[StageRef]:
    """Yield all stages of a build."""
    return (ref for family, part in build.parts() for ref in build.stages(family, part))


def _waits(ref: StageRef, tell: Callable[[str], None]) -> Callable[[str], None]:
    return once(lambda by: tell(f"{ref}: damaged; waiting for {by}, which makes it now"))


def _remove(build: Build, ref: StageRef, error: DamageError, tell: Callable[[str], None]) -> None:
    folder = build.files(ref).folder
    # The folder stays: what is drawn from a stage that was released depends on its being there.
    build.store.write(f"{folder}/{DAMAGED}", f"{error.path}\n".encode())
    build.store.remove(folder, keep=DAMAGED)
    tell(f"{ref}: damaged ({error.path}); made again")


def _stage_with(build: Build, error: DamageError) -> StageRef:
    """Return the stage with a damaged file. Raises `Failed` if the build cannot make it."""
    folder = error.path.rpartition("/")[0]
    for ref in stages_of(build):
        if build.files(ref).folder == folder:
            return ref
    raise Failed(
        f"{error.path}: damaged or missing, and no stage of this build, but of an earlier version, from whose rows it "
        f"draws; put {folder} back from a copy"
    ) from error
