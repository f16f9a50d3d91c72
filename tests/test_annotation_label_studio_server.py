"""The project's own Label Studio, for real: up, down, up; killed; cut off; crowded; and what it keeps to itself."""

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from annotation.label_studio import server
from annotation.label_studio.accounts import accounts, make_owner, read_owner, write_private
from annotation.label_studio.client import connect
from annotation.label_studio.failures import Unanswered
from annotation.label_studio.install import MARK, install, last_line, mark
from schemas.errors import Failed, WrongInput
from tests.builds import ROOT, TOUCHSTONE, killed, touchstone, wait_for, write_config
from tests.fork_server import Forked
from tests.label_studio import Served

CONFIG = '<View><Text name="text" value="$text"/><TextArea name="answer" toName="text"/></View>'
PEOPLE = {"a1": "Anna@example.org", "a2": "ben@example.org"}


def pid_of(folder: Path) -> int:
    return int((folder / server.LOCK).read_text())


@contextmanager
def logged_in(url: str, email: str, password: str) -> Iterator[httpx.Client]:
    """A browser's way in, by the form."""
    with httpx.Client(base_url=url, timeout=60) as person:
        person.get("/user/login/")
        form = {"csrfmiddlewaretoken": person.cookies["csrftoken"], "email": email, "password": password}
        answer = person.post("/user/login/", data=form, headers={"Referer": f"{url}/user/login/"})
        assert answer.is_redirect, email
        yield person


def logins(folder: Path) -> dict[str, tuple[str, str]]:
    rows = [line.split("\t") for line in (folder / "people.txt").read_text().splitlines() if not line.startswith("#")]
    return {code: (email, password) for code, email, password in rows}


