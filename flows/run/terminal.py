"""Builds with output for a terminal: progress stage by stage, then the summary."""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from flows.construct.progress import ProgressListener
from flows.construct.stages import StageRef
from flows.llm.model import Usage
from flows.prefect_server.embedded import begin_prefect
from flows.project.console import LogInterval, SteadyConsole, make_console
from flows.project.locks import building
from flows.project.output_files import last_manifest
from flows.project.project import Project
from flows.run.damage import remove_damaged, stages_of
from flows.run.estimate import estimate
from flows.run.finished import finished_build, report_if_new
from flows.run.summary import one_item, print_estimate, print_next, print_summary, usage_by_prompt
from schemas.base import as_lines, counted
from schemas.errors import Failed, WrongInput
from schemas.manifest import StageManifest, UsageOfPrompt, total_usage

INTERRUPTED = 130
STOPPING = "stopping ... (again to stop at once; what is finished is kept)"
ONE_STOP_S = 1.0
"""Signals within these seconds are one: `timeout` sends its own to the process, and then to the whole group."""


def run_in_terminal(config: Path, out: Path, limit: int | None) -> None:
    """Build every configured family; show progress, summary and next commands."""
    console = make_console()
    started = time.monotonic()
    project = Project(config, out, limit)
    _check_folder(out)
    before = last_manifest(out)
    if limit is not None and before is not None and before.limit is None:
        console.print(
            f"[yellow]the pilot takes the place of the whole build in {escape(str(out))}; --out names another folder[/]"
        )
    console.print(f"[bold]{escape(project.config.name)}[/] · {escape(f'{config} → {out}')}{_pilot(limit)}")
    with building(project.state):
        tell = partial(console.print, markup=False, soft_wrap=True)
        remove_damaged(project.build, project.state, stages_of(project.build), tell)
    families = project.build.families.values()
    if any(model.name != "rules" for configured in families for model in configured.models.values()):
        print_estimate(estimate(project), console)
    with Terminal(console) as listener:
        manifest = finished_build(project, listener)
        if manifest is None:
            console.print("[dim]starting the engine ...[/]")
            begin_prefect(project.state)
            from flows.run.flow import run_build

            manifest = run_build(config, out, limit, listener)
        listener.announce("report")
        report = report_if_new(project)
    print_summary(console, manifest, listener.seconds, listener.asked)
    if (item := one_item(project)) is not None:
        console.print(Panel(Markdown(as_lines(item)), title="one item", title_align="left", padding=(1, 2)))
    print_next(console, project, manifest, report)
    is_empty = not any(part.sifted for part in manifest.parts)
    if limit is not None and any(usage.calls for usage in usage_by_prompt(manifest.parts).values()):
        if is_empty:
            console.print("\nThe pilot kept nothing, so it does not tell what the whole build will take.")
        else:
            console.print("\nWhat the whole build will take, by this pilot's yields:")
            print_estimate(estimate(Project(config, out, None)), console)
    console.print(f"[dim]{time.monotonic() - started:.1f} s in all[/]")
    if is_empty:
        raise Failed(f"no record was kept; {report} shows why each was dropped")


def _check_folder(out: Path) -> None:
    """Create the output folders. Raises `WrongInput` if one of them cannot be a folder."""
    for folder in (out, *(out / name for name in ("accepted", "sifted", "dropped"))):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise WrongInput(f"--out {out}: {error.filename} is no folder; name another") from error


@dataclass
class Running:
    """A stage that runs now, and its progress."""

    task: TaskID
    began: float
    done: int = 0
    total: int | None = None
    calls: int = 0
    """Answers so far, including those from the cache."""
    expected: int = 0
    """Calls that it may take; 0 if not known."""

    @property
    def counts(self) -> str:
        """Progress such as `37/120 calls`, or in pieces if the stage asks nothing."""
        if self.expected:
            return f"{self.calls:,}/{counted(max(self.calls, self.expected), 'call')}"
        pieces = f"{self.done:,}/{self.total:,}" if self.total else ""
        return ", ".join(filter(None, (pieces, counted(self.calls, "call") if self.calls else "")))


