"""Runs the steps of a family's parts, stage by stage, and counts: kept + dropped + waiting = planned.

Everything here works on one stage or one shard of it; which of them run, where and how often they are
tried is the flow's business (`flows/run/flow.py`). A shard that is finished is never run again.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from pydantic import ValidationError

from data.sources import SourceSpec, read_source
from data.sources.fingerprint import source_fingerprint
from data.stage_files import Joined, LongTextShardWriter, ShardWriter, Stage, StageFiles
from data.store import Store
from flows.construct.embed import Embedder
from flows.construct.engine import (
    Context,
    Drop,
    Family,
    Part,
    RecordStep,
    SetContext,
    SetStep,
    Slot,
    Step,
    StepContext,
    seeded,
)
from flows.construct.files_step import FilesContext, FilesStep, RowFile
from flows.construct.people import People
from flows.construct.records import Records
from flows.construct.settings import FamilySettings
from flows.llm.model import InvalidAnswer, Model, Prompt, Usage
from schemas.base import Dropped, Record, content_hash, key_of
from schemas.errors import Failed, WrongInput, first_problem
from schemas.manifest import BuildManifest, PartManifest, ShardManifest, StageManifest, UsageOfPrompt
from schemas.verdict import Verdict

SHARD_RECORDS = 256
"""Records of an `each` step to a shard: the unit of work, retry and distribution."""
SHARD_EXPANDED = 512
"""Records that a shard of an `expand` step makes, at most (but for one record's slots)."""

SOURCE = "source"
PEOPLE = "people"
PILOT = "pilot"


class AccountingError(Failed):
    """Records were lost or made up between two stages: a fault of a step, never of the input."""


@dataclass(frozen=True)
class FamilyBuild:
    """A family as configured."""

    family: Family
    settings: FamilySettings
    prompts: Mapping[str, Prompt[Any]]
    """By name: the family's own, or the user's templates in their place."""
    models: Mapping[str, Model]
    """By role and name."""


@dataclass(frozen=True)
class StageRef:
    """Names a stage of a build: a step of a part, or its source or people."""

    family: str
    part: str
    step: str

    def __str__(self) -> str:
        return f"{self.family} {self.part} · {self.step.replace('_', ' ')}"


@dataclass(frozen=True)
class Anew:
    """Parts of a finished build that are made again, by today's code and settings, on what they stand on as built."""

    family: str
    parts: tuple[str, ...]
    take: int | None = None
    """So many of the records that they run over, evenly spread; all of them where it is None."""


class Taken:
    """Some records of a stage, at hand."""

    def __init__(self, records: Records[Any], count: int, seed: int | None = None) -> None:
        """`count` records, evenly spread: a part may be in an order of sources, or tasks.

        With a `seed` one is drawn of each of so many equal stretches; else it is the first.
        """
        count = min(count, len(records))
        starts = [number * len(records) // count for number in range(count)]
        places = set(starts)
        if seed is not None:
            stretches = pairwise([*starts, len(records)])
            places = {seeded(seed, PILOT, start).randrange(start, stop) for start, stop in stretches}
        self._records = [record for place, record in enumerate(records) if place in places]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records)

    def slice(self, start: int, stop: int) -> Iterator[Any]:
        """Records `start` to `stop` (exclusive)."""
        return iter(self._records[start:stop])


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
        anew: Anew | None = None,
    ) -> None:
        """With `built`, the stages are those of that build, whatever code and settings would make now, but for parts
        that are made `anew`. People have not seen these: verdicts on the built ones do not count for them.
        """
        self.families = {one.family.name: one for one in families}
        self.store = store
        self.seed = seed
        self.limit = limit
        self.embedder = embedder
        self.verdicts = verdicts
        self.called: Callable[[StageRef, Usage], None] = lambda ref, usage: None
        """Told of each prompt that a stage had answered, or gave up: what it took."""
        self._prepared: dict[str, Any] = {}
        self._fingerprints: dict[StageRef, str] = {}
        self._built = built
        self._anew = anew
        self._taken: dict[tuple[tuple[StageRef, ...], int, int | None], Taken] = {}
        self._at_work = threading.BoundedSemaphore(os.cpu_count() or 1)
        for part in built.parts if built else ():
            for stage in () if self._is_anew(part.family, part.part) else part.stages:
                self._fingerprints[StageRef(stage.family, stage.part, stage.step)] = stage.fingerprint

    # ---- which stages there are ----

    def _is_anew(self, family: str, part: str) -> bool:
        return self._anew is not None and self._anew.family == family and part in self._anew.parts

    def parts(self) -> Iterator[tuple[Family, Part]]:
        """The parts to build, in order; of a finished build, those that it has."""
        for one in self.families.values():
            for part in one.family.wanted(one.settings):
                if self._built is None or self._built.part(one.family.name, part.name) is not None:
                    yield one.family, part

    def stages(self, family: Family, part: Part) -> tuple[StageRef, ...]:
        """The stages of a part, in order."""
        anew = self._is_anew(family.name, part.name)
        if self._built is not None and not anew:
            built = self._built.part(family.name, part.name)
            return tuple(StageRef(family.name, part.name, stage.step) for stage in built.stages) if built else ()
        names = [] if family.makers(part) else [SOURCE]
        names += [step.name for step in part.steps]
        if part.people and not anew and self.verdicts(family.name, part.name):
            names.append(PEOPLE)
        return tuple(StageRef(family.name, part.name, name) for name in names)

    def step(self, ref: StageRef) -> Step | None:
        """The step of a stage; None for a source or people stage."""
        part = self._part(ref)
        return next((step for step in part.steps if step.name == ref.step), None)

    def _family(self, ref: StageRef) -> FamilyBuild:
        return self.families[ref.family]

    def _part(self, ref: StageRef) -> Part:
        return self._family(ref).family.part(ref.part)

    def _before(self, ref: StageRef) -> tuple[StageRef, ...]:
        """The stages whose records a stage runs over."""
        family = self._family(ref).family
        part = family.part(ref.part)
        stages = self.stages(family, part)
        place = stages.index(ref)
        if place:
            return (stages[place - 1],)
        return tuple(self.stages(family, maker)[-1] for maker in family.makers(part))

    def needs(self, ref: StageRef) -> tuple[StageRef, ...]:
        """The stages that have to be finished before this one can begin."""
        return (*self._before(ref), *self._uses(ref).values())

    def _uses(self, ref: StageRef) -> dict[str, StageRef]:
        family = self._family(ref).family
        return {name: self.stages(family, family.part(name))[-1] for name in family.part(ref.part).uses}

    def source_specs(self, ref: StageRef) -> tuple[SourceSpec, ...]:
        """The sources that the settings hold which a part's `sources` names."""
        return tuple(spec for _, spec in self.named_sources(self._family(ref).family, self._part(ref)))

    def named_sources(self, family: Family, part: Part) -> Iterator[tuple[str, SourceSpec]]:
        """The sources of a part with their place in the family's settings; none where it reads other parts."""
        return sources_of(self.families[family.name].settings, part) if not family.makers(part) else iter(())

    def pilot_size(self, ref: StageRef, limit: int | None) -> int | None:
        """How many of the records that arrive at a stage a pilot of that limit takes; None where it takes all of them.

        It takes them once on the way, of what has cost nothing: where a part's first prompt is asked, or a part begins
        that is made from others. So what it asks is asked of records of the whole build, as these are spread.
        """
        if limit is None or not self._is_where_a_pilot_begins(ref):
            return None
        family = self._family(ref).family
        return limit * max(1, self._sources_behind(family, self._part(ref)))

    def _is_where_a_pilot_begins(self, ref: StageRef) -> bool:
        step, one = self.step(ref), self._family(ref)
        if step is None or not (step.prompts_asked(one.settings) or one.family.makers(self._part(ref))):
            return False
        return not any(map(self._is_of_a_pilot, self._before(ref)))

    def _is_of_a_pilot(self, ref: StageRef) -> bool:
        """Whether fewer records than those of the whole build arrive at a stage of a pilot."""
        return self._is_where_a_pilot_begins(ref) or any(map(self._is_of_a_pilot, self._before(ref)))

    def _sources_behind(self, family: Family, part: Part) -> int:
        """How many sources a part's records come from."""
        makers = family.makers(part)
        return sum(self._sources_behind(family, one) for one in makers) or len(tuple(self.named_sources(family, part)))

    # ---- what a stage's result depends on ----

    def fingerprint(self, ref: StageRef) -> str:
        """Hash of everything the stage's bytes depend on; it names the stage's folder."""
        if ref not in self._fingerprints:
            self._fingerprints[ref] = content_hash(self._dependencies(ref))
        return self._fingerprints[ref]

    def _dependencies(self, ref: StageRef) -> dict[str, object]:
        common: dict[str, object] = {
            "stage": [ref.family, ref.part, ref.step],
            "inputs": [self.fingerprint(before) for before in self._before(ref)],
        }
        if (count := self._count_taken(ref)) is not None:
            common["taken"] = count
        if (size := self.pilot_size(ref, self.limit)) is not None:
            common["pilot"] = size
        if ref.step == SOURCE:
            return {**common, "sources": [source_fingerprint(spec) for spec in self.source_specs(ref)]}
        if ref.step == PEOPLE:
            verdicts = self.verdicts(ref.family, ref.part)
            return {**common, "verdicts": {key: one.model_dump(mode="json") for key, one in verdicts.items()}}
        step = self.step(ref)
        assert step is not None
        family = self._family(ref)
        settings = family.settings
        chosen = settings.model_dump(mode="json", include=set(step.settings))
        return {
            **common,
            "version": step.version,
            "seed": self.seed,
            "settings": chosen,
            "limit": self.limit if isinstance(step, SetStep) and step.creates else None,
            "prompts": {one.name: family.prompts[one.name].fingerprint for one in step.prompts_asked(settings)},
            "models": {name: dict(family.models[name].identity()) for name in step.models(settings)},
            "embedder": self.embedder.name if step.embeds else None,
            "uses": [self.fingerprint(used) for used in self._uses(ref).values()],
        }

    # ---- reading ----

    def files(self, ref: StageRef) -> StageFiles:
        """Where the stage lies."""
        return StageFiles(self.store, ref.family, ref.part, ref.step, self.fingerprint(ref))

    def manifest(self, ref: StageRef) -> StageManifest | None:
        """The stage's manifest; None while it is unfinished."""
        return self.files(ref).manifest()

    def read(self, ref: StageRef) -> Stage[Any]:
        """A finished stage's records."""
        manifest = self.manifest(ref)
        assert manifest is not None, f"{ref} is not finished"
        return Stage(self.files(ref), manifest, self._record_type(ref))

    def accepted(self, family: str, part: str) -> Stage[Any]:
        """The records of a finished part that later parts and releases read."""
        one = self.families[family].family
        return self.read(self.stages(one, one.part(part))[-1])

    def reviewed(self, family: Family, part: Part) -> frozenset[str]:
        """The keys of a finished part's records that people accepted, or mended, as they stand.

        What is made of records that people have to accept one by one is accepted with them.
        """
        if part.people is None:
            return self._inherited(family, part)
        verdicts = self.verdicts(family.name, part.name)
        sifted = self.read(StageRef(family.name, part.name, part.steps[-1].name)) if verdicts else ()
        return frozenset(
            record.key
            for record in sifted
            if (verdict := verdicts.get(record.key)) is not None
            and verdict.view_hash == record.view_hash
            and verdict.decision != "reject"
        )

    def is_current(self, family: Family, part: Part) -> bool:
        """Whether a finished part was built with the verdicts that are there now."""
        if part.people is None:
            return True
        last = self.stages(family, part)[-1]
        verdicts = bool(self.verdicts(family.name, part.name))
        if last.step != PEOPLE or not verdicts:
            return (last.step == PEOPLE) == verdicts
        return content_hash(self._dependencies(last)) == self.fingerprint(last)

    def _inherited(self, family: Family, part: Part) -> frozenset[str]:
        ids: set[str] = set()
        for maker in family.makers(part):
            if maker.people is not None and maker.people.share == "every":
                keys = self.reviewed(family, maker)
                ids.update(one.id for one in self.accepted(family.name, maker.name) if one.key in keys)
        rows = self.accepted(family.name, part.name) if ids else ()
        return frozenset(row.key for row in rows if not ids.isdisjoint(row.provenance.parents))

    def _record_type(self, ref: StageRef) -> type[Record]:
        part = self._part(ref)
        last_step = part.steps[-1].name
        if ref.step in (last_step, PEOPLE):
            return part.item
        step = self.step(ref)
        given = step.function.__annotations__.get("return") if isinstance(step, RecordStep) else None
        if isinstance(given, type) and issubclass(given, Record):
            return given
        if ref.step == SOURCE:
            assert isinstance(part.source, type)
            return part.source
        (before,) = self._before(ref)[:1] or (None,)
        if before is not None:
            return self._record_type(before)
        return part.item

    def inputs(self, ref: StageRef) -> Joined[Any] | Taken:
        """The records a stage runs over."""
        records = self._arriving(ref)
        if (count := self._count_taken(ref)) is None:
            return records
        return self._kept_taken((self._before(ref), count, None), records)

    def _arriving(self, ref: StageRef) -> Joined[Any] | Taken:
        before = self._before(ref)
        records = Joined([self.read(one) for one in before])
        if (size := self.pilot_size(ref, self.limit)) is None:
            return records
        return self._kept_taken((before, size, self.seed), records)

    def _kept_taken(self, what: tuple[tuple[StageRef, ...], int, int | None], records: Records[Any]) -> Taken:
        if what not in self._taken:
            self._taken[what] = Taken(records, *what[1:])
        return self._taken[what]

    def _count_taken(self, ref: StageRef) -> int | None:
        """How many records a stage is to take of those that arrive; None where it takes all of them."""
        before = self._before(ref)
        take = self._anew.take if self._anew is not None and self._is_anew(ref.family, ref.part) else None
        if take is None or not before or any(self._is_anew(one.family, one.part) for one in before):
            return None
        return take if take < len(self._arriving(ref)) else None

    # ---- running ----

    def _step_context(self, ref: StageRef) -> StepContext:
        return StepContext(
            settings=self._family(ref).settings,
            seed=self.seed,
            limit=self.limit,
            inputs=self.inputs(ref),
            uses={name: self.read(used) for name, used in self._uses(ref).items()},
            reviewed=lambda name: self.reviewed(self._family(ref).family, self._family(ref).family.part(name)),
            embedder=self.embedder,
            models=self._family(ref).models,
            prompts=self._family(ref).prompts,
            called=lambda usage: self.called(ref, usage),
        )

    def prepared(self, ref: StageRef, step: Step, context: StepContext) -> Any:
        """What the step's `prepare` gives; computed once for all shards."""
        if step.prepare is None:
            return None
        name = self.fingerprint(ref)
        if name not in self._prepared:
            self._prepared[name] = step.prepare(context)
        return self._prepared[name]

    def shards(self, ref: StageRef) -> list[tuple[int, int]]:
        """(start, stop) of each shard's input records, for a stage of an `each` or `expand` step.

        What the step prepares is made by now: not on the loop that waits for models.
        """
        step = self.step(ref)
        assert isinstance(step, RecordStep)
        context = self._step_context(ref)
        prepared = self.prepared(ref, step, context)
        total = len(context.inputs)
        size = SHARD_RECORDS
        if step.slots is not None:
            most = max((len(step.slots(record, prepared)) for record in context.inputs), default=1)
            size = max(1, SHARD_EXPANDED // max(1, most))
        return [(start, min(start + size, total)) for start in range(0, total, size)]

    def attempts(self, ref: StageRef) -> int:
        """How many records a stage of an `each` or `expand` step will try to make."""
        step = self.step(ref)
        assert isinstance(step, RecordStep)
        context = self._step_context(ref)
        if step.slots is None:
            return len(context.inputs)
        prepared = self.prepared(ref, step, context)
        return sum(len(step.slots(record, prepared)) for record in context.inputs)

    async def run_shard(self, ref: StageRef, index: int, start: int, stop: int) -> ShardManifest:
        """Run one shard of an `each` or `expand` step, unless it is finished."""
        files = self.files(ref)
        if (done := files.shard(index)) is not None:
            return done
        step = self.step(ref)
        assert isinstance(step, RecordStep)
        context = self._step_context(ref)
        prepared = self.prepared(ref, step, context)
        part = self._part(ref)
        usage: dict[str, Usage] = {}
        records = list(self.inputs(ref).slice(start, stop))

        def place(record: Record, slot: Slot | None) -> str:
            """The key of what is made here. A record that this part has made already has its own."""
            made = not isinstance(record, part.source) and slot is None
            return record.key if made else key_of(ref.family, ref.part, record.key, slot)

        async def attempt(record: Record, slot: Slot | None) -> Record | Dropped:
            key = place(record, slot)
            ctx = Context(context, ref.step, key, prepared, usage)
            try:
                work = step.function(record, ctx) if slot is None else step.function(record, slot, ctx)
                made: Record = await work
                return made
            except Drop as drop:
                return drop.of(record, ref.step, key)
            except InvalidAnswer as invalid:
                return Drop(invalid.reason, evidence=invalid.evidence).of(record, ref.step, key)

        work: list[tuple[Record, Slot | None]] = [
            (record, slot)
            for record in records
            for slot in ((None,) if step.slots is None else step.slots(record, prepared))
        ]
        with ShardWriter(files, index) as writer:
            for outcome in await side_by_side(attempt(*one) for one in work):
                _write(writer, outcome)
        return writer.finish(len(work), _usage_of_prompts(usage))

    async def run_set(self, ref: StageRef, progress: Callable[[int, int], None]) -> StageManifest:
        """Run a whole `all_` step."""
        step = self.step(ref)
        assert isinstance(step, SetStep)
        context = self._step_context(ref)
        usage: dict[str, Usage] = {}
        notes: list[str] = []
        writer = _SetWriter(self.files(ref))
        inputs = context.inputs
        waiting = {record.key for record in inputs}
        created = 0

        def passed(record: Record) -> None:
            nonlocal created
            if record.key in waiting:
                waiting.remove(record.key)
            elif step.creates:
                created += 1
            else:
                raise AccountingError(f"{ref}: record {record.key} was not among the step's input, or came twice")

        def drop(record: Record, refusal: Drop) -> None:
            passed(record)
            writer.drop(refusal.of(record, ref.step))

        with writer:
            async for record in step.function(
                inputs, SetContext(context, ref.step, drop, notes.append, usage, progress)
            ):
                passed(record)
                writer.keep(record)
        if waiting:
            raise AccountingError(f"{ref}: {len(waiting)} records were neither kept nor dropped")
        shards = writer.finish(_usage_of_prompts(usage))
        return self.finish(ref, shards, planned=len(inputs) + created, notes=notes)

    def row_files(self, ref: StageRef) -> Sequence[RowFile]:
        """The files of a stage of a `rows` step, in order."""
        step = self.step(ref)
        assert isinstance(step, FilesStep)
        context = self._step_context(ref)
        return step.files(context, self.prepared(ref, step, context))

    def run_file(self, ref: StageRef, index: int, file: RowFile) -> ShardManifest:
        """Write one file of a `rows` step, unless it is finished. As many are written at once as there are cores."""
        files = self.files(ref)
        if (done := files.shard(index)) is not None:
            return done
        step = self.step(ref)
        assert isinstance(step, FilesStep)
        context = self._step_context(ref)
        prepared = self.prepared(ref, step, context)

        def key(record: Record, slot: Slot) -> str:
            return key_of(ref.family, ref.part, record.key, slot)

        with self._at_work, LongTextShardWriter(files, index, file.name, self._record_type(ref), step.long) as writer:

            def drop(record: Record, slot: Slot, refusal: Drop) -> None:
                writer.drop(refusal.of(record, ref.step, key(record, slot)))

            for values, text in step.function(file, FilesContext(prepared, key, drop)):
                writer.write(values, text)
        return writer.finish(file.planned)

    def run_source(self, ref: StageRef) -> StageManifest:
        """Read a part's sources into a stage; rows refused at the door are drops."""
        part = self._part(ref)
        assert isinstance(part.source, type)
        writer = _SetWriter(self.files(ref))
        seen: dict[str, str] = {}
        with writer:
            for spec in self.source_specs(ref):
                for record in read_source(spec, part.source, writer.drop):  # type: ignore[type-var]
                    first = seen.get(record.key)
                    if first is not None and first != record.id:
                        raise WrongInput(
                            f"{spec.path}: another source of format {spec.format} is called {spec.name} too and has "
                            "other rows of the same ids; give one of the files another name"
                        )
                    if first is not None:
                        writer.drop(Drop("row of a source that was read before", related_id=first).of(record, SOURCE))
                        continue
                    seen[record.key] = record.id
                    writer.keep(record)
        return self.finish(ref, writer.finish({}), planned=writer.kept + writer.dropped, notes=())

    def run_people(self, ref: StageRef) -> StageManifest:
        """Apply the verdicts: what people rejected is dropped, what they fixed is revised."""
        verdicts = self.verdicts(ref.family, ref.part)
        people = self.families[ref.family].family.part(ref.part).people
        assert people is not None, f"{ref}: nobody is asked"
        writer = _SetWriter(self.files(ref))
        inputs = self.inputs(ref)
        stale = 0
        seen: set[str] = set()
        with writer:
            for record in inputs:
                verdict = verdicts.get(record.key)
                if verdict is not None and verdict.rubric != people.rubric.name:
                    raise WrongInput(
                        f"verdict on {record.key}: its rubric is {verdict.rubric!r}, where people are asked by "
                        f"{people.rubric.name!r}; correct it in verdicts/{ref.family}-{ref.part}.jsonl"
                    )
                if verdict is not None and verdict.view_hash != record.view_hash:
                    stale += 1
                    verdict = None
                if verdict is None or verdict.decision == "accept":
                    writer.keep(record)
                elif verdict.decision == "reject":
                    writer.drop(Drop("rejected by people", verdict.comment).of(record, PEOPLE))
                else:
                    writer.keep(_fixed(record, verdict, people))
                seen.add(record.key)
        strangers = len(set(verdicts) - seen)
        notes = [f"verdicts given on an earlier state of their record, which do not count: {stale}"] if stale else []
        notes += [f"verdicts on records that are not there: {strangers}"] if strangers else []
        return self.finish(ref, writer.finish({}), planned=len(inputs), notes=notes)

    def finish(
        self, ref: StageRef, shards: Sequence[ShardManifest], *, planned: int | None = None, notes: Iterable[str] = ()
    ) -> StageManifest:
        """Make a stage exist, once all its shards do. Raises `AccountingError` if records were lost."""
        step = self.step(ref)
        kept = sum(shard.kept for shard in shards)
        dropped: dict[str, int] = {}
        for shard in shards:
            for reason, count in shard.dropped.items():
                dropped[reason] = dropped.get(reason, 0) + count
        planned = sum(shard.planned for shard in shards) if planned is None else planned
        if kept + sum(dropped.values()) != planned:
            raise AccountingError(f"{ref}: {planned} planned, but {kept} kept and {sum(dropped.values())} dropped")
        if step is not None and step.prepare is not None:
            prepared = self.prepared(ref, step, self._step_context(ref))
            notes = [*notes, *getattr(prepared, "notes", ())]
        manifest = StageManifest(
            family=ref.family,
            part=ref.part,
            step=ref.step,
            version=step.version if step else 1,
            fingerprint=self.fingerprint(ref),
            record=self._record_type(ref).__name__,
            inputs=tuple(self.fingerprint(before) for before in self._before(ref)),
            planned=planned,
            kept=kept,
            dropped=dict(sorted(dropped.items())),
            shards=tuple(shards),
            notes=tuple(notes),
        )
        if (made := self.manifest(ref)) is not None:  # another build was first, and goes on from what it made
            return made
        self.files(ref).finish(manifest)
        return manifest

    # ---- summing up ----

    def summary(self, family: Family, part: Part) -> PartManifest:
        """A finished part's counts. Raises `AccountingError` if a stage did not get all of the one before."""
        manifests = []
        for ref in self.stages(family, part):
            manifest = self.manifest(ref)
            assert manifest is not None, f"{ref} is not finished"
            step = self.step(ref)
            arrived = len(self._arriving(ref))
            if self._before(ref) and manifest.planned != arrived and (step is None or step.keeps_count):
                raise AccountingError(f"{ref}: {arrived} records came in, but {manifest.planned} were planned")
            manifests.append(manifest)
        kept = manifests[-1].kept
        dropped = {one.step: dict(one.dropped) for one in manifests if one.dropped}
        reviewed = waiting = 0
        if part.people:
            seen = self.reviewed(family, part)
            reviewed, needed = len(seen), part.people.needed
            waiting = kept - reviewed if part.people.share == "every" else 0
            if needed is not None:
                waiting = sum(
                    record.key not in seen and needed(record) for record in self.read(self.stages(family, part)[-1])
                )
        return PartManifest(
            family=family.name,
            part=part.name,
            planned=kept + sum(sum(reasons.values()) for reasons in dropped.values()),
            kept=kept - waiting,
            dropped=dropped,
            waiting=waiting,
            reviewed=reviewed,
            stages=tuple(manifests),
            files=(),
        )


def sources_of(settings: FamilySettings, part: Part) -> Iterator[tuple[str, SourceSpec]]:
    """The sources that the settings name for a part, with their place in the settings.

    A setting holds one source, a list of them, a mapping of names to lists, or a mapping of such places to sources.
    """
    for name in part.sources:
        value = getattr(settings, name)
        if isinstance(value, SourceSpec):
            yield name, value
        elif isinstance(value, Mapping):
            for key, held in value.items():
                yield from [(key, held)] if isinstance(held, SourceSpec) else _numbered(f"{name}.{key}", held)
        else:
            yield from _numbered(name, value or ())


def _numbered(name: str, specs: Iterable[SourceSpec]) -> Iterator[tuple[str, SourceSpec]]:
    return ((f"{name}[{place}]", spec) for place, spec in enumerate(specs))


def _fixed(record: Record, verdict: Verdict, people: People) -> Record:
    """The record with the texts that people corrected. Raises `WrongInput` where it would be no such record."""
    if {"id", "key", "provenance"}.intersection(verdict.changes):
        raise WrongInput(f"verdict on {record.key}: id, key and provenance are not for people to change")
    if other := sorted(set(verdict.changes).difference(people.rubric.corrects)):
        raise WrongInput(
            f"verdict on {record.key}: {', '.join(other)} is not for people to change; {people.rubric.name} corrects "
            f"{', '.join(sorted(people.rubric.corrects)) or 'nothing'}"
        )
    try:
        fixed = record.revised(**verdict.changes)
    except ValidationError as error:
        problem = first_problem(error, "the record")
        raise WrongInput(f"verdict on {record.key}: {problem}; correct its `changes`") from error
    if (unfit := people.unfit(fixed)) is not None:
        raise WrongInput(f"verdict on {record.key}: {unfit[0]} ({unfit[1]}); correct its `changes`")
    return fixed


class _SetWriter:
    """Writes a whole stage, shard after shard, as its records come."""

    def __init__(self, files: StageFiles) -> None:
        self._files = files
        self._shards: list[ShardManifest] = []
        self._writer: ShardWriter | None = None
        self._last: dict[str, UsageOfPrompt] = {}
        self.kept = 0
        self.dropped = 0

    def __enter__(self) -> "_SetWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._writer is not None and kind is not None:
            self._writer.__exit__(kind, *error)

    def _open(self) -> ShardWriter:
        if self._writer is not None and self._writer.kept >= SHARD_RECORDS:
            self._close({})
        if self._writer is None:
            self._writer = ShardWriter(self._files, len(self._shards)).__enter__()
        return self._writer

    def _close(self, usage: dict[str, UsageOfPrompt]) -> None:
        writer = self._open() if self._writer is None else self._writer
        writer.__exit__(None, None, None)
        self._shards.append(writer.finish(writer.kept + sum(writer.dropped.values()), usage))
        self._writer = None

    def keep(self, record: Record) -> None:
        self._open().keep(record)
        self.kept += 1

    def drop(self, dropped: Dropped) -> None:
        self._open().drop(dropped)
        self.dropped += 1

    def finish(self, usage: dict[str, UsageOfPrompt]) -> list[ShardManifest]:
        self._close(usage)
        return self._shards


def _write(writer: ShardWriter, outcome: Record | Dropped) -> None:
    if isinstance(outcome, Dropped):
        writer.drop(outcome)
    else:
        writer.keep(outcome)


async def side_by_side(attempts: Iterable[Any]) -> list[Any]:
    """All outcomes, in order. The first failure ends the rest: what was answered by then is in the cache.

    Between two beginnings the loop is free: where each has to work before it asks, calls go out and come in meanwhile.
    """
    tasks = []
    try:
        async with asyncio.TaskGroup() as group:
            for attempt in attempts:
                tasks.append(group.create_task(attempt))
                await asyncio.sleep(0)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]


def _usage_of_prompts(usage: Mapping[str, Usage]) -> dict[str, UsageOfPrompt]:
    return {prompt: UsageOfPrompt(**asdict(one)) for prompt, one in sorted(usage.items())}
