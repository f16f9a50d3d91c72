"""Released rows put to a model by the real lm-evaluation-harness: its figures are those of `touchstone score`."""

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from data.publish.harness import HarnessData
from flows.construct.engine import Family
from flows.families import load_family
from flows.llm.likelihood import SCORES, Options
from flows.llm.local import LocalModel, LocalSettings
from flows.release.scorers import harness_task, shipped_scorer
from flows.scoring.tables import ScoreTables
from schemas.charpeval import OPTION_TYPES
from schemas.prediction import Prediction
from schemas.uraq import NEEDS, SETTINGS
from tests.causal_models import make_llama
from tests.chat_server import ChatServer, Messages, message_hash
from tests.lm_harness import Evaluated, evaluate
from tests.released import (
    SAID,
    charpeval_items,
    enriched_cases,
    long_contexts,
    swap_cases,
    uraq_rows,
    write_release,
)

pytestmark = pytest.mark.slow

SETTINGS_OF: Mapping[str, Any] = {
    "uraq": {}, "reeval": {"entailment": "off"}, "lveval": {}, "charpeval": {"shots": [3]},
}  # fmt: skip


def family_of(name: str) -> tuple[Family, Any]:
    family = load_family(name)
    return family, family.settings.model_validate(SETTINGS_OF[name])


def release(folder: Path, configs: Mapping[str, tuple[str, Sequence[Any]]]) -> None:
    """The scorers, and by config a Parquet file and the task that reads it."""
    scorers = folder / "scorers"
    scorers.mkdir()
    for config, (name, rows) in configs.items():
        family, settings = family_of(name)
        (scorers / f"{name}.py").write_text(shipped_scorer(family), encoding="utf-8")
        path = write_release(folder / "data" / f"{config}.parquet", rows)
        data = HarnessData("parquet", more={"data_files": {"test": str(path)}})
        prompts = {prompt.name: prompt for prompt in family.prompts}
        made = harness_task(config, family, settings, prompts, rows[0], data, "1.0.0")
        assert made is not None
        (scorers / f"{config}.yaml").write_text(made, encoding="utf-8")


class Answering:
    """Answers what `touchstone evaluate` asks about the rows, rightly or not, and nothing else."""

    def __init__(self, configs: Mapping[str, tuple[str, Sequence[Any]]]) -> None:
        drawn = random.Random(4)
        self.known: dict[str, str] = {}
        self.strange: list[Messages] = []
        for name, rows in configs.values():
            family, settings = family_of(name)
            for row in rows:
                for one in family.evaluation.requests(row, settings):
                    if one.prompting in (None, "open-book") and not one.shots:
                        messages = one.prompt.messages(one.inputs)
                        right = self.right(row, one.variant)
                        said = right if drawn.random() < 0.93 else drawn.choice(SAID)
                        self.known.setdefault(message_hash(messages), said)  # type: ignore[arg-type]

    @staticmethod
    def right(row: Any, variant: str) -> str:
        if hasattr(row, "expected"):
            return f"Well: <output>{row.expected[variant]}</output>"
        if hasattr(row, "answers"):
            return str(row.answers[0])
        return str(getattr(row, "original_answer", row.answer) if variant != "swapped" else row.answer)

    def __call__(self, messages: Messages) -> str:
        found = self.known.get(message_hash(messages))
        if found is None:
            self.strange.append(messages)
        return found or " "  # the harness takes an empty reply for a failed one


def ours(name: str, rows: Iterable[Any], predictions: Iterable[Prediction]) -> ScoreTables:
    family, settings = family_of(name)
    return family.evaluation.score(map(family.evaluation.scored, rows), predictions, False, settings)


def replies(samples: Iterable[Mapping[str, Any]], variant: str | None = None) -> list[Prediction]:
    """The harness's log as predictions."""
    return [
        Prediction(
            id=one["doc"]["id"],
            variant=variant or one["doc"]["variant"],
            prediction=one["filtered_resps"][0],
            model="m",
        )
        for one in samples
    ]


def value(tables: ScoreTables, table: str, row: str = "", column: str | None = None) -> float:
    """The mean over the cells of a table whose row begins so, and of a column if one is named, each by its number."""
    cells = [
        one for one in tables.tables
        if one.table == table and one.row.endswith(row) and one.value is not None and column in (None, one.column)
    ]  # fmt: skip
    return sum((one.value or 0) * one.n for one in cells) / sum(one.n for one in cells)


def test_replies_are_asked_for_by_our_messages_and_score_as_we_score_them(lm_eval: Path, tmp_path: Path) -> None:
    configs: dict[str, tuple[str, Sequence[Any]]] = {
        "sample_uraq-evaluation": ("uraq", uraq_rows((1, 10))),
        "sample_reeval-category1": ("reeval", swap_cases()),
        "sample_reeval-category2": ("reeval", enriched_cases()),
        "sample_hotpotwikiqa_mixup_16k": ("lveval", long_contexts("hotpotwikiqa-mixup", ("16k",), 5)),
        "sample_factrecall_en_16k": ("lveval", long_contexts("factrecall-en", ("16k",), 5)),
        "sample_lic_mixup_16k": ("lveval", long_contexts("lic-mixup", ("16k",), 5)),
    }
    release(tmp_path, configs)
    answering = Answering(configs)
    with ChatServer(answer=answering, model="m") as server:
        found = evaluate(
            lm_eval, tmp_path, list(configs), "local-chat-completions",
            f"model=m,base_url={server.url}/chat/completions,num_concurrent=4", "--apply_chat_template",
        )  # fmt: skip
        limits = {request.hash: request.body["max_tokens"] for request in server.requests}
        assert {(request.body["temperature"], tuple(request.body.get("stop", ()))) for request in server.requests} == {
            (0, ())
        }
    assert answering.strange == []
    assert {request.hash for request in server.requests} == set(answering.known)
    assert set(limits.values()) == {256, 100, 64, 16}
    check_uraq(found, configs["sample_uraq-evaluation"][1])
    check_reeval(found, configs)
    for config, (name, rows) in configs.items():
        if name == "lveval":
            check_lveval(found, config, rows)


