"""A build as it is seen in a terminal: progress stage by stage, the first item, and the summary."""

import json
import logging
import os
import shlex
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from flows import embedded_server
from flows.compose import Project, rules_of
from flows.construct.stages import StageRef
from flows.estimate import Estimate, estimate
from flows.families import load_family
from flows.llm.model import Usage
from flows.llm.rules import RulesSettings
from flows.outputs import read_manifest
from flows.settings import LOCAL, sample_path
from flows.watch import Unwatched
from schemas.base import visible
from schemas.errors import Failed, WrongInput
from schemas.manifest import BuildManifest, PartManifest, StageManifest, UsageOfPrompt, sum_usage

WIDTH_OF_FILES = 120
EVERY_S = 30.0
"""Between two lines of a log on how far a stage is, in seconds."""
DEFAULT_OUT = Path("out")
"""Where `touchstone run` builds if nobody says where."""
LEFT: dict[str, Any] = {"title_justify": "left", "title_style": "bold"}
LOCAL_SERVERS = {
    "Ollama": "http://127.0.0.1:11434/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
}
"""Where servers of the OpenAI protocol listen if nobody tells them otherwise."""


def run_in_terminal(config: Path, out: Path, limit: int | None) -> None:
    """Build, and show it."""
    console = make_console()
    started = time.monotonic()
    project = Project(config, out, limit)
    _check_folder(out)
    before = read_manifest(out, missing_ok=True)
    if limit is not None and before is not None and before.limit is None:
        console.print(f"[yellow]the pilot takes the place of the whole build in {out}; --out names another folder[/]")
    console.print(f"[bold]{project.config.name}[/] · {config} → {out}{_pilot(limit)}")
    if any(model.name != "rules" for one in project.build.families.values() for model in one.models.values()):
        print_estimate(estimate(project), console)
    console.print("[dim]starting the engine ...[/]")
    begin_prefect(project.state)
    from flows.build import run_build

    with Terminal(console) as watcher:
        manifest = run_build(config, out, limit, watcher, project.config.runner)
        watcher.announce("report")
        from flows.report import write_report

        report = write_report(project)
    print_summary(console, manifest, watcher.seconds, watcher.asked)
    if (item := one_item(project)) is not None:
        console.print(Panel(Markdown(as_lines(item)), title="one item", title_align="left", padding=(1, 2)))
    print_next(console, project, manifest, report)
    is_empty = not any(part.kept + part.waiting for part in manifest.parts)
    if limit is not None and any(usage.calls for usage in _usage(manifest.parts).values()):
        if is_empty:
            console.print("\nThe pilot kept nothing, so it does not tell what the whole build will take.")
        else:
            console.print("\nWhat the whole build will take, by this pilot's yields:")
            print_estimate(estimate(Project(config, out, None)), console)
    console.print(f"[dim]{time.monotonic() - started:.1f} s in all[/]")
    if is_empty:
        raise Failed(f"no record was kept; {report} shows why each was dropped")


def _check_folder(out: Path) -> None:
    """Refuse an output folder that cannot be one before anything is built."""
    for folder in (out, *(out / name for name in ("accepted", "sifted", "dropped"))):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise WrongInput(f"--out {out}: {error.filename} is no folder; name another") from error


def begin_prefect(state: Path) -> None:
    """Prefect's settings, and its server where the user names none: it starts while the rest is imported. Raises
    `Failed`.
    """
    quieten_prefect(state)
    embedded_server.begin(Path(os.environ["PREFECT_HOME"]))


def quieten_prefect(state: Path) -> None:
    """Settings of a Prefect that says nothing and sends nothing; the user's own settings win."""
    state.mkdir(parents=True, exist_ok=True)
    quiet = {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLI_CHECK_FOR_UPDATES": "false",
        "PREFECT_HOME": str((state / "prefect").resolve()),
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    }
    for name, value in quiet.items():
        os.environ.setdefault(name, value)
    # It has a logger of its own outside Prefect's: where a flow fails early, it says at the end that it waits.
    logging.getLogger("EventsWorker").setLevel(logging.CRITICAL)


@dataclass
class Running:
    """A stage at work: what is done of what."""

    task: TaskID
    began: float
    done: int = 0
    total: int | None = None
    calls: int = 0
    """Answers so far, those from the cache counted."""
    expected: int = 0
    """Calls that it may take; 0 where nobody can tell."""

    @property
    def counts(self) -> str:
        """`37/120 calls`; the pieces of a stage where it asks nothing."""
        if self.expected:
            return f"{self.calls:,}/{max(self.calls, self.expected):,} calls"
        pieces = f"{self.done:,}/{self.total:,}" if self.total else ""
        return ", ".join(filter(None, (pieces, f"{self.calls:,} calls" if self.calls else "")))


