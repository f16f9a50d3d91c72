"""LV-Eval's confusing facts by the rules: what the question asks, of another, or of what is beside its subject."""

import asyncio
import random
import re
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import orjson
import pytest

from flows.families.lveval.confusing_facts import facts_problem
from flows.families.lveval.inputs import ToConfuse
from flows.families.lveval.rules.confusing_facts import candidate_facts, confusing_facts
from flows.families.lveval.rules.entities_en import entity_type, renamed
from flows.families.lveval.rules.sentences_en import Collection, may_name, page_and_type, sentences
from flows.llm.model import Invalid
from flows.project.output_files import write_output_files
from flows.project.project import Project
from tests.builds import ROOT, write_config
from tests.toy import run_all


def asked(question: str, answer: str, fact: str, language: str = "en") -> ToConfuse:
    return ToConfuse(question=question, answers=(answer,), fact=fact, title="", language=language)


def made(inputs: ToConfuse, page: str, others: Sequence[str] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    texts = {"documents": (page,), "collection": (page, *others)}
    return candidate_facts(inputs.model_copy(update=texts), random.Random(1))


def pages() -> list[str]:
    lines = (ROOT / "data" / "samples" / "pages.jsonl").read_bytes().splitlines()
    return [f"{page['title']}\n{page['text']}" for page in map(orjson.loads, lines)]


ALDER = asked("How high is Mount Alder?", "2,850 metres", "It is about 2,850 metres high.")
MOUNTAIN = "Mount Alder is a mountain in Norway. It is about 2,850 metres high. It is the home of many rare birds."
BAN = asked("班杰是什么职业呀？", "男演员", "班杰，台湾男演员。", "zh")
ACTOR = "班杰（），台湾男演员，出生于美国奥克拉荷马州的奥克拉荷马市，在麻州的波士顿长大。"


@pytest.mark.parametrize(
    ("inputs", "page", "subject", "other"),
    [
        (
            ALDER,
            MOUNTAIN,
            r"Mount [A-Z]\w+ is about 2,\d{3} metres high\.",
            r"Mount Alder is the home of many rare birds\.",
        ),
        (
            asked("In which year did Ida Holm settle in Vienna?", "1781", "In 1781 she settled in Vienna."),
            "Ida Holm was a composer. In 1781 she settled in Vienna.",
            r"[A-Z]\w+ [A-Z]\w+ settled in Vienna in 17\d\d\.",
            r"Ida Holm settled in (?!Vienna)[A-Z]\w+ in 17\d\d\.",
        ),
        (
            asked("Which painter visited Clara Schumann in 1853?", "Johannes Brahms", "Johannes Brahms visited her."),
            "Clara Schumann was a pianist. Johannes Brahms visited her.",
            r"[A-Z]\w+ [A-Z]\w+ visited [A-Z]\w+ [A-Z]\w+ in 1853\.",
            r"[A-Z]\w+ [A-Z]\w+ visited Clara Schumann in 185[678]\.",
        ),
        (
            asked("Are both Ride a Pony and Kelm films?", "yes", "Ride a Pony is a 1975 family film by Don Chaffey."),
            "Ride a Pony\nRide a Pony is a 1975 family film by Don Chaffey. It was shot in Wales by a small crew.",
            r"[A-Z].* is a 1975 family film by Don Chaffey\.",
            r"Ride a Pony was shot in Wales by a small crew\.",
        ),
        (BAN, ACTOR, r"\w{2,3}的职业是\w+。", r"班杰出生于美国奥克拉荷马州的奥克拉荷马市。"),
        (
            asked("天水围河全长有多少公里？", "27公里", "天水围河全长27公里。", "zh"),
            "天水围河（）是香港新界西北部比较长的明渠。天水围河全长27公里。",
            r"\w+河全长有\d+公里。",
            r"天水围河是香港新界西北部比较长的明渠。",
        ),
    ],
)  # fmt: skip
def test_the_question_is_answered_for_another(inputs: ToConfuse, page: str, subject: str, other: str) -> None:
    found = made(inputs, page)
    assert re.fullmatch(subject, found[0][0])
    assert re.fullmatch(other, found[1][0])
    documents = {"documents": (page,), "collection": (page,), "seed": "1"}
    facts = confusing_facts(inputs.model_copy(update=documents), random.Random(1))
    assert facts_problem(inputs, facts.subject, facts.object) is None


def test_another_subject_is_not_given_to_what_is_true_of_one_alone() -> None:
    inputs = asked("Who proposed the World Wide Web at CERN?", "Tim Berners-Lee", "Tim Berners-Lee proposed it.")
    assert made(inputs, "CERN is a European laboratory. Tim Berners-Lee proposed it.")[0] == ()


def test_a_sentence_of_another_document_serves_where_no_name_is_to_be_changed() -> None:
    inputs = asked("What did James Watt add to the steam engine?", "governor", "The governor was added by Watt.")
    page = "James Watt was a Scottish engineer. The governor was added by Watt."
    other = "In 1781 James Watt patented a steam engine that produced continuous motion. It was loud."
    found = made(inputs, page, [other])
    assert found[1][0] == "In 1781 James Watt patented a steam engine that produced continuous motion."
    assert found[0][0].endswith("patented a steam engine that produced continuous motion.")
    assert "James Watt" not in found[0][0]


def test_a_page_of_another_of_the_same_sort_gives_the_subject_fact() -> None:
    inputs = asked("Are Ida Holm and Jan Berg both composers?", "no", "Ida Holm was a Danish composer of operas.")
    page = "Ida Holm\nIda Holm was a Danish composer of operas."
    others = [
        "Aln Castle\nAln Castle is a Danish castle of operas.",
        "Olaf Lund\nOlaf Lund (born 1731) was a composer of operas.",
    ]
    others += [f"Tower {number}\nTower {number} is a tower in a town." for number in range(50)]
    assert made(inputs, page, others)[0][0] == "Olaf Lund was a composer of operas."


def test_a_pronoun_gives_way_to_the_name_that_the_sentence_before_is_of() -> None:
    document = (
        "Lake Alder is in Norway. It is the home of many rare birds. They are small. It was dammed in the spring."
    )
    assert [saying.text for saying in sentences(document)] == ["Lake Alder is the home of many rare birds."]


def test_a_sentence_holds_others() -> None:
    document = (
        "Boilers were made by Arthur Woolf, who patented an engine in 1805, and the French army bought two boilers."
    )
    assert {saying.text for saying in sentences(document)} >= {
        "Arthur Woolf patented an engine in 1805.",
        "The French army bought two boilers.",
        "Boilers were made by Arthur Woolf.",
    }


def test_a_relative_clause_is_no_sentence() -> None:
    assert sentences("A General Court that deals with issues of detail in Norway.") == ()


def test_no_object_fact_decides_a_question_for_a_choice() -> None:
    inputs = asked("Who was born first, Ida Holm or Jan Berg?", "Ida Holm", "Ida Holm was a composer from Oslo.")
    page = (
        "Jan Berg\nJan Berg was a Danish painter, born in 1781 in Aarhus. He was taught by his father. He sold ships."
    )
    assert made(inputs, page)[1]
    assert not any("1781" in fact for fact in made(inputs, page)[1])


@pytest.mark.parametrize(
    ("name", "sort"),
    [
        ("Ernest Rutherford", "person"),
        ("Lake Baikal", "water"),
        ("Panama Canal", "building"),
        ("Royal Society", "organisation"),
        ("Iceland", "country"),
        ("Iranian Revolution", "event"),
        ("UNESCO", "organisation"),
        ("Selle v. Gibb", None),
    ],
)
def test_a_name_tells_its_sort(name: str, sort: str | None) -> None:
    found = entity_type(name, ())
    assert (found and found.of) == sort


def test_a_name_keeps_what_says_its_kind() -> None:
    names = (
        "European Space Agency",
        "University of Bologna",
        "Mount Everest",
        "League of Nations",
        "Marie Curie",
        "Walt Disney Productions",
    )
    assert [renamed(name, "Aln") for name in names] == [
        "Aln Space Agency", "University of Aln", "Mount Aln", "League of Aln", None, "Aln Productions",
    ]  # fmt: skip


def test_an_object_fact_says_what_the_page_says_besides() -> None:
    inputs = asked("In which city did Ida Holm die?", "Vienna", "Ida Holm died in Vienna in 1781.")
    page = "Ida Holm\nIda Holm was a composer. She married a printer in Oslo, who taught her. She died in Vienna."
    assert made(inputs, page)[1][0] == "Ida Holm married a printer in Oslo, who taught her."


def test_a_chinese_object_fact_is_a_clause_of_the_page_and_a_subject_fact_of_an_invented_name() -> None:
    inputs = asked("刘燕卿毕业于什么学校？", "香港中文大学", "刘燕卿，现职香港申诉专员，毕业于香港中文大学。", "zh")
    subject, other = made(inputs, inputs.fact)
    assert re.fullmatch(r"(?!刘燕卿)\w{3}毕业于\w+大学。", subject[0])
    assert other == ("刘燕卿现职香港申诉专员。",)


@pytest.mark.parametrize(
    ("question", "answer", "page"),
    [
        ("红钻鱼在哪里栖息？", "深沟或斜坡地", "红钻鱼（）是一种鱼。栖息在深沟或斜坡地，离底5至8公尺处洄游。"),
        ("青斑鱼的雄鱼是什么颜色的？", "体呈蓝绿色，上下唇蓝色", "青斑鱼（）是一种鱼。雄鱼体呈蓝绿色，上下唇蓝色。"),
        ("朗文是什么职业？", "作家", "朗文（），英国作家。朗文曾任出版社编辑。"),
        ("圣母小学的校训是什么？", "仁爱", "圣母书院位于香港，附设圣母小学。校训为仁爱。"),
    ],
)
def test_no_chinese_object_fact_tells_of_what_is_asked(question: str, answer: str, page: str) -> None:
    inputs = asked(question, answer, page.split("。")[1] + "。", "zh")
    assert [one for one in made(inputs, page)[1] if "是一种鱼" not in one] == []


def test_a_fact_that_is_not_to_be_had_is_left_empty() -> None:
    page = "Mount Alder is about 2,850 metres high."
    facts = confusing_facts(ALDER.model_copy(update={"documents": (page,), "collection": (page,)}), random.Random(1))
    assert re.fullmatch(r"Mount (?!Alder)[A-Z]\w+ is about 2,\d{3} metres high\.", facts.subject)
    assert facts.object == ""
    with pytest.raises(Invalid, match="nothing parallel to be said"):
        confusing_facts(asked("Is it so?", "yes", "It is so."), random.Random(1))


@pytest.mark.slow
def test_by_the_rules_a_share_of_the_pairs_has_two_facts(shared: Path, tmp_path: Path) -> None:
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
    write_output_files(project)
    facts: dict[str, dict[str, int]] = {name: {} for name in datasets}
    for record in project.build.accepted("lveval", "confusing-facts"):
        own = facts[record.dataset]
        own[record.pair_id] = own.get(record.pair_id, 0) + 1
    both = {name: sum(number == 2 for number in own.values()) for name, own in facts.items()}
    assert min(both.values()) >= 20, both


def test_what_is_known_of_a_document_before_its_sentences_are_made_holds_for_each_of_them() -> None:
    told = [(document, sentence) for document in pages() for sentence in sentences(document)]
    assert len(told) > 20
    assert all((sentence.page, sentence.type) == page_and_type(document) for document, sentence in told)
    assert any(sentence.type is not None for _, sentence in told)
    assert all(may_name(document, [sentence.text]) for document, sentence in told)
    assert sum(may_name(document, ["Marie Curie"]) for document in pages()) < len(pages()) / 2


@pytest.mark.parametrize("document", ["A New\nYork (US) line.", "A New (or Old) York's line", "A Ne(x)w York line"])
def test_a_name_may_stand_where_white_space_and_brackets_go(document: str) -> None:
    assert may_name(document, ["London", "New York"])
    assert may_name(document, ["New London"]) is ("(x)" in document)


def test_the_weight_of_words_does_not_depend_on_their_order() -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven"]
    collection = Collection([" ".join(words[:number]) for number in range(1, len(words) + 1)])
    assert len({collection.weight(order) for order in permutations(words)}) == 1
