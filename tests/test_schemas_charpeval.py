"""An item is refused at the door where its options are not its six texts; their order does not make it another."""

import itertools
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.base import Provenance
from schemas.charpeval import DISTRACTOR_TYPES, OPTION_TYPES, CharpEvalItem
from schemas.prediction import Prediction

DISTRACTORS = {kind: f"the {kind} one" for kind in DISTRACTOR_TYPES}


def item(**changes: Any) -> CharpEvalItem:
    known: dict[str, Any] = {
        "key": "k", "subset": "hCHARP", "history": ("Hello.", "Hello, what do you bake?"), "last_utterance": "Bread.",
        "knowledge": "Bread is baked of flour; cake of sugar.", "response": "Take flour.", "distractors": DISTRACTORS,
        "options": ("Take flour.", *DISTRACTORS.values()), "gold_index": 0, "dialogue_id": "d1",
        "provenance": Provenance(seed=1),
    }  # fmt: skip
    return CharpEvalItem(**known | changes)


def test_the_options_by_what_they_are() -> None:
    assert tuple(item().texts) == OPTION_TYPES
    assert item().texts["GTRS"] == "Take flour."
    assert item().texts["COEX"] == "the COEX one"


def test_the_order_of_the_options_does_not_make_another_item() -> None:
    names = set()
    for order in itertools.islice(itertools.permutations(item().options), 0, 720, 50):
        made = item(options=order, gold_index=order.index("Take flour."))
        names.add((made.id, made.view_hash))
    assert len(names) == 1
    assert item(response="Flour.", options=("Flour.", *DISTRACTORS.values())).id != item().id
    assert item(subset="eCHARP").id != item().id


def test_it_is_read_again_from_what_it_was_written_as() -> None:
    assert CharpEvalItem.model_validate(item().model_dump(mode="json")) == item()
    assert CharpEvalItem.id_of(item().model_dump(mode="json")) == item().id


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"distractors": {kind: text for kind, text in DISTRACTORS.items() if kind != "COEX"}}, "COEX missing"),
        ({"distractors": DISTRACTORS | {"XXXX": "other"}}, "distractors"),
        ({"distractors": DISTRACTORS | {"RECF": " "}}, "RECF: blank"),
        ({"distractors": DISTRACTORS | {"RECF": "the COEX one"}}, "the same text"),
        ({"distractors": DISTRACTORS | {"RECF": "Take flour."}}, "the same text"),
        ({"options": ("Take flour.",)}, "each once"),
        ({"options": ("Take flour.", *DISTRACTORS.values(), "more")}, "each once"),
        ({"gold_index": 1}, "gold_index"),
        ({"gold_index": 6}, "gold_index"),
        ({"gold_index": -1}, "gold_index"),
        ({"subset": "CHARP"}, "subset"),
        ({"language": "zh"}, "language"),
        ({"last_utterance": ""}, "last_utterance"),
    ],
)
def test_what_is_no_item(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        item(**changes)


def test_an_easy_item_needs_no_history() -> None:
    assert item(subset="eCHARP", history=()).history == ()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"prediction": "bread", "scores": {"a": 1.0}},
        {"scores": {"a": float("nan")}},
        {"scores": {"a": float("-inf")}},
    ],
)
def test_a_prediction_is_a_reply_or_finite_scores(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Prediction(id="1", variant="sum", **given)
    assert Prediction(id="1", variant="sum", scores={"a": 1.0}).prediction == ""
    assert Prediction(id="1", variant="sum", prediction="").scores is None
