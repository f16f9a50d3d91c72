"""A version of the dataset out of a finished build: rows past the gate, and all that goes out with them.

A version is put together in a folder of its own that nobody looks into, as if it had the number of the version
before; what differs then gives it its number, and only a whole one gets its name.
"""

import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from data.checksum import checksum
from data.publish.card import own_words, render_card
from data.publish.card_facts import CardFacts, ChangeCount
from data.publish.changelog import changelog
from data.publish.check import damage_of
from data.publish.diff import Difference, compare, next_version
from data.publish.folder import CARD, CHANGELOG, CHANGES, Release, read_release, write_manifest
from data.publish.version_number import FIRST_VERSION, is_version, parsed_version
from data.sources.fingerprint import source_fingerprint
from data.whole_file import write_whole
from flows.project.locks import locked
from flows.project.output_files import PACKAGE
from flows.project.project import Project
from flows.release.card import card_facts
from flows.release.gate import Gated, check_current
from flows.release.rows import GatheredConfig, look_through, write_configs
from flows.release.scorers import write_scorers
from flows.release.verification import prove
from flows.release.verification_inputs import write_verification_inputs
from schemas.base import content_hash, visible
from schemas.errors import Failed, Stopped, WrongInput

RELEASES = "releases"
"""Below the output folder of a build, where nothing else is said."""
PREPARED = ".next"
"""Where the next version is put together."""
LOCK = ".lock"
PRIVATE = "private"
"""Beside the versions: each one's private share, under its number. It is never published."""
AT_WORK = "another release is running here; run again when it has finished"
"""Two releases at once would make two versions with one number."""
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
    with locked(to / LOCK, AT_WORK):
        try:
            return _prepare(project, to, repo, version, card, allow_unreviewed=allow_unreviewed, withdraw=withdraw)
        finally:
            _remove_begun(to)


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
    before = _version_before(project, to)
    as_before = allow_unreviewed is None and before is not None and before.manifest.allowed_unreviewed
    allowed = bool(allow_unreviewed or as_before)
    if before is not None and card is None:
        card = (before.folder / CARD).read_bytes()
    inputs = _inputs(project, repo, card, allow_unreviewed=allowed)
    if before is not None and before.manifest.inputs == inputs and version in (None, before.manifest.version):
        held_back = {config.name: config.held_back for config in before.manifest.configs}
        return Prepared(before.folder, before.manifest.version, None, held_back, as_before=as_before)
    if before is not None:
        _refuse_damaged(before)
    _remove_begun(to)  # by a run that was killed
    draft = _Draft(project, to, repo, before, card, allowed)
    gated, configs = draft.write_rows()
    withdrawn = _withdrawn(before, configs)
    if withdrawn and not withdraw:
        raise Stopped(f"{project.out}: {told_withdrawn(withdrawn)} would be gone from the dataset; nothing is released")
    facts, difference = draft.write_the_rest(gated, configs, inputs)
    number = next_version(difference, version)
    held_back = {config.rows.name: config.rows.held_back for config in configs}
    faults = tuple(fault for part in gated for fault in part.faults)
    if number is None:
        assert before is not None
        return Prepared(before.folder, before.manifest.version, None, held_back, faults, as_before)
    write_scorers(project, draft.folder, configs, repo, number)
    made = draft.finish(facts, difference, number)
    return Prepared(made, number, difference, held_back, faults, as_before, withdrawn)


def _version_before(project: Project, to: Path) -> Release | None:
    """The newest version in `to`. Raises `WrongInput` where it is of another dataset."""
    assert project.built is not None
    before, name = newest(to), project.built.name
    if before is not None and before.manifest.name != name:
        raise WrongInput(
            f"{to}: holds versions of {before.manifest.name}, and this build is of {name}; name another folder "
            "with --to, or give the configuration that name"
        )
    return before


def _refuse_damaged(before: Release) -> None:
    if (fault := next(damage_of(before), None)) is not None:
        raise Failed(
            f"{before.folder}: {visible(fault)}; a version is compared with it: bring it back as it was released"
        )


