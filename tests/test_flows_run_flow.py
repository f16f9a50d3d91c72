"""Against a real Prefect server: what a build shows there, what a kill leaves, and a scheduled run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.builds import TOUCHSTONE, bytes_of, touchstone, wait_for, write_config
from tests.prefect_server import flow_runs, served, with_database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

URAQ = {"statements": 15, "context_counts": [1, 3]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, prefect_database: Path) -> Iterator[str]:
    """The API of a `prefect server start` with a home of its own."""
    with served(with_database(tmp_path_factory.mktemp("prefect"), prefect_database)) as api:
        yield api


def test_a_build_shows_its_stages_and_tables(server: str, tmp_path: Path) -> None:
    config = write_config(tmp_path, families={"uraq": URAQ})
    done = touchstone("run", config, "--out", "out", folder=tmp_path, PREFECT_API_URL=server)
    assert done.returncode == 0, done.stdout + done.stderr
    assert flow_runs(server)[0]["state_type"] == "COMPLETED"
    artifacts = httpx.post(f"{server}/artifacts/filter", json={"limit": 100}, timeout=10).json()
    tables = {one["key"] for one in artifacts if one["type"] == "table"}
    bars = {one["key"]: one["data"] for one in artifacts if one["type"] == "progress"}
    assert {"uraq-items-ask-question-counts", "uraq-evaluation-arrange-contexts-counts"} <= tables
    assert bars["uraq-items-ask-question-progress"] == 100.0
    secrets = [value for name, value in os.environ.items() if name.endswith("_KEY") and value]
    assert not any(secret in str(artifacts) for secret in secrets)


def test_what_a_kill_left_running_is_marked_crashed(server: str, tmp_path: Path) -> None:
    config = write_config(tmp_path, families={"uraq": {**URAQ, "statements": 200}})
    before = {run["id"] for run in flow_runs(server)}
    process = subprocess.Popen(
        [TOUCHSTONE, "run", config, "--out", "out"], cwd=tmp_path, env={**os.environ, "PREFECT_API_URL": server},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: any(run["id"] not in before and run["state_type"] == "RUNNING" for run in flow_runs(server)))
    process.kill()
    process.wait()
    left = [run for run in flow_runs(server) if run["state_type"] == "RUNNING"]
    assert len(left) == 1
    done = touchstone("run", config, "--out", "out", folder=tmp_path, PREFECT_API_URL=server)
    assert done.returncode == 0, done.stdout + done.stderr
    states = {run["id"]: run["state_type"] for run in flow_runs(server)}
    assert states[left[0]["id"]] == "CRASHED"
    assert "RUNNING" not in states.values()


def test_a_scheduled_run_happens(server: str, tmp_path: Path) -> None:
    """The versions that make Prefect's scheduler fail fail silently: one run on schedule is the proof."""
    config = write_config(tmp_path, families={"uraq": {**URAQ, "parts": ["statements"]}})
    code = (
        "from datetime import timedelta\n"
        "from flows.run.flow import build\n"
        f"build.serve(name='often', interval=timedelta(seconds=30), parameters={{'config': {str(config)!r}, "
        f"'out': {str(tmp_path / 'out')!r}}})\n"
    )
    log = (tmp_path / "serve.log").open("w")
    serving = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PREFECT_API_URL": server},
        stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        wait_for(
            lambda: any(run["auto_scheduled"] and run["state_type"] == "COMPLETED" for run in flow_runs(server)),
            180,
        )
    finally:
        serving.terminate()
        serving.wait(30)
    assert (tmp_path / "out" / "manifest.json").exists()


def test_dask_workers_make_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("prefect_dask", reason="the dask extra is not installed")
    for runner in ("threads", "dask"):
        config = write_config(tmp_path / runner, runner=runner, families={"uraq": URAQ})
        done = touchstone("run", config, "--out", "out", folder=tmp_path / runner)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
    assert bytes_of(tmp_path / "threads" / "out") == bytes_of(tmp_path / "dask" / "out")


@pytest.mark.usefixtures("embedded_prefect")
def test_without_a_server_a_build_is_quiet(tmp_path: Path) -> None:
    config = write_config(tmp_path, families={"uraq": URAQ})
    done = touchstone("run", config, "--out", "out", folder=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    for noise in ("prefect", "INFO", "WARNING", "Traceback", "127.0.0.1"):
        assert noise not in done.stdout, done.stdout
    second = touchstone("run", config, "--out", "out", folder=tmp_path)
    assert second.stdout.count("done before") == 9
