"""Private rows are proved with the public version beside them, and what cannot be proved is said."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.publish.folder import read_release
from flows.release.private_verification import private_rows, prove_private, proved_in_words
from flows.release.verification import unproved
from schemas.errors import WrongInput
from tests.builds import touchstone, write_config
from tests.saying import OURS, SECRET, build, contents, decide, released
from tests.test_flows_release_verification import Nothing

WORDS = [f"word{n}" for n in range(20)]

pytestmark = pytest.mark.usefixtures("saying")


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """The private rows of a version; the verifier of `echoes` reads `words`, which are not released."""
    project = build(tmp_path, WORDS, WORDS, release={"held_out": 0.4})
    decide(project, "words", dict.fromkeys(WORDS, "accept"))
    made = released(build(tmp_path, WORDS, WORDS, release={"held_out": 0.4}))
    return made.folder.parent / "private" / made.version


def faults(folder: Path) -> list[str]:
    version = private_rows(folder)
    assert version is not None
    return list(prove_private(version, Nothing()))


def said(folder: Path) -> list[str]:
    version = private_rows(folder)
    assert version is not None
    return list(proved_in_words(version))


def rewritten(path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    table = pq.read_table(path)
    pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), table.schema), path)


def test_both_sides_are_proved_together(private: Path) -> None:
    public = read_release(private.parent.parent / private.name)
    assert unproved(public) == {"saying-echoes": ("words",)}
    assert not (public.folder / "proof").exists()
    assert faults(private) == []
    counts = {config.name: (config.held_out, config.rows) for config in public.manifest.configs}
    assert counts["saying-once"][0] > 0
    for line in said(private):
        held_out, rows = counts[line.partition(":")[0]]
        assert line.partition(": ")[2] == (
            f"{held_out} private rows: number, columns, keys, canary and ids are right, none is public; "
            f"what they claim is proved, beside {rows} public rows"
        )
    assert len(said(private)) == len([config for config in public.manifest.configs if config.held_out])


def test_a_public_row_is_proved_by_what_lies_with_the_private_ones(private: Path) -> None:
    path = private / "proof" / "data" / "saying-words" / "test.parquet"
    ids = {row["id"] for row in pq.read_table(path).to_pylist()}
    assert len(ids) == len(WORDS)
    rewritten(path, lambda rows: rows[1:])
    assert faults(private) != []


def test_what_is_changed_in_the_private_rows_is_a_fault(private: Path) -> None:
    path = private / "data" / "saying-once" / "test.parquet"
    rows = pq.read_table(path).to_pylist()
    whole = path.read_bytes()

    def fault(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> str:
        path.write_bytes(whole)
        rewritten(path, change)
        return "\n".join(faults(private))

    count = len(rows)
    assert f"saying-once: {count - 1} private rows, expected {count}" in fault(lambda rows: rows[1:])
    assert f"key {rows[0]['key']} stands in the private rows twice" in fault(lambda rows: [rows[0], rows[0], *rows[2:]])
    assert "saying-once: canary 'x', expected" in fault(lambda rows: [{**rows[0], "canary": "x"}, *rows[1:]])
    assert "does not match the content" in fault(lambda rows: [{**rows[0], "echo": "ELSE"}, *rows[1:]])
    public = private.parent.parent / private.name / "data" / "saying-once" / "test.parquet"
    (first, *_) = pq.read_table(public).to_pylist()
    assert f"key {first['key']} is private and public" in fault(lambda rows: [first, *rows[1:]])
    path.write_bytes(whole)
    (private / "notes.txt").write_text("mine")
    assert faults(private) == ["notes.txt: belongs to no configuration that has private rows"]


def test_without_the_rows_that_verifiers_read_it_says_what_is_not_proved(private: Path) -> None:
    shutil.rmtree(private / "proof")
    assert faults(private) == []
    (echoes,) = [line for line in said(private) if line.startswith("saying-once")]
    assert "not proved is what they claim: that takes words, which" in echoes
    (lines,) = [line for line in said(private) if line.startswith("saying-lines")]
    assert "what they claim is proved" in lines


def test_without_the_public_version_nothing_is_proved(private: Path) -> None:
    shutil.rmtree(private.parent.parent / private.name)
    with pytest.raises(WrongInput, match="nothing is proved: private rows are proved with their public version"):
        private_rows(private)


def test_other_folders_are_no_private_rows(private: Path, tmp_path: Path) -> None:
    assert private_rows(private.parent.parent / private.name) is None
    assert private_rows(tmp_path / "private" / "1.0.0") is None


@pytest.mark.slow
def test_the_command_says_what_it_proved(tmp_path: Path) -> None:
    uraq = {"statements": 20, "context_counts": [1, 3]}
    write_config(tmp_path, families={"uraq": uraq}, release={"licence": "Apache-2.0", "held_out": 0.4})
    for command in (("run", "config.yaml"), ("release",)):
        done = touchstone(*command, folder=tmp_path, **{SECRET: OURS})
        assert done.returncode == 0, done.stdout + done.stderr
    before = contents(tmp_path / "out" / "releases")
    done = touchstone("verify", "release", "out/releases/private/1.0.0", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("what they claim is proved, beside ") == 2
    assert done.stdout.splitlines()[-1].endswith(" private rows, 0 faults")
    assert contents(tmp_path / "out" / "releases") == before
    (tmp_path / "out" / "releases" / "private" / "1.0.0" / "data" / "uraq-items" / "test.parquet").unlink()
    done = touchstone("verify", "release", "out/releases/private/1.0.0", folder=tmp_path)
    assert (done.returncode, "uraq-items: 0 private rows, expected" in done.stdout) == (1, True)
