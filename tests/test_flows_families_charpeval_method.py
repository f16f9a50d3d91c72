"""CHARPEval's construction on small sources: what is refused, what waits, what people write, what is proved."""

import asyncio
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from annotation.label_studio.task_data import task_data
from flows.construct.counting import part_summary
from flows.construct.verification import VerifyContext
from flows.families.charpeval import FAMILY
from flows.families.charpeval.checks import problems_of
from flows.families.charpeval.prompts import ToDistract
from flows.families.charpeval.rubric import AUTHORING, WRITE_DISTRACTORS, WRITE_UTTERANCES
from flows.families.charpeval.rules import KINDS, draft_distractors, expressions
from flows.families.charpeval.settings import CharpEvalSettings, problems
from flows.families.charpeval.view import view
from flows.language import en
from flows.llm.model import InvalidAnswer, Out, Prompt, Usage
from flows.project.output_files import write_output_files
from flows.project.project import Project
from flows.project.settings import packaged
from schemas.base import Record
from schemas.charpeval import DISTRACTOR_TYPES, Authored, CharpEvalItem, UtterancePair
from schemas.errors import WrongInput
from schemas.rubric import Turn
from tests.builds import write_config
from tests.toy import run_all

DIALOGUES = {"format": "jsonl", "path": str(packaged("charpeval.yaml").parent / "dialogues.jsonl")}
TORTOISE = {
    "KGIR": "A hamster lives for two or three years and is awake at night.",
    "KGUG": "The oldest tortoise on record lived for more than one hundred and eighty years.",
    "RECF": "A tortoise is a reptile with a shell that lives on land.",
    "IECF": "A hamster is a small rodent that carries food in its cheeks.",
    "COEX": "Slow and steady wins the race.",
}
CELLO = {
    "KGIR": "The violin is the smallest of the family.",
    "KGUG": "Many a pianist is sitting down with bent knees.",
    "RECF": "A cello has four strings, an octave below those of the viola.",
    "IECF": "A violin is usually played with a bow.",
    "COEX": "Practice makes perfect.",
}


def project_of(folder: Path, *sources: Mapping[str, Any]) -> Project:
    settings = {"sources": list(sources) or [DIALOGUES]}
    return Project(write_config(folder, store=str(folder / "store"), families={"charpeval": settings}), folder / "out")


def built(folder: Path, *sources: Mapping[str, Any]) -> Project:
    project = project_of(folder, *sources)
    asyncio.run(run_all(project.build))
    return project


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One build for the tests that only read it."""
    return built(tmp_path_factory.mktemp("charpeval"))


def rows(project: Project, part: str) -> list[Any]:
    return list(project.build.accepted("charpeval", part))


def row(project: Project, part: str, word: str) -> Any:
    """The record whose response has the word."""
    (found,) = [one for one in rows(project, part) if en.contains(one.response, word)]
    return found


def faults(project: Project, part: str, changed: Iterable[Record] | None = None) -> list[str]:
    context = VerifyContext(CharpEvalSettings(), project.embedder, lambda name: rows(project, name))
    given = rows(project, part) if changed is None else changed
    return [fault.problem for fault in FAMILY.part(part).verify(given, context)]


def decide(project: Project, part: str, *decisions: tuple[Record, str, Mapping[str, str]]) -> Project:
    """Another run of the project, after people's decisions on what it sifted."""
    rubric = {"utterances": "charpeval-utterance", "distractors": "charpeval-authoring"}[part]
    folder = project.out / "verdicts"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {"key": record.key, "view_hash": record.view_hash, "rubric": rubric, "decision": decision, "by": "a1"}
        | ({"changes": changes} if changes else {})
        for record, decision, changes in decisions
    ]
    with (folder / f"charpeval-{part}.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    again = Project(project.config_path, project.out)
    asyncio.run(run_all(again.build))
    return again


def table(path: Path, dialogues: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in dialogues))
    return {"format": "jsonl", "path": str(path)}


