"""The Prefect server of a command: a child process, started while the rest of the command is still being imported.

Prefect would start one itself at the first call of its client: seconds later, and with the whole server imported into
this process too.
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

from flows.loopback.guard import HOST
from flows.loopback.login import new_login
from schemas.errors import Failed

API = "PREFECT_API_URL"
KEY, SERVER_KEY = "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"
"""The login that a client sends, and the one that a server asks for. Other users of the machine cannot see a process's
environment, as they can its command line."""
LOG = "server.log"
STARTS_WITHIN_S = 180
"""A new database takes 13 s, and longer on a busy machine."""
ENDS_WITHIN_S = 5
"""Seconds that a server has to end by itself."""
ANSWERS_WITHIN_S = 5
LOOKS_EVERY_S = 0.05
APP = "flows.prefect_server.app:guarded_app"
SETTINGS = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
"""The settings of Prefect's temporary servers: no pages, and no services that a schedule needs."""


PRIVATE = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLI_CHECK_FOR_UPDATES": "false",
}
"""Settings of every Prefect program, so that it sends nothing; the user's own take precedence."""


class EmbeddedServer:
    """The server process, which ends with this process, even if this one is killed."""

    begun: ClassVar["EmbeddedServer | None"] = None
    """The server that this process started."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.login = new_login()
        home.mkdir(parents=True, exist_ok=True)
        with socket.socket() as listener, (home / LOG).open("wb") as log:
            listener.bind((HOST, 0))
            listener.listen()
            self.api = f"http://{HOST}:{listener.getsockname()[1]}/api"
            self._process = subprocess.Popen(  # noqa: S603 - a fixed program
                server_command(home, "error", "--fd", str(listener.fileno())),
                env={**os.environ, "PREFECT_HOME": str(home), **SETTINGS, SERVER_KEY: self.login},
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                # Ctrl-C and `timeout` stop the whole process group, but a stopped flow must still reach the server.
                start_new_session=True,
            )  # fmt: skip
        atexit.register(self.stop)
        # The guard reads from a pipe, which closes when this process is killed.
        named = f"grep -qs prefect.server /proc/{self._process.pid}/cmdline"  # for machines without ps
        is_running = f"{{ {named} || ps -ww -o command= -p {self._process.pid} | grep -q prefect.server; }}"
        kill = f"kill {self._process.pid}; sleep {ENDS_WITHIN_S}; {is_running} && kill -9 {self._process.pid}"
        self._guard = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", f"cat; {is_running} && {kill}"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def wait(self) -> None:
        """Wait until it answers. Raises `Failed` if it ends or takes too long."""
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
        """Terminate the server; kill it if it does not end in time."""
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


def server_command(folder: Path, log_level: str, *where: str) -> list[str]:
    """Return the command of a guarded Prefect server; uvicorn would look for modules in `folder` first."""
    return [
        sys.executable, "-P", "-m", "touchstone", "uvicorn", "--app-dir", str(folder), "--factory", APP,
        "--log-level", log_level, "--lifespan", "on", *where,
    ]  # fmt: skip


def is_healthy(api: str) -> bool:
    """True if the server at this address answers."""
    try:
        with urllib.request.urlopen(f"{api}/health", timeout=ANSWERS_WITHIN_S) as reply:  # noqa: S310
            return bool(reply.status == 200)
    except OSError:
        return False


def begin(home: Path) -> None:
    """Start a server that works in the folder, unless the user names one. Only this process has its login.

    Call it before Prefect is imported, which reads the server's address and the login then. Raises `Failed`.
    """
    if os.environ.get(API):
        return
    try:
        server = EmbeddedServer.begun = EmbeddedServer(home)
    except OSError as error:
        raise Failed(f"{home}: no Prefect server can be started there ({error}); make it writable") from error
    os.environ[API], os.environ[KEY] = server.api, server.login


def begin_prefect(state: Path) -> None:
    """Apply Prefect's settings and start its server, unless the user names one. Raises `Failed`.

    The server starts while the rest of the command is imported.
    """
    quieten_prefect(state)
    begin(Path(os.environ["PREFECT_HOME"]))


def quieten_prefect(state: Path) -> None:
    """Make Prefect silent and keep it from sending anything; the user's own settings take precedence."""
    state.mkdir(parents=True, exist_ok=True)
    quiet = {
        **PRIVATE,
        "PREFECT_HOME": str((state / "prefect").resolve()),
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
        "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    }
    for name, value in quiet.items():
        os.environ.setdefault(name, value)
    # This logger is outside Prefect's hierarchy; after an early failure it would log that it waits.
    logging.getLogger("EventsWorker").setLevel(logging.CRITICAL)
