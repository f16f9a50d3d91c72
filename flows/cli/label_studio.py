"""`touchstone label-studio up` and `down`."""

from typing import Annotated

import typer

from flows.cli.build import ConfigArgument


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    group = typer.Typer(help="A Label Studio of the project's own.", no_args_is_help=True)
    group.command()(up)
    group.command()(down)
    app.add_typer(group, name="label-studio")


def up(
    config: ConfigArgument = None,
    port: Annotated[
        int | None, typer.Option(min=1024, max=65535, help="The one it had the last time, or a free one, by default")
    ] = None,
    show_password: Annotated[
        bool, typer.Option("--show-password", help="Print the owner's password where this is no terminal, too")
    ] = False,
) -> None:
    """Install and start the local Label Studio, make the people's accounts, and tell how to log in.

    It listens on this machine only and sends nothing out. The first time takes some minutes; then a few seconds.

    Example: `touchstone label-studio up my.yaml`
    """
    from flows.cli.serving import start_server

    start_server(config, port, show_password=show_password)


def down(config: ConfigArgument = None) -> None:
    """Stop the local Label Studio; everything in it stays.

    Example: `touchstone label-studio down my.yaml`
    """
    from flows.cli.serving import stop_server

    stop_server(config)
