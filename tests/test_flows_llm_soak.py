"""A short share of `make soak`: an endpoint with every fault."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_beside_an_endpoint_with_every_fault_memory_stays_and_nothing_is_lost() -> None:
    command = [sys.executable, "-m", "tests.soak", "--minutes", "0.3", "--at-once", "64"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "nothing is lost, and nothing twice" in made.stdout
