"""`touchstone annotate push`, `pull`, `status`, `listen` and `board`; `touchstone label-studio up` and `down`."""

from typing import Annotated

import typer

from flows.project.command import BuildOption, ConfigArgument

annotate = typer.Typer(help="People's work: push tasks, pull annotations, show progress.", no_args_is_help=True)
label_studio = typer.Typer(help="The project's own Label Studio server.", no_args_is_help=True)

BOARD_PORT = 19_990
"""The same at each start, so that bookmarks work; below those that `label-studio up` chooses from."""


@annotate.command()
def push(out: BuildOption = None) -> None:
    """Push everybody's current tasks to their queues in Label Studio.

    Run it as often as you like: existing tasks stay, with people's work on them.

    Example: `touchstone annotate push`
    """
    from flows.annotate.terminal import push_tasks

    push_tasks(out)


@annotate.command()
def pull(out: BuildOption = None) -> None:
    """Pull what people submitted: annotations, what does not count and why, and verdicts.

    The next `touchstone run` applies the verdicts. The next push brings reviews,
    and returns rejected work to its author.

    Example: `touchstone annotate pull`
    """
    from flows.annotate.terminal import pull_work

    pull_work(out)


@annotate.command()
def status(out: BuildOption = None) -> None:
    """Show who has done what, by form and person.

    Example: `touchstone annotate status`
    """
    from flows.annotate.terminal import print_status

    print_status(out)


@annotate.command()
def listen(
    out: BuildOption = None, port: Annotated[int, typer.Option(help="Port on this machine; 0 for a free one")] = 0
) -> None:
    """Pull and push by itself, until you stop it, whenever people have submitted something.

    Reviews, returned work and the tasks after the practice set reach people within a minute.

    Example: `touchstone annotate listen`
    """
    from flows.annotate.terminal import listen_to_server

    listen_to_server(out, port)


@annotate.command()
def board(
    out: BuildOption = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 for a free one")] = BOARD_PORT,
) -> None:
    """Show the team's work on a live page of this machine, until you stop it.

    What needs a look comes first; then each person's progress, speed and agreement, the forecast, and the hours.

    Example: `touchstone annotate board`
    """
    from flows.annotate.terminal import show_board

    show_board(out, port)


@label_studio.command()
def up(
    config: ConfigArgument = None,
    port: Annotated[int | None, typer.Option(min=1024, max=65535, help="Default: the last one, or a free one")] = None,
    show_password: Annotated[
        bool, typer.Option("--show-password", help="Print the owner's password even outside a terminal")
    ] = False,
) -> None:
    """Install and start the local Label Studio, make the people's accounts, and print how to log in.

    It listens on this machine only and sends nothing outside. The first start takes minutes, later ones seconds.

    Example: `touchstone label-studio up my.yaml`
    """
    from flows.annotate.server_terminal import start_server

    start_server(config, port, show_password=show_password)


@label_studio.command()
def down(config: ConfigArgument = None) -> None:
    """Stop the local Label Studio; its data stays.

    Example: `touchstone label-studio down my.yaml`
    """
    from flows.annotate.server_terminal import stop_server

    stop_server(config)
