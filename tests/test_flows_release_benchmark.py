"""The Hub's benchmark file: its tasks ask what `touchstone evaluate` asks, by the rules of the Hub and of Inspect."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from data.publish.benchmark import Asked, HubTask
from data.publish.check import faults_of
from data.publish.folder import read_release, write_manifest
from data.publish.hub import publish
from flows.construct.evaluation import Request
from flows.families import load_family
from flows.families.uraq.evaluation import LAST_OUTPUT
from flows.families.uraq.score import read_reply
from flows.llm.model import Prompt
from flows.project.output_files import open_built
from flows.release.benchmark import AlikeTasks
from flows.release.verification import prove_rows
from flows.release.version import prepare
from schemas.base import Record
from schemas.documents import DocumentPair, Span
from tests.builds import write_config
from tests.chat_server import ChatServer
from tests.inspect_program import inspect
from tests.profiled import FAMILIES, able, build, right_answers
from tests.released import (
    charpeval_items,
    document_conflicts,
    enriched_cases,
    long_contexts,
    provenance,
    swap_cases,
    uraq_rows,
)
from tests.releasing import hub_of_the_client
from tests.test_flows_release_harness import HOSTILE

REPO = "acme/test"


def tasks(family: str, part: str, rows: Sequence[Record], **settings: Any) -> dict[str, tuple[HubTask, Asked]]:
    declared = load_family(family)
    prompts = {prompt.name: prompt for prompt in declared.prompts}
    made = AlikeTasks(declared, declared.part(part), declared.settings(**settings), prompts)
    for row in rows:
        made.add(row)
    return {task.variant: (task, asked) for task, asked in made.found}


def pairs(*titles: str | None) -> list[DocumentPair]:
    return [
        DocumentPair(
            key=str(number), question=f"Since when, {number}?", answer="1987", kind="number", title=title,
            evidence=HOSTILE, sentences=(Span(text=HOSTILE[0], start=0, end=1),), passages=("p",), language="en",
            provenance=provenance("1"),
        )
        for number, title in enumerate(titles)
    ]  # fmt: skip


# ---- which tasks there are, and what they ask ----


def test_each_variant_is_a_task_that_shows_columns_and_no_copies() -> None:
    uraq = tasks("uraq", "evaluation", uraq_rows((1, 3)))
    assert list(uraq) == ["context-exclusive", "context-first", "memory-first"]
    assert {task.shows for task, _ in uraq.values()} == {("information",)}
    assert [task.target for task, _ in uraq.values()] == [
        "answer_context_exclusive", "answer_context_first", "answer_memory_first",
    ]  # fmt: skip
    for _, asked in uraq.values():
        assert asked.user.endswith("\n\n{information}\n\n<question>{prompt}</question>")
        assert "<output>" in asked.system
        assert (asked.max_tokens, asked.temperature) == (256, 0.0)

    swapped, enriched = tasks("reeval", "category1", swap_cases()), tasks("reeval", "category2", enriched_cases())
    assert [(name, task.shows, task.target) for name, (task, _) in swapped.items()] == [
        ("closed_book", (), "original_answer"),
        ("original", ("original_evidence",), "original_answer"),
        ("swapped", ("evidence",), "answer"),
    ]
    assert list(enriched) == ["closed_book", "original", "question_focused", "evidence_focused"]
    long = tasks("lveval", "contexts", long_contexts("hotpotwikiqa-mixup", ["16k"]))
    assert [(name, task.shows, task.scorers[0].name) for name, (task, _) in long.items()] == [
        ("context", ("context",), "f1"), ("direct", (), "f1"),
    ]  # fmt: skip
    chinese = tasks("lveval", "contexts", long_contexts("cmrc-mixup", ["16k"]))
    assert [task.scorers[0].name for task, _ in chinese.values()] == ["includes", "includes"]


def test_a_task_takes_columns_that_there_are_and_names_a_figure_that_there_is() -> None:
    of_parts: dict[tuple[str, str], Sequence[Record]] = {
        ("uraq", "evaluation"): uraq_rows((1, 3)), ("documents", "pairs"): pairs("A"),
        ("reeval", "category1"): swap_cases(), ("reeval", "category2"): enriched_cases(),
        ("lveval", "contexts"): long_contexts("factrecall-en", ["16k"]),
    }  # fmt: skip
    for (name, part), rows in of_parts.items():
        family = load_family(name)
        declared = family.part(part).released
        assert declared is not None
        columns = {*type(rows[0]).model_fields, *(column.name for column in declared.ready)}
        measures = {measure.name for measure in family.evaluation.measures}
        for task, _ in tasks(name, part, rows).values():
            assert {task.input, task.target, *task.shows} <= columns
            assert task.figure is None or task.figure[0] in measures


def test_a_way_of_asking_that_a_template_cannot_tell_is_no_task() -> None:
    # Options are weighed; the faithful prompt takes the question mark away; a passage has a title, or has none.
    assert tasks("charpeval", "items", charpeval_items(1)) == {}
    assert tasks("documents", "conflicts", document_conflicts()) == {}, "no one answer is right"
    assert tasks("reeval", "category1", swap_cases(), prompting=["faithful"]) == {}
    assert list(tasks("documents", "pairs", pairs("A", HOSTILE))) == ["closed_book", "evidence"]
    assert list(tasks("documents", "pairs", pairs(None, None))) == ["closed_book", "evidence"]
    assert list(tasks("documents", "pairs", pairs("A", None))) == ["closed_book"]
    assert list(tasks("documents", "pairs", pairs(None, "A"))) == ["closed_book"]


def test_a_template_of_ones_own_is_asked_by_if_it_shows_the_same_texts(tmp_path: Path) -> None:
    family = load_family("uraq")
    (prompt,) = family.evaluation.prompts

    def asked(user: str) -> list[str]:
        (tmp_path / f"{prompt.name}.j2").write_text(f"{{% block user %}}{user}{{% endblock %}}")
        own = Prompt(prompt.name, 1, prompt.output, tmp_path, max_tokens=9, inputs=prompt.inputs)
        made = AlikeTasks(family, family.part("evaluation"), family.settings(), {own.name: own})
        for row in uraq_rows((1, 3)):
            made.add(row)
        return [how.user for _, how in made.found]

    infos = "{% for context in contexts %}\n<info>{{ context }}</info>\n{% endfor %}\n"
    assert asked(f"{infos}{{{{ question }}}} {{{{ '{{a}}' }}}}") == ["{information}\n{prompt} {{a}}"] * 3
    assert asked("{% for context in contexts %}{{ loop.index }} {{ context }}{% endfor %} {{ question }}") == []
    assert asked("{{ contexts | length }}\n" + infos + "{{ question }}") == []
    assert asked(infos) == ["{information}"] * 3, "as it is asked by `touchstone evaluate`"


def test_a_template_gives_the_messages_of_evaluate_whatever_the_texts_hold() -> None:
    rows = [row.revised(question=HOSTILE, evidence=HOSTILE, original_evidence="{evidence} {prompt}")
            for row in swap_cases()]  # fmt: skip
    made, family = tasks("reeval", "category1", rows), load_family("reeval")
    for row in rows:
        asked: dict[str, Request] = {}
        for request in family.evaluation.requests(row, family.settings()):
            if (request.prompting, request.shots) == ("open-book", 0):
                asked[request.variant] = request
        assert asked.keys() == made.keys()
        for variant, (task, how) in made.items():
            values = {"prompt": row.question, **{name: getattr(row, name) for name in task.shows}}
            rendered = {"system": how.system.format(**values), "user": how.user.format(**values)}
            messages = asked[variant].prompt.messages(asked[variant].inputs)
            assert {str(message["role"]): message["content"] for message in messages} == rendered


@pytest.mark.parametrize(
    "reply",
    ["<output>3</output>", "<output> 3 \n</output> ", "a\n<output>2</output> b <OUTPUT>3", "<output>\n3\n</output>\nx"],
)
def test_the_pattern_takes_the_last_output_as_the_scorer_does(reply: str) -> None:
    found = re.search(LAST_OUTPUT, reply, re.IGNORECASE)
    assert found is not None
    assert found[1] == "3"
    assert read_reply(reply)[0].strip() == "3"


# ---- in a release ----


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of URAQ, in the folder of its build."""
    return released(tmp_path_factory.mktemp("benchmark"), {"uraq": FAMILIES["uraq"]})


