"""Compares the rows of a rebuild with those of the rebuild before, and decides whether it stops.

Rows are compared by their identity (`id`) and by the part that people see (`view_hash`), before verdicts are applied:
people need not look again at their own changes. Only the rows of parts that ask people or are released count. The rows
of the last complete rebuild are in `.rebuilt.json` beside the build. The first rebuild of an output folder has nothing
to compare with, and no limit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from pydantic import ValidationError

from annotation.label_studio.accounts import read_owner
from data.store import Store
from flows.annotate.server import server_folder
from flows.construct.engine import Part
from flows.project.project import Project
from flows.project.settings import LOCAL, Config
from flows.release.version import Prepared
from schemas.base import Frozen
from schemas.errors import Failed, Stopped
from schemas.manifest import BuildManifest

REBUILT = ".rebuilt.json"


class Rows(Frozen):
    """The rows of a build that matter to people and to releases."""

    parts: Mapping[str, Mapping[str, str]]
    """`uraq-items` -> key -> `row_state` of the row."""


@dataclass(frozen=True)
class Drift:
    """The rows of a part that differ from those before."""

    part: str
    added: frozenset[str]
    """Keys, as in the other two."""
    changed: frozenset[str]
    removed: frozenset[str]

    @property
    def total(self) -> int:
        """The number of rows that differ."""
        return len(self.added) + len(self.changed) + len(self.removed)

    def __str__(self) -> str:
        counts = {"added": self.added, "changed": self.changed, "removed": self.removed}
        return f"{self.part}: " + ", ".join(f"{len(keys):,} {change}" for change, keys in counts.items() if keys)


@dataclass
class Rebuilt:
    """The result of a rebuild."""

    built: BuildManifest
    drift: tuple[Drift, ...] | None
    """One for each part whose rows differ from the last rebuild's; None if this was the first rebuild."""
    moved: tuple[str, ...] = ()
    """Sources whose pins moved."""
    told: list[str] = field(default_factory=list)
    """Lines on the steps that were done, or had nothing to do."""
    missed: list[str] = field(default_factory=list)
    """Lines on the steps that could not be done."""
    released: Prepared | None = None
    url: str | None = None
    began: float = 0.0
    """`time.monotonic()` once the engine had started."""


class Incomplete(Failed):
    """Some steps of a rebuild could not be done; all others were."""

    def __init__(self, rebuilt: Rebuilt) -> None:
        super().__init__(f"{'; '.join(rebuilt.missed)}; all else is done: see to that, then rebuild again")
        self.rebuilt = rebuilt

    def __reduce__(self) -> tuple[type["Incomplete"], tuple[Rebuilt]]:
        return Incomplete, (self.rebuilt,)


def matters(part: Part) -> bool:
    """True if a part's rows are compared."""
    return part.people is not None or part.released is not None


def row_state(id_: str, view: str | None) -> str:
    """Return a text that changes when a row's content or the part that people see changes."""
    return f"{id_} {view}" if view else id_


def rows_of(project: Project, built: BuildManifest) -> Rows:
    """Return the rows of a build, read from its output folder."""
    states: dict[str, Mapping[str, str]] = {}
    for family, part in project.build.parts():
        if not matters(part):
            continue
        summary = built.part(family.name, part.name)
        files = [file.path for file in (summary.files if summary else ()) if file.path.startswith("sifted/")]
        states[f"{family.name}-{part.name}"] = {
            key: state for path in files for key, state in _read(project.out / path)
        }
    return Rows(parts=states)


def _read(path: Path) -> Iterator[tuple[str, str]]:
    with pq.ParquetFile(path) as file:
        names = [name for name in ("key", "id", "view_hash") if name in file.schema_arrow.names]
        for batch in file.iter_batches(columns=names):
            for row in batch.to_pylist():
                yield row["key"], row_state(row["id"], row.get("view_hash"))


def rows_before(out: Path) -> Rows | None:
    """Return the rows of the last complete rebuild in `out`; None before the first. Raises `Failed`."""
    path = out / REBUILT
    if not path.is_file():
        return None
    try:
        return Rows.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise Failed(f"{path}: damaged; remove it, and the next rebuild counts as the first, without limit") from error


def note_rows(out: Path, rows: Rows) -> None:
    """Store the rows of a complete rebuild."""
    content = rows.model_dump_json().encode()
    path = out / REBUILT
    if not path.is_file() or path.read_bytes() != content:
        Store(str(out)).write(str(path.resolve()), content)


def drift(before: Rows, now: Rows) -> tuple[Drift, ...]:
    """Return the differences of the parts whose rows differ."""
    drifts = []
    for name in sorted(before.parts.keys() | now.parts.keys()):
        old, new = before.parts.get(name, {}), now.parts.get(name, {})
        drifts.append(
            Drift(
                name,
                added=frozenset(new.keys() - old.keys()),
                changed=frozenset(key for key in new.keys() & old.keys() if new[key] != old[key]),
                removed=frozenset(old.keys() - new.keys()),
            )
        )
    return tuple(part_drift for part_drift in drifts if part_drift.total)


def too_many(config: Config, differing: tuple[Drift, ...]) -> str | None:
    """Return why a rebuild stops before it pushes or releases anything; None if it may go on."""
    most, total = config.schedule.max_changed_items, sum(part_drift.total for part_drift in differing)
    if most is None or total <= most:
        return None
    return (
        f"{total:,} rows differ from the last rebuild ({'; '.join(map(str, differing))}), and "
        f"schedule.max_changed_items allows {most:,}"
    )


def refuse_too_many(project: Project, differing: tuple[Drift, ...]) -> None:
    """Raise `Stopped` if more rows differ than the configuration allows."""
    if (problem := too_many(project.config, differing)) is not None:
        raise Stopped(
            f"{project.out}: {problem}: it is built, nothing went to people and nothing is released; look at it "
            f"(`touchstone rebuild {project.config_path} --preview`), then raise max_changed_items for one rebuild"
        )


def asks_people(project: Project) -> bool:
    """True if a part of the build asks people and Label Studio was set up.

    It counts as set up if the configuration names people or an address, or a local one was ever started.
    """
    if all(part.people is None for _, part in project.build.parts()):
        return False
    settings = project.config.annotation
    return settings.url != LOCAL or bool(settings.people) or read_owner(server_folder(project.config)) is not None
