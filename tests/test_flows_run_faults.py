"""Builds against a chat server over real HTTP, with everything going wrong that can."""

import asyncio
import os
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from flows.project.console import make_console
from flows.project.output_files import read_manifest, write_output_files
from flows.project.project import Project
from flows.run.summary import print_summary
from tests.builds import ROOT, begun, bytes_of, killed, scribed, served, touchstone, wait_for, write_config
from tests.chat_server import ChatServer, Faults, Messages
from tests.toy import run_all

pytestmark = pytest.mark.slow

URAQ = {"statements": 40, "context_counts": [1, 5]}
FAULTS = Faults(
    seed=3, latency_s=(0.001, 0.01), rate_limited=0.1, retry_after_s=0.05, errors_500=0.1, dropped=0.05,
    dropped_in_reply=0.05, malformed=0.05, truncated=0.05, wrong_types=0.05, refusals=0.05, no_usage=0.2,
)  # fmt: skip


def endpoint(server: ChatServer, **more: object) -> dict[str, object]:
    return {"provider": "endpoint", "name": "loopback", "base_url": server.url, **more}


@pytest.fixture
async def table(tmp_path: Path) -> dict[str, str]:
    """What the rules answer to the build."""
    folder = tmp_path / "rules"
    config = write_config(folder, store=str(folder / "store"), families={"uraq": URAQ})
    return await scribed(config, folder / "out")


