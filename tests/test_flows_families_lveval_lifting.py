"""LV-Eval's confusing facts by the rules: sentences of other documents that make sense where they are put."""

import asyncio
import random
from pathlib import Path

import pytest

from flows.compose import Project
from flows.families.lveval.confusing import facts_problem
from flows.families.lveval.lifting import Sayings, own_subjects, sayings
from flows.families.lveval.prompts import ToConfuse
from flows.families.lveval.rules import confusing_facts
from flows.llm.model import Invalid
from flows.outputs import write_outputs
from schemas.base import Provenance
from schemas.lveval import Document, Pair
from tests.builds import write_config
from tests.toy import run_all


def asked(question: str, answer: str, fact: str, language: str = "en", title: str = "") -> ToConfuse:
    return ToConfuse(question=question, answers=(answer,), fact=fact, title=title, language=language)


def pair(inputs: ToConfuse, text: str) -> Pair:
    return Pair(
        key="1",
        dataset="hotpotwikiqa-mixup",
        question=inputs.question,
        answers=inputs.answers,
        documents=(Document(id="1", text=text),),
        language=inputs.language,
        source="s",
        row="1",
        provenance=Provenance(seed=1),
    )


def said(language: str, document: str) -> list[tuple[str, str]]:
    return [(saying.text, saying.about) for saying in sayings(language, document)]


def test_a_sentence_is_lifted_where_it_makes_sense_alone() -> None:
    page = (
        "Lise Meitner (physicist)\nLise Meitner taught physics in Berlin for many years. She was born in Vienna as one "
        "of eight children. Her work on fission was long overlooked by others. However, Lise Meitner won many prizes. "
        "Otto Hahn was a chemist who worked in the same house. Was she honoured at all in her lifetime? Yes."
    )
    assert said("en", page) == [
        ("Lise Meitner taught physics in Berlin for many years.", "Lise Meitner"),
        ("Lise Meitner was born in Vienna as one of eight children.", "Lise Meitner"),
        ("Otto Hahn was a chemist who worked in the same house.", "Otto Hahn"),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Though the British were later defeated at Sainte Foy, the French ceded it.",
        "Since its foundation, the club has won the cup four times.",
        "Critics said that the film was too long for most children.",
        'The game is based on the film "" and on a comic.',
        "Few people read this book when it came out at last.",
    ],
)
def test_what_points_elsewhere_or_has_lost_a_word_is_not(sentence: str) -> None:
    assert said("en", sentence) == []


def test_a_chinese_sentence_is_lifted_with_what_its_document_is_about() -> None:
    page = (
        "龙珠果（学名：Passiflora）是西番莲属的一种草质藤本植物。它原产于西印度群岛的温暖地区。"
        "果实可以食用但是味道很淡。同时该种也被当作杂草。"
    )
    assert said("zh", page) == [
        ("龙珠果是西番莲属的一种草质藤本植物。", "龙珠果"),
        ("龙珠果原产于西印度群岛的温暖地区。", "龙珠果"),
    ]


@pytest.mark.parametrize(
    ("inputs", "subjects"),
    [
        (asked("When did the Memphis Hustle play?", "1999", "x", title="Memphis Hustle"), ["the Memphis Hustle"]),
        (asked("Which is older, Alain Resnais or Scott Sidney?", "Scott Sidney", "x"), ["Alain Resnais"]),
        (asked("How many seats are in the debating chamber?", "131", "x"), ["chamber"]),
        (asked("《芝加哥》获得多少项奖？", "6项", "x", "zh"), ["《芝加哥》"]),
        (asked("宝山镇内的中学叫什么名字?", "宝山中学", "x", "zh"), ["宝山镇"]),
    ],
)
def test_a_question_tells_what_it_is_about(inputs: ToConfuse, subjects: list[str]) -> None:
    assert own_subjects(inputs)[: len(subjects)] == subjects


ENGLISH = asked(
    "Where did Marie Curie study physics and chemistry?", "Paris", "Marie Curie studied physics and chemistry in Paris."
)
CHINESE = asked("大果西番莲分布在什么地区？", "热带美洲", "大果西番莲分布在热带美洲的森林。", "zh")
PAGES = {
    "en": (
        "Lise Meitner\nLise Meitner studied physics in Vienna with Ludwig Boltzmann.",
        "Otto Hahn\nOtto Hahn taught physics and chemistry in Berlin for years.",
        "Marie Curie\nMarie Curie studied physics and chemistry in Paris. She worked very hard there.",
    ),
    "zh": (
        "龙珠果（学名）分布在许多温暖的地区的森林。",
        "番木瓜是一种植物，分布在世界各地的热带地区。",
        "大果西番莲分布在热带美洲的森林。",
    ),
}


@pytest.mark.parametrize("inputs", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_the_rules_find_two_facts_that_meet_what_is_asked_of_a_model(inputs: ToConfuse) -> None:
    pages = PAGES[inputs.language]
    found = Sayings(inputs.language, pages).facts(inputs, pair(inputs, pages[2]), random.Random(1))
    made = confusing_facts(
        inputs.model_copy(update={"subject_facts": found[0], "object_facts": found[1]}), random.Random(1)
    )
    assert facts_problem(inputs, made.subject, made.object) is None
    assert own_subjects(inputs)[0] not in made.subject
    assert own_subjects(inputs)[0] in made.object
    assert made.subject not in made.object


def test_a_fact_that_is_not_to_be_had_is_left_empty() -> None:
    one = ENGLISH.model_copy(update={"subject_facts": ("Lise Meitner taught physics.",)})
    assert confusing_facts(one, random.Random(1)).object == ""
    with pytest.raises(Invalid, match="no document says the like"):
        confusing_facts(ENGLISH, random.Random(1))


@pytest.mark.slow
def test_by_the_rules_half_of_the_pairs_have_two_facts(shared: Path, tmp_path: Path) -> None:
    data = shared / "data"
    sources = {
        "hotpotwikiqa-mixup": {"format": "hotpotqa", "path": str(data / "hotpotqa_en" / "dev_subsampled.jsonl.gz")},
        "multifieldqa-en-mixup": {"format": "squad", "path": str(data / "squad2_en" / "dev.json.gz")},
        "multifieldqa-zh-mixup": {
            "format": "squad", "path": str(data / "cmrc2018_zh" / "cmrc2018_dev.json.gz"), "language": "zh",
        },
    }  # fmt: skip
    datasets = {name: {"pairs": 40, "sources": [source]} for name, source in sources.items()}
    block = {"levels": ["1k"], "parts": ["confusing-facts"], "datasets": datasets}
    config = write_config(tmp_path, store=str(tmp_path / "store"), families={"lveval": block})
    project = Project(config, tmp_path / "out")
    asyncio.run(run_all(project.build, 1))
    write_outputs(project)
    facts: dict[str, dict[str, int]] = {name: {} for name in datasets}
    for record in project.build.accepted("lveval", "confusing-facts"):
        own = facts[record.dataset]
        own[record.pair_id] = own.get(record.pair_id, 0) + 1
    assert {name: sum(number == 2 for number in own.values()) >= 20 for name, own in facts.items()} == dict.fromkeys(
        datasets, True
    )
