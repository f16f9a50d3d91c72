"""`touchstone annotate` for a person at a terminal."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from annotation.label_studio.listener import Listener
from annotation.label_studio.strangers import JOINED
from annotation.label_studio.sync import PushedQueue
from flows.annotate import report
from flows.annotate.listen import Rounds, TextChecks
from flows.annotate.progress import QueueProgress, progress
from flows.annotate.server import connect_configured, server_folder
from flows.annotate.work import Collected, last_pull
from flows.loopback.guard import HOST
from flows.loopback.login import kept_login, login_file
from flows.prefect_server.embedded import begin_prefect
from flows.project.console import LEFT, make_console
from flows.project.output_files import PEOPLE_REPORT, open_build
from flows.project.project import Project
from schemas.base import counted
from schemas.errors import Failed

NOTHING_TO_SAY = ("", 0, report.NOTHING)
"""Values of a column of progress that is left out if it has no other."""
SHOWN = 20
"""The most questions to the engineer that are printed."""


def push_tasks(out: Path | None) -> None:
    """Push, and print what went where."""
    console = make_console()
    project = open_build(out, console, people=True)
    _reach(project)
    begin_prefect(project.state)
    from flows.annotate.flow import run_push

    with console.status("pushing ..."):
        pushed = run_push(project.out, partial(console.print, soft_wrap=True, markup=False))
    if pushed.queues:
        _print_queues(console, pushed.queues)
    else:
        console.print("people have nothing to do: no part of this build asks them, or everything is decided")
    for line in pushed.messages:
        console.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)


def _print_queues(console: Console, queues: Sequence[PushedQueue]) -> None:
    """Print a table of what went to each queue. Names and addresses are folded, never cut: a lead copies them."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("form", overflow="fold")
    table.add_column("person", overflow="fold")
    for number in ("tasks", "new", "there\nbefore", "retired"):
        table.add_column(number, justify="right")
    table.add_column("where", overflow="fold")
    for queue in queues:
        form, _, by = queue.queue.partition("/")[2].rpartition("/")
        numbers = (queue.wanted, queue.imported + queue.revived, queue.kept + queue.updated, queue.retired)
        table.add_row(*map(escape, (form, by, *map(str, numbers), queue.url)))
    console.print(table)


def _reach(project: Project) -> None:
    """Fail at once if the server does not answer or accept the key: Prefect takes seconds to start."""
    connect_configured(project).close()


def pull_work(out: Path | None) -> None:
    """Pull, and print what comes of it."""
    console = make_console()
    project = open_build(out, console, people=True)
    _reach(project)
    begin_prefect(project.state)
    from flows.annotate.flow import run_pull

    with console.status("pulling ..."):
        collected, lines = run_pull(project.out, partial(console.print, soft_wrap=True, markup=False))
    for work in collected:
        if work.settlement.outcomes or work.excluded or work.questions or report.notes_of(work):
            _print_collected(console, work)
    _print_progress(console, collected, lines)
    console.print(
        f"{project.out / PEOPLE_REPORT}: all of it on a page, agreement with intervals", soft_wrap=True, markup=False
    )
    written = [project.out / name for name in ("annotations", "verdicts") if (project.out / name).is_dir()]
    at = f"--out {shlex.quote(str(project.out))}"
    console.print(
        f"{', '.join(map(str, written))}; "
        f"`touchstone run {shlex.quote(str(project.config_path))} {at}` applies the verdicts, "
        f"`touchstone annotate push {at}` pushes the tasks that follow",
        style="dim",
        markup=False,
        soft_wrap=True,
    )


def _print_collected(console: Console, collected: Collected) -> None:
    """Print a rubric's tasks by state, its verdicts, what does not count, and the questions."""
    states, verdicts = report.state_counts(collected), report.verdict_counts(collected)
    console.print(f"[bold]{escape(collected.rubric)}[/]: tasks {states}; verdicts: {verdicts}", soft_wrap=True)
    for note in report.notes_of(collected):
        console.print(f"  [yellow]{escape(note)}[/]", soft_wrap=True)
    for reason, number, people in report.excluded_counts(collected):
        console.print(f"  excluded: {escape(reason)}: {number} ({escape(people)})", soft_wrap=True)
    if collected.excluded:
        console.print(f"  [dim]each, with what was missing or wrong: annotations/{collected.rubric}-apart.jsonl[/]")
    for asked in collected.questions[:SHOWN]:
        console.print(f"  {escape(report.question_line(asked))}", soft_wrap=True)
    if len(collected.questions) > SHOWN:
        console.print(f"  and {counted(len(collected.questions) - SHOWN, 'more question')}, in the annotations")
    if collected.questions:
        console.print("  [dim]`touchstone explain KEY` shows the record that a question is about[/]")


