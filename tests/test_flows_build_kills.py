"""A build killed at any moment and started again ends in the same bytes."""

import random
import time
from pathlib import Path

import pytest

from tests.builds import bytes_of, killed, touchstone, write_config

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

URAQ = {"statements": 120, "context_counts": [1, 10, 25, 50, 100]}
"""As in the packaged sample."""


def test_kills_at_random_moments_change_no_byte(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    kills = int(pytestconfig.getoption("--kills"))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        write_config(folder, families={"uraq": URAQ})
    started = time.monotonic()
    done = touchstone("run", "config.yaml", "--out", "out", folder=whole)
    assert done.returncode == 0, done.stdout + done.stderr
    took = time.monotonic() - started
    expected = bytes_of(whole / "out")
    assert len(expected) == 12
    moments = random.Random(20)
    hit = 0
    for number in range(kills):
        store = f"store-{number}"
        write_config(broken, store=store, families={"uraq": URAQ})
        hit += killed("run", "config.yaml", "--out", "out", folder=broken, after_s=moments.uniform(0.3, 1.0) * took)
        done = touchstone("run", "config.yaml", "--out", "out", folder=broken)
        assert done.returncode == 0, done.stdout + done.stderr
        assert bytes_of(broken / "out") == expected, f"after kill {number + 1}"
        assert not list((broken / store).rglob("*.tmp-*.json"))
    assert hit > kills // 2
