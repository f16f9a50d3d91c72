"""Serves a dataset's deployments for a person at a terminal."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import UUID

import httpx
from rich.console import Console
from rich.markup import escape

from flows.loopback.guard import HOST
from flows.loopback.login import kept_login, login_file
from flows.prefect_server.embedded import API, KEY, quieten_prefect
from flows.project.console import make_console
from flows.project.settings import Config, default_config, load_config
from flows.serve import processes as serve
from schemas.errors import Failed, WrongInput

if TYPE_CHECKING:
    from subprocess import Popen

NOTICE = "TOUCHSTONE_NOTICE_URL"
LOOKS_EVERY_S = 2
SCHEDULED_WITHIN_S = 60
"""Time in which a working scheduler has planned the next run."""


def serve_schedule(config_path: Path | None, out: Path) -> None:
    """Serve the dataset's deployments until stopped; without a configuration, those of the sample."""
    with serve.reserved_port() as port:
        _serve(config_path or default_config(), out, port)


def _serve(path: Path, out: Path, port: int) -> None:
    console = make_console()
    config = load_config(path)
    notice = _notice_url()
    named = os.environ.get(API)
    api = named or f"http://{HOST}:{port}/api"
    folder = config.state / "serve"
    login = None if named else kept_login(config.state)
    environment = serve.environment(folder, api, login)
    os.environ.update({name: environment[name] for name in (API, KEY) if name in environment})  # read at an import
    quieten_prefect(config.state)
    from flows.prefect_server.flow_runs import server_answers
    from flows.serve import deployments as deploy
    from flows.serve.missed import forget_due, make_up, missed_rebuild

    with contextlib.ExitStack() as stack, server_answers():
        stack.enter_context(serve.alone(folder))
        with console.status("starting ..."):
            local = [] if named else [stack.enter_context(serve.server(folder, port, environment))]
            deploy.reach(_shown(api))
            pool = deploy.open_pool(config)
            crashed = deploy.clear(config)
            now = datetime.now(UTC)
            missed = missed_rebuild(config, now)
            deployed = deploy.deploy(path, out, f"{sys.executable} -P -m touchstone prefect.engine")
            deploy.notify(config, notice)
            reported = {run.id for run in deploy.ended(deployed)}
            if missed is not None:
                make_up(deployed["rebuild"], missed)
            forget_due(config, now)
            stack.callback(_clear, config)
            worker = serve.worker(folder, pool, deploy.worker_of(config), environment)
            processes = [*local, stack.enter_context(worker)]
            stack.callback(_ignore_signals)
            _wait_for_schedule(config, deployed["rebuild"], folder, processes)
        console.print(f"[green]✓[/] {escape(config.name)} is served: {escape(', '.join(deploy.flows_of(path, out)))}")
        _print_pages(console, api, login, login_file(config.state))
        _print_schedule(console, config, deployed["rebuild"])
        posted = f"is posted to the address in {NOTICE}" if notice else f"is not reported: {NOTICE} can name an address"
        console.print(f"  a failure {posted}")
        if crashed:
            console.print(f"  [yellow]{crashed} abandoned runs are marked as crashed[/]")
        if missed is not None:
            console.print(f"  [yellow]{escape(missed.what)}: it runs now[/]")
        console.print(f"  [dim]logs: {escape(str(folder))}; Ctrl-C stops it[/]", soft_wrap=True)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                serve.check(folder, *processes)
                time.sleep(LOOKS_EVERY_S)
                reported |= _report_ended(console, config, deployed, reported)
        console.print("stopping ...")
    console.print("[green]✓[/] stopped; `touchstone serve` goes on from here")


def _print_pages(console: Console, api: str, login: str | None, file: Path) -> None:
    """Print where Prefect's pages are, and how to log in there; where output may be kept, the login is not shown."""
    console.print(f"  at        {escape(_shown(api).removesuffix('/api'))}", soft_wrap=True)
    if login is not None:
        shown = f"{login}  (also in {file})" if console.is_terminal else f"the line in {file}"
        console.print(f"  password  {escape(shown)}", soft_wrap=True)


def _notice_url() -> str | None:
    url = os.environ.get(NOTICE)
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WrongInput(f"{NOTICE}: expected an address that takes a JSON post, such as https://chat.example.org/...")
    return url


def _ignore_signals() -> None:
    """Ignore further Ctrl-C, so that everything that was started is ended."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _clear(config: Config) -> None:
    """Mark the runs that ended with their worker; if the server no longer answers, the next start does it."""
    from flows.serve.deployments import clear

    with contextlib.suppress(httpx.HTTPError, Failed):
        clear(config)


def _wait_for_schedule(config: Config, rebuild: UUID, folder: Path, processes: "list[Popen[bytes]]") -> None:
    """Wait until the server has planned the next rebuild: a broken scheduler reports no error."""
    from flows.serve.deployments import next_run

    until = time.monotonic() + SCHEDULED_WITHIN_S
    while config.schedule.cron is not None and next_run(rebuild) is None:
        serve.check(folder, *processes)
        if time.monotonic() > until:
            raise Failed(
                f"{folder}: the Prefect server plans no run of {config.schedule.cron!r}; see that its scheduler works "
                "(with SQLAlchemy 2.1 it does not, silently)"
            )
        time.sleep(1)


def _report_ended(
    console: Console, config: Config, deployed: Mapping[str, UUID], reported: Collection[UUID]
) -> set[UUID]:
    """Print the runs that have ended since, and when the next one is due. Returns their ids."""
    from flows.serve.deployments import ended

    seen: set[UUID] = set()
    with contextlib.suppress(httpx.HTTPError):  # if the server is busy, the next look reports it
        for run in ended(deployed):
            if run.id not in reported:
                mark = "[green]✓[/]" if run.succeeded else "[red]✗[/]"
                console.print(f"{mark} {run.at:%Y-%m-%d %H:%M} UTC  {run.flow}: {escape(run.message)}", soft_wrap=True)
                seen.add(run.id)
        if seen:
            _print_schedule(console, config, deployed["rebuild"])
    return seen


def _print_schedule(console: Console, config: Config, rebuild: UUID) -> None:
    from flows.serve.deployments import next_run

    when = next_run(rebuild) if config.schedule.cron is not None else None
    if when is None:
        console.print("  next      none: set `schedule.cron` in the configuration; until then, start runs by hand")
    else:
        console.print(f"  next      rebuild at {when:%Y-%m-%d %H:%M} UTC  ({config.schedule.cron})")


def _shown(api: str) -> str:
    """Return an address without the name and password that it may contain."""
    parts = urlsplit(api)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
