"""Previews a rebuild: the rows that would change, people's hours, the cost, and the next version.

Nothing is asked, sent or uploaded, and files are written only to a temporary folder, which is removed afterwards.
Finished stages are read in place. If all models are free (the rules), the other stages are run in the temporary folder:
the difference is then exact, and a trial release there gives the version. If a model costs money, the preview compares
source records only, lists the stages that would run again, and estimates their cost as if the cache were empty.
"""

import sqlite3
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from data.publish.folder import versions_in
from data.seen import Hashes, place_of, sorted_hashes
from data.sources.pins import Pins, lock_of
from data.stage_files import Stage, StageFiles
from data.store import Store
from data.temporary_folder import temporary_folder
from flows.annotate.work import read_annotations
from flows.construct.arrivals import History
from flows.construct.engine import Family, Part
from flows.construct.files_step import FilesStep
from flows.construct.records import Records
from flows.construct.reviewed import judged_keys
from flows.construct.stages import SOURCE, StageRef
from flows.llm.rules import Rules
from flows.project.output_files import last_manifest, write_output_files
from flows.project.project import COPIES, EMBEDDINGS, Project
from flows.project.released import RELEASES, released_stages
from flows.project.settings import load_config
from flows.rebuild.by_document import DocumentChange, changed_documents
from flows.rebuild.changes import (
    Drift,
    Rows,
    RowStates,
    compared_with,
    drift,
    matters,
    row_state,
    rows_before,
    too_many,
)
from flows.rebuild.reasons import Reason, why_changed
from flows.rebuild.refresh import Refresh, decide_draw
from flows.rebuild.retirement import proposed
from flows.release.version import PRIVATE, Prepared, look_at, prepare
from flows.run.estimate import Estimate, estimate
from flows.run.in_process import runner_here
from schemas.base import Record
from schemas.errors import Failed, WrongInput
from schemas.rubric import Task
from schemas.source import Passage

USUAL_MINUTES = 2.0
"""Minutes assumed for a task while nobody has done one of its kind: a guess, until it is measured."""


@dataclass(frozen=True)
class Tasks:
    """The tasks of a rubric that people would have."""

    rubric: str
    new: int
    """Tasks on items that are new or changed."""
    waiting: int
    """Tasks on unchanged items that nobody has judged yet."""
    minutes: float
    """Minutes for each task: the median of the tasks done, or `USUAL_MINUTES`."""
    measured: int
    """The number of tasks behind the median."""

    @property
    def hours(self) -> float:
        """Hours of people's work on new tasks."""
        return self.new * self.minutes / 60


@dataclass(frozen=True)
class Preview:
    """The effects that a rebuild would have."""

    moved: tuple[str, ...]
    """Sources whose pins would move."""
    drawn: Refresh
    """The draw of its swaps and replacements."""
    stages: tuple[StageRef, ...]
    """Stages that would run."""
    since: str
    """A description of the build that the rows are compared with."""
    exact: bool
    """True if `drift` compares rows; otherwise it compares source records."""
    drift: tuple[Drift, ...]
    documents: tuple[DocumentChange, ...]
    """The documents whose passages differ from those of the last build."""
    reasons: tuple[Reason, ...] | None
    """Why rows changed; None if it is not known, because the last rebuild did not note its stages."""
    retire: tuple[str, ...]
    """Lines on rows that might be retired, and how; none are known before a model is asked."""
    tasks: tuple[Tasks, ...] | None
    """None if they are not known before a model is asked."""
    estimate: Estimate
    stops: str | None
    """Why the rebuild would stop before it pushes or releases anything; None if it would not."""
    release: Prepared | str | None
    """The version that the present verdicts would give, or why there would be none; None if not known."""


def preview(config: Path, out: Path, to: Path | None, hub: str | None, *, refresh: bool) -> Preview:
    """Preview `touchstone rebuild`. Raises the errors of reading the configuration and its sources.

    The next version is compared with the newest one in `to` and, if it is to be published, on the Hub.
    """
    settings = load_config(config)
    with temporary_folder() as folder:
        pins = Pins(lock_of(config), settings.state / COPIES, scratch=folder / COPIES, refresh=refresh)
        store = Store(settings.store)
        history = History(store, lambda: released_stages(store, settings.name))
        drawn = decide_draw(settings, out, to or out / RELEASES)
        project = Project(config, out, store=str(folder / "store"), pins=pins, history=history, draw=drawn.draw)
        project.models.asks = False
        try:
            result = _preview(project, store, settings.state, pins, drawn)
            if not result.exact:
                return result
            repo = hub or settings.release.repo
            return replace(result, release=_release(project, folder, to or out / RELEASES, repo, pins))
        finally:
            project.close()


