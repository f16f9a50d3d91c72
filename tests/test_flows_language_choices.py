import pytest

from flows.language.choices import is_yes_or_no, other_choice


@pytest.mark.parametrize(
    ("question", "answer", "text", "other"),
    [
        ("Who wrote as W. E.: Laura Esquivel or Howard Fast?", "Howard Melvin Fast", "Laura Esquivel", "laura"),
        ("Was the Seven Days Battles or the Battle of Manila first?", "The Seven Days Battles", "At Manila", "manila"),
        ("In between Liberty and Time which one is weekly?", "Liberty", "Time is weekly. Liberty is not.", "time"),
        ("baga beach is in north or south goa", "North Goa", "Baga is a beach town in North Goa.", None),
        ("Which problem is not known to be in P or NP?", "graph isomorphism problem", "Problems in NP", None),
        ("Who wrote Salt or Honey?", "Ada Brown", "Honey is by Ada Brown.", None),
    ],
)  # fmt: skip
def test_what_a_question_offers_beside_the_answer(question: str, answer: str, text: str, other: str | None) -> None:
    assert other_choice(question, answer, text) == other


@pytest.mark.parametrize(("answer", "told"), [("Yes.", True), ("no", True), ("不是", True), ("Noah", False)])
def test_yes_and_no(answer: str, told: bool) -> None:
    assert is_yes_or_no(answer) is told
