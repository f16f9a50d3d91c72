"""Makes a version of the dataset from a finished build: the rows that pass the gate, and what goes with them.

A version is put together in a hidden folder under the number of the previous version. The difference between the two
then gives it its own number, and the folder is renamed once it is complete.
"""

import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from data.checksum import checksum
from data.publish.card import card_metadata, render_card
from data.publish.card_facts import CardFacts, ChangeCount
from data.publish.changelog import changelog, summary
from data.publish.check import damage_of
from data.publish.diff import Difference, compare, next_version
from data.publish.edits import Branch, Edits, edits_of, in_words, kept_edits, put_files
from data.publish.folder import CARD, CHANGELOG, CHANGES, Release, files_in, read_release, versions_in, write_manifest
from data.publish.history import write_history
from data.publish.merge import WITH_VERSION, merge_metadata, read_card
from data.publish.version_number import FIRST_VERSION, bumped
from data.whole_file import rename_folder, write_whole
from flows.project.locks import locked
from flows.project.private_sources import PrivateSources
from flows.project.project import Project
from flows.project.source_dates import source_dates
from flows.release.baselines import baselines_of
from flows.release.benchmark import write_benchmark
from flows.release.card import card_facts
from flows.release.gate import Gated, advice_on, check_current, faults_told
from flows.release.history import reasons_of, release_date
from flows.release.inputs import inputs_of
from flows.release.private_leaks import private_in_words, refuse_leaks, without_leaks
from flows.release.private_share import PrivateShare
from flows.release.results import Results, results_of
from flows.release.rows import GatheredConfig, look_through, write_configs, write_verification_inputs
from flows.release.scorers import write_scorers
from flows.release.verification import prove
from schemas.base import counted, visible
from schemas.errors import Conflicts, Failed, Stopped, WrongInput
from schemas.release import Baseline, MadeCard

PREPARED = ".next"
"""Folder in which the next version is put together."""
LOCK = ".lock"
PRIVATE = "private"
"""Folder beside the versions with the private share of each, under its number. It is never published."""
AT_WORK = "another release is running here; run again when it has finished"
"""Two releases at once would make two versions with the same number."""
CANARIES = uuid.UUID("6d9a3c0e-2f0b-5a53-9d0c-6c1f5b0f5d1a")
"""Name space of the canaries. A dataset keeps its canary through all versions."""

AS_BEFORE = (
    "unreviewed rows are released, as in the previous version; `touchstone release --no-allow-unreviewed` ends that"
)
"""The note if the command does not say whether to release unreviewed rows, and the previous version did."""


class NothingToRelease(Stopped):
    """No row passes the gate, which is normal while people are still at work."""


@dataclass(frozen=True)
class Prepared:
    """The result of preparing a release."""

    folder: Path
    """Folder of the new version, or of the previous one if nothing differs."""
    version: str
    difference: Difference | None
    """Difference to the previous version; None if there is no new version."""
    held_back: Mapping[str, Mapping[str, int]]
    """Configuration -> reason -> number of rows."""
    faults: Sequence[str] = ()
    """The verifier's descriptions of faulty rows, which are held back."""
    as_before: bool = False
    """True if unreviewed rows are released because they were in the previous version."""
    withdrawn: Mapping[str, int] = field(default_factory=dict)
    """Configuration of the previous version of which no row is released now -> its number of rows."""
    kept: Sequence[str] = ()
    """A line on each kind of edit by people that the version keeps."""
    left_out: Sequence[str] = ()
    """A line on each evaluation beside the build that has no scores in the card."""
    private: Sequence[str] = ()
    """A line on the rows that are private for their sources, and one on those of them that were published before."""

    @property
    def is_new(self) -> bool:
        """True if a new version was made."""
        return self.difference is not None


def newest(to: Path) -> Release | None:
    """Return the newest version in `to`; None if there is none. Raises `WrongInput` for a damaged one."""
    return next((read_release(path) for path in reversed(versions_in(to))), None)


def look_at(repo: str | None, to: Path) -> Branch | None:
    """Return the Hub's branch of a dataset, whose last version is then in `to` as well; None if there is none.

    Raises `Failed` if another release is running in `to`.
    """
    if repo is None:
        return None
    from data.publish.hub import look

    with locked(to / LOCK, AT_WORK):
        return look(repo, to)


