"""`touchstone rebuild` and `touchstone gc`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.project.command import BuildOption, ConfigArgument


def rebuild(
    config: ConfigArgument = None,
    out: Annotated[Path, typer.Option("--out", help="Output folder")] = Path("out"),
    to: Annotated[Path | None, typer.Option(help="Folder of the versions; OUT/releases by default")] = None,
    hub: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="Publish to this repository; `release.repo` by default")
    ] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Print which rows, hours and money it would take; do nothing")
    ] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Read Hub and URL sources as they are now, not as pinned")
    ] = False,
) -> None:
    """Build, pull, apply verdicts, push, and release what passes the gate. Skip what did not change.

    Safe to run at any time. Above `schedule.max_changed_items` changed rows, or `budget_usd`, it stops before anything
    goes to people or is released. If Label Studio does not answer, it does everything else and exits with 1.

    Example: `touchstone rebuild my.yaml --preview`
    """
    from flows.project.settings import default_config
    from flows.rebuild.terminal import print_preview, rebuild_in_terminal

    config = config or default_config()
    if preview:
        print_preview(config, out, to, hub, refresh=refresh)
    else:
        rebuild_in_terminal(config, out, to, hub, refresh=refresh)


def gc(
    out: BuildOption = None,
    keep: Annotated[int, typer.Option(min=1, help="Builds of each output folder whose stages to keep")] = 3,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it would remove; remove nothing")] = False,
) -> None:
    """Remove stage files that neither the last builds nor any released version need from a build's store.

    The completions stay, so you can build the rest again without paying for it.

    Example: `touchstone gc --dry-run`
    """
    from flows.rebuild.terminal import collect_garbage

    collect_garbage(out, keep, dry_run=dry_run)
