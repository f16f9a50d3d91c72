"""The Prefect server of a command: begun once, told of where it does not come up, and nowhere where one is named."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from flows.loopback.guard import Message, Receive, Send
from flows.prefect_server import embedded as embedded_server
from flows.prefect_server.app import OneStart
from flows.prefect_server.embedded import API, KEY, EmbeddedServer, begin
from schemas.errors import Failed
from tests.builds import begun, wait_for, write_config
from tests.prefect_server import with_database


def test_none_is_begun_where_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API, "http://127.0.0.1:9/api")
    begin(tmp_path / "home")
    assert EmbeddedServer.begun is None
    assert not (tmp_path / "home").exists()


def test_a_server_that_ends_at_once_is_told_by_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_server, "APP", "no_such_module:app")
    server = EmbeddedServer(tmp_path / "home")
    with pytest.raises(Failed, match=r"home: the embedded Prefect server has ended \(.*no_such_module.*\); see that"):
        server.wait()
    server.stop()


def test_a_home_that_cannot_be_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(API, raising=False)
    (tmp_path / "home").write_text("a file")
    with pytest.raises(Failed, match=r"home: no Prefect server can be started there \(.*exists.*\)"):
        begin(tmp_path / "home")


@pytest.mark.slow
def test_a_server_that_ends_while_a_command_runs_is_told_in_a_line(tmp_path: Path, prefect_database: Path) -> None:
    config = write_config(tmp_path, families={"uraq": {"statements": 60, "context_counts": [1, 3]}})
    server = EmbeddedServer(with_database(tmp_path / "home", prefect_database))
    server.wait()
    err = tmp_path / "stderr"
    variables = {API: server.api, KEY: server.login, "PREFECT_CLIENT_MAX_RETRIES": "0"}  # else it tries for 3 minutes
    process = begun("run", config, "--out", "out", folder=tmp_path, err=err, **variables)
    wait_for((tmp_path / ".touchstone" / "uraq" / "statements").exists)
    server.stop()
    assert process.wait(120) == 1
    assert err.read_text().count("\n") == 1
    assert err.read_text().startswith("touchstone: the Prefect server does not answer (ConnectError); run again, when")


@pytest.mark.slow
def test_the_client_imports_no_server() -> None:
    code = "import sys, flows.prefect_server.flow_runs; sys.exit('prefect.server.api.server' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("ends", ["lifespan.startup.complete", "lifespan.startup.failed"])
def test_two_servers_in_one_folder_start_one_after_the_other(tmp_path: Path, ends: str) -> None:
    seen: list[str] = []

    async def served(name: str) -> None:
        async def app(scope: Message, receive: Receive, send: Send) -> None:
            seen.append(f"{name} begins")
            await asyncio.sleep(0.02)
            seen.append(f"{name} is up")
            await send({"type": ends})
            await asyncio.sleep(0.2)

        async def nothing() -> Message:
            return {}

        async def send(message: Message) -> None:
            assert message == {"type": ends}

        await OneStart(app, tmp_path / "lock")({"type": "lifespan"}, nothing, send)
        seen.append(f"{name} ends")

    async def both() -> None:
        await asyncio.gather(served("a"), served("b"))

    asyncio.run(both())
    (first, other) = ("a", "b") if seen[0] == "a begins" else ("b", "a")
    assert seen[:4] == [f"{first} begins", f"{first} is up", f"{other} begins", f"{other} is up"]
    assert seen[4:] == [f"{first} ends", f"{other} ends"]
