"""The library that makes one operation on files fail (`interpose.c`), and what it is told."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from data.checksum import checksum

LOADED = "LD_PRELOAD"
SOURCE = Path(__file__).with_name("interpose.c")
EVERYWHERE = ("eio", "enospc", "full", "before", "after")
OF_WRITES = (*EVERYWHERE, "torn", "short")
POWER = "power"
BACK, AHEAD = "clock back", "clock ahead"
OF_NAMES = (*EVERYWHERE, "power", "power, names ahead", "power, contents ahead", BACK, AHEAD)
"""The power goes after it: see `power.py`. The process dies after it, and the clock of the next one is wrong."""
OF_REQUESTS = ("refused", "lost", "killed before", "killed after")
"""Status 500; done, but the connection ends without an answer; whoever asked is killed."""
REQUEST = "request"
WRONG_BY_S = 3600
"""By how much a clock is wrong."""
STOP, SIGNALS = "stop", ("int", "term")
"""The signal comes after the operation."""
KINDS = tuple(dict.fromkeys((*OF_WRITES, *OF_NAMES, *OF_REQUESTS)))
FREES = ("unlink", "rmdir", "truncate")
"""Operations that a full disk does not hinder."""


@dataclass(frozen=True)
class Operation:
    """One that changed a file, or a request to a server."""

    number: int
    name: str
    bytes: int
    path: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """The faults that it can meet."""
        if self.name == REQUEST:
            return OF_REQUESTS
        if self.name == "write":
            return OF_WRITES if self.bytes > 1 else EVERYWHERE
        if self.name in FREES:
            return ("eio", "before", "after")
        return OF_NAMES if self.name in ("rename", "link") else EVERYWHERE


def library(cache: Path) -> Path:
    """The compiled library, made once for each version of its source."""
    made = cache / f"interpose-{checksum(SOURCE)[:16]}.so"
    if not made.exists():
        cache.mkdir(parents=True, exist_ok=True)
        compiler = shutil.which("cc") or shutil.which("gcc")
        assert compiler is not None, "a C compiler is needed: tests/system-packages installs one"
        temporary = made.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", temporary, SOURCE, "-ldl", "-lpthread"], check=True)
        temporary.replace(made)
    return made


def run_with_library(module: str, cache: Path) -> None:
    """Run this module, with its arguments, in place of this process, unless the library is loaded here.

    All releases have today's date, also those that are made after midnight or by a clock that is wrong.
    """
    made = str(library(cache))
    if os.environ.get(LOADED) != made:
        today = str(int(time.time()))
        os.environ |= {LOADED: made, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": today}
        os.execv(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]])


def clock_after(kind: str) -> int:
    """Return by how many seconds the clock is ahead after this fault."""
    return {BACK: -WRONG_BY_S, AHEAD: WRONG_BY_S}.get(kind, 0)


def told(
    root: Path, log: Path, at: int = 0, kind: str = "", synced: Path | None = None, ahead: int = 0
) -> Mapping[str, str]:
    """The environment of a process in which operation number `at` below `root` meets the fault; 0: none does.

    The clock is `ahead` by so many seconds.
    """
    told = {"FAULTS_ROOT": str(root), "FAULTS_LOG": str(log), "FAULTS_AT": str(at), "FAULTS_CLOCK": str(ahead)}
    told["FAULTS_KIND"] = "after" if kind in (BACK, AHEAD) else kind
    return told if synced is None else {**told, "FAULTS_KIND": "after", "FAULTS_SYNCED": str(synced)}


def operations(log: Path) -> Iterator[Operation]:
    """Yield the operations that a process noted."""
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        number, name, size, path = line.split(" ", 3)
        yield Operation(int(number), name, int(size), path)
