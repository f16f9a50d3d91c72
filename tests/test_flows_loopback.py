"""The guard before the servers of this machine, and the login in a file that only its owner may read."""

import os
import threading
from pathlib import Path

import pytest
from fastapi import FastAPI, Response, WebSocket
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from flows.loopback.guard import Guard, origins, refusal
from flows.loopback.login import LOGIN, kept_login, login_file, new_login

HERE = "http://127.0.0.1:4200"
EVIL = "http://evil.example"
ANOTHERS = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
FOLLOWED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
LOGIN_HERE = "touchstone:secret"


@pytest.fixture
def app() -> FastAPI:
    app = FastAPI()

    @app.api_route("/", methods=["GET", "POST", "OPTIONS"])
    def said() -> str:
        return "read"

    @app.websocket("/socket")
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_text("read")
        await websocket.close()

    return app


def status(app: FastAPI, method: str = "GET", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return TestClient(Guard(app), base_url=HERE).request(method, "/", headers=named).status_code


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 200),  # a program
        ({"Host": "localhost:4200"}, 200),
        ({"Host": "LOCALHOST:4200"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:4200"}, 403),
        ({"Host": "127.0.0.1.evil.example:4200"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "192.168.1.5:4200"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": HERE}, 200),
        ({"Origin": "http://localhost:4200"}, 200),
        ({"Origin": "http://localhost:4200", "Sec-Fetch-Site": "cross-site"}, 200),  # the pages have two names
        ({"Origin": "http://127.0.0.1:4201"}, 403),  # another user's server
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "https://127.0.0.1:4200"}, 403),
        ({"Origin": EVIL}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),  # an address that was typed
        (ANOTHERS, 403),
        ({**ANOTHERS, "Sec-Fetch-Site": "same-site"}, 403),  # another port
        (FOLLOWED, 200),  # a link
        ({**FOLLOWED, "Sec-Fetch-Dest": "iframe"}, 403),
    ],
)
def test_programs_and_own_pages_come_in_and_pages_of_other_sites_do_not(
    app: FastAPI, headers: dict[str, str], expected: int
) -> None:
    assert TestClient(Guard(app), base_url=HERE).get("/", headers=headers).status_code == expected


@pytest.mark.parametrize(
    ("host", "origin", "comes_in"),
    [
        ("labels.example.org", "https://labels.example.org", True),
        ("labels.example.org:443", "https://labels.example.org", True),
        ("labels.example.org", None, True),
        ("127.0.0.1:4200", HERE, True),
        ("labels.example.org", "http://labels.example.org", False),
        ("labels.example.org", "https://evil.example", False),
        ("evil.example", "https://labels.example.org", False),
        ("example.org", None, False),
    ],
)
def test_by_a_proxy_people_come_under_its_name(host: str, origin: str | None, comes_in: bool) -> None:
    headers = {"host": host} if origin is None else {"host": host, "origin": origin}
    assert (refusal("POST", headers, "https://labels.example.org") is None) == comes_in
    assert (refusal("POST", headers) is None) == (comes_in and host.startswith("127"))


def test_another_sites_form_and_its_question_whether_it_may_ask_are_refused(app: FastAPI) -> None:
    assert status(app, "POST", **FOLLOWED) == 403
    assert status(app, "POST", Origin=EVIL, Content_Type="text/plain") == 403
    assert status(app, "OPTIONS", Origin=EVIL, Access_Control_Request_Method="POST") == 403
    assert status(app, "POST", Origin=HERE) == 200
    assert origins(4200) == [HERE, "http://localhost:4200"]


def test_sockets_are_guarded_too(app: FastAPI) -> None:
    client = TestClient(Guard(app), base_url=HERE)
    own = {"Host": "127.0.0.1:4200", "Origin": HERE}
    with client.websocket_connect("/socket", headers=own) as socket:
        assert socket.receive_text() == "read"
    for foreign in ({"Origin": EVIL}, {"Host": "evil.example"}):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/socket", headers={**own, **foreign}):
            pass


def test_pages_are_shown_in_no_other_sites_frames_and_keep_their_own_policy(app: FastAPI) -> None:
    @app.get("/strict")
    def strict() -> Response:
        return Response(headers={"Content-Security-Policy": "default-src 'none'"})

    client = TestClient(Guard(app), base_url=HERE)
    assert client.get("/").headers["X-Frame-Options"] == "SAMEORIGIN"
    assert client.get("/").headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert client.get("/strict").headers.get_list("Content-Security-Policy") == ["default-src 'none'"]


def test_with_a_login_nobody_else_comes_in(app: FastAPI) -> None:
    client = TestClient(Guard(app, LOGIN_HERE), base_url=HERE)
    refused = client.get("/")
    assert (refused.status_code, refused.headers["WWW-Authenticate"].split()[0]) == (401, "Basic")
    assert client.get("/", auth=("touchstone", "secret")).text == '"read"'
    for name, password in (("touchstone", "Secret"), ("touchstone", ""), ("", "secret"), ("other", "secret")):
        assert client.get("/", auth=(name, password)).status_code == 401
    for given in ("Basic", "Basic !", "Bearer dG91Y2hzdG9uZTpzZWNyZXQ=", "Basic dG91Y2hzdG9uZTpzZWNyZXQ= x"):
        assert client.get("/", headers={"Authorization": given}).status_code == 401
    assert client.get("/", auth=("touchstone", "secret"), headers={"Origin": EVIL}).status_code == 403


def test_a_login_is_kept_where_others_cannot_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        login = kept_login(tmp_path / "state")
    finally:
        os.umask(before)
    file = login_file(tmp_path / "state")
    assert file.read_text() == f"{login}\n"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert kept_login(tmp_path / "state") == login
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert new_login() != new_login()


@pytest.mark.parametrize("cut_off", ["", "touch", "touchstone:abc\n"])
def test_a_login_that_a_kill_cut_off_is_made_anew(tmp_path: Path, cut_off: str) -> None:
    kept_login(tmp_path)
    login_file(tmp_path).write_text(cut_off)
    assert LOGIN.fullmatch(f"{kept_login(tmp_path)}\n")


def test_a_login_that_others_could_read_is_made_anew(tmp_path: Path) -> None:
    seen = kept_login(tmp_path)
    login_file(tmp_path).chmod(0o644)
    assert kept_login(tmp_path) != seen
    assert login_file(tmp_path).stat().st_mode & 0o777 == 0o600


def test_a_link_in_place_of_the_login_is_not_followed(tmp_path: Path) -> None:
    login_file(tmp_path).parent.mkdir()
    login_file(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        kept_login(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_commands_that_come_together_have_the_same_login(tmp_path: Path) -> None:
    logins: list[str] = []
    together = [threading.Thread(target=lambda: logins.append(kept_login(tmp_path))) for _ in range(16)]
    for one in together:
        one.start()
    for one in together:
        one.join()
    assert len(logins) == 16
    assert len(set(logins)) == 1
