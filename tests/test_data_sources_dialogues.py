"""Dialogues out of rows: CHARP, FaithDial, Topical-Chat, BEGIN and tables of one's own."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from data.sources import SourceError, SourceSpec, read_source
from schemas.base import Dropped
from schemas.source import Dialogue

BREAD = "Cake is made of sugar; bread is baked with water, yeast and salt."


def write(path: Path, rows: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path, format_: str, **more: object) -> tuple[list[Dialogue], list[Dropped]]:
    dropped: list[Dropped] = []
    spec = SourceSpec.model_validate({"format": format_, "path": str(path), **more})
    return list(read_source(spec, Dialogue, dropped.append)), dropped


def said(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in dialogue.history]


# ---- the shared data: kept + dropped = rows ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "name", "kept", "dropped"),
    [
        (
            "topical-chat",  # 11,681 messages
            "topical_chat_en/valid_freq.jsonl.gz",
            8_768,
            {"personal knowledge alone": 1_735, "missing evidence": 1_124, "duplicate text": 54},
        ),
        (
            "begin",  # 2,753 rows
            "begin_wow_en/begin_wow.jsonl.gz",
            1_068,
            {"response not attributable": 1_684, "duplicate text": 1},
        ),
    ],
)
def test_every_row_of_the_shared_data_is_kept_or_dropped(
    shared: Path, format_: str, name: str, kept: int, dropped: dict[str, int]
) -> None:
    records, refused = read(shared / "data" / name, format_)
    assert (len(records), Counter(one.reason for one in refused)) == (kept, dropped)


def test_topical_chat_takes_the_text_of_the_section_its_author_had(shared: Path) -> None:
    records, _ = read(shared / "data" / "topical_chat_en/valid_freq.jsonl.gz", "topical-chat", limit=60)
    second = next(one for one in records if one.source.id.endswith("#2"))
    assert (second.last_utterance, second.response) == ("Are you a football fan?", "yes, I'm. a football fan.")
    assert second.knowledge.startswith("Sports commonly called football in certain places include")
    assert second.history == ()
    assert not second.attributed
    fourth = next(one for one in records if one.source.id.endswith("#4"))
    assert [speaker for speaker, _ in said(fourth)] == ["User", "Bot"]


def test_begin_says_which_model_wrote_the_response(shared: Path) -> None:
    records, _ = read(shared / "data" / "begin_wow_en/begin_wow.jsonl.gz", "begin", limit=5)
    assert {one.note for one in records} <= {
        f"the response is output of the model {name}" for name in ("ctrl", "t5", "doha", "gpt2")
    }
    assert all(one.attributed and one.history == () and one.last_utterance for one in records)


# ---- each format by itself ----


def charp(number: int, last: str, **more: object) -> dict[str, object]:
    return {"row_idx": number, "history": ["I bake.", "So?", last], "knowledge": BREAD, "response": "Water.", **more}


def test_charp_in_one_file_with_a_subset(tmp_path: Path) -> None:
    rows = [charp(0, "What do I need?", subset="hCHARP"), charp(0, "What does bread need?", subset="eCHARP")]
    hard, easy = read(write(tmp_path / "charp.jsonl", rows), "charp")[0]
    assert said(hard) == [("User", "I bake."), ("Bot", "So?")]
    assert (hard.hard_utterance, hard.easy_utterance, hard.last_utterance) == ("What do I need?", "", "")
    assert (easy.hard_utterance, easy.easy_utterance) == ("", "What does bread need?")
    assert hard.key != easy.key


def test_charp_in_files_that_are_named_after_their_subset(tmp_path: Path) -> None:
    (easy,), _ = read(write(tmp_path / "eCHARP.jsonl", [charp(0, "What does bread need?")]), "charp")
    assert easy.easy_utterance == "What does bread need?"


@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        ("rows.jsonl", charp(0, "So?"), 'expected a field "subset", or a file\'s name, with hCHARP or eCHARP'),
        ("rows.jsonl", charp(0, "So?", subset="CHARP"), 'found "CHARP"'),
        ("hCHARP.jsonl", charp(0, "So?") | {"history": []}, "found an empty list"),
    ],
)
def test_charp_says_what_it_lacks(tmp_path: Path, name: str, row: dict[str, Any], expected: str) -> None:
    with pytest.raises(SourceError) as raised:
        read(write(tmp_path / name, [row]), "charp")
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


def test_faithdial_gives_each_response_with_what_was_said_before(tmp_path: Path) -> None:
    def utterance(history: list[str], response: str) -> dict[str, object]:
        return {
            "history": history, "speaker": "Wizard", "knowledge": BREAD, "original_response": "I love it!",
            "response": response, "BEGIN": ["Hallucination"], "VRM": ["Disclosure"],
        }  # fmt: skip

    rows = [{"utterances": [utterance(["I bake."], "Nice."), utterance(["I bake.", "Nice.", "How?"], "With yeast.")]}]
    path = tmp_path / "valid.json"
    path.write_text(json.dumps(rows))
    (first, second), _ = read(path, "faithdial")
    assert (first.history, first.last_utterance, first.response) == ((), "I bake.", "Nice.")
    assert said(second) == [("User", "I bake."), ("Bot", "Nice.")]
    assert (second.last_utterance, second.response, second.attributed) == ("How?", "With yeast.", True)
    assert [one.source.id for one in (first, second)] == ["row 1#1", "row 1#2"]


def test_topical_chat_refuses_what_has_no_text(tmp_path: Path) -> None:
    def message(agent: str, text: str, *sources: str) -> dict[str, object]:
        return {"message": text, "agent": agent, "knowledge_source": list(sources)}

    content = [
        message("agent_1", "Hi.", "Personal Knowledge"),
        message("agent_2", "Bread needs yeast.", "FS1", "Personal Knowledge"),
        message("agent_1", "So the paper says.", "AS1", "FS1"),
        message("agent_2", "Cake needs sugar.", "FS2"),
    ]
    section = {"FS1": {"entity": "Bread", "shortened_wiki_lead_section": "Bread \n is baked."}}
    sets = {"agent_1": section, "agent_2": {**section, "FS2": {"entity": "Cake", "shortened_wiki_lead_section": ""}}}
    path = write(tmp_path / "t.jsonl", [{"conversation_id": "t_1", "content": content, "reading_set": sets}])
    (kept,), refused = read(path, "topical-chat")
    assert (kept.last_utterance, kept.knowledge, kept.source.id) == ("Hi.", "Bread is baked.", "t_1#2")
    assert [(one.reason, one.evidence.partition(":")[0]) for one in refused] == [
        ("personal knowledge alone", "Hi."),
        ("missing evidence", "AS1"),
        ("missing evidence", "FS2"),
    ]


def test_a_table_of_dialogues_goes_by_a_field_map(tmp_path: Path) -> None:
    rows = [
        {"said": ["A.", "B.", "C."], "knowledge": BREAD, "response": "R.", "id": "d1"},
        {"said": "Only this.", "knowledge": BREAD, "response": "R2."},
        {"said": ["A.", "B."], "hard_utterance": "H?", "easy_utterance": "E?", "knowledge": BREAD, "response": "R3."},
    ]
    (three, one, pair), _ = read(write(tmp_path / "d.jsonl", rows), "jsonl", fields={"history": "said"})
    assert (said(three), three.last_utterance) == ([("User", "A."), ("Bot", "B.")], "C.")
    assert (one.history, one.last_utterance, one.source.id) == ((), "Only this.", "line 2")
    assert (said(pair), pair.hard_utterance, pair.last_utterance) == ([("User", "A."), ("Bot", "B.")], "H?", "")
