"""What a strong model answered to RefuteBench's prompts goes through their checks, and through whole dialogues."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from flows.families.refutebench.prompts import (
    CHECK_REFUTATION,
    RATE_REFUTATION,
    RATE_TASK,
    REFUTE,
    Checked,
    Refutation,
    ToRate,
    ToRateTask,
)
from flows.families.refutebench.protocol import fault_of
from flows.llm.model import Text
from schemas.refutebench import FOCUSES, Focus

BEGINS = {
    REFUTE.name: "You play a user",
    CHECK_REFUTATION.name: "A user complains",
    RATE_REFUTATION.name: "A user was not content",
    RATE_TASK.name: "A user asked a model",
}


@pytest.fixture(scope="module")
def recorded(shared: Path) -> dict[str, list[dict[str, Any]]]:
    """The first answers by prompt."""
    with gzip.open(shared / "recorded" / "answers.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {
        name: [row for row in rows if row["messages"][0]["content"].startswith(begin) and len(row["messages"]) == 2]
        for name, begin in BEGINS.items()
    }


def test_every_refutation_can_be_read(recorded: dict[str, list[dict[str, Any]]]) -> None:
    texts = [Refutation.model_validate_json(row["answer"]).refutation for row in recorded["refute"]]
    assert len(texts) == 24
    assert len(set(texts)) == 24


def test_every_check_passes_its_refutation(recorded: dict[str, list[dict[str, Any]]]) -> None:
    """They were asked before the check saw the focus, and say nothing of it."""
    checks = [Checked.model_validate_json(row["answer"]) for row in recorded["check_refutation"]]
    assert len(checks) == 24
    assert [fault_of(one, FOCUSES[0], ("earlier", "refutations")) for one in checks] == [None] * 24


@pytest.mark.parametrize("focus", FOCUSES)
def test_a_refutation_off_its_focus_is_told_what_it_is_to_be_about(focus: Focus) -> None:
    found = fault_of(Checked(met=False, off_focus=True, aspects=1, repeats=0, contradicts=0), focus, ())
    assert found == ("off its focus", f"it asks for something else than a change in {focus}")


def test_every_rating_can_be_read(recorded: dict[str, list[dict[str, Any]]]) -> None:
    inputs = {
        RATE_REFUTATION.name: ToRate(query="q", previous="a", refutation="r", response="b"),
        RATE_TASK.name: ToRateTask(query="q", response="a"),
    }
    for prompt in (RATE_REFUTATION, RATE_TASK):
        rows = recorded[prompt.name]
        assert len(rows) >= 24
        for row in rows:
            for check in prompt.checks:
                check(inputs[prompt.name], Text(text=row["answer"]))
