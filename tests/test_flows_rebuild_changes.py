"""What a rebuild counts as changed, and when it stops."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from data.whole_file import Unwritable
from flows.project.settings import Config, ScheduleSettings
from flows.rebuild import steps
from flows.rebuild.changes import (
    NO_BUILD,
    REBUILT,
    REBUILT_BEFORE,
    Incomplete,
    Rebuilt,
    Rows,
    RowStates,
    drift,
    note_rows,
    rows_before,
    stages_before,
    too_many,
)
from schemas.errors import Conflicts, Failed
from schemas.manifest import BuildManifest


def rows(**parts: dict[str, str]) -> Rows:
    return {f"uraq-{name}": RowStates.of(states.items()) for name, states in parts.items()}


OLD = {"a": "1 x", "b": "2 x", "c": "3 x"}
BEFORE = rows(items=OLD, evaluation={"d": "4"})
NOW = rows(items={"e": "5 x", "a": "1 x", "b": "2 y"}, evaluation={"d": "4"})


def config(most: int | None) -> Config:
    return Config(name="a", families={}, schedule=ScheduleSettings(max_changed_items=most))


def test_rows_are_told_by_key_and_counted_by_part() -> None:
    # b is seen otherwise, c is gone, e is new; the evaluation is as it was.
    (one,) = drift(BEFORE, NOW)
    assert (one.part, *map(list, (one.added, one.changed, one.removed))) == ("uraq-items", [0xE], [0xB], [0xC])
    assert str(one) == "uraq-items: 1 added, 1 changed, 1 removed"
    assert drift(NOW, NOW) == ()


def test_a_part_that_is_new_or_gone_counts_whole() -> None:
    assert [one.total for one in drift({}, NOW)] == [1, 3]
    assert [str(one) for one in drift(NOW, {})] == ["uraq-evaluation: 1 removed", "uraq-items: 3 removed"]


def test_the_limit_is_what_may_still_change() -> None:
    differing = drift(BEFORE, NOW)
    assert too_many(config(3), differing) is None
    assert too_many(config(None), differing) is None
    assert too_many(config(2), differing) == (
        "rows that differ from the last rebuild: 3 (uraq-items: 1 added, 1 changed, 1 removed), and "
        "schedule.max_changed_items allows 2"
    )
    assert too_many(config(0), ()) is None


def test_the_rows_of_the_last_rebuild_lie_beside_the_build(tmp_path: Path) -> None:
    assert rows_before(tmp_path) is None
    note_rows(tmp_path, NOW, ["uraq/items/prescreen-0", "uraq/evaluation/arrange_contexts-1"])
    assert drift(rows_before(tmp_path) or {}, NOW) == ()
    assert stages_before(tmp_path) == ("uraq/items/prescreen-0", "uraq/evaluation/arrange_contexts-1")
    (tmp_path / REBUILT).write_text("PAR1")
    with pytest.raises(Failed, match=r"\.rebuilt\.parquet: damaged; remove it"):
        rows_before(tmp_path)


def test_the_rows_that_an_earlier_version_noted_are_read(tmp_path: Path) -> None:
    noted = tmp_path / REBUILT_BEFORE
    noted.write_text(json.dumps({"parts": {"uraq-items": OLD, "uraq-evaluation": {"d": "4"}}}))
    before = rows_before(tmp_path)
    assert before is not None
    assert drift(before, BEFORE) == ()
    assert [str(one) for one in drift(before, NOW)] == ["uraq-items: 1 added, 1 changed, 1 removed"]
    assert stages_before(tmp_path) is None
    note_rows(tmp_path, NOW, ())
    assert not noted.exists()
    assert drift(rows_before(tmp_path) or {}, NOW) == ()
    (tmp_path / REBUILT).unlink()
    noted.write_text('{"parts": 3}')
    with pytest.raises(Failed, match=r"\.rebuilt\.json: damaged; remove it"):
        rows_before(tmp_path)


def test_what_could_not_be_done_is_said_at_the_end_with_what_was() -> None:
    built = BuildManifest(name="a", seed=1, limit=None, config={}, versions={}, models={}, prompts={}, parts=())
    error = Incomplete(Rebuilt(built, (), NO_BUILD, missed=["nothing was pulled: it is down"]))
    assert str(error) == "nothing was pulled: it is down; all else is done: see to that, then rebuild again"
    assert pickle.loads(pickle.dumps(error)).rebuilt == error.rebuilt


def test_a_rebuild_goes_on_without_people_but_not_on_a_disk_that_cannot_keep_their_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(steps, "connect_configured", lambda project: SimpleNamespace(close=lambda: None))
    project: Any = SimpleNamespace(out=tmp_path)
    built = BuildManifest(name="a", seed=1, limit=None, config={}, versions={}, models={}, prompts={}, parts=())

    def missed(error: Exception) -> list[str]:
        def pull(out: str) -> None:
            raise error

        own: Any = SimpleNamespace(pull=pull)
        done = Rebuilt(built, (), NO_BUILD)
        assert steps._people(own, project, built, None, done) is built
        return done.missed

    assert missed(Failed("it is down")) == ["nothing was pulled from people and nothing handed out: it is down"]
    with pytest.raises(Unwritable):
        missed(Unwritable("hours.csv: cannot be written"))


def test_conflicts_are_the_same_in_another_process() -> None:
    error = Conflicts("version 1.1.0 is due", ["README.md: one", "README.md: two"])
    assert error.problems == (
        "version 1.1.0 is due; see to what follows, then run again", "README.md: one", "README.md: two"
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(error)).problems == error.problems