def print_status(out: Path | None) -> None:
    """Print who has done what."""
    console = make_console()
    project = open_build(out, console, people=True)
    collected = last_pull(project)
    with connect_configured(project) as client:
        _print_progress(console, collected, progress(project, client, collected))


def _print_progress(console: Console, collected: Sequence[Collected], lines: Sequence[QueueProgress]) -> None:
    """Print a table of people for each rubric, and their agreement under it: only what has something in it."""
    for work in collected:
        rows = [report.progress_row(line) for line in lines if line.work == work.rubric]
        rows = [row for row in rows if row["done"] or row["left"] or row["note"]]
        if not rows:
            continue
        table = Table(title=f"\n{work.rubric}", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), **LEFT)
        columns = [
            name
            for name in rows[0]
            if name in ("form", "person", "done", "left") or any(row[name] not in NOTHING_TO_SAY for row in rows)
        ]
        columns.remove("rubric")
        for name in columns:
            table.add_column(
                name.replace(" ", "\n", 1), justify="left" if name in ("form", "person", "note") else "right"
            )
        before = None
        for row in rows:
            form, before = row["form"] if row["form"] != before else "", row["form"]
            table.add_row(escape(str(form)), *(escape(str(row[name])) for name in columns if name != "form"))
        console.print(table)
        for text in (
            *report.reliability_lines(work),
            *(f"agreement: {line}" for line in report.agreement_lines(work.agreement(0, draws=0))),
            *(f"mean rating: {line}" for line in report.mean_lines(work.means())),
            *(f"correlation: {line}" for line in report.comparison_lines(work.compared(0, draws=0))),
        ):
            console.print(escape(_folded(text, console.width)), soft_wrap=True)
    if lines:
        console.print(f"[dim]{report.LEGEND}[/]")
    else:
        console.print("nobody has a queue yet; `touchstone annotate push` makes them")
    if any(line.changed for line in lines):
        console.print(f"[dim]{report.CHANGED}: somebody worked there since the last pull[/]")


def _folded(text: str, width: int) -> str:
    """Return the text in lines that end at its commas, so no number is separated from its name."""
    lines = [""]
    for piece in text.split(", "):
        joined = f"{lines[-1]}, {piece}" if lines[-1] else piece
        if lines[-1] and len(joined) >= width:  # the comma that ends the line counts too
            lines[-1] += ","
            lines.append(f"  {piece}")
        else:
            lines[-1] = joined
    return "\n".join(lines)


def listen_to_server(out: Path | None, port: int) -> None:
    """Hand out what follows from people's work, until stopped."""
    console = make_console()
    project = open_build(out, console, people=True)
    with suppress(Failed):  # a server that is down may come up: the first round says it, and the next one tries again
        _reach(project)
    try:
        joined = server_folder(project.config) / JOINED
        listener = Listener(project.state, port, checks := TextChecks(), joined)
    except OSError as error:
        raise _taken(port, error) from error

    def opened() -> Project:
        return open_build(project.out, console, people=True)

    def say(line: str) -> None:
        console.print(f"[dim]{datetime.now():%H:%M}[/] {escape(line)}", soft_wrap=True)

    with listener:
        console.print(f"listening at {listener.url}; Ctrl-C stops it")
        Rounds(opened, connect_configured, listener, say, checks).run()


def show_board(out: Path | None, port: int) -> None:
    """Serve the board, until stopped."""
    console = make_console()
    project = open_build(out, console, people=True)
    from flows.annotate.board.reading import Board
    from flows.annotate.board.server import listen_on, serve_board

    try:
        listening = listen_on(port)
    except OSError as error:
        raise _taken(port, error) from error
    board = Board(
        project.out,
        project.config_path,
        lambda: open_build(project.out, console, people=True),
        connect_configured,
    )
    console.print(f"the board is at http://{HOST}:{listening.getsockname()[1]}/; Ctrl-C stops it")
    login = kept_login(project.state)
    name, _, password = login.partition(":")
    kept = f"after the colon in {login_file(project.state)}"
    shown = f"{password}  (also {kept})" if console.is_terminal else kept
    console.print(f"  log in as {name}; the password is {escape(shown)}", soft_wrap=True)
    serve_board(board, login, listening)


def _taken(port: int, error: OSError) -> Failed:
    return Failed(
        f"--port {port}: cannot listen there ({error.strerror}); stop what listens there, or choose another port, "
        "0 for a free one"
    )
