"""Evaluation over several parts: what is asked of a model, once each, and what is written down."""

import asyncio
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.construct.engine import Evaluation, Request
from flows.construct.stages import Build, FamilyBuild
from flows.evaluate import EvaluatedRows, evaluated_rows, predict
from flows.llm.model import Invalid, Text
from flows.llm.rules import Rules
from schemas.errors import WrongInput
from tests.toy import FAMILY, SHOUT, ToShout, Word, run_all, toy_build


def requests(row: Any, settings: Any) -> Sequence[Request]:
    if isinstance(row, Word):
        return [Request("loud", SHOUT, ToShout(text=row.text), prompting=way, shots=0) for way in ("plain", "polite")]
    return [Request(f"echo {len(settings.times)}", SHOUT, ToShout(text=row.text))]


EVALUATED = dataclasses.replace(
    FAMILY,
    evaluation=Evaluation(("words", "echoes"), (SHOUT,), requests, lambda row: row, FAMILY.evaluation.score),
)


class Counting(Rules):
    """Shouts, and counts what it is asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__({SHOUT.name: self.shout}, 1)

    def shout(self, inputs: ToShout, rng: Any) -> Text:
        self.asked.append(inputs.text)
        if inputs.text.startswith("b"):
            raise Invalid("cannot be shouted", inputs.text)
        return Text(text=inputs.text.upper())


@pytest.fixture
def build(tmp_path: Path) -> Build:
    build = toy_build(tmp_path, ["apple", "bread", "cake"], times=(1, 2))
    asyncio.run(run_all(build))
    return build


def evaluate(build: Build, path: Path, limit: int | None = None) -> tuple[list[dict[str, Any]], Counting, list[Any]]:
    project: Any = SimpleNamespace(build=build, run=asyncio.run, state=path.parent)
    model, told = Counting(), []
    rows = evaluated_rows(project, EVALUATED, limit)
    predict(project, EVALUATED, model, rows, path, lambda done, total: told.append((done, total)))
    return [json.loads(line) for line in path.read_text().splitlines()], model, told


def test_every_part_s_rows_are_asked_with_their_prompting_and_shots(build: Build, tmp_path: Path) -> None:
    found, model, told = evaluate(build, tmp_path / "predictions.jsonl")
    words = [row for row in found if row["variant"] == "loud"]
    echoes = [row for row in found if row["variant"] == "echo 2"]
    assert len(words) == 3 * 2
    assert len(echoes) == 3 * 2
    assert words[0] == {
        "id": words[0]["id"], "variant": "loud", "prediction": "APPLE", "model": "counting", "prompting": "plain",
        "shots": 0,
    }  # fmt: skip
    assert words[1]["prompting"] == "polite"
    assert set(echoes[0]) == {"id", "variant", "prediction", "model"}
    assert len(model.asked) == 12
    assert told[-1] == (9, 9)


class InFiles:
    """A stage of rows in finished files, of these sizes."""

    def __init__(self, *sizes: int) -> None:
        self.manifest = SimpleNamespace(shards=[SimpleNamespace(kept=size, rows=True) for size in sizes])
        self._rows = [f"{file}.{row}" for file, size in enumerate(sizes) for row in range(size)]

    def __len__(self) -> int:
        return len(self._rows)

    def slice(self, start: int, stop: int) -> list[str]:
        return self._rows[start:stop]


@pytest.mark.parametrize(
    ("sizes", "limit", "taken"),
    [
        ((3, 3), 2, ["0.0", "1.0"]),
        ((5, 1, 5), 6, ["0.0", "0.1", "0.2", "1.0", "2.0", "2.1"]),
        ((0, 2, 9), 7, ["1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4"]),
        ((2, 1), 9, ["0.0", "0.1", "1.0"]),
        ((2, 1), None, ["0.0", "0.1", "1.0"]),
    ],
)
def test_a_limit_takes_rows_of_each_file(sizes: tuple[int, ...], limit: int | None, taken: list[str]) -> None:
    stage: Any = InFiles(*sizes)
    rows = EvaluatedRows([stage], limit)
    assert (list(rows), len(rows)) == (taken, len(taken))
    assert [row for batch in rows.batches() for row in batch] == taken


def test_a_limit_takes_rows_of_each_part(build: Build, tmp_path: Path) -> None:
    found, _, told = evaluate(build, tmp_path / "predictions.jsonl", limit=1)
    assert [row["variant"] for row in found] == ["loud", "loud", "echo 2"]
    assert told[-1] == (2, 2)


def test_an_invalid_answer_is_a_prediction_too(build: Build, tmp_path: Path) -> None:
    found, _, _ = evaluate(build, tmp_path / "predictions.jsonl")
    ids = {word.text: word.id for word in build.accepted("toy", "words")}
    assert {row["prediction"] for row in found if row["id"] == ids["bread"]} == {"bread"}
    assert {row["prediction"] for row in found if row["id"] == ids["cake"]} == {"CAKE"}


def test_rows_of_one_id_are_asked_once(build: Build, tmp_path: Path) -> None:
    stage = build.accepted("toy", "words")
    project: Any = SimpleNamespace(build=build, run=asyncio.run, state=tmp_path)
    model, path = Counting(), tmp_path / "predictions.jsonl"
    predict(project, EVALUATED, model, EvaluatedRows([stage, stage], None), path, lambda done, total: None)
    assert len(path.read_text().splitlines()) == len(model.asked) == 3 * 2


def test_a_build_without_an_evaluated_part_says_which_there_could_be(build: Build) -> None:
    settings = build.families["toy"].settings.model_copy(update={"parts": ("words",)})
    one = build.families["toy"]
    build.families["toy"] = FamilyBuild(EVALUATED, settings, one.prompts, one.models)
    only_echoes = dataclasses.replace(
        EVALUATED, evaluation=dataclasses.replace(EVALUATED.evaluation, parts=("echoes",))
    )
    project: Any = SimpleNamespace(build=build, run=asyncio.run)
    assert len(evaluated_rows(project, EVALUATED, None)) == 3
    with pytest.raises(WrongInput, match=r"toy: this build has none of the parts .*\(echoes\)"):
        evaluated_rows(project, only_echoes, None)