BREAD = {
    "history": ["I bake.", "Bread or cake?", "Bread, mostly.", "That smells good."],
    "last_utterance": "What do I need for it?",
    "knowledge": "Cake is made of sugar, eggs and flour. Bread is baked with water, yeast and salt.",
    "response": "Bread is baked with water, yeast and salt.",
}


# ---- the packaged sample ----


def test_every_part_adds_up_and_is_what_it_claims(sample: Project) -> None:
    summaries = {part.name: part_summary(sample.build, family, part) for family, part in sample.build.parts()}
    for one in summaries.values():
        assert one.planned == one.kept + one.waiting + sum(sum(reasons.values()) for reasons in one.dropped.values())
    assert (summaries["utterances"].planned, summaries["utterances"].waiting) == (15, 6)
    assert (summaries["distractors"].planned, summaries["items"].planned) == (6, 0)
    assert [faults(sample, part.name) for part in FAMILY.parts] == [[], [], []]


def test_nothing_suggested_is_written(sample: Project) -> None:
    for one in rows(sample, "distractors"):
        assert one.distractors == {}
        assert set(one.drafts) <= set(DISTRACTOR_TYPES)
    assert "KGIR" in row(sample, "distractors", "tortoise").drafts


def test_what_is_written_by_people_becomes_items_of_both_subsets(tmp_path: Path) -> None:
    first = built(tmp_path)
    tortoise, cello = row(first, "distractors", "eighty"), row(first, "distractors", "knees")
    after = decide(first, "distractors", (tortoise, "fix", TORTOISE), (cello, "fix", CELLO | {"note": "I play it."}))
    items = rows(after, "items")
    assert [(one.subset, one.dialogue_id) for one in items] == [
        (subset, one.key) for one in (tortoise, cello) for subset in ("hCHARP", "eCHARP")
    ]
    hard, easy = items[:2]
    assert (hard.last_utterance, easy.last_utterance) == (tortoise.hard_utterance, tortoise.easy_utterance)
    assert hard.distractors == TORTOISE
    assert sorted(hard.options) == sorted([tortoise.response, *TORTOISE.values()])
    assert hard.options[hard.gold_index] == tortoise.response
    assert row(after, "distractors", "knees").note == "I play it."
    assert [faults(after, part.name) for part in FAMILY.parts] == [[], [], []]
    summary = part_summary(after.build, FAMILY, FAMILY.part("distractors"))
    assert (summary.kept, summary.waiting) == (2, 4)
    write_output_files(after)  # the tables hold them


def test_a_pair_that_people_complete_goes_on(tmp_path: Path) -> None:
    first = built(tmp_path)
    cheese = row(first, "utterances", "cheese")
    assert cheese.key not in {key for one in rows(first, "distractors") for key in one.provenance.parents}
    changes = {"hard_utterance": "So what makes them?", "easy_utterance": "What makes the holes in Emmental?"}
    again = decide(first, "utterances", (cheese, "fix", changes))
    opened = row(again, "distractors", "cheese")
    assert (opened.hard_utterance, opened.easy_utterance) == tuple(changes.values())
    gone = decide(again, "utterances", (cheese, "reject", {}))
    assert len(rows(gone, "distractors")) == 6
    assert part_summary(gone.build, FAMILY, FAMILY.part("utterances")).dropped["people"] == {"rejected by people": 1}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (TORTOISE | {"COEX": "  "}, "COEX is empty"),
        (TORTOISE | {"RECF": "a TORTOISE may live for more than eighty years"}, "RECF is the same as the response"),
        (TORTOISE | {"COEX": TORTOISE["KGIR"]}, "COEX is the same as KGIR"),
        (TORTOISE | {"IECF": "A tortoise is slow."}, "IECF names nothing"),
    ],
)
def test_a_verdict_that_breaks_a_rule_is_refused(tmp_path: Path, changes: dict[str, str], problem: str) -> None:
    first = built(tmp_path)
    with pytest.raises(WrongInput, match=problem):
        decide(first, "distractors", (row(first, "distractors", "eighty"), "fix", changes))


