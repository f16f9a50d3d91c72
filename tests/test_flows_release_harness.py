"""Exported harness tasks: the same messages as `touchstone evaluate`, by a template engine set up as the harness's."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from data.publish.harness import HarnessData, HarnessPrompt, ReplyScoring, harness_template, reply_task
from flows.construct.engine import Family
from flows.families import load_family
from flows.families.charpeval import score as charpeval
from flows.llm.model import Prompt
from flows.release.scorers import harness_task
from schemas.base import Record
from schemas.errors import WrongInput
from schemas.uraq import UraqItem
from tests.released import charpeval_items, enriched_cases, long_contexts, provenance, swap_cases, uraq_rows

DATA = HarnessData("acme/sample", "a-config", more={"revision": "v1.0.0"})
HOSTILE = "{{ question }} {% raw %} {# x #}\n\n  - \"q\" \\n 's' <b>&amp;</b>: ## %} }} \ud83d\ude00 ".encode(
    "utf-16", "surrogatepass"
).decode("utf-16")
THEIRS = jinja2.Environment(loader=jinja2.BaseLoader(), undefined=jinja2.StrictUndefined, keep_trailing_newline=True)


class Loader(yaml.SafeLoader):
    """Reads `!function` as its name."""


Loader.add_constructor("!function", lambda loader, node: f"function {loader.construct_scalar(node)}")


def exported(
    family: Family, settings: Any, row: Record, prompts: dict[str, Prompt[Any]] | None = None
) -> dict[str, Any]:
    by_name = prompts or {prompt.name: prompt for prompt in family.prompts}
    made = harness_task("sample", family, settings, by_name, row, DATA, "1.0.0")
    assert made is not None
    read = yaml.load(made, Loader)
    assert isinstance(read, dict)
    return read


def messages_of(task: dict[str, Any], document: dict[str, Any]) -> list[dict[str, str]]:
    """What the harness sends with a chat template: the description as the system's, the text as the user's."""
    texts = {role: task[field] for role, field in (("system", "description"), ("user", "doc_to_text"))}
    return [
        {"role": role, "content": THEIRS.from_string(text).render(**document)} for role, text in texts.items() if text
    ]


def asked(family: Family, settings: Any, row: Record, way: tuple[Any, Any]) -> Iterator[tuple[str, list[Any], int]]:
    for one in family.evaluation.requests(row, settings):
        if (one.prompting, one.shots) == way:
            yield one.variant, one.prompt.messages(one.inputs), one.prompt.max_tokens


def hostile(rows: Sequence[Record], *fields: str) -> list[Any]:
    return [row.revised(**dict.fromkeys(fields, HOSTILE)) for row in rows]


def test_uraq_is_asked_as_evaluate_asks() -> None:
    family = load_family("uraq")
    settings = family.settings()
    rows = [*uraq_rows((1, 3)), *hostile(uraq_rows((1,))[:1], "question")]
    rows.append(rows[0].revised(contexts=(HOSTILE, "  ", HOSTILE)))
    task = exported(family, settings, rows[0])
    for row in rows:
        for variant, messages, most in asked(family, settings, row, (None, None)):
            assert messages_of(task, {**row.model_dump(mode="json"), "variant": variant}) == messages
            assert task["generation_kwargs"]["max_gen_toks"] == most
    assert task["description"].startswith("{% set need = variant %}{% filter trim %}")


@pytest.mark.parametrize("style", ["chat", "alpaca", "palm", "claude"])
@pytest.mark.parametrize("way", [("open-book", 0), ("open-book", 5), ("faithful", 0), ("faithful", 5)])
def test_reeval_is_asked_as_evaluate_asks(style: str, way: tuple[str, int]) -> None:
    family = load_family("reeval")
    settings = family.settings.model_validate({"style": style, "prompting": [way[0]], "shots": [way[1]]})
    swapped, enriched = swap_cases(), enriched_cases()
    for rows in (
        [*swapped[:1], *hostile(swapped[:1], "question", "evidence", "original_evidence")],  # a language a config
        [*swapped[1:2]],
        [*enriched, *hostile(enriched[:1], "evidence_question_focused", "evidence_evidence_focused")],
    ):
        task = exported(family, settings, rows[0])
        for row in rows:
            variants = []
            for variant, messages, most in asked(family, settings, row, way):
                variants.append(variant)
                assert messages_of(task, {**row.model_dump(mode="json"), "variant": variant}) == messages
                assert task["generation_kwargs"] == {
                    "until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": most,
                }  # fmt: skip
            assert ("closed_book" in variants) == (task["process_docs"] == "function reeval.each_variant")
            assert [one["metric"] for one in task["metric_list"]][: 2 * len(variants)] == [
                f"{name}_{variant}" for variant in variants for name in ("em", "f1")
            ]


@pytest.mark.parametrize("dataset", ["hotpotwikiqa-mixup", "factrecall-en", "cmrc-mixup", "factrecall-zh"])
def test_lv_eval_is_asked_as_evaluate_asks(dataset: str) -> None:
    family = load_family("lveval")
    settings = family.settings.model_validate({"ablations": ["no-cfi"]})
    rows = [*long_contexts(dataset), *hostile(long_contexts(dataset)[:1], "input")]
    task = exported(family, settings, rows[0])
    subtasks = {one["task"]: one for one in task["task"]}
    assert (task["group"], list(subtasks)) == ("sample", ["context", "direct"])
    for row in rows:
        for variant, messages, most in asked(family, settings, row, (None, None)):
            assert messages_of(subtasks[variant], row.model_dump(mode="json")) == messages
            assert subtasks[variant]["generation_kwargs"]["max_gen_toks"] == most
    assert "context }}" in subtasks["context"]["doc_to_text"]


@pytest.mark.parametrize("shots", [0, 3])
def test_charpeval_is_asked_as_evaluate_asks(shots: int) -> None:
    family = load_family("charpeval")
    settings = family.settings.model_validate({"shots": [shots]})
    items = [*charpeval_items(), *hostile(charpeval_items()[:1], "last_utterance", "knowledge")]
    task = exported(family, settings, items[0])
    assert task["dataset_kwargs"]["load"] == {"path": "acme/sample", "name": "a-config", "revision": "v1.0.0"}
    assert family.evaluation.choices is not None
    for item in items:
        (choice,) = family.evaluation.choices(item, settings)
        assert charpeval.prompt(item.model_dump(mode="json"), task["dataset_kwargs"]["before"]) == choice.prompt
    assert [one["metric"] for one in task["metric_list"]][::6] == ["sum", "mean", "sequence"]
    assert [one["higher_is_better"] for one in task["metric_list"]][:6] == [True, *[False] * 5]


def test_a_prompt_of_one_s_own_is_exported(tmp_path: Path) -> None:
    family, (row, *_) = load_family("lveval"), long_contexts("hotpotwikiqa-mixup")
    source = (
        "{# not sent #}\n{% block user %}\n\n  {% if question %}\n{{ context }}{% endif %}\n   {# note #}\n\tQ\n"
        "{%- for n in [1, 2] +%}\n{{ n }}\n{% endfor %}\n\n{% raw %}{{ }}{% endraw %}\n"
        "{% block inner %}\n{{ question }}\n\n{% endblock %}\n {% endblock %} \n"
        "{% block system %} Be brief. {% endblock %}"
    )
    (tmp_path / "answer_hotpotwikiqa-mixup.j2").write_text(source, encoding="utf-8")
    own = {prompt.name: prompt for prompt in family.prompts}
    changed = Prompt(**{**vars_of(own["answer_hotpotwikiqa-mixup"]), "templates": tmp_path})
    task = exported(family, family.settings(), row, {**own, "answer_hotpotwikiqa-mixup": changed})
    request = family.evaluation.requests(row, family.settings())[0]
    messages = changed.messages(request.inputs)
    assert messages_of(task["task"][0], row.model_dump(mode="json")) == messages
    assert messages[0] == {"role": "system", "content": "Be brief."}


def vars_of(prompt: Prompt[Any]) -> dict[str, Any]:
    return {name: getattr(prompt, name) for name in prompt.__dataclass_fields__}


def test_rows_are_loaded_from_the_hub_or_from_a_folder() -> None:
    family, row = load_family("uraq"), uraq_rows()[0]
    task = exported(family, family.settings(), row)
    wanted = {
        "dataset_path": "acme/sample", "dataset_name": "a-config", "dataset_kwargs": {"revision": "v1.0.0"},
        "test_split": "test", "metadata": {"version": "1.0.0"},
    }  # fmt: skip
    assert {name: task[name] for name in wanted} == wanted
    local = HarnessData("parquet", split="rows", more={"data_files": {"rows": "data/x.parquet"}})
    prompts = {prompt.name: prompt for prompt in family.prompts}
    read = yaml.load(harness_task("x", family, family.settings(), prompts, row, local, "1.0.0") or "", Loader)
    assert "dataset_name" not in read
    assert (read["dataset_path"], read["test_split"], read["dataset_kwargs"]["data_files"]) == (
        "parquet", "rows", {"rows": "data/x.parquet"},
    )  # fmt: skip


def test_every_function_is_there() -> None:
    for family, row in (
        (load_family("uraq"), uraq_rows()[0]), (load_family("reeval"), swap_cases()[0]),
        (load_family("reeval"), enriched_cases()[0]), (load_family("lveval"), long_contexts("lic-mixup")[0]),
        (load_family("charpeval"), charpeval_items()[0]),
    ):  # fmt: skip
        prompts = {prompt.name: prompt for prompt in family.prompts}
        text = harness_task("x", family, family.settings(), prompts, row, DATA, "1.0.0") or ""
        named = [line.partition("!function")[2].strip(" '") for line in text.splitlines() if "!function" in line]
        assert named
        for one in named:
            module, _, function = one.partition(".")
            assert module == family.name
            assert callable(getattr(import_module(f"flows.families.{module}.score"), function)), one


def test_configs_that_are_not_put_to_a_model_have_no_task() -> None:
    item = UraqItem(
        key="k", original="o", manipulated="m", manipulation="negation", question="q", hops=1, steps=(),
        answer_type="entity", answer_original="a", answer_manipulated="b", single_hop_question="q",
        single_hop_answer="a", provenance=provenance("1"),
    )  # fmt: skip
    family = load_family("uraq")
    assert harness_task("x", family, family.settings(), {}, item, DATA, "1.0.0") is None
    rounds = load_family("refutebench")
    assert harness_task("x", rounds, rounds.settings(), {}, item, DATA, "1.0.0") is None


def test_what_cannot_be_exported_is_told() -> None:
    with pytest.raises(WrongInput, match="line 2: unexpected"):
        harness_template("{% block user %}\n{{ ) }}{% endblock %}", "user", {})
    one, other = (
        HarnessPrompt("{% block user %}a{% endblock %}", 10),
        HarnessPrompt("{% block user %}b{% endblock %}", 10),
    )
    needs = {"context-exclusive": one, "context-first": one, "memory-first": other}
    with pytest.raises(WrongInput, match="uraq: context-exclusive, context-first, memory-first are not asked alike"):
        reply_task("x", "uraq", ReplyScoring({}, "", [], "each_need"), DATA, "1.0.0", needs)
