"""The processes behind a schedule: a worker and, unless one is named, a Prefect server of the project's own.

Each is a process group of its own, so that it ends together with everything it started, such as the process of a
rebuild. It also ends when this process is killed: a guard in the group reads from a pipe, which closes then.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from flows.loopback.guard import HOST, origins
from flows.prefect_server.embedded import (
    API,
    KEY,
    PRIVATE,
    SERVER_KEY,
    STARTS_WITHIN_S,
    is_healthy,
    server_command,
)
from flows.project.locks import locked
from schemas.errors import Failed

PORT = 4200
"""Port of the project's own server, unless it is taken."""
FREE_PORTS_TRIED = 20
ENDS_WITHIN_S = 20
LOOKS_EVERY_S = 0.2
KILLED_WITHIN_S = 5
"""Seconds that the processes have to report to a server of the user's, after this process was killed."""
GUARDED = (
    "exec 3<&0 </dev/null; "
    f"{{ cat <&3; trap '' TERM; kill 0; sleep {KILLED_WITHIN_S}; kill -KILL 0; }} >/dev/null & "
    'exec "$@" 3<&-'
)
"""Runs a program that leads its group, with the guard. A pipe works on every POSIX system and for whatever the program
starts; Linux's parent-death signal reaches only the direct child."""
NOTE = "processes.json"
FINAL = {"PREFECT__SERVER_FINAL": "1"}
"""As `prefect server start` runs it: the only server of its process."""


def environment(folder: Path, api: str, login: str | None) -> Mapping[str, str]:
    """Return the environment of Prefect's programs: this process's own, which has the keys of models, and settings.

    `login` is that of a server of the project's own.
    """
    with_login = {} if login is None else {KEY: login}
    return {**PRIVATE, **os.environ, "PREFECT_HOME": str(folder.resolve()), API: api, **with_login}


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, and end what a killed process left running there. Raises `Failed`."""
    # Its database is there too, with the key to what it encrypts.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)  # that of an earlier version is open
    with locked(folder / "serve.lock", "this dataset is served from here already; stop that one first"):
        for group in _noted(folder).values():
            if _is_prefect(group):
                end(group)
        _write(folder, {})
        yield


@contextlib.contextmanager
def server(folder: Path, port: int, variables: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a Prefect server for this machine and whoever has the login alone. Raises `Failed`."""
    command = server_command(folder, "warning", "--host", HOST, "--port", str(port))
    own = {SERVER_KEY: variables[KEY], "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(origins(port)), **FINAL}
    with _program(folder, "server", {**variables, **own}, command) as process:
        until = time.monotonic() + STARTS_WITHIN_S
        while not is_healthy(f"http://{HOST}:{port}/api"):
            check(folder, process)
            if time.monotonic() > until:
                raise Failed(f"{folder / 'server.log'}: the Prefect server does not answer; the log says why")
            time.sleep(LOOKS_EVERY_S)
        try:
            yield process
        except Failed:
            check(folder, process)  # the reason, then
            raise


@contextlib.contextmanager
def worker(folder: Path, pool: str, name: str, variables: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process worker on a pool."""
    command = [
        sys.executable, "-P", "-m", "touchstone", "prefect", "worker", "start", "--pool", pool, "--name", name,
        "--type", "process", "--install-policy", "never",
    ]  # fmt: skip
    with _program(folder, "worker", variables, command) as process:
        yield process


def check(folder: Path, *processes: "subprocess.Popen[bytes]") -> None:
    """Raise `Failed` if one of the processes has ended."""
    for process in processes:
        if process.poll() is not None:
            program = str(process.args[3])  # type: ignore[index]
            raise Failed(f"{folder / program}.log: the Prefect {program} has ended by itself; the log says why")


def end(group: int) -> None:
    """Terminate a process group; kill it if it has not ended after `ENDS_WITHIN_S`."""
    for number, seconds in ((signal.SIGTERM, ENDS_WITHIN_S), (signal.SIGKILL, ENDS_WITHIN_S)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with contextlib.suppress(ChildProcessError):  # not children of this process, but of one that was killed
                os.waitpid(-group, os.WNOHANG)
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                return
            time.sleep(LOOKS_EVERY_S)


@contextlib.contextmanager
def reserved_port() -> Iterator[int]:
    """Reserve Prefect's usual port, or a free one, against other processes that start a server at the same moment.

    Prefect itself binds the port, seconds later. Until the end, a datagram socket with the same number reserves it.
    Raises `Failed`.
    """
    for wanted in (PORT, *[0] * FREE_PORTS_TRIED):
        with socket.socket(type=socket.SOCK_DGRAM) as reservation:
            try:
                port = _free_port(wanted)
                reservation.bind((HOST, port))
            except OSError:
                continue
            yield port
            return
    raise Failed("no port is free for a Prefect server; name one that runs in PREFECT_API_URL")


def _free_port(wanted: int) -> int:
    """Return the port, or any for 0. Raises `OSError` if it is taken."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, wanted))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def _program(
    folder: Path, name: str, variables: Mapping[str, str], command: Sequence[str]
) -> Iterator["subprocess.Popen[bytes]"]:
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - a fixed program
            ["/bin/sh", "-c", GUARDED, name, *command],
            env=dict(variables),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _write(folder, {**_noted(folder), name: process.pid})
        yield process
    finally:
        end(process.pid)
        process.poll()
        _write(folder, {key: group for key, group in _noted(folder).items() if key != name})


def _is_prefect(group: int) -> bool:
    """Return whether a process group is Prefect's: the number of an ended group may have been reused."""
    listed = subprocess.run(["ps", "-ww", "-A", "-o", "pgid=,command="], capture_output=True, text=True, check=False)  # noqa: S607
    rows = (line.split(maxsplit=1) for line in listed.stdout.splitlines())
    return any(row[0] == str(group) and "prefect" in row[-1] for row in rows if row)


def _noted(folder: Path) -> dict[str, int]:
    try:
        return {str(name): int(group) for name, group in json.loads((folder / NOTE).read_text()).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _write(folder: Path, groups: Mapping[str, int]) -> None:
    (folder / NOTE).write_text(json.dumps(groups))
