"""Evaluation over several parts: what is asked of a model, once each, and what is written down."""

import asyncio
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.construct.evaluation import Evaluation, Request, Selection
from flows.construct.stages import Build, FamilyBuild
from flows.evaluate.predictions import GROUPS_AT_ONCE, NothingAnswered, predict
from flows.evaluate.rows import EvaluatedRows, evaluated_rows
from flows.families import load_family
from flows.llm.model import BudgetSpent, Invalid, Prompt, Text, Usage
from flows.llm.rules import Rules
from flows.project.evaluated import settings_now
from flows.project.model_loop import ModelLoop
from schemas.base import Provenance
from schemas.errors import WrongInput
from tests.released import swap_cases
from tests.toy import FAMILY, SHOUT, Echo, ToShout, Word, run_all, toy_build


def requests(row: Any, settings: Any) -> Sequence[Request]:
    if isinstance(row, Word):
        return [Request("loud", SHOUT, ToShout(text=row.text), prompting=way, shots=0) for way in ("plain", "polite")]
    return [Request(f"echo {len(settings.times)}", SHOUT, ToShout(text=row.text))]


EVALUATED = dataclasses.replace(
    FAMILY,
    evaluation=Evaluation(("words", "echoes"), (SHOUT,), requests, lambda row: row, FAMILY.evaluation.score),
)


@pytest.mark.parametrize(
    ("headline", "shown"),
    [
        ({}, ["accuracy", "tokens"]),
        ({"accuracy": "share"}, ["accuracy"]),
        ({"acuracy": "share"}, ["accuracy", "tokens"]),
    ],
)
def test_a_card_shows_the_headline_s_tables_and_never_none(headline: dict[str, str], shown: list[str]) -> None:
    evaluation = dataclasses.replace(EVALUATED.evaluation, headline=headline)
    assert evaluation.shown(["accuracy", "tokens", "accuracy"]) == shown


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
    project: Any = SimpleNamespace(build=build, only_keys=None, loop=ModelLoop(), state=path.parent)
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


@pytest.mark.parametrize(
    ("limit", "taken"),
    [(None, ["0.0", "0.1", "2.0", "2.1", "2.2"]), (2, ["0.0", "2.0"]), (4, ["0.0", "0.1", "2.0", "2.1"])],
)
def test_of_rows_in_files_whole_files_are_chosen_by_their_first_row(limit: int | None, taken: list[str]) -> None:
    stage: Any = InFiles(2, 4, 3, 0)
    seen: list[str] = []

    def chosen(row: str) -> bool:
        seen.append(row)
        return not row.startswith("1")

    rows = EvaluatedRows([stage], limit, chosen)
    assert (list(rows), len(rows), rows.built) == (taken, len(taken), 9)
    assert seen == ["0.0", "1.0", "2.0"], "a row may have 1.5 MB"


def by_now(build: Build, **changes: Any) -> Any:
    """The project, where the configuration says something else now."""
    now = build.families["toy"].settings.model_copy(update=changes)
    return SimpleNamespace(
        only_keys=None,
        build=build,
        loop=ModelLoop(),
        settings_now={"toy": now},
        config_path=Path("mine.yaml"),
        out=Path("out"),
    )


BY_NOW = dataclasses.replace(
    EVALUATED,
    evaluation=dataclasses.replace(
        EVALUATED.evaluation,
        settings=("unrelated",),
        selection=Selection("times", lambda row: row.times if isinstance(row, Echo) else None),
    ),
)


def test_an_evaluation_takes_its_settings_as_the_configuration_says_now(build: Build) -> None:
    project = by_now(build, times=(2,), unrelated=5, parts=("words",))
    settings: Any = settings_now(project, BY_NOW)
    assert (settings.times, settings.unrelated, settings.parts) == ((2,), 5, None)
    assert settings_now(project, EVALUATED) == build.families["toy"].settings


@pytest.mark.parametrize(
    ("times", "limit", "taken"),
    [((2,), None, ["APPLEAPPLE", "BREADBREAD", "CAKECAKE"]), ((1,), 2, ["APPLE", "BREAD"]), ((2, 1), None, 6)],
)
def test_rows_are_chosen_among_those_that_were_built(
    build: Build, times: tuple[int, ...], limit: int | None, taken: Any
) -> None:
    rows = evaluated_rows(by_now(build, times=times), BY_NOW, limit)
    words = [row for row in rows if isinstance(row, Word)]
    echoes = [row.text for row in rows if isinstance(row, Echo)]
    assert len(words) == min(limit or 3, 3), "the setting says nothing of them"
    assert (len(echoes) if isinstance(taken, int) else sorted(echoes)) == taken
    assert (len(rows), rows.built, rows.notes) == (len(words) + len(echoes), 9, ())


