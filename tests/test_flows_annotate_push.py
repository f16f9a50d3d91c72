"""What people find when their work no longer counts or was corrected, by a real Label Studio."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from annotation.earlier import ANSWERED, CHANGED, CHANGED_FOR_ALL, TEXTS_BACK
from annotation.label_studio.sync import is_retired, projects_of, tasks_of
from annotation.label_studio.task_data import LISTED, NEWS, RETURNED
from annotation.review import CORRECTED, DISAGREES, corrected_of
from flows.annotate.progress import QueueProgress, progress
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.annotate.report import progress_row
from flows.construct.people import every
from flows.project.project import read_verdicts
from tests.label_studio import Served
from tests.test_flows_annotate_work import REVIEW, TWO, Bench
from tests.toy import WORDS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
OLD, NEW = ["animal", "bnimal"], ["ant", "bnimal"]
MARKED = "<p><b>text:</b> <del>animal</del><ins>ant</ins></p>"


@pytest.fixture
def bench(label_studio: Served, tmp_path: Path) -> Bench:
    return Bench(label_studio, tmp_path, TWO, every(WORDS))


def of(bench: Bench, word: str, rubric: str = "toy-words") -> tuple[str, dict[str, Any]]:
    """Who has the task of a word, and the task."""
    (found,) = [
        (by, row) for by in bench.people or ("all",) for row in bench.queue(rubric, by)
        if row["data"]["shown_text"] == word
    ]  # fmt: skip
    return found


def pushes_nothing(bench: Bench, project: Any) -> bool:
    """Whether another push changes nothing on the server."""
    done = push(project, bench.served.client)
    return not any(one.imported + one.updated + one.retired + one.revived for one in done.queues)


def line(bench: Bench, project: Any, by: str) -> QueueProgress:
    (found,) = [one for one in progress(project, bench.served.client) if (one.by, one.form) == (by, "work")]
    return found


def note(bench: Bench, project: Any, by: str) -> object:
    return progress_row(line(bench, project, by))["note"]


def test_texts_on_an_earlier_version_come_back_with_what_changed(bench: Bench) -> None:
    project, client = bench.project(OLD), bench.served.client
    push(project, client)
    by, row = of(bench, "animal")
    assert row["data"][NEWS] == ""
    bench.hand_in(row, by, {"decision": "yes", "upper": "MENDED"})
    other, same = of(bench, "bnimal")
    bench.hand_in(same, other, {"decision": "yes", "upper": same["data"]["draft_upper"]})
    pull(project, client)
    changed = bench.project(NEW)
    done = push(changed, client)
    assert (sum(one.imported for one in done.queues), sum(one.retired for one in done.queues)) == (1, 1)
    again, row = of(bench, "ant")
    assert again == by
    assert (row["data"]["draft_upper"], row["data"]["note_upper"]) == ("MENDED", RETURNED)
    assert row["data"][NEWS] == "".join(
        [f"<p>{line}</p>" for line in (CHANGED, TEXTS_BACK, f"{ANSWERED} Is it a word? yes")] + [MARKED]
    )
    assert of(bench, "bnimal")[1]["data"] == same["data"], "who did another task is told nothing"
    assert pushes_nothing(bench, changed)
    assert note(bench, changed, by) == "1 to do again"
    # It is submitted as it came back: it is the person's text, and no suggestion.
    bench.hand_in(row, by, {"decision": "yes", "upper": "MENDED"})
    pull(changed, client)
    assert pushes_nothing(bench, changed)
    assert note(bench, changed, by) == ""
    found = read_verdicts(changed.out / "verdicts" / "toy-words.jsonl").values()
    assert [one.changes for one in found if one.decision == "fix"] == [{"upper": "MENDED"}]
    # And once more: what was submitted as it came back is still the person's.
    third = bench.project(["axe", "bnimal"])
    push(third, client)
    _, row = of(bench, "axe")
    assert row["data"]["draft_upper"] == "MENDED"
    assert "<del>ant</del><ins>axe</ins>" in row["data"][NEWS]
    # Back to where it was: the work of then counts again.
    project = bench.project(OLD)
    push(project, client)
    pull(project, client)
    assert [row["data"]["shown_text"] for by in TWO for row in bench.queue("toy-words", by)] == ["bnimal"]
    assert (line(bench, project, by).done, note(bench, project, by)) == (1, "")
    assert pushes_nothing(bench, project)


def test_an_answer_to_a_retired_task_is_told_to_its_author_and_its_texts_come_back(bench: Bench) -> None:
    project, client = bench.project(OLD), bench.served.client
    push(project, client)
    by, late = of(bench, "animal")
    changed = bench.project(NEW)
    push(changed, client)
    assert of(bench, "ant")[1]["data"][NEWS] == ""
    assert note(bench, changed, by) == ""
    bench.hand_in(late, by, {"decision": "yes", "upper": "LATE"})  # the form was still open
    assert (note(bench, changed, by), line(bench, changed, by).left) == ("1 new", 1)
    (collected,) = pull(changed, client)
    assert [one.reason for one in collected.excluded] == ["earlier view"]
    assert note(bench, changed, by) == "1 to do again"
    done = push(changed, client)
    assert (sum(one.imported for one in done.queues), sum(one.updated for one in done.queues)) == (0, 1)
    again, row = of(bench, "ant")
    assert (again, row["data"]["draft_upper"], row["total_annotations"]) == (by, "LATE", 0)
    assert CHANGED in row["data"][NEWS]
    assert MARKED in row["data"][NEWS]
    assert pushes_nothing(bench, changed)
    rows = tasks_of(client, next(info for name, info in projects_of(client, "toys").items() if name.endswith(by)))
    assert [row["data"][LISTED] for row in rows if is_retired(row)] == ["Another task now: animal"]

    # What was submitted before, and not pulled when its task was retired, is not lost either.
    other, row = of(bench, "bnimal")
    bench.hand_in(row, other, {"decision": "yes", "upper": "EARLY"})
    changed = bench.project(["ant", "bison"])
    push(changed, client)
    assert (note(bench, changed, other), line(bench, changed, other).left) == ("1 new", 1)
    pull(changed, client)
    assert note(bench, changed, other) == "1 to do again"
    push(changed, client)
    assert of(bench, "bison")[1]["data"]["draft_upper"] == "EARLY"

    # Of a record that is there no more, nobody can be asked again; the person's list of finished tasks says so.
    gone = bench.project(["two words", "bison"])
    push(gone, client)
    assert note(bench, gone, by) == "1 no longer asked"
    assert pushes_nothing(bench, gone)


def test_an_author_is_told_what_a_reviewer_corrected(bench: Bench) -> None:
    bench.part = every(WORDS, review=REVIEW)
    project, client = bench.project(["animal"]), bench.served.client
    push(project, client)
    by, row = of(bench, "animal")
    bench.hand_in(row, by, {"decision": "yes", "upper": "AN ANIMEL"})
    pull(project, client)
    push(project, client)
    form = corrected_of(WORDS).name
    reviewer, asked = of(bench, "animal", REVIEW.name)
    assert [bench.queue(form, code) for code in TWO] == [[], []]
    fix = {"upper_decision": "fix", "upper": "AN ANIMAL", "review_comment": "A slip."}
    bench.hand_in(asked, reviewer, fix)
    pull(project, client)
    push(project, client)
    told, row = of(bench, "animal", form)
    assert (told, reviewer) in (("a1", "a2"), ("a2", "a1"))
    assert row["data"][NEWS] == (
        f"<p>{CORRECTED}</p><p>Comment: A slip.</p><p><b>In capitals:</b> AN <del>ANIMEL</del><ins>ANIMAL</ins></p>"
    )
    assert pushes_nothing(bench, project)
    bench.hand_in(row, told, {"agreed": "no"})
    (collected,) = pull(project, client)
    assert [(one.by, one.question) for one in collected.questions] == [(told, DISAGREES)]
    assert collected.excluded == []
    assert pushes_nothing(bench, project), "once is enough"
    lines = {(one.form, one.by): (one.done, one.left) for one in progress(project, client)}
    assert lines["corrected", told] == (1, 0)

    # The source changes: the text comes back as the reviewer left it, and the reviewer is told what changed.
    changed = bench.project(["ant"])
    push(changed, client)
    _, row = of(bench, "ant")
    assert row["data"]["draft_upper"] == "AN ANIMAL"
    bench.hand_in(row, told, {"decision": "yes", "upper": "AN ANT"})
    pull(changed, client)
    push(changed, client)
    _, asked = of(bench, "ant", REVIEW.name)
    assert asked["data"]["draft_upper"] == "AN ANT", "the author's text of now, not the reviewer's of then"
    assert MARKED in asked["data"][NEWS]
    assert "AN <del>ANIMEL</del><ins>ANT</ins>" in asked["data"][NEWS]
    assert f"{ANSWERED} In capitals: is it right as it stands? fix" in asked["data"][NEWS]
    assert pushes_nothing(bench, changed)


def test_in_everybodys_queue_the_texts_come_back_and_nobody_is_told_what_another_chose(bench: Bench) -> None:
    bench.people = {}
    project, client = bench.project(OLD), bench.served.client
    push(project, client)
    _, row = of(bench, "animal")
    answers: Mapping[str, str] = {"decision": "yes", "upper": "MENDED"}
    bench.hand_in(row, "owner@touchstone.local", answers)
    pull(project, client)
    changed = bench.project(NEW)
    push(changed, client)
    _, row = of(bench, "ant")
    assert row["data"]["draft_upper"] == "MENDED"
    assert row["data"][NEWS] == f"<p>{CHANGED_FOR_ALL}</p><p>{TEXTS_BACK}</p>{MARKED}"
    assert pushes_nothing(bench, changed)
