"""Why rows changed is known from the stages of the last rebuild, whatever was built since."""

import shutil
from pathlib import Path

import pytest

from flows.project.gc import stages_of_build
from flows.project.project import Project
from flows.rebuild.changes import note_rows, rows_of
from flows.rebuild.preview import preview
from flows.rebuild.reasons import GONE, MADE_OF, Reason
from tests.saying import build

pytestmark = pytest.mark.usefixtures("saying")


def reasons(project: Project) -> list[Reason]:
    outlook = preview(project.config_path, project.out, None, None, refresh=False)
    assert outlook.since == "the last rebuild"
    return [reason for reason in outlook.reasons or () if reason.part == "saying-lines"]


def test_why_rows_changed_is_known_after_a_rebuild_that_stopped(tmp_path: Path) -> None:
    project = build(tmp_path, {"one": "one", "two": "two"})
    stages = stages_of_build(project.manifest)
    note_rows(project.out, rows_of(project, project.manifest), stages)
    project = build(tmp_path, {"one": "one", "two": "twain"})  # and then it stopped
    (changed,) = reasons(project)
    assert (changed.reason, len(changed.keys)) == (MADE_OF, 1)
    for stage in {*stages} - {*stages_of_build(project.manifest)}:
        shutil.rmtree(tmp_path / "store" / stage)
    (changed,) = reasons(project)
    assert (changed.reason, len(changed.keys)) == (GONE, 1)
