"""What every rubric has to have, and what the methods ask of each."""

import re
from pathlib import Path

import pytest

from annotation.label_studio.answers import answers_of
from annotation.label_studio.config import label_config
from annotation.label_studio.task_data import task_data
from annotation.practice import practice_of
from annotation.review import review_of
from annotation.wording import LANGUAGES
from flows.annotate.guidelines import HERE, examples_file
from flows.families import load_family
from schemas.rubric import Rubric, guideline_in
from tests.forms import AUTHORING, result
from tests.rubrics import Shipped, rubrics

SHIPPED = rubrics()
NAMES = (
    "lveval-confusing-facts", "lveval-replacements", "lveval-conflicts", "lveval-keywords", "lveval-blacklist",
    "answerable-without-context", "reeval-support", "uraq-check", "refute-rating", "charpeval-utterance",
    "charpeval-authoring",
)  # fmt: skip


def test_the_rubrics_that_there_are_to_be_are_there() -> None:
    assert set(NAMES) <= set(SHIPPED)


def is_taught(text: str) -> None:
    """A guideline says what it is for, shows standard and extreme cases in tables, and what to do when stuck."""
    assert text.startswith("# ")
    assert "**What it is for.**" in text
    sections = re.split(r"\n## ", text)
    for wanted in ("Extreme cases", "When you are stuck"):
        assert any(one.startswith(wanted) for one in sections), wanted
    assert sum(one.count("\n| ") for one in sections) >= 10
    (extreme,) = [one for one in sections if one.startswith("Extreme cases")]
    assert extreme.count("\n| ") >= 6  # with the head of the table and its rule
    assert len(text.split()) < 900


HERES = [name for name in SHIPPED if not name.startswith("charpeval")]


@pytest.mark.parametrize("name", ["charpeval-utterance", "charpeval-authoring"])
def test_authors_have_a_guideline_with_cases_and_advice(name: str) -> None:
    text = SHIPPED[name].guideline
    assert "xtreme case" in text
    assert "\n## When you are stuck" in text
    assert text.count("\n| ") >= 10


@pytest.mark.parametrize("shipped", [SHIPPED[name] for name in HERES], ids=HERES)
def test_a_rubric_comes_with_a_guideline_that_teaches_it(shipped: Shipped) -> None:
    is_taught(shipped.guideline)
    for ask in shipped.rubric.asks:
        for option in ask.options:
            assert re.search(rf"(?<!\w){re.escape(option)}(?!\w)", shipped.guideline), option


@pytest.mark.parametrize("name", [name for name in HERES if len(SHIPPED[name].rubric.asks) > 1])
def test_examples_stand_beside_the_question_that_they_are_about(name: str) -> None:
    shipped = SHIPPED[name]
    sections = re.findall(r"\n## \d\. .*?(?=\n## )", shipped.guideline, re.DOTALL)
    assert [section.count("\n| --- |") for section in sections] == [1] * len(shipped.rubric.asks)


def test_reviewers_have_a_guideline_that_names_all_they_can_choose() -> None:
    text = (HERE / "guideline.review.md").read_text(encoding="utf-8")
    is_taught(text)
    for option in review_of(AUTHORING).asks[0].options:
        assert f"**{option}**" in text


LEARNT = {name: one for name, one in SHIPPED.items() if not name.endswith("-review")}
"""Reviewers, who are authors themselves, learn from the guideline alone."""


@pytest.mark.parametrize("shipped", LEARNT.values(), ids=list(LEARNT))
def test_the_worked_examples_can_be_answered_in_the_form(shipped: Shipped) -> None:
    rubric = shipped.rubric
    assert shipped.examples
    assert label_config(rubric)
    for task in shipped.examples:
        data = task_data(rubric, task)
        assert task.why
        assert set(task.right_answers) == {ask.name for ask in rubric.asks}
        texts = {one.name: f"{task.drafts.get(one.name)}" for one in rubric.writes}
        marks = {one.name: [(0, 3)] for one in rubric.marks}
        handed = answers_of(rubric, result(rubric, {**task.right_answers, **texts}, marks), data)
        assert {name: handed.answers[name] for name in task.right_answers} == dict(task.right_answers)


