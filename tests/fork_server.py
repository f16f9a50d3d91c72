"""Commands as forks of one process that has imported what they import: a fresh Python takes seconds to do so.

The process that a test run starts (`Forks`) runs this file as a program. It imports nothing until the first command is
asked for. Each command is a fork with arguments, a folder, an environment and output files of its own, in a session of
its own; it ends as the real program does: after its threads and what is registered for the exit.

What is read when a module is imported:
- Prefect's settings are read anew at their first use in the fork, as an import there would read them.
- `huggingface_hub` is not imported before the fork.
- A command whose environment differs in another such variable (`READ_AT_IMPORT`) runs as a real process.
All forks of one run share the seed of string hashes; where a test is about that, it starts the real program.

`stand_in` is a command line that another program can start instead of `python -m MODULE`: it has the module run in a
fork, which is killed when it ends itself.
"""

import atexit
import contextlib
import gc
import importlib
import inspect
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

ADDRESS = "TOUCHSTONE_TESTS_FORKS"
"""The variable that tells the processes of a test run where the server listens."""
ROOMS = ("schemas", "data", "annotation", "flows")
ON_FIRST_USE = (
    "aiohttp", "anyio._backends._asyncio", "faiss", "fastapi.encoders", "fsspec.implementations.chained", "httpcore2",
    "openai.resources.chat", "prefect.flow_engine", "prefect.server.schemas.core", "prefect.task_engine",
    "prefect.utilities.visualization", "pyarrow.pandas_compat", "sqlalchemy.dialects.sqlite", "torch",
)  # fmt: skip
"""What is imported when a flow runs, a model is loaded or a table is read."""
NOT_YET = "huggingface_hub"
"""Its constants are read from the environment, which tests set, when it is imported."""
READ_AT_IMPORT = ("LANG", "LC_", "LD_", "MALLOC_", "MKL_", "OMP_", "OPENBLAS_", "PREFECT_LOGGING_", "PYTHON", "TZ")
_AT_START = {name: value for name, value in os.environ.items() if name.startswith(READ_AT_IMPORT)}


class Forked:
    """A command that was asked for, and its exit status once it has ended."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        out: str,
        err: str,
        module: str | None = None,
    ) -> None:
        """`module` runs instead of the command line."""
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(os.environ[ADDRESS])
        self._answers = self._connection.makefile("r")
        request = {"arguments": [*arguments], "folder": str(folder.resolve()), "environment": {**environment}}
        request |= {"out": out, "err": err, "module": module}
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        self.pid = self._answer()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit status. Raises `subprocess.TimeoutExpired`."""
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal to it alone."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it with all it started that is in its session."""
        if self.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
            self.wait()

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], timeout)[0]:
            self.returncode = self._answer()
            self._connection.close()
        return self.returncode

    def _answer(self) -> int:
        line = self._answers.readline()
        assert line, "the fork server has ended"
        return int(line)


def stand_in(module: str) -> str:
    """The command line that runs a module in a fork."""
    return f"{sys.executable} -S {__file__} {module}"


def can_fork(environment: Mapping[str, str]) -> bool:
    """Whether there is a server, and a command with this environment can be a fork."""
    read = {name: value for name, value in environment.items() if name.startswith(READ_AT_IMPORT)}
    return ADDRESS in os.environ and read == _AT_START


def run_forked(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a command and wait for it. Raises `subprocess.TimeoutExpired`."""
    with tempfile.TemporaryDirectory() as place:
        out, err = Path(place) / "out", Path(place) / "err"
        process = Forked(arguments, folder, environment, str(out), str(err))
        try:
            status = process.wait(timeout)
        finally:
            process.kill()
        printed = [path.read_text(encoding="utf-8") for path in (out, err)]
        return subprocess.CompletedProcess([*arguments], status, *printed)


class Forks:
    """The server of a test run, and its address in the environment."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="forks-")
        os.environ[ADDRESS] = f"{self._folder.name}/socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.environ[ADDRESS])
            listener.listen()
            # It ends when its standard input does, however this process ends.
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(listener.fileno()), self._folder.name],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[listener.fileno()], start_new_session=True,
            )  # fmt: skip

    def stop(self) -> None:
        """End it, and what it runs."""
        self._process.communicate()
        del os.environ[ADDRESS]
        self._folder.cleanup()


