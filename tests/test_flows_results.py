"""`touchstone results`: files for model repositories and Every Eval Ever, by rules out of their specifications."""

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from huggingface_hub import eval_result_entries_to_yaml, parse_eval_result_entries
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from data.publish.benchmark import HubScorer, HubTask
from data.publish.hub import publish
from flows.evaluate.headline import FigureRow
from flows.evaluate.scores_file import EvaluationScores, Spent
from flows.evaluate.signature import Signature
from flows.families import load_family
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.local import LocalSettings
from flows.results.evaluated import Dataset, Found, TaskRows
from flows.results.every_eval_ever import BOOTSTRAP, EXACT, record_path, record_text
from tests.builds import write_config
from tests.chat_server import ChatServer
from tests.profiled import FAMILIES, QUESTIONS, able, build, model, right_answers, work_in
from tests.releasing import hub_of_the_client
from tests.test_flows_cli import Outcome

REPO = "acme/test"
UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json")
"""The name of a record, as its datastore asks for it."""


# ---- Every Eval Ever, the rules of its schema that concern us ----


class Strict(BaseModel):
    """A part of a record: fields of exactly these types, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


Details = dict[str, str]


class SourceMetadata(Strict):
    source_name: str
    source_type: Literal["documentation", "evaluation_run"]
    source_organization_name: str
    evaluator_relationship: Literal["first_party", "third_party", "collaborative", "other"]


class Library(Strict):
    name: str
    version: str
    additional_details: Details


class ModelInfo(Strict):
    name: str
    id: str
    developer: str
    additional_details: Details

    @model_validator(mode="after")
    def _is_told(self) -> "ModelInfo":
        assert self.additional_details["deployment_type"] in ("self_deployed", "externally_managed", "unknown")
        assert self.additional_details["model_availability"] in ("open_weights", "closed_weights", "unknown")
        return self


class HubData(Strict):
    dataset_name: str
    source_type: Literal["hf_dataset"]
    hf_repo: str
    hf_split: Literal["train", "val", "test"]
    additional_details: Details = {}


class OtherData(Strict):
    dataset_name: str
    source_type: Literal["other"]
    additional_details: Details = {}


class MetricConfig(Strict):
    evaluation_description: str
    metric_name: str
    metric_unit: Literal["proportion", "points"]
    lower_is_better: bool
    score_type: Literal["continuous"]
    min_score: float
    max_score: float


class Interval(Strict):
    lower: float
    upper: float
    confidence_level: float = Field(ge=0, le=1)
    method: str


class Uncertainty(Strict):
    confidence_interval: Interval | None = None
    num_samples: int
    num_bootstrap_samples: int | None = None


class ScoreDetails(Strict):
    score: float
    details: Details
    uncertainty: Uncertainty


class Generation(Strict):
    additional_details: Details


class Result(Strict):
    evaluation_name: str
    source_data: HubData | OtherData
    metric_config: MetricConfig
    score_details: ScoreDetails
    generation_config: Generation

    @model_validator(mode="after")
    def _on_the_scale(self) -> "Result":
        uncertainty = self.score_details.uncertainty.confidence_interval
        values = [self.score_details.score, *([uncertainty.lower, uncertainty.upper] if uncertainty else [])]
        assert all(self.metric_config.min_score <= value <= self.metric_config.max_score for value in values)
        return self


class EveryEvalEver(Strict):
    """A record: `eval.schema.json`, version 0.3.0."""

    schema_version: Literal["0.3.0"]
    evaluation_id: str = Field(pattern=r"^[^/]+/.+/\d+$")
    evaluation_timestamp: str
    retrieved_timestamp: str = Field(pattern=r"^\d+$")
    source_metadata: SourceMetadata
    eval_library: Library
    model_info: ModelInfo
    evaluation_results: list[Result] = Field(min_length=1)


def record(path: Path) -> EveryEvalEver:
    """A record, valid by the schema, in the place that its model and dataset give it."""
    read = EveryEvalEver.model_validate_json(path.read_bytes())
    benchmark, developer, name, file = path.parts[-4:]
    assert path.parts[-5] == "data"
    assert benchmark == read.evaluation_results[0].source_data.dataset_name
    assert developer == read.model_info.developer
    assert name == read.model_info.id.rpartition("/")[2]
    assert UUID4.fullmatch(file)
    return read


# ---- from scores alone ----

SIGNATURE = Signature(
    dataset="test@1.2.0", family="reeval", rows=3, asked="a" * 8, prompts=("answer_chat:1-0:t0:m100",), window="none",
    parameters="none", scorer="b" * 8, touchstone="0.1.0", model="acme/small-7b", served=("small-7b-0101",),
    date=datetime.date(2026, 11, 27),
)  # fmt: skip
SPENT = Spent(calls=1, cached=0, input_tokens=1, output_tokens=1, cost_usd=None, seconds=1)
DATASET = Dataset("test", "1.2.0", REPO, "Acme")


def figure(measure: str, at: str, value: float, items: int, group: str = "acme/small-7b", **more: Any) -> FigureRow:
    return FigureRow(
        measure=measure, model=group, at=at, value=value, items=items, **{"low": None, "high": None, **more}
    )


def found(figures: Sequence[FigureRow], name: str = "reeval-small", **more: Any) -> Found:
    signature = SIGNATURE.model_copy(update=more.pop("signature", {}))
    scores = EvaluationScores(signature=signature, figures=tuple(figures), spent=SPENT, **more)
    return Found(Path(f"{name}.scores.json"), scores)


def read(family: str, of: Found, dataset: Dataset = DATASET) -> EveryEvalEver:
    return EveryEvalEver.model_validate_json(record_text(dataset, load_family(family), of))


def test_the_value_of_a_task_is_the_mean_over_exactly_its_rows() -> None:
    task = HubTask(variant="v", input="q", target="a", scorers=(HubScorer("exact"),), figure=("m", None))
    figures = [figure("m", "1 context", 0.5, 2), figure("m", "5 contexts", 1.0, 1), figure("n", "1 context", 0.1, 3),
               figure("m", "5 contexts", 0.5, 1, against="1 context")]  # fmt: skip
    # (0.5 * 2 + 1 * 1) / 3 = 2/3
    assert TaskRows("t", task, 3).value(figures, "acme/small-7b") == pytest.approx(2 / 3, abs=1e-6)
    assert TaskRows("t", task, 4).value(figures, "acme/small-7b") is None, "it was asked about fewer rows"
    assert TaskRows("t", task, 3).value(figures, "another") is None
    one = HubTask(variant="v", input="q", target="a", scorers=(), figure=("m", "1 context"))
    assert TaskRows("t", one, 2).value(figures, "acme/small-7b") == 0.5
    assert (
        TaskRows("t", HubTask(variant="v", input="q", target="a", scorers=()), 2).value(figures, "acme/small-7b")
        is None
    )


def test_ways_of_asking_are_told_by_the_figures_or_by_the_profile() -> None:
    groups = [figure("m", "a", 1.0, 1, f"acme/small-7b{way}") for way in (", open-book, 0 shots", ", faithful")]
    assert found(groups).ways == {groups[0].model: "open-book, 0 shots", groups[1].model: "faithful"}
    assert found([figure("m", "a", 1.0, 1, "small")], way="open-book").ways == {"small": "open-book"}
    assert found([figure("m", "a", 1.0, 1, "small")]).ways == {"small": ""}
    assert found([figure("m", "a", 1.0, 1)]).ways == {"acme/small-7b": ""}


def test_a_record_has_the_score_its_interval_how_it_was_found_and_the_signature() -> None:
    measure = "exact match, category 1"
    made = found([
        figure(measure, "original", 0.75, 20, low=0.5, high=0.9),
        figure(measure, "swapped", 1.0, 20, low=0.8, high=1.0),
        figure(measure, "swapped", 0.25, 20, against="original", low=0.1, high=0.4), figure("gone", "a", 0.5, 1),
        figure("exact match, category 2", "original", 0.5, 2),
    ], partial=True)  # fmt: skip
    told = read("reeval", made)
    assert [result.evaluation_name for result in told.evaluation_results] == [
        "reeval: exact match, category 1, original", "reeval: exact match, category 1, swapped",
        "reeval: exact match, category 2, original",
    ]  # fmt: skip
    first, second, third = (result.score_details for result in told.evaluation_results)
    assert first.score == 0.75
    assert first.details == {"signature": str(SIGNATURE), "partial": "the budget was spent"}
    assert first.uncertainty.model_dump() == {
        "confidence_interval": {"lower": 0.5, "upper": 0.9, "confidence_level": 0.95, "method": BOOTSTRAP},
        "num_samples": 20, "num_bootstrap_samples": 1000,
    }  # fmt: skip
    assert second.uncertainty.confidence_interval is not None
    assert (second.uncertainty.confidence_interval.method, second.uncertainty.num_bootstrap_samples) == (EXACT, None)
    assert third.uncertainty.model_dump(exclude_none=True) == {"num_samples": 2}
    assert told.source_metadata.source_organization_name == "Acme"
    assert told.model_info.model_dump() == {
        "name": "acme/small-7b", "id": "acme/small-7b", "developer": "acme",
        "additional_details": {
            "deployment_type": "unknown", "model_availability": "unknown", "served": "small-7b-0101",
        },
    }  # fmt: skip
    assert told.evaluation_results[0].source_data.model_dump() == {
        "dataset_name": "test", "source_type": "hf_dataset", "hf_repo": REPO, "hf_split": "test",
        "additional_details": {"version": "1.2.0"},
    }  # fmt: skip
    assert told.retrieved_timestamp == str(int(datetime.datetime(2026, 11, 27, tzinfo=datetime.UTC).timestamp()))


def test_a_record_without_a_repository_and_of_ratings() -> None:
    own = Dataset("mine", "", None, None)
    measure = load_family("refutebench").evaluation.measures[0].name
    rated = found([figure(measure, "turn 1", 3.5, 9, low=1.0, high=5.0)], "refutebench-small")
    (result,) = read("refutebench", rated, own).evaluation_results
    assert result.source_data.model_dump() == {"dataset_name": "mine", "source_type": "other", "additional_details": {}}
    assert (result.metric_config.min_score, result.metric_config.max_score) == (1, 5)
    assert read("refutebench", rated, own).source_metadata.source_organization_name == "unknown"


def test_a_new_evaluation_replaces_the_record_of_the_one_before_and_no_other() -> None:
    path = record_path(DATASET, found([]))
    assert path.parts[:4] == ("data", "test", "acme", "small-7b")
    later = {"date": datetime.date(2026, 12, 1), "asked": "c" * 8, "parameters": "temperature=1", "touchstone": "0.2.0"}
    assert record_path(DATASET, found([], signature=later)) == path
    for other in ({"dataset": "test@1.3.0"}, {"family": "uraq"}, {"model": "acme/large"}):
        assert record_path(DATASET, found([], signature=other)) != path
    assert record_path(DATASET, found([], "reeval-small-open-book")) != path


def test_no_name_leaves_its_folder_or_is_too_long_for_one() -> None:
    def folders(model: str) -> tuple[str, ...]:
        return record_path(DATASET, found([], signature={"model": model})).parts[2:4]

    for name, expected in {
        "/home/somebody/models/mine": ("unknown", "mine"), "gpt-4o": ("unknown", "gpt-4o"),
        "..": ("unknown", "unknown"),
        "a/../b c": ("a", ".._b c"), "a/b:latest": ("a", "b_latest"), "openai/azure/gpt-4o": ("openai", "azure_gpt-4o"),
    }.items():  # fmt: skip
        assert folders(name) == expected
    for letter in "x模":
        (_, long), (_, longer) = (folders(f"o/{letter * count}") for count in (300, 301))
        assert long != longer
        assert long.startswith(letter * 60)
        assert len(long.encode()) <= 200


def test_a_models_name_is_on_one_line() -> None:
    with pytest.raises(ValidationError, match=r"holds the character U\+000A; write plain text on one line"):
        EndpointSettings(provider="endpoint", name="org/a\nb", base_url="http://localhost/v1")
    with pytest.raises(ValidationError, match=r"holds the character U\+001B; write plain text on one line"):
        LocalSettings(provider="local", name="org/a\x1b[2J")
    assert str(SIGNATURE.model_copy(update={"served": ("a\nb",)})).count("\n") == 0, "the server names itself"


def test_a_record_does_not_say_where_a_model_lies() -> None:
    at_home = found([figure("exact match, category 1", "swapped", 1.0, 2)], signature={"model": "/home/somebody/m"})
    assert read("reeval", at_home).model_info.id == "m"


# ---- from evaluations ----


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, tuple[str, str]]]:
    """A folder with a build of two families in `out`, and what is right about its rows."""
    folder = tmp_path_factory.mktemp("results")
    return folder, right_answers(build(folder, TWO), "uraq", "reeval")


TWO: Mapping[str, Any] = {
    "uraq": FAMILIES["uraq"], "reeval": {**FAMILIES["reeval"], "sources": [QUESTIONS], "prompting": ["open-book"]},
}  # fmt: skip


def configure(folder: Path, models: Mapping[str, Any], **config: Any) -> None:
    write_config(folder, store=str(folder / "store"), families=TWO, models=models, **config)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def entry(text: bytes) -> dict[str, Any]:
    """The one entry of a file; the Hub's own client reads it, and would write it so."""
    entries = yaml.safe_load(text)
    assert eval_result_entries_to_yaml(parse_eval_result_entries(entries)) == entries
    (only,) = entries
    assert isinstance(only, dict)
    return only


