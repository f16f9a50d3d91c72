"""The scorers that go out beside the rows: a family's `score.py` as one file, and tasks for lm-evaluation-harness."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flows
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
    utils_text,
)
from data.publish.harness_readme import TaskFacts, tasks_readme
from data.publish.reading import read_released
from data.whole_file import write_whole
from flows.construct.engine import Family
from flows.families import citation
from flows.llm.likelihood import SCORES
from flows.llm.model import Prompt
from flows.project.project import Project
from flows.release.fingerprints import dialogue_fingerprints, scorer_fingerprint, task_fingerprint
from flows.release.rows import GatheredConfig, record_of
from schemas.base import Record

ROOT = Path(flows.__file__).parent.parent
TASK = "touchstone"
"""The beginning of the names of tasks and groups."""


def write_scorers(
    project: Project, folder: Path, configs: Sequence[GatheredConfig], repo: str | None, version: str
) -> None:
    """Write each family's scorer, and beside it the tasks for lm-evaluation-harness, on the rows of this version."""
    tasks: dict[str, FamilyTasks] = {}
    for config in configs:
        family, rows = config.family, config.rows
        built = project.build.families[family.name]
        config.prompts = dialogue_fingerprints(family, built.prompts)
        if family.evaluation.scorer is None or not rows.files:
            continue
        scorer = shipped_scorer(family)
        write_whole(folder / SCORERS / f"{family.name}.py", scorer.encode())
        row = record_of(config.part, next(read_released(folder, rows.files)))
        data = HarnessData(repo or BESIDE, rows.name, rows.split, version if repo else None)
        name = f"{TASK}-{rows.name}"
        exported = harness_tasks(name, family, built.settings, built.prompts, row, data, version)
        if exported:
            config.task = exported[0].name
            config.group = named(f"{TASK}-{family.name}", exported[0].scoring.suffix)
            config.scorer = scorer_fingerprint(scorer)
            config.prompts = dict(task_fingerprint(task.text) for task in exported)
            config.asked = list(_asked(family, built.settings, row))
            tasks.setdefault(family.name, FamilyTasks(family)).tasks.extend(exported)
    write_tasks(folder / SCORERS, list(tasks.values()), project.manifest.name, repo, version)


@dataclass
class FamilyTasks:
    """The tasks of a family's configs."""

    family: Family
    tasks: list[HarnessTask] = field(default_factory=list)

    @property
    def groups(self) -> Mapping[str, Sequence[HarnessTask]]:
        """By the group's name, the tasks that ask in one way: the main tasks of the configs, and so on."""
        by_way: dict[str, list[HarnessTask]] = {}
        for task in self.tasks:
            by_way.setdefault(named(f"{TASK}-{self.family.name}", task.scoring.suffix), []).append(task)
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


def write_tasks(folder: Path, families: Sequence[FamilyTasks], name: str, repo: str | None, version: str) -> None:
    """Write the tasks and groups of all families, with what they need, and a page on them; nothing without any."""
    if not families:
        return
    for made in families:
        for task in made.tasks:
            write_whole(folder / f"{task.name}.yaml", task.text.encode())
        for group, tasks in made.groups.items():
            write_whole(folder / f"{group}.yaml", group_of_tasks(group, tasks, version).encode())
    write_whole(folder / UTILS, utils_text().encode())
    write_whole(folder / CARD, tasks_readme([made.facts for made in families], name, repo, version))


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
        reply_task(config, family.name, scoring, data, version, asked)
        for prompting, asked in ways.items()
        for scoring in scorer.replies(values, prompting, list(asked))
    ]


def shipped_scorer(family: Family) -> str:
    """The text of the family's `score.py`, and within it that of each module of ours that it imports.

    Raises `ValueError` for an import that cannot be replaced with the text: it renames, or imports a module.
    """
    source = _Source(family.folder / "score.py")
    modules: dict[str, _Source] = {}
    _collect(source, modules)
    imports = _merged([line for part in (source, *modules.values()) for line in part.imports])
    texts = [
        f"# ---- {name.rpartition('.')[2].replace('_', ' ')} ----\n\n{part.body}" for name, part in modules.items()
    ]
    return "\n\n".join([f'"""{source.docstring}"""\n\n{imports}', *texts, f"# ---- the scorer ----\n\n{source.body}"])


class _Source:
    """A module's text in parts: its docstring, its imports of the standard library and of our modules, and the rest."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        ours = [node for node in statements if isinstance(node, ast.ImportFrom) and _is_ours(node)]
        if any(alias.asname for node in ours for alias in node.names):
            raise ValueError(f"{path}: a module that a scorer ships imports names as they are")
        self.docstring = ast.get_docstring(tree, clean=False) or ""
        self.imports = [node for node in statements if node not in ours]
        self.ours = [str(node.module) for node in ours]
        last = max((node.end_lineno or 0 for node in statements), default=tree.body[0].end_lineno or 0)
        self.body = "\n".join(text.splitlines()[last:]).strip() + "\n"


def _is_ours(node: ast.ImportFrom) -> bool:
    return (node.module or "").partition(".")[0] == flows.__name__


def _collect(source: _Source, modules: dict[str, _Source]) -> None:
    """Add the modules of ours that a text needs, each after those that it needs itself."""
    for name in source.ours:
        if name not in modules:
            path = ROOT / f"{name.replace('.', '/')}.py"
            if not path.is_file():
                raise ValueError(f"{name}: is no module; a scorer imports the names of one")
            needed = _Source(path)
            _collect(needed, modules)
            modules[name] = needed


def _merged(imports: Sequence[ast.Import | ast.ImportFrom]) -> str:
    """The import statements of several modules, merged."""
    plain = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    names: dict[str, set[str]] = {}
    for node in imports:
        if isinstance(node, ast.ImportFrom):
            names.setdefault(str(node.module), set()).update(alias.name for alias in node.names)
    lines = [f"import {name}" for name in sorted(plain)]
    lines += [f"from {module} import {', '.join(sorted(taken))}" for module, taken in sorted(names.items())]
    return "\n".join(lines) + "\n"