def _preview(project: Project, store: Store, state: Path, pins: Pins, drawn: Refresh) -> Preview:
    wanted = [ref for family, part in project.build.parts() for ref in project.build.stages(family, part)]
    missing = tuple(ref for ref in wanted if not _borrow(project, store, ref))
    models = [model for configured in project.build.families.values() for model in configured.models.values()]
    exact = not missing or all(isinstance(model, Rules) for model in models)
    money = estimate(project, lambda ref: ref in missing, store)
    before, stages, since = compared_with(project)
    if exact:
        _borrow_embeddings(project, state)
        runner_here(project, project.build).run(missing)
        differing = drift(before, _rows(project))
        to_review = [sorted_hashes(()), *(keys for rows in differing for keys in (rows.added, rows.changed))]
        tasks = tuple(_tasks(project, np.sort(np.concatenate(to_review))))
        reasons = None if stages is None else tuple(why_changed(project, stages, differing))
    else:
        differing, tasks, reasons = tuple(_source_drift(project, store, missing)), None, ()
    return Preview(
        moved=tuple(f"{pin.source}: {pin.before} → {pin.now}" for pin in pins.moved),
        drawn=drawn,
        stages=missing,
        since=since,
        exact=exact,
        drift=differing,
        documents=tuple(_documents(project, store, missing)),
        reasons=reasons,
        retire=tuple(proposed(project)) if exact else (),
        tasks=tasks,
        estimate=money,
        stops=too_many(project.config, differing) if exact and rows_before(project.out) is not None else None,
        release=None,
    )


def _release(project: Project, folder: Path, to: Path, repo: str | None, pins: Pins) -> Prepared | str:
    """Return the version that the temporary build gives, from a trial release in the temporary folder."""
    out, trial = folder / "out", folder / "releases"
    try:
        built = _finished(project, out, pins)
        (trial / PRIVATE).mkdir(parents=True)
        for version in versions_in(to):
            (trial / version.name).symlink_to(version.resolve(), target_is_directory=True)
            if (private := to / PRIVATE / version.name).is_dir():
                (trial / PRIVATE / version.name).symlink_to(private.resolve(), target_is_directory=True)
        return prepare(built, trial, repo=repo, branch=look_at(repo, trial))
    except (Failed, WrongInput) as error:
        return str(error).replace(str(trial), str(to)).replace(str(out), str(project.out))


def _finished(project: Project, out: Path, pins: Pins) -> Project:
    """Return the temporary build as a finished one; it uses the files of the last build if that is the same."""
    store, history = project.config.store, project.history
    manifest = last_manifest(project.out)
    now = {(family.name, part.name): project.build.stages(family, part) for family, part in project.build.parts()}
    if manifest is not None:
        last = {(part.family, part.part): [stage.fingerprint for stage in part.stages] for part in manifest.parts}
        if last == {name: [project.build.fingerprint(ref) for ref in refs] for name, refs in now.items()}:
            return Project(project.config_path, project.out, built=manifest, store=store, pins=pins, history=history)
    out.mkdir()
    for name in ("verdicts", "annotations"):
        if (project.out / name).is_dir():
            (out / name).symlink_to((project.out / name).resolve(), target_is_directory=True)
    manifest = write_output_files(
        Project(project.config_path, out, store=store, pins=pins, history=history, draw=project.draw)
    )
    return Project(project.config_path, out, built=manifest, store=store, pins=pins, history=history)


def _borrow(project: Project, store: Store, ref: StageRef) -> bool:
    """Link or copy a finished stage of the store into the temporary store. Returns False if it is not finished."""
    files = project.build.files(ref)
    name = files.folder.removeprefix(f"{project.store.root}/")
    theirs = f"{store.root}/{name}"
    if not store.fs.exists(f"{theirs}/manifest.json"):
        return False
    here = Path(files.folder)
    here.parent.mkdir(parents=True, exist_ok=True)
    if "://" in store.url:
        store.fs.get(theirs, str(here), recursive=True)
    else:
        here.symlink_to(Path(theirs).resolve(), target_is_directory=True)
    return True


