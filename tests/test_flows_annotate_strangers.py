"""Strangers: from a study's link through consent, practice and their tasks to a code; what else they reach: nothing."""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from annotation.assign import Assignment, Further, Shortage, assign, without_gold
from annotation.label_studio.config import label_config
from annotation.label_studio.listener import Listener
from annotation.label_studio.server import open_to
from annotation.label_studio.strangers import (
    JOINED,
    STANDING,
    STUDY,
    Study,
    address_of,
    open_study,
    standings,
    strangers,
    study_of,
    write_standings,
)  # fmt: skip
from annotation.label_studio.sync import Queue, projects_of, push_queue
from annotation.practice import PRACTICE, failed_practice, passed_practice, practice_for, practice_of
from flows.annotate import screening, server_terminal
from flows.annotate.hours import HOURS
from flows.annotate.progress import progress
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.annotate.readers import unread
from flows.annotate.screening import Screening
from flows.annotate.server_terminal import CODE, SCREENED_OUT_CODE, _study, start_server
from flows.annotate.team import strangers_of
from flows.construct.people import sample
from flows.project.annotation_settings import AnnotationSettings, StrangersSettings
from flows.project.settings import ConfigError, load_config
from schemas.errors import Failed, WrongInput
from tests.builds import ROOT
from tests.forms import PHONE, close_guideline
from tests.label_studio import Served
from tests.legible import LEGIBLE, contrasts, set_theme
from tests.test_annotation_assign import CHECKED, KNOWN, tasks
from tests.test_annotation_quality import RUBRIC, practised, task
from tests.test_documentation import blocks
from tests.test_flows_annotate_work import ANIMALS, JUDGED, Bench, judged, known, verdicts

OFFER = Study(
    study="64afs1",
    most_people=3,
    consent="<h2>About this study</h2><p>We ask what words are. You may stop at any time.</p>",
    consent_sha256="0a1b",
    code="DONE1",
    screened_out_code="OUT2",
)
ASKED = StrangersSettings(study=OFFER.study, rubric=JUDGED.name, consent="consent.md", most_people=3, most_tasks=4)
FIRST, SECOND, THIRD, FOURTH, FIFTH = (f"5f00000000000000000000a{number}" for number in range(5))
PAGE = {"width": 1366, "height": 768}


# ---- limits, screening, files ----


def test_nobody_gets_more_new_tasks_than_the_limit_known_ones_among_them() -> None:
    given = assign(tasks(100), "ab", CHECKED, 1, gold=KNOWN, most_new=without_gold(20, CHECKED))
    assert {by: len(queue) for by, queue in given.queues.items()} == {"a": 20, "b": 20}
    assert [(most, without_gold(most, CHECKED)) for most in (1, 2, 19)] == [(1, 1), (2, 1), (19, 17)], "never none"
    further = Further({(f"k{number}", "a"): 1.0 for number in range(50)}, {})
    some = assign(tasks(50), "a", CHECKED, 1, gold=KNOWN, held={"a": ["k0"]}, further=further, most_new=3)
    assert sum(not one.right_answers for one in some.queues["a"]) == 4, "what is held stays"


def test_who_is_wrong_again_after_being_told_has_failed_practice() -> None:
    practice = practice_of([task(number, "yes") for number in range(5)], RUBRIC, seed=1)
    given = [practised(one, "a", "yes" if place else "no", "2026-01-01") for place, one in enumerate(practice)]
    assert not passed_practice("a", practice, given, RUBRIC)
    assert not failed_practice("a", practice, given, RUBRIC)
    told = practice_for("a", practice, given, RUBRIC)[0]
    again = [*given, practised(told, "a", "no", "2026-01-02")]
    assert failed_practice("a", practice, again, RUBRIC)
    assert not failed_practice("b", practice, again, RUBRIC)
    right = [*given, practised(told, "a", "yes", "2026-01-02")]
    assert not failed_practice("a", practice, right, RUBRIC)
    assert passed_practice("a", practice, right, RUBRIC)


def test_the_files_are_private_and_codes_are_not_shown(tmp_path: Path) -> None:
    assert (study_of(tmp_path), strangers(tmp_path), standings(tmp_path, "toys")) == (None, [], {})
    open_study(tmp_path, OFFER)
    write_standings(tmp_path, "toys (pilot)", {"p1": "none left"})
    write_standings(tmp_path, "toys", {"p1": "left"})
    assert (study_of(tmp_path), standings(tmp_path, "toys")) == (OFFER, {"p1": "left"})
    assert standings(tmp_path, "toys (pilot)") == {"p1": "none left"}
    assert {(tmp_path / name).stat().st_mode & 0o077 for name in (STUDY, STANDING)} == {0}
    assert OFFER.code not in repr(OFFER)
    (tmp_path / JOINED).write_text(f"# head\np1\t{OFFER.study}\t{FIRST}\t2026-11-01T10:00:00+00:00\tab\n")
    (one,) = strangers(tmp_path)
    assert (one.code, one.study) == ("p1", OFFER.study)
    assert FIRST not in repr(one)
    (tmp_path / JOINED).write_text("p1\tx\n")
    with pytest.raises(Failed, match="damaged: expected five columns"):
        strangers(tmp_path)


