"""The evaluations of a build, or of a released version as one: their scores, and the dataset that these are of."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.publish.benchmark import HubTask, task_id
from flows.construct.engine import Family
from flows.evaluate.headline import FigureRow
from flows.evaluate.rows import NoRows, evaluated_rows
from flows.evaluate.scores_file import ENDING, EvaluationScores, read_scores
from flows.project.evaluated import PREDICTIONS
from flows.project.project import Project
from flows.project.settings import REPOSITORY, load_config
from flows.release.benchmark import AlikeTasks
from flows.release.rows import config_name
from schemas.errors import Failed, WrongInput


@dataclass(frozen=True)
class Dataset:
    """What was evaluated."""

    name: str
    version: str
    """Empty for a build that is not a released version."""
    repo: str | None
    """OWNER/NAME on the Hub."""
    maintainer: str | None


@dataclass(frozen=True)
class Found:
    """The scores of an evaluation."""

    path: Path
    scores: EvaluationScores

    @property
    def key(self) -> str:
        """The model as the evaluation was asked for: its key in the configuration, say."""
        return self.path.name.removesuffix(ENDING).removeprefix(f"{self.scores.signature.family}-")

    @property
    def ways(self) -> Mapping[str, str]:
        """By group of the figures, its way of asking: `open-book, 5 shots`; empty if there is one way."""
        model, profiled = self.scores.signature.model, self.scores.way
        groups = dict.fromkeys(row.model for row in self.scores.figures)
        return {
            group: profiled or group.removeprefix(group if group == self.key else model).lstrip(", ")
            for group in groups
        }


def evaluations(project: Project) -> Mapping[str, Sequence[Found]]:
    """Return the scores of a build by family. Raises `WrongInput` without any, and `Failed` if a file is damaged."""
    folder = project.out / PREDICTIONS
    found: dict[str, list[Found]] = {}
    for path in sorted(folder.glob(f"*{ENDING}")):
        scores = read_scores(path)
        if scores is None:
            raise Failed(f"{path}: damaged; evaluate again, or remove it")
        found.setdefault(scores.signature.family, []).append(Found(path, scores))
    if not found:
        raise WrongInput(f"{folder}: has no scores; `touchstone evaluate` and `touchstone profile` write them")
    return found


def dataset_of(project: Project, hub: str | None) -> Dataset:
    """Return what a build's scores are of, with the repository `hub`, or that of its own configuration.

    Raises `WrongInput` for a repository that cannot be one.
    """
    if hub is not None and re.fullmatch(REPOSITORY, hub) is None:
        raise WrongInput(f"--hub {hub}: expected a dataset as OWNER/NAME")
    name, _, version = project.config.name.partition("@")
    settings = load_config(project.config_path) if project.config_path.is_file() else None
    own = settings.release if settings is not None and settings.name == name else None
    return Dataset(name, version, hub or (own.repo if own else None), own.maintainer if own else None)


@dataclass(frozen=True)
class TaskRows:
    """A task of the dataset's `eval.yaml`, and how many rows it has."""

    id: str
    task: HubTask
    rows: int

    def value(self, figures: Sequence[FigureRow], group: str) -> float | None:
        """Return a group's mean over exactly the rows of the task; None if no figure is that."""
        if self.task.figure is None:
            return None
        measure, at = self.task.figure
        of_task = [
            row
            for row in figures
            if (row.model, row.measure, row.against) == (group, measure, None) and at in (None, row.at)
        ]
        items = sum(row.items for row in of_task)
        return round(sum(row.value * row.items for row in of_task) / items, 6) if items == self.rows else None


def asked_tasks(project: Project, family: Family) -> Iterator[TaskRows]:
    """Yield the tasks that a release's `eval.yaml` has of a family."""
    if family.evaluation.hub_tasks is None:
        return
    try:
        rows = evaluated_rows(project, family, None)
    except NoRows:
        return
    parts, built = [family.part(name) for name in family.evaluation.parts], project.build.families[family.name]
    configs: dict[str, AlikeTasks] = {}
    for row in rows:
        part = next(part for part in parts if part.item is type(row))
        kinds = {name: getattr(row, name) for name in (part.released.named_by if part.released else ())}
        config = config_name(family, part, kinds)
        if config not in configs:
            configs[config] = AlikeTasks(family, part, built.settings, built.prompts)
        configs[config].add(row)
    for config, alike in configs.items():
        yield from (TaskRows(task_id(config, task.variant), task, alike.rows) for task, _ in alike.found)
