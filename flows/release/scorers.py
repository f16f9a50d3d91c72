"""The scorers that go out beside the rows: a family's `score.py` as one file, and tasks for other programs by them.

The programs are lm-evaluation-harness and Inspect, which also holds dialogues.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.publish.folder import CARD, SCORERS
from data.publish.harness import (
    BESIDE,
    UTILS,
    HarnessData,
    HarnessPrompt,
    HarnessTask,
    group_of_tasks,
    named,
    option_task,
    reply_task,
    tasks_of_variants,
    utils_text,
)
from data.publish.harness_readme import TaskFacts, tasks_readme
from data.publish.inspect_package import (
    PACKAGE,
    TASKS,
    DialoguePrompt,
    DialogueTask,
    dialogue_task,
    inspect_tasks,
    package,
)
from data.publish.reading import read_released
from data.whole_file import write_whole
from flows.construct.engine import Family
from flows.construct.stages import FamilyBuild
from flows.families import citation
from flows.llm.likelihood import SCORES
from flows.llm.model import Prompt
from flows.project.evaluated import dialogue_fingerprints
from flows.project.project import Project
from flows.project.release_as_build import record_of
from flows.release.fingerprints import task_fingerprint
from flows.release.rows import GatheredConfig
from flows.scoring.shipped import scorer_fingerprint, shipped_file, shipped_scorer
from schemas.base import Record

TASK = "touchstone"
"""The beginning of the names of tasks and groups."""


def write_scorers(
    project: Project, folder: Path, configs: Sequence[GatheredConfig], repo: str | None, version: str
) -> None:
    """Write each family's scorer, and beside it the tasks of other programs, on the rows of this version."""
    tasks: dict[str, FamilyTasks] = {}
    dialogues: list[DialogueTask] = []
    for config in configs:
        family, rows = config.family, config.rows
        built = project.build.families[family.name]
        config.prompts = dialogue_fingerprints(family, built.prompts)
        if not rows.files:
            continue
        data = HarnessData(repo or BESIDE, rows.name, rows.split, version if repo else None)
        name = f"{TASK}-{rows.name}"
        if config.part.name in family.evaluation.parts:
            for held in dialogue_tasks(name, family, built, folder / SCORERS, data, version):
                config.inspect = held
                dialogues.append(held)
        if family.evaluation.scorer is None:
            continue
        scorer = shipped_scorer(family.folder)
        write_whole(folder / SCORERS / f"{family.name}.py", scorer.encode())
        row = record_of(config.part, next(read_released(folder, rows.files)))
        exported = harness_tasks(name, family, built.settings, built.prompts, row, data, version)
        if exported:
            config.task = exported[0].name
            config.inspect = exported[0]
            made = tasks.setdefault(family.name, FamilyTasks(family))
            made.add(exported, config.apart)
            config.group = made.group_of(exported[0])
            config.scorer = scorer_fingerprint(scorer)
            config.prompts = dict(task_fingerprint(task.text) for task in exported)
            config.asked = list(_asked(family, built.settings, row))
    write_tasks(folder / SCORERS, list(tasks.values()), dialogues, project.manifest.name, repo, version)


def dialogue_tasks(
    name: str, family: Family, built: FamilyBuild, folder: Path, data: HarnessData, version: str
) -> list[DialogueTask]:
    """The task of a config whose rows begin dialogues that other programs can hold; it writes their protocol."""
    held = family.evaluation.dialogues
    elsewhere = held.elsewhere if held else None
    if elsewhere is None or not (kinds := elsewhere.kinds(built.settings)):
        return []
    write_whole(folder / f"{family.name}.py", shipped_file(elsewhere.protocol).encode())
    prompts = {
        prompt.name: DialoguePrompt(
            HarnessPrompt(built.prompts[prompt.name].source, prompt.max_tokens), prompt.role, prompt.temperature
        )
        for prompt in elsewhere.prompts
    }
    settings = elsewhere.settings(built.settings)
    return [dialogue_task(name, family.name, kinds, settings, prompts, data, version)]


