"""What goes out beside the rows: the rows of other parts that verifiers read, the scorers, the harness's tasks."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data.publish.folder import VERIFICATION_INPUTS
from data.publish.harness import HarnessData
from data.publish.reading import read_batches, read_released
from data.publish.rows import Ruling, write_rows
from data.publish.scorers import SCORED, scorer
from data.whole_file import write_whole
from flows.construct.engine import Family, Part
from flows.construct.reviewed import reviewed_keys
from flows.llm.likelihood import SCORES
from flows.project.output_files import accepted_files
from flows.project.project import Project
from flows.release.card import SCORERS
from flows.release.harness import harness_task
from flows.release.rows import GatheredConfig, record_of
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


def write_scorers(
    project: Project, folder: Path, configs: Sequence[GatheredConfig], repo: str | None, version: str
) -> None:
    """Write each family's scorer, and beside it the tasks for lm-evaluation-harness, on the rows of this version."""
    for config in configs:
        name, rows = config.family.name, config.rows
        if name not in SCORED or not rows.files:
            continue
        write_whole(folder / SCORERS / f"{name}.py", scorer(name).encode())
        row = record_of(config.part, next(read_released(folder, rows.files)))
        data = (
            HarnessData(repo, rows.name, rows.split, {"revision": version})
            if repo
            else HarnessData("parquet", None, rows.split, {"data_files": {rows.split: list(rows.files)}})
        )
        task = f"touchstone-{rows.name}"
        family = project.build.families[name]
        text = harness_task(task, config.family, family.settings, family.prompts, row, data, "1")
        if text is not None:
            write_whole(folder / SCORERS / f"{task}.yaml", text.encode())
            config.task = task
            config.asked = list(_asked(config.family, family.settings, row))


def _asked(family: Family, settings: Any, row: Any) -> Iterator[Mapping[str, Any]]:
    """What a prediction of the row has beside what is said, for each that it takes."""
    evaluation = family.evaluation
    if evaluation.choices is None:
        ways = [(ask.variant, ask.prompting, ask.shots) for ask in evaluation.requests(row, settings)]
    else:
        ways = [(name, ask.prompting, ask.shots) for ask in evaluation.choices(row, settings) for name in SCORES]
    for variant, prompting, shots in ways:
        fields = {"id": row.id, "variant": variant, "prompting": prompting, "shots": shots}
        yield {name: value for name, value in fields.items() if value is not None}
