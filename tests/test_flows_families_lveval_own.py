"""LV-Eval on a dataset of one's own: it has a task, a language and a metric, and its rows say so."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from data.parquet import LongTextWriter
from data.publish.reading import read_released
from flows.families.lveval import FAMILY, datasets
from flows.families.lveval.evaluation import requests, scored
from flows.families.lveval.score import process_results
from flows.families.lveval.settings import DatasetSettings, LVEvalSettings, problems
from flows.project.project import Project
from flows.project.release_as_build import record_of
from flows.project.settings import ConfigError, load_config
from schemas.lveval import Features, LongContext
from tests.builds import touchstone, write_config
from tests.released import long_contexts, write_lines
from tests.test_flows_families_lveval_build import built, faults, project_of, rows, squad
from tests.test_flows_release_scorers import alone, loaded, tables_of

OWN = {"task": "multi-hop-cqa", "replacements": True, "pairs": 6}


def own_project(folder: Path, **more: Any) -> Project:
    folder.mkdir(exist_ok=True, parents=True)
    source = {"format": "squad", "path": str(squad(folder)), "licence": "CC-BY-4.0"}
    return project_of(folder, datasets={"our-handbook": {**OWN, "sources": [source]}}, **more)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One build for the tests that only read it."""
    return built(own_project(tmp_path_factory.mktemp("own")))


def known(**block: Any) -> datasets.Dataset:
    return LVEvalSettings.model_validate({"datasets": {"our-handbook": block}}).known["our-handbook"]


@pytest.mark.parametrize(
    ("task", "language", "metric", "as_in_the_paper"),
    [
        ("single-hop-qa", "en", "qa_f1_score_with_gold_ans", "loogle-SD-mixup"),
        ("single-hop-cqa", "zh", "qa_f1_zh_score_with_gold_ans", "multifieldqa-zh-mixup"),
        ("multi-hop-cqa", "en", "qa_f1_score_with_gold_ans", "hotpotwikiqa-mixup"),
    ],
)
def test_task_and_language_say_what_the_paper_s_dataset_of_that_kind_has(
    task: str, language: str, metric: str, as_in_the_paper: str
) -> None:
    dataset, like = known(task=task, language=language, pairs=3), datasets.BY_NAME[as_in_the_paper]
    assert dataset.metric == metric == like.metric
    for name in ("kind", "language", "confusing_facts", "keywords", "scattered", "titled", "brief", "answer_tokens"):
        assert getattr(dataset, name) == getattr(like, name), name


def test_a_fact_of_one_s_own_is_recalled_as_in_the_paper() -> None:
    dataset, like = known(task="fact-recall", replacements=True), datasets.BY_NAME["factrecall-en"]
    assert (dataset.metric, dataset.kind, dataset.keywords) == (like.metric, like.kind, like.keywords)
    assert (dataset.recalls_fact, dataset.answer_tokens, dataset.pairs) == (True, like.answer_tokens, 1)
    assert known(task="fact-recall", metric="keyword-recall-f1").metric == "qa_f1_score_with_gold_ans"


def test_another_metric_is_said() -> None:
    assert known(task="single-hop-qa", pairs=3, metric="f1").metric == "qa_f1_score"
    rouge = known(task="single-hop-qa", language="zh", pairs=3, metric="rouge-l")
    assert (rouge.metric, rouge.keywords) == ("rouge_zh_score_blacklist", False)


