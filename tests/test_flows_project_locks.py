"""Locks between processes: who comes second to an output folder, or to people's work, waits."""

import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from flows.project import locks
from flows.project.locks import one_output, one_writer
from schemas.errors import Failed


def test_one_output_folder_is_written_by_one_at_a_time(tmp_path: Path) -> None:
    written: list[str] = []

    def write() -> None:
        with one_output(tmp_path / "state", tmp_path / "out"):
            written.append("second")

    second = threading.Thread(target=write)
    with one_output(tmp_path / "state", tmp_path / "out"), one_output(tmp_path / "state", tmp_path / "elsewhere"):
        second.start()
        second.join(0.2)
        written.append("first")
    second.join()
    assert written == ["first", "second"]


def test_a_writer_waits_for_another_and_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOOK_EVERY_S", 0.01)
    said: list[str] = []
    with ExitStack() as other:
        other.enter_context(one_writer(tmp_path, pytest.fail))

        def tell(line: str) -> None:
            said.append(line)
            other.close()

        with one_writer(tmp_path, tell):
            assert said == ["another push or pull is at work here; waiting for it"]


def test_a_writer_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(locks, "WAIT_S", 0.05)
    said: list[str] = []
    refused = pytest.raises(Failed, match="another push or pull is at work here; wait for it, or stop")
    with one_writer(tmp_path, pytest.fail), refused, one_writer(tmp_path, said.append):
        pass
    assert len(said) == 1
    with one_writer(tmp_path, pytest.fail):
        pass
