"""A build killed at any moment and started again ends in the same bytes."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.builds import TOUCHSTONE, bytes_of, killed, stage_files, touchstone, wait_for, write_config

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.usefixtures("embedded_prefect")]

URAQ = {"statements": 120, "context_counts": [1, 10, 25, 50, 100]}
"""As in the packaged sample."""


def servers_of(process: subprocess.Popen[str]) -> list[str]:
    """The process ids of the build's servers."""
    listing = ["ps", "-ww", "-eo", "pid=,ppid=,args="]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [pid for pid, parent, args in rows if parent == str(process.pid) and "uvicorn" in args]


def is_gone(pid: str) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False).stdout
    return not state.strip() or state.startswith("Z")


@pytest.mark.parametrize("whole_group", [False, True])
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_build_that_is_told_to_stop_says_so_and_leaves_nothing_running(
    tmp_path: Path, stop: signal.Signals, whole_group: bool
) -> None:
    """Ctrl-C on a terminal and `timeout` tell the whole group."""
    write_config(tmp_path, families={"uraq": {"statements": 1000}})
    process = subprocess.Popen(
        [TOUCHSTONE, "run", "config.yaml", "--out", "out"], cwd=tmp_path, env={**os.environ},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    wait_for(lambda: stage_files(tmp_path / ".touchstone") > 3, 120)
    (server,) = servers_of(process)
    if whole_group:
        os.killpg(process.pid, stop)
    else:
        process.send_signal(stop)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "touchstone: stopped; run the same command again to go on from here\n"
    left = subprocess.run(["ps", "-eo", "pgid="], capture_output=True, text=True, check=True).stdout.split()
    assert str(process.pid) not in left
    assert is_gone(server)


def test_a_killed_build_leaves_no_server_running(tmp_path: Path) -> None:
    write_config(tmp_path, families={"uraq": {"statements": 1000}})
    narrow = {**os.environ, "COLUMNS": "80"}  # ps cuts its lines to it
    process = subprocess.Popen(
        [TOUCHSTONE, "run", "config.yaml", "--out", "out"], cwd=tmp_path, env=narrow,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    wait_for(lambda: servers_of(process), 120)
    (server,) = servers_of(process)
    wait_for(lambda: stage_files(tmp_path / ".touchstone") > 3, 120)
    process.kill()
    process.wait()
    wait_for(lambda: is_gone(server), 60)


def test_kills_at_random_moments_change_no_byte(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    kills = int(pytestconfig.getoption("--kills"))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    write_config(whole, embeds=True, families={"uraq": URAQ})
    done = touchstone("run", "config.yaml", "--out", "out", folder=whole, fork=False)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = bytes_of(whole / "out")
    assert len(expected) == 12
    total = stage_files(whole / ".touchstone")
    moments = random.Random(20)
    for number in range(kills):
        store = broken / f"store-{number}"
        write_config(broken, embeds=number % 5 == 0, store=store.name, families={"uraq": URAQ})
        # Moments are told by what is written: by the clock, most kills of a quick build would hit its start.
        reached, delay_s = moments.randrange(total), moments.uniform(0, 0.3)

        def now(store: Path = store, reached: int = reached, delay_s: float = delay_s) -> bool:
            if stage_files(store) < reached:
                return False
            time.sleep(delay_s)
            return True

        was_killed = killed("run", "config.yaml", "--out", "out", folder=broken, when=now)
        print(f"kill {number + 1}: {'after' if was_killed else 'too late for'} {reached} of {total} files")
        done = touchstone("run", "config.yaml", "--out", "out", folder=broken)
        assert done.returncode == 0, done.stdout + done.stderr
        assert bytes_of(broken / "out") == expected, f"after kill {number + 1}"