def test_what_is_wanted_and_was_not_built_is_said(build: Build) -> None:
    rows = evaluated_rows(by_now(build, times=(7, 2, 9)), BY_NOW, None)
    assert len(rows) == 3 + 3
    (said,) = rows.notes
    assert said == (
        "families.toy.times: 7, 9: this build has no rows of it; `touchstone run mine.yaml --out out` builds them, "
        "where the sources suffice"
    )
    only_echoes = dataclasses.replace(BY_NOW, evaluation=dataclasses.replace(BY_NOW.evaluation, parts=("echoes",)))
    with pytest.raises(WrongInput, match=r"^mine.yaml: families.toy.times: 7: this build has no rows of it; `touch"):
        evaluated_rows(by_now(build, times=(7,)), only_echoes, None)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("uraq", {"context_counts"}),
        ("reeval", {"style", "prompting", "shots", "entailment", "matrix_seeds"}),
        ("lveval", {"levels", "metrics", "blacklists", "ablations", "context_windows"}),
        ("charpeval", {"shots"}),
    ],
)
def test_what_can_be_chosen_at_evaluation(name: str, settings: set[str]) -> None:
    family = load_family(name)
    selection = family.evaluation.selection
    assert {*family.evaluation.settings, *([selection.setting] if selection else ())} == settings
    assert settings <= set(family.settings.model_fields)


def test_reeval_is_asked_in_the_style_of_now() -> None:
    family, case = load_family("reeval"), swap_cases()[0]
    built = family.settings.model_validate({"style": "chat", "pivots": ["one"]})
    now = family.settings.model_validate({"style": "palm", "prompting": ["faithful"], "shots": [5], "pivots": ["two"]})
    project: Any = SimpleNamespace(
        build=SimpleNamespace(families={"reeval": SimpleNamespace(settings=built)}), settings_now={"reeval": now}
    )
    settings: Any = settings_now(project, family)
    assert settings.pivots == ("one",), "what was built stays what it was"
    asked = family.evaluation.requests(case, settings)
    assert {(one.prompt.name, one.prompting, one.shots) for one in asked} == {("answer_palm", "faithful", 5)}


def test_a_limit_takes_rows_of_each_part(build: Build, tmp_path: Path) -> None:
    found, _, told = evaluate(build, tmp_path / "predictions.jsonl", limit=1)
    assert [row["variant"] for row in found] == ["loud", "loud", "echo 2"]
    assert told[-1] == (2, 2)


class Patient:
    """A model that answers the first question when it has been asked so many, and notes how many it was asked then."""

    name = "patient"

    def __init__(self, questions: int) -> None:
        self.questions = questions
        self.asked: list[str] = []
        self.enough = asyncio.Event()
        self.asked_by_then = 0

    async def complete(self, prompt: Prompt[Any], inputs: Any, *, draw: int = 0, usage: Usage) -> Any:
        self.asked.append(inputs.text)
        if len(self.asked) == self.questions:
            self.enough.set()
        if inputs.text == "word0":
            await self.enough.wait()
            await asyncio.sleep(0.05)
            self.asked_by_then = len(self.asked)
        return Text(text=inputs.text.upper())

    def identity(self) -> dict[str, object]:
        return {"model": self.name}


def test_while_one_row_is_waited_for_some_others_are_asked_about_and_all_are_written_in_order(
    build: Build, tmp_path: Path
) -> None:
    count = 3 * GROUPS_AT_ONCE
    stage: Any = InFiles(count)
    stage._rows = [
        Word(key=f"{number}", text=f"word{number}", upper="", provenance=Provenance(seed=1)) for number in range(count)
    ]
    project: Any = SimpleNamespace(build=build, only_keys=None, loop=ModelLoop(), state=tmp_path)
    model, path, told = Patient(2 * GROUPS_AT_ONCE), tmp_path / "predictions.jsonl", list[int]()
    rows = EvaluatedRows([stage], None)  # long texts: a batch has one row, about which two questions are asked
    predict(project, EVALUATED, model, rows, path, lambda done, total: told.append(done))
    assert model.asked_by_then == 2 * GROUPS_AT_ONCE, "rows that wait to be written are in memory"
    written = [json.loads(line)["prediction"] for line in path.read_text().splitlines()]
    assert written == [f"WORD{number}" for number in range(count) for _ in range(2)]
    assert told == list(range(1, count + 1))


