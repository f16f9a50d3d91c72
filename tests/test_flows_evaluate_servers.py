"""`touchstone evaluate` and `score` beside servers that imitate real ones, over HTTP, as a user runs them."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.builds import TOUCHSTONE, killed, touchstone, wait_for, write_config
from tests.chat_server import ChatServer, Faults, Messages, Reply
from tests.imitations import Refuses, llama_cpp, o1_mini, ollama, openai_window, tokens_of, vllm_window

pytestmark = pytest.mark.slow

URAQ = {"statements": 30, "context_counts": [1, 25]}
SLOW_S = 60
"""Seconds until a slow server answers: several times what a command that is stopped takes on a busy machine."""


def right(messages: Messages) -> str:
    """A model that always knows: it is the form of the reply that counts here."""
    return "<output>4</output>"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small build by the rules."""
    folder = tmp_path_factory.mktemp("built")
    config = write_config(folder, families={"uraq": URAQ})
    done = touchstone("run", config, "--out", "out", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


class Evaluated:
    """What `touchstone evaluate` and its files say."""

    def __init__(self, built: Path, server: ChatServer, *arguments: str, **settings: Any) -> None:
        top = {name: settings.pop(name) for name in ("budget_usd", "prices") if name in settings}
        model = {"provider": "endpoint", "name": "gpt-4o-mini", "base_url": server.url, **settings}
        write_config(built, models={"m": model}, families={"uraq": URAQ}, **top)
        self.done = touchstone("evaluate", "uraq", "--model", "m", "--out", "out", *arguments, folder=built)
        self.path = built / "out" / "predictions" / "uraq-m.jsonl"
        self.output = self.path.with_suffix(".tables.json")

    @property
    def predictions(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def cells(self, table: str) -> dict[str, int]:
        """By line, the sum over its columns of what a table counts."""
        counts: dict[str, int] = {}
        for cell in json.loads(self.output.read_text()):
            if cell["table"] == table:
                counts[cell["row"]] = counts.get(cell["row"], 0) + cell["n"]
        return counts


def test_o1_mini_is_evaluated_and_what_it_refuses_is_told_once(built: Path) -> None:
    with ChatServer(lambda messages: Reply(right(messages), thought=700), refuses=o1_mini) as server:
        ran = Evaluated(built, server, "--limit", "12")
        assert ran.done.returncode == 0, ran.done.stderr
        assert ran.done.stdout.count("does not take temperature 0.0, which is left out") == 1
        assert ran.done.stdout.count("takes no system message") == 1
        assert ran.done.stdout.count("thinks before it answers") == 1
        assert len(ran.predictions) == 36
        assert all(set(one) == {"id", "variant", "prediction", "model"} for one in ran.predictions)
        assert {one["prediction"] for one in ran.predictions} == {"<output>4</output>"}
        # One call found out all of it, and one its answer's room.
        assert len([one for one in server.requests if one.outcome == "400"]) == 3
        assert len(server.answered) == 37
        server.clear()
        again = Evaluated(built, server, "--limit", "12")
        assert "0 calls, 37 answers from the cache" in again.done.stdout
        assert server.requests == []


@pytest.mark.parametrize(
    ("refuses", "at_least"),
    [(openai_window(706), 400), (vllm_window(706), 400), (llama_cpp(540, tells=True), 260)],
)
def test_a_window_that_the_server_tells_is_kept_by_cutting_the_middle(
    built: Path, refuses: Refuses, at_least: int
) -> None:
    """Prompts have about 250 tokens or 600, and an answer may have 256."""
    with ChatServer(right, refuses=refuses) as server:
        ran = Evaluated(built, server)
        assert ran.done.returncode == 0, ran.done.stderr
        cut = [one for one in ran.predictions if one.get("prompt_cut")]
        assert cut
        assert len(cut) < len(ran.predictions)
        assert all(one["prediction"] == "<output>4</output>" for one in ran.predictions)
        assert f"{len(cut):,} prompts were cut in their middle" in ran.done.stdout
        assert ran.cells("beside the scores") == {"gpt-4o-mini / prompt cut in its middle": len(cut)}
        assert max(tokens_of(one.body) for one in server.answered) > at_least  # no more is cut than has to be


@pytest.mark.parametrize("refuses", [llama_cpp(450, tells=False), ollama(450)])
def test_a_window_that_is_not_told_makes_failures_that_are_no_predictions(built: Path, refuses: Refuses) -> None:
    with ChatServer(right, refuses=refuses) as server:
        ran = Evaluated(built, server)
        assert ran.done.returncode == 0, ran.done.stderr
        failed = [one for one in ran.predictions if "failure" in one]
        assert 0 < len(failed) < len(ran.predictions)
        assert {(one["prediction"], one["failure"]) for one in failed} == {
            ("", "prompt longer than the model's window")
        }
        assert "exceeds" not in ran.path.read_text()
        assert f"{len(failed):,} predictions failed and are not scored: the server" in ran.done.stdout
        assert "did not take the prompt" in ran.done.stdout
        assert ran.cells("beside the scores") == {
            "gpt-4o-mini / failed: prompt longer than the model's window": len(failed)
        }
        # Where the user says what the window is, the same rows are answered.
        known = Evaluated(built, server, window=400)
        assert not any("failure" in one for one in known.predictions)
        assert sum(one.get("prompt_cut", False) for one in known.predictions) >= len(failed)


def test_failures_are_scored_the_same_by_score_and_not_at_all_where_nothing_is_left(built: Path) -> None:
    with ChatServer(right, refuses=ollama(450)) as server:
        ran = Evaluated(built, server)
        scored = touchstone(
            "score", "uraq", "--input", ran.path, "--output", "tables.json", "--out", "out", folder=built
        )
        assert scored.returncode == 0, scored.stderr
        assert json.loads((built / "tables.json").read_text()) == json.loads(ran.output.read_text())
    with ChatServer(right, refuses=ollama(3)) as server:
        ran = Evaluated(built, server)
        assert ran.done.returncode == 2
        assert "failed, and none is scored; their `failure` says why" in ran.done.stderr
        assert len(ran.done.stderr.strip().splitlines()) == 1


def test_a_spent_budget_still_scores_what_was_answered(built: Path) -> None:
    prices = built / "prices.yaml"
    prices.write_text("gpt-4o-mini: {input_per_million: 0, output_per_million: 1000}")
    with ChatServer(lambda messages: Reply(right(messages), usage=(10, 100))) as server:
        # An answer costs 0.1 USD; one may cost 0.256 at most.
        ran = Evaluated(built, server, budget_usd=3, prices=str(prices), temperature=0.5)
        assert ran.done.returncode == 1
        assert 20 < len(ran.predictions) <= 30
        # An answer to two rows of one wording is paid for once.
        spent = f"{0.1 * len(server.answered):g}"
        last = ran.done.stderr.strip().splitlines()[-1]
        assert f"the ceiling of 3 USD is reached: {spent} USD were spent in all" in last
        assert f"money: ${float(spent):.4f}" in ran.done.stdout
        assert "predictions are scored" in ran.done.stdout
        assert "overall accuracy" in ran.done.stdout or "replies without <output>" in ran.done.stdout
        first = len(server.answered)
        # The next command has a budget of its own, and goes on.
        more = Evaluated(built, server, budget_usd=3, prices=str(prices), temperature=0.5)
        assert len(more.predictions) > len(ran.predictions) or len(server.answered) > first
        assert server.answered_twice == []


def test_what_a_spent_budget_leaves_of_a_finished_evaluation_is_told(built: Path) -> None:
    prices = built / "prices.yaml"
    prices.write_text("gpt-4o-mini: {input_per_million: 0, output_per_million: 1000}")
    with ChatServer(lambda messages: Reply(right(messages), usage=(10, 100))) as server:
        whole = Evaluated(built, server, parameters={"top_p": 0.1})
        lines, tables = whole.predictions, whole.output.read_bytes()
        rows = len({one["id"] for one in lines})
        other: dict[str, Any] = {"prices": str(prices), "parameters": {"top_p": 0.2}}
        none = Evaluated(built, server, budget_usd=0.001, **other)
        assert none.done.returncode == 1
        said = f"nothing was answered before the budget was spent; what was there stays, {len(lines)} rows"
        assert said in none.done.stdout
        assert (none.predictions, none.output.read_bytes()) == (lines, tables)
        few = Evaluated(built, server, budget_usd=1, **other)
        assert few.done.returncode == 1
        asked = len({one["id"] for one in few.predictions})
        assert 0 < len(few.predictions) < len(lines)
        assert f"predictions on {asked} rows take the place of those on {rows}, whose answers" in few.done.stdout
        assert few.output.read_bytes() != tables


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_it_beside_a_slow_server_is_told_at_once_and_does_not_wait_for_its_answer(
    built: Path, stop: signal.Signals
) -> None:
    with ChatServer(right, faults=Faults(latency_s=(SLOW_S, SLOW_S))) as server:
        model = {"provider": "endpoint", "name": "gpt-4o-mini", "base_url": server.url, "concurrency": 2}
        write_config(built, models={"m": model}, families={"uraq": URAQ})
        process = subprocess.Popen(
            [TOUCHSTONE, "evaluate", "uraq", "--model", "m", "--out", "out"], cwd=built,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        wait_for(lambda: server.running)
        process.send_signal(stop)
        assert process.stderr is not None
        assert process.stderr.readline() == "stopping: waiting for calls that were sent, 8 s at most\n"
        assert process.poll() is None
        _, said = process.communicate(timeout=2 * SLOW_S)
        assert (process.returncode, said) == (
            130,
            "touchstone: stopped; run the same command again to go on from here\n",
        )
        assert server.requests == [], "it ended before the first answer"


def test_replies_that_are_cut_off_are_counted(built: Path) -> None:
    with ChatServer(lambda _: Reply("<output>4</output> and so on", finish_reason="length")) as server:
        ran = Evaluated(built, server, "--limit", "4", parameters={"top_p": 0.5})
        assert ran.done.returncode == 0, ran.done.stderr
        assert all(one["cut_off"] is True for one in ran.predictions)
        assert "12 replies were cut off at their limit of tokens" in ran.done.stdout


def test_fewer_predictions_take_the_place_of_more_and_that_is_said(built: Path) -> None:
    (built / "out" / "predictions" / "uraq-m.jsonl").unlink(missing_ok=True)
    with ChatServer(right) as server:
        whole = Evaluated(built, server, "--limit", "12")
        assert "take the place" not in whole.done.stdout
        few = Evaluated(built, server, "--limit", "3")
        said = "uraq-m.jsonl: predictions on 3 rows take the place of those on 12, whose answers stay in the cache"
        assert said in few.done.stdout
        assert len(few.predictions) == 9
        server.clear()
        again = Evaluated(built, server, "--limit", "12")
        assert "take the place" not in again.done.stdout
        assert len(again.predictions) == 36
        assert server.requests == []


def test_killed_evaluations_leave_one_file_behind_and_the_next_one_none(built: Path) -> None:
    predictions = built / "out" / "predictions"

    def half_written() -> list[str]:
        return sorted(one.name for one in predictions.glob("uraq-k*"))

    with ChatServer(right) as server:
        model = {"provider": "endpoint", "name": "gpt-4o-mini", "base_url": server.url, "temperature": 0.75}
        write_config(built, models={"k": model}, families={"uraq": URAQ})
        asked = ("evaluate", "uraq", "--model", "k", "--out", "out")
        for _ in range(3):
            server.clear()
            server.answer = slowly
            assert killed(*asked, folder=built, when=lambda: len(server.requests) > 2)
            assert half_written() == ["uraq-k.jsonl.tmp"]
        server.answer = right
        assert touchstone(*asked, folder=built).returncode == 0
        endings = ("evaluation.json", "jsonl", "rows.html", "scores.json", "tables.csv", "tables.html", "tables.json")
        assert half_written() == [f"uraq-k.{ending}" for ending in endings]


def slowly(messages: Messages) -> str:
    time.sleep(0.2)
    return right(messages)


def test_replies_that_say_nothing_are_counted(built: Path) -> None:
    with ChatServer(lambda _: " ") as server:
        ran = Evaluated(built, server, "--limit", "4", parameters={"top_p": 0.25})
        assert ran.done.returncode == 0, ran.done.stderr
        assert {one["prediction"].strip() for one in ran.predictions} == {""}
        assert not any("failure" in one for one in ran.predictions)
        assert "12 replies are empty, and are scored as they are: the model said nothing" in ran.done.stdout
        assert ran.cells("beside the scores") == {"gpt-4o-mini / empty reply": 12}


@pytest.mark.parametrize("command", ["show uraq-items", "verify uraq", "explain ID", "score uraq --input P", "release"])
def test_reading_takes_no_key(built: Path, command: str) -> None:
    model = {"provider": "endpoint", "name": "m", "api_key_env": "NO_SUCH_KEY"}
    with ChatServer(right) as server:
        path = Evaluated(built, server, "--limit", "2").path
    licence = {"licence": "CC0-1.0"}
    write_config(built, model=model, budget_usd=3, release=licence, families={"uraq": URAQ})
    of_row = json.loads(path.read_text().splitlines()[0])["id"]
    words = [{"ID": of_row, "P": str(path)}.get(word, word) for word in command.split()]
    more = ["--to", str(built / "release")] if command == "release" else []
    partial = ["--partial"] if command.startswith("score") else []
    done = touchstone(*words, *more, *partial, "--out", "out", folder=built)
    assert "NO_SUCH_KEY" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
