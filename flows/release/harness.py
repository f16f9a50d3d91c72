"""A config's task for lm-evaluation-harness, which asks what `touchstone evaluate` asks."""

from collections.abc import Mapping
from typing import Any

from data.publish.harness import HarnessData, HarnessPrompt, option_task, reply_task
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
    """The YAML of the task of that name, to lie beside the family's scorer; None for rows that are not evaluated.

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
