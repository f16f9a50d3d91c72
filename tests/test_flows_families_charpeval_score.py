"""CHARPEval's tables by hand, and from a model's log-probabilities to the tables by way of the command line."""

import asyncio
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from data.sources import SourceSpec
from data.store import Store
from flows.construct.engine import Context, Family, Part, each
from flows.construct.evaluation import Evaluation
from flows.construct.paper import Paper
from flows.construct.settings import FamilySettings
from flows.construct.stages import Build, FamilyBuild
from flows.evaluate import score as rescoring
from flows.evaluate import terminal as scoring
from flows.evaluate.predictions import weigh
from flows.evaluate.rows import EvaluatedRows
from flows.families.charpeval.evaluation import EVALUATION, score
from flows.families.charpeval.inference import choices, chunks
from flows.families.charpeval.score import first
from flows.llm.cache import CompletionCache
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.likelihood import Likelihood, Options
from flows.llm.local import LocalModel, LocalSettings
from flows.llm.model import TransportError, Usage
from flows.llm.rules import Rules
from flows.project.model_loop import ModelLoop
from flows.scoring.tables import PartialScores, ScoreError, ScoreTables
from schemas.charpeval import DISTRACTOR_TYPES, OPTION_TYPES, CharpEvalItem
from schemas.errors import WrongInput
from schemas.prediction import Prediction
from schemas.source import Statement
from tests.causal_models import make_llama, text
from tests.chat_server import ChatServer
from tests.toy import HERE, NoEmbedder, run_all, verify_nothing

ITEMS = [{"id": name, "subset": "hCHARP"} for name in "abc"] + [{"id": "e", "subset": "eCHARP"}]


def scores(best: str = "GTRS", **changes: float) -> dict[str, float]:
    """A score for each kind, the highest for `best`."""
    return {kind: -1.0 if kind == best else -2.0 - place for place, kind in enumerate(OPTION_TYPES)} | changes


def predictions(choice: Mapping[str, str], variant: str = "sum", **group: Any) -> list[Prediction]:
    return [Prediction(id=name, variant=variant, scores=scores(best), **group) for name, best in choice.items()]


ALL = {"a": "GTRS", "b": "KGIR", "c": "GTRS", "e": "COEX"}


def value(found: ScoreTables, table: str, row: str, column: str) -> tuple[float | None, int]:
    (cell,) = [c for c in found.tables if (c.table, c.row, c.column) == (table, row, column)]
    return cell.value, cell.n


def test_accuracy_and_ranking_worked_by_hand() -> None:
    mean = predictions(dict.fromkeys("abce", "GTRS"), "mean", model="m", shots=0)
    found = score(ITEMS, predictions(ALL, model="m", shots=0) + mean, False)
    assert value(found, "accuracy", "m, 0 shots / hCHARP", "sum") == (pytest.approx(2 / 3), 3)
    assert value(found, "accuracy", "m, 0 shots / eCHARP", "sum") == (0, 1)
    assert value(found, "accuracy", "m, 0 shots / hCHARP", "mean") == (1, 3)
    assert list(found.frames["accuracy"].columns) == ["sum", "mean"]
    ranking = found.frames["ranked first, by sum"]
    assert list(ranking.columns) == list(OPTION_TYPES)
    assert ranking.loc["m, 0 shots / hCHARP"].tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0, 0, 0])
    assert ranking.loc["m, 0 shots / eCHARP"].tolist() == [0, 0, 0, 0, 0, 1]
    assert not found.notes


def test_shots_and_models_stand_apart() -> None:
    one = predictions(ALL, model="m", shots=0)
    other = predictions(dict.fromkeys("abce", "GTRS"), model="m", shots=3)
    found = score(ITEMS, one + other + predictions(ALL, model="n"), False)
    assert value(found, "accuracy", "m, 3 shots / hCHARP", "sum") == (1, 3)
    assert value(found, "accuracy", "m, 0 shots / hCHARP", "sum") == (pytest.approx(2 / 3), 3)
    assert value(found, "accuracy", "n / eCHARP", "sum") == (0, 1)


def test_of_options_that_tie_for_the_first_place_each_has_its_share_and_a_note_says_so() -> None:
    assert first(scores(GTRS=-1.0, COEX=-1.0)) == {"GTRS": 0.5, "COEX": 0.5} | dict.fromkeys(OPTION_TYPES[1:5], 0.0)
    tied = Prediction(id="e", variant="sum", scores=scores(GTRS=-1.0, COEX=-1.0, RECF=-1.0))
    given = [one for one in predictions(ALL) if one.id != "e"]
    found = score(ITEMS, [*given, tied], False)
    assert value(found, "accuracy", "model / eCHARP", "sum") == (pytest.approx(1 / 3), 1)
    assert found.frames["ranked first, by sum"].loc["model / eCHARP"].sum() == pytest.approx(1)
    assert found.notes == ["1 of 4 rankings have several options in the first place: each has an equal share of it"]


