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
    rows = [{"text": f"Snow {day}.", "day": day} for day in (None, "", " ", "2024/1/5")]
    path = written(tmp_path / "a.jsonl", *rows)
    assert [one.date for one in read(path, Statement, fields={"date": "day"})] == [None, None, None, "2024-01-05"]


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


@pytest.mark.parametrize("stated", ["31.01.2024", "2024", "2024-02-30", 20240131])
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
