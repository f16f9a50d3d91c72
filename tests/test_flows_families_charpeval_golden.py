"""A step of CHARPEval whose bytes change must change its version: the store would go on giving the old ones."""

import json
from pathlib import Path
from random import Random

from flows.families.charpeval.prompts import Distractors, ToAsk, ToDistract, Utterances
from flows.llm.rules import Rules
from flows.project.project import Project
from flows.project.settings import packaged
from tests.builds import hashes_of, write_config
from tests.toy import run_all

GOLDEN = {
    "utterances filter_dialogue": (3, "a87c01a30d3e8580"),
    "utterances join_subsets": (2, "82208d71a8381d51"),
    "utterances drop_duplicates": (2, "38eaf3af6662e6e0"),
    "utterances draft_utterances": (2, "a85850459ae2bf34"),
    "distractors open_authoring": (2, "8f9b96fae229a32c"),
    "distractors draft_distractors": (2, "c214fc042630478c"),
    "items make_item": (1, "c26889796219f571"),
}
"""Part and step -> its version, and the hash of what it makes. If a hash is to change, so is the version."""


def utterances(asked: ToAsk, rng: Random) -> Utterances:
    return Utterances(hard_utterance="And that one?", easy_utterance=asked.last_utterance)


def distractors(asked: ToDistract, rng: Random) -> Distractors:
    first = asked.facts[0] if asked.facts else ""
    return Distractors(KGIR=asked.knowledge, KGUG=first, RECF=asked.easy_utterance, COEX="Time will tell.")


async def built(config: Path, out: Path) -> Project:
    project = Project(config, out)
    rules = Rules({"draft_utterances": utterances, "draft_distractors": distractors}, 7)
    models = project.build.families["charpeval"].models
    models.update(dict.fromkeys(models, rules))  # type: ignore[attr-defined]
    await run_all(project.build)
    return project


async def test_bytes_change_with_the_version_alone(tmp_path: Path) -> None:
    dialogues = {"format": "jsonl", "path": str(packaged("charpeval.yaml").parent / "dialogues.jsonl")}
    config = write_config(tmp_path, store=str(tmp_path / "store"), families={"charpeval": {"sources": [dialogues]}})
    project = await built(config, tmp_path / "out")
    texts = {"KGIR": "One.", "KGUG": "Two.", "RECF": "Three.", "IECF": "A hamster is small.", "COEX": "Five."}
    authored = next(one for one in project.build.accepted("charpeval", "distractors") if "eighty" in one.response)
    verdict = {
        "key": authored.key, "view_hash": authored.view_hash, "rubric": "charpeval-authoring", "decision": "fix",
        "changes": texts,
    }  # fmt: skip
    (tmp_path / "out" / "verdicts").mkdir(parents=True)
    (tmp_path / "out" / "verdicts" / "charpeval-distractors.jsonl").write_text(json.dumps(verdict) + "\n")
    project = await built(config, tmp_path / "out")
    assert hashes_of(project, "charpeval") == GOLDEN