# ---- for real ----


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_down_is_one_line_to_a_client_and_up_again_keeps_address_projects_and_accounts(label_studio: Served) -> None:
    first, folder = label_studio, label_studio.folder
    project = first.client.make_project("Kept", CONFIG)
    first.client.import_tasks(project, [{"data": {"text": "Kept as well"}}])
    numbers = accounts(first.client, PEOPLE, folder)
    assert set(numbers.values()) == {"a1", "a2"}
    again = server.up(folder)
    assert (again.url, again.before) == (first.url, True)
    assert server.down(folder)
    assert server.running(folder) is None
    assert server.down(folder) is False
    with pytest.raises(Unanswered, match="no server answers there") as caught:
        first.client.projects()
    assert first.token not in str(caught.value)
    with pytest.raises(Unanswered, match=r"start it, or correct annotation\.url"):
        connect(first.url, first.token)
    second = server.up(folder)
    assert (second.url, second.owner.token, second.before) == (first.url, first.token, False)
    with connect(second.url, second.owner.token) as client:
        assert [row["data"] for row in client.list_tasks(project)] == [{"text": "Kept as well"}]
        assert accounts(client, PEOPLE, folder) == numbers


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_people_log_in_with_what_is_written_down_and_see_the_projects(label_studio: Served) -> None:
    label_studio.client.make_project("Authoring", CONFIG)
    numbers = accounts(label_studio.client, PEOPLE, label_studio.folder)
    path = label_studio.folder / "people.txt"
    written = path.read_text()
    assert f"{label_studio.url}/user/login/" in written
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for code, (email, password) in logins(label_studio.folder).items():
        with logged_in(label_studio.url, email, password) as person:
            assert numbers[person.get("/api/current-user/whoami").json()["id"]] == code
            assert [one["title"] for one in person.get("/api/projects/").json()["results"]] == ["Authoring"]
    accounts(label_studio.client, {**PEOPLE, "a3": "cleo@example.org"}, label_studio.folder)
    with pytest.raises(WrongInput, match="this person's code was a3"):
        accounts(label_studio.client, {**PEOPLE, "b7": "cleo@example.org"}, label_studio.folder)
    assert path.read_text().startswith(written)
    assert set(logins(label_studio.folder)) == {"a1", "a2", "a3"}
    with pytest.raises(Failed, match=r"no account for x \(x@example.org\); invite them"):
        accounts(label_studio.client, {"x": "x@example.org"}, None)
    # Whose address changed has a new account, and what lies under the old one stays theirs.
    moved = accounts(label_studio.client, {**PEOPLE, "a1": "anna@new.example.org"}, label_studio.folder)
    assert Counter(moved.values()) == {"a1": 2, "a2": 1}
    with pytest.raises(WrongInput, match=r"annotation.people.x: owner@touchstone.local is the owner's"):
        accounts(label_studio.client, {"x": "owner@touchstone.local"}, label_studio.folder)
    owner = read_owner(label_studio.folder)
    assert owner is not None
    with logged_in(label_studio.url, owner.email, owner.password) as person:
        assert person.get("/api/current-user/whoami").json()["email"] == owner.email


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_server_that_was_killed_comes_up_where_it_was(label_studio: Served) -> None:
    project = label_studio.client.make_project("Kept", CONFIG)
    os.kill(pid_of(label_studio.folder), signal.SIGKILL)
    wait_for(lambda: server.running(label_studio.folder) is None, 10)
    again = server.up(label_studio.folder)
    assert (again.url, again.before) == (label_studio.url, False)
    with connect(again.url, again.owner.token) as client:
        assert [one.id for one in client.projects()] == [project]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_installation_that_was_killed_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is done again is of a small package: the tests' own Label Studio is a whole one."""
    write_config(tmp_path, families={"uraq": {"statements": 10}})
    folder = tmp_path / ".touchstone" / "label-studio"
    begun = (folder / "env" / "bin" / "python").exists
    assert killed("label-studio", "up", "config.yaml", folder=tmp_path, when=begun)
    assert not (folder / "env" / MARK).exists()
    monkeypatch.setattr("annotation.label_studio.install.PACKAGES", ("iniconfig==2.1.0",))
    told: list[str] = []
    with (folder / server.LOCK).open("a") as lock:
        programs = install(folder, lock, told.append)
        assert "installing iniconfig==2.1.0" in told[0]
        assert install(folder, lock, told.append) == programs
    assert len(told) == 1
    version = "import importlib.metadata; print(importlib.metadata.version('iniconfig'))"
    printed = subprocess.run([programs / "python", "-c", version], capture_output=True, text=True, check=True).stdout
    assert printed == "2.1.0\n"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_command_tells_how_to_log_in_and_keeps_passwords_from_files(label_studio_folder: Path) -> None:
    place = label_studio_folder.parent.parent
    write_config(place, store="state", families={"uraq": {}}, annotation={"people": PEOPLE})
    try:
        done = touchstone("label-studio", "up", "config.yaml", folder=place, OPENAI_API_KEY="sk-of-the-caller")
        assert done.returncode == 0, done.stderr
        owner = read_owner(label_studio_folder)
        assert owner is not None
        assert re.search(r"Label Studio is running at http://127\.0\.0\.1:\d+", done.stdout)
        assert f"owner   {owner.email}, password in" in done.stdout
        assert "everybody who logs in can open every project" in done.stdout
        secrets = [owner.password, owner.token, *(password for _, password in logins(label_studio_folder).values())]
        environment = Path(f"/proc/{pid_of(label_studio_folder)}/environ")
        if environment.exists():
            assert b"sk-of-the-caller" not in environment.read_bytes()
        shown = touchstone("label-studio", "up", "config.yaml", "--show-password", folder=place)
        assert "is already running" in shown.stdout
        assert owner.password in shown.stdout
        logs = (label_studio_folder / server.LOG).read_text()
        assert not [one for one in secrets if one in done.stdout + done.stderr + logs]
        private = {
            path.name for path in label_studio_folder.iterdir() if path.is_file() and path.stat().st_mode & 0o077
        }
        assert private <= {server.LOCK}
    finally:
        stopped = touchstone("label-studio", "down", "config.yaml", folder=place)
    assert "Label Studio stopped" in stopped.stdout
    again = touchstone("label-studio", "down", "config.yaml", folder=place)
    assert (again.returncode, "no Label Studio was running" in again.stdout) == (0, True)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_is_sent_outside(label_studio: Served) -> None:
    owner = read_owner(label_studio.folder)
    assert owner is not None
    with logged_in(label_studio.url, owner.email, owner.password) as person:
        page = person.get("/projects/", follow_redirects=True).text
        assert "sentry_dsn: null" in page
        assert re.findall(r"""<(?:script|link|img)[^>]+(?:src|href)=["'](https?:)?//""", page) == []
        versions = person.get("/api/version").json()
        assert versions["label-studio-os-package"]["latest_version_from_pypi"] is None
        # The start page's tips come from GitHub by way of the server, which finds no way out.
        assert person.get("/heidi-tips/").status_code == httpx.codes.NOT_FOUND
    peers = Path("/proc/net/tcp")
    if peers.exists():  # every connection of the server is with this machine
        sockets = set()
        for path in Path(f"/proc/{pid_of(label_studio.folder)}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                target = str(path.readlink())
                if target.startswith("socket:"):
                    sockets.add(target[len("socket:[") : -1])
        rows = [line.split() for line in peers.read_text().splitlines()[1:]]
        assert {row[2].split(":")[0] for row in rows if row[9] in sockets} <= {"00000000", "0100007F"}


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_its_pages_ask_no_other_server_for_anything(label_studio: Served, browser: Any) -> None:
    project = label_studio.client.make_project("Authoring", CONFIG)
    label_studio.client.import_tasks(project, [{"data": {"text": "A text"}}])
    owner = read_owner(label_studio.folder)
    assert owner is not None
    asked: set[str] = set()
    page = await browser.new_page()
    page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
    await page.goto(f"{label_studio.url}/user/login/")
    await page.fill("input[name=email]", owner.email)
    await page.fill("input[name=password]", owner.password)
    await page.click("button[type=submit]")
    await page.wait_for_url(f"{label_studio.url}/")
    for path in ("/projects", f"/projects/{project}/data?labeling=1", "/user/account"):
        await page.goto(f"{label_studio.url}{path}")
        await page.wait_for_load_state("networkidle")
    assert asked == {urlsplit(label_studio.url).netloc}


# ---- without a server ----


def tasks_of(folder: Path) -> subprocess.Popen[bytes]:
    """A process that holds the lock as a server does, and answers nothing."""
    with (folder / server.LOCK).open("a") as lock:
        assert server._lock(lock, server.fcntl.LOCK_EX)
        process = subprocess.Popen(["sleep", "60"], pass_fds=[lock.fileno()], start_new_session=True)
    (folder / server.LOCK).write_text(str(process.pid))
    return process


def test_a_number_that_another_process_has_by_now_is_not_killed(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        (tmp_path / server.LOCK).write_text(str(other.pid))
        assert server.down(tmp_path) is False
        assert other.poll() is None
        other.kill()


def test_down_ends_who_holds_the_lock(tmp_path: Path) -> None:
    with tasks_of(tmp_path) as process:
        assert server.down(tmp_path) is True
        assert process.wait(10) == -signal.SIGTERM


def test_down_beside_an_up_at_work_says_so(tmp_path: Path) -> None:
    lock = server._take(tmp_path)
    assert lock is not None
    with lock, pytest.raises(Failed, match="`touchstone label-studio up` is at work"):
        server.down(tmp_path)


def test_a_server_that_hangs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "START_S", 0.0)
    with tasks_of(tmp_path) as process:
        with pytest.raises(Failed, match=f"the process {process.pid} is at work and does not answer"):
            server.up(tmp_path)
        process.kill()


def damaged(folder: Path) -> None:
    (folder / server.DATA).mkdir()
    (folder / server.DATA / server.DATABASE).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


def half_made(folder: Path) -> Path:
    """A database as a first start has it before it makes the owner."""
    (folder / server.DATA).mkdir()
    path = folder / server.DATA / server.DATABASE
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE organization (id)")
        database.execute("CREATE TABLE htx_user (active_organization_id)")
    return path


def without_owner(folder: Path) -> None:
    with sqlite3.connect(half_made(folder)) as database:
        database.execute("INSERT INTO organization VALUES (1)")
        database.execute("INSERT INTO htx_user VALUES (1)")


def with_half_an_owner(folder: Path) -> None:
    (folder / "owner.json").write_text('{"email": "o')


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (damaged, "label_studio.sqlite3: damaged"),
        (without_owner, "owner.json is missing"),
        (with_half_an_owner, "owner.json: damaged; restore a copy"),
    ],
)
def test_a_state_that_may_hold_work_is_never_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None], said: str
) -> None:
    spoil(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setattr(server, "install", lambda folder, lock, tell: folder / "env" / "bin")
    with pytest.raises(Failed, match=said):
        server.up(tmp_path)
    assert {path: path.read_bytes() for path in before} == before
    assert server._is_held(tmp_path) is False


@pytest.mark.parametrize(
    ("made", "whole"),
    [
        ((), False),
        (("CREATE TABLE organization (id)", "CREATE TABLE htx_user (id)"), False),
        (("CREATE TABLE organization (id)", "CREATE TABLE htx_user (active_organization_id)"), False),
        (
            (
                "CREATE TABLE organization (id)", "CREATE TABLE htx_user (active_organization_id)",
                "INSERT INTO organization VALUES (1)", "INSERT INTO htx_user VALUES (1)",
            ),
            True,
        ),
    ],
)  # fmt: skip
def test_a_database_is_whole_once_its_owner_has_an_organisation(
    tmp_path: Path, made: tuple[str, ...], whole: bool
) -> None:
    with sqlite3.connect(tmp_path / "some.sqlite3") as database:
        for statement in made:
            database.execute(statement)
    assert server._has_accounts(tmp_path / "some.sqlite3") is whole


ANSWERING = f"""exec {sys.executable} -c '
import http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

time.sleep(0.5)
http.server.HTTPServer(("{server.HOST}", int(sys.argv[-1])), Handler).serve_forever()
' "$@"
"""
"""A server that accepts every key."""
SILENT = "exec sleep 60"


def stand_in(folder: Path, script: str) -> None:
    """Install a program in the place of Label Studio."""
    programs = folder / "env" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (programs / "label-studio").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "label-studio").chmod(0o755)
    (folder / "env" / MARK).write_text(mark())


