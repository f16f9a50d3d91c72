"""LV-Eval's replacement rules and keywords: what a person would not mind passes, what a person would mind is named."""

import asyncio
import gzip
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from flows.construct.engine import Drop
from flows.families.lveval.answer_keywords import keywords_problem
from flows.families.lveval.facts import packaged_fact
from flows.families.lveval.inputs import ToMark, ToRename
from flows.families.lveval.method import mark_keywords
from flows.families.lveval.prompts import ANSWER_KEYWORDS, REPLACEMENT_RULES, rules_in
from flows.families.lveval.replacement_checks import (
    AMONG_RULES,
    ARTICLE,
    COMMON,
    EXTRA,
    FOLLOWS,
    FORM,
    INSIDE,
    KIND,
    NOWHERE,
    OTHER,
    PART,
    PLAIN,
    SHARED,
    STANDS,
    TOGETHER,
    applicable_rules,
    rules_problem,
)
from flows.families.lveval.rules.replacements import replacement_rules
from flows.language.keywords import apply
from flows.llm.model import Invalid
from schemas.base import Provenance
from schemas.lveval import Document, Pair, Rule


def asked_of(question: str, answers: Sequence[str], *documents: str, language: str = "en", most: int = 8) -> ToRename:
    return ToRename(
        question=question, answers=tuple(answers), sentences=documents, documents=documents, language=language,
        most=most, candidates=(),
    )  # fmt: skip


def rules_of(*lines: str) -> list[Rule]:
    return [Rule(old=old, new=new) for old, new in (line.split(" -> ") for line in lines)]


CURIE = asked_of(
    "Where did Marie Curie study physics?",
    ["Paris"],
    "Marie Curie studied physics in Paris, where Curie worked hard.",
    "An Apium was named for Pierre Curie in May 1931.",
)


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        (["Marie Curie -> Vera Lund", "Curie -> Lund"], []),
        (["Marie Curie -> Vera Lund", "Curie -> Lund", "Paris -> Corvath"], []),
        (["Marie Curie -> Vera Lund"], [("Marie Curie", PART)]),
        (["Curie -> Lund"], [("Curie", INSIDE)]),
        (["Paris -> Corvath", "Einstein -> Hartmann"], [("Einstein", NOWHERE)]),
        (["Paris -> Pierre"], [("Paris", STANDS)]),
        (["Marie Curie -> Marie Lund", "Curie -> Lund"], [("Marie Curie", SHARED), ("Curie", TOGETHER)]),
        (["Marie Curie -> Otto Lund", "Curie -> Lund"], [("Marie Curie", KIND), ("Curie", TOGETHER)]),
        (["Paris -> a town"], [("Paris", FORM)]),
        (["Paris -> Really? Yes"], [("Paris", FORM)]),
        (["Paris -> Corvath", "May 1931 -> June 1926"], []),
        (["Paris -> Corvath", "May 1931 -> Spring"], [("May 1931", KIND)]),
        (["Paris -> Corvath", "1931 -> 1926"], []),
        (["Apium -> Marium", "Paris -> Corvath"], [("Apium", ARTICLE)]),
        (["Apium -> Umbrium", "Paris -> Corvath"], []),
        (["Paris -> Corvath", "paris -> Dellbrook"], [("paris", AMONG_RULES)]),
        (["Paris -> Olmstead", "Apium -> Olmstead"], [("Apium", AMONG_RULES)]),
    ],
)
def test_one_bad_rule_is_left_out_and_the_others_stay(lines: list[str], lost: list[tuple[str, str]]) -> None:
    rules = rules_of(*lines)
    kept, told = applicable_rules(CURIE, rules)
    assert list(dict.fromkeys((one.old, one.kind) for one in told)) == lost
    assert [rule.old for rule in kept] == [rule.old for rule in rules if rule.old not in dict(lost)]


