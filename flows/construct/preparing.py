"""What a stage needs before it runs: the context of its step, what the step prepares, and its shards or files."""

from collections.abc import Sequence

from flows.construct.engine import RecordStep, Step, StepContext
from flows.construct.files_step import FilesStep, RowFile
from flows.construct.reviewed import reviewed_keys
from flows.construct.settings import FamilySettings
from flows.construct.stages import Build, StageRef
from flows.llm.model import Prompt

SHARD_RECORDS = 256
"""Records of an `each` step to a shard: the unit of work, retry and distribution."""
SHARD_EXPANDED = 512
"""Records that a shard of an `expand` step makes, at most (but for one record's slots)."""


def step_context(build: Build, ref: StageRef) -> StepContext:
    """What the step of a stage may read."""
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
    )


def prepared(build: Build, ref: StageRef, context: StepContext) -> object:
    """The result of the step's `prepare`, computed once for all shards; None where it has none."""
    step = build.step(ref)
    if step is None or step.prepare is None:
        return None
    name = build.fingerprint(ref)
    if name not in build.prepared:
        build.prepared[name] = step.prepare(context)
    return build.prepared[name]


def shard_spans(build: Build, ref: StageRef) -> list[tuple[int, int]]:
    """(start, stop) of each shard's input records, for a stage of an `each` or `expand` step.

    This calls the step's `prepare`, so that it does not run on the loop that waits for models.
    """
    step = build.step(ref)
    assert isinstance(step, RecordStep)
    context = step_context(build, ref)
    made = prepared(build, ref, context)
    total = len(context.inputs)
    size = SHARD_RECORDS
    if step.slots is not None:
        most = max((len(step.slots(record, made)) for record in context.inputs), default=1)
        size = max(1, SHARD_EXPANDED // max(1, most))
    return [(start, min(start + size, total)) for start in range(0, total, size)]


def row_files(build: Build, ref: StageRef) -> Sequence[RowFile]:
    """The files of a stage of a `files` step, in order."""
    step = build.step(ref)
    assert isinstance(step, FilesStep)
    context = step_context(build, ref)
    return step.files(context, prepared(build, ref, context))


def attempts(build: Build, ref: StageRef) -> int:
    """How many records a stage of an `each` or `expand` step will try to make."""
    step = build.step(ref)
    assert isinstance(step, RecordStep)
    context = step_context(build, ref)
    if step.slots is None:
        return len(context.inputs)
    made = prepared(build, ref, context)
    return sum(len(step.slots(record, made)) for record in context.inputs)


def calls_of_a_record(step: Step, prompt: Prompt, settings: FamilySettings) -> float:
    """How often a record asks the prompt, where all goes well."""
    calls = step.expected.calls
    return calls(settings)[prompt.name] if calls else len(step.models_as(prompt.role, settings))


def expected_calls(build: Build, ref: StageRef) -> int:
    """How often a stage of an `each` or `expand` step whose input is finished will ask models, where all goes well."""
    step, settings = build.step(ref), build.families[ref.family].settings
    prompts = step.prompts_asked(settings) if isinstance(step, RecordStep) else ()
    if step is None or not prompts:
        return 0
    return round(attempts(build, ref) * sum(calls_of_a_record(step, prompt, settings) for prompt in prompts))
