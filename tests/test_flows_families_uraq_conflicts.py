"""Conflicts out of other data: which side is true, and what a contradiction must meet."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from data.sources import SourceSpec, read_source
from flows.construct.engine import Drop
from flows.families.uraq.conflicts import (
    answer_to_contradict,
    answer_type_of,
    context_counts,
    contradiction_problem,
    polarities,
    share_unchanged,
    take_sides,
)
from schemas.base import Dropped, SourceRef
from schemas.source import QASource


def source(question: str, answers: tuple[str, ...], evidence: str | None = None, **more: object) -> QASource:
    values = {"question": question, "answers": answers, "evidence": evidence, **more}
    return QASource.model_validate({"key": "k", "format": "jsonl", "source": SourceRef(source="s", id="1"), **values})


@pytest.mark.parametrize(
    ("question", "first", "second", "expected"),
    [
        # both repeat the question; the words of one are negated
        ("Do oak trees have leaves?", "Oak trees do not have leaves.", "Oak trees have leaves.", "no yes"),
        ("Can you buy it at Petco?", "You cannot buy it at Petco.", "It is possible to buy it at Petco.", "no yes"),
        ("Are some pancakes named after coins?", "Some pancakes are named after coins.",
         "No pancakes are named after coins.", "yes no"),
        # the question is negated itself
        ("Has it not completed a turn?", "It has not completed a turn.", "It has completed a turn.", "yes no"),
        ("Did Leonardo lack peers?", "Leonardo lacked peers.", "Leonardo did not lack peers.", "yes no"),
        ("Does Lorem ipsum fail to rhyme?", "Lorem ipsum does not fail to rhyme.", "Lorem ipsum fails to rhyme.",
         "no yes"),
        ("Can you use it if you aren't a customer?", "You can use it even if you aren't a customer.",
         "You cannot use it if you aren't a customer.", "yes no"),
        # both repeat it, with the parts exchanged
        ("Would a dog respond to a bell before a seal?", "A dog would respond to a bell before a seal.",
         "A seal would respond to a bell before a dog.", "yes no"),
        # one repeats it, the other says it in other words
        ("Is Route 66 unknown to Americans?", "Route 66 is known to Americans.", "Route 66 is unknown to Americans.",
         "no yes"),
        ("Did the Qwerty keyboard predate computers?", "The Qwerty keyboard existed before computers.",
         "The Qwerty keyboard did not predate computers.", "yes no"),
        # neither repeats it (a misspelling), but they repeat each other
        ("Do these wraps use any plsatic?", "These wraps do not use plastic.", "These wraps use plastic.", "no yes"),
    ],
)  # fmt: skip
def test_free_text_sides_are_read_as_yes_and_no(question: str, first: str, second: str, expected: str) -> None:
    assert " ".join(polarities(question, first, second)) == expected
    assert " ".join(polarities(question, second, first)) == " ".join(reversed(expected.split()))


@pytest.mark.parametrize(
    ("question", "first", "second", "reason"),
    [
        ("Is it safe to swim?", "It is safe to swim.", "It is safe to swim!", "sides do not conflict"),
        ("Did Wednesday have to do with Thor?", "Wednesday, a day of Thor, is old.",
         "Thor was glad of Wednesday and of nothing else.", "polarity undecided"),
        ("Will he likely vote for Trump?", "He is unlikely to vote for Trump.", "The text makes no claim.",
         "side does not speak to the question"),
    ],
)  # fmt: skip
def test_sides_that_cannot_be_read_are_dropped(question: str, first: str, second: str, reason: str) -> None:
    with pytest.raises(Drop) as dropped:
        polarities(question, first, second)
    assert dropped.value.reason == reason
    assert question in dropped.value.evidence


def test_the_side_of_the_ground_truth_is_the_original() -> None:
    sides = (("Fish cannot fly.", "Fish have fins."), ("Fish can fly.", "Fish have wings."))
    taken = take_sides(source("Can fish fly?", ("True",), sides=sides))
    assert (taken.original, taken.manipulated) == ("Fish have wings.", "Fish have fins.")
    assert (taken.answer_original, taken.answer_manipulated, taken.answer_type) == ("yes", "no", "boolean")
    assert take_sides(source("Can fish fly?", ("False",), sides=sides)).original == "Fish have fins."


def test_sides_with_entities_go_by_the_gold_answers() -> None:
    sides = (("Bonn", "The capital was Bonn."), ("Berlin", "The capital was Berlin."))
    taken = take_sides(source("Which was the capital?", ("berlin",), sides=sides))
    assert (taken.answer_original, taken.answer_manipulated, taken.answer_type) == ("Berlin", "Bonn", "entity")


@pytest.mark.parametrize(
    ("answers", "sides", "reason"),
    [
        (("Paris",), (("Bonn", "It was Bonn."), ("Berlin", "It was Berlin.")),
         "ground truth does not tell the sides apart"),
        (("Bonn",), (("Bonn", "It was Bonn."),), "not two sides"),
        (("Bonn",), (("Bonn", " "), ("Berlin", "It was Berlin.")), "side without evidence"),
        (("Bonn",), (("Bonn", "It was."), ("Berlin", "It was!")), "both sides have the same evidence"),
        (("Bonn",), (("Bonn", "It was it."), ("Berlin", "It was Berlin.")), "answer not in evidence"),
        (("Bonn",), (("Bonn", "It was Bonn."), ("Berlin", "Bonn and Berlin.")),
         "old answer is left in the new evidence"),
        (("Bonn",), (("Bonn", "It was Bonn."), ("7", "It was 7.")), "answer is of another type"),
    ],
)  # fmt: skip
def test_sides_that_make_no_conflict_are_dropped(
    answers: tuple[str, ...], sides: tuple[tuple[str, str], ...], reason: str
) -> None:
    with pytest.raises(Drop) as dropped:
        take_sides(source("Which was the capital?", answers, sides=sides))
    assert dropped.value.reason == reason


def test_conflictqa_is_read_and_agrees_with_the_gold_facts(shared: Path) -> None:
    # The rows' other texts hold the gold facts of StrategyQA on the true side: a check that shares nothing
    # with how the sides are told apart.
    def read(format_: str, name: str) -> list[QASource]:
        refused: list[Dropped] = []
        records = list(
            read_source(SourceSpec(format=format_, path=str(shared / "data" / name)), QASource, refused.append)
        )
        assert not refused
        return records

    truths = {one.question: one.answers[0] for one in read("strategyqa", "strategyqa_en/train.jsonl.gz")}
    reasons: Counter[str] = Counter()
    for row in read("conflictqa", "conflictqa_en/strategyqa-chatgpt.jsonl.gz"):
        try:
            taken = take_sides(row)
        except Drop as drop:
            reasons[drop.reason] += 1
            continue
        reasons["kept"] += 1
        assert taken.answer_original == truths.get(row.question, taken.answer_original)
    assert reasons == {
        "kept": 799, "polarity undecided": 4, "sides do not conflict": 1, "side does not speak to the question": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("Were both American?", "yes", "boolean"),
        ("Which band sang it?", "Yes", "entity"),
        ("In which year?", "1838", "number"),
        ("How many people?", "3,677", "number"),
        ("How many people?", "3,677 seated", "entity"),
        ("Who formed it?", "YG Entertainment", "entity"),
    ],
)
def test_an_answer_has_a_type(question: str, answer: str, kind: str) -> None:
    assert answer_type_of(question, answer) == kind


def test_the_answer_to_contradict_is_the_first_that_the_evidence_holds() -> None:
    assert answer_to_contradict(source("Who?", ("Ann Lee", "Lee"), "It was Lee.")) == "Lee"
    assert answer_to_contradict(source("Were both here?", ("No",), "One was here.")) == "no"


@pytest.mark.parametrize(
    ("question", "answers", "evidence", "reason"),
    [
        ("Who?", ("Lee",), None, "no evidence"),
        ("Who?", ("Lee",), "It was Ann.", "answer not in evidence"),
        ("Which of the two is it?", ("no",), "It is no such thing.", "answer does not fit its question"),
        ("What is it?", ("one of the many things there are here",), "It is one of the many things there are here.",
         "answer is neither a number nor a single entity"),
        ("Who is older, Ann or Lee?", ("Lee",), "Lee is 9, Ann 8.", "question contains the answer"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_to_conflict_is_dropped(
    question: str, answers: tuple[str, ...], evidence: str | None, reason: str
) -> None:
    with pytest.raises(Drop) as dropped:
        answer_to_contradict(source(question, answers, evidence))
    assert dropped.value.reason == reason


class Other(NamedTuple):
    answer: str
    evidence: str


EVIDENCE = "The harbour clock of Alder was built by Odessa Marlowe in the spring of 1987 and still runs today."


@pytest.mark.parametrize(
    ("answer", "other", "reason"),
    [
        ("Odessa Marlowe", Other("Pieter Vance", EVIDENCE.replace("Odessa Marlowe", "Pieter Vance")), None),
        ("1987", Other("1992", EVIDENCE.replace("1987", "1992")), None),
        ("Odessa Marlowe", Other("1992", EVIDENCE.replace("Odessa Marlowe", "1992")), "answer is of another type"),
        ("1987", Other("1,987", EVIDENCE.replace("1987", "1,987")), "answers are the same"),
        ("Odessa Marlowe", Other("the odessa marlowe", EVIDENCE), "answers are the same"),
        ("Odessa Marlowe", Other("Pieter Vance", EVIDENCE.replace("Odessa Marlowe", "him")),
         "new answer is not in the new evidence"),
        ("Odessa Marlowe", Other("Pieter Vance", EVIDENCE + " Pieter Vance."),
         "old answer is left in the new evidence"),
        ("Odessa Marlowe", Other("Alder", EVIDENCE.replace("Odessa Marlowe", "Alder")),
         "new answer is in the old evidence"),
        ("Odessa Marlowe", Other("Pieter Vance", "Pieter Vance made it."), "evidence is changed too much"),
    ],
)  # fmt: skip
def test_a_contradiction_is_held_to_its_rules(answer: str, other: Other, reason: str | None) -> None:
    problem = contradiction_problem("Who built it, and when?", answer, EVIDENCE, *other)
    assert (problem and problem[0]) == reason


def test_a_boolean_is_contradicted_by_its_opposite_and_other_words() -> None:
    question, evidence = "Does the clock run?", "The old harbour clock runs every day of the year."
    opposite = Other("no", "The old harbour clock runs no day of the year.")
    assert contradiction_problem(question, "yes", evidence, *opposite) is None
    same = contradiction_problem(question, "yes", evidence, "yes", opposite.evidence)
    assert same is not None
    assert same[0] == "answers are the same"
    unchanged = contradiction_problem(question, "yes", evidence, "no", evidence)
    assert unchanged is not None
    assert unchanged[0] == "evidence is unchanged"


def test_share_unchanged_worked_by_hand() -> None:
    # "the clock by _ runs" / "the bell by _ runs": 3 of 4 words in either, 2·3 / 8
    assert share_unchanged("The clock by Ann runs", "The bell by Lee runs", ("Ann", "Lee")) == pytest.approx(6 / 8)
    assert share_unchanged("Ann", "Lee", ("Ann", "Lee")) == 1


def test_context_counts_double_up_to_table_1() -> None:
    assert context_counts("conflictqa") == (1, 2, 4, 8, 16, 32, 64)
    assert context_counts("hotpotqa:dev.jsonl.gz") == (1, 2, 4, 8, 16, 32)
    assert context_counts("jsonl:mine.jsonl") == (1, 2, 4, 8, 16, 32, 64)