@pytest.mark.parametrize(
    ("text", "lines", "lost"),
    [
        ("Scotland has a Scottish cabinet.", ["Scotland -> Caldonia"], ["Scotland"]),
        ("Scotland has a Scottish cabinet.", ["Scotland -> Caldonia", "Scottish -> Caldonian"], []),
        (
            "The Library of Ethiopia is in Ethiopia.",
            ["Library of Ethiopia -> Library of Zembora"],
            ["Library of Ethiopia"],
        ),
        ("France lost Havana; the French left.", ["France -> Valdorre"], ["France"]),
        ("France lost Havana; Christians left.", ["France -> Valdorre"], []),
    ],
)
def test_a_country_is_renamed_everywhere_or_nowhere(text: str, lines: list[str], lost: list[str]) -> None:
    _, told = applicable_rules(asked_of(text, ["yes"], text), rules_of(*lines))
    assert [one.old for one in told] == lost


@pytest.mark.parametrize(
    ("text", "lines", "lost"),
    [
        ("Will Marsh will write.", ["Will Marsh -> Otto Brand", "Will -> Otto"], [("Will", COMMON)]),
        ("Will Marsh will write.", ["Will Marsh -> Otto Brand"], []),
        ("MARSH is Will Marsh, the poet.", ["Will Marsh -> Otto Brand", "Marsh -> Brand"], []),
        ("She flew the Boeing 747, and the 747 was fast.", ["Boeing 747 -> Hallen 312"], [("Boeing 747", PART)]),
        ("She flew the Boeing 747, and the 747 was fast.", ["Boeing 747 -> Hallen 747"], []),
        ("Davies' team won.", ["Davies -> Holt"], [("Davies", FORM)]),
        ("Ann Davies led; Davies' team won.", ["Ann Davies -> Eva Holts", "Davies -> Holts"], []),
        ("Sean Yseult plays bass. She sings.", ["Sean Yseult -> Mara Ellwyn"], []),
        ("Sean Yseult plays bass. He sings.", ["Sean Yseult -> Mara Ellwyn"], [("Sean Yseult", KIND)]),
        ("Sean Yseult plays bass.", ["Sean Yseult -> Robin Ellwyn"], []),
        ("The band has Chris Lee and Benji Lee.", ["Chris Lee -> Nick Hollis"], []),
        ("The band has Chris Lee, and Lee sings.", ["Chris Lee -> Nick Hollis"], [("Chris Lee", PART)]),
        ("Apollo 11 took 11 days.", ["Apollo 11 -> Meridian 4"], []),
        ("Denali, also known as Mount McKinley, is high.", ["Denali -> Tanaro"], [("Denali", OTHER)]),
        ("Denali, also known as Mount McKinley, is high.", ["Denali -> Tanaro", "McKinley -> Harlan"], []),
    ],
)
def test_what_else_a_rule_would_change_or_leave(text: str, lines: list[str], lost: list[tuple[str, str]]) -> None:
    _, told = applicable_rules(asked_of(text, ["yes"], text), rules_of(*lines))
    assert [(one.old, one.kind) for one in told] == lost


def test_rules_beyond_those_asked_for_are_left_out() -> None:
    asked = CURIE.model_copy(update={"most": 1})
    kept, told = applicable_rules(asked, rules_of("Paris -> Corvath", "Apium -> Umbrium"))
    assert [rule.old for rule in kept] == ["Paris"]
    assert [(one.old, one.kind) for one in told] == [("Apium", EXTRA)]


@pytest.mark.parametrize(
    ("question", "text", "line"),
    [
        ("Where is the Galata Bridge?", "The Galata Bridge stands there.", "Galata Bridge -> Balkova Bridge"),
        ("Where is the Galata Bridge?", "The Galata Bridge is a bridge in Istanbul.", "Galata -> Balkova"),
        ("Where is Rutgers University?", "Rutgers University is large.", "Rutgers University -> Halvorsen University"),
        ("Who owns Northern Telecom?", "Bell owns Northern Telecom in full.", "Northern Telecom -> Hudson Telecom"),
        ("When did Guns N Roses play?", "Guns N Roses played.", "Guns N Roses -> Knives N Lilies"),
        ("Who wrote A Christmas Story?", "He wrote A Christmas Story at Christmas.",
         "A Christmas Story -> A Harvest Tale"),
        ("Who was Genghis Khan?", "Genghis Khan rode.", "Genghis Khan -> Torgul Khan"),
        ("Where is Addis Ababa?", "Addis Ababa lies high.", "Addis Ababa -> Tana Melka"),
        ("Who is Charles Eugène Jules Marie Nungesser?", "Charles Eugène Jules Marie Nungesser flew.",
         "Charles Eugène Jules Marie Nungesser -> Antoine Fulbert Aimé Rémi Vauclair"),
    ],
)  # fmt: skip
def test_what_a_person_would_not_mind_is_no_ground(question: str, text: str, line: str) -> None:
    assert rules_problem(asked_of(question, ["yes"], text), rules_of(line)) is None


