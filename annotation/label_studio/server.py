"""Start, find and stop a Label Studio of the project's own, with everything that it keeps in one folder.

The server holds a lock on `server.pid` for as long as it lives; the kernel releases it however the server ends. So the
holder of the lock is alive, and the number in the file is its own: a number that another process has by now is never
mistaken for the server's. Two `up` at once wait for the same lock.
"""

import contextlib
import fcntl
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import httpx
from pydantic import Field

from annotation.label_studio.accounts import Owner, make_owner, read_owner, write_private
from annotation.label_studio.install import INSTALL_S, install, last_line
from schemas.base import Frozen
from schemas.errors import Failed, WrongInput

HOST = "127.0.0.1"
PORTS = range(20_000, 30_000)
"""The ports tried for a free one: below those that systems use for outgoing connections."""
START_S = 240.0
"""How long a server may take to answer after it last wrote its database, in seconds: on a busy machine it takes 100
to make a new one."""
STOP_S = 20.0
"""How long a server may take to stop, in seconds; then it is killed."""
ANSWER_S = 10.0
"""How long a busy server may take to answer a health check, in seconds."""
POLL_S = 0.25
LOCK_TASK_S = 3600
"""How long an opened task is reserved for a person, in seconds; Label Studio's own default is a day."""
LOG_BYTES = 10_000_000
"""A log longer than this is renamed at the next start."""
LEAST_FREE = 1_000_000
"""With fewer bytes free, a disk is called full."""
NOWHERE = "http://127.0.0.1:9"
"""A proxy that does not exist (RFC 863, the discard port)."""
PAGE = Path(__file__).resolve().with_name("page")
"""Our settings for the server, which add to its pages what keeps the texts that people type."""
LOCK, LOG, PORT, DATA, DATABASE = "server.pid", "server.log", "port", "data", "label_studio.sqlite3"
PUBLIC = "public-url"
"""The file with the address by which people come through a proxy; `page/guard.py` reads it at each request."""


class Running(Frozen):
    """A server that answers and accepts its owner's key."""

    url: str
    owner: Owner
    before: bool = Field(False, description="Whether it was running already")
    moved_from: int | None = Field(None, description="The last port, if another program has it now")


def up(folder: Path, port: int | None = None, tell: Callable[[str], None] = lambda line: None) -> Running:
    """Return the server under `folder`, installed and started if necessary.

    It listens on this machine only, on its last port if that is free. `tell` gets a line at each stage: the first start
    installs and makes a database, some minutes in all. Safe at any time: an interrupted start is done again, and
    people's work is not touched.

    Raises `WrongInput` for a port that is taken or a path that cannot be a folder, `Failed` for everything else; a
    server that does not start is stopped, and the message names its log.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise WrongInput(f"{folder}: {error.filename} is not a folder; set another `store`") from error
    began = time.monotonic()
    while (lock := _take(folder)) is None:
        if (server := running(folder)) is not None:
            if port is not None and server.url != _url(port):
                raise WrongInput(f"--port {port}: Label Studio is already running at {server.url}; stop it first")
            return server
        pid = _pid(folder)
        if time.monotonic() - began > (START_S if pid else INSTALL_S + START_S):
            who = f"the process {pid}" if pid else "another `touchstone label-studio up`"
            raise Failed(f"{folder}: {who} is at work and does not answer; stop it first")
        tell("waiting for the server that is being started")
        time.sleep(POLL_S)
    with lock:
        programs = install(folder, lock, tell)
        return _start(folder, programs, lock, port, tell)


def open_to(folder: Path, public_url: str) -> None:
    """Have the server under `folder` answer people who come through the proxy at this address, too, from now on."""
    write_private(folder / PUBLIC, public_url)


def running(folder: Path) -> Running | None:
    """Return the server under `folder` if it runs, answers, and accepts its owner's key."""
    # Only while the server lives: nobody else who listens on its port may get the key.
    if not _is_held(folder) or (owner := read_owner(folder)) is None or (port := _last_port(folder)) is None:
        return None
    return Running(url=_url(port), owner=owner, before=True) if _answers(port, owner) else None


