"""Why rows changed since the last build: their steps, what they are made of, or what they drew from a pool."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.publish.reading import read_batches
from flows.construct.engine import Family, Part
from flows.construct.files_step import FilesStep
from flows.project.project import Project
from flows.rebuild.changes import Drift
from schemas.manifest import BuildManifest

PROMPTED = "another prompt, template or model makes them"
MADE_OF = "the source or the item that they are made of changed"
DRAWN = "what they draw from a pool changed or is gone"


SHOWN = 5
"""Keys that are named for a reason."""


@dataclass(frozen=True)
class Reason:
    """Why some rows of a part changed."""

    part: str
    reason: str
    keys: frozenset[str]

    def __str__(self) -> str:
        shown = ", ".join(sorted(self.keys)[:SHOWN])
        more = f" and {len(self.keys) - SHOWN:,} more" if len(self.keys) > SHOWN else ""
        return f"{self.part}: {len(self.keys):,} changed because {self.reason}: {shown}{more}"


def why_changed(project: Project, before: BuildManifest, differing: Iterable[Drift]) -> Iterator[Reason]:
    """Yield the reasons of changed rows, part by part; each row has one, the first that is true of it.

    `project` is the new build, whose output folder has the files of the build `before`.
    """
    drifts = {drift.part: drift.changed for drift in differing}
    for family, part in project.build.parts():
        if not (changed := drifts.get(f"{family.name}-{part.name}")):
            continue
        by_reason: dict[str, set[str]] = defaultdict(set)
        new_version = _new_version(project, before, family, part)
        old = _old_provenance(project.out, before, family, part, changed)
        for key, now in _new_provenance(project, family, part, changed):
            by_reason[new_version or _reason(old.get(key, {}), now)].add(key)
        for reason, keys in by_reason.items():
            yield Reason(f"{family.name}-{part.name}", reason, frozenset(keys))


def _reason(old: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    before = {prompt["name"]: prompt for prompt in old.get("prompts", ())}
    if any(before.get(prompt["name"], prompt) != prompt for prompt in now["prompts"]):
        return PROMPTED
    return DRAWN if old.get("parents") == now["parents"] else MADE_OF


def _new_version(project: Project, before: BuildManifest, family: Family, part: Part) -> str | None:
    """Return which steps of the part's line have another version than in the build before; None if none has."""
    versions = {
        (stage.family, stage.part, stage.step): stage.version for built in before.parts for stage in built.stages
    }
    changed = [
        f"{maker.name} · {step.name.replace('_', ' ')} ({was} → {step.version})"
        for maker in family.with_makers([part.name])
        for step in maker.steps
        if (was := versions.get((family.name, maker.name, step.name), step.version)) != step.version
    ]
    return f"their steps have other versions: {', '.join(changed)}" if changed else None


def _old_provenance(
    out: Path, before: BuildManifest, family: Family, part: Part, keys: Collection[str]
) -> Mapping[str, Mapping[str, Any]]:
    built = before.part(family.name, part.name)
    provenance: dict[str, Mapping[str, Any]] = {}
    for file in built.files if built else ():
        if file.path.startswith("sifted/") and (out / file.path).is_file():
            for batch in read_batches(out / file.path, ["key", "provenance"]):
                provenance |= {row["key"]: row["provenance"] for row in batch.rows() if row["key"] in keys}
    return provenance


def _new_provenance(
    project: Project, family: Family, part: Part, keys: Collection[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    sifted = project.build.sifted(family, part)
    if isinstance(part.steps[-1], FilesStep):
        for row in sifted.columns(["key", "provenance"]):
            if row["key"] in keys:
                yield row["key"], row["provenance"]
        return
    for record in sifted:
        if record.key in keys:
            yield record.key, record.model_dump(mode="json")["provenance"]
