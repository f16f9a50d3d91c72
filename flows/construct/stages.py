"""The stages of a build: their order, dependencies, fingerprints and records.

`preparing.py` and `running.py` run one stage or one of its shards, `counting.py` counts, and `runner.py` runs them all.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data.sources import PART, SourceSpec, name_of
from data.sources.fingerprint import source_fingerprint
from data.sources.spec import FINGERPRINT
from data.stage_files import Joined, Stage, StageFiles
from data.store import Store
from flows.construct.arrivals import Folders, History
from flows.construct.embed import Embedder
from flows.construct.engine import Family, Part, RecordStep, SetStep, Step, StepContext
from flows.construct.records import Records
from flows.construct.sampling import RebuiltParts, Sample, Taken, by_source
from flows.construct.settings import FamilySettings, sources_of
from flows.llm.model import Model, Prompt, Usage
from schemas.base import Record, content_hash
from schemas.errors import Failed
from schemas.manifest import BuildManifest, StageManifest
from schemas.verdict import Verdict

SOURCE = "source"
PEOPLE = "people"


@dataclass(frozen=True)
class FamilyBuild:
    """A family as configured."""

    family: Family
    settings: FamilySettings
    prompts: Mapping[str, Prompt]
    """By name: the family's own, or the user's templates in their place."""
    models: Mapping[str, Model]
    """By role and name."""


@dataclass(frozen=True)
class StageRef:
    """Identifies a stage of a build: a step of a part, its source, or its people."""

    family: str
    part: str
    step: str

    def __str__(self) -> str:
        return f"{self.family} {self.part} · {self.step.replace('_', ' ')}"


class Build:
    """The stages of all configured families, over one store."""

    def __init__(
        self,
        families: Sequence[FamilyBuild],
        *,
        store: Store,
        seed: int,
        limit: int | None,
        embedder: Embedder,
        verdicts: Callable[[str, str], Mapping[str, Verdict]],
        built: BuildManifest | None = None,
        rebuilt: RebuiltParts | None = None,
        history: History | None = None,
        draw: str | None = None,
    ) -> None:
        """With `built`, the stages are those of that build, even if code or settings changed, except `rebuilt` parts.

        People have not seen the rebuilt parts, so verdicts on the built ones do not count for them. `history` has the
        releases of the dataset, if there are any. `draw` is that of refreshed steps; None for the first.
        """
        self.families = {configured.family.name: configured for configured in families}
        self.store = store
        self.seed = seed
        self.limit = limit
        self.embedder = embedder
        self.verdicts = verdicts
        self.draw = draw
        self.called: Callable[[StageRef, Usage], None] = lambda ref, usage: None
        """Called with the usage of each prompt of a stage that was answered or given up."""
        self.keep_answers: Callable[[], None] = lambda: None
        """Called before a stage exists: what it paid for is then on the disk."""
        self.prepared: dict[str, tuple[StepContext, object]] = {}
        """The steps' contexts and the results of their `prepare`, by fingerprint of the stage."""
        self.writing = threading.BoundedSemaphore(os.cpu_count() or 1)
        """Held while a file of a `files` step is written: as many are written at once as there are cores."""
        self.history = history or History(store, tuple)
        self._fingerprints: dict[StageRef, str] = {}
        self._sources: dict[str, dict[str, object]] = {}
        self._manifests: dict[StageRef, StageManifest] = {}
        self._releases: dict[StageRef, tuple[Folders, ...]] = {}
        self._built = built
        self._rebuilt = rebuilt
        self._samples: dict[tuple[StageRef, ...], Sample[Any]] = {}
        self._taken_of: dict[tuple[StageRef, ...], Taken[Any] | None] = {}
        for part in built.parts if built else ():
            for stage in () if self.is_rebuilt(part.family, part.part) else part.stages:
                self._fingerprints[StageRef(stage.family, stage.part, stage.step)] = stage.fingerprint

    # ---- the stages ----

    def is_rebuilt(self, family: str, part: str) -> bool:
        """Return whether a part of a finished build is made again."""
        return self._rebuilt is not None and self._rebuilt.family == family and part in self._rebuilt.parts

    def parts(self) -> Iterator[tuple[Family, Part]]:
        """Yield the parts to build, in order; for a finished build, the parts that it has."""
        for configured in self.families.values():
            family = configured.family
            for part in family.wanted(configured.settings):
                if self._built is None or self._built.part(family.name, part.name) is not None:
                    yield family, part

    def stages(self, family: Family, part: Part) -> tuple[StageRef, ...]:
        """Return the stages of a part, in order."""
        is_rebuilt = self.is_rebuilt(family.name, part.name)
        if self._built is not None and not is_rebuilt:
            built = self._built.part(family.name, part.name)
            return tuple(StageRef(family.name, part.name, stage.step) for stage in built.stages) if built else ()
        names = [] if family.makers(part) else [SOURCE]
        names += [step.name for step in part.steps]
        if part.people and not is_rebuilt and self.verdicts(family.name, part.name):
            names.append(PEOPLE)
        return tuple(StageRef(family.name, part.name, name) for name in names)

    def step(self, ref: StageRef) -> Step | None:
        """Return the step of a stage; None for a source or people stage."""
        part = self.part(ref)
        return next((step for step in part.steps if step.name == ref.step), None)

    def _family(self, ref: StageRef) -> FamilyBuild:
        return self.families[ref.family]

    def part(self, ref: StageRef) -> Part:
        """Return the part of a stage."""
        return self._family(ref).family.part(ref.part)

    def before(self, ref: StageRef) -> tuple[StageRef, ...]:
        """Return the stages whose records a stage runs over."""
        family = self._family(ref).family
        part = family.part(ref.part)
        stages = self.stages(family, part)
        if place := stages.index(ref):
            return (stages[place - 1],)
        read = (self.part_of(spec) for _, spec in self.named_sources(family, part) if spec.format == PART)
        makers = ((family, maker) for maker in family.makers(part))
        return tuple(self.stages(*other)[-1] for other in (*makers, *read))

    def part_of(self, spec: SourceSpec) -> tuple[Family, Part]:
        """Return the part of this configuration that a source names."""
        name, _, part = spec.path.partition("-")
        family = self.families[name].family
        return family, family.part(part)

    def needs(self, ref: StageRef) -> tuple[StageRef, ...]:
        """Return the stages that have to be finished before this one can start."""
        return (*self.before(ref), *self.uses(ref).values())

    def uses(self, ref: StageRef) -> dict[str, StageRef]:
        """Return the last stages of the parts that a stage's step may read."""
        family = self._family(ref).family
        return {name: self.stages(family, family.part(name))[-1] for name in family.part(ref.part).uses}

    def releases_before(self, ref: StageRef) -> tuple[Folders, ...]:
        """Return, for each release before a stage, the folders of the stages that it read, and its own.

        A stage that is as in the last release sees the releases before that one: releasing a build does not change it.
        A part is read as it was after people's verdicts, if it had any.
        """
        if ref not in self._releases:
            names = []
            for stage in self.needs(ref):
                last = self.stages(self._family(stage).family, self.part(stage))[-1]
                steps = [PEOPLE, self.part(stage).steps[-1].name] if stage == last else [stage.step]
                names.append([f"{stage.family}/{stage.part}/{step}" for step in steps])
            releases = self.history.of(f"{ref.family}/{ref.part}/{ref.step}", names)
            owns = [folders[-1].rpartition("-")[2] for folders in releases]
            if (built := self._fingerprints.get(ref)) is not None:
                releases = releases[: owns.index(built)] if built in owns else releases
            elif releases and content_hash(self._dependencies(ref, releases[:-1])) == owns[-1]:
                releases = releases[:-1]
            self._releases[ref] = releases
        return self._releases[ref]

    def released(self, ref: StageRef) -> Records[Any]:
        """Return the records that a stage had in the last release before it; none before the first."""
        releases = self.releases_before(ref)
        if not releases or not self.history.has(releases[-1][-1]):
            return ()
        return self.history.read(releases[-1][-1], self.record_type(ref))

    def draw_of(self, ref: StageRef) -> str | None:
        """Return the draw that a stage is made for; None for the first, and if its step is not refreshed."""
        step = self.step(ref)
        return self.draw if step is not None and step.refreshed else None

    def drawn_before(self, ref: StageRef) -> Sequence[Records[Any]]:
        """Return what a refreshed stage had, if the store still has it, in each release of another draw before it."""
        draw = self.draw_of(ref)
        releases = self.releases_before(ref) if draw is not None else ()
        folders = dict.fromkeys(folders[-1] for folders in releases if self.history.has(folders[-1]))
        stages = (self.history.read(folder, self.record_type(ref)) for folder in folders)
        return [stage for stage in stages if stage.manifest.draw != draw]

    def source_specs(self, ref: StageRef) -> tuple[SourceSpec, ...]:
        """Return the sources of a stage's part."""
        return tuple(spec for _, spec in self.named_sources(self._family(ref).family, self.part(ref)))

    def named_sources(self, family: Family, part: Part) -> Iterator[tuple[str, SourceSpec]]:
        """Return the sources of a part with their place in the family's settings; none if it reads other parts."""
        return sources_of(self.families[family.name].settings, part.sources) if not family.makers(part) else iter(())

    def pilot_size(self, ref: StageRef, limit: int | None) -> int | None:
        """Return the most records of its sources that a pilot takes at a stage; None if it takes all that arrive.

        A pilot samples once on each path through a family, before anything has cost money: at a part's first prompt, or
        at the start of a part that is made from others. So it asks about records of the whole build, evenly spread.
        """
        if limit is None or not self._is_sampled_by_pilot(ref):
            return None
        return limit * max(1, len(self._sources_behind(self._family(ref).family, self.part(ref))))

    def _is_sampled_by_pilot(self, ref: StageRef) -> bool:
        step, configured = self.step(ref), self._family(ref)
        if step is None or not (step.prompts_asked(configured.settings) or configured.family.makers(self.part(ref))):
            return False
        return not any(map(self._is_after_pilot_sample, self.before(ref)))

    def _is_after_pilot_sample(self, ref: StageRef) -> bool:
        """True if a pilot has sampled the records of a stage in its family, at the stage itself or before it."""
        if ref.step == SOURCE:  # its other sources have not been sampled, even if one is a part that has
            return False
        return self._is_sampled_by_pilot(ref) or any(map(self._is_after_pilot_sample, self.before(ref)))

    def _sources_behind(self, family: Family, part: Part) -> tuple[SourceSpec, ...]:
        """Return the sources in the family's settings that a part's records come from."""
        behind = [spec for maker in family.makers(part) for spec in self._sources_behind(family, maker)]
        return tuple(behind) or tuple(spec for _, spec in self.named_sources(family, part))

    def origins(self, spec: SourceSpec) -> list[SourceSpec]:
        """Return a source; in place of a part, the sources that it is made from."""
        if spec.format != PART:
            return [spec]
        family, part = self.part_of(spec)
        sources = [source for maker in family.with_makers([part.name]) for source in self.named_sources(family, maker)]
        return [origin for _, source in sources for origin in self.origins(source)]

    # ---- dependencies ----

    def fingerprint(self, ref: StageRef) -> str:
        """Return the hash of everything that the stage's bytes depend on; it names the stage's folder."""
        if ref not in self._fingerprints:
            self._fingerprints[ref] = content_hash(self.dependencies(ref))
        return self._fingerprints[ref]

    def is_as_read(self, ref: StageRef) -> bool:
        """Return whether the sources of a finished build's source stage are as they were when it read them."""
        return self.fingerprint(ref) == content_hash(self._dependencies(ref, ()))

    def dependencies(self, ref: StageRef) -> dict[str, object]:
        """Return everything that `fingerprint` hashes: all that the stage depends on, and nothing else."""
        step = self.step(ref)
        draws = step is not None and (isinstance(step, SetStep) or step.prepare is not None)
        return self._dependencies(ref, self.releases_before(ref) if draws else ())

    def _dependencies(self, ref: StageRef, releases: tuple[Folders, ...]) -> dict[str, object]:
        """`releases` are those before the stage if it may draw from a pool; it knows what came with which."""
        common: dict[str, object] = {
            "stage": [ref.family, ref.part, ref.step],
            "inputs": [self.fingerprint(before) for before in self.before(ref)],
        }
        if (taken := self._taken(ref)) is not None:
            common["taken"] = taken.fingerprint
        if self.pilot_size(ref, self.limit) is not None:
            common["pilot_of_each_source"] = self.limit
        if ref.step == SOURCE:
            return {**common, "sources": [self._source_fingerprint(spec) for spec in self.source_specs(ref)]}
        if ref.step == PEOPLE:
            verdicts = self.verdicts(ref.family, ref.part)
            # A verdict's posterior changes with everybody's work, and changes no row.
            applied = {key: verdict.model_dump(mode="json", exclude={"posterior"}) for key, verdict in verdicts.items()}
            return {**common, "verdicts": applied}
        step = self.step(ref)
        assert step is not None
        if releases:
            common["releases"] = releases
        if (draw := self.draw_of(ref)) is not None:
            common["draw"] = draw
        family = self._family(ref)
        settings = family.settings
        # A folder that was moved or copied rebuilds nothing: sources count by their contents, not by their paths.
        chosen = settings.model_dump(
            mode="json", include=set(step.settings), context={FINGERPRINT: self._source_fingerprint}
        )
        return {
            **common,
            "version": step.version,
            "seed": self.seed,
            "settings": chosen,
            "limit": self.limit if isinstance(step, SetStep) and step.creates else None,
            "prompts": {
                prompt.name: family.prompts[prompt.name].fingerprint for prompt in step.prompts_asked(settings)
            },
            "models": {name: dict(family.models[name].identity()) for name in step.models(settings)},
            "embedder": self.embedder.name if step.embeds else None,
            "uses": [self.fingerprint(used) for used in self.uses(ref).values()],
        }

    def _source_fingerprint(self, spec: SourceSpec) -> dict[str, object]:
        """Return a source's fingerprint; its files are read once."""
        key = spec.model_dump_json()
        if key not in self._sources:
            self._sources[key] = source_fingerprint(spec)
        if spec.format == PART:
            return {**self._sources[key], "stage": self.fingerprint(self.stages(*self.part_of(spec))[-1])}
        return self._sources[key]

    # ---- reading ----

    def files(self, ref: StageRef) -> StageFiles:
        """Return the files of a stage in the store."""
        return StageFiles(self.store, ref.family, ref.part, ref.step, self.fingerprint(ref))

    def manifest(self, ref: StageRef) -> StageManifest | None:
        """Return the stage's manifest; None while it is unfinished. That of a finished stage is read once."""
        if ref not in self._manifests and (manifest := self.files(ref).manifest()) is not None:
            self._manifests[ref] = manifest
        return self._manifests.get(ref)

    def finished(self, ref: StageRef) -> StageManifest:
        """Return a stage's manifest. Raises `Failed` if it is not finished."""
        if (manifest := self.manifest(ref)) is None:
            raise Failed(f"{ref}: not finished; a source may have changed since this build began: run again")
        return manifest

    def read(self, ref: StageRef) -> Stage[Any]:
        """Return a finished stage's records. Raises `Failed` if it is not finished."""
        return Stage(self.files(ref), self.finished(ref), self.record_type(ref))

    def accepted(self, family: str, part: str) -> Stage[Any]:
        """Return the records of a finished part that later parts and releases read."""
        declared = self.families[family].family
        return self.read(self.stages(declared, declared.part(part))[-1])

    def sifted(self, family: Family, part: Part) -> Stage[Any]:
        """Return the records of a finished part as people are shown them."""
        return self.read(StageRef(family.name, part.name, part.steps[-1].name))

    def record_type(self, ref: StageRef) -> type[Record]:
        """Return the type of a stage's records."""
        part = self.part(ref)
        last_step = part.steps[-1].name
        if ref.step in (last_step, PEOPLE):
            return part.item
        step = self.step(ref)
        returned = step.function.__annotations__.get("return") if isinstance(step, RecordStep) else None
        if isinstance(returned, type) and issubclass(returned, Record):
            return returned
        if ref.step == SOURCE:
            assert isinstance(part.source, type)
            return part.source
        (before,) = self.before(ref)[:1] or (None,)
        if before is not None:
            return self.record_type(before)
        return part.item

    def inputs(self, ref: StageRef) -> Joined[Any] | Sample[Any]:
        """Return the records that a stage runs over."""
        taken = self._taken(ref)
        return self.arriving(ref) if taken is None else taken

    def arriving(self, ref: StageRef) -> Joined[Any] | Sample[Any]:
        """Return the records of the stages before, or a pilot's sample of them."""
        before = self.before(ref)
        records = Joined([self.read(stage) for stage in before])
        if self.limit is None or not self._is_sampled_by_pilot(ref):
            return records
        if before not in self._samples:
            behind = self._sources_behind(self._family(ref).family, self.part(ref))
            names = [[name_of(origin) for origin in self.origins(spec)] for spec in behind]
            self._samples[before] = Sample(records, self.limit, self.seed, by_source(names))
        return self._samples[before]

    def _taken(self, ref: StageRef) -> Taken[Any] | None:
        """Return those of the arriving records that the first rebuilt stage takes; None if a stage takes all."""
        before = self.before(ref)
        if self._rebuilt is None or not before or not self.is_rebuilt(ref.family, ref.part):
            return None
        if any(self.is_rebuilt(stage.family, stage.part) for stage in before):
            return None
        if before not in self._taken_of:
            self._taken_of[before] = self._rebuilt.taken(self.arriving(ref))
        return self._taken_of[before]
