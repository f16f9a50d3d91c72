"""`touchstone release` and `touchstone diff`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.read import BuildOption


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(release)
    app.command()(diff)


def release(
    out: BuildOption = None,
    to: Annotated[Path | None, typer.Option(help="Folder of the versions; OUT/releases by default")] = None,
    hub: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="Publish to this repository; `release.repo` by default")
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="A higher version than the rule proposes: MAJOR.MINOR.PATCH")
    ] = None,
    allow_unreviewed: Annotated[
        bool | None,
        typer.Option(
            "--allow-unreviewed/--no-allow-unreviewed",
            help="Let through what people have not seen; card and rows say so. As in the version before by default",
        ),
    ] = None,
) -> None:
    """Release the build's rows as a version of a dataset, to a folder, or to the Hugging Face Hub.

    Only verified rows leave, and of what people have to accept the accepted ones. What differs from the version before
    gives the number; where nothing does, nothing happens.

    Example: `touchstone release --to releases`
    """
    from flows.cli.releasing import release_build

    release_build(out, to, hub, version, allow_unreviewed=allow_unreviewed)


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="Folder of a version, or OWNER/NAME@1.0.0 on the Hub")],
    now: Annotated[str, typer.Argument(metavar="B", help="The version that is compared with it")],
    output: Annotated[
        Path | None, typer.Option(help="Write every row that differs here, JSONL: config, key, change, fields")
    ] = None,
) -> None:
    """Print how a released version differs from another, and which version number that asks for.

    Example: `touchstone diff releases/1.0.0 releases/1.1.0`
    """
    from flows.cli.releasing import print_difference

    print_difference(before, now, output)