async def test_families_are_built_side_by_side_to_the_same_bytes(tmp_path: Path, table: dict[str, str]) -> None:
    dialogues = {"format": "jsonl", "path": str(ROOT / "data" / "samples" / "dialogues.jsonl")}
    families = {"uraq": URAQ, "charpeval": {"sources": [dialogues]}}
    rules = write_config(tmp_path, "rules.yaml", store="rules-store", families={"charpeval": families["charpeval"]})
    drafts = await scribed(rules, tmp_path / "rules-out")
    for out, concurrency in (("wide", 64), ("narrow", 1)):
        with ChatServer(answer=served({**table, **drafts}), model="loopback") as server:
            model = endpoint(server, concurrency=concurrency)
            config = write_config(tmp_path, f"{out}.yaml", store=f"{out}-store", model=model, families=families)
            done = await asyncio.to_thread(touchstone, "run", config, "--out", out, folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        # The second family does not wait for the first one to be finished.
        assert done.stdout.index("charpeval utterances · join subsets") < done.stdout.index("uraq evaluation · arrange")
        assert server.most_running <= concurrency
    assert bytes_of(tmp_path / "wide") == bytes_of(tmp_path / "narrow")


def test_a_build_through_http_equals_the_rules(tmp_path: Path, table: dict[str, str]) -> None:
    rules = write_config(tmp_path, "rules.yaml", families={"uraq": URAQ})
    assert touchstone("run", rules, "--out", "rules-out", folder=tmp_path).returncode == 0
    with ChatServer(answer=served(table), model="loopback") as server:
        config = write_config(
            tmp_path, "http.yaml", store="http-store", model=endpoint(server), families={"uraq": URAQ}
        )
        done = touchstone("run", config, "--out", "http-out", folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert server.answered_twice == []
        asked = len(server.requests)
        # Neither another output folder, nor another store or concurrency, misses the cache.
        (tmp_path / "other").mkdir()
        config = write_config(
            tmp_path, "again.yaml", store="again-store", cache=f"sqlite:///{tmp_path}/http-store/completions.sqlite",
            model=endpoint(server, concurrency=3), families={"uraq": URAQ},
        )  # fmt: skip
        assert touchstone("run", config, "--out", "again-out", folder=tmp_path).returncode == 0
        assert len(server.requests) == asked
    columns = ["original", "manipulated", "question", "answer_original", "answer_manipulated"]
    from_rules, from_http, from_cache = (
        pq.read_table(tmp_path / out / "accepted" / "uraq-items.parquet", columns=columns).to_pylist()
        for out in ("rules-out", "http-out", "again-out")
    )
    assert from_rules == from_http == from_cache
    assert bytes_of(tmp_path / "http-out") == bytes_of(tmp_path / "again-out")


async def test_faults_lose_nothing(tmp_path: Path, table: dict[str, str]) -> None:
    with ChatServer(answer=served(table), model="loopback", faults=FAULTS) as server:
        config = write_config(tmp_path, model=endpoint(server, max_retries=8), families={"uraq": URAQ})
        project = Project(config, tmp_path / "out")
        await run_all(project.build)
        for one in project.build.families.values():
            for model in one.models.values():
                await model.aclose()  # type: ignore[attr-defined]
        outcomes = server.outcomes()
    manifest = write_output_files(project)
    print_summary(make_console(), manifest, {}, {})
    for fault in ("429", "500"):
        assert outcomes[fault] > 0, outcomes
    for part in manifest.parts:
        assert part.planned == part.kept + part.waiting + sum(sum(one.values()) for one in part.dropped.values())
    reasons = {reason for part in manifest.parts for step in part.dropped.values() for reason in step}
    assert {"refused", "answer cut off"} & reasons
    assert "answer of the wrong form" in reasons
    rows = {file.path: file.rows for part in manifest.parts for file in part.files}
    assert rows["accepted/uraq-items.parquet"] == manifest.parts[1].kept > 0
    dropped = pq.read_table(tmp_path / "out" / "dropped" / "uraq-items.parquet").to_pylist()
    assert all(row["reason"] and row["evidence"] is not None for row in dropped)


def test_a_killed_build_never_pays_twice(tmp_path: Path, table: dict[str, str]) -> None:
    with ChatServer(answer=served(table), model="loopback", faults=Faults(latency_s=(0.05, 0.2))) as server:
        config = write_config(tmp_path, model=endpoint(server, concurrency=4), families={"uraq": URAQ})
        for number in (15, 40, 80):
            killed("run", config, "--out", "out", folder=tmp_path, when=lambda n=number: len(server.requests) >= n)
        assert touchstone("run", config, "--out", "out", folder=tmp_path).returncode == 0
        # What was in flight when the process died was not answered to anybody; all else was asked once.
        assert len(server.answered_twice) <= 3 * 4
        whole = write_config(tmp_path / "whole", model=endpoint(server), families={"uraq": URAQ})
        assert touchstone("run", whole, "--out", "out", folder=tmp_path / "whole").returncode == 0
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole" / "out")


def test_an_unreachable_endpoint_is_one_line(tmp_path: Path) -> None:
    model = {"provider": "endpoint", "name": "m", "base_url": "http://127.0.0.1:9/v1", "max_retries": 0}
    config = write_config(tmp_path, model=model, families={"uraq": URAQ})
    done = touchstone("run", config, "--out", "out", folder=tmp_path)
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_wrong_key_is_one_line_that_does_not_hold_it(tmp_path: Path) -> None:
    with ChatServer(answer={}, model="loopback", key="right-key") as server:
        config = write_config(tmp_path, model=endpoint(server, api_key_env="MY_KEY"), families={"uraq": URAQ})
        done = touchstone("run", config, "--out", "out", folder=tmp_path, MY_KEY="wrong-key")
        missing = touchstone("run", config, "--out", "out", folder=tmp_path)
    assert "MY_KEY" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert missing.returncode == 2
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"wrong-key" not in path.read_bytes(), path


@pytest.mark.parametrize("first_is_killed", [False, True])
def test_two_runs_at_once_pay_for_nothing_twice(tmp_path: Path, table: dict[str, str], first_is_killed: bool) -> None:
    answer, asked, go_on = served(table), threading.Event(), threading.Event()

    def held(messages: Messages) -> str:
        """The model's first answer comes once the second run has said that it waits for the first."""
        asked.set()
        assert go_on.wait(60)
        return answer(messages)

    with ChatServer(answer=held, model="loopback") as server:
        config = write_config(tmp_path, model=endpoint(server, concurrency=2), families={"uraq": URAQ})
        first = begun("run", config, "--out", "a", folder=tmp_path)
        assert asked.wait(60)
        out = tmp_path / "second"
        second = begun("run", config, "--out", "b", folder=tmp_path, out=out)
        wait_for(lambda: out.exists() and "waits for `touchstone run`, process" in out.read_text(), 120)
        if first_is_killed:
            first.kill()
        go_on.set()
        assert second.wait(600) == 0, out.read_text()
        assert (first.wait(600) == 0) != first_is_killed
        if first_is_killed:  # what was in flight then is nobody's
            assert len(server.answered_twice) <= 2
        else:
            assert server.answered_twice == []
            assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")
    assert list((tmp_path / ".touchstone" / "locks").iterdir()) == []


def test_a_build_that_is_stopped_for_a_minute_goes_on(tmp_path: Path, table: dict[str, str]) -> None:
    with ChatServer(answer=served(table), model="loopback", faults=Faults(latency_s=(0.2, 0.3))) as server:
        config = write_config(tmp_path, model=endpoint(server, concurrency=4), families={"uraq": URAQ})
        process = begun("run", config, "--out", "b", folder=tmp_path)
        wait_for(lambda: len(server.requests) > 10, 60)
        os.killpg(process.pid, signal.SIGSTOP)  # as Ctrl-Z does: the local Prefect server is stopped as well
        time.sleep(1)
        asked = len(server.requests)
        time.sleep(60)
        assert len(server.requests) == asked
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGCONT)
        assert process.wait(300) == 0
        assert server.answered_twice == []
        undisturbed = write_config(
            tmp_path, "undisturbed.yaml", store="other", cache=f"sqlite:///{tmp_path}/.touchstone/completions.sqlite",
            model=endpoint(server), families={"uraq": URAQ},
        )  # fmt: skip
        assert touchstone("run", undisturbed, "--out", "c", folder=tmp_path).returncode == 0
        assert server.answered_twice == []
    assert bytes_of(tmp_path / "b") == bytes_of(tmp_path / "c")


def test_the_money_ceiling_stops_cleanly_and_can_be_raised(tmp_path: Path, table: dict[str, str]) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("loopback: {input_per_million: 1000, output_per_million: 1000}")
    with ChatServer(answer=served(table), model="loopback") as server:

        def config(budget: float) -> Path:
            return write_config(
                tmp_path, model=endpoint(server), prices=str(prices), budget_usd=budget, families={"uraq": URAQ}
            )

        done = touchstone("run", config(30), "--out", "out", folder=tmp_path)
        assert done.returncode == 1, done.stdout
        assert "Traceback" not in done.stderr
        with sqlite3.connect(tmp_path / ".touchstone" / "completions.sqlite") as cache:
            first = cache.execute("SELECT SUM(cost_usd) FROM completions").fetchone()[0]
            assert 20 < first <= 30
        last = done.stderr.strip().splitlines()[-1]
        assert f"the ceiling of 30 USD is reached: {first:.6g} USD were spent in all" in last
        # The next command has a ceiling of its own.
        assert touchstone("run", config(12), "--out", "out", folder=tmp_path).returncode == 1
        with sqlite3.connect(tmp_path / ".touchstone" / "completions.sqlite") as cache:
            assert first < cache.execute("SELECT SUM(cost_usd) FROM completions").fetchone()[0] <= first + 12
        assert touchstone("run", config(5000), "--out", "out", folder=tmp_path).returncode == 0
        assert server.answered_twice == []
    with sqlite3.connect(tmp_path / ".touchstone" / "completions.sqlite") as cache:
        paid = cache.execute("SELECT SUM(cost_usd) FROM completions").fetchone()[0]
    parts = read_manifest(tmp_path / "out").parts
    usage = [one for part in parts for stage in part.stages for one in stage.usage.values()]
    # What the stopped runs had paid for stands in the build that used it.
    assert 0 < sum(one.cost_usd for one in usage) < paid
    assert sum(one.cost_usd + one.cached_cost_usd for one in usage) == pytest.approx(paid)
