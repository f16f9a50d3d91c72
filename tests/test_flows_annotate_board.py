"""The board over HTTP: what it shows, under which filters, and how it bears what goes wrong around it."""

import csv
import io
import re
import socket
import threading
import time
from dataclasses import replace
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from flows.annotate.board import reading
from flows.annotate.board.numbers import Point
from flows.annotate.board.page import SHOWN, Filters, board_page, trend
from flows.annotate.board.reading import Board
from flows.annotate.board.server import board_app, listen_on
from schemas.errors import WrongInput
from tests.team import URL, Team, busy_team, now, words

HERE = "http://127.0.0.1:5000"
LOGIN = ("touchstone", "secret")
YES = {"decision": "yes", "upper": "UP"}


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return busy_team(tmp_path, 60, 4, now())


def opened(board: Board) -> TestClient:
    board.renew()
    return not_renewed(board)


def not_renewed(board: Board) -> TestClient:
    client = TestClient(board_app(board, ":".join(LOGIN)), base_url=HERE)
    client.auth = LOGIN
    return client


def read(page: str) -> str:
    """What a person reads on the page, without its styles."""
    text = re.sub(r"<style>.*?</style>|<title>.*?</title>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def persons(page: str) -> set[str]:
    return set(re.findall(r'<th scope="row">(?:<a[^>]*>)?<bdi>(\w+)</bdi>', page))


def test_the_page_shows_people_what_needs_a_look_the_forecast_and_the_hours(team: Team) -> None:
    client = opened(team.board())
    answer = client.get("/")
    page = read(answer.text)
    assert answer.status_code == 200
    assert re.search(r"decision percent agreement 0\.\d\d 0\.\d\d to 0\.\d\d", page), "with its interval"
    for said in ("People who stand out", "Is a number a part of the word?", "Waiting for a review",
                 "Sent back, not revised yet", "tasks finished", "hours.csv"):  # fmt: skip
        assert said in page, said
    assert persons(answer.text) == {"a1", "a2", "a3", "a4"}
    assert f'href="{URL}/projects/' in answer.text
    assert "?task=" in answer.text
    assert "@example.org" not in answer.text, "people appear by their codes"
    rows = list(csv.DictReader(io.StringIO(client.get("/hours.csv").text)))
    assert {row["person"] for row in rows} == {"a1", "a2", "a3", "a4"}
    assert client.get("/board.js").headers["content-type"].startswith("text/javascript")


def test_filters_are_in_the_address(team: Team) -> None:
    client = opened(team.board())
    assert persons(client.get("/?person=a2").text) == {"a2"}
    reviews = client.get("/?form=review").text
    assert "Sent back, not revised yet" not in reviews
    assert "Waiting for a review" in reviews
    assert re.findall(r'scope="rowgroup">(\w+)<', reviews) == ["review"]
    some = client.get("/?look=1").text
    assert "checked" in some
    assert persons(some) <= persons(client.get("/").text)
    none = read(client.get("/?rubric=no-such-rubric").text)
    assert "Nothing under these filters." in none
    assert "no-such-rubric</option>" in client.get("/?rubric=no-such-rubric").text, "the filter says what it is"


def test_only_what_needs_a_look_hides_people_without_anything(tmp_path: Path) -> None:
    team = Team(tmp_path, words(3), ["a1", "a2"])
    for task, by in zip(team.tasks, ("a1", "a1", "a2"), strict=True):
        team.do(task, by, now(), 60, YES)
    team.give(team.tasks[0], "a2", submitted=True)
    team.done = [work for work in team.done if work.by == "a1"]
    team.pull()
    client = opened(team.board())
    assert persons(client.get("/").text) == {"a1", "a2"}
    assert persons(client.get("/?look=1").text) == {"a2"}, "what a2 submitted is not pulled"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:5000", "192.168.1.5:5000", ""])
def test_a_foreign_host_is_refused(team: Team, host: str) -> None:
    client = opened(team.board())
    for path in ("/", "/hours.csv", "/board.js"):
        assert client.get(path, headers={"Host": host}).status_code == 403
    assert client.get("/", headers={"Host": "localhost:5000"}).status_code == 200


def test_nobody_reads_the_board_without_its_login(team: Team) -> None:
    client = opened(team.board())
    for path in ("/", "/hours.csv", "/board.js"):
        assert client.get(path, auth=("touchstone", "guessed")).status_code == 401
        assert client.get(path, headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.get("/").headers["X-Frame-Options"] == "SAMEORIGIN"


def test_foreign_texts_and_filters_cannot_run_on_the_page(tmp_path: Path) -> None:
    team = Team(tmp_path, words(1), ["a1"])
    evil = "<script>alert(1)</script>"
    team.do(team.tasks[0], "a1", now(), 60, YES, evil)
    team.pull()
    client = opened(team.board())
    answer = client.get("/", params={"rubric": f'"{evil}'})
    assert evil not in answer.text
    assert evil not in client.get("/").text
    assert "&lt;script&gt;" in client.get("/").text
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert re.findall(r"https?://[^\"'<>\s]+", re.sub(URL + r"[^\"]*", "", client.get("/").text)) == []


def test_an_unchanged_page_is_not_sent_again(team: Team) -> None:
    client = opened(team.board())
    tag = client.get("/").headers["ETag"]
    assert client.get("/", headers={"If-None-Match": tag}).status_code == 304
    assert client.get("/?person=a1", headers={"If-None-Match": tag}).status_code == 200


def test_a_server_that_is_down_is_said_and_the_last_state_stays(team: Team) -> None:
    board = team.board()
    client = opened(board)
    before = re.findall(r'data-label="left">([\d,]+)<', client.get("/").text)
    team.server.down = "http://127.0.0.1:8080: no answer"
    board._ask_at = 0.0
    board.renew()
    page = client.get("/").text
    assert "The server does not answer" in page
    assert "no answer" in page
    assert re.findall(r'data-label="left">([\d,]+)<', page) == before
    team.server.down = ""
    board._ask_at = 0.0
    board.renew()
    assert "The server does not answer" not in client.get("/").text


def test_with_the_server_down_from_the_start_what_was_pulled_is_shown(team: Team) -> None:
    team.server.down = "nobody listens there"
    page = opened(team.board()).get("/").text
    assert "nobody listens there" in page
    assert persons(page) == {"a1", "a2", "a3", "a4"}
    assert set(re.findall(r'data-label="left">([^<]+)<', page)) == {"?"}


def test_the_server_is_asked_every_half_minute_at_most_and_only_while_somebody_looks(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = team.board()
    for _ in range(3):
        board.renew()
    assert team.server.asked == 1
    clock = time.monotonic()
    monkeypatch.setattr(reading.time, "monotonic", lambda: clock + reading.ASK_S + 1)
    board.renew()
    assert team.server.asked == 2
    monkeypatch.setattr(reading.time, "monotonic", lambda: clock + reading.SEEN_S + reading.ASK_S)
    board.renew()
    assert team.server.asked == 2, "nobody looked for two minutes"
    board.seen()
    board.renew()
    assert team.server.asked == 3


def test_a_pull_changes_the_page_without_a_question_to_the_server(team: Team) -> None:
    board = team.board()
    client = opened(board)
    before = client.get("/")
    team.done = team.done[: len(team.done) // 2]
    team.pull()
    board.renew()
    after = client.get("/", headers={"If-None-Match": before.headers["ETag"]})
    assert after.status_code == 200
    assert team.server.asked == 1


def test_files_that_are_being_rewritten_or_damaged_leave_the_last_state(team: Team) -> None:
    board = team.board()
    client = opened(board)
    path = team.project.out / "annotations" / "toy-words.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    board.renew()
    page = client.get("/").text
    assert "The files cannot be read" in page
    assert "toy-words.jsonl" in page
    assert persons(page) == {"a1", "a2", "a3", "a4"}
    path.write_bytes(whole)
    board.renew()
    assert "The files cannot be read" not in client.get("/").text


def test_hours_that_were_changed_by_hand_are_said(team: Team) -> None:
    path = team.project.out / "annotations" / "hours.csv"
    written = path.read_text()
    board = team.board()
    client = opened(board)
    for changed in (written.replace(",", ";"), written + "a1,2026-W01,work\n", "\ufeff" + written):
        path.write_text(changed)
        board.renew()
        page = client.get("/").text
        assert "hours.csv: changed by hand; have `touchstone annotate pull` write it anew" in unescape(page)
        assert persons(page) == {"a1", "a2", "a3", "a4"}
    path.write_text(written)
    board.renew()
    assert "changed by hand" not in client.get("/").text


def test_an_unforeseen_fault_is_said_and_the_board_goes_on(team: Team) -> None:
    faults = [KeyError("no-such-key")]

    def failing() -> Any:
        if faults:
            raise faults[0]
        return team.project

    board = team.board(failing)
    threading.Thread(target=board.run, daemon=True).start()
    deadline = time.monotonic() + 30
    while not board.state.files_problem and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "KeyError: 'no-such-key'" in read(board_page(board.state, Filters()))
    faults.clear()
    (team.project.out / "manifest.json").write_text("{}")
    while board.state.rubrics is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert board.state.rubrics is not None
    assert board.state.files_problem == ""


def test_a_reading_during_which_files_change_is_thrown_away(team: Team) -> None:
    touched: list[Path] = []

    def changing() -> Any:
        if board.state.rubrics is not None and not touched:
            touched.append(team.project.out / "annotations" / "toy-words.jsonl.tmp")
            touched[0].touch()
        return team.project

    board = team.board(changing)
    board.renew()
    first = board.state
    team.done = team.done[:5]
    team.pull()
    board.renew()
    assert board.state.rubrics == first.rubrics
    board.renew()
    assert board.state.rubrics != first.rubrics


def test_a_build_that_cannot_be_opened_is_said(team: Team) -> None:
    problems = [WrongInput("out/manifest.json: damaged manifest; run the build again")]

    def failing() -> Any:
        if problems:
            raise problems[0]
        return team.project

    board = team.board(failing)
    page = opened(board).get("/").text
    assert "damaged manifest" in page
    assert "Nothing was read yet." in page
    problems.clear()
    (team.project.out / "manifest.json").write_text("{}")
    board.renew()
    assert persons(not_renewed(board).get("/").text) == {"a1", "a2", "a3", "a4"}


def test_before_the_first_pull_and_the_first_reading_the_page_says_so(tmp_path: Path) -> None:
    team = Team(tmp_path, words(2), ["a1"])
    board = team.board()
    client = not_renewed(board)
    assert "read for the first time" in client.get("/").text
    assert client.get("/hours.csv").status_code == 404
    board.renew()
    assert "Last pull never" in read(client.get("/").text)


def test_a_rubric_without_tasks_is_not_on_the_page(tmp_path: Path) -> None:
    board = Team(tmp_path, words(1), ["a1"]).board()
    board.renew()
    (rubric,) = board.state.rubrics or ()
    empty = replace(rubric, name="toy-empty", states={}, lines=())
    page = board_page(replace(board.state, rubrics=(rubric, empty)), Filters())
    assert "0 of 1 tasks finished" in read(page)
    assert "toy-empty" not in page, "neither as a section nor in the filters"
    page = board_page(replace(board.state, rubrics=(empty,)), Filters())
    assert "This build has no task for people." in read(page)


def test_long_lists_are_cut_and_say_so(tmp_path: Path) -> None:
    team = Team(tmp_path, words(SHOWN + 3), ["a1"])
    for task in team.tasks:
        team.do(task, "a1", now(), 60, YES, "Why?")
    team.pull()
    client = opened(team.board())
    page = client.get("/?person=a1").text
    assert read(page).count("Why?") == SHOWN
    assert "and 3 more" in read(page)
    (whole,) = re.findall(r'and <a href="([^"]+)">3 more', page)
    assert unescape(whole) == "/?person=a1&kind=questions"
    page = client.get(unescape(whole)).text
    linked = re.findall(r"href=\"([^\"]+[?]task=[^\"]+)\"[^>]*><bdi>Why[?]", page)
    assert len(set(linked)) == SHOWN + 3, "each has the address of its task"
    assert "People who stand out" not in read(page)


def test_whatever_waits_has_the_address_of_its_task(tmp_path: Path) -> None:
    client = opened(busy_team(tmp_path, 600, 4, now()).board())

    def addresses(page: str) -> set[str]:
        return set(re.findall(r'href="([^"]+[?]task=[^"]+)"[^>]* aria-label="task', page))

    first = client.get("/").text
    whole = {unescape(address) for address in re.findall(r'and <a href="(/[?][^"]*kind=reviews[^"]*)"', first)}
    assert whole
    for address in whole:
        page = client.get(address).text
        waits = re.search(r"Waiting for a review ([\d,]+)", read(page))
        assert waits is not None
        assert len(addresses(page)) == int(waits[1]) > SHOWN


def test_a_trend_needs_two_values() -> None:
    told = Point("W1", 0.5, 0.4, 0.6, 12)
    assert trend([told, Point("W2", None, None, None, 3)], "Agreement", percent=True) == ""
    drawn = trend([told, Point("W2", 1.0, 0.8, 1.0, 12)], "Agreement", percent=True)
    assert 'points="3.0,12.0 81.0,3.0"' in drawn
    assert "W2 100% (12)" in drawn
    assert "25 Nov under 0.1 min (12)" in trend([Point("25 Nov", 0.04, None, None, 12)] * 2, "Minutes")


def test_a_port_that_is_taken_is_an_error() -> None:
    with listen_on(0) as taken, pytest.raises(OSError, match="in use"):
        listen_on(taken.getsockname()[1])


def test_who_opens_the_board_before_its_server_runs_is_not_refused() -> None:
    with listen_on(0) as listening, socket.create_connection(listening.getsockname()[:2], timeout=5):
        pass


@pytest.mark.slow
def test_the_page_of_a_large_team_stays_small(tmp_path: Path) -> None:
    team = busy_team(tmp_path, 600, 20, now() - timedelta(days=1))
    board = team.board()
    board.renew()
    assert len(board_page(board.state, Filters())) < 200_000


def test_where_people_differ_comes_by_worth_with_each_person_s_reliability(tmp_path: Path) -> None:
    team = Team(tmp_path, words(30), ["a1", "a2", "a3"], per_item=2)
    for number, task in enumerate(team.tasks):
        said = "no" if number in (4, 9) else "yes"
        team.do(task, "a1", now(), 60, YES)
        team.do(task, ("a2", "a3")[number % 2], now(), 60, {"decision": said, "upper": task.drafts["upper"]})
    team.pull()
    board = team.board()
    page = opened(board).get("/").text
    (collected,) = board._collected
    assert [collected.worth(one) for one in collected.disagreements] == sorted(
        (collected.worth(one) for one in collected.disagreements), reverse=True
    )
    assert f"wrong as it stands: {collected.worth(collected.disagreements[0]):.0%}" in page
    assert collected.reliabilities is not None
    right = collected.reliabilities.people["a1"].right
    assert f'data-label="decides right">{right:.0%}<' in page
    assert "Where people differ" in not_renewed(board).get("/?person=a1&look=1").text
