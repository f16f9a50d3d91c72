"""A build killed at any moment and started again ends in the same bytes."""

import random
import time
from pathlib import Path

import pytest

from tests.builds import bytes_of, killed, stage_files, touchstone, write_config

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

URAQ = {"statements": 120, "context_counts": [1, 10, 25, 50, 100]}
"""As in the packaged sample."""


def test_kills_at_random_moments_change_no_byte(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    kills = int(pytestconfig.getoption("--kills"))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        write_config(folder, families={"uraq": URAQ})
    done = touchstone("run", "config.yaml", "--out", "out", folder=whole)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = bytes_of(whole / "out")
    assert len(expected) == 12
    total = stage_files(whole / ".touchstone")
    moments = random.Random(20)
    for number in range(kills):
        store = broken / f"store-{number}"
        write_config(broken, store=store.name, families={"uraq": URAQ})
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