def test_the_worked_examples_of_judgements_make_a_practice_set() -> None:
    for name in ("reeval-support", "uraq-check", "refute-rating", "answerable-without-context"):
        shipped = SHIPPED[name]
        practice = practice_of(shipped.examples, shipped.rubric, seed=1)
        assert {task.id for task in practice} == {task.id for task in shipped.examples}


SCALES = {name: shipped for name, shipped in SHIPPED.items() if any(ask.ordered for ask in shipped.rubric.asks)}


@pytest.mark.parametrize("shipped", SCALES.values(), ids=list(SCALES))
def test_ratings_of_the_worked_examples_are_those_of_the_guidelines_scales(shipped: Shipped) -> None:
    sections = re.split(r"\n## ", shipped.guideline)
    asks = [ask for ask in shipped.rubric.asks if ask.ordered]
    scales = [
        {row[0]: re.split("[,:] ", row[1]) for row in table(section) if row[0] in ask.options}
        for ask in asks
        for section in sections
        if re.match(rf"\d\. {re.escape(ask.name.split('_')[0])}", section, re.IGNORECASE)
    ]
    assert [set(scale) for scale in scales] == [set(ask.options) for ask in asks]
    for ask, section in zip(asks, sections[1:], strict=False):
        rated = [row for row in table(section) if row[0] in ask.options and len(row) > 2]
        assert len(rated) > 1, "examples of several ratings stand beside them"
    reasoned = []
    for task in shipped.examples:
        lines = [line.partition(": ") for line in task.why.splitlines()]
        assert [rating for rating, *_ in lines] == [task.right_answers[ask.name] for ask in asks]
        reasoned.append(([rating for rating, *_ in lines], [reason for *_, reason in lines]))
    assert len(reasoned) > 2
    for ratings, reasons in reasoned:
        for scale, rating, reason in zip(scales, ratings, reasons, strict=True):
            assert [point for point, words in scale.items() if any(phrase in reason for phrase in words)] == [rating]


def table(section: str) -> list[list[str]]:
    """The rows of a section's table, its head first."""
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return lines[:1] + lines[2:]


def test_a_question_that_can_be_answered_without_its_text_is_rejected() -> None:
    (ask,) = SHIPPED["answerable-without-context"].rubric.asks
    assert (ask.accepts, ask.rejects) == (("no",), ("yes",))


def test_keywords_are_marked_in_the_answer_and_correct_the_record() -> None:
    rubric = SHIPPED["lveval-keywords"].rubric
    assert [(one.name, one.of, one.corrects) for one in rubric.marks] == [("keywords", "answer", True)]
    assert rubric.corrects == ("keywords",)
    assert not rubric.writes


@pytest.mark.parametrize("family", ["charpeval", "lveval", "reeval", "refutebench", "uraq"])
def test_what_a_family_asks_people_is_shipped(family: str) -> None:
    asked: list[Rubric] = [part.people.rubric for part in load_family(family).parts if part.people is not None]
    for rubric in asked:
        assert SHIPPED[rubric.name].rubric == rubric


def test_no_guideline_and_no_example_is_left_over() -> None:
    spoken = [one.rubric.in_language(language) for one in SHIPPED.values() for language in one.rubric.languages]
    used = {(rubric.guideline, examples_file(rubric)) for rubric in spoken}
    derived = [f"guideline.{form}.md" for form in ("review", "adjudication", "survey")]
    of_derived = {guideline_in(language, file) for file in derived for language in LANGUAGES}
    guidelines = {one for one, _ in used} | of_derived
    examples = {one for _, one in used}
    for path in Path(HERE.parent).rglob("guideline*.md"):
        assert path.name in guidelines, path
    for path in Path(HERE.parent).rglob("examples.*.yaml"):
        assert path.name in examples, path
