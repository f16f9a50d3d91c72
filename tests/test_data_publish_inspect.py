"""Released rows put to a model by the real Inspect: its figures are those of `touchstone evaluate`."""

import ast
import asyncio
import json
import random
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing, closing
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import pytest

from flows.families.documents.score import BOTH
from flows.families.reeval.score import VARIANTS
from flows.llm.cache import CompletionCache
from flows.llm.chat_format import read_log_probabilities
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.likelihood import SCORES, Options
from flows.llm.model import Usage
from flows.scoring.tables import ScoreTables
from schemas.charpeval import CharpEvalItem
from schemas.prediction import Prediction
from schemas.uraq import NEEDS
from tests.chat_server import ChatServer, Refusal, Telling
from tests.hub import Blob, HubServer
from tests.inspect_program import Inspected, inspect, logged
from tests.released import (
    charpeval_items,
    document_conflicts,
    document_pairs,
    enriched_cases,
    long_contexts,
    swap_cases,
    uraq_rows,
)
from tests.test_data_publish_harness import Answering, family_of, ours, release, value

pytestmark = pytest.mark.slow

REPLIES: Mapping[str, tuple[str, Sequence[Any]]] = {
    "uraq-evaluation": ("uraq", uraq_rows((1, 10))),
    "reeval-category1": ("reeval", swap_cases()),
    "reeval-category2": ("reeval", enriched_cases()),
    "documents-pairs": ("documents", document_pairs()),
    "documents-conflicts": ("documents", document_conflicts()),
    "lveval-factrecall_en_16k": ("lveval", long_contexts("factrecall-en", ("16k",), 3)),
    "lveval-lic_mixup_16k": ("lveval", long_contexts("lic-mixup", ("16k",), 5)),
}
ASKED: Mapping[str, str | None] = {
    "touchstone_uraq_evaluation": None,
    "touchstone_reeval_category1": "open-book",
    "touchstone_reeval_category2": "open-book",
    "touchstone_reeval_category1_faithful": "faithful",
    "touchstone_documents_pairs": None,
    "touchstone_documents_conflicts": None,
    "touchstone_lveval_factrecall_en_16k": None,
    "touchstone_lveval_lic_mixup_16k": None,
}
"""By task, how it is asked. LV-Eval's other variant, without the context, is a task of its own."""
DIRECT = ("touchstone_lveval_factrecall_en_16k_direct", "touchstone_lveval_lic_mixup_16k_direct")


def replies(inspected: Inspected, prompting: str | None = None) -> Iterable[Prediction]:
    """The replies in a log."""
    for sample in inspected.samples.values():
        asked = sample["metadata"]
        reply = sample["output"]["choices"][0]["message"]["content"]
        yield Prediction(id=asked["id"], variant=asked["variant"], prediction=reply, model="m", prompting=prompting)


def figures_of(tables: ScoreTables) -> Mapping[str, float]:
    """Our figures under the names that Inspect gives them."""
    by_name: dict[str, list[float]] = {}
    for one in tables.values:
        by_name.setdefault(f"{one.measure}, {one.at}", []).append(one.value)
    return {name: fmean(values) for name, values in by_name.items()}


def test_replies_are_asked_for_by_our_messages_and_score_as_we_score_them(
    inspect_program: Path, tmp_path: Path
) -> None:
    release(tmp_path, REPLIES)
    answering = Answering(REPLIES)
    with ChatServer(answer=answering, model="m") as server:
        tasks = [f"scorers/inspect_tasks.py@{name}" for name in (*ASKED, *DIRECT)]
        done = inspect(inspect_program, tmp_path, tasks, {"": server})
        assert done.returncode == 0, done.stdout + done.stderr
        assert {request.body["max_tokens"] for request in server.requests} == {256, 100, 64, 16}
        assert {request.body["temperature"] for request in server.requests} == {0}
    assert answering.strange == []
    found = logged(tmp_path)
    assert set(found) == {*ASKED, *DIRECT}
    assert {inspected.version for inspected in found.values()} == {"1.2.0"}
    for name, prompting in ASKED.items():
        config = next(config for config in REPLIES if name.startswith(f"touchstone_{config.replace('-', '_')}"))
        family, rows = REPLIES[config]
        asked = [name, f"{name}_direct"] if family == "lveval" else [name]
        tables = ours(
            family, rows, [reply for one in asked if one in found for reply in replies(found[one], prompting)]
        )
        wanted = figures_of(tables)
        assert len(wanted) > 0
        assert {figure: found[name].values[figure] for figure in wanted} == pytest.approx(wanted), name
    check_means(found)


