"""What people see of an item of URAQ: where its statement comes from stands beside it."""

from typing import Any

import pytest

from flows.families.uraq.rubric import BY_A_MODEL, CHECK, tasks
from schemas.base import Provenance, SourceRef
from schemas.uraq import Step, UraqItem


def item(topic: str | None, *sources: SourceRef) -> UraqItem:
    return UraqItem(
        key="k", original="The office opens at 9.", manipulated="The office opens at 8.", manipulation="substitution",
        question="How many hours before noon does the office open?", hops=1, answer_type="number", answer_original="3",
        steps=(Step(kind="arithmetic", text="noon less the hour", original="3", manipulated="4"),),
        answer_manipulated="4", single_hop_question="When does the office open?", single_hop_answer="9", topic=topic,
        provenance=Provenance(seed=7, sources=sources),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("topic", "sources", "shown"),
    [
        ("Opening hours", [("handbook", "hours.html, part 2")], "handbook: hours.html, part 2\nOpening hours"),
        (None, [("facts.jsonl", "line 12")], "facts.jsonl: line 12"),
        ("Offices", [], BY_A_MODEL),
    ],
)
def test_people_see_where_the_statement_comes_from(topic: str | None, sources: Any, shown: str) -> None:
    (task,) = tasks([item(topic, *(SourceRef(source=name, id=id_) for name, id_ in sources))], 7)
    assert task.shown["source"] == shown
    assert set(task.shown) == {text.name for text in CHECK.shows}
    assert task.shown["steps"] == "1. noon less the hour (3 | 4)"


def test_a_question_that_nobody_understands_by_itself_rejects_the_item() -> None:
    (asked,) = (ask for ask in CHECK.asks if ask.name == "understandable")
    assert asked.decides
    assert asked.accepts == ("yes",)
