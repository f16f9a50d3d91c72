"""Writes the rows of a release that pass the gate, and gathers facts about them, configuration by configuration.

Rows of other parts, which the verifiers read, go out beside them.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from data.publish.benchmark import ReadyColumn
from data.publish.folder import VERIFICATION_INPUTS, Release
from data.publish.inspect_package import InspectTask
from data.publish.reading import opened, read_batches
from data.publish.rows import SPLIT, UNREVIEWED_ALLOWED, ReleasedRows, Ruling, fields_of, write_rows
from data.seen import Hashes, place_of, sorted_hashes
from data.sources import SourceSpec, name_of
from data.whole_file import write_whole
from flows.construct.embed import CHINESE_SHARE, chinese_share
from flows.construct.engine import Family, Part
from flows.construct.part_sources import original_sources
from flows.construct.reviewed import reviewed_keys
from flows.project.output_files import accepted_files
from flows.project.private_sources import PrivateSources
from flows.project.project import Project
from flows.release.gate import Gated, gate
from flows.release.private_share import OF_PRIVATE_SOURCES
from flows.release.reviewed_before import reviewed_before
from schemas.base import HASH_LENGTH, SourceRef, canonical_json

MOST_NAMED = 2**18
"""Ids that rows name and that are held as texts before they become numbers."""
ID = re.compile(rf"\b[0-9a-f]{{{HASH_LENGTH}}}\b")


@dataclass
class GatheredConfig:
    """A configuration, and what is gathered about it while its rows are read again."""

    rows: ReleasedRows
    family: Family
    part: Part
    sources: Counter[SourceRef] = field(default_factory=Counter)
    """Source that rows name, without the id of a record -> how many rows name it."""
    mixed: frozenset[SourceRef] = frozenset()
    """Sources that no row names, but whose text rows may contain: distractors, passages, other items."""
    languages: set[str] = field(default_factory=set)
    corrected: int = 0
    let_through: int = 0
    scorer: str = ""
    """Fingerprint of the scorer; empty if it has none."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Task or prompt -> fingerprint of what a model is asked."""
    task: str | None = None
    """Its main task for lm-evaluation-harness."""
    group: str = ""
    """The group that the main task is in."""
    inspect: InspectTask | None = None
    """Its main task for Inspect."""
    asked: Sequence[Mapping[str, Any]] = ()
    """The predictions of one of its rows, without the replies."""

    @property
    def apart(self) -> str:
        """The end of its group's name if its rows are apart; otherwise empty."""
        apart = self.part.released.apart if self.part.released is not None else None
        return apart.group if apart is not None and self.rows.name == f"{self.family.name}-{apart.name}" else ""

    hub_tasks: tuple[str, ...] = ()
    """Its tasks in the Hub's benchmark file."""

    @property
    def ready(self) -> Sequence[ReadyColumn]:
        """The columns that were made of its rows' own."""
        return self.part.released.ready if self.part.released else ()


def write_configs(
    project: Project, folder: Path, private: Path, canary: str, drawn: Hashes, sources: PrivateSources,
    earlier: Sequence[Release], *, allow_unreviewed: bool,
) -> tuple[list[Gated], list[GatheredConfig]]:  # fmt: skip
    """Write the rows that pass the gate; those drawn, by key, and those of private sources go to the folder `private`.

    Of the latter, the keys are written there too: they are private for as long as their sources are. `earlier` are the
    versions before, oldest first.
    """
    of_sources: list[str] = []
    gated: list[Gated] = []
    configs: list[GatheredConfig] = []
    for family, part in project.build.parts():
        if part.released is None:
            continue
        before = reviewed_before(earlier, family, part)
        judged = gate(project, family, part, gated, before, allow_unreviewed=allow_unreviewed)
        gated.append(judged)
        written = write_rows(
            accepted_files(project, family.name, part.name),
            folder,
            _rule(judged, drawn, sources.rows, of_sources),
            canary=canary,
            columns=part.released.named_by,
            private=private,
            ready=part.released.ready,
        )
        configs += [GatheredConfig(rows, family, part) for rows in _with_rejected(judged, written)]
    if of_sources:
        write_whole(private / OF_PRIVATE_SOURCES, "".join(f"{key}\n" for key in sorted(of_sources)).encode())
    return gated, configs


