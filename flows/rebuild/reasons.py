"""Why rows changed since the last build: their steps, what they are made of, or what they drew from a pool."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from data.seen import Hashes, place_of, sorted_hashes, text_of
from data.stage_files import Stage
from flows.construct.engine import Family, Part
from flows.construct.stages import StageRef
from flows.project.project import Project
from flows.rebuild.changes import Drift
from schemas.base import canonical_json, content_hash

PROMPTED = "another prompt, template or model makes them"
MADE_OF = "the source or the item that they are made of changed"
DRAWN_ANEW = "they are drawn anew (refresh: {})"
DRAWN = "what they draw from a pool changed or is gone"
GONE = "of something that is not known: the stages of the last rebuild are gone from the store"


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


def why_changed(project: Project, before: Iterable[str], differing: Iterable[Drift]) -> Iterator[Reason]:
    """Yield the reasons of changed rows, part by part; each row has one, the first that is true of it.

    `project` is the new build. `before` are the folders of the stages before, which its history finds in the store.
    """
    history, anew = project.build.history, DRAWN_ANEW.format(project.config.release.refresh)
    drifts = {drift.part: drift.changed for drift in differing}
    folders = {folder.rpartition("-")[0]: folder for folder in before if history.has(folder)}
    keys: dict[str, str] = {}
    """Of records that were drawn anew: the key of each, by its id before and now."""
    for family, part in project.build.parts():
        changed = drifts.get(f"{family.name}-{part.name}", sorted_hashes(()))
        if not len(changed):
            continue
        reason = _new_version(project, folders, family, part)
        folder = folders.get(f"{family.name}/{part.name}/{part.steps[-1].name}")
        if folder is None:
            reason = reason or GONE
        drawn = anew if _is_drawn_anew(project, folders, family, part) else DRAWN
        rows_before = history.read(folder, part.item) if folder else None
        old = _Provenance(changed, keys, () if rows_before is None else _provenance(rows_before))
        numbers: dict[str, int] = {}
        """Reason -> its number."""
        reasons = np.full(len(changed), -1, np.int16)
        for key, now in _provenance(project.build.sifted(family, part)):
            if (place := place_of(key, changed)) is not None:
                reasons[place] = numbers.setdefault(reason or old.reason(place, now, drawn, anew), len(numbers))
        for told, number in numbers.items():
            yield Reason(f"{family.name}-{part.name}", told, changed[reasons == number])
        redrawn = changed[reasons == numbers.get(anew, len(numbers))]
        for rows in (rows_before, project.build.sifted(family, part)) if len(redrawn) and rows_before else ():
            named = rows.columns(["id", "key"])
            keys.update((row["id"], row["key"]) for row in named if place_of(row["key"], redrawn) is not None)


def _is_drawn_anew(project: Project, folders: Mapping[str, str], family: Family, part: Part) -> bool:
    """Return whether a step of the part has another draw than in the stages before."""
    for step in part.steps:
        folder = folders.get(f"{family.name}/{part.name}/{step.name}")
        now = project.build.draw_of(StageRef(family.name, part.name, step.name))
        if folder is not None and project.build.history.read(folder, part.item).manifest.draw != now:
            return True
    return False


class _Provenance:
    """What changed rows were made of before: 12 bytes a row."""

    def __init__(
        self, changed: Hashes, drawn_anew: Mapping[str, str], rows: Iterable[tuple[str, Mapping[str, Any]]]
    ) -> None:
        """`changed` are the rows' keys, and `drawn_anew` the key of each record that was drawn anew, by its ids."""
        self._drawn_anew = drawn_anew
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
                self._parents[place] = self._hash_of(provenance["parents"])
        self._by_number = [{prompt["name"]: prompt for prompt in orjson.loads(prompts)} for prompts in self._prompts]

    def reason(self, place: int, now: Mapping[str, Any], drawn: str, anew: str) -> str:
        """Return why the row at a place changed: `drawn` if made of the same, `anew` if of what was drawn anew."""
        number = self._of_row[place]
        before = self._by_number[number] if number >= 0 else {}
        if any(before.get(prompt["name"], prompt) != prompt for prompt in now["prompts"]):
            return PROMPTED
        if number < 0 or self._parents[place] != self._hash_of(now["parents"]):
            return MADE_OF
        return drawn if self._drawn_anew.keys().isdisjoint(now["parents"]) else anew

    def _hash_of(self, parents: Iterable[str]) -> int:
        return int(content_hash([self._drawn_anew.get(parent, parent) for parent in parents]), 16)


def _new_version(project: Project, folders: Mapping[str, str], family: Family, part: Part) -> str | None:
    """Return which steps of the part's line have another version than in the stages before; None if none has."""
    changed = []
    for maker in family.with_makers([part.name]):
        for step in maker.steps:
            folder = folders.get(f"{family.name}/{maker.name}/{step.name}")
            was = project.build.history.read(folder, maker.item).manifest.version if folder else step.version
            if was != step.version:
                changed.append(f"{maker.name} · {step.name.replace('_', ' ')} ({was} → {step.version})")
    return f"their steps have other versions: {', '.join(changed)}" if changed else None


def _provenance(stage: Stage[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((row["key"], row["provenance"]) for row in stage.columns(["key", "provenance"]))
