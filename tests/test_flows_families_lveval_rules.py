"""LV-Eval's proposals: what facts, rules and keywords must meet, and what the rules make of real-looking pairs."""

import random
from collections.abc import Sequence

import pytest

from flows.families.lveval.answer_keywords import keywords_problem
from flows.families.lveval.candidates import Candidates, named_entities
from flows.families.lveval.inputs import ToMark, ToRename
from flows.families.lveval.prompts import BUILDER_PROMPTS
from flows.families.lveval.replacement_checks import rules_problem
from flows.families.lveval.rules import RULES
from flows.families.lveval.rules.answer_keywords import answer_keywords
from flows.families.lveval.rules.replacements import replacement_rules
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


def test_names_are_told_by_their_type() -> None:
    found = dict(named_entities("en", "Marie Curie studied in Paris."))
    assert found["Marie Curie"] == "person"
    assert found["Paris"] == "place"


# ---- replacement rules ----


def to_rename(one: Pair, sentences: Sequence[str]) -> ToRename:
    candidates = Candidates.of(one.language, PAIRS).for_pair(one, sentences, 0.5)
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
