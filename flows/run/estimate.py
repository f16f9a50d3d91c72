"""What a build will take, before it is paid for, and again after a pilot.

Before anything is known every record is taken to pass that is wanted, and each prompt to be asked as often as a record
needs it where all goes well, by requests and answers of their usual length. After a pilot (`--limit N`), or a build,
its yields, lengths and calls a record stand in their place; a stage that would come out the same is told as it was.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from flows.construct.engine import Family, Part, RecordStep, Step
from flows.construct.files_step import FilesStep
from flows.construct.preparing import calls_of_a_record
from flows.construct.stages import PEOPLE, SOURCE, Build, StageRef
from flows.llm.model import Prompt
from flows.llm.prices import estimate_tokens
from flows.project.models import Served
from flows.project.output_files import models_of, read_manifest
from flows.project.project import Project
from flows.run.in_process import runner_here
from schemas.base import Dropped, Record
from schemas.manifest import BuildManifest, StageManifest, UsageOfPrompt

TYPICAL_INPUT_TOKENS = 60
"""Added to a template's own length for what is filled in, while nothing is measured: a few sentences."""


@dataclass(frozen=True)
class EstimateLine:
    """What one prompt of one step will take."""

    step: str
    records: int
    """Records it is asked about; 0 in the sum, where it means nothing."""
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where the model's price is not known."""


@dataclass(frozen=True)
class Estimate:
    """What a build will take."""

    lines: tuple[EstimateLine, ...]
    measured: bool
    """Whether a pilot's yields and lengths were used."""
    notes: tuple[str, ...]


def estimate(project: Project, asked: Callable[[StageRef], bool] = lambda ref: True) -> Estimate:
    """Estimate the build, from the pilot in its output folder where there is one; of the stages that are `asked`.

    What costs nothing, and stands before anything that is asked, is made: how many records pass it is then known.
    """
    pilot = read_manifest(project.out, missing_ok=True)
    if pilot is not None and (pilot.name != project.config.name or pilot.models != models_of(project)):
        pilot = None  # what another model took says nothing of this one
    notes = []
    if pilot is not None and not any(part.kept + part.waiting for part in pilot.parts):
        notes.append(f"what was built in {project.out} kept nothing: it tells nothing of the whole build")
        pilot = None
    lines: list[EstimateLine] = []
    records: dict[tuple[str, str], int] = {}
    for family, part in project.build.parts():
        _make_what_is_free(project, family, part)
        lines += part_lines(project.build, family, part, pilot, records, asked)
        notes += _unknown_yields(project.build, family, part, pilot)
    total = summed(lines)
    unknown = sorted({one.name for one in _served(project) if not one.price.known})
    ceiling = project.config.budget_usd
    above = ceiling is not None and total.cost_usd is not None and total.cost_usd > ceiling
    if above:
        notes.append(f"this may be more than budget_usd allows ({ceiling:g} USD): the build would stop there")
    notes += [f"the price of {name} is not known: give it in a file, and name that under prices" for name in unknown]
    return Estimate((*lines, total), pilot is not None, tuple(notes))


def _make_what_is_free(project: Project, family: Family, part: Part) -> None:
    """Read a part's sources and run its steps up to the first that asks or embeds, where a later one asks."""
    build, settings = project.build, project.build.families[family.name].settings
    if not any(step.prompts_asked(settings) for step in part.steps):
        return
    for ref in build.stages(family, part):
        step = build.step(ref)
        stopped = step is not None and (step.embeds or isinstance(step, FilesStep) or step.prompts_asked(settings))
        if stopped or any(build.manifest(needed) is None for needed in build.needs(ref)):
            return
        if build.manifest(ref) is None:
            runner_here(project, build).run([ref])


def summed(lines: Sequence[EstimateLine]) -> EstimateLine:
    """All lines in one."""
    costs = [line.cost_usd for line in lines]
    return EstimateLine(
        "all",
        0,
        sum(line.calls for line in lines),
        sum(line.input_tokens for line in lines),
        sum(line.output_tokens for line in lines),
        None if None in costs else sum(cost or 0.0 for cost in costs),
    )


