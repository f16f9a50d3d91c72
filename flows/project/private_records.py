"""Which source records and accepted rows of a build rest on a private source, by what provenance says."""

from array import array
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from data.publish.reading import opened, read_batches
from data.seen import Hashes, place_of, sorted_hashes
from data.sources import PART, keys_from_row
from flows.construct.engine import Family, Part
from flows.construct.stages import SOURCE
from flows.project.output_files import accepted_files
from flows.project.project import Project
from schemas.base import Record


class Resting(NamedTuple):
    """The source records and rows that rest on a private source."""

    ids: Hashes
    """Of source records and rows. What a public source record says too rests on none."""
    keys: Hashes
    """Of rows."""

    @classmethod
    def of(cls, project: Project, names: Collection[str], parts: Collection[str]) -> "Resting":
        """Trace the records of a finished build; private are sources of these names, and these parts."""
        resting = cls(sorted_hashes(()), sorted_hashes(()))
        for family, part in project.build.parts():  # a part comes after those that it is made from
            resting = resting._with_sources(project, family, part, names)
            resting = resting._with_rows(project, family, part, names, is_private=f"{family.name}-{part.name}" in parts)
        return resting

    def _with_sources(self, project: Project, family: Family, part: Part, names: Collection[str]) -> "Resting":
        """Return this with the source records of a part."""
        of_parts = self._read_from_parts(project, family, part)
        private, public = array("Q"), array("Q")
        for record in source_records(project, family, part):
            rests = named(record, names) is not None or place_of(record.key, of_parts) is not None
            (private if rests else public).append(int(record.id, 16))
        only_private = np.setdiff1d(np.asarray(private, np.uint64), np.asarray(public, np.uint64))
        return self._replace(ids=np.union1d(self.ids, only_private))

    def _read_from_parts(self, project: Project, family: Family, part: Part) -> Hashes:
        """Return the keys of source records of a part that private rows of other parts give."""
        specs = [spec for _, spec in project.build.named_sources(family, part) if spec.format == PART]
        return sorted_hashes(
            key
            for spec in specs
            for row in rows_of(project, *project.build.part_of(spec), ["key"])
            if place_of(row["key"], self.keys) is not None
            for key in keys_from_row(spec, row["key"])
        )

    def _with_rows(
        self, project: Project, family: Family, part: Part, names: Collection[str], *, is_private: bool
    ) -> "Resting":
        """Return this with the rows of a part."""
        ids, keys = array("Q"), array("Q")
        for row in rows_of(project, family, part, ["id", "key", "provenance", "source"]):
            if is_private or named(row, names) is not None or has_parent(row, self.ids):
                ids.append(int(row["id"], 16))
                keys.append(int(row["key"], 16))
        return Resting(
            np.union1d(self.ids, np.asarray(ids, np.uint64)), np.union1d(self.keys, np.asarray(keys, np.uint64))
        )


def source_records(project: Project, family: Family, part: Part) -> Iterator[Record]:
    """Yield the source records of a part as they were built; none if it is made from other parts."""
    stage = project.build.stages(family, part)[0]
    yield from project.build.read(stage) if stage.step == SOURCE else ()


def rows_of(project: Project, family: Family, part: Part, columns: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the accepted rows of a part, with all columns or those of the named ones that they have."""
    for path in accepted_files(project, family.name, part.name):
        with opened(path) as file:
            wanted = [name for name in file.schema_arrow.names if name in columns] if columns else None
        yield from (row for batch in read_batches(path, wanted) for row in batch.rows())


def named(record: Record | Mapping[str, Any], names: Collection[str]) -> str | None:
    """Return the first of these sources that a source record or a row names; None if it names none of them."""
    values = record if isinstance(record, Mapping) else record.model_dump(include={"source", "provenance"})
    own, provenance = values.get("source"), values.get("provenance") or {}
    sources = [*([own] if isinstance(own, Mapping) else []), *(provenance.get("sources") or ())]
    return next((source["source"] for source in sources if source["source"] in names), None)


def has_parent(row: Mapping[str, Any], ids: Hashes) -> bool:
    """Return whether a row is made of a record with one of these ids."""
    parents = (row.get("provenance") or {}).get("parents") or ()
    return any(place_of(parent, ids) is not None for parent in parents)
