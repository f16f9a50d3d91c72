"""The scorers that go out beside the rows: a family's `score.py` as one file, and tasks for lm-evaluation-harness."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import flows
from data.publish.harness import HarnessData, HarnessPrompt, option_task, reply_task
from data.publish.reading import read_released
from data.whole_file import write_whole
from flows.construct.engine import Family
from flows.llm.likelihood import SCORES
from flows.llm.model import Prompt
from flows.project.project import Project
from flows.release.card import SCORERS
from flows.release.fingerprints import dialogue_fingerprints, scorer_fingerprint, task_fingerprints
from flows.release.rows import GatheredConfig, record_of
from schemas.base import Record

ROOT = Path(flows.__file__).parent.parent


def write_scorers(
    project: Project, folder: Path, configs: Sequence[GatheredConfig], repo: str | None, version: str
) -> None:
    """Write each family's scorer, and beside it the tasks for lm-evaluation-harness, on the rows of this version."""
    for config in configs:
        family, rows = config.family, config.rows
        built = project.build.families[family.name]
        config.prompts = dialogue_fingerprints(family, built.prompts)
        if family.evaluation.scorer is None or not rows.files:
            continue
        scorer = shipped_scorer(family)
        write_whole(folder / SCORERS / f"{family.name}.py", scorer.encode())
        row = record_of(config.part, next(read_released(folder, rows.files)))
        data = (
            HarnessData(repo, rows.name, rows.split, {"revision": version})
            if repo
            else HarnessData("parquet", None, rows.split, {"data_files": {rows.split: list(rows.files)}})
        )
        task = f"touchstone-{rows.name}"
        text = harness_task(task, family, built.settings, built.prompts, row, data, "1")
        if text is not None:
            write_whole(folder / SCORERS / f"{task}.yaml", text.encode())
            config.task = task
            config.scorer = scorer_fingerprint(scorer)
            config.prompts = task_fingerprints(text)
            config.asked = list(_asked(family, built.settings, row))


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


def harness_task(
    task: str,
    family: Family,
    settings: Any,
    prompts: Mapping[str, Prompt[Any]],
    row: Record,
    data: HarnessData,
    version: str,
) -> str | None:
    """The YAML of the task of that name, for a file beside the family's scorer; None for rows that are not evaluated.

    `row` is any of the config's rows, `prompts` are the build's, by name. Of several ways of asking that the
    settings have (prompting, shots), the first is exported, as released: without ablations. Demonstrations are those of
    the row's language.
    """
    evaluation = family.evaluation
    scorer = evaluation.scorer
    if scorer is None or type(row) not in {family.part(name).item for name in evaluation.parts}:
        return None
    values = row.model_dump(mode="json")
    if evaluation.choices is not None and scorer.options is not None:
        prompt = evaluation.choices(row, settings)[0].prompt
        return option_task(task, family.name, scorer.options(values, prompt), data, version)
    requests = evaluation.requests(row, settings)
    way = requests[0].prompting, requests[0].shots
    asked = {
        request.variant: HarnessPrompt(
            prompts[request.prompt.name].source, request.prompt.max_tokens, request.inputs.model_dump(mode="json")
        )
        for request in requests
        if (request.prompting, request.shots) == way
    }
    assert scorer.replies is not None
    return reply_task(task, family.name, scorer.replies(values, list(asked)), data, version, asked)


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
