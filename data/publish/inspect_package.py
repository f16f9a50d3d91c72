"""Tasks for Inspect (inspect_ai 0.3.285): a Python file beside the scorers, and what makes the folder a package.

`inspect_tasks.py` is ours (`inspect_tasks.py.txt`), with a function for each task at its end: of a configuration under
all of its variants, and under each. Single replies, and options that are weighed, go by the tasks for
lm-evaluation-harness, so that both programs ask the same. Dialogues go by a JSON file with their prompts and settings,
and the family's protocol as a file.
"""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from data.publish.harness import (
    HarnessData,
    HarnessPrompt,
    HarnessTask,
    OptionScoring,
    harness_template,
    source_of,
)
from schemas.base import content_hash

TASKS: Final = "inspect_tasks.py"
PACKAGE: Final = "pyproject.toml"
INSPECT: Final = "inspect_ai>=0.3.285"
SHORT: Final = 8
"""Digits of a hash."""
_TASKS_TEXT: Final = Path(__file__).parent / "inspect_tasks.py.txt"
WEIGHS: Final = "vllm-completions"
"""A provider that gives the log-probabilities of a text."""
EVALUATED: Final = "evaluated"
"""The role of the model whose answers are evaluated."""
_NO_NAME = re.compile(r"\W+")

Kind = tuple[str, int]
"""Protocol, and number of unrelated pairs."""


@dataclass(frozen=True)
class DialoguePrompt:
    """A prompt of a dialogue, and the role of the model that it is put to."""

    prompt: HarnessPrompt
    role: str
    temperature: float


@dataclass(frozen=True)
class DialogueTask:
    """A config from whose rows dialogues are begun."""

    name: str
    protocol: str
    """The file beside the task that holds dialogues, without its ending."""
    kinds: Sequence[Kind]
    roles: Sequence[str]
    """Of the other models that take part."""
    text: str
    """Of its JSON file."""

    @property
    def function(self) -> str:
        """The name of the task for all kinds."""
        return function_name(self.name)


InspectTask = HarnessTask | DialogueTask
"""What a function of `inspect_tasks.py` is made of."""


def dialogue_task(
    name: str,
    protocol: str,
    kinds: Sequence[Kind],
    settings: Mapping[str, Any],
    prompts: Mapping[str, DialoguePrompt],
    data: HarnessData,
    version: str,
) -> DialogueTask:
    """The task of a config of seeds. Raises `WrongInput` for an invalid template."""
    asked = {
        key: {
            "role": asked.role,
            "temperature": asked.temperature,
            "max_tokens": asked.prompt.max_tokens,
            "description": harness_template(asked.prompt.template, "system", {}),
            "doc_to_text": harness_template(asked.prompt.template, "user", {}),
        }
        for key, asked in prompts.items()
    }
    content = {"protocol": protocol, "version": version, **source_of(data), **settings, "prompts": asked}
    roles = [role for role in dict.fromkeys(asked.role for asked in prompts.values()) if role != EVALUATED]
    return DialogueTask(name, protocol, kinds, roles, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def inspect_command(folder: str, *tasks: InspectTask) -> str:
    """The command that puts the tasks of configs of a family to a model, with a model for each other role."""
    roles = dict.fromkeys(role for task in tasks if isinstance(task, DialogueTask) for role in task.roles)
    weighed = any(isinstance(task, HarnessTask) and isinstance(task.scoring, OptionScoring) for task in tasks)
    others = "".join(f" --model-role {role}=PROVIDER/MODEL" for role in roles)
    targets = " ".join(shlex.quote(f"{folder}/{TASKS}@{function_name(task.name)}") for task in tasks)
    return f"inspect eval {targets} --model {WEIGHS if weighed else 'PROVIDER'}/MODEL{others}"


def function_name(*parts: str) -> str:
    """The name of a task's function, of which the first that has it is so called."""
    return _NO_NAME.sub("_", "_".join(parts))


def inspect_tasks(tasks: Iterable[HarnessTask], dialogues: Iterable[DialogueTask]) -> str:
    """The text of `inspect_tasks.py`."""
    names = _Names()
    functions = [text for task in tasks for text in _of_task(task, names)]
    functions += [text for task in dialogues for text in _of_dialogues(task, names)]
    return "\n\n".join([_TASKS_TEXT.read_text(encoding="utf-8"), *functions])


def package(name: str, version: str, needed: Iterable[str]) -> str:
    """The text of `pyproject.toml`: the folder as a package whose tasks Inspect finds by the package's name."""
    module = package_name(name)
    dependencies = sorted({INSPECT, "datasets", "jinja2", "pyyaml", *needed})
    return f"""\
[project]
name = "{module.replace("_", "-")}"
version = "{version}"
description = "Tasks for Inspect, on a benchmark made with Touchstone"
readme = "README.md"
requires-python = ">=3.10"
dependencies = {json.dumps(dependencies)}

[project.entry-points.inspect_ai]
{module} = "{module}.inspect_tasks"

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
only-include = ["."]
sources = {{ "" = "{module}" }}
"""


def package_name(name: str) -> str:
    """The name of the package of a dataset's tasks; a hash stands for letters that a package's name cannot have."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    others = [] if plain and name.isascii() else [content_hash(name)[:SHORT]]
    return "_".join(filter(None, ["touchstone", plain, *others]))


class _Names:
    """Names of functions, each given once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def of(self, *parts: str) -> str:
        name = plain = function_name(*parts)
        number = 1
        while name in self._given:
            number += 1
            name = f"{plain}_{number}"
        self._given.add(name)
        return name


def _of_task(task: HarnessTask, names: _Names) -> Iterator[str]:
    scoring = task.scoring
    if isinstance(scoring, OptionScoring):
        yield (
            f"@task\ndef {names.of(task.name)}(shots: int = 0, release: str | None = None) -> Task:\n"
            f"    {_docstring(_capital(scoring.about))}\n"
            f"    return options({_text(task.name)}, shots=shots, release=release)\n"
        )
        return
    shots = "shots: int = 0, " if scoring.demonstrations else ""
    prompting = "None" if task.prompting is None else _text(task.prompting)
    how = f"prompting={prompting}, shots={'shots' if shots else None}, release=release"
    several = [[variant] for variant in scoring.variants] if len(scoring.variants) > 1 else []
    for variants in ([], *several):
        about = _capital(scoring.about) if not variants else f"The variant {variants[0]} alone"
        chosen = f", [{_text(variants[0])}]" if variants else ""
        yield (
            f"@task\ndef {names.of(task.name, *variants)}({shots}release: str | None = None) -> Task:\n"
            f"    {_docstring(about)}\n    return replies({_text(task.name)}{chosen}, {how})\n"
        )


def _of_dialogues(task: DialogueTask, names: _Names) -> Iterator[str]:
    several = [[kind] for kind in task.kinds] if len(task.kinds) > 1 else []
    for kinds in (list(task.kinds), *several):
        protocol, unrelated = kinds[0]
        kind = "" if len(kinds) > 1 else protocol if protocol == "transient" else f"{protocol}_{unrelated}"
        about = f"The {protocol} dialogues, C = {unrelated}" if kind else "Every seed in dialogues of all protocols"
        shown = ", ".join(f"({_text(name)}, {count})" for name, count in kinds)
        yield (
            f"@task\ndef {names.of(task.name, *([kind] if kind and several else []))}(release: str | None = None) "
            f"-> Task:\n    {_docstring(about)}\n    return dialogues({_text(task.name)}, [{shown}], release=release)\n"
        )


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _docstring(text: str) -> str:
    plain = text.replace("\\", "").replace('"', "'")
    return f'"""{plain}."""'
