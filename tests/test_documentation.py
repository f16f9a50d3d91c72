"""The documentation is run: the commands of every page in a `sh` block, what they print, and every `--help` example."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from annotation.label_studio import server
from flows import cli
from flows.prefect_server.embedded import API, KEY
from flows.project.settings import DEFAULT
from tests import configuration_reference
from tests.builds import ROOT, TOUCHSTONE, share_vectors
from tests.fork_server import READ_AT_IMPORT, run_forked
from tests.label_studio import copy_seed
from tests.prefect_server import with_database

COMMANDS = ("new", "run", "batches", "estimate", "show", "explain", "verify", "evaluate", "profile", "results", "score",
            "metric", "schema", "doctor", "release", "diff", "rebuild", "gc",
            "label-studio up", "annotate push", "annotate pull", "annotate status", "label-studio down")  # fmt: skip
ENDLESS = ("annotate listen", "serve")
"""They go on until they are stopped."""
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "flows" / "families").glob("*/README.md")))
LONGEST_README = 150
WIDTH = "110"
"""Columns of the terminal that the README's output was printed on."""
ELLIPSIS = "..."
"""A line of the README's output in place of some that are left out."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    lines = [line.split("#")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("export")]


RUN = [page for page in PAGES if commands(page)]


def reader(folder: Path, columns: str) -> dict[str, str]:
    """The environment of a reader with a new account."""
    return {"PATH": f"{TOUCHSTONE.parent}:/usr/bin:/bin", "HOME": str(folder), "COLUMNS": columns}


def sh(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a page: the program as a fork that uses the tests' Prefect server, anything else in a shell."""
    environment = reader(folder, "200")
    program, *arguments = shlex.split(command)
    if program != TOUCHSTONE.name:
        return subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    kept = {name: value for name, value in os.environ.items() if name.startswith((API, KEY, *READ_AT_IMPORT))}
    return run_forked([str(TOUCHSTONE), *arguments], folder, {**kept, **environment}, timeout=600)


@pytest.fixture(scope="module")
def first_run() -> list[str]:
    """What the fixture `folder` fills: the lines that `touchstone run` printed there."""
    return []


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, label_studio_seed: Path, prefect_database: Path, first_run: list[str]
) -> Iterator[Path]:
    """A folder as the README's reader has it: the clone's samples, the sample built, and Label Studio installed."""
    folder = tmp_path_factory.mktemp("readme")
    state = folder / ".touchstone"
    share_vectors(state)
    with_database(state / "prefect", prefect_database)
    copy_seed(label_studio_seed, state / "label-studio")
    shutil.copytree(ROOT / "data" / "samples", folder / "data" / "samples")
    shutil.copy(ROOT / "data" / "samples" / "sample.yaml", folder / "my.yaml")
    done = subprocess.run(
        [TOUCHSTONE, "run"], cwd=folder, env=reader(folder, WIDTH), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first_run += done.stdout.splitlines()
    yield folder
    server.down(state / "label-studio")


@pytest.mark.slow
def test_the_readme_shows_what_a_run_prints(folder: Path, first_run: list[str]) -> None:
    """Up to times, and to what `...` leaves out."""

    def timeless(line: str) -> str:
        return re.sub(r"\d+(\.\d+)? s\b|\s[\d.]+$", "", line.rstrip()).rstrip()

    shown = "".join(blocks(README, "text"))
    assert shown
    printed = [timeless(line) for line in first_run]
    for line in shown.splitlines():
        if line.strip() and line.strip() != ELLIPSIS:
            assert timeless(line) in printed, line


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=name)
def test_every_command_of_a_page_works(folder: Path, page: Path) -> None:
    (folder / DEFAULT).unlink(missing_ok=True)
    for command in commands(page):
        done = sh(command, folder)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.slow
def test_the_verdict_of_the_page_is_applied(folder: Path) -> None:
    shutil.copy(ROOT / "data" / "samples" / "sample.yaml", folder / "my.yaml")
    (verdict,) = blocks(ROOT / "docs" / "annotate.md", "json")
    path = folder / "out" / "verdicts" / "uraq-items.jsonl"
    path.parent.mkdir(exist_ok=True)
    before = path.read_text() if path.exists() else ""
    try:
        path.write_text(before + verdict)
        done = sh("touchstone run my.yaml --out out", folder)
        assert "1 dropped: rejected by people" in done.stdout, done.stdout + done.stderr
        told = sh(f"touchstone explain {json.loads(verdict)['key']}", folder).stdout
        assert json.loads(verdict)["comment"] in told
        assert "Candide" in told, "it is the item that the README shows"
    finally:
        path.write_text(before)
        assert sh("touchstone run my.yaml --out out", folder).returncode == 0


@pytest.mark.slow
def test_every_help_example_works(folder: Path) -> None:
    (folder / DEFAULT).unlink(missing_ok=True)
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
        if command == "new":  # what it wrote would be the configuration of all that name none
            (folder / DEFAULT).unlink()
        if command == "run":  # its example is a pilot; the others read the whole build
            sh("touchstone run my.yaml --out out", folder)


def test_every_command_has_help_with_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    for command in (*COMMANDS, *ENDLESS):
        text = CliRunner().invoke(cli.app, [*command.split(), "--help"]).stdout
        assert re.search(r"Example:\s*touchstone " + command, text), command


def test_the_readme_names_the_two_commands() -> None:
    text = README.read_text(encoding="utf-8")
    assert "make run" in text
    assert "make test" in text


def test_the_readme_is_short_and_leads_to_every_page() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_README
    for page in PAGES[1:]:
        assert f"({name(page)})" in text, f"README.md has no link to {name(page)}"


def test_every_family_has_a_page_whose_commands_are_run() -> None:
    families = {path.parent for path in (ROOT / "flows" / "families").glob("*/method.py")}
    families |= {path.parent for path in (ROOT / "flows" / "families").glob("*/verify.py")}
    assert sum(len(commands(page)) for page in RUN) > 40
    assert families == {page.parent for page in RUN if page.parent.parent.name == "families"}


def anchors(page: Path) -> set[str]:
    """Where a link into the page can lead, as GitHub names headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_yaml_blocks_are_yaml(page: Path) -> None:
    for block in blocks(page, "yaml"):
        assert isinstance(yaml.safe_load(block), dict), block


def test_the_configuration_reference_is_current() -> None:
    written = configuration_reference.PAGE.read_text(encoding="utf-8")
    assert written == configuration_reference.page(), "run `python -m tests.configuration_reference`"
