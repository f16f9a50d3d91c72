"""Estimates the calls, tokens and cost of a build, before it starts and again after a pilot.

Before anything is measured, every record that is wanted is assumed to pass, each prompt to be asked only as often as a
record needs it, and requests and answers to have their usual length. After a pilot (`--limit N`) or a build, its
yields, lengths and calls for each record are used instead. A stage that would not change is reported as it was.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from data.seen import sorted_hashes
from data.store import Store
from flows.construct.engine import Family, Part, RecordStep, Step
from flows.construct.files_step import FilesStep
from flows.construct.preparing import calls_ahead, calls_of_a_record
from flows.construct.stages import PEOPLE, SOURCE, Build, StageRef
from flows.llm.endpoint_settings import is_batched
from flows.llm.model import Prompt
from flows.project.models import Served
from flows.project.output_files import last_manifest, models_of
from flows.project.project import Project
from flows.run.answered import calls_before, new_shares
from flows.run.costs import Costs, both_ways, costs_of, sum_of
from flows.run.in_process import runner_here
from flows.run.usual import usual_tokens
from schemas.base import Record
from schemas.manifest import BuildManifest, StageManifest, UsageOfPrompt

POOR = 1 / 3
"""Share of its records below which what a stage kept in a pilot is worth a word."""


@dataclass(frozen=True)
class EstimateLine:
    """The calls, tokens and cost of a prompt in a step."""

    step: str
    records: int
    """Records that the prompt is asked about; 0 in the sum, where it means nothing."""
    calls: int
    input_tokens: int
    output_tokens: int
    costs: Costs
    cached: int = 0
    """The calls among these, about, that the cache answers, since they were made before: they cost nothing."""

    @property
    def cost_usd(self) -> float | None:
        """The money in the way that the configuration says; None if the model's price is not known."""
        return self.costs.as_set


@dataclass(frozen=True)
class Estimate:
    """The calls, tokens and cost of a build, prompt by prompt and in all."""

    lines: tuple[EstimateLine, ...]
    measured: bool
    """True if a pilot's yields and lengths were used."""
    notes: tuple[str, ...]


def estimate(
    project: Project, asked: Callable[[StageRef], bool] = lambda ref: True, store: Store | None = None
) -> Estimate:
    """Estimate the stages of a build for which `asked` is true, from the pilot in its output folder if there is one.

    The pilot's stages are in `store`, the project's own by default. Free stages before the first prompt are run, so
    that the number of records that pass them is known.
    """
    pilot = last_manifest(project.out)
    if pilot is not None and (pilot.name != project.config.name or pilot.models != models_of(project)):
        pilot = None  # another model's figures do not apply
    notes = []
    if pilot is not None and not any(part.sifted for part in pilot.parts):
        notes.append(f"what was built in {project.out} kept nothing: it tells nothing of the whole build")
        pilot = None
    lines: list[EstimateLine] = []
    records: dict[tuple[str, str], int] = {}
    new = (
        None
        if pilot is None or pilot.seed != project.config.seed
        else new_shares(project, store or project.store, pilot)
    )
    for family, part in project.build.parts():
        _make_what_is_free(project, family, part)
        lines += part_lines(project.build, family, part, pilot, records, asked, new)
        notes += _poor_yields(project.build, family, part, pilot)
    total = summed(lines)
    models = [model for configured in project.build.families.values() for model in configured.models.values()]
    unknown = sorted({model.name for model in models if isinstance(model, Served) and not model.price.is_known})
    ceiling = project.config.budget_usd
    above = ceiling is not None and total.cost_usd is not None and total.cost_usd > ceiling
    if above:
        notes.append(f"this may be more than budget_usd allows ({ceiling:g} USD): the build would stop there")
    notes += [f"the price of {name} is not known: give it in a file, and name that under prices" for name in unknown]
    ahead = calls_ahead(project.build)
    rounds = max((ahead[ref] for ref in ahead if asked(ref) and project.build.manifest(ref) is None), default=0.0)
    notes += both_ways(total.costs, math.ceil(rounds), is_batched=any(map(is_batched, models)))
    return Estimate((*lines, total), pilot is not None, tuple(notes))