class LogInterval:
    """Tells when a log is due another line on how far work is; a terminal shows it all the time."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._told = clock()

    def due(self) -> bool:
        """Whether `EVERY_S` seconds have passed since the last time that this was so."""
        now = self._clock()
        if self._console.is_terminal or now - self._told < EVERY_S:
            return False
        self._told = now
        return True


class Terminal:
    """Watches a build: a line a stage, with a bar for each that runs where the terminal can draw them.

    Elsewhere, as in a log, a line for each that runs, every `EVERY_S` seconds. Stages tell of themselves from threads
    of their own.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console
        self.seconds: dict[tuple[str, str], float] = {}
        """Time that stages which ran now took by (family, part); of stages that ran side by side, each its own."""
        self.asked: dict[tuple[str, str], UsageOfPrompt] = {}
        """What models were asked by (family, part), in the stages that ran now."""
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

    def __reduce__(self) -> tuple[type[Unwatched], tuple[()]]:
        """On another machine nobody watches."""
        return Unwatched, ()

    def __enter__(self) -> "Terminal":
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def announce(self, what: str) -> None:
        """Show that something goes on that is no stage."""
        if self._announced is not None:
            self._progress.remove_task(self._announced)
        self._announced = self._progress.add_task(what, total=None, counts="")

    def started(self, ref: StageRef, total: int | None, calls: int = 0) -> None:
        """A stage begins."""
        with self._lock:
            task = self._progress.add_task(str(ref), total=calls or total, counts="")
            self._running[ref] = Running(task, self._clock(), total=total, expected=calls)
            self._draw(ref)

    def advanced(self, ref: StageRef, done: int, total: int) -> None:
        """A stage goes on."""
        with self._lock:
            if (running := self._running.get(ref)) is not None:
                running.done, running.total = done, total
                self._draw(ref)
                self.waited()

    def called(self, ref: StageRef, usage: Usage) -> None:
        """A prompt was answered."""
        with self._lock:
            if (running := self._running.get(ref)) is not None:
                running.calls += usage.calls + usage.cached
                self._draw(ref)
                self.waited()

    def blocked(self, ref: StageRef, by: str) -> None:
        """A stage waits for another run."""
        with self._lock:
            self.console.print(f"  {ref!s:<44} [yellow]waits for {by}, which makes it now[/]", soft_wrap=True)

    def waited(self) -> None:
        """In a log, tell every so often how far each stage is."""
        with self._lock:
            if not self._log.due():
                return
            now = self._clock()
            for ref, running in self._running.items():
                self.console.print(f"  {ref!s:<44} {running.counts:<28} after {now - running.began:.0f} s")

    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None:
        """A stage is finished."""
        with self._lock:
            running = self._running.pop(ref, None)
            if running is not None:
                self._progress.remove_task(running.task)
            took = self._clock() - running.began if running is not None else 0.0
            place = (ref.family, ref.part)
            self.seconds[place] = self.seconds.get(place, 0.0) + took
            if not before:
                self.asked[place] = _total([self.asked.get(place, UsageOfPrompt()), *manifest.usage.values()])
            dropped = manifest.planned - manifest.kept
            counts = f"{manifest.kept:,} kept" + (f", {dropped:,} dropped" if dropped else "")
            when = "[dim]done before[/]" if before else f"{took:.1f} s"
            self.console.print(f"[green]✓[/] {ref!s:<44} {counts:<28} {when}")
            for note in manifest.notes:
                self.console.print(f"  [yellow]{escape(as_lines(note))}[/]")
            if example and not self._shown:
                self._shown = True
                if not before:
                    item = Panel(
                        Markdown(as_lines(example)), title="the first item", title_align="left", padding=(1, 2)
                    )
                    self.console.print(item)

    def _draw(self, ref: StageRef) -> None:
        running = self._running[ref]
        done, total = (running.calls, running.expected) if running.expected else (running.done, running.total)
        total = total if total is None else max(done, total)
        self._progress.update(running.task, completed=done, total=total, counts=running.counts)


