"""The documentation is run: every README command in a `sh` block, and every `--help` example."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation.label_studio import server
from tests.builds import ROOT, TOUCHSTONE, share_vectors
from tests.label_studio import copy_seed
from tests.prefect_server import with_database

COMMANDS = ("run", "estimate", "show", "explain", "verify", "evaluate", "score", "metric", "schema", "doctor",
            "release", "diff", "rebuild", "gc",
            "label-studio up", "annotate push", "annotate pull", "annotate status", "label-studio down")  # fmt: skip
ENDLESS = ("annotate listen", "serve")
"""They go on until they are stopped."""


def readme_commands() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("export")]


def sh(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{TOUCHSTONE.parent}:/usr/bin:/bin"
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=600,
        env={"PATH": path, "HOME": str(folder), "COLUMNS": "200", **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, label_studio_seed: Path, prefect_database: Path) -> Iterator[Path]:
    """A folder as the README's reader has it: the clone's samples, the sample built, and Label Studio installed."""
    folder = tmp_path_factory.mktemp("readme")
    state = folder / ".touchstone"
    share_vectors(state)
    with_database(state / "prefect", prefect_database)
    copy_seed(label_studio_seed, state / "label-studio")
    shutil.copytree(ROOT / "data" / "samples", folder / "data" / "samples")
    done = sh("touchstone run", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    yield folder
    server.down(state / "label-studio")


@pytest.mark.slow
def test_every_readme_command_works(folder: Path) -> None:
    commands = readme_commands()
    assert len(commands) > 10
    for command in commands:
        done = sh(command, folder)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.slow
def test_every_help_example_works(folder: Path) -> None:
    def run(command: str) -> subprocess.CompletedProcess[str]:
        return sh(command, folder, PREFECT_API_URL=os.environ["PREFECT_API_URL"])

    shutil.copy(ROOT / "data" / "samples" / "sample.yaml", folder / "my.yaml")
    run("touchstone run my.yaml --out out")
    (folder / "rows.jsonl").write_text('{"id": "1", "prediction": "a", "answers": ["a"]}\n')
    import pyarrow.parquet as pq

    some_id = pq.read_table(folder / "out" / "accepted" / "uraq-items.parquet")["id"][0].as_py()
    evaluated = run("touchstone evaluate uraq --model evaluated")
    assert evaluated.returncode == 0, evaluated.stderr
    shutil.copy(folder / "out" / "predictions" / "uraq-evaluated.jsonl", folder / "predictions.jsonl")
    for command in COMMANDS:
        text = run(f"touchstone {command} --help").stdout
        examples = re.findall(r"Example:\s*(touchstone [^│\n]*)", text)
        assert examples, f"{command} --help has no example"
        for example in examples:
            done = run(example.strip().replace("0a1b2c3d4e5f6071", some_id))
            assert done.returncode == 0, f"{example}\n{done.stdout}{done.stderr}"
        if command == "release":  # the next one compares with a later version
            assert run("touchstone release --to releases --version 1.1.0").returncode == 0
        if command == "run":  # its example is a pilot; the others read the whole build
            run("touchstone run my.yaml --out out")


def test_every_command_has_help_with_an_example() -> None:
    for command in (*COMMANDS, *ENDLESS):
        text = sh(f"touchstone {command} --help", ROOT).stdout
        assert re.search(r"Example:\s*touchstone " + command, text), command


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text
