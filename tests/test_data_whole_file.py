"""Files appear whole, whoever else writes them; what killed runs leave behind goes."""

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from data.store import Store
from data.whole_file import explaining, rename_folder, whole_file, write_whole
from flows.project.locks import building, one_stage
from schemas.errors import Failed

TIMES = 200


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_often(path: Path, letter: bytes) -> None:
    for _ in range(TIMES):
        write_whole(path, letter * 10_000)


def test_two_processes_that_write_one_file_leave_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    processes = [
        multiprocessing.get_context("fork").Process(target=write_often, args=(path, one)) for one in (b"a", b"b")
    ]
    for process in processes:
        process.start()
    seen = set()
    while any(process.is_alive() for process in processes):
        if path.exists():
            seen.add(path.read_bytes())
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert seen <= {b"a" * 10_000, b"b" * 10_000}
    assert names_in(tmp_path) == ["file"]


def test_what_a_killed_run_left_behind_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "file.tmp").write_bytes(b"half of something longer")
    write_whole(tmp_path / "file", b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert names_in(tmp_path) == ["file"]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"before")
    with pytest.raises(UnicodeEncodeError), whole_file(tmp_path / "file") as text:
        text.write("half \ud800")
    assert (tmp_path / "file").read_bytes() == b"before"
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_not_written_to(tmp_path: Path, kind: str) -> None:
    (tmp_path / "other").write_bytes(b"theirs")
    left = tmp_path / "file.tmp"
    {"link": lambda: left.symlink_to("other"), "pipe": lambda: os.mkfifo(left), "folder": left.mkdir}[kind]()
    with pytest.raises(Failed, match=rf"^{left}: is in the way of a file of that name; remove it"):
        write_whole(tmp_path / "file", b"ours")
    assert (tmp_path / "other").read_bytes() == b"theirs"


def test_folders_above_a_file_are_made(tmp_path: Path) -> None:
    write_whole(tmp_path / "one" / "two" / "file", b"whole")
    assert (tmp_path / "one" / "two" / "file").read_bytes() == b"whole"


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "No space left on device; .* MB are free there"), (errno.EIO, "Input/output error"),
     (errno.EROFS, "Read-only file system")],
)  # fmt: skip
def test_an_error_of_the_disk_names_the_file(tmp_path: Path, number: int, said: str) -> None:
    path = tmp_path / "file"
    with pytest.raises(Failed, match=rf"^{path}: cannot be written \({said}\); .*, then run again$"), explaining(path):
        raise OSError(number, "as a library words it")


def test_a_folder_takes_its_name_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "draft" / "data").mkdir(parents=True)
    (tmp_path / "draft" / "data" / "rows").write_bytes(b"rows")
    assert rename_folder(tmp_path / "draft", tmp_path / "1.0.0") == tmp_path / "1.0.0"
    assert (tmp_path / "1.0.0" / "data" / "rows").read_bytes() == b"rows"


def test_a_store_is_swept_of_what_is_not_kept(tmp_path: Path) -> None:
    for name in ("kept.json", "left.json.tmp"):
        (tmp_path / name).touch()
    store = Store(str(tmp_path))
    store.sweep(str(tmp_path), lambda name: name.endswith(".json"))
    store.sweep(str(tmp_path / "missing"), lambda name: False)
    assert names_in(tmp_path) == ["kept.json"]


def test_a_build_removes_the_locks_of_killed_builds_alone(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "stage-left.lock").touch()
    with one_stage(tmp_path, "held", lambda by: None), building(tmp_path):
        assert names_in(tmp_path / "locks") == ["stage-held.lock"]
