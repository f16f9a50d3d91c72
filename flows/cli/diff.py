"""`touchstone diff`."""

from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(diff)


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="Folder of a released version")],
    now: Annotated[str, typer.Argument(metavar="B", help="Folder of the version that is compared with it")],
    output: Annotated[
        Path | None, typer.Option(help="Write every row that differs here, JSONL: config, key, change, fields")
    ] = None,
) -> None:
    """Print how a released version differs from another, and which version number that asks for.

    Example: `touchstone diff releases/1.0.0 releases/1.1.0`
    """
    from data.publish.changelog import section
    from data.publish.diff import compare, next_version
    from data.publish.folder import read_release

    difference = compare(read_release(_folder(before)), read_release(_folder(now)), output)
    typer.echo(section(difference, difference.now), nl=False)
    if version := next_version(difference):
        typer.echo(f"\nBy the rule this is version {version}.")


def _folder(name: str) -> Path:
    """Where the version of this name lies."""
    return Path(name)
