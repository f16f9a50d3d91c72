"""The rows of other parts that go out beside the released ones, for verifiers to read."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from data.publish.folder import VERIFICATION_INPUTS
from data.publish.reading import read_batches
from data.publish.rows import Ruling, write_rows
from flows.construct.engine import Family, Part
from flows.construct.reviewed import reviewed_keys
from flows.project.output_files import accepted_files
from flows.project.project import Project
from flows.release.rows import GatheredConfig
from schemas.base import HASH_LENGTH, canonical_json

ID = re.compile(rf"\b[0-9a-f]{{{HASH_LENGTH}}}\b")


def write_verification_inputs(
    project: Project, folder: Path, configs: Sequence[GatheredConfig], canary: str, *, allow_unreviewed: bool
) -> None:
    """Write the rows of other parts that verifiers read: of what people have to accept, the accepted ones; of a
    collection, those that released rows name."""
    with_rows = [config for config in configs if config.rows.rows]
    released = {(config.family.name, config.part.name) for config in with_rows}
    wanted = {
        (config.family.name, name): config.family
        for config in with_rows
        for name in (config.part.released.verification_inputs if config.part.released else ())
    }
    for (family_name, part_name), family in sorted(wanted.items()):
        if (family_name, part_name) not in released:
            part = family.part(part_name)
            own = [config for config in with_rows if config.family is family]
            needed = _NeededRows(project, folder, family, part, own, allow_unreviewed=allow_unreviewed)
            files = accepted_files(project, family.name, part.name)
            write_rows(files, folder / VERIFICATION_INPUTS, needed.ruling, canary=canary, columns=["provenance"])


class _NeededRows:
    """Which rows of a part the verifiers of a family's released rows need."""

    def __init__(
        self, project: Project, folder: Path, family: Family, part: Part, configs: Sequence[GatheredConfig], *,
        allow_unreviewed: bool,
    ) -> None:  # fmt: skip
        self._config = f"{family.name}-{part.name}"
        every = part.people is not None and part.people.share == "every" and not allow_unreviewed
        self._reviewed = reviewed_keys(project.build, family, part) if every else None
        self._named = _named(folder, configs) if part.whole else None
        self._sources = {(ref.source, ref.licence) for config in configs for ref in (*config.sources, *config.mixed)}

    def ruling(self, row: Mapping[str, Any]) -> Ruling:
        """Whether the row goes out."""
        unseen = self._reviewed is not None and row["key"] not in self._reviewed
        unnamed = self._named is not None and row["id"] not in self._named
        sources = row["provenance"]["sources"] if "provenance" in row else ()
        # Of a source that no configuration answers for, nothing leaves for verifiers either.
        foreign = any((source["source"], source["licence"]) not in self._sources for source in sources)
        return Ruling(self._config, held_back="not needed" if unseen or unnamed or foreign else None)


def _named(folder: Path, configs: Iterable[GatheredConfig]) -> set[str]:
    """All that looks like an id in the rows of configurations, long texts excluded."""
    ids: set[str] = set()
    for config in configs:
        short = [name for name, kind in config.rows.fields.items() if kind not in ("string", "large_string")]
        for path in config.rows.files:
            for batch in read_batches(folder / path, short):
                for row in batch.rows():
                    ids.update(ID.findall(canonical_json(row).decode()))
    return ids