def one_item(project: Project) -> str | None:
    """An item from the middle of the first family's part that a person would read first."""
    family, _ = next(project.build.parts())
    parts = [part.name for one, part in project.build.parts() if one is family]
    items = project.build.accepted(family.name, family.reads if family.reads in parts else parts[-1])
    return next((family.show(item) for item in items.slice(len(items) // 2, len(items) // 2 + 1)), None)


def print_summary(
    console: Console,
    manifest: BuildManifest,
    seconds: Mapping[tuple[str, str], float],
    asked: Mapping[tuple[str, str], UsageOfPrompt],
) -> None:
    """The table of a finished build: its rows, and what `asked` and `seconds` say that this run took."""
    waits = any(part.waiting for part in manifest.parts)
    title = f"{manifest.name}: drafted = kept + dropped{'; some of the kept wait for people' if waits else ''}"
    table = Table(title=f"\n{title}", box=SIMPLE_HEAD, **LEFT)
    numbers = ("model calls", "cached", "money", "seconds")
    # Rows that wait lie among the accepted ones: what is kept is what the files have.
    for column in ("family", "drafted", "kept", *(["waiting"] if waits else []), "dropped, by reason", *numbers):
        is_text = column in ("family", "dropped, by reason")
        table.add_column(column, justify="left" if is_text else "right", no_wrap=column != "dropped, by reason")
    for part in (one for one in manifest.parts if one.planned or any(stage.notes for stage in one.stages)):
        usage = asked.get((part.family, part.part), UsageOfPrompt())
        reasons = sorted((one for step in part.dropped.values() for one in step.items()), key=lambda one: -one[1])
        table.add_row(
            f"{part.family} {part.part}",
            f"{part.planned:,}",
            f"{part.kept + part.waiting:,}",
            *([f"{part.waiting:,}" if part.waiting else "-"] if waits else []),
            "\n".join(f"{count:,} {reason}" for reason, count in reasons) or "-",
            f"{usage.calls:,}",
            f"{usage.cached:,}",
            money(usage),
            f"{seconds.get((part.family, part.part), 0.0):.1f}",
        )
    console.print(table)
    now, whole = _total(asked.values()), _total(_usage(manifest.parts).values())
    if whole.cut_off:
        console.print(
            f"[yellow]{whole.cut_off:,} answers ended at their limit of tokens; the report says to which prompts[/]",
            soft_wrap=True,
        )
    if now != whole:
        console.print(
            f"calls, cache and money are of this run; the whole build took {whole.calls:,} model calls, "
            f"{whole.cached:,} answers from the cache{f', {money(whole)}' if whole.cost_usd != 0 else ''}",
            soft_wrap=True,
        )


def print_next(console: Console, project: Project, manifest: BuildManifest, report: Path) -> None:
    """The paths written, and what to do next."""
    console.print("\n[bold]Written[/]")
    for part in manifest.parts:
        for file in part.files:
            if file.path.startswith("accepted/") and part.planned:
                console.print(f"  {project.out / file.path}  ({file.rows:,} rows)", soft_wrap=True)
    if any(part.waiting for part in manifest.parts):
        console.print("  [dim]rows that wait for people are in these files too, with `reviewed: false`[/]")
    console.print(f"  {report}  (open it in a browser)", soft_wrap=True)
    console.print(
        f"  {project.out / 'manifest.json'}, {project.out / 'sifted'}/, {project.out / 'dropped'}/", soft_wrap=True
    )
    kept = [part for part in manifest.parts if part.kept + part.waiting]
    there = {(part.family, part.part) for part in kept}
    console.print("\n[bold]Next[/]")
    for part in [part for part in manifest.parts if part.planned and part not in kept]:
        console.print(
            f"  [yellow]nothing of {part.family} {part.part} was kept; the report opens each reason to examples[/]"
        )
        advice = load_family(part.family).rules_advice
        if advice and all(model == "rules" for model in manifest.models.values()):
            console.print(f"  [yellow]{advice}, see below[/]")
    if kept:
        family = kept[0].family
        last = [one.part for one in kept if one.family == family][-1]
        _advise(console, project, f"show {family}-{last} --sample 5", "read what was made")
        _advise(console, project, f"verify {family}", "prove every row from the files alone")
    _advise_evaluations(console, project, kept)
    if all(model == "rules" for model in manifest.models.values()):
        console.print(
            "  your own endpoint: copy the sample configuration and put these two lines in place of its model:"
        )
        console.print(
            "    [cyan]model: {provider: endpoint, name: gpt-4o-mini, api_key_env: OPENAI_API_KEY}[/]", soft_wrap=True
        )
        console.print("    [cyan]budget_usd: 5[/]")
        if project.config_path == sample_path():
            console.print(
                f"    cp {sample_path()} my.yaml && touchstone run my.yaml --out pilot --limit 5", soft_wrap=True
            )
        for server, url, model in local_servers():
            console.print(
                f"  {server} answers here: [cyan]model: {{provider: endpoint, name: {model}, base_url: {url}}}[/]"
            )
    if any(part.people is not None and (family.name, part.name) in there for family, part in project.build.parts()):
        given = "" if project.config_path == sample_path() else f" {shlex.quote(str(project.config_path))}"
        start = f"touchstone label-studio up{given} && " if project.config.annotation.url == LOCAL else ""
        console.print("  people read it, and write what is theirs to write; this opens the forms, and tells where:")
        console.print(f"    {start}touchstone annotate push --out {shlex.quote(str(project.out))}", soft_wrap=True)


def _advise_evaluations(console: Console, project: Project, kept: Sequence[PartManifest]) -> None:
    """How the families' models are evaluated, and how those are scored that dialogues were held with."""
    by_rules = isinstance(project.config.model_for("default"), RulesSettings)
    for name in dict.fromkeys(part.family for part in kept):
        one = load_family(name)
        there = {part.part for part in kept if part.family == name}
        if there.isdisjoint(one.evaluation.parts):
            continue
        held = one.evaluation.held
        if held is not None and there.issuperset(held.parts):
            _advise(console, project, f"score {name}", "tables of the dialogues that were built")
        asked = one.prompts if held is not None else one.evaluation.prompts
        answers = not by_rules or any(prompt.name in rules_of(name) for prompt in asked)
        model, more = ("default", "") if answers else ("NAME", ", of provider endpoint")
        _advise(console, project, f"evaluate {name} --model {model}", f"put the rows to a model{more}, and score it")


def _advise(console: Console, project: Project, command: str, what_for: str) -> None:
    """A command on this very build: without `--out` it would read the last one, which may be another by then."""
    out = "" if project.out.resolve() == DEFAULT_OUT.resolve() else f" --out {shlex.quote(str(project.out))}"
    line = f"touchstone {command}{out}"
    console.print(f"  {escape(f'{line:<46}')}  {what_for}", soft_wrap=True)


def local_servers() -> Iterable[tuple[str, str, str]]:
    """(name, base URL, a model) of the OpenAI-compatible servers that answer on this machine."""
    for name, url in LOCAL_SERVERS.items():
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=0.3) as reply:  # noqa: S310 - a fixed loopback address
                models = json.load(reply)["data"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if models:
            yield name, url, str(models[0].get("id"))


def print_estimate(result: Estimate, console: Console | None = None, basis: str | None = None) -> None:
    """An estimate as a table; `basis` tells what it goes by."""
    console = console or make_console()
    basis = basis or (
        "by the pilot's yields"
        if result.measured
        else "before a pilot: nothing dropped or cached, answers of usual length"
    )
    table = Table(title=f"estimate ({basis})", box=SIMPLE_HEAD, **LEFT)
    for column in ("step", "records", "calls", "tokens in", "tokens out", "money"):
        table.add_column(column, justify="left" if column == "step" else "right")
    for line in result.lines:
        records = f"{line.records:,}" if line.records else ""
        money = "?" if line.cost_usd is None else f"${line.cost_usd:.2f}" if line.cost_usd else "-"
        counts = (line.calls, line.input_tokens, line.output_tokens)
        table.add_row(line.step, records, *(f"{count:,}" for count in counts), money)
    console.print(table)
    for note in result.notes:
        console.print(f"[yellow]{note}[/]")


class SteadyConsole(Console):
    """A console that falls silent where nobody reads on (`| head`): what is being made is made."""

    def on_broken_pipe(self) -> None:
        """Print no more, and go on."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_console() -> Console:
    """The terminal; where the output goes to a file, wide enough for the tables."""
    console = SteadyConsole(highlight=False)
    return console if console.is_terminal else SteadyConsole(highlight=False, width=WIDTH_OF_FILES)


def _usage(parts: Iterable[PartManifest]) -> dict[str, UsageOfPrompt]:
    return sum_usage(stage.usage for part in parts for stage in part.stages)


def as_lines(text: str) -> str:
    """A text of several lines as a terminal may have it: what would steer it is written out."""
    return "\n".join(map(visible, text.split("\n")))


def _total(usages: Iterable[UsageOfPrompt]) -> UsageOfPrompt:
    return sum_usage({"all": usage} for usage in usages).get("all", UsageOfPrompt())


def money(usage: Usage | UsageOfPrompt) -> str:
    """What was paid: `-` where nothing was, `?` where a price is not known."""
    return "?" if usage.cost_usd is None else f"${usage.cost_usd:.4f}" if usage.cost_usd else "-"


def _pilot(limit: int | None) -> str:
    return f" · pilot of {limit}" if limit else ""
