"""The rows of a release, configuration by configuration: past the gate, with what they say of themselves."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from data.publish.folder import Release
from data.publish.reading import read_batches
from data.publish.rows import SPLIT, UNREVIEWED_ALLOWED, ReleasedRows, Ruling, write_rows
from data.publish.splits import is_held_out
from data.sources import SourceSpec, name_of
from flows.construct.embed import CHINESE_SHARE, chinese_share
from flows.construct.engine import Family, Part
from flows.project.output_files import accepted_files
from flows.project.project import Project
from flows.release.gate import REJECTED, Gated, gate, line_of
from schemas.base import SourceRef


@dataclass
class GatheredConfig:
    """What is gathered of a configuration while its rows are read once more."""

    rows: ReleasedRows
    family: Family
    part: Part
    sources: Counter[SourceRef] = field(default_factory=Counter)
    """Those that its rows name, with how many do."""
    mixed: frozenset[SourceRef] = frozenset()
    """Whole ones that no row names, whose text its rows may hold all the same: distractors, passages, other items."""
    languages: set[str] = field(default_factory=set)
    corrected: int = 0
    let_through: int = 0
    task: str | None = None
    asked: Sequence[Mapping[str, Any]] = ()
    """How one of its rows is put to a model: its predictions, without what is said."""


def _public_before(before: Release | None, family: Family, part: Part) -> frozenset[str]:
    """What ties rows together, of those that the version before published: they can be no fresh test any more."""
    if before is None or part.released is None:
        return frozenset()
    name = part.released.together
    own = [one for one in before.manifest.configs if (one.family, one.part) == (family.name, part.name)]
    files = [before.folder / path for one in own if name in one.fields for path in one.files]
    return frozenset(str(row[name]) for path in files for batch in read_batches(path, [name]) for row in batch.rows())


def write_configs(
    project: Project, folder: Path, private: Path, canary: str, before: Release | None, *, allow_unreviewed: bool
) -> tuple[list[Gated], list[GatheredConfig]]:
    gated: list[Gated] = []
    configs: list[GatheredConfig] = []
    share = project.config.release.held_out
    for family, part in project.build.parts():
        if part.released is None:
            continue
        public = _public_before(before, family, part) if share else frozenset[str]()
        one = gate(project, family, part, gated, allow_unreviewed=allow_unreviewed)
        gated.append(one)
        written = write_rows(
            accepted_files(project, family.name, part.name),
            folder,
            lambda row, one=one, public=public: _ruling(one, row, canary, share, public),  # type: ignore[misc]
            canary=canary,
            columns=sorted({part.released.together, *part.released.configs}),
            private=private,
        )
        configs += [GatheredConfig(rows, family, part) for rows in _with_rejected(one, written)]
    return gated, configs


def _with_rejected(gated: Gated, written: Iterable[ReleasedRows]) -> list[ReleasedRows]:
    """The configurations, those that people rejected counted: they are not among the accepted rows."""
    by_name = {rows.name: rows for rows in written}
    rejected = Counter(_config_name(gated, record.model_dump(mode="json")) for record in gated.rejected)
    for name, count in rejected.items():
        rows = by_name.get(name) or ReleasedRows(name, SPLIT, 0, 0, {}, 0, {}, (), ())
        by_name[name] = replace(rows, held_back=dict(sorted({**rows.held_back, REJECTED: count}.items())))
    return [by_name[name] for name in sorted(by_name)]


def _config_name(gated: Gated, row: Mapping[str, Any]) -> str:
    released = gated.part.released
    kinds = [str(row[one]).lower() for one in (released.configs if released else ())]
    return "-".join([gated.family.name, *(kinds or [gated.part.name])])


def _ruling(gated: Gated, row: Mapping[str, Any], canary: str, share: float, public: Collection[str]) -> Ruling:
    config = _config_name(gated, row)
    if (reason := gated.held_back.get(row["key"])) is not None:
        return Ruling(config, held_back=reason)
    assert gated.part.released is not None
    together = str(row[gated.part.released.together])
    held_out = together not in public and is_held_out(canary, together, share)
    return Ruling(config, held_out=held_out, decision=gated.rows[row["key"]])


def look_through(project: Project, one: GatheredConfig, folder: Path) -> None:
    """Which sources its rows name or may hold text of, which languages they are in, and what people decided."""
    assert one.part.released is not None
    kind: dict[str, Any] = {}
    for path in one.rows.files:
        named = [
            name
            for name in ("provenance", "language", "decision", *one.part.released.said, *one.part.released.configs)
            if name in one.rows.fields
        ]
        for batch in read_batches(folder / path, named):
            for row in batch.rows():
                kind = {name: row[name] for name in one.part.released.configs}
                one.languages.update(_languages(row, one.part.released.said))
                one.corrected += row["decision"] == "fix"
                one.let_through += row["decision"] == UNREVIEWED_ALLOWED
                one.sources.update({SourceRef.model_validate(source) for source in row["provenance"]["sources"]})
    if one.rows.rows:
        there = {(ref.source, ref.licence) for ref in one.sources}
        mixed = ((name_of(spec), spec.licence) for spec in _mixed(project, one.family, one.part, kind))
        one.mixed = frozenset(
            SourceRef(source=name, id="", licence=licence) for name, licence in mixed if (name, licence) not in there
        )


def _languages(row: Mapping[str, Any], said: Sequence[str]) -> Iterator[str]:
    if not said:
        yield row.get("language") or "en"
    for name in said:
        texts = [row[name]] if isinstance(row[name], str) else [turn["text"] for turn in row[name]]
        yield from ("zh" if chinese_share(text) >= CHINESE_SHARE else "en" for text in texts if text)


def _mixed(project: Project, family: Family, part: Part, kind: Mapping[str, Any]) -> Iterable[SourceSpec]:
    """The sources whose text may stand in rows of a configuration.

    A family that does not say it has all that the part's line is read from: what a row does not name may be in it, as
    other rows' texts among its contexts.
    """
    settings = project.build.families[family.name].settings
    if part.released is not None and part.released.mixes is not None:
        return part.released.mixes(settings, kind)
    return [spec for one in line_of(family, part) for _, spec in project.build.named_sources(family, one)]


def record_of(part: Part, row: Mapping[str, Any]) -> Any:
    """A released row as the record it was."""
    return part.item.model_validate({name: row[name] for name in part.item.model_fields if name in row})
