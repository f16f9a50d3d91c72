"""Temporary folders go with their process, or with the next one."""

import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from data.store import Store
from data.temporary_folder import PREFIX, remove_left_folders, temporary_folder
from flows.project.locks import building
from schemas.errors import Failed


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def killed(place: Path) -> Path:
    """Kill a process that has a temporary folder with a file; return the folder."""
    process = os.fork()
    if not process:
        with temporary_folder() as folder:
            (folder / "rows").mkdir()
            (folder / "rows/rows.jsonl").write_text("rows")
            (folder / "complete").touch()
            signal.pause()
    while not (made := [path.parent for path in place.glob("*/complete")]):
        time.sleep(0.01)
    remove_left_folders()
    assert made[0].is_dir(), "it is in use"
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    assert made[0].is_dir()
    return made[0]


def test_a_folder_is_removed_also_after_an_error(place: Path) -> None:
    def fail() -> None:
        with temporary_folder() as folder:
            (folder / "file").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(place.iterdir()) == []


def test_a_folder_that_is_gone_at_the_end_is_no_error(place: Path) -> None:
    with temporary_folder() as folder:
        folder.rmdir()
    assert list(place.iterdir()) == []


def test_where_no_file_can_be_written_only_who_needs_one_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    remove_left_folders()
    with (
        pytest.raises(Failed, match=r"^no folder for temporary files can be written to; .* TMPDIR$"),
        temporary_folder(),
    ):
        pass


def test_the_next_process_removes_those_of_killed_ones_alone(place: Path) -> None:
    elsewhere = place / "elsewhere"
    (elsewhere / "mine").mkdir(parents=True)
    (place / f"{PREFIX}link").symlink_to(elsewhere)
    (place / f"{PREFIX}file").touch()
    others = {*place.iterdir()}
    left = killed(place)
    (left / "borrowed").symlink_to(elsewhere, target_is_directory=True)
    with temporary_folder() as first, temporary_folder() as second:
        assert {*place.iterdir()} == {*others, first, second}
    assert {*place.iterdir()} == others
    assert (elsewhere / "mine").is_dir()


def test_a_build_removes_those_of_killed_processes(place: Path, tmp_path: Path) -> None:
    killed(place)
    with building(tmp_path / "state"):
        assert list(place.iterdir()) == []


def test_an_upload_leaves_none(place: Path) -> None:
    store = Store("memory://temporary-folder")
    store.write(f"{store.root}/a", b"content")
    assert store.read(f"{store.root}/a") == b"content"
    assert list(place.iterdir()) == []
