"""Exported harness tasks: the same messages as `touchstone evaluate`, by a template engine set up as the harness's."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from data.publish.harness import (
    HarnessData,
    HarnessPrompt,
    ReplyScoring,
    group_of_tasks,
    harness_template,
    reply_task,
    utils_text,
)
from data.publish.harness_readme import tasks_readme
from flows.construct.engine import Family
from flows.families import load_family
from flows.families.charpeval import score as charpeval
from flows.llm.model import Prompt
from flows.release.scorers import FamilyTasks, harness_tasks
from schemas.base import Record
from schemas.errors import WrongInput
from schemas.uraq import UraqItem
from tests.released import charpeval_items, enriched_cases, long_contexts, provenance, swap_cases, uraq_rows

DATA = HarnessData("acme/sample", "a-config", revision="1.0.0")
HOSTILE = "{{ question }} {% raw %} {# x #}\n\n  - \"q\" \\n 's' <b>&amp;</b>: ## %} }} \ud83d\ude00 ".encode(
    "utf-16", "surrogatepass"
).decode("utf-16")
THEIRS = jinja2.Environment(loader=jinja2.BaseLoader(), undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
template_of = cache(THEIRS.from_string)


class Loader(yaml.SafeLoader):
    """Reads `!function` as its name."""


Loader.add_constructor("!function", lambda loader, node: f"function {loader.construct_scalar(node)}")


def exported(
    family: Family, settings: Any, row: Record, prompts: dict[str, Prompt[Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """The tasks by name, read back."""
    by_name = prompts or {prompt.name: prompt for prompt in family.prompts}
    tasks = harness_tasks("sample", family, settings, by_name, row, DATA, "1.0.0")
    read = {task.name: yaml.load(task.text, Loader) for task in tasks}
    assert all(text["task"] == name for name, text in read.items())
    return read


def messages_of(task: dict[str, Any], document: dict[str, Any]) -> list[dict[str, str]]:
    """What the harness sends with a chat template: the description as the system's, the text as the user's."""
    texts = {role: task[field] for role, field in (("system", "description"), ("user", "doc_to_text"))}
    return [{"role": role, "content": template_of(text).render(**document)} for role, text in texts.items() if text]


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
    task = exported(family, settings, rows[0])["sample"]
    for row in rows:
        for variant, messages, most in asked(family, settings, row, (None, None)):
            assert messages_of(task, {**row.model_dump(mode="json"), "variant": variant}) == messages
            assert task["generation_kwargs"]["max_gen_toks"] == most
    assert task["description"].startswith("{% set need = variant %}{% filter trim %}")


@pytest.mark.parametrize("style", ["chat", "alpaca", "palm", "claude"])
@pytest.mark.parametrize("way", [("open-book", 0), ("open-book", 5), ("faithful", 0), ("faithful", 5)])
def test_reeval_is_asked_as_evaluate_asks(style: str, way: tuple[str, int]) -> None:
    family, (prompting, shots) = load_family("reeval"), way
    settings = family.settings.model_validate({"style": style, "prompting": [prompting], "shots": [shots]})
    swapped, enriched = swap_cases(), enriched_cases()
    for rows in (
        [*swapped, *hostile(swapped[:2], "question", "evidence", "original_evidence")],  # of two languages
        [*enriched, *hostile(enriched[:1], "evidence_question_focused", "evidence_evidence_focused")],
    ):
        (task,) = exported(family, settings, rows[0]).values()
        assert task["task"] == {"open-book": "sample", "faithful": "sample-faithful"}[prompting]
        for row in rows:
            variants = []
            shown = [one for one in task["fewshot_config"]["samples"] if one["language"] == row.language][:shots]
            for variant, messages, most in asked(family, settings, row, way):
                variants.append(variant)
                document = {**row.model_dump(mode="json"), "variant": variant, "demonstrations": shown}
                assert messages_of(task, document) == messages
                assert task["generation_kwargs"] == {
                    "until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": most,
                }  # fmt: skip
            assert task["variants"] == variants
            alone, measures = [variant for variant in variants if variant != "swapped"], ("em", "f1", "entail")
            assert [one["metric"] for one in task["metric_list"]] == [
                *measures, "norm_entail", *(f"{name}_{variant}" for variant in alone for name in measures)
            ]  # fmt: skip


def test_each_prompting_is_a_task_of_its_own() -> None:
    family = load_family("reeval")
    tasks = exported(family, family.settings(), swap_cases()[0])
    assert {name: task["variants"] for name, task in tasks.items()} == {
        "sample": ["closed_book", "original", "swapped"], "sample-faithful": ["original", "swapped"],
    }  # fmt: skip
    assert len(tasks["sample"]["fewshot_config"]["samples"]) == 10  # five in each language
    assert "num_fewshot" not in tasks["sample"]


@pytest.mark.parametrize("dataset", ["hotpotwikiqa-mixup", "factrecall-en", "cmrc-mixup", "factrecall-zh"])
def test_lv_eval_is_asked_as_evaluate_asks(dataset: str) -> None:
    family = load_family("lveval")
    settings = family.settings.model_validate({"ablations": ["no-cfi"]})
    rows = [*long_contexts(dataset), *hostile(long_contexts(dataset)[:1], "input")]
    tasks = exported(family, settings, rows[0])
    assert {name: task["variants"] for name, task in tasks.items()} == {
        "sample": ["context"], "sample-direct": ["direct"],
    }  # fmt: skip
    by_variant = {task["variants"][0]: task for task in tasks.values()}
    for row in rows:
        for variant, messages, most in asked(family, settings, row, (None, None)):
            document = {**row.model_dump(mode="json"), "variant": variant, "demonstrations": []}
            assert messages_of(by_variant[variant], document) == messages
            assert by_variant[variant]["generation_kwargs"]["max_gen_toks"] == most
    assert "context }}" in tasks["sample"]["doc_to_text"]
    assert tasks["sample"]["num_fewshot"] == 0


@pytest.mark.parametrize("shots", [0, 3])
def test_charpeval_is_asked_as_evaluate_asks(shots: int) -> None:
    family = load_family("charpeval")
    settings = family.settings.model_validate({"shots": [shots]})
    items = [*charpeval_items(), *hostile(charpeval_items()[:1], "last_utterance", "knowledge")]
    task = exported(family, settings, items[0])["sample"]
    shown = [
        f"{charpeval.prompt(one)} {' '.join(one['response'].split())}\n\n"
        for one in task["fewshot_config"]["samples"][:shots]
    ]
    assert family.evaluation.choices is not None
    for item in items:
        (choice,) = family.evaluation.choices(item, settings)
        row = item.model_dump(mode="json")
        assert "".join([task["description"], *shown, charpeval.prompt(row)]) == choice.prompt
        assert charpeval.texts(row) == list(choice.options.values())
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
    assert messages_of(task["sample"], row.model_dump(mode="json")) == messages
    assert messages[0] == {"role": "system", "content": "Be brief."}


def vars_of(prompt: Prompt[Any]) -> dict[str, Any]:
    return {name: getattr(prompt, name) for name in prompt.__dataclass_fields__}


def test_rows_are_loaded_from_the_hub_or_from_the_folder_above() -> None:
    family, row = load_family("uraq"), uraq_rows()[0]
    task = exported(family, family.settings(), row)["sample"]
    wanted = {
        "dataset_path": "acme/sample", "dataset_name": "a-config", "dataset_kwargs": {"revision": "1.0.0"},
        "test_split": "test", "metadata": {"version": "1.0.0"},
    }  # fmt: skip
    assert {name: task[name] for name in wanted} == wanted
    prompts = {prompt.name: prompt for prompt in family.prompts}
    (local,) = harness_tasks("x", family, family.settings(), prompts, row, HarnessData("..", "b", "rows"), "1.10.0")
    read = yaml.load(local.text, Loader)
    assert (read["dataset_path"], read["dataset_name"], read["test_split"]) == ("..", "b", "rows")
    assert "dataset_kwargs" not in read
    assert read["metadata"] == {"version": "1.10.0"}  # a text: 1.10 and 1.1 are two versions


def test_every_function_is_there() -> None:
    classes = {node.name for node in ast.parse(utils_text()).body if isinstance(node, ast.ClassDef)}
    for family, row in (
        (load_family("uraq"), uraq_rows()[0]), (load_family("reeval"), swap_cases()[0]),
        (load_family("reeval"), enriched_cases()[0]), (load_family("lveval"), long_contexts("lic-mixup")[0]),
        (load_family("charpeval"), charpeval_items()[0]),
    ):  # fmt: skip
        prompts = {prompt.name: prompt for prompt in family.prompts}
        for task in harness_tasks("x", family, family.settings(), prompts, row, DATA, "1.0.0"):
            named = re.findall(r"!function '?([\w.]+)", task.text)
            assert named[0].startswith("utils.")
            for one in named:
                module, _, function = one.partition(".")
                assert module in ("utils", family.name)
                if module == "utils":
                    assert function in classes
                else:
                    assert callable(getattr(import_module(f"flows.families.{module}.score"), function)), one


def test_a_group_has_the_values_that_all_of_its_tasks_have() -> None:
    family = load_family("reeval")
    prompts = {prompt.name: prompt for prompt in family.prompts}
    tasks = [
        harness_tasks(name, family, family.settings(), prompts, row, DATA, "1.0.0")[0]
        for name, row in (("one", swap_cases()[0]), ("two", enriched_cases()[0]))
    ]
    group = yaml.safe_load(group_of_tasks("both", tasks, "1.0.0"))
    assert (group["group"], group["task"], group["metadata"]) == ("both", ["one", "two"], {"version": "1.0.0"})
    assert [one["metric"] for one in group["aggregate_metric_list"]] == [
        "em", "f1", "entail", "norm_entail", "em_closed_book", "f1_closed_book", "entail_closed_book", "em_original",
        "f1_original", "entail_original",
    ]  # fmt: skip
    assert {one["weight_by_size"] for one in group["aggregate_metric_list"]} == {True}


def test_the_page_on_the_tasks_has_a_command_for_every_family_whatever_it_asks() -> None:
    made = []
    for name, changes, row in (
        ("reeval", {"prompting": ["faithful"]}, swap_cases()[0]), ("charpeval", {}, charpeval_items()[0])
    ):  # fmt: skip
        family = load_family(name)
        prompts = {prompt.name: prompt for prompt in family.prompts}
        settings = family.settings.model_validate(changes)
        config = f"touchstone-{name}-a"
        made.append(FamilyTasks(family, harness_tasks(config, family, settings, prompts, row, DATA, "1.0.0")))
    page = tasks_readme([one.facts for one in made], [], "toy", "acme/toy", "1.0.0").decode()
    command = "lm-eval run --model hf --model_args pretrained=MODEL --include_path scorers --tasks touchstone-"
    assert f"{command}reeval-faithful --apply_chat_template\n{command}charpeval\n" in page
    assert "* `touchstone-reeval-faithful`: `touchstone-reeval-a-faithful`\n" in page
    assert "* `touchstone-reeval-a-faithful`: each case under `original`, `swapped`, with the faithful prompt\n" in page
    assert "`hf download acme/toy --repo-type dataset --revision 1.0.0 --local-dir FOLDER`" in page
    assert '`--metadata \'{"entailment": "cross-encoder/' in page
    assert "takes up to 5 fixed demonstrations" in page
    assert "takes up to 3 fixed demonstrations" in page


def test_configs_that_are_not_put_to_a_model_have_no_task() -> None:
    item = UraqItem(
        key="k", original="o", manipulated="m", manipulation="negation", question="q", hops=1, steps=(),
        answer_type="entity", answer_original="a", answer_manipulated="b", single_hop_question="q",
        single_hop_answer="a", provenance=provenance("1"),
    )  # fmt: skip
    family = load_family("uraq")
    assert harness_tasks("x", family, family.settings(), {}, item, DATA, "1.0.0") == []
    rounds = load_family("refutebench")
    assert harness_tasks("x", rounds, rounds.settings(), {}, item, DATA, "1.0.0") == []


def test_what_cannot_be_exported_is_told() -> None:
    with pytest.raises(WrongInput, match="line 2: unexpected"):
        harness_template("{% block user %}\n{{ ) }}{% endblock %}", "user", {})
    one, other = (
        HarnessPrompt("{% block user %}a{% endblock %}", 10),
        HarnessPrompt("{% block user %}b{% endblock %}", 10),
    )
    needs = {"context-exclusive": one, "context-first": one, "memory-first": other}
    with pytest.raises(WrongInput, match="uraq: context-exclusive, context-first, memory-first are not asked alike"):
        reply_task(
            "x", "uraq", ReplyScoring(about="", variants=list(needs), columns={}, target="", metrics=[], values=""),
            DATA, "1.0.0", needs,
        )  # fmt: skip