def test_the_guides_command_deletes_the_ids_alone(tmp_path: Path) -> None:
    folder = tmp_path / ".touchstone" / "label-studio"
    folder.mkdir(parents=True)
    lines = [f"p{number}\t{OFFER.study}\t{FIRST}{number}\t2026-11-01T10:00:00+00:00\tab\n" for number in (1, 2)]
    (folder / JOINED).write_text("# head\tof\tcolumns\n" + "".join(lines))
    before = strangers(folder)
    (command,) = blocks(ROOT / "docs" / "annotate.md", "shell")
    subprocess.run(["bash", "-ec", command], cwd=tmp_path, check=True)
    assert FIRST not in (folder / JOINED).read_text()
    assert (folder / JOINED).read_text().startswith("# head\tof\tcolumns\n")
    assert strangers(folder) == before
    assert (folder / JOINED).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.iterdir()] == [JOINED]


def configured(tmp_path: Path, strangers: str, people: str = "{a1: anna@example.org}", more: str = "") -> Any:
    path = tmp_path / "my.yaml"
    path.write_text(
        f"name: x\nannotation: {{people: {people}, strangers: {{{strangers}}}{more}}}\nfamilies: {{reeval: {{}}}}\n"
    )
    return load_config(path)


GOOD = "study: 64af, rubric: reeval-support, consent: consent.md, most_people: 2, most_tasks: 20"


@pytest.mark.parametrize(
    ("strangers", "people", "more", "said"),
    [
        (GOOD, "{}", "", "name the `people` too: they decide where strangers differ"),
        (GOOD, "{p1: anna@example.org}", "", "people.p1: strangers have codes such as p1"),
        (GOOD, "{a1: p1@Strangers.invalid}", "", "people.a1: strangers have codes such as p1"),
        (GOOD, "{a1: anna@example.org}", ", url: 'https://labels.example.org'", "people join on the `local` server"),
        (GOOD.replace("64af", "'64af/..'"), "{a1: anna@example.org}", "", "annotation.strangers.study"),
        (GOOD.replace("most_tasks: 20", "most_tasks: 1"), "{a1: anna@example.org}", "", "strangers.most_tasks"),
    ],
)
def test_what_is_wrong_with_a_study_is_one_line(
    tmp_path: Path, strangers: str, people: str, more: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        configured(tmp_path, strangers, people, more)


def test_the_link_offers_what_is_configured_and_the_code_is_the_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (CODE, SCREENED_OUT_CODE):
        monkeypatch.delenv(name, raising=False)
    config = configured(tmp_path, GOOD, more=", lead: a1")
    assert config.annotation.strangers.consent == str(tmp_path / "consent.md")
    with pytest.raises(WrongInput, match=r"place.consent: .*consent.md: no such file"):
        _study(config, tmp_path, "place")
    (tmp_path / "consent.md").symlink_to("/dev/zero")
    with pytest.raises(WrongInput, match=r"place.consent: .*consent.md: expected a file, found a device"):
        _study(config, tmp_path, "place")
    (tmp_path / "consent.md").unlink()
    (tmp_path / "consent.md").write_text("# Consent\n\nYou may <b>stop</b>.\n")
    with pytest.raises(WrongInput, match=f"set {CODE} to the completion code"):
        _study(config, tmp_path, "place")
    monkeypatch.setenv(CODE, "C0DE")
    first = _study(config, tmp_path, "place")
    assert first is not None
    open_study(tmp_path, first)
    monkeypatch.delenv(CODE)
    offered = _study(config, tmp_path, "place")
    assert offered is not None
    assert (offered.code, offered.screened_out_code, offered.most_people) == ("C0DE", "", 2)
    assert "<h1>Consent</h1>" in offered.consent
    assert "&lt;b&gt;" in offered.consent
    with pytest.raises(WrongInput, match=r"place.rubric: nobody is asked under this rubric; did you mean"):
        _study(configured(tmp_path, GOOD.replace("reeval-support", "reeval-suport")), tmp_path, "place")


class Started(Exception):
    """The server would be started now."""


def test_what_is_wrong_with_a_study_is_said_before_the_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def up(*given: object) -> None:
        raise Started

    monkeypatch.setattr(server_terminal.server, "up", up)
    monkeypatch.delenv(CODE, raising=False)
    path = tmp_path / "my.yaml"
    configured(tmp_path, GOOD)
    with pytest.raises(WrongInput, match=r"consent.md: no such file"):
        start_server(path, None, show_password=False)
    (tmp_path / "consent.md").write_text("You may stop.\n")
    with pytest.raises(WrongInput, match=f"set {CODE}"):
        start_server(path, None, show_password=False)
    configured(tmp_path, GOOD.replace("reeval-support", "reeval-suport"))
    with pytest.raises(WrongInput, match="nobody is asked under this rubric"):
        start_server(path, None, show_password=False)
    configured(tmp_path, GOOD)
    monkeypatch.setenv(CODE, "C0DE")
    with pytest.raises(Started):
        start_server(path, None, show_password=False)


def test_a_configuration_without_a_study_leaves_the_open_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".touchstone" / "label-studio"
    folder.mkdir(parents=True)
    open_study(folder, OFFER)
    owner = server_terminal.server.Owner(email="owner@touchstone.local", password="x", token="t")
    running = server_terminal.server.Running(url="http://127.0.0.1:1", owner=owner, before=True)
    monkeypatch.setattr(server_terminal.server, "up", lambda *given: running)
    monkeypatch.setattr(server_terminal, "_make_accounts_and_projects", lambda *given: None)
    (tmp_path / "other.yaml").write_text("name: y\nfamilies: {reeval: {}}\n")
    start_server(tmp_path / "other.yaml", None, show_password=False)
    assert study_of(folder) == OFFER


def test_the_study_of_another_build_is_not_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "consent.md").write_text("You may stop.\n")
    monkeypatch.setenv(CODE, "C0DE")
    config = configured(tmp_path, GOOD)
    for build in ("", "x"):
        open_study(tmp_path, OFFER.model_copy(update={"build": build}))
        offered = _study(config, tmp_path, "place")
        assert offered is not None
        assert offered.build == "x"
    folder = tmp_path / "label-studio"
    folder.mkdir()
    (folder / JOINED).write_text(f"p1\t{OFFER.study}\tx\t{ago(1)}\tab\n")
    project: Any = SimpleNamespace(config=SimpleNamespace(annotation=config.annotation, state=tmp_path, name="x"))
    open_study(folder, OFFER.model_copy(update={"build": "x", "study": "earlier"}))
    assert strangers_of(project) == ("p1",), "people of an earlier study of the build go on"
    for at in (tmp_path, folder):
        open_study(at, OFFER.model_copy(update={"build": "y"}))
    said = r"annotation.strangers: the study on this store's Label Studio \(.*\) is that of y, .* a `store` of its own$"
    with pytest.raises(WrongInput, match=said):
        _study(config, tmp_path, "place")
    with pytest.raises(WrongInput, match=said):
        strangers_of(project)


