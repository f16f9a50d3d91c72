"""The hours that people worked."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from flows.annotate.hours import Hours, hours_of, write_hours
from flows.annotate.pull import write_lines
from schemas.annotation import Annotation, Excluded


def work(by: str, at: str, seconds: float, rubric: str = "words", **more: Any) -> Annotation:
    return Annotation(task=f"{by} {at}", rubric=rubric, by=by, at=at, seconds=seconds, **more)


def test_hours_are_by_person_week_and_form() -> None:
    annotations = [
        work("a2", "2026-12-28T08:00:00+00:00", 90),
        work("a1", "2027-01-04T00:59:00+01:00", 3000),  # Sunday in UTC: still the last week of 2026
        work("a1", "2026-12-28T00:00:00Z", 600, cancelled=True),
        work("a1", "2027-01-04T00:00:00Z", 36),
        work("a1", "2027-01-04T00:00:00Z", 7200, "words-review"),
    ]
    assert list(hours_of(annotations)) == [
        Hours("a1", "2026-W53", "words", 2, 1.0, 50.0),
        Hours("a1", "2027-W01", "words", 1, 0.01, 0.6),
        Hours("a1", "2027-W01", "words-review", 1, 2.0, 120.0),
        Hours("a2", "2026-W53", "words", 1, 0.03, 1.5),
    ]
    assert list(hours_of(reversed(annotations))) == list(hours_of(annotations))


def test_the_file_has_the_work_of_all_forms_that_were_pulled(tmp_path: Path) -> None:
    project: Any = SimpleNamespace(out=tmp_path)
    write_lines(project, "annotations/words.jsonl", [work("a1", "2026-11-26T10:00:00Z", 1800)])
    write_lines(project, "annotations/words-apart.jsonl", [Excluded(key="k", by="a1", reason="unknown option")])
    write_lines(project, "annotations/older.jsonl", [work("a1", "2026-11-25T10:00:00Z", 900, "older")])
    (tmp_path / "annotations" / "notes.jsonl").write_text('{"mine": 1}\n{"torn', encoding="utf-8")
    write_hours(project)
    assert (tmp_path / "annotations" / "hours.csv").read_text(encoding="utf-8").splitlines() == [
        "person,week,form,submissions,hours,longest_minutes",
        "a1,2026-W48,older,1,0.25,15.0",
        "a1,2026-W48,words,1,0.5,30.0",
    ]
