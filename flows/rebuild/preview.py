"""What a rebuild would do, before it does anything: rows, people's hours, money, and the next version.

Nothing is asked, sent or uploaded, and nothing is written but in a temporary folder that is gone afterwards. Stages
that are finished are read where they lie. What is to be made anew is made in the temporary folder where models are
free (the rules): the difference is then exact, and a trial release there tells the version. Where a model costs money
the difference is that of the source records, with the stages that would run again, and the money is what these would
take if the cache held no answer of theirs.
"""

import sqlite3
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from data.sources.pins import Pins, lock_of
from data.stage_files import Stage, StageFiles
from data.store import Store
from flows.annotate.work import read_annotations
from flows.construct.engine import Part
from flows.construct.files_step import FilesStep
from flows.construct.stages import SOURCE, StageRef
from flows.llm.rules import Rules
from flows.project.output_files import read_manifest, write_output_files
from flows.project.project import COPIES, EMBEDDINGS, Project
from flows.project.settings import load_config
from flows.rebuild.changes import Drift, Rows, drift, matters, row_state, rows_before, rows_of, too_many
from flows.release.version import RELEASES, Prepared, newest, prepare
from flows.run.estimate import Estimate, estimate
from flows.run.in_process import runner_here
from schemas.base import Record
from schemas.errors import Failed, WrongInput
from schemas.rubric import Task

USUAL_MINUTES = 2.0
"""A task is taken for as long where nobody has done one of its kind yet: a guess, until it is measured."""


@dataclass(frozen=True)
class Tasks:
    """What people would be asked by one rubric."""

    rubric: str
    new: int
    """On items that are new or changed."""
    waiting: int
    """On items as they were, that nobody judged yet."""
    minutes: float
    """A task: the median of those that were done, else `USUAL_MINUTES`."""
    measured: int
    """How many done tasks the median is of."""

    @property
    def hours(self) -> float:
        """Of people's work on what is new."""
        return self.new * self.minutes / 60


@dataclass(frozen=True)
class Preview:
    """What a rebuild would do."""

    moved: tuple[str, ...]
    """Pins that would move."""
    stages: tuple[StageRef, ...]
    """That would run."""
    since: str
    """What the rows are compared with."""
    exact: bool
    """Whether `drift` is of the rows; else it is of the source records."""
    drift: tuple[Drift, ...]
    tasks: tuple[Tasks, ...] | None
    """None where it cannot be told before a model is asked."""
    estimate: Estimate
    stops: str | None
    """Why the rebuild would stop before anything goes to people or out."""
    release: Prepared | str | None
    """The version that would come, by the verdicts that are here, or why none would; None where it cannot be told."""


def preview(config: Path, out: Path, to: Path | None, hub: str | None, *, refresh: bool) -> Preview:
    """What `touchstone rebuild` would do now. Raises what reading the configuration and its sources does.

    The next version is compared with the newest one in `to`; a newer one on the Hub is not looked for.
    """
    settings = load_config(config)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pins = Pins(lock_of(config), settings.state / COPIES, scratch=folder / COPIES, refresh=refresh)
        project = Project(config, out, store=str(folder / "store"), pins=pins)
        project.models.asks = False
        try:
            seen = _preview(project, Store(settings.store), settings.state, pins)
            if not seen.exact:
                return seen
            repo = hub or settings.release.repo
            return replace(seen, release=_release(project, folder, to or out / RELEASES, repo, pins))
        finally:
            project.close()


def _preview(project: Project, store: Store, state: Path, pins: Pins) -> Preview:
    wanted = [ref for family, part in project.build.parts() for ref in project.build.stages(family, part)]
    missing = tuple(ref for ref in wanted if not _borrow(project, store, ref))
    models = [model for one in project.build.families.values() for model in one.models.values()]
    exact = not missing or all(isinstance(model, Rules) for model in models)
    money = estimate(project, lambda ref: ref in missing)
    before, since = _before(project)
    if exact:
        _borrow_embeddings(project, state)
        runner_here(project, project.build).run(missing)
        differing = drift(before, _rows(project))
        tasks = tuple(_tasks(project, {key for one in differing for key in (*one.added, *one.changed)}))
    else:
        differing, tasks = tuple(_sources(project, store, missing)), None
    return Preview(
        moved=tuple(f"{one.source}: {one.before} → {one.now}" for one in pins.moved),
        stages=missing,
        since=since,
        exact=exact,
        drift=differing,
        tasks=tasks,
        estimate=money,
        stops=too_many(project.config, differing) if exact and rows_before(project.out) is not None else None,
        release=None,
    )


def _release(project: Project, folder: Path, to: Path, repo: str | None, pins: Pins) -> Prepared | str:
    """The version that would come of the temporary build; it is made in the temporary folder, and gone with it."""
    try:
        built = _finished(project, folder / "out", pins)
        before = newest(to)
        trial = folder / "releases"
        trial.mkdir()
        if before is not None:
            (trial / before.manifest.version).symlink_to(before.folder.resolve(), target_is_directory=True)
        return prepare(built, trial, repo=repo)
    except (Failed, WrongInput) as error:
        return str(error)