class _NotYet:
    """Refuses to import what has to be imported in the fork, by an error that no module takes for a missing library."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == NOT_YET:
            raise RuntimeError(f"{name} is imported in the fork")


def _import_all(home: Path) -> None:
    from flows.prefect_server.embedded import quieten_prefect

    quieten_prefect(home)
    guard = _NotYet()
    sys.meta_path.insert(0, guard)  # type: ignore[arg-type]
    rooms = [importlib.import_module(room) for room in ROOMS]
    names = [module.name for room in rooms for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")]
    for name in (*names, *ON_FIRST_USE):
        try:
            importlib.import_module(name)
        except RuntimeError as error:
            if NOT_YET not in str(error):
                raise
    sys.meta_path.remove(guard)
    _fill_caches()
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    frozen = gc.get_freeze_count()
    gc.get_freeze_count = lambda: frozen  # it goes through all of them: a tenth of a small build


def _fill_caches() -> None:
    """Read what the modules keep once it is first asked for, such as dictionaries: seconds for each command else."""
    cached = type(cache(gc.collect))
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] in ROOMS:
            for thing in [*vars(module).values()]:
                if isinstance(thing, cached) and not inspect.signature(thing).parameters:
                    thing()
    from flows.report.template import HERE, template

    for page in HERE.parent.rglob("*.html.j2"):
        template(page)


def _serve(listener: socket.socket, home: Path) -> dict[str, Any]:
    """Fork for each request until standard input ends; kill what nobody waits for. Returns the request, in the fork."""
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wakes)
    running: dict[int, socket.socket] = {}
    imported = False
    while True:
        ready = select.select([0, listener, woken, *running.values()], [], [])[0]
        if 0 in ready:
            for pid in running:
                _kill(pid)
            sys.exit()
        if woken in ready:
            os.read(woken, 4096)
            while running:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                with running.pop(pid) as connection:
                    _answer(connection, os.waitstatus_to_exitcode(status))
        for pid in [pid for pid, connection in running.items() if connection in ready]:
            _kill(pid)
            running.pop(pid).close()
        if listener in ready:
            connection, _ = listener.accept()
            with connection.makefile("r") as lines:
                request: dict[str, Any] = json.loads(lines.readline())
            if not imported:
                _import_all(home)
                imported = True
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for other in (listener, connection, *running.values()):
                    other.close()
                os.close(woken)
                os.close(wakes)
                return request
            running[pid] = connection
            _answer(connection, pid)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it leads no group yet
        os.killpg(pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _answer(connection: socket.socket, number: int) -> None:
    try:
        connection.sendall(f"{number}\n".encode())
    except OSError:  # whoever asked has ended
        return


def _become(request: dict[str, Any]) -> None:
    """Make this fork the process that was asked for."""
    os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, path in ((0, os.devnull), (1, request["out"]), (2, request["err"])):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = request["arguments"]
    _forget_settings()


def _forget_settings() -> None:
    import prefect.context

    first = prefect.context.SettingsContext.get

    def read_and_get() -> Any:
        prefect.context.SettingsContext.get = first  # type: ignore[method-assign]
        prefect.context.refresh_global_settings_context()
        return first()

    del prefect.context.GLOBAL_SETTINGS_CONTEXT
    prefect.context.SettingsContext.get = read_and_get  # type: ignore[method-assign, assignment]


def _wait_for_fork(module: str) -> NoReturn:
    """Have a module run in a fork that writes where this process does, and end with its status."""
    out, err = (f"/proc/{os.getpid()}/fd/{number}" for number in (1, 2))
    sys.exit(Forked([module], Path.cwd(), os.environ, out, err, module).wait())


def main() -> None:
    """Serve; in a fork, run the command and end with its status."""
    sys.path[0] = str(Path(sys.executable).parent)  # as for the real program, not the folder of the tests
    listener = socket.socket(fileno=int(sys.argv[1]))
    request = _serve(listener, Path(sys.argv[2]) / "prefect")
    _become(request)
    from flows import cli

    status: object = None
    try:
        if request["module"]:
            _run_module(request["module"])
        else:
            cli.main()
    except SystemExit as end:
        status = end.code
    except BaseException:  # noqa: BLE001 - as the interpreter ends
        traceback.print_exc()
        status = 1
    _end(status)


def _run_module(name: str) -> None:
    from prefect.logging.configuration import setup_logging

    setup_logging()  # as the environment says now
    runpy.run_module(name, run_name="__main__")


def _end(status: object) -> NoReturn:
    """End as the interpreter does, but let the system free what was imported: that takes a second."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if isinstance(status, str):
        sys.stderr.write(f"{status}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        _wait_for_fork(sys.argv[1])
    main()
