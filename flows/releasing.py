"""A version of the dataset out of a finished build: rows past the gate, and all that goes out with them.

A version is put together in a folder of its own that nobody looks into, as if it had the number of the version
before; what differs then gives it its number, and only a whole one gets its name.
"""

import fcntl
import json
import re
import shutil
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from data.checksum import checksum
from data.output import arrow_fields
from data.publish.card import (
    CardFacts,
    ChangeCount,
    ConfigFacts,
    FamilyFacts,
    Plot,
    PredictionFacts,
    ReviewFacts,
    SourceFacts,
    UsageFacts,
    own_words,
    render_card,
)
from data.publish.changelog import changelog
from data.publish.check import damage_of
from data.publish.diff import FIRST_VERSION, Difference, compare, next_version, parsed_version
from data.publish.folder import (
    CARD,
    CHANGELOG,
    CHANGES,
    DATA,
    PROOF,
    Release,
    files_in,
    read_release,
    write_manifest,
    write_whole,
)
from data.publish.harness import HarnessData
from data.publish.licences import licences_of
from data.publish.rows import (
    ADDED,
    SPLIT,
    UNREVIEWED_ALLOWED,
    ReleasedRows,
    Ruling,
    read_batches,
    read_released,
    write_rows,
)
from data.publish.scorers import FORMS, READ, SCORED, scorer
from data.publish.splits import is_held_out
from data.sources import SourceSpec, name_of
from data.sources.fingerprint import source_fingerprint
from flows.compose import Project
from flows.construct.embed import CHINESE_SHARE, Embedder, chinese_share
from flows.construct.engine import Family, Part
from flows.construct.stages import StageRef
from flows.contamination import RowTexts, contamination_of
from flows.gate import REJECTED, Gated, check_current, gate, line_of
from flows.harness import harness_task
from flows.outputs import PACKAGE
from flows.people import Collected, stand
from flows.proof import prove
from flows.report.plots import agreement_plot, plots_of
from flows.report.read import figures
from flows.scoring.likelihood import SCORES
from flows.settings import PERSON
from schemas.base import HASH_LENGTH, SourceRef, canonical_json, content_hash, visible
from schemas.errors import Failed, Stopped, WrongInput
from schemas.manifest import BuildManifest
from schemas.release import Contamination, ReleasedConfig, ReleaseManifest

RELEASES = "releases"
"""Below the output folder of a build, where nothing else is said."""
PREPARED = ".next"
"""Where the next version is put together."""
LOCK = ".lock"
PRIVATE = "private"
"""Beside the versions: each one's private share, under its number. It is never published."""
SCORERS = "scorers"
FILES_NAMED = 4
"""Files that the scorer's command line names in the card; of more a pattern does."""
ID = re.compile(rf"\b[0-9a-f]{{{HASH_LENGTH}}}\b")
ACCOUNT = re.compile(r"^account (\d+)$")
"""Who is not named in the configuration."""
CANARIES = uuid.UUID("6d9a3c0e-2f0b-5a53-9d0c-6c1f5b0f5d1a")
"""Name space of the canaries: a dataset keeps its own through all versions."""

AS_BEFORE = (
    "rows that nobody has seen leave, as in the version before: `touchstone release --no-allow-unreviewed` ends that"
)
"""What is told where nobody said whether unreviewed rows may leave, and the version before let some through."""


class NothingToRelease(Stopped):
    """No row passes the gate: of a build whose people are still at work that is no fault."""


@dataclass(frozen=True)
class Prepared:
    """What a release came to."""

    folder: Path
    """Of the version: the new one, or the one before where nothing differs."""
    version: str
    difference: Difference | None
    """To the version before; None where nothing was to be compared."""
    held_back: Mapping[str, Mapping[str, int]]
    """Configuration -> reason -> rows."""
    faults: Sequence[str] = ()
    """What the verifier said of rows that are held back for it."""
    as_before: bool = False
    """Whether unreviewed rows may leave because the version before let some through, and nobody said otherwise."""
    withdrawn: Mapping[str, int] = field(default_factory=dict)
    """The configurations of the version before of which no row is released now, with the rows that they had."""

    @property
    def is_new(self) -> bool:
        """Whether there is a version that was not there before."""
        return self.difference is not None


@dataclass
class _Config:
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