def test_order_of_work_changes_nothing(sample: Project, tmp_path: Path) -> None:
    again = project_of(tmp_path)
    asyncio.run(run_all(again.build, order=-1))
    for part in ("utterances", "distractors"):
        assert rows(again, part) == rows(sample, part)


# ---- what is refused, and what waits ----


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"history": [], "last_utterance": ""}, "too few turns"),
        ({"knowledge": " ... "}, "no knowledge"),
        ({"knowledge": "Bread, cake."}, "knowledge without sentences"),
        ({"response": " ?! "}, "empty response"),
        ({"response": "I think pasta is easier to cook on weekdays."}, "response not attributable"),
        ({"response": "Is bread baked with water, yeast and salt?"}, "response not attributable"),
    ],
)
def test_each_refusal_has_its_reason(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    project = built(tmp_path, table(tmp_path / "d.jsonl", [BREAD | changes]))
    summary = part_summary(project.build, FAMILY, FAMILY.part("utterances"))
    assert summary.dropped == {"filter_dialogue": {reason: 1}}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, "The hard last utterance is not written yet."),
        ({"hard_utterance": "And?", "easy_utterance": "and"}, "The hard and the easy last utterance are the same."),
        (
            {"hard_utterance": "And?", "easy_utterance": "What is in bread?", "knowledge": BREAD["response"]},
            "The knowledge has no fact that the response does not use: add one.",
        ),
        (
            {
                "hard_utterance": "And?", "easy_utterance": "What is in bread?",
                "knowledge": f"{BREAD['response']} Salt was once rather expensive. Bread is tasty when warm.",
            },
            "The knowledge names nothing that the response does not: add a fact on another thing.",
        ),
    ],
)  # fmt: skip
def test_what_distractors_cannot_be_written_for_waits(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    project = built(tmp_path, table(tmp_path / "d.jsonl", [BREAD | changes]))
    (pair,) = rows(project, "utterances")
    assert problem in [said for _, said in problems_of(pair)]
    assert rows(project, "distractors") == []


def test_a_single_turn_stays_the_users_and_people_write_what_the_bot_says_to_it(tmp_path: Path) -> None:
    begin = {
        "model_name": "t5", "knowledge": BREAD["knowledge"], "message": "I love bread!",
        "response": BREAD["response"], "begin_label": "Fully attributable",
    }  # fmt: skip
    (tmp_path / "b.jsonl").write_text(json.dumps(begin) + "\n")
    first = built(tmp_path / "b", {"format": "begin", "path": str(tmp_path / "b.jsonl")})
    (pair,) = rows(first, "utterances")
    assert (pair.history, pair.last_utterance) == ((), "I love bread!")
    assert pair.provenance.notes == ("the response is output of the model t5",)
    (task,) = WRITE_UTTERANCES.tasks([pair], 7)
    assert task.shown["dialogue"] == (Turn(speaker="User", text="I love bread!"),)
    assert "what the Bot says to it is missing" in str(task.shown["problem"])
    assert "- User: I love bread!" in view(pair).in_markdown()
    texts = {
        "bot_turn": "So do I. Do you bake?",
        "hard_utterance": "Not yet. What would I need for it?",
        "easy_utterance": "Not yet. What would I need for bread?",
    }
    without = {name: text for name, text in texts.items() if name != "bot_turn"}
    with pytest.raises(WrongInput, match="what the Bot says to it is missing"):
        decide(first, "utterances", (pair, "fix", without))
    (first.out / "verdicts" / "charpeval-utterances.jsonl").unlink()
    again = decide(first, "utterances", (pair, "fix", texts))
    (opened,) = rows(again, "distractors")
    assert opened.history == ("I love bread!", "So do I. Do you bake?")
    assert faults(again, "distractors") == []


def test_what_one_says_in_several_turns_is_one_turn(tmp_path: Path) -> None:
    reading = {"FS1": {"entity": "Bread", "shortened_wiki_lead_section": BREAD["knowledge"]}}
    said = (("1", "Hi."), ("1", "I bake."), ("2", "Nice."), ("1", "How?"), ("1", "Tell me."), ("2", BREAD["response"]))
    content = [{"agent": f"agent_{a}", "message": text, "knowledge_source": ["Personal Knowledge"]} for a, text in said]
    content[-1]["knowledge_source"] = ["FS1"]
    row_ = {"conversation_id": "t", "content": content, "reading_set": {"agent_1": reading, "agent_2": reading}}
    (tmp_path / "t.jsonl").write_text(json.dumps(row_) + "\n")
    (pair,) = rows(built(tmp_path, {"format": "topical-chat", "path": str(tmp_path / "t.jsonl")}), "utterances")
    assert (pair.history, pair.last_utterance) == (("Hi. I bake.", "Nice."), "How? Tell me.")


def test_both_subsets_of_charp_become_one_pair_whichever_comes_first(tmp_path: Path) -> None:
    def charp(number: int, last: str, **more: object) -> dict[str, object]:
        history = ["I bake.", "Bread or cake?", "Bread.", "Good.", last]
        return {"row_idx": number, "history": history, **{k: BREAD[k] for k in ("knowledge", "response")}, **more}

    files = {}
    for subset, last in (("eCHARP", "What is in bread?"), ("hCHARP", "What is in it?")):
        path = tmp_path / f"{subset}.jsonl"
        alone = charp(1, last, response="Cake is made of sugar, eggs and flour.") if subset == "hCHARP" else None
        path.write_text("".join(json.dumps(one) + "\n" for one in (charp(0, last), alone) if one))
        files[subset] = {"format": "charp", "path": str(path)}
    project = built(tmp_path, files["eCHARP"], files["hCHARP"])
    pair, alone = rows(project, "utterances")
    assert (pair.hard_utterance, pair.easy_utterance) == ("What is in it?", "What is in bread?")
    assert [one.source for one in pair.provenance.sources] == ["hCHARP.jsonl", "eCHARP.jsonl"]
    assert (alone.hard_utterance, alone.easy_utterance) == ("What is in it?", "")
    summary = part_summary(project.build, FAMILY, FAMILY.part("utterances"))
    assert summary.dropped == {"join_subsets": {"joined with its hard utterance": 1}}
    assert [one.hard_utterance for one in rows(project, "distractors")] == ["What is in it?"]


def test_published_rows_are_read_as_they_are_and_become_items(tmp_path: Path) -> None:
    figure = {
        "KGIR": "Well, the ingredients needed for making cake are sugar, eggs and flour.",
        "KGUG": "Well, bread and water can make a simple meal in difficult times.",
        "RECF": "Bread is a staple food prepared from a dough of flour and water, usually by baking.",
        "IECF": "It is often served as a celebratory dish.",  # names nothing: what is published is not judged
        "COEX": "The best thing since sliced bread.",
    }
    files = []
    for subset, last in (("eCHARP", "What is in bread?"), ("hCHARP", "What is in it?")):
        path = tmp_path / f"{subset}.jsonl"
        both = {"row_idx": 0, "history": [*BREAD["history"], last], "knowledge": BREAD["knowledge"]}
        alone = {"row_idx": 1, "history": ["What do you know?"], "knowledge": "Rye is a grain.", "response": "Rye is."}
        rows_ = [both | {"response": BREAD["response"]}, *([alone] if subset == "eCHARP" else [])]
        path.write_text("".join(json.dumps(one | figure) + "\n" for one in rows_))
        files.append({"format": "charp", "path": str(path)})
    project = built(tmp_path, *files)
    items = rows(project, "items")
    assert {(one.subset, one.last_utterance) for one in items} == {
        ("hCHARP", "What is in it?"), ("eCHARP", "What is in bread?"), ("eCHARP", "What do you know?"),
    }  # fmt: skip
    assert all(one.distractors == figure for one in items)
    assert [faults(project, part.name) for part in FAMILY.parts] == [[], [], []]
    assert list(WRITE_UTTERANCES.tasks(rows(project, "utterances"), 7)) == []
    assert list(WRITE_DISTRACTORS.tasks(rows(project, "distractors"), 7)) == []
    summary = part_summary(project.build, FAMILY, FAMILY.part("distractors"))
    assert (summary.kept, summary.waiting) == (2, 0)
    changed = rows(project, "distractors")[0].revised(COEX="Practice makes perfect.")
    assert "its distractors are not as they were published" in faults(project, "distractors", [changed])


def test_a_published_row_has_all_five(tmp_path: Path) -> None:
    with pytest.raises(WrongInput, match='expected a field "IECF"'):
        built(tmp_path, table(tmp_path / "d.jsonl", [BREAD | {"KGIR": "One.", "KGUG": "Two.", "RECF": "Three."}]))


def test_a_published_row_with_two_options_of_one_text_is_a_drop(tmp_path: Path) -> None:
    five = {
        "hard_utterance": "What is in it?",
        "KGIR": "One.",
        "KGUG": "Two.",
        "RECF": "Three.",
        "IECF": "Four.",
        "COEX": "Five.",
    }
    rows = [BREAD | five, BREAD | five | {"COEX": "Four.", "id": "other", "knowledge": f"{BREAD['knowledge']} Yes."}]
    project = built(tmp_path, table(tmp_path / "d.jsonl", rows))
    summary = part_summary(project.build, FAMILY, FAMILY.part("utterances"))
    assert summary.dropped == {"filter_dialogue": {"two options are the same text": 1}}


def test_a_dialogue_in_another_case_is_a_duplicate(tmp_path: Path) -> None:
    lower = {
        name: [one.lower() for one in text] if isinstance(text, list) else text.lower() for name, text in BREAD.items()
    }
    project = built(tmp_path, table(tmp_path / "d.jsonl", [BREAD, lower]))
    summary = part_summary(project.build, FAMILY, FAMILY.part("utterances"))
    assert summary.dropped == {"drop_duplicates": {"duplicate dialogue and knowledge": 1}}


def test_sources_are_wanted_in_english() -> None:
    assert [*problems(CharpEvalSettings(), {})] == ["sources: is empty; name dialogues with knowledge"]
    chinese = CharpEvalSettings.model_validate({"sources": [{**DIALOGUES, "language": "zh"}]})
    (told,) = problems(chinese, {})
    assert "language zh: CHARPEval reads English" in told


# ---- the builder ----


class Builder:
    """A model whose answers are known, and not checked."""

    name = "scripted"

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    async def complete(self, prompt: Prompt[Out], inputs: Any, *, draw: int = 0, usage: Usage) -> Out:
        usage.calls += 1
        if not self.texts:
            raise InvalidAnswer("answer of the wrong form", "I would rather not.")
        return prompt.output.model_validate({k: v for k, v in self.texts.items() if k in prompt.output.model_fields})

    def identity(self) -> Mapping[str, object]:
        return {"model": "scripted", **self.texts}


def drafted(folder: Path, builder: Builder) -> Project:
    project = project_of(folder)
    models = project.build.families["charpeval"].models
    models.update(dict.fromkeys(models, builder))  # type: ignore[attr-defined]
    asyncio.run(run_all(project.build))
    return project


def test_a_draft_that_would_be_sent_back_is_not_given(tmp_path: Path) -> None:
    texts = TORTOISE | {
        "IECF": "A tortoise is slow.",
        "COEX": "",
        "KGUG": "a hamster lives for two or three years AND is awake at night",
    }
    project = drafted(tmp_path, Builder(**texts, hard_utterance="Well?", easy_utterance="well"))
    authored = row(project, "distractors", "eighty")
    assert authored.drafts == {"KGIR": TORTOISE["KGIR"], "RECF": TORTOISE["RECF"]}
    nothing = "names nothing that the knowledge names and the response does not (hamster, night, winter)"
    left_out = {
        "KGUG": f"the builder's, “{texts['KGUG']}”, is the same as KGIR",
        "IECF": f"the builder's, “A tortoise is slow.”, {nothing}",
        "COEX": "the builder had none",
    }
    assert authored.left_out == left_out
    (task,) = WRITE_DISTRACTORS.tasks([authored], 7)
    assert task.left_out == left_out
    assert task_data(AUTHORING, task)["note_IECF"] == f"No suggestion: {left_out['IECF']}"
    assert f"- no IECF suggested: {left_out['IECF']}" in view(authored).in_markdown()
    cheese = row(project, "utterances", "cheese")
    assert cheese.drafts == {"hard_utterance": "Well?"}
    assert cheese.left_out == {"easy_utterance": "the builder's, “well”, is the same as hard utterance"}


def test_a_builder_without_an_answer_loses_no_dialogue(tmp_path: Path) -> None:
    project = drafted(tmp_path, Builder())
    assert len(rows(project, "distractors")) == 6
    one = row(project, "distractors", "eighty")
    assert one.drafts == {}
    why = "the builder gave no answer that can be read (answer of the wrong form)"
    assert one.left_out == dict.fromkeys(DISTRACTOR_TYPES, why)
    assert one.provenance.prompts == ()


def test_the_rules_take_facts_from_other_dialogues(tmp_path: Path) -> None:
    asked = {"hard_utterance": "What do I need for it?", "easy_utterance": "What do I need to bake bread?"}
    others = [
        "Bread is a staple food in many countries of Europe. Cake is a sweet dish for birthdays.",
        "The smell of bread baked with yeast at night wakes the baker. It is loved.",
    ]
    dialogues = [
        BREAD | asked,
        *(BREAD | asked | {"history": [text, "I see."], "knowledge": f"{text} Snow fell on the town.", "response": text}
          for text in others),
    ]  # fmt: skip
    project = built(tmp_path, table(tmp_path / "d.jsonl", dialogues))
    drafts = rows(project, "distractors")[0].drafts
    assert {kind: drafts[kind] for kind in DISTRACTOR_TYPES if kind != "COEX"} == {
        "KGIR": "Cake is made of sugar, eggs and flour.",
        "KGUG": "The smell of bread baked with yeast at night wakes the baker.",
        "RECF": "Bread is a staple food in many countries of Europe.",
        "IECF": "Cake is a sweet dish for birthdays.",
    }
    assert drafts["COEX"] in {one.text for one in expressions() if one.after == "question"}


def test_the_rules_take_the_sources_own_utterance_for_what_it_is(sample: Project) -> None:
    assert row(sample, "utterances", "cheese").drafts == {"hard_utterance": "So what makes them?"}
    assert row(sample, "utterances", "tomatoes").drafts == {"easy_utterance": "How much sun do tomatoes need?"}


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ("How long will he have to look after it?", "how long"),
        ("And how do I hold it?", "how to"),
        ("Which one do you like?", "choice"),
        ("Is it far?", "yes or no"),
        ("I see. What do mine eat, then?", "question"),
        ("My neighbour keeps wasps.", "statement"),
    ],
)
def test_an_expression_goes_with_the_last_utterance(last: str, kind: str) -> None:
    asked = ToDistract(
        history=("Hello.",), hard_utterance=last, easy_utterance=last, knowledge="Bees eat nectar.", response="Nectar."
    )
    for seed in range(20):
        drafted = draft_distractors(asked, random.Random(seed)).COEX
        assert next(one.after for one in expressions() if one.text == drafted) == kind