@dataclass(frozen=True)
class _Draft:
    """The next version, while it is put together in a folder of its own."""

    project: Project
    to: Path
    repo: str | None
    before: Release | None
    card: bytes | None
    """README.md whose hand-written section is carried over."""
    allow_unreviewed: bool

    @property
    def folder(self) -> Path:
        return self.to / PREPARED

    @property
    def canary(self) -> str:
        """The canary of the version before; of a first version, one that follows from the dataset's name and seed."""
        if self.before is not None:
            return self.before.manifest.canary
        built = self.project.built
        assert built is not None
        return str(uuid.uuid5(CANARIES, f"{self.repo or built.name}/{built.seed}"))

    def write_rows(self) -> tuple[list[Gated], list[GatheredConfig]]:
        """Write what passes the gate. Raises `NothingToRelease`."""
        self.folder.mkdir()
        gated, configs = write_configs(
            self.project, self.folder, self.to / PRIVATE / PREPARED, self.canary, self.before,
            allow_unreviewed=self.allow_unreviewed,
        )  # fmt: skip
        if not any(config.rows.rows for config in configs):
            raise NothingToRelease(f"{self.project.out}: nothing may be released: {_why_nothing(gated)}")
        return gated, configs

    def write_the_rest(
        self, gated: Sequence[Gated], configs: Sequence[GatheredConfig], inputs: str
    ) -> tuple[CardFacts, Difference]:
        """Write all else, under the number of the version before, and compare the two."""
        project, folder, before = self.project, self.folder, self.before
        for config in configs:
            look_through(project, config, folder)
        if not project.config.release.held_out:  # what was held out could be read there
            write_verification_inputs(project, folder, configs, self.canary, allow_unreviewed=self.allow_unreviewed)
        number = before.manifest.version if before else FIRST_VERSION
        write_scorers(project, folder, configs, self.repo, number)
        facts = card_facts(project, folder, configs, self.repo, self.canary, inputs, gated)
        manifest = facts.manifest.model_copy(update={"version": number})
        write_whole(folder / CARD, render_card(facts.model_copy(update={"manifest": manifest}), self.card))
        manifest = write_manifest(folder, manifest)
        difference = compare(before, Release(folder, manifest), folder / CHANGES)
        if before is not None and _is_edited(before) and CARD not in difference.metadata:
            difference = replace(difference, metadata=(*difference.metadata, CARD))
        return facts, difference

    def finish(self, facts: CardFacts, difference: Difference, number: str) -> Path:
        """Give the version its number, and its folder its name."""
        older = self.before.folder / CHANGELOG if self.before else None
        text = changelog(difference, number, older.read_text(encoding="utf-8") if older and older.exists() else "")
        write_whole(self.folder / CHANGELOG, text.encode())
        changes = [
            ChangeCount(config=config.name, added=config.added, changed=config.changed, removed=config.removed)
            for config in difference.configs
            if not config.is_same
        ]
        manifest = facts.manifest.model_copy(
            update={"version": number, "previous": difference.before, "comparable": difference.comparable}
        )
        whole = facts.model_copy(update={"manifest": manifest, "changes": tuple(changes), "changelog": CHANGELOG})
        write_whole(self.folder / CARD, render_card(whole, self.card))
        release = Release(self.folder, write_manifest(self.folder, manifest))
        # Nothing goes out that a download could not be verified by.
        if fault := next(prove(release, self.project.embedder), None):
            raise Failed(f"{self.folder}: {fault}; no version was made: look at it, and report it")
        private = self.to / PRIVATE / number
        shutil.rmtree(private, ignore_errors=True)  # of a run that was killed before the version had its name
        if (self.to / PRIVATE / PREPARED).exists():
            (self.to / PRIVATE / PREPARED).replace(private)
        return self.folder.replace(self.to / number)


def _withdrawn(before: Release | None, configs: Iterable[GatheredConfig]) -> dict[str, int]:
    names = {config.rows.name for config in configs if config.rows.rows}
    released = before.manifest.configs if before is not None else ()
    return {config.name: config.rows for config in released if config.rows and config.name not in names}


def told_withdrawn(withdrawn: Mapping[str, int]) -> str:
    """The configurations that are gone, with their rows, in a line."""
    return ", ".join(f"{name} ({rows:,} {'row' if rows == 1 else 'rows'})" for name, rows in withdrawn.items())


def _is_edited(release: Release) -> bool:
    """Whether its user wrote in its card since it was made."""
    released = next((file.sha256 for file in release.manifest.files if file.path == CARD), None)
    return checksum(release.folder / CARD) != released


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
    for part in gated:
        reasons.update(part.reasons)
    counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
    return f"{counts}; `touchstone annotate push` brings rows to people" if counts else "the build has no accepted rows"
