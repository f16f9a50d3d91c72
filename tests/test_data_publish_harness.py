"""Released rows put to a model by the real lm-evaluation-harness: its figures are those of `touchstone score`."""

import json
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from data.publish.harness import BESIDE, HarnessData
from data.publish.inspect_package import DialogueTask
from flows.construct.engine import Family
from flows.construct.stages import FamilyBuild
from flows.families import load_family
from flows.families.documents.score import CONFLICT_METRICS, CONFLICT_VARIANTS, TOLD
from flows.families.reeval.score import VARIANTS
from flows.llm.likelihood import SCORES, Options
from flows.llm.local import LocalModel, LocalSettings
from flows.release.scorers import FamilyTasks, dialogue_tasks, harness_tasks, write_tasks
from flows.scoring.shipped import shipped_scorer
from flows.scoring.tables import ScoreTables
from schemas.charpeval import OPTION_TYPES
from schemas.prediction import Prediction
from schemas.uraq import NEEDS, SETTINGS
from tests.causal_models import make_llama
from tests.chat_server import ChatServer, Messages, message_hash
from tests.hub import Blob, HubServer
from tests.lm_harness import Evaluated, evaluate, run
from tests.released import (
    SAID,
    charpeval_items,
    document_conflicts,
    enriched_cases,
    long_contexts,
    swap_cases,
    uraq_rows,
    write_release,
)
from tests.test_flows_construct_entailment import LABELS, make_model

pytestmark = pytest.mark.slow

SETTINGS_OF: Mapping[str, Any] = {
    "documents": {}, "uraq": {}, "reeval": {"entailment": "off"}, "lveval": {}, "charpeval": {"shots": [3]},
    "refutebench": {"unrelated": [1]},
}  # fmt: skip


def family_of(name: str) -> tuple[Family, Any]:
    family = load_family(name)
    return family, family.settings.model_validate(SETTINGS_OF[name])


