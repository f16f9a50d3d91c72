"""Prefect's server of a command: a process of this one's own, begun while the rest of the command is still imported.

Prefect would start it itself, at the first call of its client: seconds later, and with the whole server imported here
too.
"""

import atexit
import contextlib
import logging
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import ClassVar

from schemas.errors import Failed

API = "PREFECT_API_URL"
HOST = "127.0.0.1"
LOG = "server.log"
STARTS_WITHIN_S = 180
"""A new database takes 13 s, and longer on a busy machine."""
ENDS_WITHIN_S = 5
"""What a server is given to end by itself."""
ANSWERS_WITHIN_S = 5
LOOKS_EVERY_S = 0.05
APP = "prefect.server.api.server:create_app"
SETTINGS = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
"""As Prefect starts a temporary server: without pages and without the services that a schedule needs."""


class EmbeddedServer:
    """The process, which ends with this one, however that comes about."""

    begun: ClassVar["EmbeddedServer | None"] = None
    """That of this process."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        with socket.socket() as listener, (home / LOG).open("wb") as log:
            listener.bind((HOST, 0))
            listener.listen()
            self.api = f"http://{HOST}:{listener.getsockname()[1]}/api"
            self._process = subprocess.Popen(  # noqa: S603 - a fixed program
                [sys.executable, "-P", "-m", "uvicorn", "--app-dir", str(home), "--factory", APP, "--fd",
                 str(listener.fileno()), "--log-level", "error", "--lifespan", "on"],
                env={**os.environ, "PREFECT_HOME": str(home), **SETTINGS}, pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                # Ctrl-C and `timeout` tell the whole group to stop; a flow that is stopped has yet to tell the server.
                start_new_session=True,
            )  # fmt: skip
        atexit.register(self.stop)
        # Where this process is killed, its end of a pipe closes.
        named = f"grep -qs prefect.server /proc/{self._process.pid}/cmdline"  # where there is no ps
        there = f"{{ {named} || ps -ww -o command= -p {self._process.pid} | grep -q prefect.server; }}"
        kill = f"kill {self._process.pid}; sleep {ENDS_WITHIN_S}; {there} && kill -9 {self._process.pid}"
        self._guard = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", f"cat; {there} && {kill}"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def wait(self) -> None:
        """Until it answers. Raises `Failed` where it ends instead, or takes too long."""
        until = time.monotonic() + STARTS_WITHIN_S
        while not is_healthy(self.api):
            ended = self._process.poll() is not None
            if ended or time.monotonic() > until:
                raise Failed(
                    f"{self.home}: the embedded Prefect server {'has ended' if ended else 'does not answer'} "
                    f"({self._last_words()}); see that there is space to write there, or name a server of yours in "
                    "PREFECT_API_URL"
                )
            time.sleep(LOOKS_EVERY_S)

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            lines = (self.home / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        return "its log cannot be read"


def is_healthy(api: str) -> bool:
    """Whether the server of this address answers."""
    try:
        with urllib.request.urlopen(f"{api}/health", timeout=ANSWERS_WITHIN_S) as reply:  # noqa: S310
            return bool(reply.status == 200)
    except OSError:
        return False


def begin(home: Path) -> None:
    """Begin a server that works in the folder, where the user names none; before Prefect is imported, which then reads
    its address. Raises `Failed`.
    """
    if os.environ.get(API):
        return
    try:
        server = EmbeddedServer.begun = EmbeddedServer(home)
    except OSError as error:
        raise Failed(f"{home}: no Prefect server can be started there ({error}); make it writable") from error
    os.environ[API] = server.api


def begin_prefect(state: Path) -> None:
    """Prefect's settings, and its server where the user names none: it starts while the rest is imported. Raises
    `Failed`.
    """
    quieten_prefect(state)
    begin(Path(os.environ["PREFECT_HOME"]))


def quieten_prefect(state: Path) -> None:
    """Settings of a Prefect that says nothing and sends nothing; the user's own settings win."""
    state.mkdir(parents=True, exist_ok=True)
    quiet = {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLI_CHECK_FOR_UPDATES": "false",
        "PREFECT_HOME": str((state / "prefect").resolve()),
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    }
    for name, value in quiet.items():
        os.environ.setdefault(name, value)
    # It has a logger of its own outside Prefect's: where a flow fails early, it says at the end that it waits.
    logging.getLogger("EventsWorker").setLevel(logging.CRITICAL)
