"""Locks between processes: who comes second to an output folder waits."""

import threading
from pathlib import Path

from flows.project.locks import one_output


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