def part_lines(
    build: Build,
    family: Family,
    part: Part,
    pilot: BuildManifest | None,
    records: dict[tuple[str, str], int],
    asked: Callable[[StageRef], bool],
) -> list[EstimateLine]:
    """The lines of a part; the number of records it gives is noted in `records`."""
    settings = build.families[family.name].settings
    makers = family.makers(part)
    stages = _stages(pilot, family, part)
    if makers:
        count = sum(records[family.name, maker.name] for maker in makers)
        before = [stage for maker in makers for stage in list(_stages(pilot, family, maker).values())[-1:]]
        given = sum(one.kept for one in before)
    else:
        before = [stages[SOURCE]] if SOURCE in stages else []
        count = _incoming(build, family, part, before)
        given = sum(one.kept for one in before)
        if part.planned is not None and pilot is not None and not given:
            given = min(part.planned(settings), pilot.limit or count)
    lines = []
    for step in part.steps:
        ref = StageRef(family.name, part.name, step.name)
        found = stages.get(step.name)
        if (size := build.pilot_size(ref, build.limit)) is not None:
            count = min(count, size)
        if (size := build.pilot_size(ref, pilot.limit if pilot else None)) is not None:
            given = min(given, size)
        there = build.manifest(ref) or (found if found and found.fingerprint == build.fingerprint(ref) else None)
        stage = _Measured(
            there or found,
            given=given,
            same=there is not None,
            counts=_counted_as_now(pilot, family, step, settings),
        )
        tried = _tried(step, count, stage, settings)
        if asked(ref):
            lines += [
                _line(build, family, step, prompt, tried, stage, settings) for prompt in step.prompts_asked(settings)
            ]
        count = _kept(step, tried, stage, settings)
        given = found.kept if found else 0
    people = stages.get(PEOPLE)
    if people is not None and people.kept:
        count = round(count * people.kept / people.planned)
    records[family.name, part.name] = count
    return lines


@dataclass(frozen=True)
class _Measured:
    """A stage of the pilot; None where it has none."""

    stage: StageManifest | None
    given: int
    """Records that came in; of a step that writes them itself, how many were wanted."""
    same: bool
    """Whether the build has the very same stage."""
    counts: bool
    """Whether the settings of its step were those of now: else how many records it gave tells nothing."""


def _tried(step: Step, count: int, pilot: _Measured, settings: Any) -> int:
    """How many records a step tries to make of so many."""
    stage = pilot.stage
    if stage is not None and pilot.same:
        return stage.planned
    if isinstance(step, RecordStep) and step.slots is not None:
        assert step.expected.slots is not None
        if stage is not None and pilot.given and pilot.counts:
            return round(count * stage.planned / pilot.given)
        return round(count * step.expected.slots(settings))
    return count


def _kept(step: Step, tried: int, pilot: _Measured, settings: Any) -> int:
    """How many records a step gives of so many that it tries to make."""
    stage = pilot.stage
    if stage is not None and pilot.same:
        return stage.kept
    kept = step.expected.kept
    count = tried
    if stage is None or not stage.kept:  # of nothing kept no yield follows: `_unknown_yields` says so
        pass
    elif _writes(step) and pilot.given:
        count = round(tried * stage.kept / pilot.given)
    elif kept is None or pilot.counts:
        count = round(tried * stage.kept / stage.planned)
    return count if kept is None else min(count, kept(settings))


def _unknown_yields(build: Build, family: Family, part: Part, pilot: BuildManifest | None) -> Iterator[str]:
    """Say so of a stage that kept nothing in the pilot: those after it had nothing to measure."""
    for stage in _stages(pilot, family, part).values():
        ref = StageRef(family.name, part.name, stage.step)
        if stage.planned and not stage.kept and stage.step not in (SOURCE, PEOPLE):
            if stage.fingerprint != build.fingerprint(ref):
                yield f"{ref} kept none of {stage.planned:,} in the pilot: all are taken to pass it, which is a bound"
            return


def _writes(step: Step) -> bool:
    """Whether it asks for the records that come in, some with each call."""
    return step.expected.calls_in_all is not None


def _stages(pilot: BuildManifest | None, family: Family, part: Part) -> dict[str, StageManifest]:
    """The pilot's stages of a part, by step, in order."""
    built = pilot.part(family.name, part.name) if pilot else None
    return {stage.step: stage for stage in built.stages} if built else {}


def _counted_as_now(pilot: BuildManifest | None, family: Family, step: Step, settings: Any) -> bool:
    families = pilot.config.get("families") if pilot else None
    then = families.get(family.name) if isinstance(families, Mapping) else None
    now = settings.model_dump(mode="json", include=set(step.settings))
    return isinstance(then, Mapping) and all(then.get(name) == value for name, value in now.items())


