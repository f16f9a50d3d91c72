"""LV-Eval's proposals: what facts, rules and keywords must meet, and what the rules make of real-looking pairs."""

import random
from collections.abc import Sequence

import pytest

from flows.construct.embed import SentenceBert
from flows.families.lveval.confusing import LEAST_NEAR, fact_problem, facts_problem, nearness
from flows.families.lveval.method import supporting_sentence
from flows.families.lveval.naming import keywords_problem, rules_problem
from flows.families.lveval.pool import names, pool_of
from flows.families.lveval.prompts import BUILDER_PROMPTS, ToConfuse, ToMark, ToRename
from flows.families.lveval.renaming import answer_keywords, replacement_rules
from flows.families.lveval.rules import RULES, confusing_facts
from flows.llm.model import Invalid
from schemas.base import Provenance
from schemas.lveval import Document, Pair, Rule


def pair(number: int, question: str, answers: Sequence[str], text: str, language: str = "en") -> Pair:
    return Pair(
        key=str(number),
        dataset="hotpotwikiqa-mixup",
        question=question,
        answers=tuple(answers),
        documents=(Document(id=str(number), text=text),),
        language=language,
        source="s",
        row=str(number),
        provenance=Provenance(seed=1),
    )


PAIRS = (
    pair(
        0, "Where did Marie Curie study physics?", ["Paris"], "Marie Curie studied physics in Paris. She worked hard."
    ),
    pair(1, "Where did Ada Lovelace live?", ["London"], "Ada Lovelace translated an article on the engine. It was."),
    pair(2, "Where did Lise Meitner teach physics?", ["Berlin"], "Lise Meitner taught physics in Berlin for years."),
    pair(3, "Which town has the bridge?", ["Kelm"], "The bridge stands in the town of Kelm."),
)


def to_confuse(one: Pair) -> ToConfuse:
    pool, (fact, title) = pool_of(one.language, PAIRS), supporting_sentence(one)
    return ToConfuse(
        question=one.question,
        answers=one.answers,
        fact=fact,
        title=title,
        language=one.language,
        candidates=pool.candidates(one, [fact], random.Random(1)),
    )


# ---- confusing facts ----


@pytest.mark.parametrize(
    ("changes", "fact", "reason"),
    [
        ("subject", "Lise Meitner studied physics in Vienna.", None),
        ("subject", "Lise Meitner\nLise Meitner studied physics in Vienna.", "fact is no declarative sentence"),
        ("subject", "Did Lise Meitner study physics in Vienna?", "fact is no declarative sentence"),
        ("subject", "Lise Meitner studied physics in Paris.", "fact holds the answer"),
        ("subject", "Marie Curie studied physics in Vienna.", "fact has the same subject"),
        ("subject", "Weather was fine in Vienna.", "fact is not like the question"),
        ("subject", "She studied physics in Vienna.", "fact cannot be understood alone"),
        ("subject", "However, Lise Meitner studied physics in Vienna.", "fact cannot be understood alone"),
        ("subject", 'Lise Meitner studied physics in "Vienna.', "fact is no declarative sentence"),
        ("subject", "1878) Lise Meitner studied physics in Vienna.", "fact is no declarative sentence"),
        ("subject", "Marie Curie studied physics in Paris.", "fact repeats the original"),
        ("object", "Marie Curie translated an article on the engine.", None),
        ("object", "Marie Curie studied physics in Vienna.", "fact may answer the question"),
        ("object", "Lise Meitner studied physics in Vienna.", "fact has another subject"),
    ],
)
def test_what_a_confusing_fact_must_meet(changes: str, fact: str, reason: str | None) -> None:
    problem = fact_problem(to_confuse(PAIRS[0]), changes, fact)  # type: ignore[arg-type]
    assert (problem[0] if problem else None) == reason


def test_the_two_facts_differ() -> None:
    fact = "Lise Meitner studied physics in Vienna."
    assert facts_problem(to_confuse(PAIRS[0]), fact, fact.upper()) == ("the facts are one", fact)


def test_sentences_are_ranked_by_rare_words_and_never_the_pairs_own() -> None:
    pool = pool_of("en", PAIRS, ["Lise Meitner and Otto Hahn studied physics. Rain fell on the town of Kelm all day."])
    said = pool.sentences_like("Where did Marie Curie study physics? Marie Curie studied physics in Paris.", PAIRS[0])
    assert said[0] == "Lise Meitner and Otto Hahn studied physics."
    assert not any("Marie Curie" in sentence for sentence in said)


