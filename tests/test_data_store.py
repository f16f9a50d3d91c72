"""Stage files and output files: whole or not there."""

import errno
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from data import parquet
from data.parquet import write_parquet
from data.stage_files import ShardWriter, Stage, StageFiles
from data.store import Store, StoreError
from schemas.base import Dropped
from schemas.errors import Failed
from schemas.manifest import StageManifest
from schemas.source import Statement
from schemas.uraq import EvaluationRow
from tests.toy import run_all, toy_build


def statement(number: int) -> Statement:
    return Statement(key=str(number), text=f"Statement {number}.")


def test_a_file_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    store = Store(str(tmp_path))

    def half() -> None:
        with store.writing(f"{tmp_path}/a") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert list(tmp_path.iterdir()) == []
    store.write(f"{tmp_path}/b/c", b"whole")
    assert (tmp_path / "b" / "c").read_bytes() == b"whole"


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path))

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(Failed, match=r"No space left on device.*free space"):
        store.write(f"{tmp_path}/a", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_shard_exists_when_its_manifest_does(tmp_path: Path) -> None:
    files = StageFiles(Store(str(tmp_path)), "f", "p", "s", "0" * 16)
    assert files.shard(0) is None
    with ShardWriter(files, 0) as writer:
        writer.keep(statement(1))
        writer.drop(Dropped(item_id="x", key="k", step="s", reason="r"))
    assert files.shard(0) is None
    made = writer.finish(2, {})
    assert files.shard(0) == made
    assert (made.kept, made.dropped) == (1, {"r": 1})


async def test_a_store_lies_on_any_fsspec_url(tmp_path: Path) -> None:
    local, memory = toy_build(tmp_path, ["ant", "bee"]), toy_build(tmp_path, ["ant", "bee"])
    memory.store = Store("memory://touchstone-test")
    await run_all(local)
    await run_all(memory)
    assert list(memory.accepted("toy", "echoes")) == list(local.accepted("toy", "echoes"))


def test_equal_rows_give_equal_bytes_and_long_parts_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [statement(number).model_dump() for number in range(1000)]
    one = write_parquet(tmp_path / "one", "s", Statement, rows)
    two = write_parquet(tmp_path / "two", "s", Statement, iter(rows))
    assert [file.sha256 for file in one] == [file.sha256 for file in two]
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 4_000)
    monkeypatch.setattr(parquet, "FILE_BYTES", 10_000)
    many = write_parquet(tmp_path / "one", "s", Statement, rows)
    assert len(many) > 3
    assert sum(file.rows for file in many) == 1000
    paths = sorted((tmp_path / "one").iterdir())
    assert [path.name for path in paths] == [f"s-{n:05}-of-{len(many):05}.parquet" for n in range(len(many))]
    assert [row["key"] for path in paths for row in pq.read_table(path).to_pylist()] == [row["key"] for row in rows]


def test_no_rows_make_an_empty_file_with_its_columns(tmp_path: Path) -> None:
    (file,) = write_parquet(tmp_path, "e", EvaluationRow, [])
    table = pq.read_table(tmp_path.parent / tmp_path.name / "e.parquet")
    assert file.rows == len(table) == 0
    assert set(table.column_names) == set(EvaluationRow.model_fields)


async def test_a_damaged_file_of_drops_is_one_line(tmp_path: Path) -> None:
    files = StageFiles(Store(str(tmp_path)), "f", "p", "s", "0" * 16)
    with ShardWriter(files, 0) as writer:
        writer.drop(Dropped(item_id="x", key="k", step="s", reason="r"))
    made = writer.finish(1, {})
    manifest = StageManifest(
        family="f", part="p", step="s", version=1, fingerprint="0" * 16, record="Statement", inputs=(), planned=1,
        kept=0, dropped={"r": 1}, shards=(made,),
    )  # fmt: skip
    path = Path(files.dropped(made))
    path.write_bytes(path.read_bytes()[:10])
    with pytest.raises(StoreError, match="damaged or missing stage file"):
        list(Stage(files, manifest, Statement).dropped())