def prepare(
    project: Project,
    to: Path,
    *,
    repo: str | None = None,
    version: str | None = None,
    allow_unreviewed: bool | None = None,
    withdraw: bool = True,
    branch: Branch | None = None,
) -> Prepared:
    """Write the next version of the dataset to `to/<version>`, unless nothing differs from the previous one.

    Without `allow_unreviewed`, unreviewed rows are treated as in the previous version. What people changed in the
    previous version's folder, or on the Hub's `branch`, is carried over. Raises `WrongInput` for what the user has to
    decide (a licence, a version that is too low, verdicts that were not applied), `Failed` if the build has nothing to
    release or cannot be proved, if another release is running in `to`, `Conflicts` if people changed what this version
    changes too, and `Stopped` if a whole configuration of the previous version would disappear without `withdraw`.
    """
    check_current(project)
    with locked(to / LOCK, AT_WORK):
        _end_begun(to)
        try:
            return _prepare(project, to, repo, version, branch, allow_unreviewed=allow_unreviewed, withdraw=withdraw)
        finally:
            _end_begun(to)


def lacks_last_step(to: Path) -> bool:
    """Return whether the newest version in `to` has its number, and its private rows do not have it yet."""
    return (to / PRIVATE / PREPARED).exists() and not (to / PREPARED).exists()


def _end_begun(to: Path) -> None:
    """Remove what is left of a release that was cut off; one that lacked its last step alone gets that step."""
    if lacks_last_step(to) and (versions := versions_in(to)):
        rename_folder(to / PRIVATE / PREPARED, to / PRIVATE / versions[-1].name)
    for left in (to / PRIVATE / PREPARED, to / PREPARED):  # in this order, by which that step is known
        shutil.rmtree(left, ignore_errors=True)


def _prepare(
    project: Project,
    to: Path,
    repo: str | None,
    version: str | None,
    branch: Branch | None,
    *,
    allow_unreviewed: bool | None,
    withdraw: bool,
) -> Prepared:
    earlier = [read_release(path) for path in versions_in(to)]
    before = earlier[-1] if earlier else None
    refuse_another_dataset(project.manifest.name, to, before)
    as_before = is_as_before(before, allow_unreviewed)
    allowed = bool(allow_unreviewed or as_before)
    private = PrivateShare.opened(project.config.release, to / PRIVATE, earlier)
    sources = PrivateSources.to_be_released(project)
    edits = edits_of(before, branch)
    inputs = inputs_of(project, repo, edits, sources, allow_unreviewed=allowed)
    is_same = before is not None and before.manifest.inputs == inputs and version in (None, before.manifest.version)
    is_pending = before is not None and branch is not None and before.manifest.version not in branch.tags
    kept = in_words(edits, branch)
    if before is not None and is_same:
        if edits.conflicts and is_pending:
            raise Conflicts(f"version {before.manifest.version} is made, and cannot be published", edits.conflicts)
        held_back = {config.name: config.held_back for config in before.manifest.configs}
        told = private_in_words(sources, before.manifest.configs)
        return Prepared(
            before.folder, before.manifest.version, None, held_back, as_before=as_before, kept=kept, private=told
        )
    if before is not None:
        _refuse_damaged(before, edits)
    draft = _Draft(project, to, repo, earlier, branch, edits, allowed, private, sources, [*edits.conflicts])
    gated, configs = draft.write_rows()
    withdrawn = _withdrawn(before, configs)
    if withdrawn and not withdraw:
        raise Stopped(
            f"{project.out}: {withdrawn_in_words(withdrawn)} would disappear from the dataset; nothing is released"
        )
    scores, unscored = baselines_of(project, draft.folder, to / PRIVATE / PREPARED, configs)
    results = results_of(project.manifest.name, before, [config.family for config in configs])
    left_out = [*unscored, *results.left_out]
    facts, difference = draft.write_the_rest(gated, configs, scores, results)
    number = next_version(difference, version)
    if number is None and draft.conflicts and before is not None:
        number = bumped(before.manifest.version, "patch")
    held_back = {config.rows.name: config.rows.held_back for config in configs}
    faults = faults_told(gated, is_logged=bool(sources))
    told = private_in_words(sources, [config.rows for config in configs], earlier)
    if number is None:
        assert before is not None
        return Prepared(
            before.folder, before.manifest.version, None, held_back, faults, as_before, {}, kept, left_out, told
        )
    write_scorers(project, draft.folder, configs, repo, number)
    made = draft.finish(facts, difference, number, gated)
    kept = in_words(edits_of(read_release(made)), branch)
    return Prepared(made, number, difference, held_back, faults, as_before, withdrawn, kept, left_out, told)