def down(folder: Path) -> bool:
    """Stop the server under `folder`; return whether one ran. Raises `Failed` if it cannot be stopped."""
    if not _is_held(folder):
        return False
    if (pid := _pid(folder)) is None:
        raise Failed(f"{folder}: `touchstone label-studio up` is at work; wait for it, or stop it with Ctrl-C")
    for number, patience in ((signal.SIGTERM, STOP_S), (signal.SIGKILL, STOP_S)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not _is_held(folder):
                return True
            time.sleep(POLL_S)
    raise Failed(f"{folder}: the server, process {pid}, does not stop")


def _start(folder: Path, programs: Path, lock: IO[str], port: int | None, tell: Callable[[str], None]) -> Running:
    """Start the server and wait until it answers; stop it if it does not."""
    (folder / DATA).mkdir(mode=0o700, exist_ok=True)
    is_new = not _has_accounts(folder / DATA / DATABASE)
    if _has_half_an_owner(folder / DATA / DATABASE):  # unused: the server listens only once its owner is made
        for path in (folder / DATA).glob(f"{DATABASE}*"):
            path.unlink()
    owner = read_owner(folder)
    if owner is None and not is_new:
        raise Failed(
            f"{folder}: owner.json is missing, and nobody can open the database without it; restore a copy, or move "
            f"{folder / DATA} away to begin anew"
        )
    owner = owner or make_owner(folder)
    last = _last_port(folder)
    chosen = _choose_port(port, last)
    write_private(folder / PORT, str(chosen))
    tell("starting Label Studio" + ("; a new database takes about a minute" if is_new else ""))
    log = folder / LOG
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    # It has a line per request, among them the invitation's address.
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as out:
        begin = out.tell()
        process = subprocess.Popen(  # noqa: S603 - our own list
            [
                # The server's own number is in the file before it starts, whatever becomes of this process.
                "/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str((folder / LOCK).resolve()),
                str((programs / "label-studio").resolve()), "start", "--no-browser", "--internal-host", HOST,
                "--port", str(chosen),
            ],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=_environment(folder, programs, owner), umask=0o077,
            cwd=folder, start_new_session=True, pass_fds=[lock.fileno()],
        )  # fmt: skip
    try:
        _wait(process, chosen, owner, log, begin)
    except BaseException:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    moved = last if port is None and last not in (None, chosen) else None
    return Running(url=_url(chosen), owner=owner, moved_from=moved)


def _wait(process: "subprocess.Popen[bytes]", port: int, owner: Owner, log: Path, begin: int) -> None:
    """Return once the server answers. Raises `Failed` if it stops, or does nothing for too long.

    As long as it writes its database, a slow machine is given all the time that it takes.
    """
    written, deadline = 0, time.monotonic() + START_S
    while not _answers(port, owner):
        if (last_write := _last_write(log.parent / DATA)) > written:
            written, deadline = last_write, time.monotonic() + START_S
        if process.poll() is not None:
            # On a full disk its last lines did not reach the log.
            is_full = shutil.disk_usage(log.parent).free < LEAST_FREE
            why = f"the disk of {log.parent} is full" if is_full else last_line(log, begin)
            raise Failed(f"Label Studio did not start: {why}; see {log}, then run again")
        if time.monotonic() > deadline:
            raise Failed(f"Label Studio did not answer at {_url(port)} in {START_S:.0f} s; see {log}, then run again")
        time.sleep(POLL_S)


def _last_write(folder: Path) -> int:
    """Return when the database in the folder was last written, in nanoseconds of the file system; 0 if never."""
    times = [0]
    for path in folder.glob(f"{DATABASE}*"):
        with contextlib.suppress(FileNotFoundError):  # a journal comes and goes
            times.append(path.stat().st_mtime_ns)
    return max(times)


def _answers(port: int, owner: Owner) -> bool:
    """Return whether the server at this port is ours: it answers, and accepts the owner's key.

    Label Studio silently moves to another port if its own was taken at the last moment.
    """
    try:
        with httpx.Client(base_url=_url(port), timeout=ANSWER_S, trust_env=False) as http:
            if http.get("/health").status_code != httpx.codes.OK:
                return False
            answer = http.get("/api/current-user/whoami", headers={"Authorization": f"Token {owner.token}"})
    except httpx.TransportError:
        return False
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        raise Failed(
            f"{_url(port)}: answers, but does not accept the owner's key: another server has just taken the port, or "
            "the owner's access token was changed on its account page; run again, or put the token into owner.json"
        )
    return answer.status_code == httpx.codes.OK


def _environment(folder: Path, programs: Path, owner: Owner) -> Mapping[str, str]:
    """Return the server's environment.

    It has nothing of the caller's: Label Studio reads settings from short names such as `DEBUG` or `HOST`, and keys of
    other services are none of its business.
    """
    home = (folder / "home").resolve()
    home.mkdir(mode=0o700, exist_ok=True)
    return {
        "PATH": f"{programs.resolve()}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),  # it writes a file with an identifier there
        "LANG": "C.UTF-8",
        "DJANGO_SETTINGS_MODULE": "touchstone_settings",
        "PYTHONPATH": str(PAGE),
        "LABEL_STUDIO_BASE_DATA_DIR": str((folder / DATA).resolve()),
        "LABEL_STUDIO_USERNAME": owner.email,
        "LABEL_STUDIO_PASSWORD": owner.password,
        "LABEL_STUDIO_USER_TOKEN": owner.token,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",  # only has an effect when the organisation is made
        "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "TASK_LOCK_TTL": str(LOCK_TASK_S),
        "SSRF_PROTECTION_ENABLED": "false",  # or webhooks to this machine are refused
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        # Its start page makes the server fetch tips from GitHub, which no setting turns off.
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1,localhost",
    }


def _has_accounts(database: Path) -> bool:
    """Return whether a database is complete: its owner has an organisation, which is made last."""
    return _answers_to(
        database, "SELECT 1 FROM htx_user JOIN organization ON organization.id = htx_user.active_organization_id"
    )


def _has_half_an_owner(database: Path) -> bool:
    """Return whether a first start ended between the owner and the organisation: another start would not make it.

    Anything less, such as half of the tables, is completed by the next start.
    """
    return not _has_accounts(database) and _answers_to(database, "SELECT 1 FROM htx_user")


def _answers_to(database: Path, query: str) -> bool:
    """Return whether the query finds a row; False without the database or the table.

    Raises `Failed` for a database that cannot be read: it may have people's work.
    """
    if not database.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            return connection.execute(query).fetchone() is not None
    except sqlite3.OperationalError as error:
        if str(error).startswith("no such"):  # table, or column, as yet
            return False
        raise Failed(f"{database}: cannot be read ({error}); nothing else may use it; run again") from error
    except sqlite3.DatabaseError as error:
        raise Failed(
            f"{database}: damaged ({error}); restore a copy, or move {database.parent} away to begin anew"
        ) from error


def _choose_port(asked: int | None, last: int | None) -> int:
    """Return the requested port, else the last one, so that bookmarks work, else a free one."""
    if asked is not None:
        if not _is_free(asked):
            raise WrongInput(f"--port {asked}: another program has it; choose another, or leave it out")
        return asked
    if last is not None and _is_free(last):
        return last
    for port in random.Random().sample(PORTS, len(PORTS)):
        if _is_free(port):
            return port
    raise Failed(f"no port from {PORTS.start} to {PORTS.stop - 1} is free; choose one with --port")


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
    return True


def _take(folder: Path) -> IO[str] | None:
    """Return the lock of the folder; None while a server or another `up` has it."""
    file = (folder / LOCK).open("a", encoding="utf-8")
    if not _lock(file, fcntl.LOCK_EX):
        file.close()
        return None
    file.truncate(0)
    return file


def _is_held(folder: Path) -> bool:
    """Return whether a server or an `up` has the lock of the folder."""
    try:
        with (folder / LOCK).open("rb") as file:
            return not _lock(file, fcntl.LOCK_SH)  # shared: two checks do not mistake each other for a server
    except (FileNotFoundError, NotADirectoryError):
        return False


def _lock(file: IO[str] | IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pid(folder: Path) -> int | None:
    """Return the server's process while it holds the lock; None while an `up` is at work."""
    return _number(folder / LOCK)


def _last_port(folder: Path) -> int | None:
    return _number(folder / PORT)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _url(port: int) -> str:
    return f"http://{HOST}:{port}"
