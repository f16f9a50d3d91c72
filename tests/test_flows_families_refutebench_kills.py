"""Dialogues that were broken off by a kill go on at their turn: the same bytes, and no message paid for twice."""

import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.builds import bytes_of, killed, scribed, served, touchstone, wait_for, write_config
from tests.chat_server import ChatServer, Faults
from tests.test_flows_families_refutebench_faults import sample_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

PER_TASK = 5
CONCURRENCY = 8
KILLS_OF_A_BUILD = 5
"""Kills that one build goes through before it is let to its end."""
LATENCY_S = (0.01, 0.04)
"""So that a turn takes its time, and a kill finds dialogues at all of them."""


def kept(store: Path) -> int:
    """How many answers reached the cache."""
    path = store / "completions.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as cache:
        try:
            return int(cache.execute("SELECT COUNT(*) FROM completions").fetchone()[0])
        except sqlite3.OperationalError:  # killed before there was a table
            return 0


async def test_kills_at_random_moments_change_no_byte_and_pay_for_nothing_twice(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    kills = int(pytestconfig.getoption("--kills"))
    families = {"refutebench": sample_settings(PER_TASK)}
    rules = write_config(tmp_path / "rules", store=str(tmp_path / "rules" / "store"), families=families)
    table = await scribed(rules, tmp_path / "rules" / "out")
    with ChatServer(served(table), model="loopback", faults=Faults(latency_s=LATENCY_S)) as server:
        model = {"provider": "endpoint", "name": "loopback", "base_url": server.url, "concurrency": CONCURRENCY}
        whole, broken = tmp_path / "whole", tmp_path / "broken"
        write_config(whole, store="store", model=model, families=families)
        done = touchstone("run", "config.yaml", "--out", "out", folder=whole, fork=False)
        assert done.returncode == 0, done.stdout + done.stderr
        expected = bytes_of(whole / "out")
        assert len(expected) == 12
        total = len(server.answered)
        asked = {request.hash for request in server.answered}
        assert asked >= set(table)  # beside it stands what the rules have no refutation for
        moments = random.Random(70)
        for start in range(0, kills, KILLS_OF_A_BUILD):
            store = broken / f"store-{start}"
            write_config(broken, store=store.name, model=model, families=families)
            server.clear()
            lost = 0
            for reached in sorted(moments.sample(range(total), min(KILLS_OF_A_BUILD, kills - start))):
                delay_s = moments.uniform(0, 0.02)

                def now(reached: int = reached, delay_s: float = delay_s) -> bool:
                    if len(server.requests) < reached:
                        return False
                    time.sleep(delay_s)
                    return True

                was_killed = killed("run", "config.yaml", "--out", "out", folder=broken, when=now)
                assert was_killed, f"{reached} of {total} messages came too late"
                wait_for(lambda: not server.running)
                # Answers that were on their way when the process died, and reached nobody.
                before, lost = lost, len(server.answered) - kept(store)
                print(f"killed at {reached} of {total}: {lost - before} answers lost")
                assert 0 <= lost - before <= CONCURRENCY
            done = touchstone("run", "config.yaml", "--out", "out", folder=broken)
            assert done.returncode == 0, done.stdout + done.stderr
            assert bytes_of(broken / "out") == expected, f"after kill {start + KILLS_OF_A_BUILD}"
            assert {request.hash for request in server.answered} == asked
            assert len(server.answered) == total + lost
