"""A released version opened as a build: whatever reads a build's rows, asks models about them or scores, reads its."""

import platform
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from data.checksum import checksum
from data.publish.check import check_undamaged
from data.publish.folder import HISTORY, Release
from data.publish.reading import read_released
from data.sources.opening import MOST_WHOLE, whole
from data.stage_files import LongTextShardWriter, ShardWriter, StageFiles
from data.store import Store
from data.whole_file import whole_bytes
from flows.construct.engine import Part
from flows.construct.files_step import FilesStep
from flows.families import family_names, load_family
from flows.project.build_note import MANIFEST, NOTE, note_build
from flows.project.output_files import last_manifest, open_build, write_manifest
from flows.project.project import Project
from schemas.base import content_hash
from schemas.errors import Failed, WrongInput, first_problem
from schemas.manifest import BuildManifest, PartManifest, ShardManifest, StageManifest
from schemas.release import ReleasedConfig

STORE = ".stages"
SHORT = 16
"""Digits of the version's checksum that its stages are known by."""


def is_release(folder: Path) -> bool:
    """Return whether a folder holds a released version, whole or damaged; a build's manifest has no such field.

    Raises `SourceError` for a manifest that is no file, or out of all proportion.
    """
    path = folder / MANIFEST
    if not path.exists():
        return False
    try:
        values = orjson.loads(whole(str(path), MOST_WHOLE, "name the folder of a build or a released version"))
    except (OSError, ValueError):
        return False
    return isinstance(values, dict) and "configs" in values


def open_release(
    release: Release,
    config: Path,
    out: Path,
    console: Console,
    *,
    only: Collection[str] = (),
    store: Path | None = None,
) -> Project:
    """Return a released version as a build in `out`, with the models of a configuration.

    Its rows, or `only` those with these ids, are written there once; the folder of the release stays as it is. `store`
    is that of another such build, whose answers it shares. Raises `Failed` for a version that is not as it was
    released, or a row that is not such a record, and `WrongInput` for an output folder that holds something else.
    """
    folder, released = release
    version, fingerprint = f"{released.name}@{released.version}", checksum(folder / MANIFEST)[:SHORT]
    if only:
        fingerprint = content_hash(fingerprint, sorted(only))
    at = store or out / STORE
    before = last_manifest(out)
    if before is None or {stage.fingerprint for part in before.parts for stage in part.stages} != {fingerprint}:
        # What an interrupted reading left behind is written again.
        if before is not None or (
            out.is_dir() and any(path.name not in (STORE, NOTE, HISTORY) for path in out.iterdir())
        ):
            raise WrongInput(f"{out}: holds something else than {version}; name another by --to")
        with console.status(f"reading {escape(version)}"):
            check_undamaged(release)
            if (folder / HISTORY).is_file():
                out.mkdir(parents=True, exist_ok=True)
                with whole_bytes(out / HISTORY) as copy, (folder / HISTORY).open("rb") as history:
                    shutil.copyfileobj(history, copy)
            write_manifest(out, _written(release, version, Store(str(at)), fingerprint, only))
    note_build(out, config, None, str(at))
    return open_build(out, console)


def _written(
    release: Release, version: str, store: Store, fingerprint: str, only: Collection[str]
) -> BuildManifest:  # fmt: skip
    """Write the rows of a version as stages, and return the manifest of the build that they make."""
    folder, released = release
    by_part: dict[tuple[str, str], list[ReleasedConfig]] = {}
    for config in released.configs:
        if config.family in family_names():
            by_part.setdefault((config.family, config.part), []).append(config)
    parts = [
        _written_part(store, folder, name, load_family(name).part(part), configs, fingerprint, only)
        for (name, part), configs in by_part.items()
    ]
    return BuildManifest(
        name=version,
        seed=released.seed,
        limit=None,
        config={"name": version, "seed": released.seed, "families": released.settings.get("families", {})},
        versions={"python": platform.python_version()},
        models=released.models,
        prompts=released.prompts,
        parts=tuple(parts),
        release=version,
        draw=released.draw,
    )


def _written_part(
    store: Store, folder: Path, family: str, part: Part, configs: Sequence[ReleasedConfig], fingerprint: str,
    only: Collection[str],
) -> PartManifest:  # fmt: skip
    """Write the rows of a part, or `only` these, as its last stage."""
    step = part.steps[-1]
    files = StageFiles(store, family, part.name, step.name, fingerprint)
    shards: list[ShardManifest] = []
    for index, config in enumerate(configs):
        if isinstance(step, FilesStep):
            with LongTextShardWriter(files, index, config.name, part.item, step.long) as long_texts:
                for row in _records(folder, config, part, only):
                    values = row.model_dump(mode="json")
                    long_texts.write(values, values.pop(step.long).encode())
            shards.append(long_texts.finish(long_texts.kept))
        else:
            with ShardWriter(files, index) as records:
                for row in _records(folder, config, part, only):
                    records.keep(row)
            shards.append(records.finish(records.kept, {}))
    kept = sum(shard.kept for shard in shards)
    stage = StageManifest(
        family=family, part=part.name, step=step.name, version=step.version, fingerprint=fingerprint,
        record=part.item.__name__, inputs=(), planned=kept, kept=kept, dropped={}, shards=tuple(shards),
    )  # fmt: skip
    files.finish(stage)
    return PartManifest(family=family, part=part.name, planned=kept, kept=kept, dropped={}, stages=(stage,), files=())


def _records(folder: Path, config: ReleasedConfig, part: Part, only: Collection[str]) -> Iterator[Any]:
    for row in read_released(folder, config.files):
        if only and row["id"] not in only:
            continue
        try:
            yield record_of(part, row)
        except ValidationError as error:
            problem = first_problem(error, "the row")
            advice = "a release of another version of Touchstone is evaluated by that version"
            raise Failed(f"{folder}: {config.name}: row {row.get('id')}: {problem}; {advice}") from error


def record_of(part: Part, row: Mapping[str, Any]) -> Any:
    """Return the record in a released row."""
    return part.item.model_validate({name: row[name] for name in part.item.model_fields if name in row})
