"""What people judge of ReEval's cases: samples, and items whose truth is known."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from flows.families.reeval import rubric as module
from flows.families.reeval.rubric import (
    SUPPORT,
    Case,
    tasks,
    validation_tasks,
    without_answer,
)
from schemas.base import Provenance
from schemas.reeval import EnrichedCase, SwapCase
from schemas.rubric import Choice, Rubric, Sample, Shown

SMALL = SUPPORT.model_copy(update={"samples": tuple(Sample(name=sample.name, size=20) for sample in SUPPORT.samples)})


def swapped(number: int, **changes: Any) -> SwapCase:
    known: dict[str, Any] = {
        "key": f"s{number:04}", "question": f"Who built tower {number}?", "answer": "Bo Berg",
        "original_answer": "Ann Arch",
        "evidence": f"Tower {number} is tall. It was built by Bo Berg. Many visit it.",
        "original_evidence": f"Tower {number} is tall. It was built by Ann Arch. Many visit it.",
        "replacements": (), "answer_position": "middle", "source": "squad:dev", "provenance": Provenance(seed=1),
    }  # fmt: skip
    return SwapCase(**(known | {"pivot": "pivot"} | changes))


def enriched(number: int) -> EnrichedCase:
    return EnrichedCase(
        pivot="pivot",
        key=f"e{number:04}", question=f"Who built bridge {number}?", answer="Ann Arch",
        original_evidence=f"Bridge {number} is long. It was built by Ann Arch.",
        supporting_sentence="It was built by Ann Arch.", supporting_sentence_resolved="It was built by Ann Arch.",
        evidence_question_focused=f"Ann Arch built bridge {number}. Bridges cross rivers.",
        evidence_evidence_focused=f"Some bridges are long. Ann Arch built bridge {number}.",
        passages_question_focused=(), passages_evidence_focused=(), source="squad:dev", provenance=Provenance(seed=1),
    )  # fmt: skip


CASES: list[Case] = [*map(swapped, range(60)), *map(enriched, range(30))]


def test_the_samples_are_those_of_section_4_3() -> None:
    assert [(one.name, one.size) for one in SUPPORT.samples] == [
        ("category1", 500), ("question-focused", 500), ("evidence-focused", 500),
    ]  # fmt: skip
    assert (SUPPORT.people_per_item, SUPPORT.validation_share, SUPPORT.pass_share) == (3, 0.1, 0.9)
    assert {ask.name: ask.options for ask in SUPPORT.asks} == {"readable": ("yes", "no"), "supports": ("yes", "no")}


def test_a_sample_shows_the_perturbed_evidence_with_the_answer_it_should_support() -> None:
    drawn = tasks([swapped(1), enriched(2)], seed=1)
    assert {task.sample: (task.shown["evidence"], task.shown["answer"]) for task in drawn} == {
        "category1": (swapped(1).evidence, "Bo Berg"),
        "question-focused": (enriched(2).evidence_question_focused, "Ann Arch"),
        "evidence-focused": (enriched(2).evidence_evidence_focused, "Ann Arch"),
    }
    assert all(set(task.shown) == {one.name for one in SUPPORT.shows} for task in drawn)
    assert not any(task.right_answers for task in drawn)


def test_sampling_is_seeded_and_the_cases_order_does_not_matter() -> None:
    shuffled = CASES.copy()
    random.Random(3).shuffle(shuffled)
    drawn = tasks(CASES, 1, SMALL)
    assert Counter(task.sample for task in drawn) == {"category1": 20, "question-focused": 20, "evidence-focused": 20}
    assert len({task.id for task in drawn}) == 60
    assert tasks(shuffled, 1, SMALL) == drawn
    assert {task.id for task in tasks(CASES, 2, SMALL)} != {task.id for task in drawn}
    assert validation_tasks(shuffled, drawn, 1, SMALL) == validation_tasks(CASES, drawn, 1, SMALL)


def test_of_cases_that_show_the_same_the_first_by_key_is_asked_about() -> None:
    first, second = (
        [swapped(number, key=f"{name}{number:04}", question="Who built it?", evidence=f"Bo Berg built it in {number}.")
         for number in range(50)] for name in "ab"
    )  # fmt: skip
    for cases in ([*first, *second], [*second, *first], [*second[:25], *first, *second[25:]]):
        assert [task.item_key[0] for task in tasks(cases, 1, SMALL)] == ["a"] * 20


def test_more_cases_leave_the_smaller_sample_among_them() -> None:
    few = {task.id for task in tasks(CASES[:30], 1, SMALL)}
    many = {task.id for task in tasks(CASES, 1, SMALL) if task.sample == "category1"}
    earlier = {task.id for task in tasks(CASES[:30], 1)}
    assert len(few) == 20
    assert many & earlier <= few


def test_a_tenth_of_what_people_see_has_a_known_answer_half_of_it_no() -> None:
    drawn = tasks(CASES, 1, SMALL)
    known = validation_tasks(CASES, drawn, 1, SMALL)
    assert len(known) == 7  # 60 and 7: 7 / 67 is the share nearest to a tenth
    assert Counter(task.right_answers["supports"] for task in known) == {"yes": 4, "no": 3}
    sampled = {task.item_id for task in drawn}
    assert not [task for task in known if task.item_id in sampled]
    for task in known:
        assert ("Ann Arch" in task.shown["evidence"]) == (task.right_answers["supports"] == "yes")
        assert task.shown["answer"] == "Ann Arch"


def test_a_validation_item_cannot_be_told_from_a_task_by_what_is_shown() -> None:
    known = validation_tasks(CASES, tasks(CASES, 1, SMALL), 1, SMALL)
    assert all(set(task.shown) == {"evidence", "question", "answer"} for task in known)
    assert all(task.view_hash == task.revised(right_answers={}, sample="category1").view_hash for task in known)


def test_few_cases_give_at_least_one_item_of_each_kind() -> None:
    cases = [swapped(1), swapped(2), swapped(3)]
    known = validation_tasks(cases, tasks(cases, 1), 1)
    assert sorted(task.right_answers["supports"] for task in known) == ["no", "yes"]


def test_the_sentences_that_hold_the_answer_are_taken_out() -> None:
    evidence = "Ann Arch was born in Riga. The tower is tall. It was built by A. Arch, they say. Many visit it."
    case = swapped(1, original_evidence=evidence, aliases=("A. Arch",))
    assert without_answer(case) == "The tower is tall. Many visit it."
    assert without_answer(swapped(1, original_evidence="It was built by Ann Arch.")) is None


def test_an_item_that_is_nothing_without_its_answer_can_still_be_a_yes() -> None:
    cases = [swapped(number, original_evidence=f"Tower {number} was built by Ann Arch.") for number in range(4)]
    known = validation_tasks(cases, tasks(cases, 1), 1)
    assert [task.right_answers["supports"] for task in known] == ["yes"]


def test_a_rubric_refuses_two_of_one_name() -> None:
    with pytest.raises(ValidationError, match="a name occurs twice among a, a"):
        Rubric(
            name="r", version=1, guideline="g.md", shows=(Shown(name="a"), Shown(name="a")),
            asks=(Choice(name="b", question="?", options=("yes", "no")),),
        )  # fmt: skip


def test_the_guideline_is_there_and_shows_yes_and_no_for_both_questions() -> None:
    text = (Path(module.__file__).parent / SUPPORT.guideline).read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:3]:
        assert "| yes" in section
        assert "| no" in section
    assert len(text.split()) < 800