def _make_what_is_free(project: Project, family: Family, part: Part) -> None:
    """Read a part's sources and run its steps up to the first that asks or embeds, if any step asks."""
    build, settings = project.build, project.build.families[family.name].settings
    if not any(step.prompts_asked(settings) for step in part.steps):
        return
    for ref in build.stages(family, part):
        step = build.step(ref)
        costs = step is not None and (step.embeds or isinstance(step, FilesStep) or step.prompts_asked(settings))
        if costs or any(build.manifest(needed) is None for needed in build.needs(ref)):
            return
        if build.manifest(ref) is None:
            runner_here(project, build).run([ref])


def summed(lines: Sequence[EstimateLine]) -> EstimateLine:
    """Return the sum of the lines."""
    return EstimateLine(
        "all",
        0,
        sum(line.calls for line in lines),
        sum(line.input_tokens for line in lines),
        sum(line.output_tokens for line in lines),
        sum_of(line.costs for line in lines),
        sum(line.cached for line in lines),
    )


def part_lines(
    build: Build,
    family: Family,
    part: Part,
    pilot: BuildManifest | None,
    records: dict[tuple[str, str], int],
    asked: Callable[[StageRef], bool],
    new: Mapping[tuple[str, str], float] | None = None,
) -> list[EstimateLine]:
    """Return the lines of a part; the number of records that it produces is stored in `records`.

    `new` has, by part, the share of its material that is new since the pilot; without it, nothing is cached.
    """
    settings = build.families[family.name].settings
    makers = family.makers(part)
    stages = _stages(pilot, family, part)
    if makers:
        count = sum(records[family.name, maker.name] for maker in makers)
        before = [stage for maker in makers for stage in list(_stages(pilot, family, maker).values())[-1:]]
        arrived = sum(stage.kept for stage in before)
    else:
        before = [stages[SOURCE]] if SOURCE in stages else []
        count = _incoming(build, family, part, before, records)
        arrived = sum(stage.kept for stage in before)
        if part.planned is not None and pilot is not None and not arrived:
            arrived = min(part.planned(settings), pilot.limit or count)
    lines, slots = list[EstimateLine](), 0
    for step in part.steps:
        ref = StageRef(family.name, part.name, step.name)
        piloted = stages.get(step.name)
        count = _taken(build, ref, count)
        if pilot is not None:
            arrived = _taken_before(build, ref, arrived, pilot.limit, piloted)
        is_same = piloted is not None and piloted.fingerprint == build.fingerprint(ref)
        current = build.manifest(ref) or (piloted if is_same else None)
        stage = _Measured(
            current or piloted,
            arrived=arrived,
            same=current is not None,
            counts=_counted_as_now(pilot, family, step, settings),
        )
        tried = _tried(step, count, stage, settings, build.limit)
        if step.expected.slots is not None:
            slots = tried
        if (more := step.expected.asks_more) is not None and not stage.same and not build.limit:
            assert step.expected.kept is not None
            times = max(1.0, min(step.expected.kept(settings) / max(1, count), more(settings) / max(1, slots)))
            lines = [_times(line, times, again=pilot is not None and pilot.limit is None) for line in lines]
            tried = round(tried * times)
        elif asked(ref):
            share = 0.0 if new is None else 1 - new[family.name, part.name]
            lines += _lines(build, family, step, tried, stage, pilot, share)
        count = _kept(step, tried, stage, settings)
        arrived = piloted.kept if piloted else 0
    people = stages.get(PEOPLE)
    if people is not None and people.kept:
        count = round(count * people.kept / people.planned)
    records[family.name, part.name] = count
    return lines


def _taken(build: Build, ref: StageRef, count: int) -> int:
    """Return how many of about `count` records a stage takes; a pilot samples them."""
    if (size := build.pilot_size(ref, build.limit)) is None:
        return count
    is_known = all(build.manifest(before) is not None for before in build.before(ref))
    return len(build.arriving(ref)) if is_known and isinstance(build.step(ref), RecordStep) else min(count, size)


