"""A sixth family: one folder and one schema file, copied in, go the whole line with no other file edited."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from annotation.label_studio.sync import projects_of, tasks_of
from tests.builds import ROOT, TOUCHSTONE, share_vectors
from tests.fork_server import ADDRESS, Forks, run_forked
from tests.label_studio import Served

PACKAGES = ("schemas", "data", "annotation", "flows")
PEOPLE = {"a1": "anna@example.org", "a2": "ben@example.org"}
STATEMENTS = (
    "The Eiffel Tower was completed in 1889.",
    "The first modern Olympic Games were held in Athens in 1896.",
    "Marie Curie was born in Warsaw in 1867.",
    "The Suez Canal opened in 1869.",
    "A year has twelve months.",
)


class Checkout:
    """The product with the family copied in, a folder to work in, and a process that forks this product's commands."""

    def __init__(self, folder: Path, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        self.code, self.folder = folder / "code", folder / "work"
        for package in PACKAGES:
            shutil.copytree(ROOT / package, self.code / package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "tests" / "new_family", self.code, dirs_exist_ok=True)
        self.folder.mkdir()
        monkeypatch.setenv("PYTHONPATH", str(self.code))
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setenv(ADDRESS, "")  # that of the tests' own product is there again afterwards
        self.forks = Forks()
        lines = (json.dumps({"id": text[:20], "text": text}) for text in STATEMENTS)
        (self.folder / "statements.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        source = {
            "format": "jsonl", "path": "statements.jsonl", "fields": {"id": "id", "text": "text"}, "licence": "CC0-1.0",
        }  # fmt: skip
        config = {
            "name": "years", "seed": 7, "families": {"misdate": {"sources": [source]}},
            "annotation": {"people": PEOPLE, "gold_share": 0}, "store": str(server.folder.parent),
        }  # fmt: skip
        (self.folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
        share_vectors(server.folder.parent)

    def touchstone(self, *arguments: str) -> str:
        """Run a command, which succeeds; its output."""
        return self._output(run_forked([str(TOUCHSTONE), *arguments], self.folder, os.environ, timeout=300))

    def proposed(self, data: str) -> dict[str, Any]:
        """The families that `touchstone new` writes for some data."""
        self.touchstone("new", data)
        written = self.folder / "touchstone.yaml"
        families: dict[str, Any] = yaml.safe_load(written.read_text(encoding="utf-8"))["families"]
        written.unlink()
        return families

    def edit(self, path: Path, old: str, new: str) -> None:
        """Change the product's code; the next command runs the new code."""
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
        self.forks.stop()
        self.forks = Forks()

    def scorer(self, *arguments: str) -> str:
        """Run a Python file in an isolated process, which succeeds; its output."""
        command = [sys.executable, "-I", *arguments]
        return self._output(subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False))

    def _output(self, done: subprocess.CompletedProcess[str]) -> str:
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def checkout(tmp_path: Path, label_studio: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path, label_studio, monkeypatch)
    yield checkout
    checkout.forks.stop()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_family_is_one_folder_and_one_schema_file(checkout: Checkout, label_studio: Served) -> None:
    # It proposes itself for statements, and for those of a family that comes before it.
    source = {"format": "jsonl", "path": "statements.jsonl", "fields": {"id": "id", "text": "text"}}
    assert checkout.proposed("statements.jsonl") == {"misdate": {"sources": [source]}}
    proposed = checkout.proposed(str(checkout.code / "data" / "samples" / "documents"))
    assert [*proposed][-1] == "misdate", "after the family whose part it reads"
    assert proposed["misdate"] == {"sources": [{"part": "documents-statements"}]}

    built = checkout.touchstone("run", "config.yaml", "--out", "out")
    assert "not one year" in built
    assert "In which year does this fall" in checkout.touchstone("show", "misdate-items", "--sample", "2")

    # Review, by the people who are named, on a real server.
    checkout.touchstone("annotate", "push")
    client = label_studio.client
    accounts = client.users()
    for queue, info in projects_of(client, "years").items():
        for row in tasks_of(client, info):
            result = [
                {"from_name": "answers", "to_name": "shown-context", "type": "choices", "value": {"choices": ["yes"]}}
            ]
            person = PEOPLE[queue.rpartition("/")[2]]
            content = {"result": result, "completed_by": accounts[person], "lead_time": 20.0}
            client._request("POST", f"api/tasks/{row['id']}/annotations/", json=content)
    checkout.touchstone("annotate", "pull")
    verdicts = (checkout.folder / "out" / "verdicts" / "misdate-items.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["decision"] for line in verdicts.splitlines()] == ["accept"] * 4
    checkout.touchstone("run", "config.yaml", "--out", "out")

    # Release, card, verification.
    checkout.touchstone("release")
    (release,) = (checkout.folder / "out" / "releases").glob("*.*.*")
    card = (release / "README.md").read_text(encoding="utf-8")
    assert "Misdated: Years That Contexts Change" in card
    assert "@misc{misdate," in card
    assert "misdate-items" in card
    assert "4" in checkout.touchstone("verify", "misdate")
    checkout.touchstone("verify", "release", str(release))

    # Evaluation: the rules answer by the context, so every reply is right.
    evaluated = checkout.touchstone("evaluate", "misdate", "--model", "default")
    assert "accuracy" in evaluated
    predictions = checkout.folder / "out" / "predictions" / "misdate-default.jsonl"
    data = release / "data" / "misdate-items" / "test.parquet"
    shipped = checkout.scorer(str(release / "scorers" / "misdate.py"), str(predictions), str(data))
    assert shipped.splitlines()[1].split("\t")[2:] == ["accuracy", "1.0", "4"]
    assert (release / "scorers" / "touchstone-misdate-items.yaml").is_file()
    assert "answer_original" in checkout.touchstone("schema", "misdate-items")
    assert "misdate" in checkout.touchstone("explain", json.loads(verdicts.splitlines()[0])["key"])

    # What a model is scored by and asked decides whether scores are comparable; comments in it do not.
    code = checkout.code / "flows" / "families" / "misdate"
    said = checkout.touchstone("release")
    assert "the card has the scores of rules on 4 of 4 rows of misdate" in said
    assert "version 1.0.1" in said
    card = (release.parent / "1.0.1" / "README.md").read_text(encoding="utf-8")
    assert "`accuracy`: share of replies that hold the context's year" in card
    assert "| 1.000 |" in card
    checkout.edit(code / "score.py", "\ndef score(", "\n# Every reply counts once.\ndef score(")
    said = checkout.touchstone("release")
    assert "version 1.0.2" in said
    assert "A patch of `1.0.1`: scores are comparable with those on it." in said
    checkout.edit(code / "score.py", 'float(row["answer"] in', 'float(row["answer"] ==')
    said = checkout.touchstone("release")
    assert "version 2.0.0" in said
    assert "A major change of `1.0.2`: no score is comparable with those on it." in said
    (prompt,) = (code / "prompts").glob("answer*.j2")
    checkout.edit(prompt, "{% block user %}", "{% block user %}\nRead with care.\n")
    assert "version 3.0.0" in checkout.touchstone("release")
    changelog = (release.parent / "3.0.0" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "- A model is asked in another way: no score is comparable. See `touchstone-misdate-items" in changelog
    assert "- The scorer changed: no score is comparable." in changelog
