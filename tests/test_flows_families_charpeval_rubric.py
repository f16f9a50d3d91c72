"""What people are shown, what is said of what they write, and that the paper's own example passes."""

from collections.abc import Mapping
from typing import Any

import pytest

from annotation.review import judging_of
from flows.annotate.guidelines import examples_of
from flows.construct.embed import SentenceBert
from flows.families.charpeval import FAMILY
from flows.families.charpeval.checks import DECISION, REJECT, USABLE, check, check_utterances, unfit_authored
from flows.families.charpeval.facts import main_entities, other_entities, unnamed_entities, unused_facts
from flows.families.charpeval.rubric import AUTHORING, UTTERANCE, WRITE_DISTRACTORS, WRITE_UTTERANCES
from flows.language import en
from schemas.annotation import Finding
from schemas.base import Provenance
from schemas.charpeval import DISTRACTOR_TYPES, Authored, UtterancePair
from schemas.rubric import Turn

KNOWLEDGE = (
    "Sugar and flour are among the essential ingredients used to make cake while bread is baked with flour, water, "
    "yeast and salt."
)
RESPONSE = "Well, you need flour, water, yeast and salt to make bread."
FIGURE_1 = {
    "KGIR": "Well, the ingredients needed for making cake are sugar and flour.",
    "KGUG": "Well, bread and water can make a simple meal in difficult times.",
    "RECF": "Bread is a staple food prepared from a dough of flour and water, usually by baking.",
    "IECF": "Cake is often served as a celebratory dish on ceremonial occasions, such as weddings.",
    "COEX": "The best thing since sliced bread.",
}
"""The paper's figure 1."""


def dialogue(**changes: Any) -> dict[str, Any]:
    known = {
        "key": "k", "history": ("I like to bake bread.", "Have you tried it at a community center?"),
        "hard_utterance": "No. What do I need to get started?", "easy_utterance": "No. What do I need to bake bread?",
        "knowledge": KNOWLEDGE, "response": RESPONSE, "source": "jsonl:d.jsonl", "provenance": Provenance(seed=1),
    }  # fmt: skip
    return known | changes


def authored(**changes: Any) -> Authored:
    return Authored(**dialogue(**changes))


def pair(**changes: Any) -> UtterancePair:
    return UtterancePair(**dialogue(last_utterance="Never.", **changes))


@pytest.fixture(scope="module")
def embedder() -> SentenceBert:
    return SentenceBert()


def findings(embedder: SentenceBert, answers: Mapping[str, str]) -> list[Finding]:
    return check(authored(), answers, embedder)


# ---- figure 1 ----


def test_figure_1_is_read_as_the_paper_reads_it() -> None:
    assert [one.text for one in unnamed_entities(KNOWLEDGE, RESPONSE)] == ["Sugar", "ingredients", "cake"]
    assert [one.text for one in main_entities(authored())] == ["bread"]
    assert unused_facts(KNOWLEDGE, RESPONSE) == [
        "Sugar and flour are among the essential ingredients used to make cake"
    ]


@pytest.mark.slow
def test_figure_1_passes(embedder: SentenceBert) -> None:
    assert unfit_authored(authored(**FIGURE_1)) is None
    assert findings(embedder, FIGURE_1 | {DECISION: USABLE, "COEX": "Practice makes perfect."}) == []


@pytest.mark.slow
def test_its_expression_on_bread_is_told_to_the_reviewer_and_not_sent_back(embedder: SentenceBert) -> None:
    (found,) = findings(embedder, FIGURE_1)
    problem = "names something of the knowledge (bread): could it pass for an answer?"
    assert (found.name, found.problem, found.rejects) == ("COEX", problem, False)


def test_practice_calls_no_expression_wrong_for_what_the_guideline_allows() -> None:
    examples = examples_of(judging_of(AUTHORING), FAMILY.folder)
    wrong = [one for one in examples if one.right_answers["COEX_decision"] == "wrong"]
    assert wrong
    for one in wrong:
        expression = str(one.shown["author_COEX"])
        assert not [named.text for named in en.entities(str(one.shown["knowledge"])) if en.names(expression, named)], (
            "a name of the knowledge is a doubt for the reviewer, and no fault"
        )


# ---- what is said of each ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "problem", "rejects"),
    [
        ("KGIR", " ", "is empty", True),
        ("KGIR", "...", "is empty", True),
        ("KGUG", "well you need flour water yeast and salt, to make bread", "is the same as the response", True),
        ("RECF", FIGURE_1["KGIR"].upper(), "is the same as KGIR", True),
        ("IECF", "Bread is eaten all over the world.", "names nothing that the knowledge names and", True),
        ("COEX", "It is a piece of cake!", "names something of the knowledge (cake)", False),
        ("KGIR", "Paris is the capital of France, I believe.", "hardly draws on the knowledge", False),
        ("KGIR", "You need salt, yeast and water to make your bread.", "seems to answer", False),
        ("KGUG", "Cats are asleep for most of the day.", "shares no word with the response", False),
        ("KGUG", "You make bread with ingredients.", "says nothing that the knowledge does not say", False),
        ("KGUG", "Well, you need flour, water, yeast and salt for bread.", "is much like the response (", False),
        ("RECF", "It is a staple in many countries.", "seems to name nothing of the question or the response (", False),
        ("IECF", "What is essential is invisible to the eye.", "names nothing that the knowledge names and", False),
        ("IECF", "Cake!", "has 1 words, where the response has 11", False),
    ],
)
def test_each_rule_speaks_of_its_text(
    embedder: SentenceBert, name: str, text: str, problem: str, rejects: bool
) -> None:
    found = [one for one in findings(embedder, FIGURE_1 | {name: text}) if one.problem.startswith(problem)]
    assert [(one.name, one.rejects) for one in found] == [(name, rejects)]


