"""The questionnaire at the end of a rubric: who gets it, and where its answers go."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from annotation.review import decision_name
from annotation.survey import survey_answers, survey_of
from flows.annotate.progress import progress
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.annotate.queues import queue_of
from flows.annotate.report import write_annotation
from flows.annotate.work import last_pull
from flows.construct.people import every
from schemas.annotation import Annotation
from schemas.rubric import Choice, Rubric, Survey, Task, Written
from tests.builds import touchstone, write_config
from tests.label_studio import Served
from tests.team import Team, now
from tests.test_flows_annotate_lead import Pushes
from tests.test_flows_annotate_work import ANIMALS, TWO, Bench, right, verdicts
from tests.toy import WORDS

CLEAR = Choice(name="clear", question="Was the guideline clear?", options=("yes", "no"))
EFFORT = Choice(name="effort", question="How tiring was it?", options=("1", "2", "3"), ordered=True)
SURVEY = Survey(asks=(CLEAR, EFFORT), writes=(Written(name="upper", title="What should we change?"),))


def answered(by: str, at: str, clear: str, effort: str, text: str = "", **more: object) -> Annotation:
    answers = {"clear": clear, "effort": effort, "upper": text}
    content = {"task": "t", "by": by, "at": f"2026-11-0{at}T10:00:00Z", "version": 1, "answers": answers, **more}
    return Annotation.model_validate(content)


def test_each_persons_last_answers_count() -> None:
    rows = survey_answers(
        survey_of(WORDS, SURVEY),
        [
            answered("a1", "3", "yes", "3", " More examples. "),
            answered("a1", "2", "no", "1"),
            answered("a2", "2", "no", "2", question="Who reads this?"),
            answered("a3", "2", "no", "2", cancelled=True),
            answered("a4", "2", "no", "2", version=2),
        ],
    )
    assert [tuple(row) for row in rows] == [
        ("Was the guideline clear?", 2, None, (("yes", 1), ("no", 1)), ()),
        ("How tiring was it?", 2, 2.5, (("1", 0), ("2", 1), ("3", 1)), ()),
        ("What should we change?", 1, None, (), (("a1", "More examples."),)),
        ("Question to the engineer", 1, None, (), (("a2", "Who reads this?"),)),
    ]


def test_an_answer_that_is_no_option_any_more_does_not_count() -> None:
    reworded = SURVEY.model_copy(update={"asks": (EFFORT.model_copy(update={"options": ("low", "2", "3")}),)})
    (row, *_) = survey_answers(
        survey_of(WORDS, reworded), [answered("a1", "2", "yes", "1"), answered("a2", "2", "yes", "3")]
    )
    assert (row.people, row.mean, row.counts) == (1, 3.0, (("low", 0), ("2", 0), ("3", 1)))


def test_the_guideline_of_a_questionnaire_is_about_the_questionnaire_alone(tmp_path: Path) -> None:
    (tmp_path / WORDS.guideline).write_text("# Words\n", encoding="utf-8")
    form, example = survey_of(WORDS, SURVEY), Task(
        key="k", rubric=WORDS.name, version=1, item_id="i", item_key="i", item_view="v", shown={"text": "ant"},
        right_answers={"decision": "yes"}, why="It is one.",
    )  # fmt: skip

    def page(rubric: Rubric) -> str:
        return queue_of("toys", every(WORDS), tmp_path, rubric, "a1", (), 1, examples=[example]).instruction

    assert "<h1>Words</h1>" in page(WORDS)
    assert "It is one." in page(WORDS)
    assert "<h1>Your view of the work</h1>" in page(form)
    assert "<h1>Words</h1>" not in page(form)
    assert "It is one." not in page(form)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "asks something"),
        ({"asks": [CLEAR], "writes": [{"name": "clear", "title": "Clear?"}]}, "clear: the name occurs twice"),
        ({"asks": [{**dict(CLEAR), "accepts": ("yes",)}]}, "clear: a questionnaire decides and corrects nothing"),
        ({"writes": [{"name": "text", "title": "Text", "corrects": True}]}, "text: a questionnaire decides"),
    ],
)
def test_a_questionnaire_asks_about_the_work_alone(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Survey.model_validate(settings)


def test_a_questionnaire_on_an_unknown_rubric_is_refused_with_the_nearest(tmp_path: Path) -> None:
    asks = [{"name": "clear", "question": "Clear?", "options": ["yes", "no"]}]
    config = write_config(
        tmp_path,
        families={"uraq": {"statements": 10}},
        annotation={"people": TWO, "surveys": {"uraq-chek": {"asks": asks}}},
    )
    done = touchstone("run", config, folder=tmp_path)
    assert done.returncode == 2
    assert "annotation.surveys.uraq-chek: nobody is asked under this rubric; did you mean" in done.stderr


@pytest.mark.slow
def test_who_has_done_all_tasks_is_asked_once_and_the_answers_stay_apart(label_studio: Served, tmp_path: Path) -> None:
    bench = Bench(label_studio, tmp_path, TWO, every(WORDS), surveys={WORDS.name: SURVEY})
    project, client = bench.project(), label_studio.client
    form = survey_of(WORDS, SURVEY).name
    push(project, client)
    assert bench.do_all(WORDS.name, "a1", right) == 5
    pull(project, client)
    push(project, client)
    assert [len(bench.queue(form, by)) for by in TWO] == [1, 0]
    (row,) = bench.queue(form, "a1")
    assert row["data"]["shown_about"].startswith(WORDS.title or WORDS.name)
    result = [
        {"from_name": name, "to_name": "shown-about", "type": "choices", "value": {"choices": [answer]}}
        for name, answer in (("clear", "yes"), ("effort", "2"))
    ]
    users = client.users()
    client._request(
        "POST",
        f"api/tasks/{row['id']}/annotations/",
        json={"result": result, "completed_by": users[TWO["a1"]], "lead_time": 60.0},
    )
    before = verdicts(project)
    collected = pull(project, client)
    assert verdicts(project) == before
    assert len(before) == 5
    (line,) = (project.out / "annotations" / f"{form}.jsonl").read_text(encoding="utf-8").splitlines()
    assert (json.loads(line)["by"], json.loads(line)["answers"]) == ("a1", {"clear": "yes", "effort": "2"})
    assert form not in (project.out / "annotations" / f"{WORDS.name}.jsonl").read_text(encoding="utf-8")
    assert f"a1,{_week(line)},{form},1,0.02,1.0" in (project.out / "annotations" / "hours.csv").read_text().splitlines()
    again = push(project, client)
    assert [queue.retired for queue in again.queues if form in queue.queue] == [0]
    assert [len(bench.queue(form, by)) for by in TWO] == [1, 0]
    page = write_annotation(project, collected, progress(project, client, collected)).read_text(encoding="utf-8")
    assert "yes 1, no 0" in page
    assert bench.do_all(WORDS.name, "a2", right) == len(ANIMALS) - 5
    pull(project, client)
    push(project, client)
    assert [len(bench.queue(form, by)) for by in TWO] == [1, 1]


def test_who_may_still_get_a_review_is_asked_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team(tmp_path, ["ant", "bee", "cat"], ("a1", "a2"), review=True)
    pushes = Pushes(team, monkeypatch)

    def asked() -> set[str]:
        team.pull()
        pushes.push(None, surveys={WORDS.name: SURVEY})
        return {name.rpartition("/")[2] for name, queue in pushes.queues.items() if "-survey@" in name and queue.tasks}

    def follow_ups(kind: str) -> list[tuple[Task, str]]:
        team.pull()
        (collected,) = last_pull(team.project)
        return [(one.task, one.author) for one in getattr(collected.settlement, kind)]

    def at() -> datetime:
        return now() - timedelta(hours=1) + timedelta(minutes=len(team.done))

    def write(task: Task, by: str, text: str) -> None:
        team.do(task, by, at(), 60, {"decision": "yes", "upper": text})

    def review(task: Task, author: str, decision: str) -> None:
        answers = {decision_name("upper"): decision, "upper": task.drafts["upper"], "review_comment": "No."}
        team.do(task, "a2" if author == "a1" else "a1", at(), 60, answers)

    first, *others = team.tasks
    write(first, "a1", "ONE")
    for task in others:
        team.give(task, "a2", submitted=False)
    assert asked() == set(), "a2 is yet to write what a1 reviews"
    for task in others:
        write(task, "a2", "TWO")
    reviews = follow_ups("reviews")
    assert len(reviews) == 3
    assert asked() == set(), "nobody has reviewed"
    (rejected, its_author), *rest = reviews
    review(rejected, its_author, "reject")
    for task, author in rest:
        review(task, author, "accept")
    assert asked() == set(), "one is to be revised"
    ((revision, author),) = follow_ups("revisions")
    write(revision, author, "THREE")
    assert asked() == set(), "and reviewed once more"
    (again,) = [one for one in follow_ups("reviews") if one not in reviews]
    review(*again, "accept")
    assert asked() == {"a1", "a2"}


def _week(line: str) -> str:
    year, week, _ = datetime.fromisoformat(json.loads(line)["at"]).isocalendar()
    return f"{year}-W{week:02}"
