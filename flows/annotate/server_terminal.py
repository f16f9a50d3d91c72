"""`touchstone label-studio` for a person at a terminal."""

import hashlib
import os
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from annotation.label_studio import server
from annotation.label_studio.accounts import OWNER_FILE, PEOPLE_FILE, accounts
from annotation.label_studio.client import connect
from annotation.label_studio.config import as_html
from annotation.label_studio.strangers import Study, check_own_study, open_study, study_of
from data.sources.opening import whole
from data.sources.spec import SourceError
from flows.annotate.first_queues import open_queues
from flows.annotate.server import server_folder
from flows.project.annotation_settings import LOCAL
from flows.project.config_checks import study_problems
from flows.project.console import make_console
from flows.project.settings import Config, default_config, load_config
from flows.project.yaml_file import MOST_BYTES
from schemas.errors import WrongInput, raise_all

CODE, SCREENED_OUT_CODE = "TOUCHSTONE_COMPLETION_CODE", "TOUCHSTONE_SCREENED_OUT_CODE"
SHA_DIGITS = 12
"""Of the SHA-256 of a consent text: enough to tell which text somebody agreed to."""


def start_server(path: Path | None, port: int | None, *, show_password: bool) -> None:
    """Start it, make the accounts, and print how to log in."""
    console = make_console()
    config = load_config(path or default_config())
    if config.annotation.url != LOCAL:
        raise WrongInput(
            f"{path}: annotation.url is {config.annotation.url}, which is used as it is; `url: local` starts one"
        )
    folder = server_folder(config)
    study = _study(config, folder, f"{path}: annotation.strangers")
    with console.status("Label Studio ...") as status:
        lines: list[str] = []

        def tell(line: str) -> None:
            if lines[-1:] == [line]:
                return
            lines.append(line)
            status.update(escape(line))
            if not console.is_terminal:
                console.print(escape(line), soft_wrap=True)

        running = server.up(folder, port, tell)
        if config.annotation.public_url is not None:
            server.open_to(folder, config.annotation.public_url)
        status.update("making the projects")
        if study is not None:
            open_study(folder, study)
        _make_accounts_and_projects(config, running, folder)
    state = "is already running" if running.before else "is running"
    console.print(f"[green]✓[/] Label Studio {state} at [bold]{escape(running.url)}[/]", soft_wrap=True)
    public = config.annotation.public_url
    if public is not None:
        console.print(f"  people reach it at {escape(public)}, through your proxy", soft_wrap=True)
    if running.moved_from is not None:
        console.print(f"  [yellow]another program has port {running.moved_from} now: old bookmarks no longer work[/]")
    _print_logins(console, config, running, folder, show_password=show_password or console.is_terminal)
    if study is not None:
        link = f"{public or running.url}/join?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={study.study}"
        console.print(f"  link    {escape(link)}", soft_wrap=True)
        reached = "" if public else "; it works on this machine only until `annotation.public_url` names your proxy"
        console.print(f"  [dim]for the study's people; anybody with an id can use it{reached}[/]", soft_wrap=True)
    config_path = f" {path}" if path else ""
    console.print(f"  `touchstone label-studio down{config_path}` stops it", soft_wrap=True, markup=False)


def stop_server(path: Path | None) -> None:
    """Stop it, and print whether it ran."""
    console = make_console()
    folder = server_folder(load_config(path or default_config()))
    with console.status("stopping Label Studio ..."):
        stopped = server.down(folder)
    done = "[green]✓[/] Label Studio stopped" if stopped else "- no Label Studio was running"
    console.print(f"{done}; its data stays in {escape(str(folder))}", soft_wrap=True)


def _study(config: Config, folder: Path, place: str) -> Study | None:
    """Return the configured study, with its codes; without one, what the link offers stays. Raises `WrongInput`."""
    settings = config.annotation.strangers
    if settings is None:
        return None
    raise_all([f"{place}.{problem}" for problem in study_problems(config)])
    check_own_study(folder, config.name)
    try:
        content = whole(settings.consent, MOST_BYTES, "name a text in Markdown")
        text = content.decode("utf-8").replace("\r\n", "\n")  # a text is the same, whoever edited it
    except SourceError as error:
        raise WrongInput(f"{place}.consent: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise WrongInput(f"{place}.consent: {settings.consent} cannot be read: {error}") from error
    before = study_of(folder)
    same = before if before is not None and before.study == settings.study else None
    code = os.environ.get(CODE, "") or (same.code if same else "")
    if not code:
        raise WrongInput(f"{place}: set {CODE} to the completion code that the platform gave you for the study")
    return Study(
        study=settings.study,
        build=config.name,
        most_people=settings.most_people,
        consent=as_html(text),
        consent_sha256=hashlib.sha256(text.encode()).hexdigest()[:SHA_DIGITS],
        code=code,
        screened_out_code=os.environ.get(SCREENED_OUT_CODE, "") or (same.screened_out_code if same else ""),
    )


def _make_accounts_and_projects(config: Config, running: server.Running, folder: Path) -> None:
    with connect(running.url, running.owner.token) as client:
        if config.annotation.people:
            accounts(client, config.annotation.people, folder)
        open_queues(config, client)


def _print_logins(
    console: Console, config: Config, running: server.Running, folder: Path, *, show_password: bool
) -> None:
    where = f"in {folder / OWNER_FILE}"
    password = f"{running.owner.password}  (also {where})" if show_password else where
    console.print(f"  owner   {escape(running.owner.email)}, password {escape(password)}", soft_wrap=True)
    people = [f"{code} (lead)" if code == config.annotation.lead else code for code in config.annotation.people]
    if people:
        console.print(
            f"  people  {escape(', '.join(people))}: their logins are in {escape(str(folder / PEOPLE_FILE))}",
            soft_wrap=True,
        )
        console.print(
            "  [dim]everybody who logs in can open every project; this edition of Label Studio has no roles[/]"
        )