def test_neither_the_order_of_the_scores_nor_of_the_predictions_matters() -> None:
    given = predictions(ALL) + predictions(ALL, model="n")
    turned = [one.model_copy(update={"scores": dict(reversed((one.scores or {}).items()))}) for one in given]
    random.Random(1).shuffle(turned)
    assert score(ITEMS[::-1], turned, False).tables == score(ITEMS, given, False).tables


@pytest.mark.parametrize("fault", ["missing", "double", "unknown id", "unknown variant"])
def test_predictions_that_do_not_fit_are_an_error_with_the_counts(fault: str) -> None:
    given = predictions(ALL)
    if fault == "missing":
        given = given[1:]
    elif fault == "double":
        given += given[:1]
    else:
        change = {"id": "nowhere"} if fault == "unknown id" else {"variant": "loud"}
        given += [given[0].model_copy(update=change)]
    with pytest.raises(ScoreError, match=f"expected one for each of 4, found .*1 {fault.split(maxsplit=1)[0]}"):
        score(ITEMS, given, False)
    with pytest.warns(PartialScores):
        assert score(ITEMS, given, True).tables


def test_scores_that_are_not_of_the_six_options_and_nothing_to_score() -> None:
    some = dict.fromkeys(OPTION_TYPES[:5], 1.0)
    for wrong in (some, scores() | {"XXXX": 1.0}):
        with pytest.raises(ScoreError, match=r"a sum: scores: expected \{GTRS: …, KGIR"):
            score(ITEMS, [Prediction(id="a", variant="sum", scores=wrong)], True)
    with pytest.raises(ScoreError, match="they are mean, sequence, sum"):
        score(ITEMS, predictions(ALL, "loud"), False)
    with pytest.raises(ScoreError, match="found none"):
        score([], predictions(ALL), False)
    with pytest.raises(ScoreError, match="found none"):
        score(ITEMS, [], True)


# ---- from a model to the tables ----


class Settings(FamilySettings):
    sources: tuple[SourceSpec, ...] = ()
    shots: tuple[int, ...] = (0, 3)


async def write(statement: Statement, ctx: Context) -> CharpEvalItem:
    number = int(statement.text)
    distractors = {kind: text(10 * number + place, 3 + place) for place, kind in enumerate(DISTRACTOR_TYPES)}
    options = [text(10 * number + 9, 6), *distractors.values()]
    random.Random(number).shuffle(options)
    return CharpEvalItem(
        key=ctx.key,
        subset="hCHARP" if number % 2 else "eCHARP",
        history=(text(number, 5), text(number + 50, 7)),
        last_utterance=text(number + 20, 6),
        knowledge=text(number + 30, 12),
        response=text(10 * number + 9, 6),
        distractors=distractors,
        options=tuple(options),
        gold_index=options.index(text(10 * number + 9, 6)),
        dialogue_id=str(number),
        provenance=ctx.provenance(),
    )


CHARPEVAL = Family(
    name="charpeval",
    paper=Paper(title="CHARPEval", short="CHARPEval", year=2025, authors="nobody"),
    settings=Settings,
    prompts=(),
    parts=(Part("items", source=Statement, item=CharpEvalItem, steps=(each(write),), verify=verify_nothing),),
    evaluation=Evaluation(
        parts=("items",), prompts=(), requests=lambda item, settings: (), scored=EVALUATION.scored, score=score,
        choices=choices, chunks=chunks,
    ),
    reads="items",
    folder=HERE,
)  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture
def project(place: Path) -> Any:
    """A build of five items, as much of a project as evaluation needs."""
    source = place / "numbers.jsonl"
    source.write_text("".join(f'{{"text": "{number}"}}\n' for number in range(5)))
    settings = Settings(sources=(SourceSpec(format="jsonl", path=str(source), fields={"text": "text"}),))
    build = Build(
        [FamilyBuild(CHARPEVAL, settings, {}, {"builder": Rules({}, 1)})],
        store=Store(str(place / "store")), seed=1, limit=None, embedder=NoEmbedder(), verdicts=lambda family, part: {},
    )  # fmt: skip
    asyncio.run(run_all(build))
    config = SimpleNamespace(name="test", models={"here": None})
    models = SimpleNamespace(tell=print, budget=SimpleNamespace(spent_usd=0.0))
    return SimpleNamespace(
        build=build,
        models=models,
        loop=ModelLoop(),
        family=lambda name: build.families[name].family,
        out=place / "out",
        state=place / "state",
        config=config,
        config_path=place / "c.yaml",
        only_keys=None,
        close=lambda: None,
    )


