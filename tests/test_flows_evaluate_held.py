"""`touchstone evaluate` where that takes dialogues: over HTTP, beside a build whose files stay as they are."""

import contextlib
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from flows.construct.stages import StageRef
from flows.project.locks import one_evaluation
from flows.project.output_files import open_built, remember, write_output_files
from flows.project.project import Project
from flows.run.summary import print_next
from flows.run.terminal import Terminal
from tests.builds import TOUCHSTONE, killed, touchstone, wait_for, write_config
from tests.causal_models import make_llama
from tests.chat_server import ChatServer, Faults, Messages
from tests.inspect_program import inspect, logged
from tests.test_data_publish_harness import release as write_released
from tests.test_flows_cli import Outcome
from tests.toy import run_all

SENTENCES = [
    "The old mill by the river burned down last winter.",
    "Nobody in the village could remember who had built the bridge.",
    "She sold her boat and bought a small house near the sea.",
]
STORIES = [
    "A clock that runs backwards changes the life of a baker.",
    "Two lighthouse keepers have not spoken to each other for years.",
    "A child finds a letter in a library book and answers it.",
]
STEERING = "\x1b[2J\x1b]0;mine\x07\u202e"
"""What would clear a terminal, name its window and turn its text around."""
COMPLAINTS = ("Where is the salt in it?", "Not one clap of thunder!", "It is all stone and no velvet.")


def answer(messages: Messages) -> str:
    """The refuter, its check, the judge, and whoever is evaluated: that one says how often it has been asked."""
    first = messages[0]["content"]
    if first.startswith("You play a user"):
        earlier = sum(one in messages[-1]["content"] for one in COMPLAINTS)
        return json.dumps({"refutation": COMPLAINTS[earlier]})
    if first.startswith("A user complains"):
        return '{"met": false, "aspects": 1, "repeats": 0, "contradicts": 0}'
    if first.startswith("A user was not content"):
        return f"Seen. Rating: [[{4 if 'Answer 1 ' in messages[-1]['content'].partition('answer after:')[2] else 3}]]"
    if first.startswith("A user asked"):
        return "Seen. Rating: [[5]]"
    return f"Answer {sum(one['role'] == 'assistant' for one in messages)} to {messages[0]['content'][-30:]}{STEERING}"


def answer_as_beta(messages: Messages) -> str:
    return f"Well. {answer(messages)}"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[ChatServer, ChatServer]]:
    with ChatServer(answer) as server, ChatServer(answer_as_beta, model="beta") as beta:
        yield server, beta


@pytest.fixture
def server(servers: tuple[ChatServer, ChatServer]) -> ChatServer:
    """Everybody but beta."""
    servers[0].answer = answer
    servers[0].clear()
    return servers[0]


@pytest.fixture
def beta(servers: tuple[ChatServer, ChatServer]) -> ChatServer:
    servers[1].answer = answer_as_beta
    servers[1].clear()
    return servers[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, servers: tuple[ChatServer, ChatServer]) -> Path:
    """A folder with a finished build in `out`, whose dialogues are held with the model alpha."""
    folder = tmp_path_factory.mktemp("held")
    for name, field, texts in (("sentences", "text", SENTENCES), ("stories", "prompt", STORIES)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({field: text}) + "\n" for text in texts))
    server, beta = servers
    everybody = {"provider": "endpoint", "base_url": server.url, "name": server.model}
    evaluated = {"provider": "endpoint", "base_url": beta.url, "name": beta.model, "max_retries": 0}
    write_config(
        folder,
        store="store",
        models={"default": everybody, "alpha": everybody, "judge": everybody, "beta": evaluated},
        families={
            "refutebench": {
                "sources": {
                    "translation": [{"format": "jsonl", "path": "sentences.jsonl"}],
                    "writing": [{"format": "jsonl", "path": "stories.jsonl"}],
                },
                "evaluated": ["alpha"], "evaluators": ["judge"], "unrelated": [1],
            }
        },
    )  # fmt: skip
    project = Project(folder / "config.yaml", folder / "out")
    project.loop.run(run_all(project.build))
    write_output_files(project)
    project.close()
    return folder


def copied(source: Path, folder: Path) -> Path:
    """Copy a folder with a build, and make the copy's build the last one."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    with contextlib.chdir(folder), contextlib.closing(Project(Path("config.yaml"), Path("out"))) as project:
        remember(project)
    return folder


@pytest.fixture
def folder(tmp_path: Path, built: Path, server: ChatServer, beta: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it that is the current folder."""
    monkeypatch.chdir(tmp_path)
    return copied(built, tmp_path)


