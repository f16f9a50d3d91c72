"""`touchstone diff`: what differs, on the screen and as a file; wrong folders in one line."""

import shutil
from pathlib import Path

from data.publish.folder import write_manifest
from schemas.release import Change
from tests.releases import note, release
from tests.test_flows_cli import Outcome


def test_the_difference_of_two_folders(tmp_path: Path) -> None:
    release(tmp_path / "a", {"toy": [note("1", "one"), note("2", "two")]})
    release(tmp_path / "b", {"toy": [note("1", "uno"), note("2", "two"), note("3", "three")]}, version="1.1.0")
    done = Outcome("diff", f"{tmp_path}/a", f"{tmp_path}/b", "--output", f"{tmp_path}/changes.jsonl")
    assert done.code == 0
    assert done.output.startswith("## 1.1.0\n\nA minor change of `1.0.0`")
    assert "| `toy` | 1 | 1 | 0 | 0 | 1 | 1 of 2 |" in done.output
    assert '`text`: `"one"` became `"uno"`' in done.output
    assert done.output.endswith("The rule makes this version 1.1.0.\n")
    lines = (tmp_path / "changes.jsonl").read_text().splitlines()
    assert {(change.key, change.change) for change in map(Change.model_validate_json, lines)} == {
        ("1", "changed"),
        ("3", "added"),
    }


def test_nothing_differs(tmp_path: Path) -> None:
    release(tmp_path / "a", {"toy": [note("1", "one")]})
    done = Outcome("diff", f"{tmp_path}/a", f"{tmp_path}/a")
    assert done.code == 0
    assert done.output == "## 1.0.0\n\nNothing differs from `1.0.0`.\n\n1 configuration without a difference.\n"


def test_wrong_folders_are_one_line(tmp_path: Path) -> None:
    made = release(tmp_path / "a", {"toy": [note("1", "one")]})
    done = Outcome("diff", f"{tmp_path}/none", f"{tmp_path}/a")
    assert (done.code, done.output) == (2, "")
    assert str(done.error).startswith(f"{tmp_path / 'none'}: no such folder")
    release(tmp_path / "b", {"toy": [note("1", "uno")]})
    (tmp_path / "b" / "data" / "toy" / "test.parquet").unlink()
    done = Outcome("diff", str(made.folder), f"{tmp_path}/b")
    assert done.code == 1
    assert len(str(done.error).splitlines()) == 1
    assert f"{tmp_path}/b: data/toy/test.parquet: missing" in str(done.error)


def test_a_damaged_version_is_not_compared(tmp_path: Path) -> None:
    made = release(tmp_path / "a", {"toy": [note("1", "one")]})
    shutil.copytree(made.folder, tmp_path / "b")
    place = tmp_path / "b" / "data" / "toy" / "test.parquet"
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)
    for first, second in (("a", "b"), ("b", "a")):
        done = Outcome("diff", f"{tmp_path}/{first}", f"{tmp_path}/{second}")
        assert (done.code, done.output) == (1, "")
        assert str(done.error).startswith(f"{tmp_path}/b: data/toy/test.parquet: SHA-256 ")
    place.unlink()
    place.symlink_to("/dev/zero")
    done = Outcome("diff", f"{tmp_path}/a", f"{tmp_path}/b")
    assert done.code == 2
    assert str(done.error).startswith(f"{place}: expected a file, found a device")


def test_a_manifest_of_strangers_neither_runs_in_a_terminal_nor_ends_in_an_unexpected_error(tmp_path: Path) -> None:
    made = release(tmp_path / "1.0.0", {"toy": [note("a", "one")]}, version="1.0.0\x1b[2J")
    assert Outcome("diff", str(made.folder), str(made.folder)).output.startswith("## 1.0.0\\x1b[2J\n")
    write_manifest(made.folder, made.manifest.model_copy(update={"settings": {"embedder": 5}}))
    done = Outcome("verify", "release", str(made.folder))
    assert done.code == 2
    assert f"{made.folder}/manifest.json: settings.embedder: whole: Input should be" in str(done.error)