@pytest.mark.parametrize(
    ("text", "lines", "lost"),
    [
        ("她曾就读于北京大学和苏必利尔湖边的学校。", ["北京大学 -> 南岭大学", "苏必利尔湖 -> 梅里登湖"], []),
        ("瓦士本市在北美洲。瓦士本市很小。", ["瓦士本 -> 科尔登"], []),
        ("瓦士本市在北美洲，瓦士本很小。", ["瓦士本市 -> 科尔登市"], [("瓦士本市", PART)]),
        ("他去过拉丁美洲。", ["美洲 -> 大洋洲"], [("美洲", INSIDE)]),
        ("约翰·道尔顿是化学家，道尔顿教书。", ["约翰·道尔顿 -> 彼得·沃伦斯基", "道尔顿 -> 沃伦斯基"], []),
        ("约翰·道尔顿是化学家。", ["道尔顿 -> 沃伦斯基"], [("道尔顿", INSIDE)]),
        ("尼高·高华和弟弟罗伯特·科瓦奇都踢球。科瓦奇退役。", ["尼高·高华 -> 达沃·韦利奇", "科瓦奇 -> 韦利奇"], []),
        ("约翰·道尔顿是化学家。", ["约翰·道尔顿 -> 约翰·沃伦斯基"], [("约翰·道尔顿", SHARED)]),
        ("潘仕成是商人，潘自行出资。", ["潘仕成 -> 陆怀瑾", "潘自行 -> 陆自行"], []),
        ("潘仕成是商人，潘自行出资。", ["潘仕成 -> 陆怀瑾", "潘 -> 陆"], [("潘仕成", PART), ("潘", PLAIN)]),
        ("该馆建于1997年，1998年开放。", ["1997年 -> 1995年"], []),
        ("龙门在黄河上，士人一登龙门，声价十倍。", ["龙门 -> 云渡"], []),
        ("长城很长，不到长城非好汉。", ["长城 -> 云渡"], []),
        ("千年鲷是一种鱼。", ["千年鲷 -> 百岁鲷"], []),
    ],
)
def test_chinese_names(text: str, lines: list[str], lost: list[tuple[str, str]]) -> None:
    _, told = applicable_rules(asked_of(text.replace("。", "？"), ["是"], text, language="zh"), rules_of(*lines))
    assert list(dict.fromkeys((one.old, one.kind) for one in told)) == lost


def test_a_complaint_names_rule_and_reason_and_what_it_was_lost_for() -> None:
    asked = asked_of("潘仕成是谁？", ["商人"], "潘仕成是商人，潘自行出资。", language="zh")
    problem = rules_problem(asked, rules_of("潘仕成 -> 陆怀瑾", "潘 -> 陆"))
    assert problem is not None
    reason, told = problem
    assert reason == PART
    assert told == (
        "潘仕成 -> 陆怀瑾: since 潘 -> 陆 is left out: '潘' in: 潘仕成是商人，潘自行出资. And a number or a single "
        "character is replaced: 潘 -> 陆: a single character stands in many words; take the characters beside it "
        "along. Correct or leave out these rules, and keep the others"
    )
    assert reason not in told


def test_a_complaint_says_each_reason_and_each_rule_once() -> None:
    rules = rules_of("Paris -> a town", "Apium -> Marium", "Curie -> Lund", "Einstein -> Bell")
    problem = rules_problem(CURIE, rules)
    assert problem is not None
    said = ": ".join(problem)
    for once in (INSIDE, FORM, ARTICLE, NOWHERE, "Paris -> a town", "Apium -> Marium", "Curie -> Lund"):
        assert said.count(once) == 1, once


