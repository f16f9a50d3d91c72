"""`touchstone serve`."""

from pathlib import Path

from flows.project.command import ConfigArgument, OutOption


def serve(config: ConfigArgument = None, out: OutOption = Path("out")) -> None:
    """Rebuild on a schedule (`schedule.cron`), and run what you start in Prefect's pages, until you stop it.

    With PREFECT_API_URL on the Prefect server of that address; without, one is started, for this machine alone.

    Example: `touchstone serve my.yaml --out out`
    """
    from flows.serve.terminal import serve_schedule

    serve_schedule(config, out)
