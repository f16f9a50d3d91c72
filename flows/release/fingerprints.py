"""Fingerprints of what scores depend on beside the rows: the scorer, and what a model is asked.

Two versions whose fingerprints differ score, or ask, in another way: no score on one is comparable with the other.
"""

import ast
from collections.abc import Mapping
from typing import Any, Final

import yaml

from data.publish.harness import FUNCTION
from flows.construct.engine import Family
from flows.llm.model import Prompt
from schemas.base import content_hash

ASKED: Final = (
    "description", "doc_to_text", "doc_to_choice", "target_delimiter", "output_type", "variants", "fewshot_config",
    "generation_kwargs",
)  # fmt: skip
"""The fields of a task for lm-evaluation-harness that say how a model is asked."""


def scorer_fingerprint(text: str) -> str:
    """Return a hash of what a program does: comments, docstrings and layout have no part in it."""
    return content_hash(_meaning(ast.parse(text)))


def _meaning(node: Any) -> Any:
    if isinstance(node, list):
        return [_meaning(value) for value in node if not _is_docstring(value)]
    if not isinstance(node, ast.AST):
        return repr(node)
    # Without empty fields: a later version of Python adds some.
    fields = {name: value for name, value in ast.iter_fields(node) if value is not None and value != []}
    return [type(node).__name__, {name: _meaning(value) for name, value in fields.items()}]


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def task_fingerprint(text: str) -> tuple[str, str]:
    """Return the name of a task for lm-evaluation-harness, and the fingerprint of what a model is asked in it."""
    task = yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    return task["task"], content_hash({name: task[name] for name in ASKED if name in task})


class _Loader(yaml.SafeLoader):
    """Reads functions as their names."""


_Loader.add_constructor(FUNCTION, lambda loader, node: str(node.value))


def dialogue_fingerprints(family: Family, prompts: Mapping[str, Prompt[Any]]) -> Mapping[str, str]:
    """Return prompt or step -> version, of the parts that hold and rate dialogues; empty if the family holds none."""
    held = family.evaluation.dialogues
    steps = [(name, step) for name in (held.parts if held else ()) for step in family.part(name).steps]
    return {
        **{f"{part}/{step.name}": str(step.version) for part, step in steps},
        **{
            prompt.name: content_hash(prompts[prompt.name].source, prompt.max_tokens, prompt.temperature)
            for _, step in steps
            for prompt in step.prompts
        },
    }