def newest(to: Path) -> Release | None:
    """The newest version among the folders in `to`; None before the first. Raises `WrongInput` for a damaged one."""
    numbers = [path.name for path in to.glob("*.*.*") if path.is_dir() and _is_version(path.name)]
    return read_release(to / max(numbers, key=parsed_version)) if numbers else None


def _is_version(name: str) -> bool:
    try:
        parsed_version(name)
    except WrongInput:
        return False
    return True


def prepare(
    project: Project,
    to: Path,
    *,
    repo: str | None = None,
    version: str | None = None,
    allow_unreviewed: bool | None = None,
    withdraw: bool = True,
    card: bytes | None = None,
) -> Prepared:
    """Write the next version of the dataset to `to/<version>`; nothing where nothing differs from the one before.

    Whether rows leave that nobody has seen is decided once: without `allow_unreviewed` it is as in the version before.
    `card` is the README.md whose hand-written section is carried over, where it is not that of the version before.
    Raises `WrongInput` for what its user has to decide (a licence, a version too low, verdicts not applied), `Failed`
    where a build has nothing to release or cannot be proved, or another release is at work in `to`; `Stopped` where
    a whole configuration of the version before would be gone and `withdraw` is not set.
    """
    assert project.built is not None, "a release reads a finished build"
    check_current(project)
    with _alone(to):
        try:
            return _prepare(project, to, repo, version, card, allow_unreviewed=allow_unreviewed, withdraw=withdraw)
        finally:
            _remove_begun(to)


