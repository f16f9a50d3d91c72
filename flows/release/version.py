"""A version of the dataset out of a finished build: rows past the gate, and all that goes out with them.

A version is put together in a folder of its own that nobody looks into, as if it had the number of the version
before; what differs then gives it its number, and only a whole one gets its name.
"""

import fcntl
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from data.checksum import checksum
from data.publish.card import own_words, render_card
from data.publish.card_facts import CardFacts, ChangeCount
from data.publish.changelog import changelog
from data.publish.check import damage_of
from data.publish.diff import Difference, compare, next_version
from data.publish.folder import CARD, CHANGELOG, CHANGES, PROOF, Release, read_release, write_manifest, write_whole
from data.publish.harness import HarnessData
from data.publish.rows import Ruling, read_batches, read_released, write_rows
from data.publish.scorers import SCORED, scorer
from data.publish.version_number import FIRST_VERSION, is_version, parsed_version
from data.sources.fingerprint import source_fingerprint
from flows.construct.embed import Embedder
from flows.construct.engine import Family
from flows.llm.likelihood import SCORES
from flows.project.output_files import PACKAGE
from flows.project.project import Project
from flows.release.card import SCORERS, card_facts
from flows.release.gate import Gated, check_current
from flows.release.harness import harness_task
from flows.release.rows import GatheredConfig, accepted_files, look_through, record_of, write_configs
from flows.release.verification import prove
from schemas.base import HASH_LENGTH, canonical_json, content_hash, visible
from schemas.errors import Failed, Stopped, WrongInput

RELEASES = "releases"
"""Below the output folder of a build, where nothing else is said."""
PREPARED = ".next"
"""Where the next version is put together."""
LOCK = ".lock"
PRIVATE = "private"
"""Beside the versions: each one's private share, under its number. It is never published."""
ID = re.compile(rf"\b[0-9a-f]{{{HASH_LENGTH}}}\b")
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


def newest(to: Path) -> Release | None:
    """The newest version among the folders in `to`; None before the first. Raises `WrongInput` for a damaged one."""
    numbers = [path.name for path in to.glob("*.*.*") if path.is_dir() and is_version(path.name)]
    return read_release(to / max(numbers, key=parsed_version)) if numbers else None


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
    gated, configs = write_configs(
        project, folder, to / PRIVATE / PREPARED, canary, before, allow_unreviewed=allow_unreviewed
    )
    if not any(one.rows.rows for one in configs):
        raise NothingToRelease(f"{project.out}: nothing may be released: {_why_nothing(gated)}")
    withdrawn = _withdrawn(before, configs)
    if withdrawn and not withdraw:
        raise Stopped(f"{project.out}: {told_withdrawn(withdrawn)} would be gone from the dataset; nothing is released")
    for one in configs:
        look_through(project, one, folder)
    if not project.config.release.held_out:  # what was held out could be read there
        _write_proof(project, folder, configs, canary, allow_unreviewed=allow_unreviewed)
    number = before.manifest.version if before else FIRST_VERSION
    _write_scorers(project, folder, configs, repo, number)
    facts = card_facts(project, folder, configs, repo, canary, inputs, gated)
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


def _withdrawn(before: Release | None, configs: Iterable[GatheredConfig]) -> dict[str, int]:
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


# ---- what goes out beside the rows ----


def _write_proof(
    project: Project, folder: Path, configs: Sequence[GatheredConfig], canary: str, *, allow_unreviewed: bool
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

        files = accepted_files(project, family, part)
        write_rows(files, folder / PROOF, ruling, canary=canary, columns=["provenance"])


def _named(folder: Path, configs: Iterable[GatheredConfig]) -> set[str]:
    """All that looks like an id in the rows of configurations, long texts apart."""
    found: set[str] = set()
    for one in configs:
        short = [name for name, kind in one.rows.fields.items() if kind not in ("string", "large_string")]
        for path in one.rows.files:
            for batch in read_batches(folder / path, short):
                for row in batch.rows():
                    found.update(ID.findall(canonical_json(row).decode()))
    return found


def _write_scorers(
    project: Project, folder: Path, configs: Sequence[GatheredConfig], repo: str | None, version: str
) -> None:
    """Each family's scorer, and beside it the tasks for lm-evaluation-harness, on the rows of this very version."""
    for one in configs:
        name = one.family.name
        if name not in SCORED or not one.rows.files:
            continue
        write_whole(folder / SCORERS / f"{name}.py", scorer(name).encode())
        row = record_of(one.part, next(read_released(folder, one.rows.files)))
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
