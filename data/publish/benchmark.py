"""`eval.yaml`: the file that makes a dataset a benchmark of the Hub, whose tasks Inspect runs without further code.

It follows the rules of the Hub (`docs/hub/eval-results.md` in huggingface/hub-docs), and those by which Inspect
(0.3.285) reads it for `inspect eval hf/OWNER/NAME/TASK`. A task there puts whole columns of a row into a template, and
compares the reply with one column. So long texts stand in the rows once, whatever number of tasks shows them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from data.publish.harness import LiteralDumper

BENCHMARK: Final = "eval.yaml"
FRAMEWORK: Final = "inspect-ai"


@dataclass(frozen=True)
class ReadyColumn:
    """A text made of another column, for programs that take a row's columns as they are."""

    name: str
    description: str
    of: str
    """The column that it is made of."""
    value: Callable[[Any], str]
    """`value(a row's value of that column)`."""


@dataclass(frozen=True)
class HubScorer:
    """One of Inspect's own scorers."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class HubTask:
    """A variant of a configuration's rows as a task: what it shows, and by what it is scored."""

    variant: str
    input: str
    """The column with the question."""
    shows: Sequence[str] = ()
    """The other columns whose texts stand in the prompt."""
    target: str
    """The column with the right answer."""
    scorers: Sequence[HubScorer]
    """Those that come nearest to the family's own, the main one first."""
    figure: tuple[str, str | None] | None = None
    """Measure and condition of `touchstone evaluate` that are about this task; the mean over all conditions if None."""


@dataclass(frozen=True)
class Asked:
    """How a task is asked, the same for every row: Inspect's templates, with columns in braces."""

    system: str
    user: str
    max_tokens: int
    temperature: float

    def messages(self, values: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the role and text of each message about a row, by what stands for the names in the templates."""
        templates = [("system", self.system)] if self.system else []
        return [(role, template.format(**values)) for role, template in (*templates, ("user", self.user))]


def task_id(config: str, variant: str) -> str:
    """Return the id of a configuration's task: what `.eval_results` files name."""
    return f"{config}-{variant}"


def task_of(config: str, split: str, task: HubTask, asked: Asked) -> Mapping[str, Any]:
    """Return a task as the file has it."""
    system = [{"name": "system_message", "args": {"template": asked.system}}] if asked.system else []
    return {
        "id": task_id(config, task.variant),
        "config": config,
        "split": split,
        "field_spec": {
            "input": task.input,
            "target": task.target,
            **({"metadata": list(task.shows)} if task.shows else {}),
        },
        "solvers": [
            *system,
            {"name": "prompt_template", "args": {"template": asked.user}},
            {"name": "generate", "args": {"temperature": asked.temperature, "max_tokens": asked.max_tokens}},
        ],
        "scorers": [
            {"name": scorer.name, **({"args": dict(scorer.args)} if scorer.args else {})} for scorer in task.scorers
        ],
    }


def benchmark_text(name: str, description: str, tasks: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the file."""
    values = {"name": name, "description": description, "evaluation_framework": FRAMEWORK, "tasks": list(tasks)}
    return yaml.dump(values, Dumper=LiteralDumper, sort_keys=False, allow_unicode=True, width=120)