@pytest.fixture(scope="module")
def evaluated_once(
    tmp_path_factory: pytest.TempPathFactory, built: Path, servers: tuple[ChatServer, ChatServer]
) -> Path:
    """A copy of it after an evaluation of beta."""
    servers[0].answer, servers[1].answer = answer, answer_as_beta
    folder = copied(built, tmp_path_factory.mktemp("evaluated") / "folder")
    with contextlib.chdir(folder):
        assert Outcome("evaluate", "refutebench", "--model", "beta").code == 0
    return folder


@pytest.fixture
def evaluated(evaluated_once: Path, folder: Path) -> Path:
    """The current folder, with what an evaluation of beta left there."""
    return copied(evaluated_once, folder)


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of the build: its output folder but for predictions, and its stages."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for place in ("out", "store/refutebench")
        for path in sorted((folder / place).rglob("*"))
        if path.is_file() and path.parent.name != "predictions"
    }


def predictions(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out/predictions" / name).read_text().splitlines()]


@pytest.mark.slow
def test_a_model_is_evaluated_beside_the_build_and_asked_once(
    folder: Path, server: ChatServer, beta: ChatServer
) -> None:
    before = files_of(folder)
    done = Outcome("evaluate", "refutebench", "--model", "beta")
    assert done.code == 0, done.output
    after = files_of(folder)
    assert {name: after.get(name) for name in before} == before
    assert {name.split("/")[0] for name in after.keys() - before.keys()} == {"store"}

    dialogues = predictions(folder, "refutebench-beta.dialogues.jsonl")
    ratings = predictions(folder, "refutebench-beta.ratings.jsonl")
    assert {one["model"] for one in dialogues} == {"beta"}
    assert len(dialogues) == 6 * 2
    assert len(ratings) == 6 * (5 + 4) + 6 * 2
    # Of each seed four answers and four; this refuter begins both alike, so that two of them are asked once.
    assert len(beta.requests) == 6 * (4 + 4 - 2)
    cells = json.loads((folder / "out/predictions/refutebench-beta.tables.json").read_text())
    found = {(one["table"], one["row"], one["column"]): one["value"] for one in cells}
    # The first answer to a refutation is rated 4, every later one 3.
    assert found["memory", "beta / writing", "turn 1"] == 4
    assert found["memory", "beta / writing", "Δ"] == 1
    assert found["overall", "beta / translation", "mean"] == pytest.approx(10 / 3)
    assert found["not rated and not finished", "beta / dialogues finished", "writing"] == 6
    page = (folder / "out/predictions/refutebench-beta.tables.html").read_text()
    assert page.count("<polyline") == 4
    # Each table says what its values and columns are.
    assert page.count("; columns: ") == len({one["table"] for one in cells})
    said = "ratings from 1 to 5; columns: mean over refutations and seeds; in brackets, 95 % intervals"
    assert said in done.output
    assert "12 kept, 0 dropped" in done.output

    server.clear()
    beta.clear()
    again = Outcome("evaluate", "refutebench", "--model", "beta")
    assert again.code == 0
    assert server.requests == beta.requests == []
    assert "0 calls, 0 answers from the cache" in again.output
    assert files_of(folder) == after


@pytest.mark.slow
def test_the_released_task_for_inspect_holds_and_rates_the_same_dialogues(
    evaluated: Path, server: ChatServer, beta: ChatServer, inspect_program: Path, tmp_path: Path
) -> None:
    with contextlib.closing(Project(Path("config.yaml"), Path("out"))) as project:
        seeds = list(project.build.accepted("refutebench", "seeds"))
    write_released(tmp_path / "released", {"refutebench-seeds": ("refutebench", seeds)})
    models = {"": beta, "refuter": server, "evaluator": server}
    task = "scorers/inspect_tasks.py@touchstone_refutebench_seeds"
    done = inspect(inspect_program, tmp_path / "released", [task], models)
    assert done.returncode == 0, done.stdout + done.stderr
    inspected = logged(tmp_path / "released")["touchstone_refutebench_seeds"]
    ours = {
        (one["protocol"], one["query"]): [turn["text"] for turn in one["turns"]]
        for one in predictions(evaluated, "refutebench-beta.dialogues.jsonl")
    }
    theirs = {
        (sample["metadata"]["protocol"], sample["messages"][0]["content"]): [
            message["content"].strip() for message in sample["messages"]
        ]
        for sample in inspected.samples.values()
    }
    assert theirs == ours
    cells = json.loads((evaluated / "out/predictions/refutebench-beta.tables.json").read_text())
    by_place = {(one["table"], one["column"]): one["value"] for one in cells if one["row"] == "beta / writing"}
    assert inspected.values["following the first refutation, turn 1"] == by_place["memory", "turn 1"]
    assert inspected.values["following the first refutation, turn 3"] == by_place["memory", "turn 3"]
    assert inspected.values["overall, mean"] == pytest.approx(by_place["overall", "mean"])
    assert inspected.values["task consistency, final"] == by_place["task consistency", "final"]
    assert inspected.values["persistent, at once"] == by_place["persistent", "C = 0"]
    assert inspected.values["persistent, C = 1"] == by_place["persistent", "C = 1"]


@pytest.mark.slow
def test_what_a_model_said_does_not_steer_the_terminal(folder: Path) -> None:
    shown = Outcome("show", "refutebench-dialogues", "--sample", "2", "--out", "out")
    assert shown.code == 0
    with contextlib.closing(open_built(Path("out"))) as project:
        family, part = next(one for one in project.build.parts() if one[1].name == "dialogues")
        record = next(iter(project.build.accepted(family.name, part.name)))
        assert STEERING.encode("unicode_escape").decode() in repr(record), "the record is as it was said"
    told = Outcome("explain", record.key, "--out", "out")
    watched, manifest = io.StringIO(), SimpleNamespace(planned=1, kept=1, usage={}, notes=())
    ref: Any = StageRef("refutebench", "dialogues", "hold dialogue")
    terminal = Terminal(Console(file=watched, width=160))
    terminal.finished(ref, manifest, before=False, example=family.view_of(record).in_markdown())  # type: ignore[arg-type]
    for said in (shown.output, told.output, watched.getvalue()):
        assert r"\x1b[2J\x1b]0;mine\x07\u202e" in said.replace("\n", "")
        assert not set("\x1b\x07\u202e") & set(said)


@pytest.mark.slow
def test_of_two_evaluations_of_a_model_at_once_one_declines(folder: Path, beta: ChatServer) -> None:
    with one_evaluation(folder / "store", folder / "out" / "predictions" / "refutebench-beta"):
        done = Outcome("evaluate", "refutebench", "--model", "beta")
        assert done.code == 1
        assert "another evaluation is writing" in str(done.error)
        assert Outcome("evaluate", "refutebench", "--model", "alpha").code == 0
    assert beta.requests == []


@pytest.mark.slow
def test_a_model_that_the_build_evaluated_is_done_at_once(folder: Path, server: ChatServer) -> None:
    before = files_of(folder)
    done = Outcome("evaluate", "refutebench", "--model", "alpha")
    assert done.code == 0, done.output
    assert server.requests == []
    assert files_of(folder) == before
    assert len(predictions(folder, "refutebench-alpha.dialogues.jsonl")) == 12


@pytest.mark.slow
def test_dialogues_are_held_on_the_seeds_that_came_since_a_version(evaluated: Path, beta: ChatServer) -> None:
    keys = [seed.key for seed in open_built(Path("out")).build.accepted("refutebench", "seeds")]
    lines = [{"config": "refutebench-seeds", "key": key, "since": since, "since_date": None, "source_date": day}
             for key, since, day in zip(keys, ("1.0.0", "1.0.0", "1.0.0", "1.0.0", "1.1.0", "1.1.0"),
                                        (None, "2024-01-31", None, None, "2024-02-01", None), strict=True)]  # fmt: skip
    (evaluated / "out/history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    whole = json.loads((evaluated / "out/predictions/refutebench-beta.scores.json").read_text())["signature"]
    for options, expected in (
        (("--since", "1.1.0"), keys[4:]),
        (("--source-after", "2024-01-31"), keys[4:5]),
        (("--since", "1.1.0", "--limit", "1"), keys[4:5]),
    ):
        done = Outcome("evaluate", "refutebench", "--model", "beta", *options)
        assert done.code == 0, done.output
        dialogues = predictions(evaluated, "refutebench-beta.dialogues.jsonl")
        project = open_built(Path("out"))
        asked = [seed.key for seed in project.build.accepted("refutebench", "seeds")
                 if seed.query in {one["query"] for one in dialogues}]  # fmt: skip
        assert asked == expected
        assert len(dialogues) == 2 * len(expected)
        scores = json.loads((evaluated / "out/predictions/refutebench-beta.scores.json").read_text())
        assert scores["signature"]["rows"] != whole["rows"], "the signature is of the seeds that were asked about"
    assert not beta.requests, "all of it was asked before"
    assert Outcome("evaluate", "refutebench", "--model", "beta", "--since", "1.0.0").code == 0
    scores = json.loads((evaluated / "out/predictions/refutebench-beta.scores.json").read_text())
    timed = [one for one in scores["figures"] if one["measure"].endswith("over time of source")]
    assert [(one["at"], one["items"]) for one in timed if one["against"] is None] == [("2024-01", 1), ("2024-02", 1)]
    refused = Outcome("evaluate", "refutebench", "--model", "beta", "--source-after", "2024-02-01")
    assert refused.code == 2
    assert "has no rows with sources after 2024-02-01 (2 of 6 rows have a date of their source)" in str(refused.error)


@pytest.mark.slow
def test_a_limit_takes_so_many_seeds_of_all_tasks_and_what_it_asked_is_not_asked_again(
    folder: Path, beta: ChatServer
) -> None:
    assert Outcome("evaluate", "refutebench", "--model", "beta", "--limit", "2").code == 0
    few = predictions(folder, "refutebench-beta.dialogues.jsonl")
    assert len(few) == 2 * 2
    assert {one["task"] for one in few} == {"translation", "writing"}
    assert len(beta.requests) == 2 * (4 + 4 - 2)
    assert Outcome("evaluate", "refutebench", "--model", "beta").code == 0
    assert {one["id"] for one in few} <= {one["id"] for one in predictions(folder, "refutebench-beta.dialogues.jsonl")}
    assert len(beta.requests) == 6 * (4 + 4 - 2)
    assert beta.answered_twice == []


RATINGS = "out/predictions/refutebench-beta.ratings.jsonl"


def values(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.slow
def test_ratings_are_scored_again_from_their_file(evaluated: Path) -> None:
    scored = Outcome("score", "refutebench", "--input", RATINGS, "--output", "t.json")
    assert scored.code == 0, scored.output
    assert values(Path("t.json")) == values(evaluated / "out/predictions/refutebench-beta.tables.json")
    lines = Path(RATINGS).read_text().splitlines()
    Path("alone.jsonl").write_text("\n".join(lines))
    assert Outcome("score", "refutebench", "--input", "alone.jsonl", "--output", "alone.json").code == 0
    about_dialogues = ("statistics", "not rated and not finished")
    told = [one for one in values(Path("t.json")) if one["table"] not in about_dialogues]
    assert values(Path("alone.json")) == told
    Path("twice.jsonl").write_text("\n".join([*lines, lines[0]]))
    Path("none.jsonl").write_text("")
    Path("wrong.jsonl").write_text('{"id": "x", "variant": "y", "prediction": "z"}')
    for given, said in (("twice", "stands twice"), ("none", "has no rows"), ("wrong", "`touchstone evaluate")):
        refused = Outcome("score", "refutebench", "--input", f"{given}.jsonl")
        assert refused.code == 2
        assert said in str(refused.error)
        assert "\n" not in str(refused.error)
    assert Outcome("score", "refutebench", "--input", RATINGS, "--output", RATINGS).code == 2


@pytest.mark.slow
def test_rows_of_a_release_are_scored_too(evaluated: Path) -> None:
    added = {"reviewed": False, "decision": None, "canary": "0"}
    rows = [{**json.loads(line), **added} for line in Path(RATINGS).read_text().splitlines()]
    Path("released.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert Outcome("score", "refutebench", "--input", "released.jsonl").code == 0


@pytest.mark.slow
def test_ratings_that_are_missing_or_of_another_build_are_refused_or_counted(evaluated: Path) -> None:
    rows = [json.loads(line) for line in Path(RATINGS).read_text().splitlines()]
    stranger = {**rows[0], "key": "0" * 16, "query": "Tell a story of nobody.", "model": "gamma"}
    stranger.pop("id")
    lacking = [row for row in rows if row["dialogue"] != rows[0]["dialogue"]][:-1]
    left_out = len(rows) - len(lacking)
    Path("some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*lacking, stranger]))
    refused = Outcome("score", "refutebench", "--input", "some.jsonl", "--output", "some.json")
    assert refused.code == 2
    assert f"expected 66 of 12 dialogues, found {left_out} missing of 2 dialogues (first: judge on" in str(
        refused.error
    )
    assert "0 double, 1 unknown (first: judge on" in str(refused.error)
    assert "\n" not in str(refused.error)
    assert not Path("some.json").exists()
    partial = Outcome("score", "refutebench", "--input", "some.jsonl", "--output", "some.json", "--partial")
    assert partial.code == 0
    said = f"{66 - left_out} of 66 ratings are scored: {left_out} missing of 2 dialogues"
    assert said in " ".join(partial.output.split())
    assert said in Path("some.html").read_text()
    Path("strangers.jsonl").write_text(json.dumps(stranger))
    foreign = Outcome("score", "refutebench", "--input", "strangers.jsonl", "--partial")
    assert foreign.code == 2
    assert "they seem to be of another build" in str(foreign.error)


@pytest.mark.slow
def test_what_was_dropped_is_told_beside_the_ratings_and_is_not_missing(folder: Path, server: ChatServer) -> None:
    def speechless(messages: Messages) -> str:
        said = answer(messages)
        if messages[0]["content"].startswith("A user asked") and "Answer 2 " in messages[1]["content"]:
            return "I cannot say."
        return said

    server.answer = speechless
    assert Outcome("evaluate", "refutebench", "--model", "beta", "--limit", "6").code == 0
    reasons = [one["reason"] for one in predictions(folder, "refutebench-beta.dropped.jsonl")]
    assert len(reasons) == 6  # of each transient dialogue R(q, a2)
    again = Outcome("score", "refutebench", "--input", RATINGS, "--output", "t.json")
    assert again.code == 0, again.output
    assert values(Path("t.json")) == values(folder / "out/predictions/refutebench-beta.tables.json")
    assert "6 of 66 ratings were not given" in " ".join(again.output.split())
    (folder / "out/predictions/refutebench-beta.dropped.jsonl").unlink()
    assert "6 missing of 6 dialogues" in str(Outcome("score", "refutebench", "--input", RATINGS).error)


@pytest.mark.slow
def test_what_was_built_is_scored_without_a_file(folder: Path, server: ChatServer) -> None:
    done = Outcome("score", "refutebench", "--out", "out")
    assert done.code == 0, done.output
    assert server.requests == []
    assert Outcome("evaluate", "refutebench", "--model", "alpha").code == 0
    stem = folder / "out/predictions"
    assert values(stem / "refutebench-built.tables.json") == values(stem / "refutebench-alpha.tables.json")
    console = Console(width=200, record=True, file=io.StringIO())
    project = open_built(Path("out"))
    assert project.built is not None
    print_next(console, project, project.built, Path("out/report.html"))
    assert "touchstone score refutebench " in console.export_text()
    page = (stem / "refutebench-built.tables.html").read_text()
    assert "refutebench as it was built" in page
    assert "not rated and not finished" in page
    assert Outcome("score", "refutebench", "--output", "mine.json").code == 0
    assert Path("mine.html").exists()
    assert values(Path("mine.json")) == values(stem / "refutebench-built.tables.json")


@pytest.mark.slow
@pytest.mark.parametrize("command", [("score", "--output", "t.json"), ("evaluate", "--model", "alpha")])
def test_files_are_written_whoever_stops_reading(folder: Path, command: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            [TOUCHSTONE, command[0], "refutebench", *command[1:]], cwd=folder, stdout=closed, stderr=subprocess.PIPE,
            text=True, check=False, timeout=600,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    written = "t.json" if command[0] == "score" else "out/predictions/refutebench-alpha.tables.json"
    assert (folder / written).is_file()
    assert (folder / written).with_suffix(".html").is_file()


@pytest.mark.slow
def test_where_turns_look_is_told_of_a_dialogue_of_each_task_and_protocol(folder: Path, beta: ChatServer) -> None:
    make_llama(folder / "tiny-llama")
    done = Outcome("evaluate", "refutebench", "--model", "beta", "--attention-model", "tiny-llama")
    assert done.code == 0, done.output
    cells = json.loads((folder / "out/predictions/refutebench-beta.tables.json").read_text())
    tables: dict[str, dict[tuple[str, str], float]] = {}
    for cell in cells:
        if cell["table"].startswith("attention"):
            tables.setdefault(cell["table"], {})[cell["row"], cell["column"]] = cell["value"]
    kinds = {
        "transient": ["s", "q", "a0", "r0", "a1", "r1", "a2", "r2", "a3"],
        "persistent": ["s", "q", "a0", "r0", "a1", "u1", "b1", "q'", "a2"],
    }
    assert list(tables) == [
        f"attention of tiny-llama, {protocol}, {task}" for protocol in kinds for task in ("translation", "writing")
    ]
    for table, values in tables.items():
        names = kinds["persistent" if "persistent" in table else "transient"]
        assert list(values) == [(row, column) for place, row in enumerate(names) for column in names[: place + 1]]
        assert all(0 <= value <= 1 for value in values.values())
        assert values["s", "s"] == 1  # the first token sees nothing else
    page = (folder / "out/predictions/refutebench-beta.tables.html").read_text()
    assert page.count('<svg class="heatmap"') == 4
    assert page.count("drawn by the run&#39;s seed") == 4
    assert page.count("u1 is the first unrelated query") == 1
    dialogues = {one["id"]: one for one in predictions(folder, "refutebench-beta.dialogues.jsonl")}
    drawn = re.findall(r"attention of tiny-llama, (\w+), (\w+): dialogue (\w+) with beta", page)
    assert [(dialogues[key]["protocol"], dialogues[key]["task"]) for _, _, key in drawn] == [
        (protocol, task) for protocol, task, _ in drawn
    ]
    assert "and 4 heatmaps" in done.output
    beta.clear()
    assert Outcome("evaluate", "refutebench", "--model", "beta", "--attention-model", "./tiny-llama").code == 0
    assert beta.requests == []
    assert json.loads((folder / "out/predictions/refutebench-beta.tables.json").read_text()) == cells


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "gamma"], "no such model"),
        (["--model", "beta", "--attention"], "name a local model that reads its dialogues by --attention-model"),
        (["--model", "beta", "--attention-model", "alpha"], "--attention-model alpha: is of provider endpoint"),
        (["--model", "beta", "--attention-model", "gamma"], "--attention-model gamma: no such model in"),
        (["--model", "beta", "--attention-model", "./store"], "cannot be loaded as a causal language model"),
        (["--model", "beta", "--by-author"], "--by-author: "),
    ],
)
@pytest.mark.slow
def test_what_cannot_be_done_is_said_in_one_line(
    folder: Path, server: ChatServer, beta: ChatServer, arguments: list[str], said: str
) -> None:
    outcome = Outcome("evaluate", "refutebench", *arguments)
    assert outcome.code == 2
    assert said in str(outcome.error)
    assert "\n" not in str(outcome.error)
    assert server.requests == beta.requests == []


@pytest.mark.slow
def test_a_model_that_does_not_answer_ends_the_run_in_one_line_and_the_next_goes_on(
    folder: Path, beta: ChatServer
) -> None:
    def silent(messages: Messages) -> str:
        said = answer_as_beta(messages)
        if said.startswith("Well. Answer 3 to"):
            raise ConnectionError
        return said

    before = files_of(folder)
    beta.answer = silent
    failed = Outcome("evaluate", "refutebench", "--model", "beta")
    assert failed.code == 1
    assert len(str(failed.error).splitlines()) == 1
    paid = {request.hash for request in beta.answered}
    assert paid
    beta.clear()
    beta.answer = answer_as_beta
    assert Outcome("evaluate", "refutebench", "--model", "beta").code == 0
    assert paid.isdisjoint(request.hash for request in beta.requests)
    after = files_of(folder)
    assert {name: after.get(name) for name in before} == before


@pytest.mark.slow
def test_a_spent_budget_still_scores_what_was_rated(
    folder: Path,
    server: ChatServer,
    beta: ChatServer,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "prices.yaml").write_text(
        "gpt-4o-mini: {input_per_million: 0, output_per_million: 1000}\n"
        "beta: {input_per_million: 0, output_per_million: 0}\n"
    )
    config = json.loads((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(json.dumps({**config, "prices": "prices.yaml"}))
    whole = tmp_path_factory.mktemp("whole") / "folder"
    shutil.copytree(folder, whole)
    for place in (whole, folder):  # the last is what commands read
        with contextlib.closing(Project(place / "config.yaml", place / "out")) as project:
            remember(project)
    monkeypatch.chdir(whole)
    first = Outcome("evaluate", "refutebench", "--model", "beta", "--out", "out")
    cost = float(re.findall(r"\$([\d.]+)", first.output)[-1])
    monkeypatch.chdir(folder)

    def with_budget(usd: float) -> None:
        (folder / "config.yaml").write_text(json.dumps({**config, "prices": "prices.yaml", "budget_usd": usd}))

    # A rating may have 1,024 tokens, so some ten of them are missing at last.
    with_budget(cost + 1.024 - 0.1)
    server.clear()
    beta.clear()
    stopped = Outcome("evaluate", "refutebench", "--model", "beta")
    assert stopped.code == 1
    assert "is reached" in str(stopped.error)
    # What the dialogues took before the stop is told with the rest.
    (spent,) = re.findall(r"([\d.]+) USD were spent in all", str(stopped.error))
    assert f"answers from the cache, money: ${float(spent):.4f}" in stopped.output
    (calls,) = re.findall(r"(\d+) calls, \d+ answers from the cache, money", stopped.output)
    asked = len(server.answered) + len(beta.answered)
    assert asked - 8 <= int(calls) <= asked, "but for what was in flight at the stop"
    rated = predictions(folder, "refutebench-beta.ratings.jsonl")
    everything = predictions(whole, "refutebench-beta.ratings.jsonl")
    assert 0 < len(rated) < len(everything)
    assert [one for one in everything if one["key"] in {own["key"] for own in rated}] == rated
    dropped = predictions(folder, "refutebench-beta.dropped.jsonl")
    assert {one["reason"] for one in dropped} == {"the budget is spent"}
    assert (folder / "out/predictions/refutebench-beta.tables.json").exists()
    # The next command has a budget of its own, and ends up where the whole is.
    assert Outcome("evaluate", "refutebench", "--model", "beta").code == 0
    assert predictions(folder, "refutebench-beta.ratings.jsonl") == everything

    # Where nothing could be rated, there is nothing to score, and what was rated before stays as it is.
    written = {path.name: path.read_bytes() for path in (folder / "out/predictions").iterdir()}
    other = json.loads((folder / "config.yaml").read_text())
    other["models"]["judge"]["temperature"] = 0.5
    (folder / "config.yaml").write_text(json.dumps({**other, "budget_usd": 0.1}))
    nothing = Outcome("evaluate", "refutebench", "--model", "beta")
    assert nothing.code == 1
    assert "the ceiling of 0.1 USD is reached" in str(nothing.error)
    said = f"nothing was rated before the budget was spent; what was there stays, {len(everything)} rows"
    assert said in nothing.output
    assert {path.name: path.read_bytes() for path in (folder / "out/predictions").iterdir()} == written


@pytest.mark.slow
def test_an_evaluation_that_keeps_nothing_ends_with_1_as_a_run_does(folder: Path, server: ChatServer) -> None:
    server.answer = lambda messages: "I cannot say." if "Rating" in answer(messages) else answer(messages)
    done = Outcome("evaluate", "refutebench", "--model", "beta")
    assert done.code == 1
    assert "no rating was kept; " in str(done.error)
    assert "refutebench-beta.dropped.jsonl shows why each was dropped" in str(done.error)
    assert predictions(folder, "refutebench-beta.ratings.jsonl") == []
    assert len(predictions(folder, "refutebench-beta.dropped.jsonl")) == 66


# ---- in a profile ----

CONCURRENCY = 4


def profiled(folder: Path) -> dict[str, Any]:
    """RefuteBench's part of a profile, without seconds."""
    (family,) = values(folder / "out/profile/profile.json")["families"]
    for one in family["models"]:
        for name in ("seconds", "median_s", "slow_s"):
            one["spent"].pop(name)
    found: dict[str, Any] = family
    return found


@pytest.mark.slow
def test_a_profile_of_dialogues_that_is_killed_goes_on_and_finds_the_same(
    folder: Path, server: ChatServer, beta: ChatServer, evaluated_once: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = copied(evaluated_once, tmp_path_factory.mktemp("whole") / "folder")
    with contextlib.chdir(whole):
        assert Outcome("profile", "out", "--model", "beta").code == 0
    config = json.loads((folder / "config.yaml").read_text())
    for name in config["models"]:
        config["models"][name]["concurrency"] = CONCURRENCY
    (folder / "config.yaml").write_text(json.dumps(config))
    remembered(folder)
    server.clear()
    beta.clear()
    server.faults = beta.faults = Faults(latency_s=(0.02, 0.04))
    try:
        for answered in (20, 60):
            when = lambda: len(server.answered) + len(beta.answered) > answered  # noqa: B023, E731
            assert killed("profile", "out", "--model", "beta", folder=folder, when=when)
            wait_for(lambda: not server.running and not beta.running)
        assert not (folder / "out/profile").exists(), "nothing is shown of what is half done"
        done = touchstone("profile", "out", "--model", "beta", folder=folder)
    finally:
        server.faults = beta.faults = Faults()
    assert done.returncode == 0, done.stdout + done.stderr
    resumed, expected = profiled(folder), profiled(whole)
    assert resumed["figures"] == expected["figures"]
    assert resumed["models"] == expected["models"]
    for one in (server, beta):
        twice = len(one.requests) - len({request.hash for request in one.requests})
        assert twice <= 2 * CONCURRENCY, "what was in flight at a kill, and no more, is asked for again"


def paid_in(folder: Path) -> float:
    """What all answers in the cache of a folder took, in USD."""
    with contextlib.closing(sqlite3.connect(folder / "store" / "completions.sqlite")) as cache:
        return float(cache.execute("SELECT SUM(cost_usd) FROM completions").fetchone()[0])


def remembered(folder: Path) -> None:
    """Make a folder's build the last one."""
    with contextlib.chdir(folder), contextlib.closing(Project(Path("config.yaml"), Path("out"))) as project:
        remember(project)


@pytest.mark.slow
def test_a_profile_of_dialogues_whose_budget_ends_shows_what_was_rated_and_goes_on_later(
    folder: Path, server: ChatServer, beta: ChatServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (folder / "prices.yaml").write_text(
        "gpt-4o-mini: {input_per_million: 0, output_per_million: 1000}\n"
        "beta: {input_per_million: 0, output_per_million: 0}\n"
    )
    config = json.loads((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(json.dumps({**config, "prices": "prices.yaml"}))
    whole = copied(folder, tmp_path_factory.mktemp("whole") / "folder")
    with contextlib.chdir(whole):
        assert Outcome("profile", "out", "--model", "beta").code == 0
    cost = paid_in(whole) - paid_in(folder)
    remembered(folder)
    server.clear()
    beta.clear()
    # A rating may have 1,024 tokens, so some of them are missing at last.
    budget = f"{cost + 1.024 - 0.1:.3f}"
    stopped = Outcome("profile", "out", "--model", "beta", "--budget", budget)
    assert stopped.code == 1
    assert f"the ceiling of {float(budget):g} USD is reached" in str(stopped.error)
    found = profiled(folder)
    assert found["models"][0]["lacks"] == "stopped by the budget"
    assert found["models"][0]["beside"]["dropped: the budget is spent"] > 0
    assert found["figures"]
    assert "stopped by the budget" in (folder / "out/profile/profile.html").read_text()
    assert Outcome("profile", "out", "--model", "beta").code == 0
    assert profiled(folder)["models"][0]["lacks"] == ""
    assert profiled(folder)["figures"] == profiled(whole)["figures"]
    assert server.answered_twice == beta.answered_twice == []


@pytest.mark.slow
def test_a_rating_without_an_answer_is_missing_and_the_others_are_scored(folder: Path, server: ChatServer) -> None:
    said = {"Rating": 0}

    def refuses(body: Any) -> Any:
        is_stubborn = "Rating" in body["messages"][0]["content"] and STORIES[0] in body["messages"][-1]["content"]
        said["Rating"] += is_stubborn
        return (500, "bad luck") if is_stubborn else None

    config = json.loads((folder / "config.yaml").read_text())
    config["models"]["judge"]["max_retries"] = 0
    (folder / "config.yaml").write_text(json.dumps(config))
    server.refuses = refuses
    try:
        ran = Outcome("profile", "out", "--model", "beta")
    finally:
        server.refuses = lambda body: None
    assert said["Rating"], "the judge was asked"
    assert ran.code == 1
    assert str(ran.error) == "evaluated in part: beta on refutebench; out/profile/profile.html says why"
    found = profiled(folder)
    assert found["models"][0]["lacks"].startswith("some dialogues could not be held, and the scores are of the others")
    dropped = found["models"][0]["beside"]["dropped: the server gave no answer"]
    assert dropped == 11
    assert len(predictions(folder, "refutebench-beta.ratings.jsonl")) == 66 - dropped
    again = Outcome("profile", "out", "--model", "beta")
    assert again.code == 0, again.output
    assert len(predictions(folder, "refutebench-beta.ratings.jsonl")) == 66