def check_uraq(found: Evaluated, rows: Sequence[Any]) -> None:
    task = "sample_uraq-evaluation"
    tables = ours("uraq", rows, replies(found.samples[task]))
    wanted = {"overall": value(tables, "overall accuracy"), "untagged": value(tables, "replies without <output>")}
    wanted |= {f"case_{need}": value(tables, "case-level accuracy", need) for need in NEEDS}
    wanted |= {
        f"{need}_{setting}": value(tables, "setting-specific accuracy", f"{need} / {setting}")
        for need in NEEDS
        for setting in SETTINGS
    }
    assert {name: found.value(task, name) for name in wanted} == pytest.approx(wanted)
    assert 0 < wanted["overall"] < wanted["case_context-first"] < 1


def check_reeval(found: Evaluated, configs: Mapping[str, tuple[str, Sequence[Any]]]) -> None:
    one, two = "sample_reeval-category1", "sample_reeval-category2"
    tables = ours("reeval", configs[one][1], replies(found.samples[one]))
    for variant, table in (("swapped", "category 1"), ("original", "category 1, original evidence"),
                           ("closed_book", "category 1, closed-book")):  # fmt: skip
        for metric in ("EM", "F1"):
            wanted = value(tables, table, "all sources", metric)
            assert found.value(one, f"{metric.lower()}_{variant}") == pytest.approx(wanted)
            assert wanted > 0
    tables = ours("reeval", configs[two][1], replies(found.samples[two]))
    assert found.value(two, "em_both") == pytest.approx(value(tables, "category 2", column="EM"))
    assert found.value(two, "f1_both") == pytest.approx(value(tables, "category 2", column="F1"))
    alone = value(tables, "category 2, question-focused alone", column="F1")
    assert found.value(two, "f1_question_focused") == pytest.approx(alone)


def check_lveval(found: Evaluated, config: str, rows: Sequence[Any]) -> None:
    context, direct = (found.samples[f"{config}::{variant}"] for variant in ("context", "direct"))
    tables = ours("lveval", rows, [*replies(context, "context"), *replies(direct, "direct")])
    assert found.value(f"{config}::context", "score") == pytest.approx(value(tables, "score by dataset"))
    without = [
        one for one in tables.tables if one.table == "leakage" and " / direct" in one.row and one.column == "16k"
    ]
    assert found.value(f"{config}::direct", "score") == pytest.approx(without[0].value)
    assert found.value(f"{config}::context", "score") > 0


def test_options_are_weighed_as_we_weigh_them(lm_eval: Path, tmp_path: Path) -> None:
    items = {subset: [one for one in charpeval_items(4) if one.subset == subset] for subset in ("hCHARP", "eCHARP")}
    configs = {f"sample_{subset}": ("charpeval", own) for subset, own in items.items()}
    release(tmp_path, configs)
    model = make_llama(tmp_path / "llama", window=4096)
    found = evaluate(lm_eval, tmp_path, list(configs), "hf", f"pretrained={model},dtype=float32", "--batch_size", "6")
    family, settings = family_of("charpeval")
    weighing = LocalModel(LocalSettings(name=str(model), dtype="float32", device="cpu"))
    assert family.evaluation.choices is not None
    for config, (_, rows) in configs.items():
        predictions = weighed(found, config)
        tables = ours("charpeval", rows, predictions)
        for name in SCORES:
            for kind in ("KGIR", "KGUG", "RECF", "IECF", "COEX"):
                wanted = value(tables, f"ranked first, by {name}", column=kind)
                assert found.value(config, f"{name}_{kind}") == pytest.approx(wanted)
            assert found.value(config, name) == pytest.approx(value(tables, "accuracy", column=name))
        # And the scores themselves are those of `touchstone evaluate`
        by_place = {(one.id, one.variant): one.scores or {} for one in predictions}
        for row in rows:
            (choice,) = family.evaluation.choices(row, settings)
            likelihoods = weighing.log_probabilities([Options(choice.prompt, tuple(choice.options.values()))])[0]
            for name, score in SCORES.items():
                mine = dict(zip(choice.options, map(score, likelihoods), strict=True))
                assert by_place[row.id, name] == pytest.approx(mine, abs=1e-3)


def weighed(found: Evaluated, config: str) -> list[Prediction]:
    """The harness's log as predictions of all three scores."""
    sums: dict[tuple[str, bool], tuple[list[float], list[int]]] = {}
    for sample in found.samples[config]:
        doc = sample["doc"]
        sums[doc["id"], bool(doc["asked"])] = [float(one[0]) for one in sample["filtered_resps"]], doc["counts"]
    predictions = []
    for (id_, asked), (options, counts) in sums.items():
        if asked:
            (before,), (tokens,) = sums[id_, False]
            pairs = list(zip(options, counts, strict=True))
            scores = {
                "sum": options,
                "mean": [one / count for one, count in pairs],
                "sequence": [(before + one) / (tokens + count) for one, count in pairs],
            }
            predictions += [
                Prediction(id=id_, variant=name, scores=dict(zip(OPTION_TYPES, own, strict=True)), model="m")
                for name, own in scores.items()
            ]
    return predictions