def release(
    folder: Path,
    configs: Mapping[str, tuple[str, Sequence[Any]]],
    version: str = "1.2.0",
    repo: str | None = None,
) -> None:
    """A folder as a release has it: the scorers and the tasks, and by config a Parquet file that the card names."""
    families: dict[str, FamilyTasks] = {}
    dialogues: list[DialogueTask] = []
    for config, (name, rows) in configs.items():
        family, settings = family_of(name)
        prompts = {prompt.name: prompt for prompt in family.prompts}
        data = HarnessData(repo or BESIDE, config, revision=version if repo else None)
        if family.evaluation.dialogues is not None:
            built = FamilyBuild(family, settings, prompts, {})
            dialogues += dialogue_tasks(f"touchstone-{config}", family, built, folder / "scorers", data, version)
        if tasks := harness_tasks(f"touchstone-{config}", family, settings, prompts, rows[0], data, version):
            families.setdefault(name, FamilyTasks(family)).tasks.extend(tasks)
        path = folder / "data" / config / "test.parquet"
        path.parent.mkdir(parents=True)
        write_release(path, rows)
    write_tasks(folder / "scorers", list(families.values()), dialogues, "sample", repo, version)
    for name in families:
        (folder / "scorers" / f"{name}.py").write_text(shipped_scorer(load_family(name).folder), encoding="utf-8")
    named = [
        {"config_name": config, "data_files": [{"split": "test", "path": f"data/{config}/test.parquet"}]}
        for config in configs
    ]
    (folder / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': named})}---\n", encoding="utf-8")


class Answering:
    """Answers what `touchstone evaluate` asks about the rows, rightly or not, and nothing else."""

    def __init__(self, configs: Mapping[str, tuple[str, Sequence[Any]]], shots: int = 0) -> None:
        drawn = random.Random(4)
        self.known: dict[str, str] = {}
        self.strange: list[Messages] = []
        for name, rows in configs.values():
            family, settings = family_of(name)
            for row in rows:
                for one in family.evaluation.requests(row, settings):
                    if one.shots in (None, shots):
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
        if hasattr(row, "second_answer"):
            return f"{row.first_answer}, or {row.second_answer}" if variant == "in_order" else str(row.first_answer)
        return str(getattr(row, "original_answer", row.answer) if variant != "swapped" else row.answer)

    def __call__(self, messages: Messages) -> str:
        found = self.known.get(message_hash(messages))
        if found is None:
            self.strange.append(messages)
        return found or " "  # the harness takes an empty reply for a failed one


def ours(name: str, rows: Iterable[Any], predictions: Iterable[Prediction], *, partial: bool = False) -> ScoreTables:
    family, settings = family_of(name)
    return family.evaluation.score(map(family.evaluation.scored, rows), predictions, partial, settings)


def replies(found: Evaluated, task: str, variants: Sequence[str]) -> list[Prediction]:
    """The harness's log as predictions."""
    predictions = []
    for sample in found.samples[task]:
        rows = sample["doc"].get("rows", [sample["doc"]])
        asked = [(row["id"], variant) for row in rows for variant in variants]
        predictions += [
            Prediction(id=id_, variant=variant, prediction=reply, model="m")
            for (id_, variant), reply in zip(asked, sample["filtered_resps"], strict=True)
        ]
    return predictions


def value(tables: ScoreTables, table: str, row: str = "", column: str | None = None) -> float:
    """The mean over the cells of a table whose row begins so, and of a column if one is named, each by its number."""
    cells = [
        one for one in tables.tables
        if one.table == table and one.row.endswith(row) and one.value is not None and column in (None, one.column)
    ]  # fmt: skip
    return sum((one.value or 0) * one.n for one in cells) / sum(one.n for one in cells)


REPLIES: Mapping[str, tuple[str, Sequence[Any]]] = {
    "uraq-evaluation": ("uraq", uraq_rows((1, 10))),
    "reeval-category1": ("reeval", swap_cases()),
    "reeval-category2": ("reeval", enriched_cases()),
    "lveval-hotpotwikiqa_mixup_16k": ("lveval", long_contexts("hotpotwikiqa-mixup", ("16k",), 5)),
    "lveval-factrecall_en_16k": ("lveval", long_contexts("factrecall-en", ("16k",), 3)),
    "lveval-lic_mixup_16k": ("lveval", long_contexts("lic-mixup", ("16k",), 5)),
    "documents-conflicts": ("documents", document_conflicts()),
}
GROUPS = (
    "touchstone-uraq", "touchstone-reeval", "touchstone-reeval-faithful", "touchstone-lveval",
    "touchstone-lveval-direct", "touchstone-documents",
)  # fmt: skip


def test_replies_are_asked_for_by_our_messages_and_score_as_we_score_them(lm_eval: Path, tmp_path: Path) -> None:
    release(tmp_path, REPLIES)
    answering = Answering(REPLIES)
    with ChatServer(answer=answering, model="m") as server:
        found = evaluate(
            lm_eval, tmp_path, GROUPS, "local-chat-completions",
            f"model=m,base_url={server.url}/chat/completions,num_concurrent=4", "--apply_chat_template",
        )  # fmt: skip
        limits = {request.hash: request.body["max_tokens"] for request in server.requests}
        assert {(request.body["temperature"], tuple(request.body.get("stop", ()))) for request in server.requests} == {
            (0, ())
        }
    assert answering.strange == []
    assert {request.hash for request in server.requests} == set(answering.known)
    assert set(limits.values()) == {256, 100, 64, 16}
    check_uraq(found, REPLIES["uraq-evaluation"][1])
    check_reeval(found, "")
    check_reeval(found, "-faithful")
    check_lveval(found)
    check_conflicts(found)
    check_versions_and_errors(found)


def check_uraq(found: Evaluated, rows: Sequence[Any]) -> None:
    task = "touchstone-uraq-evaluation"
    tables = ours("uraq", rows, replies(found, task, NEEDS))
    wanted = {"overall": value(tables, "overall accuracy"), "untagged": value(tables, "replies without <output>")}
    wanted |= {f"case_{need}": value(tables, "case-level accuracy", need) for need in NEEDS}
    wanted |= {
        f"{need}_{setting}": value(tables, "setting-specific accuracy", f"{need} / {setting}")
        for need in NEEDS
        for setting in SETTINGS
    }
    wanted |= {
        f"{need}_{setting}_and_match": value(
            tables, "setting-specific accuracy, also right under match", f"{need} / {setting}"
        )
        for need in NEEDS
        for setting in ("conflict", "irrelevant")
    }
    assert {name: found.value(task, name) for name in wanted} == pytest.approx(wanted)
    assert {name: found.value("touchstone-uraq", name) for name in wanted} == pytest.approx(wanted)
    assert 0 < wanted["overall"] < wanted["case_context-first"] < 1


def check_reeval(found: Evaluated, way: str) -> None:
    one, two = f"touchstone-reeval-category1{way}", f"touchstone-reeval-category2{way}"
    first = 1 if way else 0  # nothing is faithful to no evidence
    tables = reeval_tables("reeval-category1", replies(found, one, VARIANTS["category 1"][first:]), way)
    for suffix, table in (("", "category 1"), ("_original", "category 1, original evidence"),
                          ("_closed_book", "category 1, closed-book"))[: 3 - first]:  # fmt: skip
        for metric in ("EM", "F1"):
            wanted = value(tables, table, "all sources", metric)
            assert found.value(one, f"{metric.lower()}{suffix}") == pytest.approx(wanted)
            assert wanted > 0
    tables = reeval_tables("reeval-category2", replies(found, two, VARIANTS["category 2"][first:]), way)
    assert found.value(two, "em") == pytest.approx(value(tables, "category 2", column="EM"))
    assert found.value(two, "f1") == pytest.approx(value(tables, "category 2", column="F1"))
    alone = value(tables, "category 2, question-focused alone", column="F1")
    assert found.value(two, "f1_question_focused") == pytest.approx(alone)
    cases = len(swap_cases()), len(enriched_cases())
    both = (found.value(one, "em") * cases[0] + found.value(two, "em") * cases[1]) / sum(cases)
    assert found.value(f"touchstone-reeval{way}", "em") == pytest.approx(both)


def reeval_tables(config: str, predictions: Sequence[Prediction], way: str) -> ScoreTables:
    named = [one.model_copy(update={"prompting": way.strip("-") or "open-book"}) for one in predictions]
    return ours("reeval", REPLIES[config][1], named)


def check_lveval(found: Evaluated) -> None:
    configs = [config for config, (name, _) in REPLIES.items() if name == "lveval"]
    every, predictions = [], []
    for config in configs:
        rows, task = REPLIES[config][1], f"touchstone-{config}"
        asked = replies(found, task, ["context"]) + replies(found, f"{task}-direct", ["direct"])
        tables = ours("lveval", rows, asked)
        assert found.value(task, "score") == pytest.approx(value(tables, "score by dataset"))
        without = [
            one for one in tables.tables if one.table == "leakage" and " / direct" in one.row and one.column == "16k"
        ]
        assert found.value(f"{task}-direct", "score") == pytest.approx(without[0].value)
        assert found.value(task, "score") > 0
        every += rows
        predictions += asked
    (of_level,) = [
        one.value
        for one in ours("lveval", every, predictions).tables
        if one.table == "score by level" and one.column == "16k"
    ]
    assert found.value("touchstone-lveval", "score") == pytest.approx(of_level)  # of datasets, not of their rows


def check_conflicts(found: Evaluated) -> None:
    task = "touchstone-documents-conflicts"
    tables = ours("documents", document_conflicts(), replies(found, task, CONFLICT_VARIANTS))
    wanted = {
        f"{name}_{variant}": value(tables, f"natural conflicts, {variant}", "all kinds", told)
        for variant in CONFLICT_VARIANTS
        for name, told in zip(CONFLICT_METRICS, TOLD, strict=False)
    }
    assert {name: found.value(task, name) for name in wanted} == pytest.approx(wanted)
    assert sum(wanted.values()) > 0


def check_versions_and_errors(found: Evaluated) -> None:
    assert set(GROUPS) < set(found.versions)
    assert set(found.versions.values()) == {"1.2.0"}
    for name, values in found.results.items():
        for metric, number in values.items():
            if "," in metric:
                assert isinstance(number, int | float), f"{name}: {metric} is {number}"
                assert math.isfinite(number), f"{name}: {metric}"


def test_a_variant_alone_is_a_task_of_a_group(lm_eval: Path, tmp_path: Path) -> None:
    configs = {name: REPLIES[name] for name in ("uraq-evaluation", "reeval-category1")}
    release(tmp_path, configs)
    groups = [f"touchstone-{config}{end}" for config in configs for end in ("", "-variants")]
    with ChatServer(answer=Answering(configs), model="m") as server:
        found = evaluate(
            lm_eval, tmp_path, groups, "local-chat-completions",
            f"model=m,base_url={server.url}/chat/completions,num_concurrent=4", "--apply_chat_template",
        )  # fmt: skip
        assert {request.hash for request in server.requests} <= set(server.answer.known)  # type: ignore[union-attr]
    for need in NEEDS:
        settings = [found.value("touchstone-uraq-evaluation", f"{need}_{setting}") for setting in SETTINGS]
        assert found.value(f"touchstone-uraq-evaluation-{need}", "score") == pytest.approx(sum(settings) / 3)
    whole = "touchstone-reeval-category1"
    for variant, metric in (("swapped", "em"), ("original", "em_original"), ("closed_book", "em_closed_book")):
        assert found.value(f"{whole}-{variant}", "score") == found.value(whole, metric)


def test_a_limit_takes_whole_documents_from_a_moved_release_in_any_folder(lm_eval: Path, tmp_path: Path) -> None:
    made, moved, elsewhere = tmp_path / "made", tmp_path / "a b" / "moved", tmp_path / "elsewhere"
    configs = {name: REPLIES[name] for name in ("uraq-evaluation", "reeval-category1", "reeval-category2")}
    release(made, configs)
    moved.parent.mkdir()
    made.rename(moved)
    elsewhere.mkdir()
    groups = ["touchstone-uraq", "touchstone-reeval"]
    with ChatServer(answer=Answering(configs), model="m") as server:
        model = "local-chat-completions", f"model=m,base_url={server.url}/chat/completions"
        found = evaluate(lm_eval, moved, groups, *model, "--apply_chat_template", "--limit", "3", at=elsewhere)
        assert {name: found.results[name]["sample_len"] for name in groups} == {groups[0]: 3, groups[1]: 6}
        for name in groups:
            for metric, number in found.results[name].items():
                if "," in metric:
                    assert isinstance(number, float | int), f"{name}: {metric} is {number}"
                    assert math.isfinite(number), f"{name}: {metric}"
        # The tasks alone, as in the harness's own tree, find the release that they are told of, and nothing else
        alone = tmp_path / "tree" / "tasks"
        alone.mkdir(parents=True)
        (moved / "scorers").rename(alone / "touchstone")
        told = "--metadata", json.dumps({"release": str(moved)})
        again = evaluate(
            lm_eval, elsewhere, groups, *model, "--apply_chat_template", "--limit", "3", *told, tasks_in=alone
        )
        assert again.results == found.results
        lost = run(lm_eval, elsewhere, groups, *model, "--apply_chat_template", tasks_in=alone)
    assert lost.returncode != 0
    assert (
        lost.stderr.strip()
        .splitlines()[-1]
        .endswith(
            f"""touchstone-uraq-evaluation: {alone} has no data/uraq-evaluation; name the folder of the release by """
            """--metadata '{"release": "FOLDER"}'"""
        )
    )


def test_demonstrations_are_those_of_touchstone_in_each_row_s_language(lm_eval: Path, tmp_path: Path) -> None:
    configs = {name: REPLIES[name] for name in ("uraq-evaluation", "reeval-category1", "reeval-category2")}
    release(tmp_path, configs)
    answering = Answering(configs, shots=5)
    groups = ["touchstone-uraq", "touchstone-reeval", "touchstone-reeval-faithful"]
    with ChatServer(answer=answering, model="m") as server:
        model = "local-chat-completions", f"model=m,base_url={server.url}/chat/completions,num_concurrent=4"
        found = evaluate(lm_eval, tmp_path, groups, *model, "--apply_chat_template", "--num_fewshot", "5")
        assert answering.strange == []
        assert {request.hash for request in server.requests} == set(answering.known)
        more = run(lm_eval, tmp_path, groups, *model, "--apply_chat_template", "--num_fewshot", "6")
    assert {name: found.shots[name] for name in groups} == dict(zip(groups, (0, 5, 5), strict=True))
    assert more.returncode != 0
    assert "touchstone-reeval-category1: has 5 demonstrations; give --num_fewshot no more" in more.stderr


def test_entailment_is_judged_by_the_model_that_is_named(lm_eval: Path, tmp_path: Path) -> None:
    configs = {"reeval-category2": REPLIES["reeval-category2"]}
    release(tmp_path, configs)
    judge = make_model(tmp_path / "judge", LABELS)
    family = load_family("reeval")
    settings = family.settings.model_validate({"entailment": str(judge)})
    with ChatServer(answer=Answering(configs), model="m") as server:
        found = evaluate(
            lm_eval, tmp_path, ["touchstone-reeval"], "local-chat-completions",
            f"model=m,base_url={server.url}/chat/completions", "--apply_chat_template",
            "--metadata", json.dumps({"entailment": str(judge)}),
        )  # fmt: skip
    predictions = replies(found, "touchstone-reeval-category2", VARIANTS["category 2"])
    tables = family.evaluation.score(
        map(family.evaluation.scored, configs["reeval-category2"][1]), predictions, False, settings
    )
    wanted = {"entail": value(tables, "category 2", column="Entail.")}
    wanted["entail_original"] = value(tables, "category 2, original evidence", column="Entail.")
    assert {name: found.value("touchstone-reeval", name) for name in wanted} == pytest.approx(wanted)


def test_the_tasks_alone_load_the_rows_of_their_version_from_the_hub(lm_eval: Path, tmp_path: Path) -> None:
    with HubServer() as hub:
        repo = hub.made("acme/sample")
        for version, rows in (("1.2.0", uraq_rows((1,))), ("1.3.0", uraq_rows((1, 10)))):
            release(tmp_path / version, {"uraq-evaluation": ("uraq", rows)}, version, "acme/sample")
            files = {
                path: Blob((tmp_path / version / path).read_bytes(), large=False)
                for path in ("README.md", "data/uraq-evaluation/test.parquet")
            }
            repo.tags[version] = repo.add(version, "", files, datetime.now(UTC)).id
        alone = tmp_path / "tasks"
        (tmp_path / "1.2.0" / "scorers").rename(alone)
        online = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}
        found = evaluate(lm_eval, tmp_path, ["touchstone-uraq"], "dummy", "", tasks_in=alone, more_environment=online)
    assert found.results["touchstone-uraq"]["sample_len"] == 4  # of 1.3.0 it would be 8
    assert found.versions == {"touchstone-uraq": "1.2.0", "touchstone-uraq-evaluation": "1.2.0"}