@pytest.mark.slow
def test_a_text_on_what_is_asked_about_is_not_doubted_for_the_first_noun_of_the_response(
    embedder: SentenceBert,
) -> None:
    cello = authored(
        easy_utterance="How do I have to hold a cello?",
        knowledge="The violin is held under the chin; the cello is played sitting down, held between the knees.",
        response="You sit down and hold it between the knees.",
    )
    written = FIGURE_1 | {DECISION: USABLE, "RECF": "The cello belongs to the strings of an orchestra."}
    assert [entity.text for entity in main_entities(cello)] == ["knees"]
    assert "RECF" not in {finding.name for finding in check(cello, written, embedder)}


@pytest.mark.slow
def test_text_that_the_embedder_does_not_read_is_judged_by_its_words(embedder: SentenceBert) -> None:
    found = findings(embedder, FIGURE_1 | {"COEX": "Practice makes perfect.", "KGUG": "面包和水可以做一顿简单的饭。"})
    assert {one.name for one in found} == {"KGUG"}


def test_a_rejected_dialogue_needs_no_texts(embedder: SentenceBert) -> None:
    assert findings(embedder, {DECISION: REJECT}) == []
    assert check_utterances(pair(hard_utterance=""), {DECISION: REJECT}, embedder) == []


def test_utterances_are_wanted_both_and_the_knowledge_with_more_than_the_answer(embedder: SentenceBert) -> None:
    assert check_utterances(pair(), {DECISION: USABLE}, embedder) == []
    for answers, name in (
        ({"hard_utterance": " "}, "hard_utterance"),
        ({"easy_utterance": "no what do I need to get started"}, "easy_utterance"),
        ({"knowledge": RESPONSE}, "knowledge"),
        ({"response": "?"}, "response"),
    ):
        assert [(one.name, one.rejects) for one in check_utterances(pair(), answers, embedder)] == [(name, True)]


# ---- the forms ----


def test_authors_see_the_dialogue_and_get_suggestions_as_drafts() -> None:
    record = authored(drafts={"KGIR": "A cake needs sugar."})
    (task,) = WRITE_DISTRACTORS.tasks([record], 7)
    assert set(task.shown) == {one.name for one in AUTHORING.shows}
    assert task.shown["dialogue"] == (
        Turn(speaker="User", text="I like to bake bread."),
        Turn(speaker="Bot", text="Have you tried it at a community center?"),
        Turn(speaker="User", text="No. What do I need to get started?"),
    )
    assert task.drafts["KGIR"] == "A cake needs sugar."
    assert {task.drafts[kind] for kind in DISTRACTOR_TYPES if kind != "KGIR"} == {""}
    assert record.view_hash == authored().view_hash  # another suggestion makes no other task
    assert AUTHORING.overlaps
    assert [one.name for one in AUTHORING.writes if one.required] == list(DISTRACTOR_TYPES)


def test_only_pairs_that_lack_something_are_shown_with_what_they_lack() -> None:
    (task,) = WRITE_UTTERANCES.tasks([pair(), pair(key="other", easy_utterance="")], 7)
    assert task.item_key == "other"
    assert task.shown["problem"] == "The easy last utterance is not written yet."
    assert task.shown["dialogue"][-1] == Turn(speaker="User", text="Never.")
    assert (task.drafts["hard_utterance"], task.drafts["easy_utterance"], task.drafts["response"]) == (
        "No. What do I need to get started?", "", RESPONSE,
    )  # fmt: skip


@pytest.mark.parametrize("rubric", [UTTERANCE, AUTHORING])
def test_each_form_has_its_guideline_and_writes_fields_of_its_record(rubric: Any) -> None:
    text = (FAMILY.folder / rubric.guideline).read_text()
    record = UtterancePair if rubric is UTTERANCE else Authored
    assert set(rubric.corrects) <= set(record.model_fields)
    assert REJECT in text
    assert "stuck" in text
    if rubric is AUTHORING:
        assert all(f"## {place}. {kind}" in text for place, kind in enumerate(DISTRACTOR_TYPES, start=1))


# ---- what a response is about, and what it leaves ----


def test_a_response_with_a_pronoun_is_about_what_the_easy_utterance_names() -> None:
    bees = authored(
        easy_utterance="What do honey bees eat?",
        knowledge="A honey bee lives on nectar and pollen, while a wasp hunts other insects.",
        response="They live on nectar and pollen.",
    )
    assert [one.text for one in main_entities(bees)] == ["honey bee"]
    assert [one.text for one in other_entities(bees)] == ["wasp", "insects"]


def test_a_sentence_of_which_no_clause_is_enough_is_a_fact_as_a_whole() -> None:
    soba = "Soba noodles are made from buckwheat flour, often mixed with some wheat flour."
    udon = "Udon are thick white noodles made from wheat flour, salt and water."
    assert unused_facts(f"{soba} {udon}", soba) == [udon]