def is_as_before(before: Release | None, allow_unreviewed: bool | None) -> bool:
    """Return whether unreviewed rows go out because they did in the previous version."""
    return allow_unreviewed is None and before is not None and before.manifest.allowed_unreviewed


def refuse_another_dataset(name: str, to: Path, before: Release | None) -> None:
    """Raise `WrongInput` if the folder `to` has versions of a dataset of another name."""
    if before is not None and before.manifest.name != name:
        raise WrongInput(
            f"{to}: has versions of {before.manifest.name}, but this build is of {name}; name another folder "
            "with --to, or give the configuration that name"
        )


def _refuse_damaged(before: Release, edits: Edits) -> None:
    """Raise `Conflicts` if the version is not as it was released: the next one is compared with it."""
    if faults := [f"{before.folder}: {visible(fault)}; restore it as it was released" for fault in damage_of(before)]:
        outcome = f"{before.folder}: no next version can be made: this one is not as it was released"
        raise Conflicts(outcome, [*edits.conflicts, *faults])


@dataclass(frozen=True)
class _Draft:
    """The next version while it is put together."""

    project: Project
    to: Path
    repo: str | None
    earlier: Sequence[Release]
    """The versions before, oldest first."""
    branch: Branch | None
    edits: Edits
    allow_unreviewed: bool
    private: PrivateShare
    sources: PrivateSources
    conflicts: list[str]
    """A line on each thing that people and this version changed in different ways; here it is as people made it."""

    @property
    def before(self) -> Release | None:
        """The previous version."""
        return self.earlier[-1] if self.earlier else None

    @property
    def folder(self) -> Path:
        return self.to / PREPARED

    @property
    def canary(self) -> str:
        """The previous version's canary; for a first version, a canary derived from the dataset's name and seed."""
        if self.before is not None:
            return self.before.manifest.canary
        built = self.project.manifest
        return str(uuid.uuid5(CANARIES, f"{self.repo or built.name}/{built.seed}"))

    def write_rows(self) -> tuple[list[Gated], list[GatheredConfig]]:
        """Write the rows that pass the gate. Raises `NothingToRelease`."""
        self.folder.mkdir()
        gated, configs = write_configs(
            self.project, self.folder, self.to / PRIVATE / PREPARED, self.canary, self.private.rows(self.project),
            self.sources, self.earlier, allow_unreviewed=self.allow_unreviewed,
        )  # fmt: skip
        if not any(config.rows.rows for config in configs):
            raise NothingToRelease(f"{self.project.out}: nothing may be released: {_why_nothing(gated, configs)}")
        return gated, configs

    def write_the_rest(
        self, gated: Sequence[Gated], configs: Sequence[GatheredConfig], baselines: Sequence[Baseline], results: Results
    ) -> tuple[CardFacts, Difference]:
        """Write everything else under the number of the previous version, and compare the two."""
        project, folder, before = self.project, self.folder, self.before
        for config in configs:
            look_through(project, config, folder, self.sources)
        write_verification_inputs(
            project, folder, self.to / PRIVATE / PREPARED, configs, self.canary, self.sources,
            allow_unreviewed=self.allow_unreviewed,
        )  # fmt: skip
        number = before.manifest.version if before else FIRST_VERSION
        write_scorers(project, folder, configs, self.repo, number)
        write_benchmark(project, folder, configs)
        results.draw(folder)
        facts = card_facts(project, folder, configs, self.repo, self.canary, gated, self.sources, baselines)
        facts = facts.model_copy(update=results.in_card)
        made, conflicts = put_files(self.edits, before, folder) if before is not None else ({}, [])
        self.conflicts.extend(conflicts)
        files = tuple(
            file.model_copy(update={"made": made[file.path]} if file.path in made else {}) for file in files_in(folder)
        )
        facts = self.write_card(_with_manifest(facts, version=number, files=files))
        release = Release(folder, write_manifest(folder, facts.manifest))
        inputs = inputs_of(project, self.repo, edits_of(release), self.sources, allow_unreviewed=self.allow_unreviewed)
        difference = compare(before, release, folder / CHANGES, lambda row: bool(self.sources.source_of(row)))
        difference = self.private.with_published(difference, release)
        if before is not None and (more := set(_edited(before)) - {*difference.metadata}):
            difference = replace(difference, metadata=tuple(sorted((*difference.metadata, *more))))
        return _with_manifest(facts, inputs=inputs), replace(difference, by_hand=kept_edits(edits_of(release)))

    def write_card(self, facts: CardFacts) -> CardFacts:
        """Write the card with what people changed in the previous one. Returns the facts with what was made of it."""
        edits, made = self.edits, card_metadata(facts)
        metadata, conflicts = merge_metadata(edits.made, edits.metadata, made, WITH_VERSION)
        self.conflicts.extend(f"{edits.card_of(key)}: {conflict}" for key, conflict in conflicts.items())
        content = render_card(facts, metadata, edits.words)
        write_whole(self.folder / CARD, content)
        return _with_manifest(facts, card=MadeCard(metadata=made, text=read_card(content).text))

    def finish(self, facts: CardFacts, difference: Difference, number: str, gated: Sequence[Gated]) -> Path:
        """Give the version its number and the folder its name."""
        older = self.before.folder / CHANGELOG if self.before else None
        told_before = older.read_text(encoding="utf-8") if older and older.exists() else ""
        text = changelog(difference, number, without_leaks(self.sources, told_before))
        write_whole(self.folder / CHANGELOG, text.encode())
        counts = ("added", "changed", "removed", "bookkeeping", "comparable", "before")
        changes = [
            ChangeCount(config=config.name, **{name: getattr(config, name) for name in counts})
            for config in difference.configs
            if not config.is_same
        ]
        made = {"version": number, "date": release_date()}
        manifest = difference.stated_in(facts.manifest).model_copy(update=made)
        told = {"changes": tuple(changes), "summary": summary(difference), "changelog": CHANGELOG}
        facts = self.write_card(facts.model_copy(update={"manifest": manifest, **told}))
        now, why = Release(self.folder, facts.manifest), partial(reasons_of, self.project, gated, self.before)
        write_history(now, self.before, source_dates(self.project), why)
        release = Release(self.folder, write_manifest(self.folder, facts.manifest))
        if self.branch is not None:
            from data.publish.hub import losses

            self.conflicts.extend(losses(self.branch, release))
        if self.conflicts:
            outcome = f"version {number} is due, and is not made: people changed by hand what it changes too"
            raise Conflicts(outcome, list(dict.fromkeys(self.conflicts)))
        refuse_leaks(self.sources, self.folder)
        # Nothing is released that could not be verified from a download.
        if fault := next(prove(release, self.project.embedder), None):
            advice = "look into it, and report it"
            if fault.startswith(f"{CARD}: ") and self.edits.keys:
                places = ", ".join(sorted({self.edits.card_of(key) for key in self.edits.keys}))
                advice = f"its metadata was edited by hand; correct it ({places}), then run again"
            raise Failed(f"{self.folder}: {fault}; no version was made: {advice}")
        self.private.finish(self.to / PRIVATE / PREPARED)
        return rename_folder(self.folder, self.to / number)


