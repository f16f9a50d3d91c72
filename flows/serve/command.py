"""`touchstone serve`."""

from pathlib import Path

from flows.project.command import ConfigArgument, OutOption


def serve(config: ConfigArgument = None, out: OutOption = Path("out")) -> None:
    """Rebuild on a schedule (`schedule.cron`) and run what you start in Prefect's pages, until you stop it.

    Uses the Prefect server at PREFECT_API_URL; without that variable it starts one for this machine only.

    Example: `touchstone serve my.yaml --out out`
    """
    from flows.serve.terminal import serve_schedule

    serve_schedule(config, out)
