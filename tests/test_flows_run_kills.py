"""A build killed at any moment and started again ends in the same bytes."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.builds import begun, bytes_of, killed, stage_files, touchstone, wait_for, write_config
from tests.fork_server import Forked
from tests.prefect_server import with_database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

URAQ = {"statements": 120, "context_counts": [1, 10, 25, 50, 100]}
"""As in the packaged sample."""
KILLS_OF_A_BUILD = 5
"""Kills that one build goes through before it is let to its end."""


def servers_of(process: Forked) -> list[str]:
    """The process ids of the build's servers."""
    listing = ["ps", "-ww", "-eo", "pid=,ppid=,args="]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [pid for pid, parent, args in rows if parent == str(process.pid) and "uvicorn" in args]


def is_gone(pid: str) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False).stdout
    return not state.strip() or state.startswith("Z")


@pytest.mark.usefixtures("embedded_prefect")
@pytest.mark.parametrize(
    ("stop", "whole_group"), [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGTERM, True)]
)
def test_a_build_that_is_told_to_stop_says_so_and_leaves_nothing_running(
    tmp_path: Path, stop: signal.Signals, whole_group: bool
) -> None:
    """Ctrl-C on a terminal and `timeout` tell the whole group."""
    write_config(tmp_path, families={"uraq": {"statements": 1000}})
    process = begun("run", "config.yaml", "--out", "out", folder=tmp_path, err=tmp_path / "stderr")
    wait_for(lambda: stage_files(tmp_path / ".touchstone") > 3, 120)
    (server,) = servers_of(process)
    if whole_group:
        os.killpg(process.pid, stop)
    else:
        process.send_signal(stop)
    assert process.wait(60) == 130
    assert (tmp_path / "stderr").read_text() == (
        "stopping ... (again to stop at once; what is finished is kept)\n"
        "touchstone: stopped; run the same command again to go on from here\n"
    )
    left = subprocess.run(["ps", "-eo", "pgid="], capture_output=True, text=True, check=True).stdout.split()
    assert str(process.pid) not in left
    assert is_gone(server)


@pytest.mark.usefixtures("embedded_prefect")
def test_a_killed_build_leaves_no_server_running(tmp_path: Path) -> None:
    write_config(tmp_path, families={"uraq": {"statements": 1000}})
    narrow = {"COLUMNS": "80"}  # ps cuts its lines to it
    process = begun("run", "config.yaml", "--out", "out", folder=tmp_path, **narrow)
    wait_for(lambda: servers_of(process), 120)
    (server,) = servers_of(process)
    wait_for(lambda: stage_files(tmp_path / ".touchstone") > 3, 120)
    process.kill()
    wait_for(lambda: is_gone(server), 60)


def test_kills_at_random_moments_change_no_byte(
    tmp_path: Path, prefect_database: Path, pytestconfig: pytest.Config
) -> None:
    """The first run of a build that is killed, and the last, have a Prefect server of their own; the others share one.

    Moments are told by what is written: by the clock, most kills of a quick build would hit its start.
    """
    kills = int(pytestconfig.getoption("--kills"))
    own = {"PREFECT_API_URL": "", "PREFECT_HOME": str(with_database(tmp_path / "prefect", prefect_database))}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    write_config(whole, families={"uraq": URAQ})
    command = ("run", "config.yaml", "--out", "out")
    done = touchstone(*command, folder=whole, fork=False)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = bytes_of(whole / "out")
    assert len(expected) == 12
    total = stage_files(whole / ".touchstone")
    moments = random.Random(20)
    for first in range(0, kills, KILLS_OF_A_BUILD):
        store = broken / f"store-{first}"
        computes = first == KILLS_OF_A_BUILD  # in the soak, one build computes the vectors: that takes a minute
        write_config(broken, embeds=computes, store=store.name, families={"uraq": URAQ})
        number = min(KILLS_OF_A_BUILD, kills - first)
        for reached in sorted(moments.sample(range(total), number)):
            delay_s = moments.uniform(0, 0.3)

            def now(store: Path = store, reached: int = reached, delay_s: float = delay_s) -> bool:
                if stage_files(store) < reached:
                    return False
                time.sleep(delay_s)
                return True

            environment = {} if stage_files(store) else own
            was_killed = killed(*command, folder=broken, when=now, **environment)
            print(f"{'killed after' if was_killed else 'too late for'} {reached} of {total} files")
        done = touchstone(*command, folder=broken, **own)
        assert done.returncode == 0, done.stdout + done.stderr
        assert bytes_of(broken / "out") == expected, f"after kill {first + number}"