class Terminal(ProgressListener):
    """Prints a line for each finished stage and, if the terminal can draw it, a bar for each running one.

    Otherwise, as in a log, it prints a line for each running stage from time to time. Stages report from threads of
    their own.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console
        self._spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
        """When each stage of this run began and ended, by (family, part)."""
        self.asked: dict[tuple[str, str], UsageOfPrompt] = {}
        """Usage of models by the stages of this run, by (family, part)."""
        self._clock = clock
        self._running: dict[StageRef, Running] = {}
        self._announced: TaskID | None = None
        self._log = LogInterval(console, clock)
        self._shown = False
        self._lock = threading.RLock()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    @property
    def seconds(self) -> dict[tuple[str, str], float]:
        """Seconds of this run by (family, part) while some of the part's stages ran: several may run side by side."""
        return {place: _covered(spans) for place, spans in self._spans.items()}

    def __reduce__(self) -> tuple[type[ProgressListener], tuple[()]]:
        """Pickle as a listener that ignores everything: on another machine there is no terminal."""
        return ProgressListener, ()

    def __enter__(self) -> "Terminal":
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def announce(self, what: str) -> None:
        """Show that something runs that is not a stage."""
        if self._announced is not None:
            self._progress.remove_task(self._announced)
        self._announced = self._progress.add_task(what, total=None, counts="")

    def started(self, ref: StageRef, total: int | None, calls: int = 0) -> None:
        """Add a bar for the stage."""
        with self._lock:
            task = self._progress.add_task(str(ref), total=calls or total, counts="")
            self._running[ref] = Running(task, self._clock(), total=total, expected=calls)
            self._draw(ref)

    def advanced(self, ref: StageRef, done: int, total: int) -> None:
        """Move the stage's bar."""
        with self._lock:
            if (running := self._running.get(ref)) is not None:
                running.done, running.total = done, total
                self._draw(ref)
                self.waited()

    def called(self, ref: StageRef, usage: Usage) -> None:
        """Count a call or cached answer of the stage."""
        with self._lock:
            if (running := self._running.get(ref)) is not None:
                running.calls += usage.calls + usage.cached
                self._draw(ref)
                self.waited()

    def stopping(self) -> None:
        """Say so on stderr; a second signal then ends the process, as if it were killed."""
        SteadyConsole(stderr=True, highlight=False).print(STOPPING, soft_wrap=True)
        began = self._clock()

        def end(number: int, frame: object) -> None:
            if self._clock() - began >= ONE_STOP_S:
                self.console.show_cursor()
                os._exit(INTERRUPTED)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)

    def blocked(self, ref: StageRef, by: str) -> None:
        """Print which run the stage waits for."""
        with self._lock:
            self.console.print(f"  {ref!s:<40} [yellow]waits for {escape(by)}, which makes it now[/]", soft_wrap=True)

    def waited(self) -> None:
        """In a log, print the progress of each running stage from time to time."""
        with self._lock:
            if not self._log.due():
                return
            now = self._clock()
            for ref, running in self._running.items():
                self.console.print(f"  {ref!s:<40} {running.counts:<24} after {now - running.began:.0f} s")

    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None:
        """Replace the stage's bar by its line; print its notes, and the first example that comes."""
        with self._lock:
            running = self._running.pop(ref, None)
            if running is not None:
                self._progress.remove_task(running.task)
            took = self._clock() - running.began if running is not None else 0.0
            place = (ref.family, ref.part)
            self._spans.setdefault(place, []).append((self._clock() - took, self._clock()))
            if not before:
                self.asked[place] = total_usage([self.asked.get(place, UsageOfPrompt()), *manifest.usage.values()])
            dropped = manifest.planned - manifest.kept
            counts = f"{manifest.kept:,} kept" + (f", {dropped:,} dropped" if dropped else "")
            when = "[dim]done before[/]" if before else f"{took:.1f} s"
            self.console.print(f"[green]✓[/] {ref!s:<40} {counts:<24} {when}")
            for note in manifest.notes:
                self.noted(note)
            if example and not self._shown:
                self._shown = True
                if not before:
                    item = Panel(
                        Markdown(as_lines(example)), title="the first item", title_align="left", padding=(1, 2)
                    )
                    self.console.print(item)

    def noted(self, note: str) -> None:
        """Print a note in one line."""
        self.console.print(f"  [yellow]{escape(as_lines(note))}[/]", soft_wrap=True)

    def _draw(self, ref: StageRef) -> None:
        running = self._running[ref]
        done, total = (running.calls, running.expected) if running.expected else (running.done, running.total)
        total = total if total is None else max(done, total)
        self._progress.update(running.task, completed=done, total=total, counts=running.counts)


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return how long at least one of the spans lasted."""
    covered, until = 0.0, -math.inf
    for began, ended in sorted(spans):
        covered += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return covered


def _pilot(limit: int | None) -> str:
    return f" · pilot of {limit}" if limit else ""
