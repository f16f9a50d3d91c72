"""Fingerprints of what scores depend on beside the rows: the scorer, and what a model is asked.

Two versions whose fingerprints differ score, or ask, in another way: no score on one is comparable with the other.
"""

from typing import Final

import yaml

from data.publish.harness import FUNCTION
from schemas.base import content_hash

ASKED: Final = (
    "description", "doc_to_text", "doc_to_choice", "target_delimiter", "output_type", "variants", "fewshot_config",
    "generation_kwargs",
)  # fmt: skip
"""The fields of a task for lm-evaluation-harness that say how a model is asked."""


def task_fingerprint(text: str) -> tuple[str, str]:
    """Return the name of a task for lm-evaluation-harness, and the fingerprint of what a model is asked in it."""
    task = yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    return task["task"], content_hash({name: task[name] for name in ASKED if name in task})


class _Loader(yaml.SafeLoader):
    """Reads functions as their names."""


_Loader.add_constructor(FUNCTION, lambda loader, node: str(node.value))
