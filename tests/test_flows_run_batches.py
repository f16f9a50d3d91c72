"""Builds and evaluations in batches, by the command line."""

import json
from pathlib import Path

import pytest

from tests.batch_server import BatchServer
from tests.builds import begun, bytes_of, scribed, served, touchstone, wait_for, write_config

pytestmark = pytest.mark.slow

URAQ = {"statements": 20, "context_counts": [1]}


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


def test_an_evaluation_in_batches_writes_the_same_bytes(tmp_path: Path) -> None:
    rules = write_config(tmp_path, families={"uraq": URAQ})
    assert touchstone("run", rules, "--out", "out", folder=tmp_path).returncode == 0
    with BatchServer(answer=lambda messages: messages[-1]["content"][-20:] or "?", model="loopback") as server:
        written = []
        for batch in (False, True):
            models = {"evaluated": endpoint(server, batch=batch)}
            write_config(tmp_path, models=models, cache=f"sqlite:///{tmp_path}/{batch}.sqlite", families={"uraq": URAQ})
            done = touchstone("evaluate", "uraq", "--out", "out", folder=tmp_path)
            assert done.returncode == 0, done.stdout + done.stderr
            written.append((tmp_path / "out" / "predictions" / "uraq-evaluated.jsonl").read_bytes())
            server.clear()
        assert written[0] == written[1]
        assert len(server.batches) == 1
