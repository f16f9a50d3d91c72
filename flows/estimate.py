"""What a build will take, before it is paid for, and again after a pilot.

Before anything is known every record is taken to pass, each prompt to be asked once a record, and each
answer to be as long as it may be: an upper bound, but for re-asks. After a pilot (`--limit N`) the
pilot's yields, lengths and calls a record stand in their place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from flows.compose import Project
from flows.construct.engine import Family, Part, Step
from flows.construct.stages import StageRef
from flows.llm.endpoint import Endpoint
from flows.llm.prices import estimate_tokens
from flows.outputs import models_of, read_manifest
from schemas.base import Dropped, Record
from schemas.manifest import BuildManifest, StageManifest

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
    """Estimate the build, from the pilot in its output folder where there is one; of the stages that are `asked`."""
    pilot = read_manifest(project.out, missing_ok=True)
    if pilot is not None and (pilot.name != project.config.name or pilot.models != models_of(project)):
        pilot = None  # what another model took says nothing of this one
    lines: list[EstimateLine] = []
    records: dict[tuple[str, str], int] = {}
    for family, part in project.build.parts():
        lines += _part(project, family, part, pilot, records, asked)
    total = EstimateLine(
        "all",
        0,
        sum(line.calls for line in lines),
        sum(line.input_tokens for line in lines),
        sum(line.output_tokens for line in lines),
        None if any(line.cost_usd is None for line in lines) else sum(line.cost_usd or 0.0 for line in lines),
    )
    unknown = sorted({one.name for one in _endpoints(project) if not one.price.known})
    ceiling = project.config.budget_usd
    above = ceiling is not None and total.cost_usd is not None and total.cost_usd > ceiling
    notes = [f"this may be more than budget_usd allows ({ceiling:g} USD): the build would stop there"] if above else []
    notes += [f"the price of {name} is not known; give it under prices:" for name in unknown]
    return Estimate((*lines, total), pilot is not None, tuple(notes))


def _part(
    project: Project,
    family: Family,
    part: Part,
    pilot: BuildManifest | None,
    records: dict[tuple[str, str], int],
    asked: Callable[[StageRef], bool],
) -> list[EstimateLine]:
    """The lines of a part; the number of records it gives is noted in `records`."""
    settings = project.build.families[family.name].settings
    makers = family.makers(part)
    count = sum(records[family.name, maker.name] for maker in makers) if makers else _incoming(project, family, part)
    lines = []
    for step in part.steps:
        stage = _stage_of(pilot, family, part, step)
        lines += [
            _line(project, family, step, prompt, count, stage, settings)
            for prompt in step.prompts_asked(settings)
            if asked(StageRef(family.name, part.name, step.name))
        ]
        if step.slots is not None:
            assert step.most is not None
            count *= step.most(settings)
        elif stage is not None and stage.kept:
            count = round(count * stage.kept / stage.planned)
    records[family.name, part.name] = count
    return lines


def _stage_of(pilot: BuildManifest | None, family: Family, part: Part, step: Step) -> StageManifest | None:
    built = pilot.part(family.name, part.name) if pilot else None
    return next((stage for stage in built.stages if stage.step == step.name), None) if built else None


def _incoming(project: Project, family: Family, part: Part) -> int:
    """Source records of a part: counted in its files, or as many as its step is to write."""
    from data.sources import read_source

    ref = StageRef(family.name, part.name, "source")
    specs = project.build.source_specs(ref)
    limit = project.build.source_limit(part)
    if not specs:
        wanted = part.planned(project.build.families[family.name].settings) if part.planned else 0
        return min(wanted, limit) if limit else wanted
    assert isinstance(part.source, type)
    total = 0
    for spec in specs:
        records: Iterator[Record] = read_source(spec, part.source, _uncounted)  # type: ignore[type-var]
        count = sum(1 for _ in records)
        total += min(count, limit) if limit else count
    return total


def _uncounted(dropped: Dropped) -> None:
    """Rows refused at the door cost nothing."""


def _line(
    project: Project, family: Family, step: Step, prompt: Any, count: int, stage: StageManifest | None, settings: Any
) -> EstimateLine:
    one = project.build.families[family.name]
    prompt = one.prompts[prompt.name]
    models = [one.models[name] for name in step.models_as(prompt.role, settings)]
    a_record = step.calls(settings)[prompt.name] if step.calls else len(models)
    measured = stage.usage.get(prompt.name) if stage else None
    if measured is not None and measured.calls and stage is not None and stage.planned:
        # A step that asks by itself takes larger batches in a larger build: its own bound holds, not the pilot's share.
        by_itself = step.shape == "all" and step.most is not None
        calls = (
            step.most(settings)
            if by_itself and step.most
            else round(count * (measured.calls + measured.cached) / stage.planned)
        )
        tokens_in = round(calls * measured.input_tokens / measured.calls)
        tokens_out = round(calls * measured.output_tokens / measured.calls)
    else:
        calls = step.most(settings) if step.most is not None and step.shape == "all" else count * a_record
        tokens_in = calls * (estimate_tokens(prompt.source) + TYPICAL_INPUT_TOKENS)
        tokens_out = calls * prompt.max_tokens
    cost: float | None = 0.0
    for model in models:
        if isinstance(model, Endpoint):
            share = model.price.cost(tokens_in, tokens_out) / len(models) if model.price.known else None
            cost = None if share is None or cost is None else cost + share
    return EstimateLine(f"{family.name} {step.name} · {prompt.name}", count, calls, tokens_in, tokens_out, cost)


def _endpoints(project: Project) -> list[Endpoint]:
    return [
        model for one in project.build.families.values() for model in one.models.values() if isinstance(model, Endpoint)
    ]