def _incoming(build: Build, family: Family, part: Part, pilot: Sequence[StageManifest]) -> int:
    """Source records of a part: counted in its files, or as many as its step is to write."""
    from data.sources import read_source

    ref = StageRef(family.name, part.name, SOURCE)
    specs = build.source_specs(ref)
    if not specs:
        wanted = part.planned(build.families[family.name].settings) if part.planned else 0
        return min(wanted, build.limit) if build.limit else wanted
    if (made := build.manifest(ref)) is not None:
        return made.kept
    for stage in pilot:
        if stage.fingerprint == build.fingerprint(ref):
            return stage.kept
    assert isinstance(part.source, type)
    keys: set[str] = set()  # a source that is listed twice, as of two tasks, is read once
    for spec in specs:
        records: Iterator[Record] = read_source(spec, part.source, _uncounted)  # type: ignore[type-var]
        keys.update(record.key for record in records)
    return len(keys)


def _uncounted(dropped: Dropped) -> None:
    """Rows refused at the door cost nothing."""


def _line(
    build: Build, family: Family, step: Step, prompt: Prompt[Any], tried: int, pilot: _Measured, settings: Any
) -> EstimateLine:
    one = build.families[family.name]
    prompt = one.prompts[prompt.name]
    models = [one.models[name] for name in step.models_as(prompt.role, settings)]
    stage, writes = pilot.stage, _writes(step)
    measured = stage.usage.get(prompt.name, UsageOfPrompt()) if stage else UsageOfPrompt()
    asked = measured.calls + measured.cached
    a_record = calls_of_a_record(step, prompt, settings)
    if pilot.same:
        calls = asked
    elif writes:  # it takes larger batches in a larger build: its own bound holds, not the pilot's share
        assert step.expected.calls_in_all is not None
        calls = step.expected.calls_in_all(settings)
    elif stage is not None and stage.planned:
        # What none of a few was asked, the next one may well be.
        calls = round(tried * (asked / stage.planned if asked else a_record / (stage.planned + 1)))
    else:
        calls = round(tried * a_record)
    usual = usual_tokens(family, prompt)
    tokens_in, tokens_out = float(calls * usual.input), float((tried if writes else calls) * usual.output)
    if measured.input_tokens + measured.cached_input_tokens:  # rules count none
        tokens_in = calls * (measured.input_tokens + measured.cached_input_tokens) / asked
        answered = measured.output_tokens + measured.cached_output_tokens
        tokens_out = answered * (tried / pilot.given if writes and pilot.given else calls / asked)
    cost = cost_of(models, calls, round(tokens_in), round(tokens_out))
    name = f"{family.name} {step.name} · {prompt.name}"
    return EstimateLine(name, tried, calls, round(tokens_in), round(tokens_out), cost)


def cost_of(models: Sequence[object], calls: int, tokens_in: int, tokens_out: int) -> float | None:
    """What calls cost that models share; None where the price of one of them is not known."""
    prices = [model.price for model in models if isinstance(model, Served)]
    if calls and not all(price.known for price in prices):
        return None
    return sum(price.cost(tokens_in, tokens_out) for price in prices) / max(1, len(models))


class Tokens(NamedTuple):
    """Tokens of a call."""

    input: int
    output: int


def usual_tokens(family: Family, prompt: Prompt[Any]) -> Tokens:
    """What a prompt takes while nothing is measured: as a strong model answered it over real sources.

    The family's `prompts/usual.tsv` has, by prompt, the tokens of the request beside the template and those of the
    answer (of each record, where a call writes several). Of another prompt: a few sentences, and what it may take.
    """
    beside, answer = _usual(family.folder).get(prompt.name, (TYPICAL_INPUT_TOKENS, prompt.max_tokens))
    return Tokens(max(1, estimate_tokens(prompt.source) + beside), answer)


@cache
def _usual(folder: Path) -> Mapping[str, tuple[int, int]]:
    path = folder / "prompts" / "usual.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.is_file() else []
    return {name: (int(beside), int(answer)) for name, beside, answer in (line.split("\t") for line in lines)}


def _served(project: Project) -> list[Served]:
    return [
        model for one in project.build.families.values() for model in one.models.values() if isinstance(model, Served)
    ]