def released(folder: Path, families: Any) -> Path:
    folder.mkdir(exist_ok=True)
    out = build(folder, families)
    write_config(folder, store=str(folder / "store"), families=families, release={"licence": "CC0-1.0"})
    project = open_built(out)
    prepared = prepare(project, folder / "releases", allow_unreviewed=True)
    project.close()
    return prepared.folder


@pytest.fixture
def version(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "1.0.0"))


def test_a_release_lists_the_file_and_its_rows_have_what_it_needs(version: Path) -> None:
    release = read_release(version)
    assert "eval.yaml" in {file.path for file in release.manifest.files}
    assert list(faults_of(release)) == []
    benchmark = yaml.safe_load((version / "eval.yaml").read_text(encoding="utf-8"))
    assert (benchmark["name"], benchmark["evaluation_framework"]) == ("test", "inspect-ai")
    assert "`touchstone evaluate`" in benchmark["description"]
    (config,) = [config for config in release.manifest.configs if config.name == "uraq-evaluation"]
    for task in benchmark["tasks"]:
        assert (task["config"], task["split"]) == (config.name, config.split)
        assert task["id"].startswith("uraq-evaluation-")
    rows = pq.read_table(version / config.files[0]).to_pylist()
    for row in rows:
        assert row["answer_memory_first"] == row["expected"]["memory-first"]
        assert row["information"] == "\n".join(f"<info>{context}</info>" for context in row["contexts"])
    card = (version / "README.md").read_text(encoding="utf-8")
    assert "The contexts as a prompt shows them, in one text |" in card