@pytest.fixture
def opened(project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    for commands in (scoring, rescoring):
        monkeypatch.setattr(commands, "open_build", lambda out, console: project)
    return project


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_a_folder_is_evaluated_and_its_predictions_scored_again(
    opened: Any, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scoring.evaluate_family("charpeval", str(model), None, None, attention=True)
    predicted = opened.out / "predictions" / "charpeval-tiny-llama.jsonl"
    found = rows_of(predicted)
    assert len(found) == 5 * 2 * 3
    assert set(found[0]) == {"id", "variant", "scores", "model", "shots"}
    assert [row["variant"] for row in found[:3]] == ["sum", "mean", "sequence"]
    assert {row["model"] for row in found} == {"tiny-llama"}
    assert {row["shots"] for row in found} == {0, 3}
    tables = json.loads(predicted.with_suffix(".tables.json").read_text())
    names = {cell["table"] for cell in tables}
    assert names == {
        "accuracy", "ranked first, by sum", "ranked first, by mean", "ranked first, by sequence",
        "attention of tiny-llama, eCHARP", "attention of tiny-llama, hCHARP",
    }  # fmt: skip
    layer = [cell["value"] for cell in tables if cell["table"].endswith("tiny-llama, hCHARP") and "1" in cell["row"]]
    assert sum(layer) == pytest.approx(1)
    assert {cell["n"] for cell in tables if cell["table"].endswith("hCHARP")} == {2}
    assert 'class="stack"' in predicted.with_suffix(".tables.html").read_text()
    capsys.readouterr()
    again = opened.out / "again.json"
    rescoring.score_family("charpeval", predicted, again, False, None)
    assert json.loads(again.read_text()) == [cell for cell in tables if "attention" not in cell["table"]]
    # What was weighed here is in no cache: fewer rows do not take its place.
    before = predicted.read_bytes()
    with pytest.raises(WrongInput, match=r"tiny-llama.jsonl: has predictions on 5 rows, whose place those on 2 would"):
        scoring.evaluate_family("charpeval", str(model), 2, None)
    assert predicted.read_bytes() == before


@pytest.mark.slow
def test_scores_are_the_model_s_own_whatever_the_order_of_the_options(opened: Any, model: Path) -> None:
    stage = opened.build.accepted("charpeval", "items")

    def turned(order: int) -> Iterator[CharpEvalItem]:
        for item in stage:
            options = list(item.options)
            random.Random(order).shuffle(options)
            yield item.revised(options=tuple(options), gold_index=options.index(item.response))

    class Rows(EvaluatedRows):
        def __init__(self, rows: list[CharpEvalItem]) -> None:
            self.rows = rows

        def __len__(self) -> int:
            return len(self.rows)

        def batches(self, most: int = 0) -> Iterator[list[Any]]:
            yield self.rows

    found = []
    for order in range(3):
        path = opened.out / f"{order}.jsonl"
        local = LocalModel(LocalSettings(name=str(model)))
        weigh(opened, CHARPEVAL, local, Rows(list(turned(order))), path, lambda done, total: None)
        found.append(rows_of(path))
    assert found[0] == found[1] == found[2]


def test_a_chat_server_is_told_at_once_what_weighing_needs(opened: Any) -> None:
    class Served:
        name = "gpt-4o-mini"

        async def likelihoods(self, asked: Sequence[Options], *, usage: Usage) -> list[tuple[Likelihood, ...]]:
            settings = EndpointSettings(name=self.name, base_url=server.url)
            async with aclosing(Endpoint(settings, cache)) as endpoint:
                return await endpoint.likelihoods(asked, usage=usage)

    opened.models.likelihood_model = lambda name: Served()
    with (
        ChatServer({}) as server,
        closing(CompletionCache("sqlite:///:memory:")) as cache,
        pytest.raises(TransportError, match=r"log-probabilities.* answered 404 \(no such path.*such as vLLM, or load"),
    ):
        scoring.evaluate_family("charpeval", "here", None, None)
    assert not [*opened.out.rglob("*.jsonl")]


@pytest.mark.slow
def test_what_cannot_be_weighed_is_one_line(opened: Any, model: Path, tmp_path: Path) -> None:
    for name, said in (("hear", 'did you mean "here"'), ("nowhere-at-all", "no such folder")):
        with pytest.raises(WrongInput, match=said):
            scoring.evaluate_family("charpeval", name, None, None)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(WrongInput, match="cannot be loaded as a causal language model"):
        scoring.evaluate_family("charpeval", str(empty), None, None)
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"id": "a", "variant": "sum", "prediction": "bread"}\n')
    with pytest.raises(WrongInput, match=r"line 1: it has no scores; a row has id, variant and scores"):
        rescoring.score_family("charpeval", replies, None, False, None)