def check_means(found: Mapping[str, Inspected]) -> None:
    """The mean over samples is that of the replies that our tables tell of."""
    uraq = found["touchstone_uraq_evaluation"]
    rows = REPLIES["uraq-evaluation"][1]
    assert len(uraq.samples) == len(rows) * len(NEEDS)
    tables = ours("uraq", rows, list(replies(uraq)))
    assert uraq.values["mean"] == pytest.approx(value(tables, "setting-specific accuracy"))
    documents = found["touchstone_documents_pairs"].values
    by_variant = documents["exact match, closed_book"], documents["exact match, evidence"]
    assert documents["mean"] == pytest.approx(fmean(by_variant))
    conflicts = found["touchstone_documents_conflicts"].values
    by_variant = conflicts[f"{BOTH}, in_order"], conflicts[f"{BOTH}, reversed"]
    assert conflicts["mean"] == pytest.approx(fmean(by_variant))
    long = found["touchstone_lveval_lic_mixup_16k"].values
    assert long["mean"] == pytest.approx(long["score, 16k"])
    assert len(found["touchstone_reeval_category1"].samples) == len(swap_cases()) * len(VARIANTS["category 1"])


def test_a_variant_is_a_task_of_its_own(inspect_program: Path, tmp_path: Path) -> None:
    configs = {name: REPLIES[name] for name in ("uraq-evaluation", "reeval-category1")}
    release(tmp_path, configs)
    answering = Answering(configs)
    names = ["touchstone_uraq_evaluation_context_first", "touchstone_reeval_category1_swapped"]
    with ChatServer(answer=answering, model="m") as server:
        tasks = [f"scorers/inspect_tasks.py@{name}" for name in names]
        done = inspect(inspect_program, tmp_path, tasks, {"": server})
        assert done.returncode == 0, done.stdout + done.stderr
    found = logged(tmp_path)
    predictions = [*replies(found[names[1]], "open-book")]
    family = ours("reeval", swap_cases(), predictions, partial=True)
    assert found[names[1]].values["mean"] == pytest.approx(value(family, "category 1", "all sources", "EM"))
    assert {sample["metadata"]["variant"] for sample in found[names[0]].samples.values()} == {"context-first"}


def by_words(said: str) -> Sequence[float | None]:
    """A token a word, likelier or not by the text up to it; nothing stands before the first."""
    words = said.split()
    likely = [random.Random(" ".join(["2", *words[: place + 1]])).uniform(-6.0, -0.01) for place in range(len(words))]
    return [None, *likely[1:]]


COMPLETIONS = "openai-api-completions"


@pytest.mark.parametrize(("way", "refuses", "shots"), [("echo", False, 0), ("prompt_logprobs", True, 3)])
def test_options_are_weighed_as_we_weigh_them(
    inspect_program: Path, tmp_path: Path, way: Literal["echo", "prompt_logprobs"], refuses: bool, shots: int
) -> None:
    items = {subset: [one for one in charpeval_items(6) if one.subset == subset] for subset in ("hCHARP", "eCHARP")}
    release(tmp_path, {f"charpeval-{subset.lower()}": ("charpeval", own) for subset, own in items.items()})
    tasks = {f"touchstone_charpeval_{subset.lower()}": own for subset, own in items.items()}
    with ChatServer({}, telling=Telling(by_words, way, refuses), model="m") as server:
        paths = [f"scorers/inspect_tasks.py@{name}" for name in tasks]
        done = inspect(inspect_program, tmp_path, paths, {"": server}, "-T", f"shots={shots}", api=COMPLETIONS)
        assert done.returncode == 0, done.stdout + done.stderr
        asked = bodies(server)
        server.clear()
        mine = {name: asyncio.run(weighed(server, own, shots)) for name, own in tasks.items()}
        assert asked == bodies(server)
    found = logged(tmp_path)
    for name, predictions in mine.items():
        for one in predictions:
            theirs = found[name].samples[one.id]["metadata"]["scores"][one.variant]
            assert theirs == pytest.approx(one.scores)
        wanted = figures_of(ours("charpeval", tasks[name], predictions))
        assert len(wanted) == 1
        assert 0 < found[name].values["mean"] < 1
        (figure,) = wanted
        assert (found[name].values[figure], found[name].values["mean"]) == (wanted[figure], wanted[figure])


def by_words_from_0(said: str) -> Sequence[float | None]:
    """The same from a server that gives the first token a number too."""
    return [0.0, *by_words(said)[1:]]