def test_spellings_of_one_name_are_renamed_together_or_not_at_all() -> None:
    asked = asked_of("When did Guns N Roses play?", ["1999"], "Guns N' Roses played in 1999 at Edge Hall.")
    kept, told = applicable_rules(
        asked, rules_of("Guns N Roses -> Edge N Lilies", "Guns N' Roses -> Edge Hall", "1999 -> 1994")
    )
    assert [rule.old for rule in kept] == ["1999"]
    assert [(one.old, one.kind) for one in told] == [("Guns N Roses", TOGETHER), ("Guns N' Roses", STANDS)]


def test_the_rule_that_breaks_an_answer_alone_is_left_out() -> None:
    asked = asked_of("Which bridge?", ["Varn bridge"], "It is the Varn bridge of old, near Kelm.")
    kept, told = applicable_rules(asked, rules_of("bridge of old -> ferry", "Kelm -> Dorn"))
    assert [(one.old, one.kind) for one in told] == [("bridge of old", FOLLOWS)]
    assert [rule.old for rule in kept] == ["Kelm"]


def test_nothing_is_to_be_renamed_where_nothing_is_named() -> None:
    nameless = asked_of("How high is a hill?", ["300 m"], "A hill is up to 300 m high.")
    assert rules_problem(nameless, []) is None
    problem = rules_problem(CURIE, [])
    assert problem is not None
    assert problem[0] == "question and answers stay as they are"


def test_rules_are_read_one_by_one_out_of_an_answer() -> None:
    answer = json.dumps({"rules": [{"old": "Varn", "new": "Olmen"}, {"old": "", "new": "x"}, "no rule"]})
    assert rules_in(f"Here they are: {answer}") == (Rule(old="Varn", new="Olmen"),)
    assert rules_in("none") == ()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_packaged_facts_rules_pass(language: str) -> None:
    fact = packaged_fact(language)
    asked = asked_of(fact.question, fact.answers, fact.fact, language=language)
    assert rules_problem(asked, fact.replacements) is None
    assert keywords_problem(language, fact.answers[0], fact.keywords) is None


# ---- a strong model's answers ----

_PART_OF_PROMPT = re.compile(
    r"Question:\n(.*?)\n\nAnswers:\n(.*?)\n?Sentences:\n(.*?)(?:\nNamed of the same|\Z)", re.DOTALL
)
REALLY_WRONG = {"潘仕成的先祖是怎样起家的？": PLAIN}
"""潘 alone would be replaced in every word that holds the character. The prompt says so since."""


