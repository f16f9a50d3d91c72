"""Evaluations in dialogues: parts of the build made again with the evaluated model in place of the build's own."""

from collections.abc import Mapping

from pydantic import BaseModel

from flows.construct.engine import Family
from flows.construct.evaluation import DialogueEvaluation
from flows.construct.progress import ProgressListener
from flows.construct.sampling import RebuiltParts
from flows.construct.stages import Build, FamilyBuild, StageRef
from flows.evaluate.predictions import GONE_AFTER
from flows.evaluate.rows import evaluated_rows
from flows.llm.model import BudgetSpent, Model, NoAnswer, Out, Prompt, TransportError, Usage
from flows.project.project import Project
from flows.run.damage import remove_damaged
from flows.run.in_process import runner_here
from schemas.errors import raise_all

NOT_ANSWERED = "the server gave no answer"
"""The reason for a dialogue, or a rating, that could not be held or made for that."""


def build_with(project: Project, family: Family, name: str, limit: int | None) -> Build:
    """Return the build with its dialogue parts to be made again with the model called `name`.

    Their stages are in the build's store under their own fingerprints: a stage that the build or an earlier evaluation
    made from the same inputs is reused. Dialogues are held on the records that the project's keys choose, by default on
    all; `limit` is how many of them to take. Raises `WrongInput`.
    """
    held = family.evaluation.held
    evaluated_rows(project, family, limit)
    built = project.build.families[family.name]
    settings = built.settings.model_copy(update={held.models: (name,)})
    models = {**project.models.of(family, settings), name: project.models.model(name, family)}
    if family.problems is not None:
        raise_all([f"families.{family.name}.{problem}" for problem in family.problems(settings, models)])
    return _beside_build(project, FamilyBuild(family, settings, built.prompts, models), held, limit)


def _beside_build(project: Project, made: FamilyBuild, held: DialogueEvaluation, limit: int | None) -> Build:
    """Return the build with its dialogue parts to be made again as `made` configures them."""
    return Build(
        [made],
        store=project.store,
        seed=project.build.seed,
        limit=project.build.limit,
        embedder=project.embedder,
        verdicts=project.verdicts,
        built=project.built,
        rebuilt=RebuiltParts(made.family.name, held.parts, limit, project.only_keys),
    )


class _AsPaid:
    """A model that stopped a build: it gives the answers that it can; any other question drops its record."""

    def __init__(self, model: Model, attempt: str) -> None:
        self.name = model.name
        self._model = model
        self._attempt = attempt
        self._in_a_row = 0
        """Questions since the last answer that got none."""

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        if self._in_a_row >= GONE_AFTER:
            raise NoAnswer(NOT_ANSWERED, "the server is taken to be gone")
        try:
            answer = await self._model.complete(prompt, inputs, draw=draw, usage=usage)
        except BudgetSpent as spent:
            raise NoAnswer("the budget is spent", str(spent)) from spent
        except TransportError as error:
            self._in_a_row += 1
            raise NoAnswer(NOT_ANSWERED, str(error)) from error
        self._in_a_row = 0
        return answer

    def identity(self) -> Mapping[str, object]:
        """Return the model's identity and that of this attempt: a later one may be answered more."""
        return {**self._model.identity(), "attempt": self._attempt}


def as_paid(project: Project, family: Family, build: Build, limit: int | None) -> Build:
    """Return a stopped build of `build_with` that uses the answers that it can get; other records are dropped.

    Its stages are stored beside those of the whole build, which can still be resumed.
    """
    configured, held = build.families[family.name], family.evaluation.held
    models: dict[str, Model] = {name: _AsPaid(model, project.run_id) for name, model in configured.models.items()}
    return _beside_build(project, FamilyBuild(family, configured.settings, configured.prompts, models), held, limit)


def hold(project: Project, family: Family, build: Build, listener: ProgressListener, usage: Usage) -> None:
    """Run the unfinished stages of a build by `build_with`; `usage` adds up what they ask.

    After a kill, finished stages are not run again, and earlier answers come from the cache.
    """
    held = family.evaluation.held

    def called(ref: StageRef, call_usage: Usage) -> None:
        usage.add(call_usage)
        listener.called(ref, call_usage)

    build.called = called
    stages = [ref for name in held.parts for ref in build.stages(family, family.part(name))]
    remove_damaged(build, project.state, stages, listener.noted)
    runner_here(project, build, listener).run(stages)
