"""Against a real Prefect server: what a build shows there, and what a kill leaves."""

import contextlib
import os
import socket
from pathlib import Path

import pytest

from tests.builds import begun, bytes_of, touchstone, wait_for, write_config
from tests.prefect_server import flow_runs, listed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

URAQ = {"statements": 15, "context_counts": [1, 3]}


def test_a_build_shows_its_stages_and_tables(prefect_api: str, tmp_path: Path) -> None:
    config = write_config(tmp_path, families={"uraq": URAQ})
    done = touchstone("run", config, "--out", "out", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    last = flow_runs(prefect_api)[0]
    assert last["state_type"] == "COMPLETED"
    artifacts = listed(prefect_api, "artifacts", artifacts={"flow_run_id": {"any_": [last["id"]]}})
    tables = {artifact["key"] for artifact in artifacts if artifact["type"] == "table"}
    bars = {artifact["key"]: artifact["data"] for artifact in artifacts if artifact["type"] == "progress"}
    assert {"uraq-items-ask-question-counts", "uraq-evaluation-arrange-contexts-counts"} <= tables
    assert bars["uraq-items-ask-question-progress"] == 100.0
    secrets = [value for name, value in os.environ.items() if name.endswith("_KEY") and value]
    assert not any(secret in str(artifacts) for secret in secrets)


def test_what_a_kill_left_running_is_marked_crashed(prefect_api: str, tmp_path: Path) -> None:
    config = write_config(tmp_path, families={"uraq": {**URAQ, "statements": 200}})
    before = {run["id"] for run in flow_runs(prefect_api)}

    def running() -> set[str]:
        return {run["id"] for run in flow_runs(prefect_api) if run["state_type"] == "RUNNING"} - before

    process = begun("run", config, "--out", "out", folder=tmp_path)
    wait_for(running)
    process.kill()
    (left,) = running()
    done = touchstone("run", config, "--out", "out", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    states = {run["id"]: run["state_type"] for run in flow_runs(prefect_api)}
    assert states[left] == "CRASHED"
    assert "RUNNING" not in states.values()


def test_dask_workers_make_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the dask extra is not installed")
    with socket.socket() as of_another_cluster:
        with contextlib.suppress(OSError):  # then there is one
            of_another_cluster.bind(("127.0.0.1", 8787))
            of_another_cluster.listen()
        for runner in ("threads", "dask"):
            config = write_config(tmp_path / runner, runner=runner, families={"uraq": URAQ})
            done = touchstone("run", config, "--out", "out", folder=tmp_path / runner)
            assert done.returncode == 0, done.stdout + done.stderr
            assert done.stderr == ""
    assert bytes_of(tmp_path / "threads" / "out") == bytes_of(tmp_path / "dask" / "out")


@pytest.mark.usefixtures("embedded_prefect")
def test_without_a_server_a_build_is_quiet(prefect_api: str, tmp_path: Path) -> None:
    config = write_config(tmp_path, families={"uraq": URAQ})
    done = touchstone("run", config, "--out", "out", folder=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    for noise in ("prefect", "INFO", "WARNING", "Traceback", "127.0.0.1"):
        assert noise not in done.stdout, done.stdout
    assert "starting the engine" in done.stdout
    before = bytes_of(tmp_path / "out")
    again = touchstone("run", config, "--out", "out", folder=tmp_path)
    assert "starting the engine" not in again.stdout, "nothing is to be run"
    assert again.stdout.count("done before") == 9
    assert bytes_of(tmp_path / "out") == before
    on_a_server = touchstone("run", config, "--out", "out", folder=tmp_path, PREFECT_API_URL=prefect_api)
    assert "starting the engine" in on_a_server.stdout, "the run is to be seen there"
    assert on_a_server.stdout.count("done before") == 9
