"""Why rows changed since the last build: their steps, what they are made of, or what they drew from a pool."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from data.publish.reading import read_batches
from data.seen import Hashes, place_of, sorted_hashes, text_of
from flows.construct.engine import Family, Part
from flows.construct.files_step import FilesStep
from flows.project.project import Project
from flows.rebuild.changes import Drift
from schemas.base import canonical_json, content_hash
from schemas.manifest import BuildManifest

PROMPTED = "another prompt, template or model makes them"
MADE_OF = "the source or the item that they are made of changed"
DRAWN = "what they draw from a pool changed or is gone"


SHOWN = 5
"""Keys that are named for a reason."""


@dataclass(frozen=True, eq=False)
class Reason:
    """Why some rows of a part changed."""

    part: str
    reason: str
    keys: Hashes

    def __str__(self) -> str:
        shown = ", ".join(map(text_of, self.keys[:SHOWN].tolist()))
        more = f" and {len(self.keys) - SHOWN:,} more" if len(self.keys) > SHOWN else ""
        return f"{self.part}: {len(self.keys):,} changed because {self.reason}: {shown}{more}"


def why_changed(project: Project, before: BuildManifest, differing: Iterable[Drift]) -> Iterator[Reason]:
    """Yield the reasons of changed rows, part by part; each row has one, the first that is true of it.

    `project` is the new build, whose output folder has the files of the build `before`.
    """
    drifts = {drift.part: drift.changed for drift in differing}
    for family, part in project.build.parts():
        changed = drifts.get(f"{family.name}-{part.name}", sorted_hashes(()))
        if not len(changed):
            continue
        new_version = _new_version(project, before, family, part)
        old = _Provenance(changed, _old_provenance(project.out, before, family, part))
        numbers: dict[str, int] = {}
        """Reason -> its number."""
        reasons = np.full(len(changed), -1, np.int16)
        for key, now in _new_provenance(project, family, part):
            if (place := place_of(key, changed)) is not None:
                reasons[place] = numbers.setdefault(new_version or old.reason(place, now), len(numbers))
        for reason, number in numbers.items():
            yield Reason(f"{family.name}-{part.name}", reason, changed[reasons == number])


class _Provenance:
    """What changed rows were made of before: 12 bytes a row."""

    def __init__(self, changed: Hashes, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """`changed` are the rows' keys."""
        self._prompts: dict[bytes, int] = {}
        """JSON of the prompts that made a row, and its number: most rows have the same."""
        self._of_row = np.full(len(changed), -1, np.int32)
        """Number of each row's prompts; -1 if the row was not there."""
        self._parents = np.zeros(len(changed), np.uint64)
        """Hash of each row's parents."""
        for key, provenance in rows:
            if (place := place_of(key, changed)) is not None:
                prompts = canonical_json(provenance["prompts"])
                self._of_row[place] = self._prompts.setdefault(prompts, len(self._prompts))
                self._parents[place] = _hash_of(provenance["parents"])
        self._by_number = [{prompt["name"]: prompt for prompt in orjson.loads(prompts)} for prompts in self._prompts]

    def reason(self, place: int, now: Mapping[str, Any]) -> str:
        """Return why the row at a place changed."""
        number = self._of_row[place]
        before = self._by_number[number] if number >= 0 else {}
        if any(before.get(prompt["name"], prompt) != prompt for prompt in now["prompts"]):
            return PROMPTED
        return DRAWN if number >= 0 and self._parents[place] == _hash_of(now["parents"]) else MADE_OF


def _hash_of(parents: Iterable[str]) -> int:
    return int(content_hash(list(parents)), 16)


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
    out: Path, before: BuildManifest, family: Family, part: Part
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    built = before.part(family.name, part.name)
    for file in built.files if built else ():
        if file.path.startswith("sifted/") and (out / file.path).is_file():
            for batch in read_batches(out / file.path, ["key", "provenance"]):
                yield from ((row["key"], row["provenance"]) for row in batch.rows())


def _new_provenance(project: Project, family: Family, part: Part) -> Iterator[tuple[str, Mapping[str, Any]]]:
    sifted = project.build.sifted(family, part)
    if isinstance(part.steps[-1], FilesStep):
        yield from ((row["key"], row["provenance"]) for row in sifted.columns(["key", "provenance"]))
        return
    for record in sifted:
        yield record.key, record.provenance.model_dump(mode="json")
