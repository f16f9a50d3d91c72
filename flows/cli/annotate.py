"""`touchstone annotate push`, `pull`, `status` and `listen`."""

from typing import Annotated

import typer

from flows.cli.read import BuildOption


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    group = typer.Typer(help="People's work: hand it out, collect it, see how it stands.", no_args_is_help=True)
    group.command()(push)
    group.command()(pull)
    group.command()(status)
    group.command()(listen)
    app.add_typer(group, name="annotate")


def push(out: BuildOption = None) -> None:
    """Bring to everybody's queues in Label Studio what is theirs to do now.

    Run it as often as you like: what is there already stays, with all that people did on it.

    Example: `touchstone annotate push`
    """
    from flows.cli.annotating import push_tasks

    push_tasks(out)


def pull(out: BuildOption = None) -> None:
    """Collect what people handed in: annotations, what does not count and why, and verdicts.

    The next `touchstone run` applies the verdicts; the next push hands out reviews, and what goes back to its author.

    Example: `touchstone annotate pull`
    """
    from flows.cli.annotating import pull_work

    pull_work(out)


def status(out: BuildOption = None) -> None:
    """Who has done what, by form and person.

    Example: `touchstone annotate status`
    """
    from flows.cli.annotating import print_status

    print_status(out)


def listen(
    out: BuildOption = None, port: Annotated[int, typer.Option(help="Port on this machine; 0 for a free one")] = 0
) -> None:
    """Have Label Studio tell of every change, and mark it for `status`, until you stop it. A pull finds all without it.

    Example: `touchstone annotate listen`
    """
    from flows.cli.annotating import listen_to_server

    listen_to_server(out, port)
