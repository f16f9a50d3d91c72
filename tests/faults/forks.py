"""Commands in forks of one process that has imported what they import, with or without a fault."""

import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from flows import cli
from tests.faults.left import TEMPORARY
from tests.fork_server import _end

DIED = (137, -signal.SIGKILL)
"""The status of a process that the library had die, or a server killed."""
SECONDS = 120
"""A command that takes longer hangs."""
LOOKS_EVERY_S = 0.002


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, what it wrote to standard error, and the most memory that it had."""

    status: int
    said: str
    megabytes: int


class Child:
    """A fork that runs a command in a folder once it is told to.

    Make it before the servers that it speaks to: a fork has none of its parent's threads, but all of their locks.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        said: Path,
        environment: Mapping[str, str],
        modules: Path | None = None,
        shown: Path = Path(os.devnull),
    ) -> None:
        """`environment` is the library's, and not that of processes that the command starts.

        The names of all modules that the command imported are written to `modules`, and its standard output to `shown`.
        """
        self._said, self._modules, self._shown = said, modules, shown
        waits, self._go = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._go)
            if not os.read(waits, 1):
                os._exit(0)
            self._become(command, folder, environment)
        os.close(waits)

    def _become(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> NoReturn:
        os.setsid()
        os.dup2(os.open(self._shown, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        os.dup2(os.open(self._said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        temporary = folder / TEMPORARY
        temporary.mkdir(exist_ok=True)
        tempfile.tempdir = str(temporary)
        os.environ["COLUMNS"] = "200"
        os.environ |= environment
        os.close(os.open(self._said, os.O_WRONLY | os.O_CREAT))  # here the library reads it
        for name in environment:
            del os.environ[name]
        status: object = None
        try:
            run(folder, *command)
        except SystemExit as end:
            status = end.code
        except BaseException:  # noqa: BLE001 - as the interpreter ends
            traceback.print_exc()
            status = 1
        if self._modules is not None:
            self._modules.write_text(" ".join(sys.modules), encoding="utf-8")
        _end(status)

    def run(self) -> Ended:
        """Let it go, and wait until it has ended."""
        self.go()
        return self.wait()

    def go(self) -> None:
        """Let it go."""
        os.write(self._go, b".")
        os.close(self._go)

    def wait(self) -> Ended:
        """Wait until it has ended; kill it if it hangs."""
        until = time.monotonic() + SECONDS
        while not (ended := os.wait4(self.pid, os.WNOHANG))[0]:
            if time.monotonic() > until:
                os.killpg(self.pid, signal.SIGKILL)
                ended = os.wait4(self.pid, 0)
                break
            time.sleep(LOOKS_EVERY_S)
        said = self._said.read_text(encoding="utf-8", errors="replace")
        return Ended(os.waitstatus_to_exitcode(ended[1]), said, ended[2].ru_maxrss // 1024)


def prepared(folder: Path, prepare: Callable[[Path, int], None], environment: Mapping[str, str] | None = None) -> int:
    """Have made in `template` what is there before a command, as if in `work`. Returns the port of the server.

    `environment` is that of all that this process starts from here on; `{port}` is the server's.
    """
    work = folder / "work"
    work.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    os.environ |= {name: value.format(port=port) for name, value in (environment or {}).items()}
    in_fork(lambda: prepare(work, port), folder / "prepared")
    work.rename(folder / "template")
    return port


def run(folder: Path, *arguments: str) -> None:
    """Run the command line in a folder."""
    os.chdir(folder)
    sys.argv = ["touchstone", *arguments]
    cli.main()


def in_fork(do: Callable[[], None], said: Path) -> None:
    """Do something in a fork; what it prints goes to a file."""
    pid = os.fork()
    if not pid:
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        status = 0
        try:
            do()
        except BaseException:  # noqa: BLE001 - as the interpreter ends
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0, said.read_text(encoding="utf-8")