@pytest.mark.parametrize(
    ("telling", "refusal"),
    [
        (Telling(by_words_from_0, lists_made=False), None),
        (Telling(by_words, "prompt_logprobs"), (501, "no echo")),
    ],
)
def test_servers_that_we_take_are_taken_as_we_take_them(
    inspect_program: Path, tmp_path: Path, telling: Telling, refusal: Refusal | None
) -> None:
    items = charpeval_items(1)
    release(tmp_path, {"charpeval-items": ("charpeval", items)})
    task = "touchstone_charpeval_items"
    refuses = lambda body: refusal if body.get("echo") else None  # noqa: E731
    with ChatServer({}, refuses=refuses, telling=telling, model="m") as server:
        done = inspect(inspect_program, tmp_path, [f"scorers/inspect_tasks.py@{task}"], {"": server}, api=COMPLETIONS)
        assert done.returncode == 0, done.stdout + done.stderr
        mine = asyncio.run(weighed(server, items, 0))
    theirs = logged(tmp_path)[task].samples
    for one in mine:
        assert theirs[one.id]["metadata"]["scores"][one.variant] == pytest.approx(one.scores)


def completion(told: object, asked: int | None = 3, made: int = 1, **more: object) -> Mapping[str, object]:
    usage = None if asked is None else {"prompt_tokens": asked, "completion_tokens": made}
    return {"choices": [{"logprobs": {"token_logprobs": told}, **more}], "usage": usage}


COMPLETED = [
    completion([None, -1.0, -2.0, -9.0]),
    completion([None, -1.0, -2.0]),
    completion([None, -1.0, -2.0], made=0),
    completion([0.0, -1.0, -2.0]),
    completion([-5.0, -1.0, -2.0, -9.0]),
    completion([0.0, None, -2.0, -9.0]),
    completion([None, -1.0]),
    completion([None, -1.0, -2.0, -9.0], asked=None),
    completion(None),
    completion([None, -1e308, -1e308]),
    completion(5),
    completion("abc"),
    completion({"a": 1, "b": 2, "c": 3}),
    completion(None, prompt_logprobs=[None, {"5": {"logprob": -1.0}}, {"6": {"logprob": -2.0}}]),
    completion(None, prompt_logprobs=[None, {"5": {"logprob": -1.0}}, None]),
    completion(None, prompt_logprobs=[None, {"5": {"logprob": -1.0}}, {}]),
    {"choices": []},
]  # fmt: skip
"""Replies as servers give them, and as none should."""
READ_HERE = """
import json, sys
sys.path.insert(0, "scorers")
import inspect_tasks
for line in sys.stdin:
    try:
        print(json.dumps(inspect_tasks._numbers(json.loads(line))))
    except ValueError as error:
        assert len(str(error).splitlines()) == 1 and "the server replied with" in str(error)
        print(json.dumps("refused"))
"""


