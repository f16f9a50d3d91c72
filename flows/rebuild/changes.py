"""Compares the rows of a rebuild with those of the rebuild before, and decides whether it stops.

Rows are compared by their identity (`id`) and by the part that people see (`view_hash`), before verdicts are applied:
people need not look again at their own changes. Only the rows of parts that ask people or are released count. The rows
of the last complete rebuild are in `.rebuilt.parquet` beside the build, 16 bytes for each, with the names of its
stages, which tell why rows changed. The first rebuild of an output folder is compared with the build there, and has no
limit.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from annotation.label_studio.accounts import read_owner
from data.seen import Hashes, are_in, places_of
from data.whole_file import whole_bytes
from flows.annotate.server import server_folder
from flows.construct.engine import Part
from flows.project.annotation_settings import LOCAL
from flows.project.gc import stages_of_build
from flows.project.output_files import last_manifest
from flows.project.project import Project
from flows.project.settings import Config
from flows.release.version import Prepared
from schemas.base import content_hash
from schemas.errors import Failed, Stopped
from schemas.manifest import BuildManifest

REBUILT = ".rebuilt.parquet"
REBUILT_BEFORE = ".rebuilt.json"
"""The same as a mapping, by earlier versions of Touchstone."""
_STAGES = b"stages"
_COLUMNS = {"part": pa.string(), "key": pa.uint64(), "state": pa.uint64()}


class RowStates:
    """The rows of a part that matter to people and to releases: their keys, and a hash of the state of each."""

    def __init__(self, keys: Sequence[int] | Hashes = (), states: Sequence[int] | Hashes = ()) -> None:
        unsorted, of_unsorted = np.asarray(keys, np.uint64), np.asarray(states, np.uint64)
        order = np.argsort(unsorted, kind="stable")
        self.keys: Hashes = unsorted[order]
        self.states: Hashes = of_unsorted[order]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str]]) -> "RowStates":
        """Return the states of rows, each with its key and `row_state`."""
        keys, states = array("Q"), array("Q")
        for key, state in rows:
            keys.append(int(key, 16))
            states.append(int(content_hash(state), 16))
        return cls(keys, states)

    def missing_in(self, other: "RowStates") -> Hashes:
        """Return the keys that the other rows lack."""
        return self.keys[~are_in(self.keys, other.keys)]

    def changed_in(self, other: "RowStates") -> Hashes:
        """Return the keys of the rows that the other rows have in another state."""
        places = places_of(self.keys, other.keys)
        both = places >= 0
        changed: Hashes = self.keys[both][self.states[both] != other.states[places[both]]]
        return changed


Rows = Mapping[str, RowStates]
"""By part (`uraq-items`), the rows of a build."""


@dataclass(frozen=True, eq=False)
class Drift:
    """The rows of a part that differ from those before."""

    part: str
    added: Hashes
    changed: Hashes
    removed: Hashes

    @property
    def total(self) -> int:
        """The number of rows that differ."""
        return len(self.added) + len(self.changed) + len(self.removed)

    def __str__(self) -> str:
        counts = {"added": self.added, "changed": self.changed, "removed": self.removed}
        return f"{self.part}: " + ", ".join(f"{len(keys):,} {change}" for change, keys in counts.items() if len(keys))


NO_BUILD = "nothing: there is no build yet"


@dataclass
class Rebuilt:
    """The result of a rebuild."""

    built: BuildManifest
    drift: tuple[Drift, ...]
    """One for each part whose rows differ from those of the build that they are compared with."""
    since: str
    """A description of that build."""
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
    states: dict[str, RowStates] = {}
    for family, part in project.build.parts():
        if not matters(part):
            continue
        summary = built.part(family.name, part.name)
        files = [file.path for file in (summary.files if summary else ()) if file.path.startswith("sifted/")]
        rows = (row for path in files for row in _read(project.out / path))
        states[f"{family.name}-{part.name}"] = RowStates.of(rows)
    return states


def _read(path: Path) -> Iterator[tuple[str, str]]:
    with pq.ParquetFile(path) as file:
        names = [name for name in ("key", "id", "view_hash") if name in file.schema_arrow.names]
        for batch in file.iter_batches(columns=names):
            for row in batch.to_pylist():
                yield row["key"], row_state(row["id"], row.get("view_hash"))


def compared_with(project: Project) -> tuple[Rows, Sequence[str] | None, str]:
    """Return the rows to compare a rebuild with, the stages that they are of, and their origin.

    This is the last rebuild, else the last build, else none. Raises `Failed`.
    """
    if (rows := rows_before(project.out)) is not None:
        return rows, stages_before(project.out), "the last rebuild"
    built = last_manifest(project.out)
    if built is not None and all((project.out / file.path).is_file() for part in built.parts for file in part.files):
        return rows_of(project, built), stages_of_build(built), "the last build"
    return {}, (), NO_BUILD


def rows_before(out: Path) -> Rows | None:
    """Return the rows of the last complete rebuild in `out`; None before the first. Raises `Failed`."""
    path = out / REBUILT
    try:
        if path.is_file():
            with pq.ParquetFile(path) as file:
                return {
                    name: RowStates(group["key"].to_numpy(), group["state"].to_numpy())
                    for number in range(file.num_row_groups)
                    for group in [file.read_row_group(number)]
                    for name in group["part"][:1].to_pylist()
                }
        path = out / REBUILT_BEFORE
        if not path.is_file():
            return None
        parts: Mapping[str, Mapping[str, str]] = orjson.loads(path.read_bytes())["parts"]
        return {name: RowStates.of(states.items()) for name, states in parts.items()}
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise Failed(f"{path}: damaged; remove it, and the next rebuild counts as the first, without limit") from error


def stages_before(out: Path) -> tuple[str, ...] | None:
    """Return the folders of the stages of the last complete rebuild in the store; None if it did not note them."""
    path = out / REBUILT
    noted = (pq.read_schema(path).metadata or {}).get(_STAGES) if path.is_file() else None
    return None if noted is None else tuple(noted.decode().split())


def note_rows(out: Path, rows: Rows, stages: Iterable[str]) -> None:
    """Store the rows of a complete rebuild, each part as a row group, and the folders of its stages."""
    schema = pa.schema(_COLUMNS, metadata={_STAGES: " ".join(stages)})
    path = out / REBUILT
    with whole_bytes(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for name, states in rows.items():
            columns = [pa.repeat(name, len(states.keys)), pa.array(states.keys), pa.array(states.states)]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=max(1, len(states.keys)))
    (out / REBUILT_BEFORE).unlink(missing_ok=True)


def drift(before: Rows, now: Rows) -> tuple[Drift, ...]:
    """Return the differences of the parts whose rows differ."""
    drifts = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, RowStates()), now.get(name, RowStates())
        drifts.append(Drift(name, added=new.missing_in(old), changed=new.changed_in(old), removed=old.missing_in(new)))
    return tuple(part_drift for part_drift in drifts if part_drift.total)


def too_many(config: Config, differing: tuple[Drift, ...]) -> str | None:
    """Return why a rebuild stops before it pushes or releases anything; None if it may go on."""
    most, total = config.schedule.max_changed_items, sum(part_drift.total for part_drift in differing)
    if most is None or total <= most:
        return None
    return (
        f"rows that differ from the last rebuild: {total:,} ({'; '.join(map(str, differing))}), and "
        f"schedule.max_changed_items allows {most:,}"
    )


def refuse_too_many(project: Project, differing: tuple[Drift, ...]) -> None:
    """Raise `Stopped` if more rows differ from the last rebuild than the configuration allows."""
    if rows_before(project.out) is not None and (problem := too_many(project.config, differing)) is not None:
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
