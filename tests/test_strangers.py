"""A seeded share of the scenarios of `make strangers`: whatever is sent ends with 0, 1 or 2 and a line."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builds import ROOT
from tests.strangers.__main__ import READ, Scenario, laid, read
from tests.strangers.mutations import mutated
from tests.strangers.samples import Sample, samples


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whatever_strangers_send_it_ends_in_a_line() -> None:
    command = [sys.executable, "-m", "tests.strangers", "--in-process", "--share", "0.1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = {sample.kind for sample in samples()} | {"configuration"}
    counts = dict(re.findall(r"^(\w+) +([\d,]+) ", done.stdout, re.MULTILINE))
    assert counts.keys() == kinds
    assert all(int(count) > 50 for count in counts.values()), done.stdout


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_a_file_as_it_was_is_read(sample: Sample, tmp_path: Path) -> None:
    laid(Scenario(0, sample.kind, sample.name, "", sample.content, sample.families, READ), tmp_path / "work")
    read(tmp_path / "work", sample.name)


def test_scenarios_are_the_same_each_time_and_hardly_any_leaves_a_file_as_it_was() -> None:
    files = samples()
    sent = [mutated(files[number % len(files)], files, random.Random(number)) for number in range(300)]
    assert sent == [mutated(files[number % len(files)], files, random.Random(number)) for number in range(300)]
    assert sum(content == files[number % len(files)].content for number, (_, content) in enumerate(sent)) < 15
