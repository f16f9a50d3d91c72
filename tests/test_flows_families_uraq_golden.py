"""A step whose bytes change must change its version: the store would go on giving the old ones."""

import hashlib
import json
from pathlib import Path
from random import Random

from flows.construct.stages import StageRef
from flows.families.uraq.prompts import Manipulated, Question, ToAsk, ToManipulate
from flows.llm.rules import Rules
from flows.project.project import Project
from schemas.uraq import Step
from tests.builds import write_config
from tests.toy import run_all

FACTS = (
    "A spider has 8 legs.", "Spiders have 8 legs.", "Oslo is the capital of Norway.", "Water boils at 100 degrees.",
    "A piano has 88 keys.", "Mozart wrote The Magic Flute.", "A marathon is 42 kilometres long.",
)  # fmt: skip
GOLDEN = {
    "write_statements": (1, "4ad746c4f6daee9f"),
    "deduplicate": (1, "45bafcc267fc59c5"),
    "manipulate": (2, "932875071711f61f"),
    "ask_question": (4, "49aab3ff68168299"),
    "prescreen": (2, "49aab3ff68168299"),
    "arrange_contexts": (4, "3871d1b9f1ac9d80"),
}
"""Step -> its version, and the hash of what it makes of FACTS. If a hash is to change, so is the version."""


def manipulate(asked: ToManipulate, rng: Random) -> Manipulated:
    return Manipulated(manipulated=asked.statement.replace(" ", " not ", 1), manipulation="negation")


def ask_question(asked: ToAsk, rng: Random) -> Question:
    steps = [Step(kind="recall", text=f"step {number}", original="1", manipulated="2") for number in range(asked.hops)]
    return Question(
        question=f"How many things does this say: {asked.original.lower()}?",
        steps=tuple(steps),
        answer_type="number",
        answer_original="1",
        answer_manipulated="2",
        single_hop_question="How many?",
        single_hop_answer="1",
    )


async def test_bytes_change_with_the_version_alone(tmp_path: Path) -> None:
    source = tmp_path / "facts.jsonl"
    source.write_text("".join(json.dumps({"text": fact}) + "\n" for fact in FACTS))
    spec = {"format": "jsonl", "path": str(source), "fields": {"text": "text"}}
    uraq = {"statements_from": spec, "context_counts": [1, 3], "hops": [2, 3]}
    project = Project(write_config(tmp_path, store=str(tmp_path / "store"), families={"uraq": uraq}), tmp_path / "out")
    family = project.build.families["uraq"]
    rules = Rules({"manipulate": manipulate, "ask_question": ask_question}, 7)
    family.models.update(dict.fromkeys(family.models, rules))  # type: ignore[attr-defined]
    await run_all(project.build)
    found = {}
    for part in family.family.parts:
        for step in part.steps:
            if step.name in GOLDEN:
                stage = project.build.read(StageRef("uraq", part.name, step.name))
                assert len(stage) > 0
                lines = [record.model_dump_json(exclude={"provenance"}) for record in stage]
                lines += [one.model_dump_json(exclude={"value"}) for one in stage.dropped()]
                found[step.name] = (step.version, hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16])
    assert found == GOLDEN
