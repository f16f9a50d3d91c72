"""The board's state: read anew when the files of the last pull change, and when the server was not asked for a while.

A request never waits for a reading. What cannot be read leaves the last state as it was, with the reason.
"""

import csv
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from annotation.label_studio.client import Client
from flows.annotate.board.numbers import RubricNumbers, rubric_numbers, task_links
from flows.annotate.hours import HOURS, Hours
from flows.annotate.progress import OnServer, QueueProgress, progress_on
from flows.annotate.work import Collected, benchmark_of, last_pull
from flows.project.build_note import MANIFEST
from flows.project.project import Project
from schemas.annotation import Agreement
from schemas.errors import Failed, WrongInput, first_line

LOOK_S = 2.0
"""Seconds from one look at the files to the next."""
ASK_S = 30.0
"""The least seconds from one question to the server to the next, and from one reading that failed to the next."""
SHARE = 0.1
"""The greatest share of the time that the server spends on answers."""
SEEN_S = 120.0
"""The server is asked only if somebody had the page open in so many seconds."""
Files = Mapping[str, tuple[int, int]]
"""By path, when each file was written and its size."""


@dataclass(frozen=True)
class State:
    """What the page shows."""

    title: str = ""
    rubrics: tuple[RubricNumbers, ...] | None = None
    """None before the first reading."""
    hours: tuple[Hours, ...] = ()
    pulled: datetime | None = None
    """When the last pull wrote its files; None before the first."""
    asked: datetime | None = None
    """When the server last answered."""
    files_problem: str = ""
    server_problem: str = ""


class Board:
    """The state, and what renews it."""

    def __init__(
        self,
        out: Path,
        config: Path,
        opened: Callable[[], Project],
        connected: Callable[[Project], AbstractContextManager[Client]],
    ) -> None:
        """`out` is the build's folder, `config` its configuration file. When they change, the build is opened anew; the
        server is connected to for each question."""
        self.out, self._config = out, config
        self.state = State()
        self._opened, self._connected = opened, connected
        self._project: Project | None = None
        self._collected: Sequence[Collected] = ()
        self._agreement: Mapping[str, Sequence[Agreement]] = {}
        self._lines: Sequence[QueueProgress] = ()
        self._server: OnServer | None = None
        self._files: Files = {}
        self._read_at = self._ask_at = 0.0
        self._seen = time.monotonic()

    def seen(self) -> State:
        """Return the state, for somebody who has the page open."""
        self._seen = time.monotonic()
        return self.state

    def run(self) -> None:
        """Renew the state for ever."""
        while True:
            self.renew()
            time.sleep(LOOK_S)

    def renew(self) -> None:
        """Read what has changed, and ask the server if it is time."""
        is_new = self._read_files()
        if self._project is None:
            return
        if is_new:
            self._compute(self._project)
        began = time.monotonic()
        if self._ask_at <= began < self._seen + SEEN_S:
            self._ask(self._project)
            self._compute(self._project)
            self._ask_at = time.monotonic() + max(ASK_S, (time.monotonic() - began) / SHARE)

    def _read_files(self) -> bool:
        """Read the build and the last pull if a file has changed; return whether there is something new."""
        files = self._written()
        if files == self._files and (not self.state.files_problem or time.monotonic() < self._read_at):
            return False
        with _told() as problems:
            project = self._opened()
            collected = last_pull(project)
            agreement = {work.rubric: work.agreement(project.config.seed) for work in collected}
            lines = progress_on(project, self._server, collected)
            if self._project is not None:
                if files != self._written():
                    project.close(0)
                    return False  # a pull or a build is writing: look again
                self._project.close(0)
            self._project, self._collected = project, collected
            self._agreement, self._lines = agreement, lines
        self._files, self._read_at = files, time.monotonic() + ASK_S
        self.state = replace(self.state, files_problem=" ".join(problems))
        return not problems

    def _written(self) -> Files:
        """Return when the files of the build and of the last pull were written."""
        files = {}
        for path in (self._config, self.out / MANIFEST, *sorted((self.out / HOURS).parent.glob("*"))):
            with _told():  # a file may go in between
                status = path.stat()
                files[str(path)] = status.st_mtime_ns, status.st_size
        return files

    def _ask(self, project: Project) -> None:
        """Ask the server for the queues; if it does not answer, the last ones stay."""
        with _told() as problems, self._connected(project) as client:
            server = OnServer(client, benchmark_of(project))
            self._lines = progress_on(project, server, self._collected)
            server.keep()
            self._server = server
            self.state = replace(self.state, asked=datetime.now(UTC))
        self.state = replace(self.state, server_problem=" ".join(problems))

    def _compute(self, project: Project) -> None:
        with _told() as problems:
            link = task_links(self._server, benchmark_of(project))
            today = datetime.now(UTC).date()
            rubrics = [
                rubric_numbers(
                    work, self._agreement[work.rubric], [line for line in self._lines if line.work == work.rubric],
                    self._server, link, today, project.config.seed,
                )
                for work in self._collected
            ]  # fmt: skip
            self.state = replace(
                self.state,
                title=project.config.name,
                rubrics=tuple(rubrics),
                hours=tuple(_hours(self.out / HOURS)),
                pulled=_pulled(self.out),
            )
        if problems:
            self.state = replace(self.state, files_problem=" ".join(problems))


@contextmanager
def _told() -> Iterator[list[str]]:
    """Go on after the block if something could not be read or reached, and tell what."""
    problems: list[str] = []
    try:
        yield problems
    except (Failed, WrongInput, OSError, ValueError) as error:
        problems.append(first_line(error))
    except Exception as error:  # noqa: BLE001 - the board goes on for days, and its page says what is wrong
        problems.append(f"{type(error).__name__}: {first_line(error)}")


def _hours(path: Path) -> Iterator[Hours]:
    """Yield the lines of `hours.csv`. Raises `WrongInput` for a file that no pull wrote so."""
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            try:
                for row in csv.DictReader(file):
                    yield Hours(
                        row["person"], row["week"], row["form"], int(row["submissions"]), float(row["hours"]),
                        float(row["longest_minutes"]),
                    )  # fmt: skip
            except (KeyError, TypeError, ValueError, csv.Error) as error:
                raise WrongInput(f"{path}: changed by hand; have `touchstone annotate pull` write it anew") from error


def _pulled(out: Path) -> datetime | None:
    """Return when the last pull wrote its last file."""
    path = out / HOURS
    return datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.exists() else None
