"""Prepares a stage: the context of its step, the result of its `prepare`, and its files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from flows.construct.arrivals import Arrivals
from flows.construct.engine import RecordStep, Step, StepContext
from flows.construct.files_step import FilesStep, RowFile
from flows.construct.records import Records
from flows.construct.reviewed import reviewed_keys
from flows.construct.settings import FamilySettings, Undeclared
from flows.construct.stages import Build, StageRef
from flows.llm.endpoint_settings import is_batched
from flows.llm.model import Prompt
from flows.llm.rules import Rules

StepT = TypeVar("StepT", bound=Step)
V = TypeVar("V")


class UnfinishedInputs(Exception):  # noqa: N818 - no fault: the step has to wait
    """A step reads its inputs, of which the stage before has not made all."""


class LaterInputs:
    """The records that a stage of a chain runs over: there is no reading them all until the stage before is finished.

    A step whose `prepare` reads them is not part of a chain.
    """

    def __init__(self, build: Build, ref: StageRef) -> None:
        self._build = build
        self._ref = ref

    def _records(self) -> Records[Any]:
        if not _is_input_finished(self._build, self._ref):
            raise UnfinishedInputs(f"{self._ref}: only `prepare` may read all inputs of an `each` or `expand` step")
        return self._build.inputs(self._ref)

    def __len__(self) -> int:
        return len(self._records())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records())


def _is_input_finished(build: Build, ref: StageRef) -> bool:
    return all(build.manifest(before) is not None for before in build.before(ref))


def can_follow(build: Build, ref: StageRef) -> bool:
    """Return whether a step can work on records as they come. Its `prepare` is called, to see if it reads them all."""
    try:
        prepared_step(build, ref, RecordStep)
    except UnfinishedInputs:
        return False
    return True


class _Declared(dict[str, V]):
    """The prompts or models that a step declares, by name."""

    def __init__(self, ref: StageRef, kind: str, declaration: str, values: Mapping[str, V]) -> None:
        super().__init__(values)
        self._ref, self._kind, self._declaration = ref, kind, declaration

    def __missing__(self, name: str) -> V:
        raise Undeclared.by(str(self._ref), f"the {self._kind} {name}", self._declaration)


class _NoEmbedder:
    """The embedder of a step that does not declare it."""

    def __init__(self, ref: StageRef) -> None:
        self._ref = ref

    def __getattr__(self, name: str) -> Any:
        raise Undeclared.by(str(self._ref), "the embedder", "embeds=True")


def _declared_settings(build: Build, ref: StageRef, step: Step) -> FamilySettings:
    """Return the settings that a step declares, and its part's only source, on which the stages before it depend.

    Of several sources they depend on what is read, but not on the settings' names or the keys that it stands under.
    """
    configured, part = build.families[ref.family], build.part(ref)
    alone = part.sources if len(part.sources) == 1 and not configured.family.makers(part) else ()
    read = [name for name in alone if not isinstance(getattr(configured.settings, name), Mapping)]
    return configured.settings.declared([*step.settings, *read], str(ref))


def step_context(build: Build, ref: StageRef) -> StepContext:
    """Return the context of a stage's step: it has only what the stage's fingerprint covers."""
    configured, step = build.families[ref.family], build.step(ref)
    assert step is not None
    prompts = {prompt.name: configured.prompts[prompt.name] for prompt in step.prompts_asked(configured.settings)}
    models = {name: configured.models[name] for name in step.models(configured.settings)}
    return StepContext(
        settings=_declared_settings(build, ref, step),
        seed=build.seed,
        limit=build.limit,
        inputs=build.inputs(ref) if _is_input_finished(build, ref) else LaterInputs(build, ref),
        uses={name: build.read(used) for name, used in build.uses(ref).items()},
        reviewed=lambda name: reviewed_keys(build, configured.family, configured.family.part(name)),
        embedder=build.embedder if step.embeds else _NoEmbedder(ref),
        models=_Declared(ref, "model", "asks={...}", models),
        prompts=_Declared(ref, "prompt", "prompts=[...]", prompts),
        called=lambda usage: build.called(ref, usage),
        arrival=Arrivals(build.history, build.releases_before(ref)),
        released=build.released(ref),
        draw=build.draw_of(ref),
        drawn_before=build.drawn_before(ref),
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


def asks_servers(build: Build, ref: StageRef) -> bool:
    """Return whether a stage's step asks models that are not rules."""
    step, family = build.step(ref), build.families[ref.family]
    return step is not None and not all(isinstance(family.models[name], Rules) for name in step.models(family.settings))


def asks_in_batches(build: Build, ref: StageRef) -> bool:
    """Return whether a stage's step asks a model whose answers come in batches."""
    step, family = build.step(ref), build.families[ref.family]
    return step is not None and any(is_batched(family.models[name]) for name in step.models(family.settings))


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


def expected_calls(build: Build, chain: Sequence[StageRef]) -> list[int]:
    """Return the calls of each stage of a chain whose input is finished, if nothing is dropped; 0 where not known."""
    calls, count = [0] * len(chain), None
    for number, ref in enumerate(chain):
        step, settings = build.step(ref), build.families[ref.family].settings
        assert isinstance(step, RecordStep)
        if number and step.slots is not None:  # the slots follow from records that are not made yet
            break
        prompts = step.prompts_asked(settings)
        if prompts:
            count = attempts(build, chain[0]) if count is None else count
            calls[number] = round(count * sum(calls_of_a_record(step, prompt, settings) for prompt in prompts))
    return calls