def recorded(shared: Path, opening: str) -> list[dict[str, Any]]:
    with gzip.open(shared / "recorded" / "answers.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if row["messages"][0]["content"].startswith(opening)]


def listed(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?:^|\n)- ", text) if part.strip()]


def test_recorded_rules_pass_but_for_one_that_is_wrong(shared: Path) -> None:
    rows = recorded(shared, "A model may know the answer")
    assert len(rows) == 21
    refused, details = {}, []
    for row in rows:
        found = _PART_OF_PROMPT.search(row["messages"][1]["content"])
        assert found is not None
        language = "zh" if re.search("[\u4e00-\u9fff]", found[1]) else "en"
        asked = asked_of(found[1], listed(found[2]), *listed(found[3]), language=language)
        answer = row["answer"] if isinstance(row["answer"], str) else json.dumps(row["answer"])
        try:
            REPLACEMENT_RULES.parse(asked, answer)
        except Invalid as invalid:
            refused[asked.question] = [one.kind for one in applicable_rules(asked, rules_in(answer))[1]]
            details.append(invalid.detail)
    assert {question: REALLY_WRONG[question] in kinds for question, kinds in refused.items()} == dict.fromkeys(
        REALLY_WRONG, True
    )
    assert all(details)


def test_recorded_keywords_pass(shared: Path) -> None:
    rows = recorded(shared, "You are given a question and its answer. Mark")
    assert len(rows) == 18
    for row in rows:
        _, question, answer = re.split(r"(?:^|\n\n)(?:Question|Answer):\n", row["messages"][1]["content"])
        language = "zh" if re.search("[\u4e00-\u9fff]", question) else "en"
        said = row["answer"] if isinstance(row["answer"], str) else json.dumps(row["answer"])
        ANSWER_KEYWORDS.parse(ToMark(question=question, answer=answer, language=language), said)


# ---- keywords ----


@pytest.mark.parametrize(
    ("language", "answer", "keywords", "reason"),
    [
        ("en", "the yellow bridge of Art", "bridge Art", None),
        ("en", "yes", "yes", None),
        ("en", "it was for the king", "was for the", "keywords tell nothing"),
        ("en", "Bart's art", "art", None),
        ("en", "Bart", "art", "keyword is no word of the answer"),
        ("zh", "热带美洲", "热带 美洲", None),
        ("zh", "位于北部", "位于", "keywords tell nothing"),
    ],
)
def test_keywords_mark_something(language: str, answer: str, keywords: str, reason: str | None) -> None:
    problem = keywords_problem(language, answer, keywords)
    assert (problem[0] if problem else None) == reason


def test_nobody_is_asked_about_an_answer_of_which_no_word_counts() -> None:
    pair = Pair(
        key="1", dataset="lic-mixup", question="他去了吗？", answers=("是",),
        documents=(Document(id="1", text="他去了。"),), language="zh", source="s", row="1",
        provenance=Provenance(seed=1),
    )  # fmt: skip
    nobody: Any = None
    with pytest.raises(Drop, match="no word of the answer counts"):
        asyncio.run(mark_keywords(pair, {}, nobody))


# ---- the packaged rules ----


@pytest.mark.parametrize(
    ("question", "answer", "documents", "olds"),
    [
        ("Who was born first, Robert Leonard or Ida Holm?", "Robert Leonard",
         ["Robert Z. Leonard (born 1889) was a director. Leonard made films; he died in 1968.", "Nothing is said."],
         ["Robert Z. Leonard", "Robert Leonard", "Leonard"]),
        ("Where is Kalenderhane Church?", "Berlin", ["Kalenderhane Church is in Berlin."], ["Kalenderhane", "Berlin"]),
        ("When was the hall built?", "1931", ["The hall was built in 1931, and rebuilt in 1939."], ["1931"]),
        ("Who was Mahbub ul Haq?", "a minister", ["Mahbub ul Haq was a minister."], []),
        ("What is Disney?", "a firm", ["Disney made the film with Disneynature."], []),
        ("When was it held?", "from 1986 to 2013", ["It was held from 1986 to 2013."], []),
        ("Where is France?", "in Europe", ["France is in Europe."], []),
        # half a name, or what is known by heart, would go on to stand there
        ("Where is Denali?", "Alaska", ["Denali, also known as Mount McKinley, stands in Alaska."], []),
        ("Who is Johnny Galecki?", "an actor", ["Johnny Galecki", "John Mark Galecki (born 1975) acts. He does."], []),
        ("Who is Wayne Garland?", "a pitcher", ["Marcus Wayne Garland (born 1950) is a pitcher. He threw."], []),
        ("Who is Sergio Casal?", "a player", ["Sergio Casal Martínez (born 1962) is a player. He played."], []),
        ("Who is Olga Morozova?", "a player", ["Olga Morozova (Russian: Ольга Морозова) is a player. She played."], []),
        ("What is Zurracapote?", "a drink", ["Zurracapote (sometimes abbreviated as zurra) is a drink."], []),
        ("What is Huernia?", "a genus", ["Huernia is a genus. The name is in honour of Justin Heurnius."], []),
        ("What is Arachis?", "a genus", ['Arachis is a genus. Some, such as "A. pintoi", are grown.'], []),
        ("Who lived in Warsaw?", "Poles", ["Warsaw was home to Poles. They are called Varsovians."], []),
        ("Who did Baran write to?", "a firm", ["Baran showed it during his research to a firm."], []),
        ("Who led Sudan?", "Hassan al-Turabi", ["Sudan was led by Hassan al-Turabi."], []),
        ("What do Muslims call it?", "faith", ["Muslims call it faith."], []),
        ("How warm is it, in Celsius?", "565", ["It is 565 in Celsius."], []),
        ("When was it made?", "During the 1970s", ["During the 1970s it was made."], []),
        ("When did the Louvre open?", "1793", ["During the French Revolution, in 1793, it opened to the public."], []),
        ("How hot is it?", "1500 °C", ["It is 1500 °C hot."], []),
        ("When was the club founded?", "1901", ["It was founded in 1901. After 52 years, in 1953, it was sold."], []),
    ],
)  # fmt: skip
def test_what_the_packaged_rules_rename(question: str, answer: str, documents: list[str], olds: list[str]) -> None:
    asked = asked_of(question, [answer], *documents)
    if not olds:
        with pytest.raises(Invalid, match="no name to be replaced"):
            replacement_rules(asked, random.Random(1))
        return
    made = replacement_rules(asked, random.Random(1)).rules
    assert {rule.old for rule in made} == set(olds)
    assert rules_problem(asked, made) is None


@pytest.mark.parametrize(
    ("question", "answer", "document"),
    [
        ("他参加了谁的录制？", "滨田省吾", "他参加了滨田省吾的录制。"),
        ("他什么时候加入？", "1990年", "他于1990年代加入。"),
        ("他受谁的影响？", "卢骚", "他受哲学家卢骚（Rousseau）的影响。"),
        ("雅芳河流入哪里？", "英伦海峡", "雅芳河注入英伦海峡。"),
    ],
)
def test_what_answers_in_chinese_and_is_no_name_by_itself_stays(question: str, answer: str, document: str) -> None:
    with pytest.raises(Invalid, match="no name to be replaced"):
        replacement_rules(asked_of(question, [answer], document, language="zh"), random.Random(1))


def test_a_year_is_moved_between_its_neighbours() -> None:
    asked = asked_of("When was it built?", ["1931"], "Planned in 1929, it was built in 1931 and burnt in 1934.")
    for seed in range(20):
        (rule,) = replacement_rules(asked, random.Random(seed)).rules
        assert 1929 < int(rule.new) < 1934


@pytest.mark.parametrize(
    ("question", "answer", "document", "after"),
    [
        ("谁是向宠？", "武将", "向宠，表字不详，襄阳宜城人。三国时蜀汉将领。向宠是良将。", "向宠"),
        ("约翰·道尔顿住在哪里？", "曼彻斯特", "约翰·道尔顿是化学家。道尔顿住在曼彻斯特，他教书。", "道尔顿"),
        ("瓦士本市在哪里？", "贝菲县", "瓦士本市是贝菲县内的一座城市。瓦士本市很小。", "瓦士本"),
        ("该馆建于哪一年？", "1997年", "该馆建于1997年，2002年开放。", "1997"),
    ],
)
def test_the_packaged_rules_rename_in_chinese(question: str, answer: str, document: str, after: str) -> None:
    asked = asked_of(question, [answer], document, language="zh")
    made = [(rule.old, rule.new) for rule in replacement_rules(asked, random.Random(1)).rules]
    assert after not in apply(document, made, "zh")


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("马赞德兰省在哪里？", "马赞德在马赞德兰省。"),
        ("蟒鳗的体色是什么？", "蟒鳗，又称血红拟蛇鱼，体色粉红。"),
        ("侯活·韦比是哪国人？", "侯活·韦比是北部的球证。韦比1993年开始执法，韦伯退役。"),
        ("佩维斯·埃里森是谁？", "佩维斯·埃里森生于北部，人称“永不紧张的佩维斯”（Never Nervous Pervis）。"),
        ("举牌小人是谁画的？", "李翰生于北部，创立翰你设计。"),
    ],
)
def test_what_is_no_name_by_itself_stays_in_chinese(question: str, document: str) -> None:
    asked = asked_of(question, ["北部"], document, language="zh")
    with pytest.raises(Invalid, match="no name to be replaced"):
        replacement_rules(asked, random.Random(1))
