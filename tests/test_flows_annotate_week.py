"""A week of three annotators and their lead on a real Label Studio, while `listen` and `board` run.

What everybody means is written down in `tests/week_plan.py`, and what the files, the board and the rows have at the end
must be that. Nobody pulls or pushes by hand. People work in Chromium, one of them on a phone. Label Studio stamps work
by its own clock: a night goes by when all times in its database move back by a day, or by several for a weekend. The
days are a week apart in all, so that the work lies in two ISO weeks whenever the test runs.
"""

import contextlib
import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from annotation.label_studio import server
from flows.project.output_files import remember, write_output_files
from flows.project.project import Project
from tests.builds import write_config
from tests.forms import PAGE
from tests.label_studio import Served
from tests.toy import run_all
from tests.week_people import BOARD, SOON_S, Person, Submissions, photograph, until
from tests.week_plan import (
    AFTER_JUDGING,
    AFTER_PRACTICE,
    AFTER_REVIEW,
    AFTER_WRITING,
    ANNOTATORS,
    ASKED,
    AT_THE_END,
    AUTHORING,
    BETTER,
    BY_REVIEWER,
    CHECK,
    CHECKING_EXAMPLES,
    COMMENT,
    CORRECTED,
    DECIDE,
    DIALOGUES,
    DISAGREES,
    FORMS,
    JUDGEMENTS,
    JUDGING,
    LEAD,
    MISTAKE_ON,
    NO,
    PEOPLE,
    PRACTISE_CHECKING,
    PRACTISE_WRITING,
    RESPONSES,
    RETURNED,
    REVIEW,
    SURVEY,
    TEXTS,
    VOLCANOES,
    WRITE,
    WRITING_EXAMPLES,
    YES,
    Evening,
    Open,
)
from tests.week_results import (
    hours_of_this_week,
    the_hours_are_those_worked,
    the_judgements_are_what_people_meant,
    the_questionnaire_is_in_a_file_of_its_own,
    the_rows_are_what_people_meant,
    the_texts_are_what_people_meant,
    what_was_submitted_is_in_the_files_once,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
TOUCHSTONE = """
from flows.annotate import listen
from flows.annotate.board import reading
listen.LEAST_S = reading.ASK_S = 5.0
from flows.cli import main
main()
"""
"""The command line, which looks more often than a team needs."""
ON_BOARD = re.compile(r"(?P<url>http://127\.0\.0\.1:\d+/).*after the colon in (?P<login>\S+)", re.DOTALL)
COEX = {(author, row): texts["COEX"] for (author, row), texts in TEXTS.items()}
"""A text by which a reviewer knows somebody's work on a dialogue."""


# ---- the days ----


async def they_practise(people: Mapping[str, Person], folder: Path) -> None:
    """One makes a mistake in the practice, is told, and does it once more."""
    ann, ben, cleo = (people[by] for by in ANNOTATORS)
    ann.wanted = {PRACTISE_WRITING: folder / "practice-writing"}
    for person in (ann, ben, cleo):
        await person.expects(PRACTISE_WRITING, PRACTISE_CHECKING)
        await person.works(PRACTISE_WRITING, *WRITING_EXAMPLES)
        await person.works(PRACTISE_CHECKING, *CHECKING_EXAMPLES)
    await ann.expects(PRACTISE_CHECKING, WRITE)
    ann.wanted = {PRACTISE_CHECKING: folder / "practice-corrected"}
    await ann.works(PRACTISE_CHECKING, MISTAKE_ON)
    for person in (ann, ben, cleo):
        await person.expects(WRITE, CHECK)
    assert people[LEAD].queues() == {}


async def they_judge(people: Mapping[str, Person], folder: Path) -> None:
    """One skips a task with a question, and does it later."""
    people["cleo"].wanted = {CHECK: folder / "judging"}
    for by in ANNOTATORS:
        await people[by].works(CHECK, *(row for person, row in JUDGEMENTS if person == by))
        await people[by].expects(WRITE)
    await people[LEAD].expects(DECIDE)


async def they_write(people: Mapping[str, Person], folder: Path) -> None:
    """One has suggestions, and keeps one of them. He comes last, when reviews of the others' work are handed out."""
    ann, ben, cleo = (people[by] for by in ANNOTATORS)
    ann.wanted = {f"Guideline: {WRITE}": folder / "guideline", WRITE: folder / "authoring"}
    ben.wanted = {WRITE: folder / "authoring-suggested"}
    written = {by: [RESPONSES[row] for author, row in TEXTS if author == by] for by in ANNOTATORS}
    await ann.works(WRITE, *written["ann"])
    await cleo.works(WRITE, *written["cleo"])
    await cleo.expects(REVIEW)
    await ben.works(WRITE, *written["ben"])
    await ann.expects(REVIEW)


async def they_review(people: Mapping[str, Person], folder: Path) -> None:
    """After the weekend: nobody their own, nor a dialogue for which they write themselves. One work goes back."""
    ann, ben, cleo = (people[by] for by in ANNOTATORS)
    ann.wanted, cleo.wanted = {REVIEW: folder / "review-rejected"}, {REVIEW: folder / "review-fixed"}
    await ben.works(REVIEW, COEX["ann", "birds"], COEX["cleo", "birds"])
    await cleo.works(REVIEW, COEX["ann", "jazz"], COEX["ben", "jazz"])
    await ann.works(REVIEW, COEX["ben", "mountains"])
    await ann.expects(CORRECTED)
    await ben.expects(RETURNED)
    await cleo.expects()
    await ben.photograph(folder / "your-work")


async def they_finish(people: Mapping[str, Person], folder: Path) -> None:
    """What came back, what the lead has to decide, and the questionnaire."""
    ann, ben, cleo = (people[by] for by in ANNOTATORS)
    ben.wanted, ann.wanted = {RETURNED: folder / "returned"}, {CORRECTED: folder / "corrected"}
    people[LEAD].wanted, cleo.wanted = {DECIDE: folder / "deciding"}, {SURVEY: folder / "survey"}
    await ben.works(RETURNED, COMMENT)
    await people[LEAD].works(DECIDE, VOLCANOES)
    await ann.expects(CORRECTED, REVIEW)
    await ann.works(CORRECTED, BY_REVIEWER)
    await ann.works(REVIEW, BETTER)
    for person in (ann, ben, cleo):
        await person.expects(SURVEY)
        await person.works(SURVEY, "Please tell us how the work was.")
        await person.expects()
    await ann.photograph(folder / "your-work-done")


class Day(NamedTuple):
    """What is done on a day, and what is open in the evening."""

    after: int
    """Days after the one before."""
    work: Callable[[Mapping[str, Person], Path], Awaitable[None]]
    evening: Evening


WEEK = (
    Day(0, they_practise, AFTER_PRACTICE),
    Day(1, they_judge, AFTER_JUDGING),
    Day(1, they_write, AFTER_WRITING),
    Day(4, they_review, AFTER_REVIEW),
    Day(1, they_finish, AT_THE_END),
)


def night(served: Served, submissions: Submissions, days: int) -> None:
    """Let so many days go by: all work is older."""
    with contextlib.closing(sqlite3.connect(served.folder / server.DATA / server.DATABASE, timeout=SOON_S)) as database:
        for table in ("task", "task_completion", "tasks_annotationdraft"):
            rows = database.execute(f"SELECT id, created_at, updated_at FROM {table}").fetchall()
            earlier = [
                (*(str(datetime.fromisoformat(at) - timedelta(days)) for at in times), number)
                for number, *times in rows
            ]
            database.executemany(f"UPDATE {table} SET created_at = ?, updated_at = ? WHERE id = ?", earlier)
            database.commit()
    submissions.night(days)


async def test_a_week_of_three_people_and_their_lead(
    label_studio: Served, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dialogues.jsonl").write_text("\n".join(map(json.dumps, DIALOGUES)), encoding="utf-8")
    survey = {
        "asks": [{"name": "clear", "question": "Was the guideline clear?", "options": [YES, "in part", NO]}],
        "writes": [{"name": "change", "title": "What should we change?"}],
    }
    config = write_config(
        tmp_path, store=str(label_studio.folder.parent),
        annotation={"people": PEOPLE, "lead": LEAD, "overlap_first": 2, "surveys": {AUTHORING: survey}},
        families={"charpeval": {"sources": [{"format": "jsonl", "path": "dialogues.jsonl"}]},
                  "uraq": {"statements": 9, "context_counts": [1]}},
    )  # fmt: skip
    remember(await built(config, tmp_path))
    submissions = Submissions()
    with running(tmp_path, "listen") as said:
        await until(lambda: "new task" in said.read_text(encoding="utf-8"), said.read_text)
        people = {by: Person.sign_in(browser, label_studio, by, submissions) for by in PEOPLE}
        for day in WEEK:
            night(label_studio, submissions, day.after)
            await day.work(people, tmp_path)
            with running(tmp_path, "board") as address:
                await the_board_shows(browser, address, submissions, day.evening, tmp_path / day.work.__name__)
        for by in ANNOTATORS:
            assert people[by].this_week() == hours_of_this_week(submissions, by)
    assert said.read_text(encoding="utf-8").count(ASKED) == 1, "a question is said once"
    project = Project(config, tmp_path / "out")
    what_was_submitted_is_in_the_files_once(project, submissions, label_studio.client)
    the_hours_are_those_worked(tmp_path, submissions)
    the_questionnaire_is_in_a_file_of_its_own(tmp_path)
    the_judgements_are_what_people_meant(tmp_path)
    the_texts_are_what_people_meant(tmp_path)
    the_rows_are_what_people_meant(await built(config, tmp_path))


# ---- the board ----


async def the_board_shows(browser: Any, address: Path, submissions: Submissions, evening: Evening, name: Path) -> None:
    """The lead opens the board, until it has what is done, left, waits for a review, and came back, and no more."""
    await until(lambda: ON_BOARD.search(address.read_text(encoding="utf-8")) is not None, address.read_text)
    told = ON_BOARD.search(address.read_text(encoding="utf-8"))
    assert told is not None
    username, _, password = (address.parent / told["login"]).read_text(encoding="utf-8").strip().partition(":")
    done, rows = submissions.done(), {}
    for title, by in {*done, *evening}:
        form = FORMS[title]
        if form.purpose != "survey":
            rows[form.rubric, form.purpose, by] = [done.get((title, by), 0), *evening.get((title, by), Open()), 0]
    login = {"username": username, "password": password}
    page, found = await browser.new_page(viewport=PAGE, http_credentials=login), {}
    page.set_default_timeout(SOON_S * 1000)
    await page.goto(told["url"])

    async def is_so() -> bool:
        found.clear()
        found.update({tuple(row): numbers for row, numbers in await page.evaluate(BOARD) if any(numbers)})
        return found == rows

    await until(is_so, lambda: f"the board has {found}, not {rows}")
    text = " ".join((await page.inner_text("body")).split())
    if evening == AT_THE_END:
        assert f"{JUDGING}: 6 of 6 tasks finished" in text
        assert f"{AUTHORING}: 3 of 3 tasks finished" in text
        assert ASKED in text
        assert DISAGREES in text
        hours = await page.locator(".hours tbody tr").evaluate_all(
            "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText))"
        )
        assert {tuple(row[:3]): int(row[3]) for row in hours} == {
            row: number for row, (number, _) in submissions.hours().items()
        }
    await photograph(page, name.with_name(f"board-{name.name}"))
    await page.close()


# ---- what runs ----


async def built(config: Path, folder: Path) -> Project:
    """Build, as `touchstone run` does."""
    project = Project(config, folder / "out")
    await run_all(project.build)
    write_output_files(project)
    return project


@contextlib.contextmanager
def running(folder: Path, command: str) -> Iterator[Path]:
    """Run a command of `annotate` as long as the block lasts; yields the file with what it says."""
    said = folder / f"{command}.txt"
    with said.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", TOUCHSTONE, "annotate", command, "--out", "out", "--port", "0"],
            stdout=out, stderr=subprocess.STDOUT, cwd=folder,
        )  # fmt: skip
    try:
        yield said
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(SOON_S)
        finally:
            process.kill()