def _finished(project: Project, out: Path, pins: Pins) -> Project:
    """The temporary build as one that is finished: with the files of the last one, where that is the same."""
    store = project.config.store
    manifest = read_manifest(project.out, missing_ok=True)
    now = {(family.name, part.name): project.build.stages(family, part) for family, part in project.build.parts()}
    if manifest is not None:
        last = {(part.family, part.part): [stage.fingerprint for stage in part.stages] for part in manifest.parts}
        if last == {name: [project.build.fingerprint(ref) for ref in refs] for name, refs in now.items()}:
            return Project(project.config_path, project.out, built=manifest, store=store, pins=pins)
    out.mkdir()
    for name in ("verdicts", "annotations"):
        if (project.out / name).is_dir():
            (out / name).symlink_to((project.out / name).resolve(), target_is_directory=True)
    manifest = write_output_files(Project(project.config_path, out, store=store, pins=pins))
    return Project(project.config_path, out, built=manifest, store=store, pins=pins)


def _borrow(project: Project, store: Store, ref: StageRef) -> bool:
    """Have a finished stage of the store in the temporary one; False where it is not finished."""
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
    """Have the vectors that were computed before in the temporary state folder."""
    if not (state / EMBEDDINGS).is_file():
        return
    project.state.mkdir(parents=True, exist_ok=True)
    source = sqlite3.connect(f"file:{state / EMBEDDINGS}?mode=ro", uri=True)
    with closing(source), closing(sqlite3.connect(project.state / EMBEDDINGS)) as copy:
        source.backup(copy)


def _rows(project: Project) -> Rows:
    """The rows of the temporary build, as `rows_of` tells those of one that lies in a folder."""
    found = {}
    for family, part in project.build.parts():
        if matters(part):
            sifted = project.build.read(StageRef(family.name, part.name, part.steps[-1].name))
            plain = isinstance(part.steps[-1], FilesStep)
            found[f"{family.name}-{part.name}"] = {
                record.key: row_state(record.id, None if plain else record.view_hash) for record in sifted
            }
    return Rows(parts=found)


def _before(project: Project) -> tuple[Rows, str]:
    """The rows of the last rebuild, else of the last build, else none."""
    if (rows := rows_before(project.out)) is not None:
        return rows, "the last rebuild"
    built = read_manifest(project.out, missing_ok=True)
    if built is not None:
        return rows_of(project, built), "the last build"
    return Rows(parts={}), "nothing: there is no build yet"


def _sources(project: Project, store: Store, missing: tuple[StageRef, ...]) -> Iterator[Drift]:
    """How the source records differ from those of the last build, part by part."""
    built = read_manifest(project.out, missing_ok=True)
    for ref in missing:
        if ref.step != SOURCE:
            continue
        runner_here(project, project.build).run([ref])  # reading costs nothing
        part = built.part(ref.family, ref.part) if built else None
        old = next((one for one in part.stages if one.step == SOURCE), None) if part else None
        files = StageFiles(store, ref.family, ref.part, SOURCE, old.fingerprint) if old else None
        kept = files.manifest() if files else None
        now = project.build.read(ref)
        before = Stage(files, kept, now.record) if files and kept else ()
        yield from drift(_by_key(str(ref), before), _by_key(str(ref), now))


def _by_key(name: str, records: Iterable[Record]) -> Rows:
    return Rows(parts={name: {record.key: record.id for record in records}})


def _tasks(project: Project, differing: Collection[str]) -> Iterator[Tasks]:
    """What people would be asked, by rubric."""
    by_rubric: dict[str, list[tuple[Part, list[Task]]]] = defaultdict(list)
    for family, part in project.build.parts():
        if part.people is None:
            continue
        sifted = list(project.build.read(StageRef(family.name, part.name, part.steps[-1].name)))
        verdicts = project.verdicts(family.name, part.name)
        views = {record.key: record.view_hash for record in sifted}
        judged = {key for key, one in verdicts.items() if views.get(key) == one.view_hash}
        asked = part.people.tasks(sifted, project.config.seed)
        by_rubric[part.people.rubric.name].append((part, [one for one in asked if one.item_key not in judged]))
    for rubric, given in by_rubric.items():
        done = [one for one in read_annotations(project, rubric) if one.rubric == rubric and not one.cancelled]
        ids, seconds = {one.task for one in done}, [one.seconds for one in done if one.seconds]
        tasks = [task for _, some in given for task in some if task.id not in ids]
        new = sum(task.item_key in differing for task in tasks)
        minutes = statistics.median(seconds) / 60 if seconds else USUAL_MINUTES
        yield Tasks(rubric, new, len(tasks) - new, minutes, len(seconds))
