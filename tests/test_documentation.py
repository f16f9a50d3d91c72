"""The documentation is run: every README command in a `sh` block, and every `--help` example."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation.label_studio import server

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ("run", "estimate", "show", "explain", "verify", "evaluate", "score", "metric", "schema", "doctor",
            "release", "diff", "label-studio up", "annotate push", "annotate pull", "annotate status",
            "label-studio down")  # fmt: skip
ENDLESS = ("annotate listen",)
"""They go on until they are stopped."""
TOUCHSTONE = Path(sys.executable).parent / "touchstone"


def readme_commands() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("export")]


def sh(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{TOUCHSTONE.parent}:/usr/bin:/bin"
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env={"PATH": path, "HOME": str(folder), "COLUMNS": "200"},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, label_studio_seed: Path) -> Iterator[Path]:
    """A folder as the README's reader has it: the clone's samples, the sample built, and Label Studio installed."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / ".touchstone" / "label-studio").mkdir(parents=True)
    (folder / ".touchstone" / "label-studio" / "env").symlink_to(label_studio_seed / "env")
    shutil.copytree(ROOT / "data" / "samples", folder / "data" / "samples")
    done = sh("touchstone run", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    yield folder
    server.down(folder / ".touchstone" / "label-studio")


@pytest.mark.slow
def test_every_readme_command_works(folder: Path) -> None:
    commands = readme_commands()
    assert len(commands) > 10
    for command in commands:
        done = sh(command, folder)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.slow
def test_every_help_example_works(folder: Path) -> None:
    shutil.copy(ROOT / "data" / "samples" / "sample.yaml", folder / "my.yaml")
    sh("touchstone run my.yaml --out out", folder)
    (folder / "rows.jsonl").write_text('{"id": "1", "prediction": "a", "answers": ["a"]}\n')
    import pyarrow.parquet as pq

    some_id = pq.read_table(folder / "out" / "accepted" / "uraq-items.parquet")["id"][0].as_py()
    evaluated = sh("touchstone evaluate uraq --model evaluated", folder)
    assert evaluated.returncode == 0, evaluated.stderr
    shutil.copy(folder / "out" / "predictions" / "uraq-evaluated.jsonl", folder / "predictions.jsonl")
    for command in COMMANDS:
        text = sh(f"touchstone {command} --help", folder).stdout
        examples = re.findall(r"Example:\s*(touchstone [^│\n]*)", text)
        assert examples, f"{command} --help has no example"
        for example in examples:
            done = sh(example.strip().replace("0a1b2c3d4e5f6071", some_id), folder)
            assert done.returncode == 0, f"{example}\n{done.stdout}{done.stderr}"
        if command == "release":  # the next one compares with a later version
            assert sh("touchstone release --to releases --version 1.1.0", folder).returncode == 0
        if command == "run":  # its example is a pilot; the others read the whole build
            sh("touchstone run my.yaml --out out", folder)


def test_every_command_has_help_with_an_example() -> None:
    for command in (*COMMANDS, *ENDLESS):
        text = sh(f"touchstone {command} --help", ROOT).stdout
        assert re.search(r"Example:\s*touchstone " + command, text), command


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text
