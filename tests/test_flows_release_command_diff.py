"""`touchstone diff`: what differs, on the screen and as a file; wrong folders in one line."""

from pathlib import Path

from schemas.release import Change
from tests.builds import touchstone
from tests.releases import note, release


def test_the_difference_of_two_folders(tmp_path: Path) -> None:
    release(tmp_path / "a", {"toy": [note("1", "one"), note("2", "two")]})
    release(tmp_path / "b", {"toy": [note("1", "uno"), note("2", "two"), note("3", "three")]}, version="1.1.0")
    done = touchstone("diff", tmp_path / "a", tmp_path / "b", "--output", tmp_path / "changes.jsonl", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("## 1.1.0\n\nA minor change of `1.0.0`")
    assert "| `toy` | 1 | 1 | 0 | 1 |" in done.stdout
    assert '`text`: `"one"` became `"uno"`' in done.stdout
    assert done.stdout.endswith("The rule makes this version 1.1.0.\n")
    lines = (tmp_path / "changes.jsonl").read_text().splitlines()
    assert {(one.key, one.change) for one in map(Change.model_validate_json, lines)} == {
        ("1", "changed"),
        ("3", "added"),
    }


def test_nothing_differs(tmp_path: Path) -> None:
    release(tmp_path / "a", {"toy": [note("1", "one")]})
    done = touchstone("diff", tmp_path / "a", tmp_path / "a", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout == "## 1.0.0\n\nNothing differs from `1.0.0`.\n\n1 configuration without a difference.\n"


def test_wrong_folders_are_one_line(tmp_path: Path) -> None:
    made = release(tmp_path / "a", {"toy": [note("1", "one")]})
    done = touchstone("diff", tmp_path / "none", tmp_path / "a", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"touchstone: {tmp_path / 'none'}: has no manifest.json")
    release(tmp_path / "b", {"toy": [note("1", "uno")]})
    (tmp_path / "b" / "data" / "toy" / "test.parquet").unlink()
    done = touchstone("diff", made.folder, tmp_path / "b", folder=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "test.parquet: cannot be read" in done.stderr


def test_help_has_an_example(tmp_path: Path) -> None:
    said = touchstone("diff", "--help", folder=tmp_path).stdout
    assert "Example: touchstone diff releases/1.0.0 releases/1.1.0" in said