@pytest.mark.parametrize(
    ("name", "block", "said"),
    [
        ("our-handbook", {}, "no dataset is called 'our-handbook' in the paper; if it is your own write its `task` "
         "(single-hop-qa, single-hop-cqa, multi-hop-qa, multi-hop-cqa, fact-recall) and `language`"),
        ("our-handbook", {"language": "en"}, "`language` is for a dataset of your own: write its `task`"),
        ("our-handbook", {"task": "single-hop"}, "our-handbook.task: input should be 'single-hop-qa'"),
        ("our-handbook", {"task": "single-hop-qa"}, "`pairs` is missing: write how many questions to select"),
        ("our-handbook", {"task": "single-hop-qa", "pairs": 3, "metric": "rouge-l"},
         "`metric: rouge-l` is not for single-hop-qa in en; write keyword-recall-f1 or f1"),
        ("our-handbook", {"task": "fact-recall", "language": "zh", "metric": "rouge-l"},
         "`metric: rouge-l` is not for fact-recall in zh; write f1 or keyword-recall-f1"),
        ("our-handbook", {"task": "fact-recall", "pairs": 3}, "has one pair, its fact; leave `pairs` out"),
        ("cmrc-mixup", {"task": "single-hop-qa", "pairs": 3}, "'cmrc-mixup': the paper says its task; leave"),
        ("cmrc-mixup", {"metric": "f1"}, "for one of the paper's leave it out"),
        ("cmrc_mixup", {"task": "single-hop-qa", "pairs": 3}, "another dataset is called 'cmrc_mixup'; rename"),
        ("CMRC-mixup", {"task": "single-hop-qa", "pairs": 3}, "another dataset is called 'cmrc-mixup'; rename"),
        ("our handbook", {"task": "single-hop-qa", "pairs": 3}, "expected a name of letters, digits, `_` and `-`"),
    ],
)  # fmt: skip
def test_a_wrong_combination_is_told_in_a_line(tmp_path: Path, name: str, block: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as error:
        load_config(write_config(tmp_path, families={"lveval": {"datasets": {name: block}}}))
    assert len(error.value.problems) == 1
    assert "\n" not in str(error.value)


def test_a_source_in_another_language_is_told() -> None:
    block = {"task": "single-hop-qa", "language": "zh", "pairs": 3, "sources": [{"format": "squad", "path": "x.json"}]}
    (told,) = problems(LVEvalSettings.model_validate({"datasets": {"our-handbook": block}}), {})
    assert "language en, where the dataset is in zh; correct the language of the source or of the dataset" in told


def test_of_a_dataset_of_the_paper_s_nothing_more_is_written_down() -> None:
    assert not DatasetSettings(pairs=3).model_dump().keys() & {"task", "language", "metric", "replacements"}


def test_every_row_is_what_it_says_and_says_its_features(own: Project) -> None:
    for _, part in own.build.parts():
        assert faults(own, part.name) == [], part.name
    features = Features(task="multi-hop-cqa", metric="qa_f1_score_with_gold_ans", replacements=True)
    contexts = rows(own)
    assert {row.features for row in contexts} == {features}
    assert {row.dataset for row in contexts} == {"our-handbook_800", "our-handbook_2k"}
    assert all(row.confusing_facts and row.replacements and row.answer_keywords for row in contexts)
    assert (own.out / "accepted/lveval-our-handbook_2k.parquet").is_file()


def test_a_row_of_other_features_than_the_configuration_s_is_found_out(own: Project) -> None:
    verify, settings = FAMILY.part("contexts").verify, own.build.families["lveval"].settings
    context = type("Context", (), {"settings": settings, "rows": lambda name: [], "verdicts": None})
    context.rows_by = lambda part, name: {}  # type: ignore[attr-defined]
    row = rows(own)[0]
    other = row.model_copy(update={"features": row.features.model_copy(update={"metric": "qa_f1_score"})})
    assert any("qa_f1_score" in fault.problem for fault in verify([other], context))  # type: ignore[arg-type]
    none = row.model_copy(update={"features": None})
    (fault,) = [one for one in verify([none], context) if "dataset" in one.problem]  # type: ignore[arg-type]
    assert fault.problem == f"no dataset is called {row.dataset!r}"


def test_the_files_of_the_paper_s_datasets_have_no_column_more(tmp_path: Path, own: Project) -> None:
    (row,) = long_contexts("cmrc-mixup", ("16k",), 1)
    with (tmp_path / "cmrc.parquet").open("wb") as file:
        writer = LongTextWriter(file, LongContext, "context")
        writer.write(row.model_dump(mode="json"), row.context.encode())
        writer.close()
    assert "features" not in pq.read_schema(tmp_path / "cmrc.parquet").names
    assert "features" in pq.read_schema(own.out / "accepted/lveval-our-handbook_2k.parquet").names


@pytest.mark.parametrize(
    ("task", "language", "prompt", "matter"),
    [
        ("single-hop-qa", "en", "answer_single-hop_en", "Only one of the passages"),
        ("multi-hop-cqa", "en", "answer_multi-hop_en", "Only some of the passages"),
        ("single-hop-cqa", "zh", "answer_single-hop_zh", "只与其中一篇有关"),
        ("multi-hop-qa", "zh", "answer_multi-hop_zh", "只与其中几篇有关"),
        ("fact-recall", "en", "answer_factrecall-en", "what the article says"),
    ],
)
def test_a_model_is_asked_as_the_task_and_the_language_are(task: str, language: str, prompt: str, matter: str) -> None:
    (row,) = long_contexts("loogle-SD-mixup", ("16k",), 1)
    metric = next(iter(datasets.metrics_for(task, language).values()))
    features = Features(task=task, metric=metric, replacements=False)
    asked = requests(
        row.model_copy(update={"dataset": "our-handbook_16k", "language": language, "features": features}),
        LVEvalSettings(ablations=datasets.ABLATIONS),
    )
    assert [(one.variant, one.prompting) for one in asked] == [("context", None), ("direct", None)]
    assert asked[0].prompt.name == prompt
    assert matter in str(asked[0].prompt.messages(asked[0].inputs)[-1]["content"])


def test_the_ablations_are_those_of_its_features(own: Project) -> None:
    asked = requests(rows(own)[0], LVEvalSettings(ablations=datasets.ABLATIONS))
    assert [(one.prompting, one.variant) for one in asked] == [
        (None, "context"), (None, "direct"), ("no-cfi", "context"), ("no-kpr", "context"), ("no-kpr", "direct"),
        ("neither", "context"),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_release_is_scored_and_proved_from_its_folder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = {"format": "squad", "path": str(squad(tmp_path)), "licence": "CC-BY-4.0"}
    block = {"levels": ["800", "2k"], "datasets": {"our-handbook": {**OWN, "sources": [source]}}}
    config = write_config(tmp_path, families={"lveval": block}, release={"licence": "CC-BY-4.0"})
    for command in (("run", config, "--out", "out"), ("release", "--out", "out", "--to", "v", "--allow-unreviewed")):
        done = touchstone(*command, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    version = tmp_path / "v/1.0.0"
    proved = touchstone("verify", "release", version, folder=tmp_path)
    assert (proved.returncode, "0 faults" in proved.stdout) == (0, True), proved.stdout + proved.stderr
    files = [str(path.relative_to(version)) for path in sorted((version / "data").rglob("*.parquet"))]
    contexts = [record_of(FAMILY.part("contexts"), row) for row in read_released(version, files)]
    given = [
        {"id": row.id, "variant": variant, "prediction": row.answers[0] if number % 2 else "nobody"}
        for number, row in enumerate(contexts)
        for variant in datasets.VARIANTS
    ]
    predictions = write_lines(tmp_path / "p.jsonl", given)
    data = [str(version / path) for path in files]
    monkeypatch.setattr(sys, "argv", ["scorer", str(predictions), *data, "--output", str(tmp_path / "t.json")])
    loaded(tmp_path, "lveval").main()
    cells = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert cells == [cell.model_dump() for cell in tables_of("lveval", contexts, given).tables]
    shown = {(cell["table"], cell["row"], cell["column"]): cell["value"] for cell in cells}
    assert shown["score by dataset", "model / our-handbook", "all levels"] == pytest.approx(0.5)
    assert shown["score by type", "model / multi-hop CQA", "all levels"] == pytest.approx(0.5)
    assert (version / "scorers/touchstone-lveval-our-handbook_2k.yaml").is_file()
    assert process_results(scored(contexts[0]), [contexts[0].answers[0]])["score"] == 1
    lines = write_lines(tmp_path / "rows.jsonl", [scored(row) for row in contexts])
    assert alone(version, "scorers/lveval.py", predictions, lines).stdout.startswith("table\t")
