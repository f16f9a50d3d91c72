"""`touchstone rebuild` and `touchstone gc`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.project.command import BuildOption


def rebuild(
    config: Annotated[Path, typer.Argument(help="Configuration file")],
    out: Annotated[Path, typer.Option("--out", help="Output folder")] = Path("out"),
    to: Annotated[Path | None, typer.Option(help="Folder of the versions; OUT/releases by default")] = None,
    hub: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="Publish to this repository; `release.repo` by default")
    ] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Tell which rows, hours and money it would take; do nothing")
    ] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Take what Hub and URL sources are now, in place of what was pinned")
    ] = False,
) -> None:
    """Build, pull, apply verdicts, push, and release what the gate lets through; what did not change is skipped.

    Safe to run at any time. Above `schedule.max_changed_items` changed rows, or `budget_usd`, it stops before anything
    goes to people or out. A Label Studio that does not answer is left out: all else is done, and it exits with 1.

    Example: `touchstone rebuild my.yaml --preview`
    """
    from flows.rebuild.terminal import print_preview, rebuild_in_terminal

    if preview:
        print_preview(config, out, to, hub, refresh=refresh)
    else:
        rebuild_in_terminal(config, out, to, hub, refresh=refresh)


def gc(
    out: BuildOption = None,
    keep: Annotated[int, typer.Option(min=1, help="Builds of each output folder whose stages stay")] = 3,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would go; remove nothing")] = False,
) -> None:
    """Remove stage files that neither the last builds nor any released version need, from the store of a build.

    The completions stay: what is removed here can be built again without paying for it.

    Example: `touchstone gc --dry-run`
    """
    from flows.rebuild.terminal import collect_garbage

    collect_garbage(out, keep, dry_run=dry_run)
