"""The workers of a harness: forks, each in a folder of its own, that note what came of their scenarios."""

import contextlib
import json
import os
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SHM = Path("/dev/shm")
"""Where there is one, a folder in memory."""
RESULTS = "results"


@contextlib.contextmanager
def workshop(name: str) -> Iterator[Path]:
    """Yield a folder that is there for as long as this lasts."""
    warnings.simplefilter("ignore")
    home = Path(tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None, prefix=f"{name}-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def warm_workshop(name: str) -> Iterator[Path]:
    """Yield such a folder, once this process has imported what commands import: they are its forks."""
    from tests.fork_server import _import_all

    with workshop(name) as home:
        _import_all(home / "prefect")
        yield home


def forked(work: Callable[[], None]) -> int:
    """Do something in a fork; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:  # noqa: BLE001 - as the interpreter ends
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def side_by_side(home: Path, workers: int, work: Callable[[int, Path], None]) -> list[Any]:
    """Do `work(number, folder)` in so many forks. Returns all that they have noted, worker by worker."""
    folders = [home / str(number) for number in range(workers)]
    for folder in folders:
        folder.mkdir(parents=True)
    pids = [forked(lambda number=number, folder=folder: work(number, folder)) for number, folder in enumerate(folders)]
    if any([os.waitpid(pid, 0)[1] for pid in pids]):  # noqa: C419 - all are waited for
        raise SystemExit(f"{home.name}: a worker of the harness failed")
    return [result for folder in folders for result in noted(folder)]


def note(folder: Path, result: object) -> None:
    """Note what came of a scenario."""
    with (folder / RESULTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")


def noted(folder: Path) -> list[Any]:
    """Return what a worker has noted so far."""
    path = folder / RESULTS
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
