"""Builds and evaluations in batches, by the command line."""

import json
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.batch_server import BatchFaults, BatchServer
from tests.builds import begun, bytes_of, killed, scribed, served, touchstone, wait_for, write_config
from tests.chat_server import Messages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

URAQ = {"statements": 20, "context_counts": [1]}
KILLS, KILLS_OF_AN_EVALUATION = 50, 10
FAULTS = BatchFaults(
    times=1, rate_limited=0.2, errors_500=0.2, dropped=0.2, dropped_in_reply=0.2, malformed=0.2, server_errors=0.2,
    missing=0.2, failed=0.2, expired=0.2, cancelled=0.2,
)  # fmt: skip


def said(messages: Messages) -> str:
    return messages[-1]["content"][-20:].strip() or "?"


def endpoint(server: BatchServer, **more: object) -> dict[str, object]:
    return {"provider": "endpoint", "name": "loopback", "base_url": server.url, "batch": True, **more}


@pytest.fixture
async def table(tmp_path: Path) -> dict[str, str]:
    """What the rules answer to the build."""
    folder = tmp_path / "rules"
    config = write_config(folder, store=str(folder / "store"), families={"uraq": URAQ})
    return await scribed(config, folder / "out")


def test_a_killed_build_is_listed_cancelled_and_gone_on_with(tmp_path: Path, table: dict[str, str]) -> None:
    with BatchServer(answer=served(table), model="loopback", batch_s=3600) as server:
        config = write_config(tmp_path, model=endpoint(server), families={"uraq": URAQ})
        assert "no batch is under way" in touchstone("batches", config, folder=tmp_path).stdout
        (log := tmp_path / "log").touch()
        process = begun("run", config, "--out", "out", folder=tmp_path, out=log)
        wait_for(lambda: "sent in batch batch-0" in log.read_text(), 120)
        process.kill()
        assert process.wait(10)
        listed = touchstone("batches", config, folder=tmp_path)
        [line] = [line for line in listed.stdout.splitlines() if "batch-0" in line]
        assert line.split()[-1] == "in_progress"
        wrong = touchstone("batches", config, "--cancel", "batch-7", folder=tmp_path)
        assert wrong.returncode == 2
        assert wrong.stderr.startswith("touchstone: --cancel batch-7: no such batch is under way")
        cancelled = touchstone("batches", config, "--cancel", "batch-0", folder=tmp_path)
        assert cancelled.stdout.startswith("batch-0: cancelled")
        server.batch_s = 0
        done = touchstone("run", config, "--out", "out", folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "batch batch-0 is cancelled" in done.stdout
        assert server.answered_twice == []
        asked = len(server.requests)
        # Another store: the same bytes without batches.
        plain = write_config(tmp_path / "plain", model=endpoint(server, batch=False), families={"uraq": URAQ})
        done = touchstone("run", plain, "--out", "out", folder=tmp_path / "plain")
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(server.requests) == 2 * asked
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "plain" / "out")


def test_a_lost_server_of_a_batch_is_a_line(tmp_path: Path) -> None:
    note = {
        "name": "0123", "model": "m", "base_url": "http://127.0.0.1:9/v1", "api_key_env": None, "requests": 3,
        "made": "2026-01-01T00:00:00Z", "file_id": "f", "batch_id": "b",
    }  # fmt: skip
    folder = tmp_path / ".touchstone" / "batches" / "0123"
    folder.mkdir(parents=True)
    (folder / "batch.json").write_text(json.dumps(note))
    config = write_config(tmp_path, families={"uraq": URAQ})
    done = touchstone("batches", config, folder=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "127.0.0.1:9" in done.stderr


def test_batches_are_not_shared_among_workers(tmp_path: Path) -> None:
    model = {"provider": "endpoint", "name": "m", "batch": True}
    config = write_config(tmp_path, model=model, runner="dask", families={"uraq": URAQ})
    done = touchstone("run", config, folder=tmp_path)
    assert done.returncode == 2
    assert "workers of `runner: dask` would each wait for batches of their own: leave batch out" in done.stderr


def predictions_of(folder: Path, server: BatchServer, life: int, *, batch: bool) -> Path:
    """Configure an evaluation with a cache of its own; the file of its predictions is not there yet."""
    write_config(
        folder,
        models={"evaluated": endpoint(server, batch=batch)},
        cache=f"sqlite:///{folder}/{life}-{batch}.sqlite",
        families={"uraq": URAQ},
    )
    path = folder / "out" / "predictions" / "uraq-evaluated.jsonl"
    path.unlink(missing_ok=True)
    return path


def test_kills_and_faults_change_no_byte_and_pay_nothing_twice(tmp_path: Path) -> None:
    """Moments of kills are told by the calls that the server has had: by the clock, most would hit a start."""
    rules = write_config(tmp_path, families={"uraq": URAQ})
    assert touchstone("run", rules, "--out", "out", folder=tmp_path).returncode == 0
    command = ("evaluate", "uraq", "--out", "out")
    kills, life, moments = 0, 0, random.Random(21)
    with BatchServer(answer=said, model="loopback") as server:
        path = predictions_of(tmp_path, server, life, batch=False)
        assert touchstone(*command, folder=tmp_path).returncode == 0
        expected = path.read_bytes()
    while kills < KILLS:
        life += 1
        with BatchServer(answer=said, model="loopback", batch_faults=replace(FAULTS, seed=life), batch_s=0.2) as server:
            path = predictions_of(tmp_path, server, life, batch=True)
            for _ in range(KILLS_OF_AN_EVALUATION):
                reached, delay_s = len(server.calls) + moments.randint(1, 9), moments.uniform(0, 0.05)

                def now(reached: int = reached, delay_s: float = delay_s, server: BatchServer = server) -> bool:
                    if len(server.calls) < reached:
                        return False
                    time.sleep(delay_s)
                    return True

                kills += killed(*command, folder=tmp_path, when=now)
            done = touchstone(*command, folder=tmp_path)
            assert done.returncode == 0, done.stdout + done.stderr
            assert path.read_bytes() == expected, f"life {life}, after {kills} kills"
            assert server.answered_twice == [], f"life {life}, after {kills} kills"
            print(f"life {life}: {kills} kills, {len(server.calls)} calls, {len(server.batches)} batches")
        assert not list((tmp_path / ".touchstone" / "batches").glob("*/batch.json"))


def test_an_evaluation_in_batches_writes_the_same_bytes(tmp_path: Path) -> None:
    rules = write_config(tmp_path, families={"uraq": URAQ})
    assert touchstone("run", rules, "--out", "out", folder=tmp_path).returncode == 0
    with BatchServer(answer=said, model="loopback") as server:
        written = []
        for batch in (False, True):
            path = predictions_of(tmp_path, server, 0, batch=batch)
            done = touchstone("evaluate", "uraq", "--out", "out", folder=tmp_path)
            assert done.returncode == 0, done.stdout + done.stderr
            written.append(path.read_bytes())
        assert written[0] == written[1]
        assert len(server.batches) == 1
