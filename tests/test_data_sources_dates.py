"""The dates of rows in tables: a column that `fields` names, and what an error says of one that holds none."""

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from data.sources import SourceError, SourceSpec, check_source, read_source
from schemas.source import Assignment, Dialogue, Passage, QASource, Statement

ROWS: dict[type, dict[str, Any]] = {
    Statement: {"text": "Snow is white."},
    QASource: {"question": "Who?", "answers": "Lee", "evidence": "Lee did."},
    Passage: {"text": "Lee did."},
    Dialogue: {"history": ["Hello.", "Hi.", "Who?"], "knowledge": "Lee did.", "response": "Lee."},
    Assignment: {"headline": "Rain falls"},
}
CONFLICT = {
    "question": "Can fish fly?", "ground_truth": ["False"], "memory_answer": "No.", "parametric_memory": "Fins.",
    "counter_answer": "Yes.", "counter_memory": "Wings.",
}  # fmt: skip


def spec_of(path: Path, format_: str = "jsonl", **more: Any) -> SourceSpec:
    return SourceSpec.model_validate({"format": format_, "path": str(path), **more})


def read(path: Path, shape: Any, format_: str = "jsonl", **more: Any) -> list[Any]:
    return list(read_source(spec_of(path, format_, **more), shape, lambda dropped: None))


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def error(path: Path, shape: Any, format_: str = "jsonl", **more: Any) -> str:
    with pytest.raises(SourceError) as raised:
        read(path, shape, format_, **more)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("shape", ROWS)
def test_a_row_has_the_date_in_the_column_that_is_named_and_no_name_of_it_has(tmp_path: Path, shape: type) -> None:
    row = ROWS[shape] | {"seen": "2024-01-31T10:00Z", "date": "last week"}
    path = written(tmp_path / "a.jsonl", row)
    (plain,), (dated,) = read(path, shape), read(path, shape, fields={"date": "seen"})
    assert (plain.date, dated.date) == (None, "2024-01-31"), "a column is no date because of its name"
    assert (dated.id, dated.key) == (plain.id, plain.key)
    assert "date" not in json.loads(plain.model_dump_json())


def test_a_row_may_have_no_date(tmp_path: Path) -> None:
    rows = [{"text": f"Snow {day}.", "day": day} for day in (None, "", " ", "2024-01-05")]
    path = written(tmp_path / "a.jsonl", *rows, {"text": "Snow."})
    assert [one.date for one in read(path, Statement, fields={"date": "day"})] == [None] * 3 + ["2024-01-05", None]


def test_csv_and_parquet_state_dates_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,day\nSnow is white.,2024-01-31\nRain is wet.,\n", encoding="utf-8")
    assert [one.date for one in read(tmp_path / "a.csv", Statement, "csv", fields={"date": "day"})] == [
        "2024-01-31", None,
    ]  # fmt: skip
    for number, day in enumerate((datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 23, 59))):
        path = tmp_path / f"{number}.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"text": ["Snow is white."], "day": [day]}), path)
        assert [one.date for one in read(path, Statement, "parquet", fields={"date": "day"})] == ["2024-01-31"]


def test_formats_that_know_their_fields_take_a_column_with_the_date_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", CONFLICT | {"asked": "2023-05-01"})
    assert [one.date for one in read(path, QASource, "conflictqa", fields={"date": "asked"})] == ["2023-05-01"]
    told = "format conflictqa takes no fields but date; leave the others out"
    assert told in error(path, QASource, "conflictqa", fields={"date": "asked", "title": "question"})
    with pytest.raises(SourceError, match='expected a field "day", found none'):
        check_source(spec_of(path, "conflictqa", fields={"date": "day"}), QASource)
    assert "format squad takes no fields" in error(path, QASource, "squad", fields={"date": "asked"})


@pytest.mark.parametrize("time", ["", " 9:30", "T10:00:00.5+01:00", "t10:00Z", " 10:00:00 UTC"])
def test_a_day_is_written_in_one_way_with_or_without_a_time(tmp_path: Path, time: str) -> None:
    path = written(tmp_path / "a.jsonl", {"text": "Snow.", "day": f" 2024-01-31{time} "})
    assert [one.date for one in read(path, Statement, fields={"date": "day"})] == ["2024-01-31"]


OUT_OF_RANGE = [
    pyarrow.array([0, 10**15], pyarrow.timestamp("s")),
    pyarrow.array([0, 10**15], pyarrow.timestamp("ms", tz="UTC")),
    pyarrow.array([0, 2**30], pyarrow.int32()).cast(pyarrow.date32()),
    pyarrow.array([0, 10**18], pyarrow.duration("s")),
    pyarrow.array([[0], [10**15]], pyarrow.list_(pyarrow.timestamp("s"))),
]


@pytest.mark.parametrize("column", OUT_OF_RANGE, ids=[str(column.type) for column in OUT_OF_RANGE])
def test_a_day_that_no_calendar_has_is_told_if_its_column_is_named(tmp_path: Path, column: Any) -> None:
    path = tmp_path / "a.parquet"
    table = {"text": ["Snow is white.", "Rain is wet."], "day": ["2024-01-31"] * 2, "seen": column}
    pyarrow.parquet.write_table(pyarrow.table(table), path)
    assert [one.date for one in read(path, Statement, "parquet", fields={"date": "day"})] == ["2024-01-31"] * 2
    last = tmp_path / "b.parquet"
    pyarrow.parquet.write_table(pyarrow.table(table)[1:], last)
    told = error(last, Statement, "parquet", fields={"date": "seen"})
    assert f'{last}: row 1: expected field "seen" to be a day, found OutOfRange ' in told
    assert "outside the years 1 to 9999; write it as 2024-01-31" in told
    assert 'expected field "seen" to be a string, found OutOfRange' in error(
        last, Statement, "parquet", fields={"text": "seen"}
    )


NO_DAYS = [
    "31.01.2024", "2024", "2024-02-30", 20240131, "20240131", "1710011234567", "2024123", "2024-01-31abc", "2024-1-31",
    "2024/01/31", "2024-01-311",
]  # fmt: skip


@pytest.mark.parametrize("stated", NO_DAYS)
def test_what_is_no_day_is_told_with_its_row_and_what_to_write(tmp_path: Path, stated: object) -> None:
    path = written(tmp_path / "a.jsonl", {"text": "Snow.", "day": "2024-01-31"}, {"text": "Rain.", "day": stated})
    told = error(path, Statement, fields={"date": "day"})
    assert told == (
        f'{path}: line 2: expected field "day" to be a day, found {type(stated).__name__} {stated!r}; '
        "write it as 2024-01-31, with or without a time, or leave it empty"
    )
    assert str(stated) not in error(path, Statement, fields={"date": "day"}, private=True)


def test_a_column_that_is_not_there_is_told_before_a_build(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", ROWS[QASource] | {"day": "2024-01-31"})
    with pytest.raises(SourceError, match='expected a field "days", found question, answers, evidence, day') as raised:
        check_source(spec_of(path, fields={"date": "days"}), QASource)
    assert "say which are meant, as in fields: {date: day}" in str(raised.value)