@contextmanager
def _alone(to: Path) -> Iterator[None]:
    """Two releases at once would make two versions of one number."""
    to.mkdir(parents=True, exist_ok=True)
    with (to / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Failed(f"{to}: another release is at work there; run again when it is done") from error
        yield


def _remove_begun(to: Path) -> None:
    for left in (to / PREPARED, to / PRIVATE / PREPARED):
        shutil.rmtree(left, ignore_errors=True)


def _prepare(
    project: Project,
    to: Path,
    repo: str | None,
    version: str | None,
    card: bytes | None,
    *,
    allow_unreviewed: bool | None,
    withdraw: bool,
) -> Prepared:
    built = project.built
    assert built is not None
    before = newest(to)
    if before is not None and before.manifest.name != built.name:
        raise WrongInput(
            f"{to}: holds versions of {before.manifest.name}, and this build is of {built.name}; name another folder "
            "with --to, or give the configuration that name"
        )
    as_before = allow_unreviewed is None and before is not None and before.manifest.allowed_unreviewed
    allow_unreviewed = allow_unreviewed or as_before
    if before is not None and card is None:
        card = (before.folder / CARD).read_bytes()
    inputs = _inputs(project, repo, card, allow_unreviewed=allow_unreviewed)
    if before is not None and before.manifest.inputs == inputs and version in (None, before.manifest.version):
        held_back = {one.name: one.held_back for one in before.manifest.configs}
        return Prepared(before.folder, before.manifest.version, None, held_back, as_before=as_before)
    if before is not None and (fault := next(damage_of(before), None)) is not None:
        raise Failed(
            f"{before.folder}: {visible(fault)}; a version is compared with it: bring it back as it was released"
        )
    _remove_begun(to)  # by a run that was killed
    folder = to / PREPARED
    folder.mkdir()
    canary = before.manifest.canary if before else str(uuid.uuid5(CANARIES, f"{repo or built.name}/{built.seed}"))
    gated, configs = _write_parts(
        project, folder, to / PRIVATE / PREPARED, canary, before, allow_unreviewed=allow_unreviewed
    )
    if not any(one.rows.rows for one in configs):
        raise NothingToRelease(f"{project.out}: nothing may be released: {_why_nothing(gated)}")
    withdrawn = _withdrawn(before, configs)
    if withdrawn and not withdraw:
        raise Stopped(f"{project.out}: {told_withdrawn(withdrawn)} would be gone from the dataset; nothing is released")
    for one in configs:
        _look_through(project, one, folder)
    if not project.config.release.held_out:  # what was held out could be read there
        _write_proof(project, folder, configs, canary, allow_unreviewed=allow_unreviewed)
    number = before.manifest.version if before else FIRST_VERSION
    _write_scorers(project, folder, configs, repo, number)
    facts = _facts(project, folder, configs, repo, canary, inputs, gated)
    draft = facts.manifest.model_copy(update={"version": number})
    write_whole(folder / CARD, render_card(facts.model_copy(update={"manifest": draft}), card))
    draft = write_manifest(folder, draft)
    difference = compare(before, Release(folder, draft), folder / CHANGES)
    if before is not None and _is_edited(before) and CARD not in difference.metadata:
        difference = replace(difference, metadata=(*difference.metadata, CARD))
    next_number = next_version(difference, version)
    held_back = {one.rows.name: one.rows.held_back for one in configs}
    faults = tuple(fault for one in gated for fault in one.faults)
    if next_number is None:
        assert before is not None
        return Prepared(before.folder, before.manifest.version, None, held_back, faults, as_before)
    _write_scorers(project, folder, configs, repo, next_number)
    made = _finish(folder, to, facts, difference, next_number, before, card, project.embedder)
    return Prepared(made, next_number, difference, held_back, faults, as_before, withdrawn)


def _withdrawn(before: Release | None, configs: Iterable[_Config]) -> dict[str, int]:
    there = {one.rows.name for one in configs if one.rows.rows}
    released = before.manifest.configs if before is not None else ()
    return {one.name: one.rows for one in released if one.rows and one.name not in there}


def told_withdrawn(withdrawn: Mapping[str, int]) -> str:
    """The configurations that are gone, with their rows, in a line."""
    return ", ".join(f"{name} ({rows:,} {'row' if rows == 1 else 'rows'})" for name, rows in withdrawn.items())


def _is_edited(release: Release) -> bool:
    """Whether its user wrote in its card since it was made."""
    released = next((file.sha256 for file in release.manifest.files if file.path == CARD), None)
    return checksum(release.folder / CARD) != released


def _finish(
    folder: Path, to: Path, facts: CardFacts, difference: Difference, number: str, before: Release | None,
    card: bytes | None, embedder: Embedder,
) -> Path:  # fmt: skip
    """Give the version its number, and its folder its name."""
    older = before.folder / CHANGELOG if before else None
    text = changelog(difference, number, older.read_text(encoding="utf-8") if older and older.exists() else "")
    write_whole(folder / CHANGELOG, text.encode())
    changes = [
        ChangeCount(config=one.name, added=one.added, changed=one.changed, removed=one.removed)
        for one in difference.configs
        if not one.is_same
    ]
    manifest = facts.manifest.model_copy(
        update={"version": number, "previous": difference.before, "comparable": difference.comparable}
    )
    told = facts.model_copy(update={"manifest": manifest, "changes": tuple(changes), "changelog": CHANGELOG})
    write_whole(folder / CARD, render_card(told, card))
    whole = write_manifest(folder, manifest)
    # Nothing goes out that a download could not be proved by.
    if fault := next(prove(Release(folder, whole), embedder), None):
        raise Failed(f"{folder}: {fault}; no version was made: look at it, and report it")
    private = to / PRIVATE / number
    shutil.rmtree(private, ignore_errors=True)  # of a run that was killed before the version had its name
    if (to / PRIVATE / PREPARED).exists():
        (to / PRIVATE / PREPARED).replace(private)
    return folder.replace(to / number)


def _inputs(project: Project, repo: str | None, card: bytes | None, *, allow_unreviewed: bool) -> str:
    """Hash of everything a version follows from: where it is that of the version before, nothing differs."""
    built = project.built
    assert built is not None
    people = sorted((project.out / "annotations").glob("*.jsonl"))
    return content_hash(
        [[part.family, part.part, [stage.fingerprint for stage in part.stages]] for part in built.parts],
        [[path.name, checksum(path)] for path in people],
        project.config.release.model_dump(mode="json", exclude={"contamination"}),
        [source_fingerprint(spec) for spec in project.config.release.contamination],
        ((own_words(card) if card else None) or b"").decode("utf-8", "replace").strip(),
        [repo, allow_unreviewed, built.name, built.seed, built.limit, built.versions.get(PACKAGE)],
        dict(built.models),
    )


def _why_nothing(gated: Iterable[Gated]) -> str:
    reasons: Counter[str] = Counter()
    for one in gated:
        reasons.update(one.reasons)
    told = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
    return f"{told}; `touchstone annotate push` brings rows to people" if told else "the build has no accepted rows"


# ---- rows ----


def _public_before(before: Release | None, family: Family, part: Part) -> frozenset[str]:
    """What ties rows together, of those that the version before published: they can be no fresh test any more."""
    if before is None or part.released is None:
        return frozenset()
    name = part.released.together
    own = [one for one in before.manifest.configs if (one.family, one.part) == (family.name, part.name)]
    files = [before.folder / path for one in own if name in one.fields for path in one.files]
    return frozenset(str(row[name]) for path in files for batch in read_batches(path, [name]) for row in batch.rows())


def _write_parts(
    project: Project, folder: Path, private: Path, canary: str, before: Release | None, *, allow_unreviewed: bool
) -> tuple[list[Gated], list[_Config]]:
    gated: list[Gated] = []
    configs: list[_Config] = []
    share = project.config.release.held_out
    for family, part in project.build.parts():
        if part.released is None:
            continue
        public = _public_before(before, family, part) if share else frozenset[str]()
        one = gate(project, family, part, gated, allow_unreviewed=allow_unreviewed)
        gated.append(one)
        written = write_rows(
            _accepted_files(project, family, part),
            folder,
            lambda row, one=one, public=public: _ruling(one, row, canary, share, public),  # type: ignore[misc]
            canary=canary,
            columns=sorted({part.released.together, *part.released.configs}),
            private=private,
        )
        configs += [_Config(rows, family, part) for rows in _with_rejected(one, written)]
    return gated, configs


def _with_rejected(gated: Gated, written: Iterable[ReleasedRows]) -> list[ReleasedRows]:
    """The configurations, those that people rejected counted: they are not among the accepted rows."""
    by_name = {rows.name: rows for rows in written}
    rejected = Counter(_config_name(gated, record.model_dump(mode="json")) for record in gated.rejected)
    for name, count in rejected.items():
        rows = by_name.get(name) or ReleasedRows(name, SPLIT, 0, 0, {}, 0, {}, (), ())
        by_name[name] = replace(rows, held_back=dict(sorted({**rows.held_back, REJECTED: count}.items())))
    return [by_name[name] for name in sorted(by_name)]


def _accepted_files(project: Project, family: Family, part: Part) -> list[Path]:
    built = project.built.part(family.name, part.name) if project.built else None
    return [project.out / file.path for file in (built.files if built else ()) if file.path.startswith("accepted/")]


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


def _look_through(project: Project, one: _Config, folder: Path) -> None:
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


def _record(part: Part, row: Mapping[str, Any]) -> Any:
    """A released row as the record it was."""
    return part.item.model_validate({name: row[name] for name in part.item.model_fields if name in row})


# ---- what goes out beside the rows ----


def _write_proof(
    project: Project, folder: Path, configs: Sequence[_Config], canary: str, *, allow_unreviewed: bool
) -> None:
    """The rows of other parts that verifiers read: of what people have to accept, the accepted ones; of a collection,
    those that released rows name."""
    there = [one for one in configs if one.rows.rows]
    released = {(one.family.name, one.part.name) for one in there}
    wanted = {
        (one.family.name, name): one.family
        for one in there
        for name in (one.part.released.proof if one.part.released else ())
    }
    for (name, part_name), family in sorted(wanted.items()):
        if (name, part_name) in released:
            continue
        part = family.part(part_name)
        every = part.people is not None and part.people.share == "every" and not allow_unreviewed
        reviewed = project.build.reviewed(family, part) if every else None
        own = [one for one in there if one.family is family]
        named = _named(folder, own) if part.whole else None
        known = {(ref.source, ref.licence) for one in own for ref in (*one.sources, *one.mixed)}

        def ruling(
            row: Mapping[str, Any],
            config: str = f"{name}-{part_name}",
            reviewed: Collection[str] | None = reviewed,
            named: Collection[str] | None = named,
            known: Collection[tuple[str, str | None]] = known,
        ) -> Ruling:
            unseen = reviewed is not None and row["key"] not in reviewed
            strange = named is not None and row["id"] not in named
            sources = row["provenance"]["sources"] if "provenance" in row else ()
            # Of a source that no configuration answers for, nothing leaves as a proof either.
            foreign = any((source["source"], source["licence"]) not in known for source in sources)
            return Ruling(config, held_back="not needed" if unseen or strange or foreign else None)

        files = _accepted_files(project, family, part)
        write_rows(files, folder / PROOF, ruling, canary=canary, columns=["provenance"])


def _named(folder: Path, configs: Iterable[_Config]) -> set[str]:
    """All that looks like an id in the rows of configurations, long texts apart."""
    found: set[str] = set()
    for one in configs:
        short = [name for name, kind in one.rows.fields.items() if kind not in ("string", "large_string")]
        for path in one.rows.files:
            for batch in read_batches(folder / path, short):
                for row in batch.rows():
                    found.update(ID.findall(canonical_json(row).decode()))
    return found


def _write_scorers(project: Project, folder: Path, configs: Sequence[_Config], repo: str | None, version: str) -> None:
    """Each family's scorer, and beside it the tasks for lm-evaluation-harness, on the rows of this very version."""
    for one in configs:
        name = one.family.name
        if name not in SCORED or not one.rows.files:
            continue
        write_whole(folder / SCORERS / f"{name}.py", scorer(name).encode())
        row = _record(one.part, next(read_released(folder, one.rows.files)))
        data = (
            HarnessData(repo, one.rows.name, one.rows.split, {"revision": version})
            if repo
            else HarnessData("parquet", None, one.rows.split, {"data_files": {one.rows.split: list(one.rows.files)}})
        )
        task = f"touchstone-{one.rows.name}"
        family = project.build.families[name]
        text = harness_task(task, one.family, family.settings, family.prompts, row, data, "1")
        if text is not None:
            write_whole(folder / SCORERS / f"{task}.yaml", text.encode())
            one.task = task
            one.asked = list(_asked(one.family, family.settings, row))


def _asked(family: Family, settings: Any, row: Any) -> Iterator[Mapping[str, Any]]:
    """What a prediction of the row has beside what is said, for each that it takes."""
    evaluation = family.evaluation
    if evaluation.choices is None:
        ways = [(one.variant, one.prompting, one.shots) for one in evaluation.requests(row, settings)]
    else:
        ways = [(name, one.prompting, one.shots) for one in evaluation.choices(row, settings) for name in SCORES]
    for variant, prompting, shots in ways:
        given = {"id": row.id, "variant": variant, "prompting": prompting, "shots": shots}
        yield {name: value for name, value in given.items() if value is not None}


def _facts(
    project: Project,
    folder: Path,
    configs: Sequence[_Config],
    repo: str | None,
    canary: str,
    inputs: str,
    gated: Sequence[Gated],
) -> CardFacts:
    """All that the card says, and the manifest without its number and its files."""
    built = project.built
    assert built is not None
    settings = project.config.release
    licences = _licences(configs, settings.licence)
    collected = stand(project) if (project.out / "annotations").is_dir() else []
    reviews = list(_reviews(project, built, collected, configs))
    plots = list(_draw(project, folder, configs, reviews))
    made = _MadeBy.of(project, built, configs)
    manifest = ReleaseManifest(
        name=built.name,
        version=FIRST_VERSION,
        canary=canary,
        seed=built.seed,
        pilot=built.limit is not None,
        allowed_unreviewed=any(UNREVIEWED_ALLOWED in one.rows.values() for one in gated),
        inputs=inputs,
        configs=tuple(_released_config(project, one, licences[one.rows.name]) for one in configs),
        files=tuple(files_in(folder)),
        stages={
            f"{part.family}/{part.part}/{stage.step}": stage.fingerprint
            for part in built.parts
            for stage in part.stages
        },
        models=made.models,
        prompts=made.prompts,
        versions=built.versions,
        settings={"families": made.settings, "embedder": built.config["embedder"]},
    )
    return CardFacts(
        manifest=manifest,
        repo=repo,
        families=tuple(
            _family_facts(family, [one for one in configs if one.family is family])
            for family in {one.family.name: one.family for one in configs if one.rows.rows}.values()
        ),
        configs=tuple(_config_facts(one) for one in configs),
        usage=made.usage,
        reviews=tuple(reviews),
        contamination=tuple(_contamination(project, folder, configs)),
        plots=tuple(plots),
    )  # fmt: skip


@dataclass(frozen=True)
class _MadeBy:
    """What was asked for the released rows: by the parts that they are of, and those that these are made from."""

    usage: tuple[UsageFacts, ...]
    models: Mapping[str, str]
    prompts: Mapping[str, str]
    settings: Mapping[str, Any]
    """Of the families."""

    @classmethod
    def of(cls, project: Project, built: BuildManifest, configs: Iterable[_Config]) -> "_MadeBy":
        usage: list[UsageFacts] = []
        models, prompts = set[str](), set[str]()
        there = {(one.family.name, one.part.name): one for one in configs if one.rows.rows}
        lines = {(one.family.name, part.name) for one in there.values() for part in line_of(one.family, one.part)}
        for part in (one for one in built.parts if (one.family, one.part) in lines):
            family = project.build.families[part.family]
            for stage in part.stages:
                asked = {name: one for name, one in stage.usage.items() if one.calls or one.cached}
                usage += (
                    UsageFacts(family=part.family, part=part.part, step=stage.step, prompt=name, usage=one)
                    for name, one in asked.items()
                )
                prompts.update(f"{part.family}/{name}" for name in asked)
                step = project.build.step(StageRef(part.family, part.part, stage.step))
                roles = {family.prompts[name].role for name in asked}
                models.update(
                    f"{part.family}.{model}"
                    for role in roles
                    for model in (step.models_as(role, family.settings) if step else ())
                )
        families: Any = built.config["families"]
        return cls(
            tuple(usage),
            {name: model for name, model in built.models.items() if name in models},
            {name: version for name, version in built.prompts.items() if name in prompts},
            {name: one for name, one in families.items() if name in {family for family, _ in lines}},
        )


def _family_facts(family: Family, configs: Sequence[_Config]) -> FamilyFacts:
    scored = [one for one in configs if one.task]
    paper, name = family.paper, family.name
    return FamilyFacts(
        name=name, short=paper.short, title=paper.title, authors=paper.authors, year=paper.year,
        scorer=f"{SCORERS}/{name}.py" if name in SCORED else None,
        score_command=_score_command(name, [one.rows for one in scored], [one.rows for one in configs]),
        predictions=_predictions(name, scored) if scored else None,
        harness=SCORERS if scored else None,
        in_dialogues=family.evaluation.held is not None,
    )  # fmt: skip


def _score_command(family: str, scored: Sequence[ReleasedRows], every: Sequence[ReleasedRows]) -> str:
    """How its scorer file is run on all rows that are put to a model."""
    if not scored:
        return ""
    files = [path for rows in scored for path in rows.files]
    if len(files) > FILES_NAMED and len(scored) == sum(1 for rows in every if rows.rows):
        files = [f"{DATA}/{family}-*/*.parquet"]
    return f"python {SCORERS}/{family}.py predictions.jsonl {' '.join(files)}"


def _predictions(family: str, scored: Sequence[_Config]) -> PredictionFacts:
    asked = [one for config in scored for one in config.asked]
    said = {name: value for name, value in FORMS[family].items() if name in ("prediction", "scores")}
    return PredictionFacts(
        example=json.dumps({**asked[0], **said}, ensure_ascii=False),
        read=READ[family],
        variants={config.rows.name: tuple(dict.fromkeys(one["variant"] for one in config.asked)) for config in scored},
        prompting=tuple(dict.fromkeys(one["prompting"] for one in asked if "prompting" in one)),
        shots=tuple(dict.fromkeys(one["shots"] for one in asked if "shots" in one)),
    )


def _released_config(project: Project, one: _Config, licence: str) -> ReleasedConfig:
    rows = one.rows
    family = project.build.families[one.family.name]
    makers = line_of(one.family, one.part)
    method: dict[str, str] = {}
    for part in makers:
        for step in part.steps:
            method[f"{part.name}/{step.name}"] = str(step.version)
            method |= {prompt.name: family.prompts[prompt.name].fingerprint for prompt in step.prompts}
    return ReleasedConfig(
        name=rows.name, family=one.family.name, part=one.part.name, split=rows.split, rows=rows.rows,
        reviewed=rows.reviewed, held_back=rows.held_back, held_out=rows.held_out, licence=licence,
        fields=rows.fields, method=dict(sorted(method.items())), files=rows.files,
    )  # fmt: skip


def _licences(configs: Sequence[_Config], declared: str | Mapping[str, str] | None) -> Mapping[str, str]:
    """By configuration; nobody is asked for that of a configuration without rows."""
    empty = {one.rows.name for one in configs if not one.rows.rows}
    if isinstance(declared, Mapping):
        declared = {name: licence for name, licence in declared.items() if name not in empty}
    sources = {one.rows.name: [*one.sources, *one.mixed] for one in configs if one.rows.rows}
    return {**dict.fromkeys(empty, ""), **licences_of(sources, declared)}


def _config_facts(one: _Config) -> ConfigFacts:
    described = {
        each.name: each.metadata[b"description"].decode()
        for each in (*arrow_fields(one.part.item), *ADDED)
        if each.metadata and b"description" in each.metadata
    }
    by_name: dict[tuple[str, str | None], int] = defaultdict(int)
    for ref, count in (*one.sources.items(), *((ref, 0) for ref in one.mixed)):
        by_name[ref.source, ref.licence] += count
    return ConfigFacts(
        name=one.rows.name,
        summary=_first_sentence(one.part.item),
        fields=described,
        languages=tuple(sorted(one.languages)),
        sources=tuple(
            SourceFacts(source=source, licence=licence, rows=rows or None)
            for (source, licence), rows in sorted(by_name.items(), key=lambda each: (each[0][0], each[0][1] or ""))
        ),
        corrected=one.corrected,
        let_through=one.let_through,
        task=one.task,
    )


def _first_sentence(record: type[BaseModel]) -> str:
    """What a row is, by its type's own words."""
    return " ".join((record.__doc__ or "").strip().split("\n\n")[0].split())


def _reviews(
    project: Project, built: BuildManifest, collected: Sequence[Collected], configs: Sequence[_Config]
) -> Iterator[ReviewFacts]:
    """What people saw of each part, and what they decided."""
    by_rubric = {one.rubric: one for one in collected}
    for family, part in project.build.parts():
        if part.people is None:
            continue
        verdicts = project.verdicts(family.name, part.name)
        sifted = project.build.read(StageRef(family.name, part.name, part.steps[-1].name))
        views = {record.key: record.view_hash for record in sifted}
        counted = [one for key, one in verdicts.items() if views.get(key) == one.view_hash]
        rubric = part.people.rubric
        one = by_rubric.get(rubric.name)
        rated = one.judged if one and not rubric.decides else []
        if not counted and not rated:
            continue
        people = {
            ACCOUNT.sub(r"account-\1", code.strip())
            for code in (
                *(code for one_ in counted for code in (*one_.by.split(","), one_.reviewed_by)),
                *(one_.by for one_ in rated),
            )
            if code.strip()
        }
        if not all(re.fullmatch(PERSON, code) for code in people):  # what it is instead is not shown: it may be a name
            raise WrongInput(
                f"{project.out}/verdicts/{family.name}-{part.name}.jsonl: `by` or `reviewed_by` is no code such as a1; "
                "write codes there, for they stand in the card"
            )
        shown = len({task.item_key for task in part.people.tasks(list(sifted), built.seed)})
        decided = Counter(verdict.decision for verdict in counted)
        yield ReviewFacts(
            title=rubric.title or rubric.name, rubric=rubric.name, version=rubric.version,
            parts=(f"{family.name}-{part.name}",), share=part.people.share, records=len(views), shown=shown,
            judged=one.rated if one and not rubric.decides else len(counted),
            accepted=decided["accept"], fixed=decided["fix"], rejected=decided["reject"], people=tuple(sorted(people)),
            agreement=tuple(one.agreement(built.seed)) if one else (), decides=rubric.decides,
            means=tuple(one.means()) if one else (), compared=tuple(one.compared(built.seed)) if one else (),
            configs=tuple(
                each.rows.name
                for each in configs
                if each.rows.rows and each.family is family and part in line_of(family, each.part)
            ),
        )  # fmt: skip


def _draw(project: Project, folder: Path, configs: Sequence[_Config], reviews: Sequence[ReviewFacts]) -> Iterator[Plot]:
    parts = {(one.family.name, one.part.name): one for one in configs if one.rows.rows}
    drawn = [
        plot
        for (family, part), one in parts.items()
        for plot in plots_of(f"{family}-{part}", figures(project.build, one.family, one.part))
    ]
    drawn += [plot for one in reviews if (plot := agreement_plot(one.parts[0], one.agreement)) is not None]
    for plot in drawn:
        write_whole(folder / plot.plot.path, plot.content)
        yield plot.plot


def _contamination(project: Project, folder: Path, configs: Sequence[_Config]) -> Iterator[Contamination]:
    embedder = project.config.embedder
    languages = ("en",) if embedder == "packaged" else embedder.languages
    for one in configs:
        for spec in project.config.release.contamination if one.rows.rows else ():

            def rows(one: _Config = one) -> Iterator[RowTexts]:
                return (RowTexts.of(one.part.item, row) for row in read_released(folder, one.rows.files))

            yield contamination_of(one.rows.name, rows, spec, project.embedder, languages)