def _borrow_embeddings(project: Project, state: Path) -> None:
    """Copy the cached vectors into the temporary state folder."""
    if not (state / EMBEDDINGS).is_file():
        return
    project.state.mkdir(parents=True, exist_ok=True)
    source = sqlite3.connect(f"file:{state / EMBEDDINGS}?mode=ro", uri=True)
    with closing(source), closing(sqlite3.connect(project.state / EMBEDDINGS)) as copy:
        source.backup(copy)


def _rows(project: Project) -> Rows:
    """Return the rows of the temporary build, as `rows_of` does for a build in an output folder."""
    states = {}
    for family, part in project.build.parts():
        if matters(part):
            plain = isinstance(part.steps[-1], FilesStep)
            states[f"{family.name}-{part.name}"] = RowStates.of(
                (record.key, row_state(record.id, None if plain else record.view_hash))
                for record in project.build.sifted(family, part)
            )
    return states


def _source_drift(project: Project, store: Store, missing: tuple[StageRef, ...]) -> Iterator[Drift]:
    """Yield the differences of the source records from those of the last build, part by part."""
    for ref, before, now in _sources(project, store, missing):
        yield from drift(_by_key(str(ref), before), _by_key(str(ref), now))


def _documents(project: Project, store: Store, missing: tuple[StageRef, ...]) -> Iterator[DocumentChange]:
    """Yield the documents that changed since the last build, each once."""
    told: set[str] = set()
    for ref, before, now in _sources(project, store, missing):
        if project.build.part(ref).source is Passage:
            changes = [change for change in changed_documents(before, now) if change.document not in told]
            told.update(change.document for change in changes)
            yield from changes


def _sources(
    project: Project, store: Store, missing: tuple[StageRef, ...]
) -> Iterator[tuple[StageRef, Records[Any], Records[Any]]]:
    """Yield the source stages that would run, with their records in the last build and now."""
    built = last_manifest(project.out)
    for ref in missing:
        if ref.step != SOURCE or any(project.build.manifest(needed) is None for needed in project.build.needs(ref)):
            continue
        if project.build.manifest(ref) is None:
            runner_here(project, project.build).run([ref])  # reading costs nothing
        part = built.part(ref.family, ref.part) if built else None
        old = next((stage for stage in part.stages if stage.step == SOURCE), None) if part else None
        files = StageFiles(store, ref.family, ref.part, SOURCE, old.fingerprint) if old else None
        kept = files.manifest() if files else None
        now = project.build.read(ref)
        yield ref, Stage(files, kept, now.record) if files and kept else (), now


def _by_key(name: str, records: Iterable[Record]) -> Rows:
    return {name: RowStates.of((record.key, record.id) for record in records)}


def _tasks(project: Project, differing: Hashes) -> Iterator[Tasks]:
    """Yield the tasks that people would have, by rubric."""
    asked: dict[str, list[tuple[Family, Part]]] = defaultdict(list)
    for family, part in project.build.parts():
        if part.people is not None:
            asked[part.people.rubric.name].append((family, part))
    for rubric, parts in asked.items():
        annotations = read_annotations(project, rubric)
        done = [annotation for annotation in annotations if annotation.rubric == rubric and not annotation.cancelled]
        done_ids = {annotation.task for annotation in done}
        seconds = [annotation.seconds for annotation in done if annotation.seconds]
        open_tasks = (task for family, part in parts for task in _unjudged(project, family, part))
        is_new = Counter(
            place_of(task.item_key, differing) is not None for task in open_tasks if task.id not in done_ids
        )
        minutes = statistics.median(seconds) / 60 if seconds else USUAL_MINUTES
        yield Tasks(rubric, is_new[True], is_new[False], minutes, len(seconds))


def _unjudged(project: Project, family: Family, part: Part) -> Iterator[Task]:
    """Yield the tasks of a part on records that have no verdict in their present state."""
    assert part.people is not None
    sifted, judged = project.build.sifted(family, part), judged_keys(project.build, family, part)
    yield from (task for task in part.people.tasks(sifted, project.config.seed) if task.item_key not in judged)