def listed(version: Path, benchmark: Any) -> list[str]:
    """What is wrong with a version whose manifest was made to fit a changed file."""
    (version / "eval.yaml").write_text(benchmark if isinstance(benchmark, str) else json.dumps(benchmark))
    write_manifest(version, read_release(version).manifest)
    return list(faults_of(read_release(version)))


def test_a_task_of_what_is_not_there_is_a_fault(version: Path) -> None:
    spec = {"input": "question", "target": "answer", "metadata": ["information"]}
    task = {"id": "a", "config": "uraq-evaluation", "split": "test", "field_spec": spec}
    assert listed(version, {"tasks": [task, {**task, "config": "uraq-other"}]}) == [
        "eval.yaml: task a is in it twice",
        "eval.yaml: task a: uraq-evaluation has no column answer",
        "eval.yaml: task a: uraq-other, split test: not in the manifest",
    ]
    assert listed(version, {"tasks": [{**task, "field_spec": None}]})[0].startswith("eval.yaml: tasks.0.field_spec")
    assert listed(version, "tasks: [")[0].startswith("eval.yaml: cannot be read: ")


def test_what_people_made_of_the_file_is_theirs(version: Path) -> None:
    (version / "eval.yaml").write_text("tasks: mine\n")
    release = read_release(version)
    files = [file.model_copy(update={"made": file.sha256} if file.path == "eval.yaml" else {})
             for file in release.manifest.files]  # fmt: skip
    write_manifest(version, release.manifest.model_copy(update={"files": tuple(files)}))
    assert list(faults_of(read_release(version))) == []


def test_a_text_for_other_programs_that_its_row_does_not_give_is_a_fault(version: Path, made: Path) -> None:
    path = version / "data" / "uraq-evaluation" / "test.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("answer_context_first")
    changed = ["another", *table["answer_context_first"].to_pylist()[1:]]
    pq.write_table(table.set_column(place, table.field(place), pa.array(changed)), path)
    project = open_built(made.parent.parent / "out")
    first = table["id"].to_pylist()[0]
    assert list(prove_rows(read_release(version), project.embedder)) == [
        f"uraq-evaluation {first}: answer_context_first is not what its expected give"
    ]
    assert list(prove_rows(read_release(made), project.embedder)) == []
    project.close()


# ---- by the real Inspect ----


@pytest.mark.slow
def test_inspect_runs_each_task_from_the_hub_and_asks_what_evaluate_asks(
    tmp_path: Path, inspect_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = released(tmp_path / "of", FAMILIES)
    right = right_answers(tmp_path / "of" / "out", "uraq", "reeval", "documents", "lveval")
    # It answers the very messages of `touchstone evaluate`, and fails at any other.
    with ChatServer(able(right, 0.7), model="m") as server, hub_of_the_client(monkeypatch) as hub:
        publish(version, REPO, "1.0.0", message="first")
        done = inspect(inspect_program, tmp_path, [f"hf/{REPO}@1.0.0"], {"": server}, hub=hub.url)
    assert done.returncode == 0, done.stderr[-4000:]
    logs = [json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "logs").glob("*.json")]
    tasks = yaml.safe_load((version / "eval.yaml").read_text(encoding="utf-8"))["tasks"]
    assert sorted(log["eval"]["task"].rpartition("/")[2] for log in logs) == sorted(task["id"] for task in tasks)
    assert {task["config"].partition("-")[0] for task in tasks} == {"uraq", "reeval", "documents", "lveval"}
    rows = {config.name: config.rows for config in read_release(version).manifest.configs}
    configs = {task["id"]: task["config"] for task in tasks}
    for log in logs:
        assert log["status"] == "success", log["error"]
        assert len(log["samples"]) == rows[configs[log["eval"]["task"].rpartition("/")[2]]]
        for sample in log["samples"]:
            is_right = sample["output"]["choices"][0]["message"]["content"] != "no such thing"
            assert {score["value"] in ("C", 1) for score in sample["scores"].values()} == {is_right}