def _with_rejected(gated: Gated, written: Iterable[ReleasedRows]) -> list[ReleasedRows]:
    """Return the configurations with the rejected rows counted, which are not among the accepted rows."""
    by_name = {rows.name: rows for rows in written}
    rejected = Counter(
        (config_name(gated.family, gated.part, record.model_dump(mode="json")), why) for record, why in gated.rejected
    )
    for (name, why), count in rejected.items():
        rows = by_name.get(name) or ReleasedRows(name, SPLIT, 0, 0, {}, 0, 0, {}, (), ())
        by_name[name] = replace(rows, held_back=dict(sorted({**rows.held_back, why: count}.items())))
    return [by_name[name] for name in sorted(by_name)]


def config_name(family: Family, part: Part, row: Mapping[str, Any]) -> str:
    """Return the name of a row's configuration."""
    released = part.released
    if released is not None and released.apart is not None and released.apart.holds(row[released.apart.column]):
        return f"{family.name}-{released.apart.name}"
    kinds = [str(row[column]).lower() for column in (released.configs if released else ())]
    return "-".join([family.name, *(kinds or [part.name])])


def single_configs(project: Project) -> frozenset[str]:
    """Return the names of configurations that are all of a released part, whether or not they have rows.

    Of a part with rows that are apart, both names.
    """
    return frozenset(
        f"{family.name}-{name}"
        for family, part in project.build.parts()
        if part.released is not None and not part.released.configs
        for name in [part.name, *([part.released.apart.name] if part.released.apart else [])]
    )


def _rule(gated: Gated, drawn: Hashes, of_sources: Hashes, found: list[str]) -> Callable[[Mapping[str, Any]], Ruling]:
    """Return the rule for the part's accepted rows, to be asked about each in order.

    It adds the keys of the rows of private sources that go to the private folder to `found`.
    """
    judgements = iter(gated)

    def ruling(row: Mapping[str, Any]) -> Ruling:
        held_back, decision = next(judgements)
        of_source, is_drawn = (
            held_back is None and len(keys) > 0 and place_of(row["key"], keys) is not None
            for keys in (of_sources, drawn)
        )
        if of_source:
            found.append(row["key"])
        return Ruling(
            config_name(gated.family, gated.part, row),
            held_back,
            held_out=of_source or is_drawn,
            of_private_source=of_source,
            decision=decision,
        )

    return ruling


def look_through(project: Project, config: GatheredConfig, folder: Path, private: PrivateSources) -> None:
    """Gather the sources that its rows name or may contain, their languages, and people's decisions."""
    released = config.part.released
    assert released is not None
    kind: dict[str, Any] = {}
    for path in config.rows.files:
        named = [
            name
            for name in ("provenance", "language", "decision", *released.text_fields, *released.named_by)
            if name in config.rows.fields
        ]
        for batch in read_batches(folder / path, named):
            for row in batch.rows():
                kind = {name: row[name] for name in released.configs}
                config.languages.update(_languages(row, released.text_fields))
                config.corrected += row["decision"] == "fix"
                config.let_through += row["decision"] == UNREVIEWED_ALLOWED
                config.sources.update(sources_named(row))
    if config.rows.rows:
        present = {(ref.source, ref.licence) for ref in config.sources}
        mixed = mixed_sources(project, config.family, config.part, kind, private)
        config.mixed = frozenset(ref for ref in mixed if (ref.source, ref.licence) not in present)


def sources_named(row: Mapping[str, Any]) -> frozenset[SourceRef]:
    """Return the sources that a row names, without the id of a record: each once, however many records it rests on."""
    return frozenset(
        SourceRef(source=source["source"], id="", licence=source["licence"]) for source in row["provenance"]["sources"]
    )


def _languages(row: Mapping[str, Any], text_fields: Sequence[str]) -> Iterator[str]:
    if not text_fields:
        yield row.get("language") or "en"
    for name in text_fields:
        texts = [row[name]] if isinstance(row[name], str) else [turn["text"] for turn in row[name]]
        yield from ("zh" if chinese_share(text) >= CHINESE_SHARE else "en" for text in texts if text)


def mixed_sources(
    project: Project, family: Family, part: Part, kind: Mapping[str, Any], private: PrivateSources
) -> list[SourceRef]:
    """Return the sources whose text may be in public rows of a configuration: all but private ones.

    By default these are all sources of the part's line: a row may contain text that it does not name, such as other
    rows' texts among its contexts.
    """
    settings = project.build.families[family.name].settings
    if part.released is not None and part.released.mixes is not None:
        mixed = part.released.mixes(settings, kind)
        specs = [origin for spec in mixed for origin in project.build.origins(spec)]
    else:
        specs = line_sources(project, family, part)
    return source_refs(spec for spec in specs if not private.has(spec))