def _taken_before(build: Build, ref: StageRef, arrived: int, limit: int | None, piloted: StageManifest | None) -> int:
    """Return how many of the records that arrived a pilot's stage took. A source may have had fewer than the limit."""
    if (size := build.pilot_size(ref, limit)) is None:
        return arrived
    stops = [shard.stop for shard in piloted.shards if shard.stop is not None] if piloted is not None else []
    return max(stops, default=min(arrived, size))


def _times(line: EstimateLine, times: float, *, again: bool) -> EstimateLine:
    """Return the line of a step that is taken for so many times as many records; `again` if it was in the build before.

    A pilot is asked in one round.
    """
    return replace(
        line,
        records=round(line.records * times),
        calls=round(line.calls * times),
        input_tokens=round(line.input_tokens * times),
        output_tokens=round(line.output_tokens * times),
        costs=line.costs.times(times),
        cached=round(line.cached * times) if again else line.cached,
    )


def _lines(
    build: Build, family: Family, step: Step, tried: int, stage: "_Measured", pilot: BuildManifest | None, share: float
) -> Iterator[EstimateLine]:
    """Yield the line of each prompt of a step; `share` is that of the part's material that the pilot's build had."""
    settings = build.families[family.name].settings
    if step.refreshed and stage.stage is not None and stage.stage.draw != build.draw:
        share = 0.0  # it draws anew
    for prompt in step.prompts_asked(settings):
        line = _line(build, family, step, prompt, tried, stage, settings)
        repeated = calls_before(pilot, build, family, prompt, stage.stage) if pilot is not None and share else 0
        yield _without(line, line.calls if stage.same and share else round(share * min(line.calls, repeated)))


def _without(line: EstimateLine, cached: int) -> EstimateLine:
    """Return the line with the calls that the cache answers; its money is that of the others."""
    left = 1 - cached / line.calls if line.calls else 1.0
    return replace(line, cached=cached, costs=line.costs.times(left))


@dataclass(frozen=True)
class _Measured:
    """A finished stage of the build, else a stage of the pilot; `stage` is None if there is neither."""

    stage: StageManifest | None
    arrived: int
    """Records that came in; for a step that creates them, the number wanted."""
    same: bool
    """True if the build has the very same stage."""
    counts: bool
    """True if its step had the present settings: otherwise its number of records says nothing."""


def _tried(step: Step, count: int, pilot: _Measured, settings: Any, limit: int | None) -> int:
    """Return how many records a step tries to make from `count` records."""
    stage = pilot.stage
    if stage is not None and pilot.same:
        return stage.planned
    if isinstance(step, RecordStep) and step.slots is not None:
        assert step.expected.slots is not None
        if stage is not None and pilot.arrived and pilot.counts:
            planned = count * stage.planned / pilot.arrived
        else:
            planned = count * step.expected.slots(settings)
        return round(min(planned, step.expected.slots_in_all(settings, limit)))
    return count


def _kept(step: Step, tried: int, pilot: _Measured, settings: Any) -> int:
    """Return how many records a step keeps of the number that it tries to make."""
    stage = pilot.stage
    if stage is not None and pilot.same:
        return stage.kept
    kept = step.expected.kept
    count = tried
    if stage is None or not stage.kept:  # the yield is unknown, and `_poor_yields` reports it
        pass
    elif _writes(step) and pilot.arrived:
        count = round(tried * stage.kept / pilot.arrived)
    elif kept is None or pilot.counts:
        count = round(tried * stage.kept / stage.planned)
    return count if kept is None else min(count, kept(settings))


def _poor_yields(build: Build, family: Family, part: Part, pilot: BuildManifest | None) -> Iterator[str]:
    """Yield a note on each stage that kept little in the pilot and might keep more by another setting, with the reason.

    The last is on the first that kept nothing: the stages after it could not be measured.
    """
    chooses = {step.name for step in part.steps if step.expected.kept is not None}
    for stage in _stages(pilot, family, part).values():
        ref = StageRef(family.name, part.name, stage.step)
        if stage.kept >= POOR * stage.planned or stage.step in (SOURCE, PEOPLE, *chooses):
            continue
        dropped = max(stage.dropped.items(), key=lambda reason: (reason[1], reason[0]), default=None)
        why = f"; {dropped[1]:,} dropped: {dropped[0]}" if dropped else ""
        if stage.kept:
            yield f"{ref} kept {stage.kept:,} of {stage.planned:,} in the pilot{why}"
            continue
        if stage.fingerprint != build.fingerprint(ref):
            yield f"{ref} kept none of {stage.planned:,} in the pilot: all are taken to pass it, which is a bound{why}"
        return


