"""What the files and rows of the week of `tests/test_flows_annotate_week.py` must have at the end: what was meant."""

import csv
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from annotation.label_studio.client import Client
from flows.annotate.pull import source_of
from flows.annotate.work import works
from flows.project.project import Project, read_verdicts
from schemas.base import counted
from tests.week_people import Submission, Submissions, week_of
from tests.week_plan import (
    ASKS,
    ASKS_ABOUT,
    AUTHORING,
    BETTER,
    BY_REVIEWER,
    CALCIUM,
    CIDER,
    FEMUR,
    FIXED,
    FORMS,
    ISLANDS,
    JUDGEMENTS,
    LEAD,
    QUESTION,
    RESPONSES,
    SENT_BACK,
    STARS,
    VIEWS,
    VOLCANOES,
    texts_at_the_end,
)


def what_was_submitted_is_in_the_files_once(project: Project, submissions: Submissions, client: Client) -> None:
    """Nothing is lost or doubled, and each has the answers that were meant."""
    forms = {name: rubric for work in works(project) for name, rubric in work.rubrics.items()}
    forms |= {work.survey.name: work.survey for work in works(project) if work.survey is not None}
    rows = [
        row for path in (project.out / "annotations").glob("*.jsonl") if not path.stem.endswith("-apart")
        for row in json_rows(path)
    ]  # fmt: skip
    exported = [row for info in client.projects() for row in client.export(info.id)]
    sources = {made["id"]: source_of(made) for row in exported for made in row["annotations"]}
    assert sorted(row["source"] for row in rows) == sorted(sources[one.number] for one in submissions)
    by_source = {row["source"]: row for row in rows}
    for one in submissions:
        row, form = by_source[sources[one.number]], forms[FORMS[one.title].name]
        assert (row["by"], row["rubric"], row["cancelled"]) == (one.by, form.name, one.does.skips)
        assert row["question"] == one.does.texts.get(QUESTION, "")
        if not one.does.skips:
            assert [row["answers"][ask.name] for ask in form.asks] == list(one.does.choices)
            texts = {name: text for name, text in one.does.texts.items() if name != QUESTION}
            assert {name: row["answers"].get(name) for name in texts} == texts
    apart = [row for path in (project.out / "annotations").glob("*-apart.jsonl") for row in json_rows(path)]
    (skipped,) = [one for one in submissions if one.does.skips]
    assert (skipped.by, skipped.row) == (ASKS, ASKS_ABOUT)
    assert [(row["source"], row["by"]) for row in apart] == [(sources[skipped.number], ASKS)]


def json_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def the_hours_are_those_worked(folder: Path, submissions: Submissions) -> None:
    """Who worked in which week on what, and how long."""
    rows = list(csv.DictReader((folder / "out/annotations/hours.csv").read_text(encoding="utf-8").splitlines()))
    worked = submissions.hours()
    assert sorted((row["person"], row["week"], row["form"]) for row in rows) == sorted(worked)
    for row in rows:
        number, seconds = worked[row["person"], row["week"], row["form"]]
        assert int(row["submissions"]) == number
        assert float(row["hours"]) == pytest.approx(seconds / 3600, abs=0.0051), row
    assert len({week for _, week, _ in worked}) >= 2


def hours_of_this_week(submissions: Sequence[Submission], by: str) -> str:
    """Return what the start page should say."""
    seconds = [one.seconds for one in submissions if one.by == by and week_of(one.at) == week_of(datetime.now(UTC))]
    minutes = round(sum(seconds) / 60)
    return f"{minutes // 60} h {minutes % 60:02} min, {counted(len(seconds), 'task')}"


def the_questionnaire_is_in_a_file_of_its_own(folder: Path) -> None:
    """Each person's answers, and nowhere else."""
    survey = folder / f"out/annotations/{AUTHORING}-survey.jsonl"
    answers = {row["by"]: (row["answers"]["clear"], row["answers"]["change"]) for row in json_rows(survey)}
    assert answers == VIEWS
    others = [*(folder / "out").rglob("*.jsonl"), *(folder / "out").rglob("*.csv")]
    for path in others:
        if path != survey:
            assert not any(change in path.read_text(encoding="utf-8") for _, change in VIEWS.values()), path


def shown(folder: Path, part: str, column: str) -> Mapping[str, str]:
    """By the key of each record that people saw, one of its texts."""
    rows = pq.read_table(folder / f"out/sifted/{part}.parquet", columns=["key", column]).to_pylist()
    return {row["key"]: row[column] for row in rows}


def the_judgements_are_what_people_meant(folder: Path) -> None:
    """By record the decision, whose it is, and how sure it is; where two differed, the lead's."""
    questions = shown(folder, "uraq-items", "question")
    judged = {
        next(row for _, row in JUDGEMENTS if questions[key].startswith(row)): verdict
        for key, verdict in read_verdicts(folder / "out/verdicts/uraq-items.jsonl").items()
    }
    assert {row: verdict.decision for row, verdict in judged.items()} == {
        VOLCANOES: "accept", CALCIUM: "accept", FEMUR: "accept", CIDER: "reject", ISLANDS: "accept", STARS: "accept",
    }  # fmt: skip
    assert judged[VOLCANOES].by == LEAD
    judges = [(by, row) for row, verdict in judged.items() if row != VOLCANOES for by in verdict.by.split(", ")]
    assert set(judges) <= set(JUDGEMENTS)
    assert judged[CALCIUM].by == "ann, ben", "whoever agreed decided"
    assert judged[VOLCANOES].posterior is None, "the lead's decision is certain"
    sure = {row: verdict.posterior or 0.0 for row, verdict in judged.items()}
    # Two agree; one was right where the lead decided, and the other was not.
    assert 1 > sure[CALCIUM] > sure[FEMUR] > sure[ISLANDS] == sure[STARS] > 0.5


def the_texts_are_what_people_meant(folder: Path) -> None:
    """By dialogue the texts, as reviewed and revised; where two wrote, either's work is the record's."""
    responses = shown(folder, "charpeval-distractors", "response")
    written = {
        next(row for row, response in RESPONSES.items() if response == responses[key]): verdict
        for key, verdict in read_verdicts(folder / "out/verdicts/charpeval-distractors.jsonl").items()
    }
    assert set(written) == set(RESPONSES)
    for row, verdict in written.items():
        assert verdict.decision == "fix"
        assert verdict.changes == texts_at_the_end(verdict.by, row)
        assert verdict.posterior is None, "a reviewer decided"
        assert verdict.reviewed_by == {"jazz": "cleo", "birds": "ben", "mountains": "ann"}[row]
    assert (written["mountains"].by, written["mountains"].changes["KGUG"]) == (SENT_BACK[0], BETTER)
    assert (written["jazz"].by, written["jazz"].changes["COEX"]) == (FIXED[0], BY_REVIEWER)


def the_rows_are_what_people_meant(project: Project) -> None:
    """What the next build makes of it."""
    questions = [item.question for item in project.build.accepted("uraq", "items")]
    begun = {row for _, row in JUDGEMENTS}
    assert sorted(next(row for row in begun if question.startswith(row)) for question in questions) == sorted(
        begun - {CIDER}
    )
    meant = [texts_at_the_end(*work) for work in (("ann", "birds"), FIXED, SENT_BACK)]
    items = [dict(item.distractors) for item in project.build.accepted("charpeval", "items")]
    assert len(items) == 2 * len(meant), "a hard and an easy item of each dialogue"
    assert all(items.count(dict(texts)) == 2 for texts in meant)