@dataclass
class FamilyTasks:
    """The tasks of a family's configs."""

    family: Family
    tasks: list[HarnessTask] = field(default_factory=list)
    apart: dict[str, str] = field(default_factory=dict)
    """Of tasks on rows that no others are averaged with: the end of their group's name, by the task's."""

    def add(self, tasks: Sequence[HarnessTask], apart: str = "") -> None:
        """Add the tasks of a config; `apart` ends the name of their group if its rows are apart."""
        self.tasks.extend(tasks)
        self.apart.update({task.name: apart for task in tasks if apart})

    def group_of(self, task: HarnessTask) -> str:
        """Return the name of the group that a task is in."""
        family, apart = f"{TASK}-{self.family.name}", self.apart.get(task.name)
        return named(f"{family}-{apart}" if apart else family, task.scoring.suffix)

    @property
    def groups(self) -> Mapping[str, Sequence[HarnessTask]]:
        """By the group's name, the tasks that ask in one way: the main tasks of the configs, and so on."""
        by_way: dict[str, list[HarnessTask]] = {}
        for task in self.tasks:
            by_way.setdefault(self.group_of(task), []).append(task)
        return by_way

    @property
    def facts(self) -> TaskFacts:
        """The text on them for the page on the tasks."""
        paper, scorer = self.family.paper, self.family.evaluation.scorer
        return TaskFacts(
            name=self.family.name,
            title=paper.title,
            short=paper.short,
            authors=paper.authors,
            year=paper.year,
            citation=citation(self.family.name),
            needs=scorer.needs if scorer else "",
            groups=self.groups,
        )


def write_tasks(
    folder: Path,
    families: Sequence[FamilyTasks],
    dialogues: Sequence[DialogueTask],
    name: str,
    repo: str | None,
    version: str,
) -> None:
    """Write the tasks and groups of all families, with what they need, and a page on them; nothing without any."""
    if not families and not dialogues:
        return
    for made in families:
        for task in made.tasks:
            write_whole(folder / f"{task.name}.yaml", task.text.encode())
            for alone, text in tasks_of_variants(task, made.family.name, version):
                write_whole(folder / f"{alone}.yaml", text.encode())
        for group, grouped in made.groups.items():
            write_whole(folder / f"{group}.yaml", group_of_tasks(group, grouped, version).encode())
    for held in dialogues:
        write_whole(folder / f"{held.name}.json", held.text.encode())
    write_whole(folder / UTILS, utils_text().encode())
    scorers = [made.family.evaluation.scorer for made in families]
    needed = [package for scorer in scorers if scorer for package in scorer.packages]
    tasks = [task for made in families for task in made.tasks]
    write_whole(folder / TASKS, inspect_tasks(tasks, dialogues).encode())
    write_whole(folder / PACKAGE, package(name, version, needed).encode())
    write_whole(folder / CARD, tasks_readme([made.facts for made in families], dialogues, name, repo, version))


def _asked(family: Family, settings: Any, row: Any) -> Iterator[Mapping[str, Any]]:
    """The fields of each prediction that the row takes, except for the answer itself."""
    evaluation = family.evaluation
    if evaluation.choices is None:
        ways = [(ask.variant, ask.prompting, ask.shots) for ask in evaluation.requests(row, settings)]
    else:
        ways = [(name, ask.prompting, ask.shots) for ask in evaluation.choices(row, settings) for name in SCORES]
    for variant, prompting, shots in ways:
        fields = {"id": row.id, "variant": variant, "prompting": prompting, "shots": shots}
        yield {name: value for name, value in fields.items() if value is not None}


def harness_tasks(
    config: str,
    family: Family,
    settings: Any,
    prompts: Mapping[str, Prompt[Any]],
    row: Record,
    data: HarnessData,
    version: str,
) -> list[HarnessTask]:
    """The tasks of a config (by the main task's name), to lie beside the family's scorer; none if it is not evaluated.

    `row` is any of the config's rows, `prompts` are the build's, by name. A way of asking that the settings have
    (prompting) is a task of its own; how many demonstrations are shown, the harness is told as it runs.
    """
    evaluation = family.evaluation
    scorer = evaluation.scorer
    if scorer is None or type(row) not in {family.part(name).item for name in evaluation.parts}:
        return []
    if scorer.options is not None:
        return [option_task(config, family.name, scorer.options(), data, version)]
    assert scorer.replies is not None
    ways: dict[str | None, dict[str, HarnessPrompt]] = {}
    for request in evaluation.requests(row, settings):
        ways.setdefault(request.prompting, {})[request.variant] = HarnessPrompt(
            prompts[request.prompt.name].source, request.prompt.max_tokens, request.inputs.model_dump(mode="json")
        )
    values = row.model_dump(mode="json")
    return [
        reply_task(config, family.name, scoring, data, version, asked, prompting)
        for prompting, asked in ways.items()
        for scoring in scorer.replies(values, prompting, list(asked))
    ]
