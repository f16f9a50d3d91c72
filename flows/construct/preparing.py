"""Prepares a stage: the context of its step, the result of its `prepare`, and its files."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from flows.construct.arrivals import Arrivals
from flows.construct.engine import RecordStep, Step, StepContext
from flows.construct.files_step import FilesStep, RowFile
from flows.construct.reviewed import reviewed_keys
from flows.construct.settings import FamilySettings
from flows.construct.stages import Build, StageRef
from flows.llm.model import Prompt

StepT = TypeVar("StepT", bound=Step)


def step_context(build: Build, ref: StageRef) -> StepContext:
    """Return the context of a stage's step."""
    configured = build.families[ref.family]
    return StepContext(
        settings=configured.settings,
        seed=build.seed,
        limit=build.limit,
        inputs=build.inputs(ref),
        uses={name: build.read(used) for name, used in build.uses(ref).items()},
        reviewed=lambda name: reviewed_keys(build, configured.family, configured.family.part(name)),
        embedder=build.embedder,
        models=configured.models,
        prompts=configured.prompts,
        called=lambda usage: build.called(ref, usage),
        arrival=Arrivals(build.history, build.releases_before(ref)),
        released=build.released(ref),
        calls_ahead=calls_ahead(build).get(ref, 0),
    )


def prepared_step(build: Build, ref: StageRef, kind: type[StepT]) -> tuple[StepT, StepContext, object]:
    """Return a stage's step, its context, and the result of its `prepare`, made once for all shards."""
    step = build.step(ref)
    assert isinstance(step, kind)
    name = build.fingerprint(ref)
    if name not in build.prepared:
        context = step_context(build, ref)
        build.prepared[name] = context, step.prepare(context) if step.prepare is not None else None
    context, preparation = build.prepared[name]
    return step, context, preparation


def row_files(build: Build, ref: StageRef) -> Sequence[RowFile]:
    """Return the files of a stage of a `files` step, in order."""
    step, context, preparation = prepared_step(build, ref, FilesStep)
    return step.files(context, preparation)


def attempts(build: Build, ref: StageRef) -> int:
    """Return how many records a stage of an `each` or `expand` step will try to make."""
    step, context, preparation = prepared_step(build, ref, RecordStep)
    if step.slots is None:
        return len(context.inputs)
    return sum(len(step.slots(record, preparation)) for record in context.inputs)


def calls_of_a_record(step: Step, prompt: Prompt, settings: FamilySettings) -> float:
    """Return how often a record asks the prompt if nothing is dropped."""
    calls = step.expected.calls
    return calls(settings)[prompt.name] if calls else len(step.models_as(prompt.role, settings))


def calls_ahead(build: Build) -> Mapping[StageRef, float]:
    """Return the most calls that follow one after the other from a record of each stage to the end of the build.

    A set that asks counts as one record.
    """
    stages = [ref for family, part in build.parts() for ref in build.stages(family, part)]
    following = dict.fromkeys(stages, 0.0)
    ahead: dict[StageRef, float] = {}
    for ref in reversed(stages):  # each after those that need it
        step, settings = build.step(ref), build.families[ref.family].settings
        prompts = step.prompts_asked(settings) if step is not None else ()
        ahead[ref] = following[ref] + sum(calls_of_a_record(step, prompt, settings) for prompt in prompts if step)
        for needed in build.needs(ref):
            following[needed] = max(following.get(needed, 0.0), ahead[ref])
    return ahead


def expected_calls(build: Build, ref: StageRef) -> int:
    """Return the calls of a stage of an `each` or `expand` step whose input is finished, if nothing is dropped."""
    step, settings = build.step(ref), build.families[ref.family].settings
    prompts = step.prompts_asked(settings) if isinstance(step, RecordStep) else ()
    if step is None or not prompts:
        return 0
    return round(attempts(build, ref) * sum(calls_of_a_record(step, prompt, settings) for prompt in prompts))