def test_a_server_that_ends_at_once_is_one_line_with_its_last_words(tmp_path: Path) -> None:
    stand_in(tmp_path, "echo sqlite3.OperationalError: database or disk is full; exit 1")
    with pytest.raises(
        Failed, match=r"did not start: sqlite3.OperationalError: database or disk is full; .*server.log"
    ):
        server.up(tmp_path)
    assert server._is_held(tmp_path) is False


def test_a_server_that_never_answers_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, SILENT)
    monkeypatch.setattr(server, "START_S", 1.0)
    with pytest.raises(Failed, match="did not answer at http"):
        server.up(tmp_path)
    assert server._is_held(tmp_path) is False


@pytest.mark.slow
def test_a_server_that_is_still_making_its_database_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = f"for _ in 1 2 3 4 5 6; do sleep 0.4; echo >> {tmp_path / server.DATA / server.DATABASE}-journal; done"
    stand_in(tmp_path, f"{write}\n{ANSWERING}")
    monkeypatch.setattr(server, "START_S", 1.5)
    server.up(tmp_path)
    assert server.down(tmp_path)


def test_two_ups_at_once_start_one_server(tmp_path: Path) -> None:
    stand_in(tmp_path, ANSWERING)
    # Locks are of open files, so that two threads meet at them as two processes do.
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda _: server.up(tmp_path), range(2)))
    assert server.down(tmp_path)
    assert both[0].url == both[1].url
    assert sorted(running.before for running in both) == [False, True]


