"""What the rules of each family answer to recorded inputs: `python -m tests.rule_answers` records them anew.

The inputs are some of each prompt that a pilot of the packaged sample asks. A line of
`tests/recorded_rules/FAMILY.jsonl` has a prompt's name, its inputs and the answer; the first has the version of the
rules that gave them.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from flows.families import family_names, load_family
from flows.llm.model import InvalidAnswer, Out, Prompt, Usage
from flows.llm.rules import Rules
from flows.project.models import rules_of, rules_version
from flows.project.project import Project
from flows.project.settings import packaged
from tests.toy import run_all

SEED = 7
FOLDER = Path(__file__).parent / "recorded_rules"
OF_A_PROMPT = 12
"""Inputs that are kept of each prompt, evenly spread over those that the sample asks."""
PILOT = 24
"""The size of the pilot that asks them."""
LONGEST = 6_000
"""Characters of inputs that are kept, as JSON."""


async def answer_of(rules: Rules, prompt: Prompt[Out], inputs: BaseModel) -> str:
    """The rules' answer as JSON, or why they have none."""
    try:
        return (await rules.complete(prompt, inputs, usage=Usage())).model_dump_json()
    except InvalidAnswer as invalid:
        return f"{invalid.reason}: {invalid.evidence}"


def recorded(family: str) -> tuple[int, list[dict[str, Any]]]:
    """The version of the rules and the lines of a family's file."""
    first, *lines = map(json.loads, (FOLDER / f"{family}.jsonl").read_text(encoding="utf-8").splitlines())
    return first["version"], lines


async def changed_answers(family: str) -> list[str]:
    """The prompts of a family whose rules now give another answer than recorded, once for each such answer."""
    rules = Rules(rules_of(family), SEED)
    prompts = {prompt.name: prompt for prompt in load_family(family).prompts}
    changed = []
    for line in recorded(family)[1]:
        prompt = prompts[line["prompt"]]
        assert prompt.inputs is not None
        if await answer_of(rules, prompt, prompt.inputs.model_validate(line["inputs"])) != line["answer"]:
            changed.append(prompt.name)
    return changed


class Recorder:
    """The rules, noting what they are asked."""

    name = "rules"

    def __init__(self, family: str) -> None:
        self.rules = Rules(rules_of(family), SEED)
        self.asked: dict[str, dict[str, Prompt[Any]]] = {}

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        text = inputs.model_dump_json()
        if draw == 0 and len(text) <= LONGEST:
            self.asked.setdefault(prompt.name, {})[text] = prompt
        return await self.rules.complete(prompt, inputs, draw=draw, usage=usage)

    def identity(self) -> dict[str, object]:
        return self.rules.identity()  # type: ignore[return-value]


async def record(family: str) -> None:
    """Run a pilot of a family's packaged sample, and write its file."""
    recorder = Recorder(family)
    with tempfile.TemporaryDirectory() as folder:
        config = packaged("sample.yaml" if family == "uraq" else f"{family}.yaml")
        project = Project(config, Path(folder) / "out", PILOT, store=f"{folder}/store")
        models = project.build.families[family].models
        models.update(dict.fromkeys(models, recorder))  # type: ignore[attr-defined]
        await run_all(project.build)
        project.close()
    lines = [json.dumps({"version": rules_version(family)})]
    for name, asked in sorted(recorder.asked.items()):
        texts = sorted(asked)
        for text in texts[:: max(1, -(-len(texts) // OF_A_PROMPT))]:
            prompt = asked[text]
            assert prompt.inputs is not None
            answer = await answer_of(recorder.rules, prompt, prompt.inputs.model_validate_json(text))
            lines.append(json.dumps({"prompt": name, "inputs": json.loads(text), "answer": answer}, ensure_ascii=False))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{family}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or family_names():
        asyncio.run(record(chosen))