def test_the_expressions_are_many_and_stand_once() -> None:
    texts = [one.text for one in expressions()]
    assert len(texts) >= 40
    assert len(set(texts)) == len(texts)
    assert {one.after for one in expressions()} == {"question", "statement", *KINDS}


# ---- damage is found ----


def test_damage_to_a_pair_or_an_authored_dialogue_is_found(sample: Project) -> None:
    pair: UtterancePair = rows(sample, "utterances")[0]
    assert "it stands twice" in faults(sample, "utterances", [pair, pair])
    same = pair.revised(easy_utterance=pair.hard_utterance.upper())
    assert faults(sample, "utterances", [same]) == ["the hard and the easy last utterance are the same"]
    one: Authored = row(sample, "distractors", "eighty")
    assert faults(sample, "distractors", [one.revised(**TORTOISE)]) == []
    for changes, problem in (
        ({"response": "Something else."}, "its dialogue is not that of its pair of utterances"),
        ({"KGIR": "Half."}, "COEX is not written"),
        (TORTOISE | {"KGUG": TORTOISE["RECF"].upper()}, "RECF is the same as KGUG"),
        (TORTOISE | {"IECF": "Nobody knows."}, "IECF names nothing that the knowledge names and the response does not"),
    ):
        assert problem in faults(sample, "distractors", [one.revised(**changes)])