def test_a_port_that_was_taken_meanwhile_is_said_and_one_asked_for_is_refused(tmp_path: Path) -> None:
    stand_in(tmp_path, ANSWERING)
    with socket.socket() as other:
        other.bind((server.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(WrongInput, match=f"--port {port}: another program has it"):
            server.up(tmp_path, port)
        (tmp_path / server.PORT).write_text(str(port))
        running = server.up(tmp_path)
        try:
            assert running.moved_from == port
            assert running.url != f"http://{server.HOST}:{port}"
            with pytest.raises(WrongInput, match=f"--port {port}: Label Studio is already running at {running.url}"):
                server.up(tmp_path, port)
        finally:
            server.down(tmp_path)


def has_started(folder: Path) -> bool:
    return (folder / server.LOCK).exists() and server._pid(folder) is not None


@pytest.mark.slow
def test_an_up_that_was_killed_leaves_its_server_to_the_next(tmp_path: Path) -> None:
    stand_in(tmp_path, ANSWERING)
    code = f"from annotation.label_studio import server; from pathlib import Path; server.up(Path({str(tmp_path)!r}))"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as starting:
        wait_for(lambda: has_started(tmp_path))
        starting.kill()
    left = pid_of(tmp_path)
    try:
        assert server.up(tmp_path).before
        assert pid_of(tmp_path) == left
    finally:
        server.down(tmp_path)


@pytest.mark.slow
def test_a_start_that_is_stopped_leaves_nothing_running(tmp_path: Path) -> None:
    folder = tmp_path / ".touchstone" / "label-studio"
    stand_in(folder, SILENT)
    write_config(tmp_path, families={"uraq": {}})
    starting = Forked(
        [str(TOUCHSTONE), "label-studio", "up", "config.yaml"], tmp_path, os.environ, os.devnull, str(tmp_path / "err")
    )
    wait_for(lambda: has_started(folder))
    os.kill(starting.pid, signal.SIGINT)
    assert starting.wait(60) == 130
    said = (tmp_path / "err").read_text()
    assert said == "touchstone: stopped; run the same command again to go on from here\n"
    assert not server._is_held(folder)


@pytest.mark.slow
def test_a_first_start_that_was_killed_with_its_server_goes_on_where_it_was(tmp_path: Path) -> None:
    stand_in(tmp_path, ANSWERING)
    database = half_made(tmp_path)
    server.up(tmp_path)
    assert server.down(tmp_path)
    assert database.exists(), "its tables took minutes"


@pytest.mark.slow
def test_a_first_start_that_was_killed_while_it_made_its_owner_is_begun_anew(tmp_path: Path) -> None:
    """The owner has no organisation, and gets none; what was uploaded belongs to no database, and stays."""
    stand_in(tmp_path, ANSWERING)
    database = half_made(tmp_path)
    with sqlite3.connect(database) as connection:
        connection.execute("INSERT INTO htx_user VALUES (NULL)")
    upload = tmp_path / server.DATA / "media" / "kept.txt"
    upload.parent.mkdir()
    upload.write_text("of no database")
    server.up(tmp_path)
    assert server.down(tmp_path)
    assert not database.exists(), "the stand-in makes none"
    assert upload.exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(WrongInput, match="is not a folder; set another `store`"):
        server.up(tmp_path / "store" / "label-studio")


@pytest.mark.slow
def test_an_installation_without_a_network_or_without_space_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = {"UV_OFFLINE": "1", "UV_NO_CACHE": "1", "UV_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_INDEX": "1",
               "PIP_FIND_LINKS": str(tmp_path)}  # fmt: skip
    for name, value in nowhere.items():
        monkeypatch.setenv(name, value)
    with (tmp_path / "lock").open("w") as lock:
        with pytest.raises(Failed, match=r"could not be installed: .*see .*install.log, then run again"):
            install(tmp_path, lock, lambda line: None)
        assert not (tmp_path / "env").exists()
        monkeypatch.setattr("annotation.label_studio.install.SPACE", 10**18)
        with pytest.raises(Failed, match=r"GB free, Label Studio needs 1000000000.0; free some"):
            install(tmp_path, lock, lambda line: None)


def test_secrets_are_private_from_their_first_byte(tmp_path: Path) -> None:
    os.umask(0)
    try:
        owner = make_owner(tmp_path)
    finally:
        os.umask(0o022)
    assert read_owner(tmp_path) == owner
    assert stat.S_IMODE((tmp_path / "owner.json").stat().st_mode) == 0o600
    assert owner.password not in repr(owner)
    assert owner.token not in repr(owner)
    assert json.loads((tmp_path / "owner.json").read_text())["token"] == owner.token
    with pytest.raises(OSError, match="No such file"):
        write_private(tmp_path / "no" / "file", "")


def test_the_last_words_of_a_log(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\nTraceback\n  disk full\n\n")
    assert last_line(tmp_path / "log") == "disk full"
    assert last_line(tmp_path / "log", len("before\nTraceback\n  disk full\n")) == "it wrote nothing"


def test_many_probes_at_once_do_not_take_each_other_for_a_server(tmp_path: Path) -> None:
    (tmp_path / server.LOCK).touch()
    seen: list[bool] = []
    threads = [
        threading.Thread(target=lambda: seen.extend(server._is_held(tmp_path) for _ in range(200))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 800
    assert not any(seen)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_who_submits_while_others_write_waits_for_a_turn(label_studio: Served) -> None:
    client = label_studio.client
    client.import_tasks(project := client.make_project("Crowded", CONFIG), [{"text": "a"}])
    (task,) = client.list_tasks(project)
    made = client._request("POST", f"api/tasks/{task['id']}/drafts?project={project}", json={"result": []})
    with (
        ThreadPoolExecutor(1) as person,
        contextlib.closing(sqlite3.connect(label_studio.folder / server.DATA / server.DATABASE)) as database,
    ):
        database.isolation_level = None
        database.execute("BEGIN IMMEDIATE")
        database.execute("UPDATE task SET comment_count = 0")
        taken_away = person.submit(client._request, "DELETE", f"api/drafts/{made.json()['id']}/")
        with pytest.raises(TimeoutError):
            taken_away.result(2)
        database.execute("COMMIT")
        assert taken_away.result(60).is_success


ANOTHERS = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}
"""A page of another server of this machine, to which the browser sends the cookies too."""
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_pages_of_other_sites_reach_nothing_with_the_session_of_whoever_reads_them(label_studio: Served) -> None:
    label_studio.client.make_project("theirs", "<View><Text name='t' value='$t'/></View>")
    owner = read_owner(label_studio.folder)
    assert owner is not None
    with httpx.Client(base_url=label_studio.url, timeout=60) as browser:
        token = re.search(r'csrfmiddlewaretoken" value="([^"]+)', browser.get("/user/login/").text)
        assert token is not None
        login = {"csrfmiddlewaretoken": token[1], "email": owner.email, "password": owner.password}
        assert browser.post("/user/login/", data=login, headers={"Origin": label_studio.url}).status_code == 302

        def asked(method: str, path: str, **headers: str) -> int:
            content = "title=planted" if method == "POST" else None
            return browser.request(method, path, headers={**FORM, **headers}, content=content).status_code

        for foreign in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
                        {"Host": "evil.example"}, ANOTHERS):  # fmt: skip
            assert asked("GET", "/api/projects/", **foreign) == 403
            assert asked("POST", "/api/projects/", **foreign) == 403
            assert asked("OPTIONS", "/api/projects/", **foreign) == 403
            assert asked("GET", "/user/login/", **foreign) == 403
        assert [project.title for project in label_studio.client.projects()] == ["theirs"]
        own = {"Origin": label_studio.url, "Sec-Fetch-Site": "same-origin"}
        assert asked("POST", "/api/projects/", **own) == 201
        followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert asked("GET", "/projects/", **followed, **{"Sec-Fetch-Dest": "document"}) == 200
        assert asked("GET", "/projects/", **followed, **{"Sec-Fetch-Dest": "iframe"}) == 403
        assert browser.get("/projects/").headers["X-Frame-Options"] == "SAMEORIGIN"
