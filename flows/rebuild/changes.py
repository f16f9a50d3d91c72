"""What a rebuild compares, and when it stops: rows now against the rows of the rebuild before.

A row counts by what identifies it (`id`) and by what people see of it (`view_hash`), as it was sifted: before the
verdicts on it, since what people changed themselves is nothing they have to look at. Counted are the rows of parts
that ask people or are released. The rows of the last rebuild that went to its end lie beside the build in
`.rebuilt.json`; the first rebuild of an output folder has nothing to compare with, and no limit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from pydantic import ValidationError

from annotation.label_studio.accounts import read_owner
from data.store import Store
from flows.annotate.server import server_folder
from flows.construct.engine import Family, Part
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
    """`uraq-items` -> key -> what the row is."""


@dataclass(frozen=True)
class Drift:
    """How the rows of a part differ from those before."""

    part: str
    added: frozenset[str]
    """By key; so are the others."""
    changed: frozenset[str]
    removed: frozenset[str]

    @property
    def total(self) -> int:
        """How many rows differ."""
        return len(self.added) + len(self.changed) + len(self.removed)

    def __str__(self) -> str:
        counts = {"added": self.added, "changed": self.changed, "removed": self.removed}
        return f"{self.part}: " + ", ".join(f"{len(keys):,} {what}" for what, keys in counts.items() if keys)


@dataclass
class Rebuilt:
    """What a rebuild came to."""

    built: BuildManifest
    drift: tuple[Drift, ...] | None
    """Of the parts whose rows differ from the last rebuild's; None where this was the first."""
    moved: tuple[str, ...] = ()
    """Sources whose pins moved."""
    told: list[str] = field(default_factory=list)
    """What was done, and what was left out because there was nothing to do."""
    missed: list[str] = field(default_factory=list)
    """What could not be done."""
    released: Prepared | None = None
    url: str | None = None
    began: float = 0.0
    """`time.monotonic()` when the engine was up."""


class Incomplete(Failed):
    """All was done that could be, and something could not."""

    def __init__(self, rebuilt: Rebuilt) -> None:
        super().__init__(f"{'; '.join(rebuilt.missed)}; all else is done: see to that, then rebuild again")
        self.rebuilt = rebuilt

    def __reduce__(self) -> tuple[type["Incomplete"], tuple[Rebuilt]]:
        return Incomplete, (self.rebuilt,)


def matters(part: Part) -> bool:
    """Whether a part's rows are counted."""
    return part.people is not None or part.released is not None


def row_state(id_: str, view: str | None) -> str:
    """What a row is, for comparison."""
    return f"{id_} {view}" if view else id_


def rows_of(project: Project, built: BuildManifest) -> Rows:
    """The rows of a build, as they lie in its output folder."""
    found: dict[str, Mapping[str, str]] = {}
    for family, part in _counted(project):
        summary = built.part(family.name, part.name)
        files = [file.path for file in (summary.files if summary else ()) if file.path.startswith("sifted/")]
        found[f"{family.name}-{part.name}"] = {key: state for path in files for key, state in _read(project.out / path)}
    return Rows(parts=found)


def _counted(project: Project) -> Iterator[tuple[Family, Part]]:
    return ((family, part) for family, part in project.build.parts() if matters(part))


def _read(path: Path) -> Iterator[tuple[str, str]]:
    with pq.ParquetFile(path) as file:
        names = [name for name in ("key", "id", "view_hash") if name in file.schema_arrow.names]
        for batch in file.iter_batches(columns=names):
            for row in batch.to_pylist():
                yield row["key"], row_state(row["id"], row.get("view_hash"))


def rows_before(out: Path) -> Rows | None:
    """The rows of the last rebuild in `out` that went to its end; None before the first. Raises `Failed`."""
    path = out / REBUILT
    if not path.is_file():
        return None
    try:
        return Rows.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise Failed(f"{path}: damaged; remove it, and the next rebuild counts as the first, without limit") from error


def note_rows(out: Path, rows: Rows) -> None:
    """Note the rows of a rebuild that went to its end."""
    content = rows.model_dump_json().encode()
    path = out / REBUILT
    if not path.is_file() or path.read_bytes() != content:
        Store(str(out)).write(str(path.resolve()), content)


def drift(before: Rows, now: Rows) -> tuple[Drift, ...]:
    """The parts whose rows differ."""
    found = []
    for name in sorted(before.parts.keys() | now.parts.keys()):
        old, new = before.parts.get(name, {}), now.parts.get(name, {})
        found.append(
            Drift(
                name,
                added=frozenset(new.keys() - old.keys()),
                changed=frozenset(key for key in new.keys() & old.keys() if new[key] != old[key]),
                removed=frozenset(old.keys() - new.keys()),
            )
        )
    return tuple(one for one in found if one.total)


def too_many(config: Config, differing: tuple[Drift, ...]) -> str | None:
    """Why a rebuild stops before anything goes to people or out; None where it may go on."""
    most, total = config.schedule.max_changed_items, sum(one.total for one in differing)
    if most is None or total <= most:
        return None
    return (
        f"{total:,} rows differ from the last rebuild ({'; '.join(map(str, differing))}), and "
        f"schedule.max_changed_items allows {most:,}"
    )


def refuse_too_many(project: Project, differing: tuple[Drift, ...]) -> None:
    """Raise `Stopped` where more rows differ than the configuration allows."""
    if (problem := too_many(project.config, differing)) is not None:
        raise Stopped(
            f"{project.out}: {problem}: it is built, nothing went to people and nothing is released; look at it "
            f"(`touchstone rebuild {project.config_path} --preview`), then raise max_changed_items for one rebuild"
        )


def asks_people(project: Project) -> bool:
    """Whether people are to be reached: a part of the build asks them, and somebody set up where.

    Who named no people, no address and never started a local Label Studio builds without one.
    """
    if all(part.people is None for _, part in project.build.parts()):
        return False
    settings = project.config.annotation
    return settings.url != LOCAL or bool(settings.people) or read_owner(server_folder(project.config)) is not None
