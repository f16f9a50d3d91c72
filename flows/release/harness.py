"""A config's task for lm-evaluation-harness, which asks what `touchstone evaluate` asks."""

from collections.abc import Mapping
from typing import Any

from data.publish.harness import HarnessData, HarnessPrompt, is_evaluated, weighed_task, written_task
from flows.construct.engine import Family
from flows.llm.model import Prompt
from schemas.base import Record


def harness_task(
    task: str,
    family: Family,
    settings: Any,
    prompts: Mapping[str, Prompt[Any]],
    row: Record,
    data: HarnessData,
    version: str,
) -> str | None:
    """The YAML of the task of that name, to lie beside the family's scorer; None where the config is not evaluated.

    `row` is any of the config's rows, `prompts` are the build's, by name. Of several ways of asking that the
    settings have (prompting, shots), the first is exported, as released: without ablations. Demonstrations are those of
    the row's language.
    """
    values = row.model_dump(mode="json")
    if not is_evaluated(family.name, values):
        return None
    evaluation = family.evaluation
    if evaluation.choices is not None:
        return weighed_task(task, data, version, evaluation.choices(row, settings)[0].prompt, values)
    requests = evaluation.requests(row, settings)
    way = requests[0].prompting, requests[0].shots
    asked = {
        one.variant: HarnessPrompt(
            prompts[one.prompt.name].source, one.prompt.max_tokens, one.inputs.model_dump(mode="json")
        )
        for one in requests
        if (one.prompting, one.shots) == way
    }
    return written_task(task, family.name, values, data, version, asked)