def test_an_invalid_answer_is_a_prediction_too(build: Build, tmp_path: Path) -> None:
    found, _, _ = evaluate(build, tmp_path / "predictions.jsonl")
    ids = {word.text: word.id for word in build.accepted("toy", "words")}
    assert {row["prediction"] for row in found if row["id"] == ids["bread"]} == {"bread"}
    assert {row["prediction"] for row in found if row["id"] == ids["cake"]} == {"CAKE"}


def test_rows_of_one_id_are_asked_once(build: Build, tmp_path: Path) -> None:
    stage = build.accepted("toy", "words")
    project: Any = SimpleNamespace(build=build, only_keys=None, loop=ModelLoop(), state=tmp_path)
    model, path = Counting(), tmp_path / "predictions.jsonl"
    predict(project, EVALUATED, model, EvaluatedRows([stage, stage], None), path, lambda done, total: None)
    assert len(path.read_text().splitlines()) == len(model.asked) == 3 * 2


@pytest.mark.slow
def test_what_a_killed_evaluation_left_is_written_over_and_what_fails_leaves_nothing(
    build: Build, tmp_path: Path
) -> None:
    path = tmp_path / "predictions" / "toy.jsonl"
    path.parent.mkdir()
    (path.parent / "toy.jsonl.tmp").write_text('{"id": "half')

    def fails(done: int, total: int) -> None:
        assert [one.name for one in path.parent.iterdir()] == ["toy.jsonl.tmp"]
        raise KeyboardInterrupt

    project: Any = SimpleNamespace(build=build, only_keys=None, loop=ModelLoop(), state=tmp_path)
    rows = evaluated_rows(project, EVALUATED, None)
    with pytest.raises(KeyboardInterrupt):
        predict(project, EVALUATED, Counting(), rows, path, fails)
    assert list(path.parent.iterdir()) == []
    (path.parent / "toy.jsonl.tmp").write_text('{"id": "half')
    predict(project, EVALUATED, Counting(), rows, path, lambda done, total: None)
    assert [one.name for one in path.parent.iterdir()] == ["toy.jsonl"]
    assert "half" not in path.read_text()


class Poor(Counting):
    """Answers so many questions, then the budget is spent."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        super().__init__()

    def shout(self, inputs: ToShout, rng: Any) -> Text:
        if len(self.asked) == self.answers:
            raise BudgetSpent("the budget is spent")
        return super().shout(inputs, rng)


def test_where_the_budget_leaves_no_answer_what_was_there_stays_with_its_tables(build: Build, tmp_path: Path) -> None:
    path, tables = tmp_path / "toy.jsonl", [tmp_path / f"toy{end}" for end in (".tables.json", ".tables.html", ".html")]
    project: Any = SimpleNamespace(build=build, only_keys=None, loop=ModelLoop(), state=tmp_path / "state")
    rows = evaluated_rows(project, EVALUATED, None)
    predict(project, EVALUATED, Counting(), rows, path, lambda done, total: None)
    whole = path.read_text()
    for one in tables:
        one.write_text("of the whole")
    with pytest.raises(NothingAnswered):
        predict(project, EVALUATED, Poor(0), rows, path, lambda done, total: None)
    assert path.read_text() == whole
    assert all(one.exists() for one in tables)
    # Tables of predictions that are no more go with them.
    with pytest.raises(BudgetSpent) as stopped:
        predict(project, EVALUATED, Poor(2), rows, path, lambda done, total: None)
    assert not isinstance(stopped.value, NothingAnswered)
    assert len(path.read_text().splitlines()) == 2
    assert not any(one.exists() for one in tables)


def test_a_build_without_an_evaluated_part_says_which_there_could_be(build: Build) -> None:
    settings = build.families["toy"].settings.model_copy(update={"parts": ("words",)})
    one = build.families["toy"]
    build.families["toy"] = FamilyBuild(EVALUATED, settings, one.prompts, one.models)
    only_echoes = dataclasses.replace(
        EVALUATED, evaluation=dataclasses.replace(EVALUATED.evaluation, parts=("echoes",))
    )
    project: Any = SimpleNamespace(build=build, only_keys=None, loop=ModelLoop())
    assert len(evaluated_rows(project, EVALUATED, None)) == 3
    with pytest.raises(WrongInput, match=r"toy: this build has none of the parts .*\(echoes\)"):
        evaluated_rows(project, only_echoes, None)