def test_the_rules_take_the_nearest_sentences_as_they_stand() -> None:
    near = ("Lise Meitner taught physics in Berlin.", "Marie Curie was fond of physics.")
    asked = to_confuse(PAIRS[0]).model_copy(update={"like": near[:1], "of_subject": near})
    made = confusing_facts(asked, random.Random(1))
    assert (made.subject, made.object) == near


@pytest.mark.parametrize(
    ("like", "of_subject", "reason"),
    [
        ((), ("Marie Curie was fond of physics.",), "no other subject fits"),
        (("Meitner taught.",), (), "no other object fits"),
        (("Meitner taught.",), ("Meitner taught.",), "no other object fits"),
    ],
)
def test_a_pair_that_nothing_is_like_is_refused(
    like: tuple[str, ...], of_subject: tuple[str, ...], reason: str
) -> None:
    asked = to_confuse(PAIRS[0]).model_copy(update={"like": like, "of_subject": of_subject})
    with pytest.raises(Invalid, match=reason):
        confusing_facts(asked, random.Random(1))


def test_nearness_is_of_meaning_in_english_and_of_characters_but_dates_in_chinese() -> None:
    asked = to_confuse(PAIRS[0])
    near, far = nearness(
        asked, ["Lise Meitner taught physics in Berlin.", "The bridge at Kelm is made of granite."], SentenceBert()
    )
    assert near >= LEAST_NEAR["en"] > far
    chinese_pair = pair(5, "2008年谁住在北京？", ["李明"], "2008年李明住在北京。", "zh")
    said = ["王芳住在北京西城。", "2008年，该刊定价为12元。"]
    near, far = nearness(to_confuse(chinese_pair), said, SentenceBert())
    assert near >= LEAST_NEAR["zh"] > far


def test_names_are_told_by_their_type() -> None:
    found = dict(names("en", "Marie Curie studied in Paris."))
    assert found["Marie Curie"] == "person"
    assert found["Paris"] == "place"


# ---- replacement rules ----


def to_rename(one: Pair, sentences: Sequence[str]) -> ToRename:
    candidates = pool_of(one.language, PAIRS).candidates(one, sentences, random.Random(1))
    return ToRename(
        question=one.question, answers=one.answers, sentences=tuple(sentences), language=one.language, most=4,
        candidates=candidates,
    )  # fmt: skip


def test_parts_of_a_name_are_replaced_along_with_it() -> None:
    asked = to_rename(PAIRS[0], ["Marie Curie studied physics in Paris. Curie worked hard; she was born in Warsaw."])
    made = {rule.old: rule.new for rule in replacement_rules(asked, random.Random(1)).rules}
    assert rules_problem(asked, [Rule(old=old, new=new) for old, new in made.items()]) is None
    assert made["Curie"] == made["Marie Curie"].split()[-1]


# ---- keywords ----


@pytest.mark.parametrize(
    ("question", "answer", "language", "keywords"),
    [
        ("When was it opened?", "in the spring of 1931", "en", "spring 1931"),
        ("How high is it?", "2,300 feet", "en", "2,300"),
        ("Who designed the bridge?", "the engineer Ida Holm", "en", "engineer Ida Holm"),
        ("有多少人？", "6,300人", "zh", "6,300"),
    ],
)
def test_keywords_are_the_words_that_tell(question: str, answer: str, language: str, keywords: str) -> None:
    asked = ToMark(question=question, answer=answer, language=language)
    assert answer_keywords(asked, random.Random(1)).keywords == keywords
    assert keywords_problem(language, answer, keywords) is None


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [("", "no keyword"), ("Holm Ida", "keyword is no word of the answer"), ("Hol", "keyword is no word of the answer")],
)
def test_keywords_are_words_of_the_answer_in_its_order(keywords: str, reason: str) -> None:
    problem = keywords_problem("en", "the engineer Ida Holm", keywords)
    assert problem is not None
    assert problem[0] == reason


def test_the_rules_do_not_pretend_to_answer() -> None:
    assert {prompt.name for prompt in BUILDER_PROMPTS} - set(RULES) == {"answer_unaided"}


def test_every_template_renders() -> None:
    for prompt in BUILDER_PROMPTS:
        prompt.check_template()
