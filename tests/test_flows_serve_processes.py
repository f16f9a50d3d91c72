"""The port of the project's own Prefect server."""

import contextlib
import os
import socket
from pathlib import Path

import pytest

from flows.loopback.guard import HOST
from flows.prefect_server.embedded import KEY
from flows.serve import processes
from flows.serve.processes import reserved_port
from schemas.errors import Failed


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def test_servers_that_start_at_the_same_moment_get_ports_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PORT", free_port())
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in range(5)]
        assert ports[0] == processes.PORT
        assert len(set(ports)) == 5
        with socket.socket() as server:  # it is free for the server itself
            server.bind((HOST, ports[0]))
    with reserved_port() as again:
        assert again == processes.PORT


def test_a_port_on_which_something_listens_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        monkeypatch.setattr(processes, "PORT", other.getsockname()[1])
        with reserved_port() as port:
            assert port != processes.PORT
        monkeypatch.setattr(processes, "FREE_PORTS_TRIED", 0)
        with pytest.raises(Failed, match="no port is free"), reserved_port():
            pass


def test_a_server_that_has_ended_is_the_reason_why_none_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "server_command", lambda *_: ["sleep", "60"])
    monkeypatch.setattr(processes, "is_healthy", lambda _: True)

    def served(*, ended: bool) -> None:
        with processes.server(tmp_path, free_port(), {**os.environ, KEY: "a:b"}) as server:
            if ended:
                server.kill()
                server.wait()
            raise Failed("no answer")

    with pytest.raises(Failed, match="no answer"):
        served(ended=False)
    with pytest.raises(Failed, match=r"server\.log: the Prefect server has ended by itself"):
        served(ended=True)
