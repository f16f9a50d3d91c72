"""A Dask cluster as several machines would be one: processes that share no folder of work, home or database."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import orjson

from tests.builds import wait_for


class Cluster:
    """A scheduler and its workers while the block lasts; a worker that is killed stays away."""

    def __init__(
        self, folder: Path, environment: dict[str, str], workers: int = 2, vectors: Path | None = None
    ) -> None:
        """`vectors` is a database of embeddings that each worker starts with, to be sooner done."""
        self._folder = folder
        self._vectors = vectors
        self._environment = environment
        self._number = workers
        self._scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        note = self._folder / "scheduler.json"
        self._folder.mkdir(parents=True)
        self._scheduler = self._start(
            "dask_scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(note)
        )
        wait_for(lambda: note.exists() and note.stat().st_size > 0)
        self.address = str(orjson.loads(note.read_bytes())["address"])
        for _ in range(self._number):
            self.join()
        wait_for(lambda: all("Registered to" in self.log(number) for number in range(self._number)))
        return self

    def join(self) -> None:
        """Start another worker."""
        number = len(self.workers)
        self.workers.append(
            self._start("dask_worker", f"worker-{number}", self.address, "--nthreads", "1", "--no-nanny",
                        "--host", "127.0.0.1")
        )  # fmt: skip

    def __exit__(self, *error: object) -> None:
        for process in [*self.workers, self._scheduler]:
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def kill(self, number: int) -> None:
        """Kill a worker without a word."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()

    def kill_scheduler(self) -> None:
        """Kill the scheduler without a word."""
        assert self._scheduler is not None
        os.killpg(self._scheduler.pid, signal.SIGKILL)
        self._scheduler.wait()

    def log(self, number: int) -> str:
        """What a worker has said."""
        return (self._folder / f"worker-{number}.log").read_text()

    def _start(self, program: str, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = self._folder / name
        (home / ".touchstone").mkdir(parents=True)
        if self._vectors is not None:
            shutil.copy(self._vectors, home / ".touchstone" / "embeddings.sqlite")
        environment = {
            **os.environ, "HOME": str(home), "PREFECT_HOME": str(home / "prefect"), **self._environment,
        }  # fmt: skip
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{program}", "--no-dashboard", *arguments], cwd=home,
                env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