def test_whoever_listens_hears_that_somebody_joined(tmp_path: Path) -> None:
    joined = tmp_path / JOINED
    with Listener(tmp_path / "state", watched=joined) as listener, ThreadPoolExecutor(1) as threads:
        listener.forget()
        listener.wait(0.1)
        waiting = threads.submit(listener.wait, 60.0)
        joined.write_text("somebody")
        waiting.result(20)
        listener.forget()
        began = time.monotonic()
        listener.wait(0.5)
        assert time.monotonic() - began >= 0.4, "it is heard once"


NOW = datetime.now(UTC)


def ago(hours: float) -> str:
    return (NOW - timedelta(hours=hours)).isoformat()


@pytest.fixture
def joined(tmp_path: Path) -> Callable[..., Screening]:
    """The screening of three people, of whom the first two joined the open study; the last one an earlier study."""
    (tmp_path / "label-studio").mkdir()
    lines = [
        f"p{number}\t{study}\tx\t{ago(50)}\tab\n" for number, study in ((1, OFFER.study), (2, OFFER.study), (3, "a"))
    ]
    (tmp_path / "label-studio" / JOINED).write_text("".join(lines))
    work = SimpleNamespace(rubric=JUDGED, practice_of=lambda by: ([], JUDGED))

    def made(most_people: int = 2, limit: int | None = None) -> Screening:
        study = ASKED.model_copy(update={"most_people": most_people})
        asking = AnnotationSettings(people={"a1": "anna@example.org"}, strangers=study)
        config = SimpleNamespace(annotation=asking, state=tmp_path, name="toys")
        return Screening(SimpleNamespace(config=config, limit=limit), work, [])  # type: ignore[arg-type]

    return made


def test_nobody_leaves_while_there_was_nothing_to_do(joined: Callable[..., Screening]) -> None:
    made = {"p1": [ago(49), ago(1)], "p2": [ago(49), ago(30)], "p3": []}
    people = joined()
    people.judge(lambda by: [{"created_at": at} for at in made[by]])
    assert people.standing == {"p2": "left"}


