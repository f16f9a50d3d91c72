"""CHARPEval with a server that plays the builder, and gives a strong model's recorded answers."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flows.families.charpeval import FAMILY
from flows.project.project import Project
from flows.project.settings import packaged
from schemas.charpeval import DISTRACTOR_TYPES
from tests.builds import write_config
from tests.chat_server import ChatServer, Messages
from tests.test_flows_families_charpeval_rubric import FIGURE_1, KNOWLEDGE, RESPONSE
from tests.toy import run_all

BEGINS = {"distractors": "You help an annotator. A User and a Bot talk; the Bot's next turn",
          "utterances": "You help an annotator. A User and a Bot talk; the Bot has some"}  # fmt: skip
BETWEEN = "\n\nThe Bot's response:\n"


def recorded(shared: Path, kind: str) -> dict[str, str]:
    """Answers to a prompt by what their prompts end with, from the knowledge on: it names the dialogue."""
    with gzip.open(shared / "recorded" / "answers.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    own = [row for row in rows if row["messages"][0]["content"].startswith(BEGINS[kind])]
    return {about(row["messages"]): row["answer"] for row in own}


def about(messages: Messages) -> str:
    """The knowledge and the response of a dialogue."""
    _, _, said = messages[1]["content"].partition("Knowledge:\n")
    return said.partition("\n\nSentences from elsewhere")[0].partition("\n\nThese do not do")[0].strip()


def built(folder: Path, answers: Mapping[str, str], source: Mapping[str, Any]) -> tuple[Project, ChatServer]:
    """A build whose builder gives these answers, and none to what else it is asked."""
    with ChatServer(lambda messages: answers.get(about(messages), "{}")) as server:
        model = {"provider": "endpoint", "name": "gpt-4o-mini", "base_url": server.url}
        config = write_config(
            folder, store=str(folder / "store"), model=model, families={"charpeval": {"sources": [source]}}
        )
        project = Project(config, folder / "out")
        project.loop.run(run_all(project.build))
        project.close()
    return project, server


def rows(project: Project, part: str) -> list[Any]:
    return list(project.build.accepted("charpeval", part))


def test_every_recorded_distractor_is_a_suggestion(shared: Path, tmp_path: Path) -> None:
    answers = recorded(shared, "distractors")
    assert len(answers) == 6
    dialogues = {"format": "jsonl", "path": str(packaged("charpeval.yaml").parent / "dialogues.jsonl")}
    project, server = built(tmp_path, answers, dialogues)
    texts = {text for answer in answers.values() for text in json.loads(answer).values()}
    drafts = [one.drafts for one in rows(project, "distractors")]
    assert {text for one in drafts for text in one.values()} == texts
    assert all(set(one) == set(DISTRACTOR_TYPES) for one in drafts)
    assert [one.left_out for one in rows(project, "distractors")] == [{}] * 6
    asked = [one for one in server.requests if one.messages[0]["content"].startswith(BEGINS["distractors"])]
    assert len(asked) == 6  # nothing was asked for again


def test_every_recorded_utterance_is_a_suggestion(shared: Path, tmp_path: Path) -> None:
    """The source has one turn, which was the Bot's when they were asked: what the Bot says to it is not among them."""
    answers = recorded(shared, "utterances")
    assert len(answers) == 6
    path = tmp_path / "turns.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for of in answers:
            knowledge, _, response = of.partition(BETWEEN)
            turn = {"history": f"Well? {knowledge[:20]}", "knowledge": knowledge, "response": response}
            file.write(json.dumps(turn) + "\n")
    project, _ = built(tmp_path, answers, {"format": "jsonl", "path": str(path)})
    found: dict[str, Mapping[str, str]] = {}
    for one in rows(project, "utterances"):
        found[f"{one.knowledge}{BETWEEN}{one.response}"] = one.drafts
        assert one.left_out["bot_turn"] == "the builder had none"
    assert found == {
        of: {name: text for name, text in json.loads(answer).items() if text} for of, answer in answers.items()
    }


@pytest.fixture
def bread(tmp_path: Path) -> dict[str, str]:
    """Figure 1 as a source."""
    path = tmp_path / "figure.jsonl"
    row = {
        "history": ["I like to bake bread in my spare time. Do you?", "Bots cannot bake."],
        "hard_utterance": "I've never tried it. What ingredients do I need to get started?",
        "easy_utterance": "I've never tried it. What ingredients do I need to bake bread?",
        "knowledge": KNOWLEDGE,
        "response": RESPONSE,
    }
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return {"format": "jsonl", "path": str(path)}


def test_the_papers_own_distractors_pass(tmp_path: Path, bread: Mapping[str, str]) -> None:
    project, server = built(tmp_path, {f"{KNOWLEDGE}\n\nRight response:\n{RESPONSE}": json.dumps(FIGURE_1)}, bread)
    (one,) = rows(project, "distractors")
    assert (one.drafts, one.left_out, len(server.requests)) == (FIGURE_1, {}, 1)


def test_what_breaks_a_rule_is_asked_for_again_with_what_is_wrong(tmp_path: Path, bread: Mapping[str, str]) -> None:
    first = json.dumps(FIGURE_1 | {"IECF": "Bread is eaten all over the world.", "COEX": FIGURE_1["RECF"]})
    second = json.dumps({"KGIR": "Another.", "IECF": FIGURE_1["IECF"], "COEX": "Flour is bread!"})

    def answer(messages: Messages) -> str:
        return second if "These do not do" in messages[1]["content"] else first

    with ChatServer(answer) as server:
        model = {"provider": "endpoint", "name": "gpt-4o-mini", "base_url": server.url}
        config = write_config(
            tmp_path, store=str(tmp_path / "store"), model=model, families={"charpeval": {"sources": [bread]}}
        )
        project = Project(config, tmp_path / "out")
        project.loop.run(run_all(project.build))
        project.close()
    (one,) = rows(project, "distractors")
    assert one.drafts == FIGURE_1 | {"COEX": "Flour is bread!"}  # what was not asked for again stays
    again = server.requests[1].messages[1]["content"]
    nothing = "names nothing that the knowledge names and the response does not (Sugar, ingredients, cake)"
    assert f'- IECF: "Bread is eaten all over the world." {nothing}' in again
    assert f'- COEX: "{FIGURE_1["RECF"]}" is the same as RECF' in again
    assert "- KGIR: " + FIGURE_1["KGIR"] in again
    assert len(server.requests) == 2
    assert FAMILY.view_of(one).lines