@pytest.mark.slow
def test_a_builds_scores_go_into_files_that_are_the_same_each_time(
    made: tuple[Path, dict[str, tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, right = work_in(made[0], monkeypatch), made[1]
    nothing = Outcome("results", "--to", "results", "--out", "out")
    assert nothing.code == 2
    assert "has no scores; `touchstone evaluate` and `touchstone profile` write them" in str(nothing.error)
    with ChatServer(able(right, 0.7), model="acme/small") as server:
        configure(folder, {"m": model(server), "few": model(server)}, release={"repo": REPO, "maintainer": "Acme"})
        assert Outcome("evaluate", "reeval", "--model", "m", "--out", "out").code == 0
        assert Outcome("evaluate", "uraq", "--model", "m", "--out", "out").code == 0
        assert Outcome("evaluate", "uraq", "--model", "few", "--out", "out", "--limit", "12").code == 0
    wrong = Outcome("results", "--to", "results", "--out", "out", "--hub", "acme")
    assert (wrong.code, str(wrong.error)) == (2, "--hub acme: expected a dataset as OWNER/NAME")
    assert not (folder / "results").exists()
    ran = Outcome("results", "--to", "results", "--out", "out")
    assert ran.code == 0, ran.output
    told = files(folder / "results")
    cards = {name: entry(text) for name, text in told.items() if name.endswith(".yaml")}
    names = [f"uraq-evaluation-{need}" for need in ("context-exclusive", "context-first", "memory-first")]
    ways = [f"reeval-category1-{variant}-open-book-{shots}" for variant in ("original", "swapped")
            for shots in ("0-shots", "5-shots")]  # fmt: skip
    assert cards.keys() == {f"m/.eval_results/test-{name}.yaml" for name in (*names, *ways)}
    for name, card in cards.items():
        assert card["dataset"] == {"id": REPO, "task_id": next(task for task in TASKS if task in name)}
        assert "|model:acme/small|" in card["notes"]
        assert card["source"] == {"url": f"https://huggingface.co/datasets/{REPO}", "name": "test"}
    assert cards["m/.eval_results/test-reeval-category1-swapped-open-book-5-shots.yaml"]["notes"].startswith(
        "open-book, 5"
    )
    scores = json.loads((folder / "out/predictions/uraq-m.scores.json").read_text())["figures"]
    of_need = [row for row in scores if row["measure"] == "accuracy, context-first" and row["against"] is None]
    right_ones = sum(row["value"] * row["items"] for row in of_need)
    assert cards["m/.eval_results/test-uraq-evaluation-context-first.yaml"]["value"] == pytest.approx(
        right_ones / sum(row["items"] for row in of_need), abs=1e-6
    )
    assert "uraq-few.scores.json: no .eval_results for " in ran.output
    assert "developer" not in ran.output
    assert "test is a build, not a released version, so nothing here names a revision" in ran.output

    records = [record(folder / "results" / name) for name in told if name.endswith(".json")]
    assert {one.model_info.id for one in records} == {"acme/small"}
    assert len(records) == 3
    assert {one.source_metadata.source_organization_name for one in records} == {"Acme"}
    assert Outcome("results", "--to", "again", "--out", "out").code == 0
    assert files(folder / "again") == told

    other = json.loads((folder / "out/predictions/uraq-m.scores.json").read_text())
    other["signature"]["family"] = "refutebench"
    del other["checksum"]
    (folder / "out/predictions/refutebench-m.scores.json").write_text(json.dumps(other))
    ran = Outcome("results", "--to", "again", "--out", "out")
    assert "refutebench-m.scores.json: left out: this build has no refutebench" in ran.output
    assert (ran.code, files(folder / "again")) == (0, told)
    (folder / "out/predictions/refutebench-m.scores.json").write_text("{")
    broken = Outcome("results", "--to", "again", "--out", "out")
    assert broken.code == 1
    assert "refutebench-m.scores.json: damaged; evaluate again, or remove it" in str(broken.error)
    (folder / "out/predictions/refutebench-m.scores.json").unlink()

    configure(folder, {})
    ran = Outcome("results", "--to", "no-repository", "--out", "out")
    assert ran.code == 0
    assert "no .eval_results: they name the dataset on the Hub; give its repository by --hub OWNER/NAME" in ran.output
    alone = files(folder / "no-repository")
    assert len(alone) == 3
    assert all(b'"source_type": "other"' in text for text in alone.values())


TASKS = [*(f"uraq-evaluation-{need}" for need in ("context-exclusive", "context-first", "memory-first")),
         "reeval-category1-original", "reeval-category1-swapped"]  # fmt: skip


@pytest.mark.slow
def test_a_released_versions_scores_name_its_commit_once_it_is_published(
    made: tuple[Path, dict[str, tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, right = work_in(made[0], monkeypatch), made[1]
    with ChatServer(able(right, 0.7), model="small") as server, hub_of_the_client(monkeypatch) as hub:
        configure(folder, {"m": model(server)}, release={"licence": "CC0-1.0"})
        assert Outcome("release", "--out", "out", "--to", "releases", "--allow-unreviewed").code == 0
        profile = ("profile", "releases/1.0.0", "--config", "config.yaml", "--model", "m", "--to", "of-release")
        ran = Outcome(*profile)
        assert ran.code == 0, ran.output
        results = ("results", "--to", "published", "--hub", REPO, "--out", "of-release")
        hub.made(REPO)
        too_early = Outcome(*results)
        assert too_early.code == 2
        assert str(too_early.error) == f"{REPO}: no version 1.0.0; the published versions: none"
        early = files(folder / "published")
        assert len(early) == 2, "Every Eval Ever needs no commit"
        published = publish(folder / "releases" / "1.0.0", REPO, "1.0.0", message="first")
        ran = Outcome(*results)
        assert ran.code == 0, ran.output
        assert "revision" not in ran.output
        assert "small: filed under unknown: Every Eval Ever asks for a developer" in ran.output
    told = files(folder / "published")
    assert {name: text for name, text in told.items() if name.endswith(".json")} == early
    cards = [entry(text) for name, text in told.items() if name.endswith(".yaml")]
    assert {card["dataset"]["task_id"] for card in cards} == set(TASKS)
    assert {card["dataset"]["revision"] for card in cards} == {published.commit}
    assert {card["source"]["url"] for card in cards} == {f"https://huggingface.co/datasets/{REPO}/tree/1.0.0"}
    assert any("open-book, 0 shots; touchstone evaluate, data:test@1.0.0|" in card["notes"] for card in cards)
    benchmark = yaml.safe_load((folder / "releases" / "1.0.0" / "eval.yaml").read_text())
    assert set(TASKS) < {task["id"] for task in benchmark["tasks"]}