def test_that_tasks_lack_people_is_told_once_nobody_can_come(joined: Callable[..., Screening]) -> None:
    lacking = [Shortage(key="k", wanted=2, assigned=1), Shortage(by="p1", wanted=2, assigned=1)]
    everybody, given = ["p1", "p2", "p3"], Assignment(queues={}, later={}, shortages=())

    def told(people: Screening, passed: list[str]) -> list[Shortage]:
        return people.settle(lacking, passed, given)

    assert told(joined(most_people=3), everybody) == lacking[1:], "there is a place left"
    assert told(joined(), everybody) == lacking, "the place of the earlier study is none of this one's"
    people = joined(limit=2)
    assert told(people, ["p1", "p3"]) == lacking[1:], "somebody is practising"
    people.standing["p2"] = "left"
    assert told(people, ["p1", "p3"]) == lacking[1:], "and leaves a place"


def test_a_pilots_standing_is_its_own(joined: Callable[..., Screening]) -> None:
    pilot = joined(limit=2)
    pilot.settle([], ["p1"], Assignment(queues={}, later={}, shortages=()))
    assert pilot.standing == joined(limit=2).standing == {"p1": "none left"}
    assert joined().standing == {}


def test_strangers_get_the_languages_of_the_study(tmp_path: Path) -> None:
    settings = configured(tmp_path, GOOD).annotation
    assert [settings.can_read(by, language) for by in ("p1", "a1") for language in ("en", "zh")] == [
        True,
        False,
        True,
        True,
    ]
    both = configured(tmp_path, f"{GOOD}, languages: [en, zh]").annotation
    assert both.can_read("p1", "zh")
    tasks = [SimpleNamespace(language=language) for language in ("en", "zh", "zh")]
    works: Any = [SimpleNamespace(rubric=SimpleNamespace(name=name), tasks=tasks) for name in ("reeval-support", "b")]
    (line,) = unread(settings, works)
    assert line.startswith("reeval-support: 2 tasks in Chinese, which strangers do not read: add zh")
    assert list(unread(both, works)) == []


# ---- on the real server ----


class Visitor:
    """Somebody's browser, as far as addresses go."""

    def __init__(self, served: Served, person: str) -> None:
        self.http = httpx.Client(base_url=served.url)
        self.ids = {"PROLIFIC_PID": person, "STUDY_ID": OFFER.study, "SESSION_ID": "9"}

    def comes(self) -> httpx.Response:
        return self.http.get("/join", params=self.ids)

    def agrees(self, **more: str) -> httpx.Response:
        token = self.http.cookies.get("csrftoken", "")
        return self.http.post("/join", data={**self.ids, "csrfmiddlewaretoken": token, **more})

    def joins(self) -> "Visitor":
        assert "I agree" in self.comes().text
        answer = self.agrees()
        assert (answer.status_code, answer.headers["location"]) == (302, "/")
        return self

    def page(self) -> str:
        return self.http.get("/").text

    def submits(self, row: Mapping[str, Any], decision: str) -> None:
        result = [
            {"from_name": "decision", "to_name": "shown-text", "type": "choices", "value": {"choices": [decision]}}
        ]
        answer = self.http.post(f"/api/tasks/{row['id']}/annotations/", json={"result": result, "lead_time": 60})
        assert answer.status_code == 201


@pytest.fixture
def visit(label_studio: Served) -> Iterator[Callable[[str], Visitor]]:
    """Make a visitor with this id at the platform."""
    open_study(label_studio.folder, OFFER)
    with ExitStack() as stack:

        def made(person: str) -> Visitor:
            visitor = Visitor(label_studio, person)
            stack.callback(visitor.http.close)
            return visitor

        yield made


@pytest.fixture
def study(label_studio: Served, tmp_path: Path) -> Bench:
    """A build whose words strangers judge; its only named person decides where they differ."""
    bench = Bench(label_studio, tmp_path, {"lea": "lea@example.org"}, sample(JUDGED, judged, known), lead="lea")
    bench.strangers = ASKED
    return bench


def open_rows(bench: Bench, form: str, by: str) -> list[dict[str, Any]]:
    return [row for row in bench.queue(form, by) if not row["total_annotations"]]