def _withdrawn(before: Release | None, configs: Iterable[GatheredConfig]) -> dict[str, int]:
    names = {config.rows.name for config in configs if config.rows.rows}
    released = before.manifest.configs if before is not None else ()
    return {config.name: config.rows for config in released if config.rows and config.name not in names}


def withdrawn_in_words(withdrawn: Mapping[str, int]) -> str:
    """Return configurations with their numbers of rows, on one line."""
    return ", ".join(f"{name} ({counted(rows, 'row')})" for name, rows in withdrawn.items())


def _with_manifest(facts: CardFacts, **changed: Any) -> CardFacts:
    return facts.model_copy(update={"manifest": facts.manifest.model_copy(update=changed)})


def _edited(release: Release) -> Iterator[str]:
    """Yield the files that people edited in a release's folder since: the card, and files that they had touched."""
    for file in release.manifest.files:
        place = release.folder / file.path
        if file.path in {CARD, *release.manifest.touched} and place.is_file() and checksum(place) != file.sha256:
            yield file.path


def _why_nothing(gated: Iterable[Gated], configs: Iterable[GatheredConfig]) -> str:
    if private := sum(config.rows.of_private_sources for config in configs):
        return f"all that may be, {counted(private, 'row')}, rests on private sources or shows text of them"
    if private := sum(config.rows.held_out for config in configs):
        return f"all that may be, {counted(private, 'row')}, is in the private share; lower `release.held_out`"
    reasons: Counter[str] = Counter()
    for part in gated:
        reasons.update(part.reasons)
    counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
    return f"{counts}; {advice_on(reasons)}" if counts else "the build has no accepted rows"