def test_a_missing_jieba_is_told_before_a_model_is_asked(lm_eval: Path, tmp_path: Path) -> None:
    release(tmp_path, {"lveval-lic_mixup_16k": REPLIES["lveval-lic_mixup_16k"]})
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "jieba.py").write_text("raise ImportError('no jieba')", encoding="utf-8")
    done = run(
        lm_eval,
        tmp_path,
        ["touchstone-lveval"],
        "dummy",
        "",
        more_environment={"PYTHONPATH": str(tmp_path / "without")},
    )
    assert done.returncode != 0
    assert done.stderr.strip().endswith("Chinese texts are divided into words by jieba: pip install jieba==0.42.1")
    assert "Running generate_until requests" not in done.stderr
    assert "pip install jieba==0.42.1" in (tmp_path / "scorers" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("shots", [0, 3])
def test_options_are_weighed_as_we_weigh_them(lm_eval: Path, tmp_path: Path, shots: int) -> None:
    items = {subset: [one for one in charpeval_items(4) if one.subset == subset] for subset in ("hCHARP", "eCHARP")}
    configs = {f"charpeval-{subset.lower()}": ("charpeval", own) for subset, own in items.items()}
    release(tmp_path, configs)
    model = make_llama(tmp_path / "llama", window=4096)
    found = evaluate(
        lm_eval, tmp_path, ["touchstone-charpeval"], "hf", f"pretrained={model},dtype=float32", "--batch_size", "6",
        "--num_fewshot", str(shots),
    )  # fmt: skip
    family, _ = family_of("charpeval")
    settings = family.settings.model_validate({"shots": [shots]})
    weighing = LocalModel(LocalSettings(name=str(model), dtype="float32", device="cpu"))
    assert family.evaluation.choices is not None
    for config, (_, rows) in configs.items():
        task = f"touchstone-{config}"
        predictions = weighed(found, task, weighing)
        tables = ours("charpeval", rows, predictions)
        for name in SCORES:
            for kind in ("KGIR", "KGUG", "RECF", "IECF", "COEX"):
                wanted = value(tables, f"ranked first, by {name}", column=kind)
                assert found.value(task, f"{name}_{kind}") == pytest.approx(wanted)
            assert found.value(task, name) == pytest.approx(value(tables, "accuracy", column=name))
            assert isinstance(found.results["touchstone-charpeval"][f"{name}_stderr,none"], float)
        # And the scores themselves are those of `touchstone evaluate`
        by_place = {(one.id, one.variant): one.scores or {} for one in predictions}
        for row in rows:
            (choice,) = family.evaluation.choices(row, settings)
            likelihoods = weighing.log_probabilities([Options(choice.prompt, tuple(choice.options.values()))])[0]
            for name, score in SCORES.items():
                mine = dict(zip(choice.options, map(score, likelihoods), strict=True))
                assert by_place[row.id, name] == pytest.approx(mine, abs=1e-3)


def weighed(found: Evaluated, task: str, weighing: LocalModel) -> list[Prediction]:
    """The harness's log as predictions of all three scores."""
    from transformers import AutoTokenizer  # takes seconds, and only this slow test needs it

    tokens = AutoTokenizer.from_pretrained(weighing.settings.name)
    predictions = []
    for sample in found.samples[task]:
        *options, before = [float(one[0]) for one in sample["filtered_resps"]]
        asked = sample["arguments"]["gen_args_0"]["arg_0"]
        texts = [sample["arguments"][f"gen_args_{place}"]["arg_1"] for place in range(len(options))]
        alone = len(tokens.encode(asked))
        counts = [len(tokens.encode(asked + text)) - alone for text in texts]
        prompt = len(tokens.encode(asked, add_special_tokens=False))
        pairs = list(zip(options, counts, strict=True))
        scores = {
            "sum": options,
            "mean": [one / count for one, count in pairs],
            "sequence": [(before + one) / (prompt + count) for one, count in pairs],
        }
        predictions += [
            Prediction(
                id=sample["doc"]["id"], variant=name, scores=dict(zip(OPTION_TYPES, own, strict=True)), model="m"
            )
            for name, own in scores.items()
        ]
    return predictions
