"""A sample of the scenarios of `make faults`: whatever operation on files fails, the next run ends as if none had."""

import re
import subprocess
import sys

import pytest

from tests.builds import ROOT
from tests.faults.interposed import Operation

SHARES = {
    "build": 0.003, "next build": 0.002, "evaluate": 0.004, "release": 0.002,
    "next release": 0.002, "publish": 0.001, "push": 0.05, "pull": 0.03, "rebuild": 0.0005,
    "evaluate in batches": 0.002,
}  # fmt: skip
"""Of each command's scenarios."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scene", SHARES)
def test_whatever_fails_the_next_run_ends_as_if_nothing_had(scene: str) -> None:
    command = [sys.executable, "-m", "tests.faults", "--scene", scene, "--share", str(SHARES[scene]), "--workers", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.match(r".*: (\d+) operations, (\d+) scenarios; (\d+) scenarios run", done.stdout)
    assert counts is not None, done.stdout
    operations, scenarios, run = map(int, counts.groups())
    assert scenarios > 3 * operations
    assert run == round(scenarios * SHARES[scene]) > 4


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_of_two_commands_at_once_one_waits_and_says_so() -> None:
    pair = ["--pair", "a build and a release", "--workers", "1", "--share", "0.003"]
    command = [sys.executable, "-m", "tests.faults.at_once", *pair]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"[1-9] waited, .* [1-9] named the other", done.stdout.replace("(", " ")), done.stdout


def test_an_operation_meets_the_faults_that_it_can() -> None:
    assert "torn" in Operation(1, "write", 2, "/file").kinds
    assert "torn" not in Operation(1, "write", 1, "/file").kinds
    assert "full" not in Operation(1, "unlink", 0, "/file").kinds


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_whatever_file_is_damaged_it_is_made_again_or_told() -> None:
    command = [sys.executable, "-m", "tests.faults.damage", "--share", "0.01", "--workers", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d\d+ scenarios, 0 of them wrong$", done.stdout, re.MULTILINE), done.stdout