def source_refs(specs: Iterable[SourceSpec]) -> list[SourceRef]:
    """Return sources as rows name them, without the id of a record."""
    return [SourceRef(source=name_of(spec), id="", licence=spec.licence) for spec in specs]


def line_sources(project: Project, family: Family, part: Part) -> list[SourceSpec]:
    """Return the sources of a part and of the parts that it is made from."""
    makers = family.with_makers([part.name])
    return [spec for maker in makers for spec in original_sources(project.build, family, maker)]


def write_verification_inputs(
    project: Project, folder: Path, private: Path, configs: Sequence[GatheredConfig], canary: str,
    sources: PrivateSources, *, allow_unreviewed: bool,
) -> None:  # fmt: skip
    """Write the rows of other parts that verifiers read: the accepted rows, if people have to accept them; of a
    collection, those that released rows name.

    They go to `folder`, beside the released rows, without those of private sources; if rows are private, all go to
    `private` too. If rows were drawn, they go there alone, since they would reveal them.
    """
    held_out = any(config.rows.held_out for config in configs)
    drawn = any(config.rows.held_out > config.rows.of_private_sources for config in configs)
    with_rows = [config for config in configs if config.rows.rows or config.rows.held_out]
    released = {(config.family.name, config.part.name) for config in with_rows}
    wanted = {
        (config.family.name, name): config.family
        for config in with_rows
        for name in (config.part.released.verification_inputs if config.part.released else ())
    }
    for (family_name, part_name), family in sorted(wanted.items()):
        if (family_name, part_name) in released:
            continue
        part, of_family = family.part(part_name), [config for config in with_rows if config.family is family]
        public = [folder / path for config in of_family for path in config.rows.files]
        every = [*public, *(private / path for config in of_family for path in config.rows.private_files)]
        # Rows from a source that no configuration accounts for are not released to verifiers either.
        refs = {ref for config in of_family for ref in (*config.sources, *config.mixed)}
        files = accepted_files(project, family.name, part.name)
        if not drawn:
            needed = _NeededRows(project, family, part, public, refs, sources.rows, allow_unreviewed=allow_unreviewed)
            write_rows(files, folder / VERIFICATION_INPUTS, needed.ruling, canary=canary, columns=["provenance"])
        if held_out:
            needed = _NeededRows(project, family, part, every, allow_unreviewed=allow_unreviewed)
            write_rows(files, private / VERIFICATION_INPUTS, needed.ruling, canary=canary, columns=["provenance"])


class _NeededRows:
    """Decides which rows of a part the verifiers of a family's released rows need."""

    def __init__(
        self, project: Project, family: Family, part: Part, rows: Sequence[Path],
        sources: Collection[SourceRef] | None = None, private: Hashes | None = None, *, allow_unreviewed: bool,
    ) -> None:  # fmt: skip
        """`rows` are the files of the released rows. With `sources`, no others may be named; `private` are keys."""
        self._config = f"{family.name}-{part.name}"
        every = part.people is not None and part.people.share == "every" and not allow_unreviewed
        self._reviewed = reviewed_keys(project.build, family, part) if every else None
        self._named = _named(rows) if part.whole else None
        self._private = private
        self._sources = None if sources is None else {(ref.source, ref.licence) for ref in sources}

    def ruling(self, row: Mapping[str, Any]) -> Ruling:
        """Whether the row is needed, and may go out."""
        unseen = self._reviewed is not None and row["key"] not in self._reviewed
        unnamed = self._named is not None and place_of(row["id"], self._named) is None
        sources = row["provenance"]["sources"] if "provenance" in row and self._sources is not None else ()
        foreign = any((source["source"], source["licence"]) not in (self._sources or ()) for source in sources)
        private = self._private is not None and place_of(row["key"], self._private) is not None
        return Ruling(self._config, held_back="not needed" if unseen or unnamed or foreign or private else None)


def _named(rows: Iterable[Path]) -> Hashes:
    """All that looks like an id in the rows of some files, long texts excluded."""
    ids = sorted_hashes(())
    for path in rows:
        with opened(path) as file:
            kinds = fields_of(file.schema_arrow)
        short = [name for name, kind in kinds.items() if kind not in ("string", "large_string")]
        recent: set[str] = set()
        for batch in read_batches(path, short):
            for row in batch.rows():
                recent.update(ID.findall(canonical_json(row).decode()))
            if len(recent) > MOST_NAMED:
                ids, recent = np.union1d(ids, sorted_hashes(recent)), set()
        ids = np.union1d(ids, sorted_hashes(recent))
    return ids