@pytest.mark.slow
def test_from_the_link_to_the_code(
    study: Bench, visit: Callable[[str], Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, client, folder = study.project(ANIMALS[:6]), study.served.client, study.served.folder
    answers = {
        one.shown["text"]: one.right_answers["decision"] for one in known(project.build.accepted("toy", "words"), (), 3)
    }
    practice = f"{JUDGED.name}-{PRACTICE}"

    def right(row: Mapping[str, Any]) -> str:
        return answers.get(row["data"]["shown_text"], "yes")

    def turn() -> None:
        pull(project, client)
        push(project, client)

    able, unfit, gone = (visit(person).joins() for person in (FIRST, SECOND, THIRD))
    assert "All places of this study are taken" in visit(FOURTH).comes().text
    assert "Your first tasks are being prepared" in able.page()
    turn()
    assert [len(study.queue(practice, by)) for by in ("p1", "p2", "p3")] == [5, 5, 5]
    assert study.queue(JUDGED.name, "lea") == [], "named people leave the tasks to strangers"
    for row in study.queue(practice, "p1"):
        able.submits(row, right(row))
    assert "Your answers are being looked at" in able.page()
    for _ in range(2):  # told what is right, and wrong again
        for row in open_rows(study, practice, "p2"):
            unfit.submits(row, "no")
        turn()
    assert standings(folder, "toys") == {"p2": "screened out"}
    page = unfit.page()
    assert "cannot give you more" in page
    assert OFFER.screened_out_code in page
    assert OFFER.code not in page
    assert open_rows(study, practice, "p2") == study.queue(JUDGED.name, "p2") == []

    rows = study.queue(JUDGED.name, "p1")
    assert len(rows) == ASKED.most_tasks
    for row in rows[1:]:
        able.submits(row, right(row))
    assert OFFER.code not in able.page()
    able.submits(rows[0], right(rows[0]))
    page = able.page()
    assert f"https://app.prolific.com/submissions/complete?cc={OFFER.code}" in page
    assert "Projects</a>" not in page
    open_study(folder, OFFER.model_copy(update={"study": "later", "code": "LATER3", "screened_out_code": "LATER4"}))
    page = able.page()
    assert ("All done" in page, "LATER3" in page, OFFER.code in page) == (True, False, False), "not their study's code"
    assert "LATER4" not in unfit.page()
    open_study(folder, OFFER)
    turn()
    assert len(study.queue(JUDGED.name, "p1")) == ASKED.most_tasks, "nothing more comes"

    # The third passes, and leaves; the next one gets those tasks, and for the last there are none.
    for row in study.queue(practice, "p3"):
        gone.submits(row, right(row))
    turn()
    left = {row["data"]["shown_text"] for row in study.queue(JUDGED.name, "p3")} - answers.keys()
    assert len(left) == ASKED.most_tasks - 1, "one of them has a known answer"
    monkeypatch.setattr(screening, "GONE", timedelta(0))
    turn()
    monkeypatch.undo()
    assert standings(folder, "toys") == {"p2": "screened out", "p3": "left"}
    assert study.queue(JUDGED.name, "p3") == []
    assert "went to others" in gone.page()
    assert OFFER.code not in gone.page()
    later = {"p4": visit(FOURTH).joins(), "p5": visit(FIFTH).joins()}
    turn()
    for by, next_one in later.items():
        for row in study.queue(practice, by):
            next_one.submits(row, right(row))
        turn()
        has = {row["data"]["shown_text"] for row in study.queue(JUDGED.name, by)} - answers.keys()
        assert has == (left if by == "p4" else set())
    assert OFFER.code in next_one.page(), "it is not theirs that nothing is left"
    assert standings(folder, "toys")["p5"] == "none left"

    # The lead sees codes alone; ids and completion codes are nowhere but in the files of the server's folder.
    assert list(verdicts(project).values()) == ["accept"] * (ASKED.most_tasks - 1)
    assert {line.by for line in progress(project, client)} >= {"p1", "p2", "p3"}
    texts = [path.read_text("utf-8") for path in project.out.rglob("*") if path.suffix in (".jsonl", ".csv", ".html")]
    assert any(line.startswith("p1,") for line in (project.out / HOURS).read_text("utf-8").splitlines())
    everything = "".join([*texts, (folder / "server.log").read_text("utf-8")])
    for secret in (FIRST, THIRD, OFFER.code, OFFER.screened_out_code):
        assert secret not in everything


@pytest.mark.slow
def test_the_link_takes_nothing_else(study: Bench, visit: Callable[[str], Visitor]) -> None:
    served = study.served

    def refused(answer: httpx.Response, said: str) -> None:
        assert (answer.status_code in (400, 403), said in answer.text) == (True, True), answer.text

    other = visit(FIRST)
    other.ids["STUDY_ID"] = "another"
    refused(other.comes(), "This link is for another study")
    for person in ("", "a" * 10_000, "<script>alert(1)</script>", "5f\n5f", "5f\t5f", "../5f", "é"):
        refused(visit(person).comes(), "no valid participant id")
        assert "alert(1)" not in visit(person).comes().text
    visitor = visit(FIRST)
    refused(visitor.agrees(), "CSRF")
    visitor.comes()
    refused(visitor.http.post("/join", data=visitor.ids), "CSRF")
    assert not (served.folder / JOINED).exists(), "nobody has joined"
    assert set(served.client.users()) == {"owner@touchstone.local"}
    assert visitor.comes().headers["X-Frame-Options"] == "DENY"
    answer = visitor.agrees(next="https://evil.example/", code="p9")
    assert answer.headers["location"] == "/"
    assert [one.code for one in strangers(served.folder)] == ["p1"]
    assert (served.folder / JOINED).stat().st_mode & 0o077 == 0
    *joined, agreed_at, consent = (served.folder / JOINED).read_text().splitlines()[-1].split("\t")
    assert (joined, consent) == (["p1", OFFER.study, FIRST], OFFER.consent_sha256)
    assert abs(datetime.fromisoformat(agreed_at) - datetime.now(UTC)) < timedelta(minutes=10)
    # Once more, with the link alone and in another browser, it is the same person.
    again = visit(FIRST)
    assert again.comes().headers["location"] == "/"
    assert "One moment" in again.page()
    assert len(strangers(served.folder)) == 1
    open_study(served.folder, OFFER.model_copy(update={"study": "later"}))
    again.ids["STUDY_ID"] = "later"
    refused(again.comes(), "You took part in an earlier study")
    open_study(served.folder, OFFER.model_copy(update={"most_people": 0}))
    refused(visit(SECOND).comes(), "All places of this study are taken")
    # Somebody of another study takes none of its places, nor does who left; who found no task has had one.
    open_study(served.folder, OFFER.model_copy(update={"study": "later", "most_people": 1}))
    later = visit(SECOND)
    later.ids["STUDY_ID"] = "later"
    assert "I agree" in later.comes().text
    open_study(served.folder, OFFER.model_copy(update={"most_people": 1}))
    for standing in ("left", "screened out", "none left"):
        write_standings(served.folder, "toys", {"p1": standing})
        assert ("I agree" in visit(SECOND).comes().text) == (standing != "none left"), standing
    open_study(served.folder, OFFER.model_copy(update={"most_people": 0}))
    again.ids["STUDY_ID"] = OFFER.study
    assert again.comes().headers["location"] == "/", "who has joined comes back to a closed study"
    (served.folder / STUDY).unlink()
    refused(again.comes(), "No study is open here")


@pytest.mark.slow
def test_of_those_who_agree_at_once_as_many_join_as_there_are_places(
    label_studio: Served, visit: Callable[[str], Visitor]
) -> None:
    visitors = [visit(person) for person in (FIRST, SECOND, THIRD, FOURTH, FIFTH, FIRST)]
    assert {visitor.comes().status_code for visitor in visitors} == {200}
    with ThreadPoolExecutor(len(visitors)) as threads:
        answers = list(threads.map(Visitor.agrees, visitors))
    told = sorted(answer.status_code for answer in answers)
    assert told in ([302] * 3 + [403] * 3, [302] * 4 + [403] * 2), "the first, who comes twice, has one place"
    assert [one.code for one in strangers(label_studio.folder)] == ["p1", "p2", "p3"]


@pytest.mark.slow
def test_behind_a_proxy_with_tls(label_studio: Served, visit: Callable[[str], Visitor]) -> None:
    visitor = visit(FIRST)
    visitor.http.headers.update({"Host": "labels.example.org", "X-Forwarded-Proto": "https"})
    assert visitor.comes().status_code == 403
    open_to(label_studio.folder, "https://labels.example.org")
    visitor.comes()
    visitor.http.headers["Origin"] = "https://evil.example"
    assert visitor.agrees().status_code == 403
    visitor.http.headers.update({"Origin": "https://labels.example.org", "Referer": "https://labels.example.org/join"})
    assert visitor.agrees().headers["location"] == "/"


@pytest.mark.slow
def test_a_stranger_reaches_their_own_queues_alone(study: Bench, visit: Callable[[str], Visitor]) -> None:
    project, client = study.project(ANIMALS[:4]), study.served.client
    first, second = visit(FIRST).joins(), visit(SECOND).joins()
    push(project, client)
    practice = f"{JUDGED.name}-{PRACTICE}"
    own, others = (projects_of(client, "toys")[f"toys/{practice}@1/{by}"].id for by in ("p1", "p2"))
    push_queue(client, Queue("toys/other@1/all", "Everybody's", label_config(JUDGED), "", []), None)
    (mine, *_), (theirs, *_) = study.queue(practice, "p1"), study.queue(practice, "p2")
    second.submits(theirs, "yes")
    (annotation,) = client.annotations(theirs["id"])
    secrets = ("api/users/1/", "api/current-user/token", "api/token/", "api/invite", "api/organizations/",
               f"api/projects/{others}/", f"api/projects/{own}/export", f"api/tasks/{theirs['id']}/",
               f"api/annotations/{annotation['id']}/", f"api/tasks?project={others}",
               f"api/tasks?project={others}&project={own}", f"api/dm/project?project={others}", "api/webhooks/",
               "api/tasks", "api/tasks?project=x", f"api/tasks?project={own}&query=%7B%7D",
               f"api/dm/actions?project={own}&id=next_task",
               f"api/projects/{own}/validate/", "api/storages/")  # fmt: skip
    assert {path: first.http.get(f"/{path}").status_code for path in secrets} == dict.fromkeys(secrets, 403)
    for method, path in (
        ("POST", f"api/tasks/{theirs['id']}/annotations/"), ("DELETE", f"api/projects/{own}/"),
        ("PATCH", f"api/projects/{own}/"), ("PATCH", f"api/tasks/{mine['id']}/"), ("PATCH", "api/users/1/"),
        ("POST", f"api/dm/actions?project={own}&id=delete_tasks"), ("POST", "api/projects/"),
        ("POST", f"api/dm/actions?project={others}&id=next_task"), ("POST", f"api/projects/{own}/import"),
        ("POST", f"check-texts/{theirs['id']}"), ("PUT", f"api/tasks/{mine['id']}/annotations/"),
    ):  # fmt: skip
        assert first.http.request(method, f"/{path}", json={}).status_code == 403, (method, path)
    assert first.http.get("/api/users").json() == []
    assert [one["id"] for one in first.http.get("/api/projects/").json()["results"]] == [own]
    for page in (
        "projects/", "user/account", f"projects/{others}/data", f"projects/{own}/settings/", "admin/",
        f"check-texts/{mine['id']}",
    ):  # fmt: skip
        assert first.http.get(f"/{page}").headers["location"] == "/", page
    assert client.annotations(mine["id"]) == []

    # What is sent says nothing of other people, tasks and projects either.
    first.submits(mine, "yes")
    (own_work,) = client.annotations(mine["id"])
    me, lead = own_work["completed_by"], client.users()["lea@example.org"]
    (free, *_) = open_rows(study, practice, "p1")
    body = {"result": own_work["result"], "lead_time": 5}
    draft = first.http.post(f"/api/tasks/{free['id']}/drafts", json={**body, "project": own}).json()["id"]
    for more in (
        {"task": theirs["id"]}, {"task": None}, {"project": others}, {"completed_by": lead}, {"completed_by": None},
        {"annotation": annotation["id"]}, {"parent_annotation": annotation["id"]}, {"parent_prediction": 1},
        {"user": lead}, {"updated_by": lead}, {"ground_truth": True}, {"last_created_by": lead},
    ):  # fmt: skip
        for method, path in (
            ("POST", f"tasks/{free['id']}/annotations/"), ("PATCH", f"annotations/{own_work['id']}/"),
            ("POST", f"tasks/{free['id']}/drafts"), ("PATCH", f"drafts/{draft}/"),
        ):  # fmt: skip
            answer = first.http.request(method, f"/api/{path}", json={**body, **more})
            assert answer.status_code == 403, (method, path, more)
    form = {"task": str(theirs["id"]), "completed_by": str(lead)}
    coded = b'{"result": "+ACIALAAiAHQAYQBzAGsAIgA6-1,+ACI-x+ACI-:+ACI-"}'
    for sent in (
        {"data": form}, {"files": {name: (None, value) for name, value in form.items()}}, {"json": [form]},
        {"content": coded, "headers": {"Content-Type": "application/json; charset=utf-7"}},
        {"content": b"{", "headers": {"Content-Type": "application/json"}},
        {"content": json.dumps(body), "headers": {"Content-Type": "text/plain"}},
    ):  # fmt: skip
        assert first.http.patch(f"/api/annotations/{own_work['id']}/", **sent).status_code == 403, sent
    for method in ("PUT", "DELETE"):
        assert first.http.request(method, f"/api/annotations/{own_work['id']}/", json=body).status_code == 403, method
    path = f"/api/tasks/{mine['id']}/annotations/{annotation['id']}/drafts"
    assert first.http.post(path, json=body).status_code == 403, "a draft of somebody else's annotation"
    assert [len(client.annotations(row["id"])) for row in (mine, theirs, free)] == [1, 1, 0]
    (kept,) = client.annotations(mine["id"])
    assert (kept["id"], kept["completed_by"]) == (own_work["id"], me)
    # What the form sends goes through, its own numbers among it.
    body |= {
        "project": str(own),
        "parent_prediction": None,
        "parent_annotation": None,
        "started_at": kept["created_at"],
    }
    changed = first.http.patch(f"/api/annotations/{kept['id']}/", json={**body, "id": kept["id"], "task": mine["id"]})
    assert changed.status_code == 200
    path = f"/api/tasks/{mine['id']}/annotations/{kept['id']}/drafts"
    assert first.http.post(path, json=body).status_code == 201
    corrected = client.annotate(free["id"], [])
    path, named = f"/api/tasks/{free['id']}/annotations/", {**body, "parent_annotation": corrected}
    assert first.http.post(path, json=named).status_code == 403, "of somebody else, on one's own task"
    sent = {**body, "draft_id": draft, "completed_by": me}
    assert first.http.post(f"/api/tasks/{free['id']}/annotations/", json=sent).status_code == 201

    # Nor does a named person become a stranger by a link.
    people = accounts_with_passwords(study)
    named = visit(THIRD)
    login = named.http.get("/user/login/")
    assert login.status_code == 200
    named.http.post("/user/login/", data={**people, "csrfmiddlewaretoken": named.http.cookies["csrftoken"]})
    assert "You are logged in here already" in named.comes().text
    assert len(strangers(study.served.folder)) == 2


def accounts_with_passwords(study: Bench) -> dict[str, str]:
    """The login of the named person."""
    lines = (study.served.folder / "people.txt").read_text(encoding="utf-8").splitlines()
    (login,) = [line.split("\t") for line in lines if line.startswith("lea\t")]
    return {"email": login[1], "password": login[2]}


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_in_a_browser(study: Bench, visit: Callable[[str], Visitor], browser: Any, tmp_path: Path) -> None:
    """From the consent page over a form to the code; SCREENSHOTS names a folder for what it looks like."""
    project, client = await asyncio.to_thread(study.project, ANIMALS[:2]), study.served.client
    page = await browser.new_page(viewport=PHONE)
    page.set_default_timeout(120_000)
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(answer.url) if answer.status in (403, 500) else None)
    folder = Path(os.environ.get("SCREENSHOTS", str(tmp_path)))

    async def looks(name: str) -> None:
        for size, word in ((PHONE, "phone"), (PAGE, "laptop")):
            await page.set_viewport_size(size)
            assert await page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
            await page.screenshot(path=folder / f"{name}.{word}.png")
        for theme in ("dark", "light"):
            await set_theme(page, theme)
            assert min(await contrasts(page, "h1, h2, p, a, button, b")) >= LEGIBLE, (name, theme)

    await page.goto(f"{study.served.url}/join?PROLIFIC_PID={FIRST}&STUDY_ID={OFFER.study}&SESSION_ID=9")
    await page.get_by_text("We ask what words are.").wait_for()
    await looks("consent")
    await page.get_by_role("button", name="I agree").click()
    await page.get_by_text("One moment").wait_for()
    assert FIRST not in page.url
    push(project, client)
    for row in study.queue(f"{JUDGED.name}-{PRACTICE}", "p1"):
        study.hand_in(row, address_of("p1"), {"decision": right_answer(project, row)})
    pull(project, client)
    push(project, client)
    rows = study.queue(JUDGED.name, "p1")
    for row in rows[1:]:
        study.hand_in(row, address_of("p1"), {"decision": right_answer(project, row)})
    await page.reload()
    await page.get_by_text("1 task, about").first.wait_for()
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".guideline")
    await page.wait_for_selector("textarea[name=question-to-engineer]")
    await close_guideline(page)
    async with page.expect_response(lambda answer: "/annotations" in answer.url and answer.request.method == "POST"):
        await page.keyboard.press("1")
        await page.keyboard.press("Control+Enter")
    await page.get_by_text("No More Tasks").wait_for()
    await page.keyboard.press("Enter")
    await page.get_by_text("All done. Thank you!").wait_for()
    await looks("done")
    link = page.get_by_role("link", name="Return to Prolific with this code")
    assert await link.get_attribute("href") == f"https://app.prolific.com/submissions/complete?cc={OFFER.code}"
    assert failed == [], "the form asks for nothing that it may not have"


def right_answer(project: Any, row: Mapping[str, Any]) -> str:
    answers = {
        one.shown["text"]: one.right_answers["decision"] for one in known(project.build.accepted("toy", "words"), (), 3)
    }
    return answers.get(row["data"]["shown_text"], "yes")


def test_what_people_are_told_is_of_the_benchmark_pushed_last(tmp_path: Path) -> None:
    write_standings(tmp_path, "toys (pilot)", {"p1": "none left"})
    write_standings(tmp_path, "toys", {})
    assert list(json.loads((tmp_path / STANDING).read_text())) == ["toys (pilot)", "toys"]
    write_standings(tmp_path, "toys (pilot)", {"p1": "none left"})
    assert list(json.loads((tmp_path / STANDING).read_text())) == ["toys", "toys (pilot)"]
