"""Locks between processes: who comes second to an output folder, or to people's work, waits."""

import os
import re
import socket
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from flows.project import locks
from flows.project.locks import building, no_build, one_output, one_writer
from schemas.errors import Failed

HERE = rf"`.*`, process {os.getpid()} on {re.escape(socket.gethostname())}"


def test_one_output_folder_is_written_by_one_at_a_time_and_the_other_says_so(tmp_path: Path) -> None:
    written: list[str] = []
    said: list[str] = []

    def write() -> None:
        with one_output(tmp_path / "state", tmp_path / "out", said.append):
            written.append("second")

    second = threading.Thread(target=write)
    with one_output(tmp_path / "state", tmp_path / "out"), one_output(tmp_path / "state", tmp_path / "elsewhere"):
        second.start()
        second.join(0.2)
        written.append("first")
    second.join()
    assert written == ["first", "second"]
    assert re.fullmatch(f"{tmp_path}/out: waiting for {HERE}, which writes or reads the files there", *said)


def test_a_writer_waits_for_another_and_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOOK_EVERY_S", 0.01)
    said: list[str] = []
    with ExitStack() as other:
        other.enter_context(one_writer(tmp_path, pytest.fail))

        def tell(line: str) -> None:
            said.append(line)
            other.close()

        with one_writer(tmp_path, tell):
            (line,) = said
            lock = f"{tmp_path}/annotate.lock"
            assert re.fullmatch(rf"{lock}: another push or pull is at work here; waiting for it \({HERE}\)", line)


def test_a_writer_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(locks, "WAIT_S", 0.05)
    said: list[str] = []
    refused = pytest.raises(Failed, match=rf"another push or pull is at work here; wait for it, or stop it \({HERE}\)")
    with one_writer(tmp_path, pytest.fail), refused, one_writer(tmp_path, said.append):
        pass
    assert len(said) == 1
    with one_writer(tmp_path, pytest.fail):
        pass


def test_who_is_refused_is_told_by_whom_but_for_those_who_share(tmp_path: Path) -> None:
    with no_build(tmp_path), pytest.raises(Failed, match=rf"gc` is running here; .* \({HERE}\)"), building(tmp_path):
        pass
    with building(tmp_path), pytest.raises(Failed, match=r"a build is running here; .* \(another process\)"):
        no_build(tmp_path).__enter__()