def test_damage_to_an_item_is_found(tmp_path: Path) -> None:
    first = built(tmp_path)
    project = decide(first, "distractors", (row(first, "distractors", "eighty"), "fix", TORTOISE))
    hard, easy = rows(project, "items")

    def damaged(item: CharpEvalItem, **changes: Any) -> CharpEvalItem:
        return item.model_copy(update=changes)

    for given, problem in (
        ([hard], f"dialogue {hard.dialogue_id}: it has no item of eCHARP"),
        ([], "its five distractors are written, but it has no item"),
        ([hard, hard, easy], "it stands twice"),
        ([damaged(hard, gold_index=(hard.gold_index + 1) % 6), easy], "the response is not option"),
        ([damaged(hard, options=hard.options[:5]), easy], "its options are not the response and the five distractors"),
        (
            [damaged(hard, last_utterance=easy.last_utterance), easy],
            "its dialogue is not the one that people wrote for",
        ),
        ([damaged(hard, last_utterance=easy.last_utterance), easy], "its two items have the same last utterance"),
        ([damaged(hard, distractors=TORTOISE | {"COEX": "Time flies."}), easy], "COEX is not as people wrote it"),
        (
            [damaged(hard, distractors=TORTOISE | {"IECF": "Nobody knows."}), easy],
            "IECF names nothing that the knowledge names and the response does not",
        ),
        ([damaged(hard, dialogue_id="0"), easy], "no dialogue is called 0"),
        ([damaged(hard, history=()), easy], "its two items differ in history"),
    ):
        assert any(problem in one for one in faults(project, "items", given)), problem


# ---- the real data ----


@pytest.mark.slow
def test_real_dialogues_become_candidates(shared: Path, tmp_path: Path) -> None:
    data = shared / "data"
    project = built(
        tmp_path,
        {"format": "topical-chat", "path": str(data / "topical_chat_en/valid_rare.jsonl.gz"), "limit": 3000},
        {"format": "begin", "path": str(data / "begin_wow_en/begin_wow.jsonl.gz")},
    )
    summary = part_summary(project.build, FAMILY, FAMILY.part("utterances"))
    dropped = sum(sum(reasons.values()) for reasons in summary.dropped.values())
    assert summary.planned == summary.waiting + dropped
    pairs = rows(project, "utterances")
    assert faults(project, "utterances") == []
    waits = [{name for name, _ in problems_of(pair)} for pair in pairs]
    ready_but_for_utterances = [names for names in waits if "knowledge" not in names]
    assert len(ready_but_for_utterances) > 400
    model_output = [pair for pair in pairs if pair.source.startswith("begin:")]
    assert all(pair.provenance.notes[0].startswith("the response is output of the model") for pair in model_output)