def test_log_probabilities_are_read_as_we_read_them(inspect_program: Path, tmp_path: Path) -> None:
    release(tmp_path, {"charpeval-items": ("charpeval", charpeval_items(1))})
    wanted: list[object] = []
    for body in COMPLETED:
        reply = read_log_probabilities(json.dumps(body).encode())
        wanted.append("refused" if reply is None else json.loads(reply.answer)[1:] if reply.answer else None)
    assert [wanted.count("refused"), wanted.count(None)] == [6, 5]
    no_numbers = [completion([None, one, -2.0, -9.0]) for one in (float("nan"), float("-inf"), float("inf"))]
    said = "".join(json.dumps(body) + "\n" for body in [*COMPLETED, *no_numbers])
    python = inspect_program.parent / "python"
    done = subprocess.run(
        [python, "-c", READ_HERE], cwd=tmp_path, input=said, capture_output=True, text=True, check=False
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [*wanted, *["refused"] * 3], done.stderr


def bodies(server: ChatServer) -> Mapping[str, Mapping[str, Any]]:
    """The requests that were answered, by their texts."""
    return {request.body["prompt"]: request.body for request in server.answered}


async def weighed(server: ChatServer, items: Sequence[CharpEvalItem], shots: int) -> Sequence[Prediction]:
    """What `touchstone evaluate` makes of the server's replies."""
    family, _ = family_of("charpeval")
    assert family.evaluation.choices is not None
    settings = family.settings.model_validate({"shots": [shots]})
    choices = [(item, choice) for item in items for choice in family.evaluation.choices(item, settings)]
    with closing(CompletionCache("sqlite:///:memory:")) as cache:
        async with aclosing(Endpoint(EndpointSettings(name="m", base_url=server.url), cache)) as model:
            asked = [Options(choice.prompt, tuple(choice.options.values())) for _, choice in choices]
            likelihoods = await model.likelihoods(asked, usage=Usage())
    return [
        Prediction(id=item.id, variant=name, model="m", scores=dict(zip(choice.options, map(score, own), strict=True)))
        for (item, choice), own in zip(choices, likelihoods, strict=True)
        for name, score in SCORES.items()
    ]


@pytest.mark.parametrize(
    ("api", "telling", "said"),
    [
        ("openai-api", None, "openai-api/model/m: options are weighed by the log-probabilities of a text's tokens"),
        (COMPLETIONS, None, "does not support /v1/completions"),
        (COMPLETIONS, Telling(by_words, "neither"), "the server answered: a reply without them"),
        (COMPLETIONS, Telling(by_words, "neither", refuses=True), "echo is not supported"),
    ],
)
def test_a_model_that_gives_no_log_probabilities_ends_with_a_line_that_names_those_that_do(
    inspect_program: Path, tmp_path: Path, api: str, telling: Telling | None, said: str
) -> None:
    release(tmp_path, {"charpeval-items": ("charpeval", charpeval_items(1))})
    with ChatServer({}, telling=telling, model="m") as server:
        task = "scorers/inspect_tasks.py@touchstone_charpeval_items"
        inspect(inspect_program, tmp_path, [task], {"": server}, api=api)
    (path,) = (tmp_path / "logs").glob("*.json")
    log = json.loads(path.read_text(encoding="utf-8"))
    assert log["status"] == "error"
    line = log["error"]["message"]
    assert said in line
    assert "--model vllm-completions/… or openai-api-completions/…" in line
    assert line.count("\n") == 0


def test_the_folder_is_a_package_whose_rows_come_from_the_hub_at_their_version(
    inspect_program: Path, tmp_path: Path
) -> None:
    configs = {"uraq-evaluation": ("uraq", uraq_rows((1,))), "lveval-lic_mixup_16k": REPLIES["lveval-lic_mixup_16k"]}
    with HubServer() as hub, ChatServer(answer=Answering(configs), model="m") as server:
        repo = hub.made("acme/sample")
        for version, rows in (("1.2.0", uraq_rows((1,))), ("1.3.0", uraq_rows((1, 10)))):
            release(tmp_path / version, {**configs, "uraq-evaluation": ("uraq", rows)}, version, "acme/sample")
            paths = ("README.md", "data/uraq-evaluation/test.parquet", "data/lveval-lic_mixup_16k/test.parquet")
            files = {path: Blob((tmp_path / version / path).read_bytes(), large=False) for path in paths}
            repo.tags[version] = repo.add(version, "", files, datetime.now(UTC)).id
        scorers = tmp_path / "1.2.0" / "scorers"
        before = {path.name: path.read_bytes() for path in scorers.iterdir()}
        site = tmp_path / "site-packages"  # the name by which Inspect knows a package
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, scorers], check=True
        )
        assert {path.name: path.read_bytes() for path in scorers.iterdir()} == before
        tasks = ["touchstone_sample/touchstone_uraq_evaluation"]
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        done = inspect(inspect_program, elsewhere, tasks, {"": server}, hub=hub.url, packages=site)
        assert done.returncode == 0, done.stdout + done.stderr
    (found,) = logged(elsewhere).values()
    assert len(found.samples) == len(uraq_rows((1,))) * len(NEEDS)  # of 1.3.0 it would be twice as many
    project = tomllib.loads((scorers / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == "1.2.0"
    assert {"inspect_ai>=0.3.285", "jieba==0.42.1"} < set(project["dependencies"])
    parsed = ast.parse((scorers / "inspect_tasks.py").read_text(encoding="utf-8"))
    functions = [node for node in parsed.body if isinstance(node, ast.FunctionDef)]
    tasks_there = [one.name for one in functions if "task" in [ast.unparse(name) for name in one.decorator_list]]
    assert tasks_there == [
        "touchstone_uraq_evaluation", "touchstone_uraq_evaluation_context_exclusive",
        "touchstone_uraq_evaluation_context_first", "touchstone_uraq_evaluation_memory_first",
        "touchstone_lveval_lic_mixup_16k", "touchstone_lveval_lic_mixup_16k_direct",
    ]  # fmt: skip