def _writes(step: Step) -> bool:
    """True for a step that asks for its records, several with each call."""
    return step.expected.calls_in_all is not None


def _stages(pilot: BuildManifest | None, family: Family, part: Part) -> dict[str, StageManifest]:
    """Return the pilot's stages of a part, by step, in order."""
    built = pilot.part(family.name, part.name) if pilot else None
    return {stage.step: stage for stage in built.stages} if built else {}


def _counted_as_now(pilot: BuildManifest | None, family: Family, step: Step, settings: Any) -> bool:
    families = pilot.config.get("families") if pilot else None
    then = families.get(family.name) if isinstance(families, Mapping) else None
    now = settings.model_dump(mode="json", include=set(step.settings))
    return isinstance(then, Mapping) and all(then.get(name) == value for name, value in now.items())


def _incoming(
    build: Build,
    family: Family,
    part: Part,
    pilot: Sequence[StageManifest],
    made: Mapping[tuple[str, str], int],
) -> int:
    """Return the number of a part's source records: counted in its files, as many as parts before it are estimated to
    have `made`, or as many as its step is to write."""
    from data.sources import PART, read_source

    ref = StageRef(family.name, part.name, SOURCE)
    specs = build.source_specs(ref)
    if not specs:
        wanted = part.planned(build.families[family.name].settings) if part.planned else 0
        return min(wanted, build.limit) if build.limit else wanted
    if (finished := build.manifest(ref)) is not None:
        return finished.kept
    for stage in pilot:
        if stage.fingerprint == build.fingerprint(ref):
            return stage.kept
    assert isinstance(part.source, type)
    records: Iterator[Record] = chain.from_iterable(
        read_source(spec, part.source, lambda dropped: None)  # type: ignore[type-var]
        for spec in specs
        if spec.format != PART
    )
    read = [build.part_of(spec) for spec in specs if spec.format == PART]
    parts = sum(made[other.name, source.name] for other, source in read)
    # A source that is listed twice counts once.
    return parts + len(np.unique(sorted_hashes(record.key for record in records)))


def _line(
    build: Build, family: Family, step: Step, prompt: Prompt[Any], tried: int, pilot: _Measured, settings: Any
) -> EstimateLine:
    configured = build.families[family.name]
    prompt = configured.prompts[prompt.name]
    models = [configured.models[name] for name in step.models_as(prompt.role, settings)]
    stage, writes = pilot.stage, _writes(step)
    measured = stage.usage.get(prompt.name, UsageOfPrompt()) if stage else UsageOfPrompt()
    asked = measured.calls + measured.cached
    a_record = calls_of_a_record(step, prompt, settings)
    if pilot.same:
        calls = asked
    elif writes:  # batches are larger in a larger build, so its own bound applies, not the pilot's share
        assert step.expected.calls_in_all is not None
        calls = step.expected.calls_in_all(settings)
    elif stage is not None and stage.planned:
        # If no record of the pilot was asked this, the next one may still be.
        calls = round(tried * (asked / stage.planned if asked else a_record / (stage.planned + 1)))
    else:
        calls = round(tried * a_record)
    usual = usual_tokens(family, prompt)
    tokens_in, tokens_out = float(calls * usual.input), float((tried if writes else calls) * usual.output)
    if measured.input_tokens + measured.cached_input_tokens:  # rules count no tokens
        tokens_in = calls * (measured.input_tokens + measured.cached_input_tokens) / asked
        answered = measured.output_tokens + measured.cached_output_tokens
        tokens_out = answered * (tried / pilot.arrived if writes and pilot.arrived else calls / asked)
    costs = costs_of(models, calls, round(tokens_in), round(tokens_out))
    name = f"{family.name} {step.name} · {prompt.name}"
    return EstimateLine(name, tried, calls, round(tokens_in), round(tokens_out), costs)
