"""Hands out and collects people's work for a person at a terminal."""

import shlex
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from annotation.label_studio.listener import Listener, secret_of, tell_us
from annotation.label_studio.sync import ours
from flows.annotate.progress import Standing, status
from flows.annotate.report import CHANGED, LEGEND, agreed, averaged, counted, decided, figures_of, likened
from flows.annotate.server import connect_configured
from flows.annotate.work import Collected, benchmark_of, stand
from flows.prefect_server.embedded import begin_prefect
from flows.project.console import LEFT, make_console
from flows.project.output_files import PEOPLE_REPORT, open_build
from flows.project.project import Project
from schemas.errors import Failed

SHOWN = 20
"""Questions to the engineer that are printed."""


def push_tasks(out: Path | None) -> None:
    """Hand out, and tell what went where."""
    console = make_console()
    project = open_build(out, console, people=True)
    _reach(project)
    begin_prefect(project.state)
    from flows.annotate.flow import run_annotate

    with console.status("handing out ..."):
        done = run_annotate(project.out)
    table = Table("queue", "tasks", "new", "there before", "retired", "where")
    for one in done.queues:
        table.add_row(
            one.queue.partition("/")[2], str(one.wanted), str(one.imported + one.revived), str(one.kept + one.updated),
            str(one.retired), one.url,
        )  # fmt: skip
    if done.queues:
        console.print(table)
    else:
        console.print("nothing is to be done by people: this build has no part that asks them, or all is decided")
    for one in done.queues:
        for note in one.notes:
            console.print(f"[yellow]{escape(one.queue)}: {escape(note)}[/]", soft_wrap=True)
    for line in done.lacking:
        console.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)


def _reach(project: Project) -> None:
    """Say at once where the server does not answer or does not take the key: the engine takes seconds to start."""
    connect_configured(project.config).close()


def pull_work(out: Path | None) -> None:
    """Collect, and tell what it comes to."""
    console = make_console()
    project = open_build(out, console, people=True)
    _reach(project)
    begin_prefect(project.state)
    from flows.annotate.flow import run_collect

    with console.status("collecting ..."):
        collected, standings = run_collect(project.out)
    for one in collected:
        _tell(console, one)
    _print_standings(console, collected, standings)
    console.print(f"{project.out / PEOPLE_REPORT}: all of it on a page, with what agreement is sure of", soft_wrap=True)
    written = [one for one in ("annotations", "verdicts") if (project.out / one).is_dir()]
    at = f"--out {shlex.quote(str(project.out))}"
    console.print(
        f"[dim]{', '.join(str(project.out / one) for one in written)}; "
        f"`touchstone run {shlex.quote(str(project.config_path))} {at}` applies the verdicts, "
        f"`touchstone annotate push {at}` hands out what comes of them[/]",
        soft_wrap=True,
    )


def _tell(console: Console, one: Collected) -> None:
    """What a rubric's annotations come to, what does not count, and what people ask."""
    told = counted(outcome.state for outcome in one.settlement.outcomes) or "none"
    console.print(f"[bold]{one.rubric}[/]: tasks {told}; verdicts: {decided(one)}", soft_wrap=True)
    for note in one.notes:
        console.print(f"  [yellow]{escape(note)}[/]", soft_wrap=True)
    apart = [*one.apart, *one.settlement.apart]
    for reason, count in sorted(Counter(each.reason for each in apart).items()):
        whose = Counter(each.by for each in apart if each.reason == reason)
        told = ", ".join(f"{count} of {by}" for by, count in sorted(whose.items()))
        console.print(f"  set apart: {escape(reason)}: {count:,} ({escape(told)})", soft_wrap=True)
    if apart:
        console.print(f"  [dim]each, with what was missing or wrong: annotations/{one.rubric}-apart.jsonl[/]")
    if one.aside:
        console.print(
            f"  [yellow]{', '.join(sorted(one.aside))} answered too few of the known questions rightly: what they "
            "judged goes out again[/]",
            soft_wrap=True,
        )
    for asked in one.questions[:SHOWN]:
        console.print(f"  {asked.by} asks about {asked.key}: {escape(asked.question)}", soft_wrap=True)
    if len(one.questions) > SHOWN:
        console.print(f"  and {len(one.questions) - SHOWN} questions more, in the annotations")


def print_status(out: Path | None) -> None:
    """Who has done what."""
    console = make_console()
    project = open_build(out, console, people=True)
    collected = stand(project)
    with connect_configured(project.config) as client:
        _print_standings(console, collected, status(project, client, collected))


def _print_standings(console: Console, collected: Sequence[Collected], standings: Sequence[Standing]) -> None:
    """By rubric a table of people, and how far people agree under it."""
    for one in collected:
        lines = [figures_of(line) for line in standings if line.work == one.rubric]
        if not lines:
            continue
        table = Table(title=f"\n{one.rubric}", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), **LEFT)
        columns = [name for name in lines[0] if name != "rubric"]
        for name in columns:
            table.add_column(
                name.replace(" ", "\n", 1), justify="left" if name in ("form", "person", "note") else "right"
            )
        before = None
        for line in lines:
            form, before = line["form"] if line["form"] != before else "", line["form"]
            table.add_row(str(form), *(escape(str(line[name])) for name in columns if name != "form"))
        console.print(table)
        for told in (
            *(f"agreement: {each}" for each in agreed(one.agreement(0, draws=0))),
            *(f"mean rating: {each}" for each in averaged(one.means())),
            *(f"correlation: {each}" for each in likened(one.compared(0, draws=0))),
        ):
            console.print(escape(_folded(told, console.width)), soft_wrap=True)
    if standings:
        console.print(f"[dim]{LEGEND}[/]")
    if any(line.changed for line in standings):
        console.print(f"[dim]{CHANGED}: somebody worked there since the last pull[/]")
    if not standings:
        console.print("nobody has a queue yet; `touchstone annotate push` hands out")


def _folded(text: str, width: int) -> str:
    """The text in lines that end at its commas, so that no figure stands apart from its name."""
    lines = [""]
    for piece in text.split(", "):
        joined = f"{lines[-1]}, {piece}" if lines[-1] else piece
        if lines[-1] and len(joined) >= width:  # the comma that ends the line as well
            lines[-1] += ","
            joined = f"  {piece}"
            lines.append(joined)
        else:
            lines[-1] = joined
    return "\n".join(lines)


def listen_to_server(out: Path | None, port: int) -> None:
    """Listen until stopped."""
    console = make_console()
    project = open_build(out, console, people=True)
    with connect_configured(project.config) as client:
        try:
            listener = Listener(project.state, port)
        except OSError as error:
            raise Failed(f"--port {port}: cannot be listened at ({error.strerror}); name another") from error
        with listener:
            queues = ours(client, benchmark_of(project))
            for queue in queues.values():
                tell_us(client, queue.id, listener.url, secret_of(project.state))
            console.print(f"listening at {listener.url} for {len(queues)} projects; Ctrl-C stops it")
            threading.Event().wait()
