"""`touchstone serve`."""

from pathlib import Path

import typer

from flows.cli.build import ConfigArgument, OutOption


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(serve)


def serve(config: ConfigArgument = None, out: OutOption = Path("out")) -> None:
    """Rebuild on a schedule (`schedule.cron`), and run what you start in Prefect's pages, until you stop it.

    With PREFECT_API_URL on the Prefect server of that address; without, one is started, for this machine alone.

    Example: `touchstone serve my.yaml --out out`
    """
    from flows.cli.scheduling import serve_schedule

    serve_schedule(config, out)
