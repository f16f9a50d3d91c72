"""The rows of a released version that a model is asked about: those that came since, or whose sources are newer."""

import datetime
from pathlib import Path

from data.publish.folder import HISTORY
from data.publish.history import read_history
from data.publish.version_number import is_version, parsed_version
from flows.project.project import Project
from schemas.errors import WrongInput
from schemas.release import RowHistory


def only_rows(project: Project, since: str | None, source_after: str | None) -> list[str]:
    """Let models be asked only about rows that came with a version or on a day, or later, and have later sources.

    Returns what was chosen, in a line; nothing without a condition. Raises `WrongInput` for a build, which has no
    history, and if no row is left.
    """
    if since is None and source_after is None:
        return []
    if since is not None and not is_version(since) and not _is_date(since):
        raise WrongInput(f"--since {since}: expected a version such as 1.1.0, or a day such as 2026-03-01")
    if source_after is not None and not _is_date(source_after):
        raise WrongInput(f"--source-after {source_after}: expected a day such as 2024-06-30")
    options = " and ".join(name for name, value in (("--since", since), ("--source-after", source_after)) if value)
    if not (project.out / HISTORY).is_file():
        advice = f"`touchstone profile FOLDER` reads a released version with its {HISTORY}"
        raise WrongInput(f"{options}: {project.out} has no history of its rows; {advice}")
    rows = dated = 0
    keys: set[str] = set()
    for line in read_history(project.out):
        if line.retired is None:
            rows += 1
            dated += line.source_date is not None
            if _is_chosen(line, since, source_after):
                keys.add(line.key)
    conditions = {"since": since, "with sources after": source_after}
    told = " ".join(["rows", *(f"{name} {value}" for name, value in conditions.items() if value)])
    if not keys:
        also = f" ({dated:,} of {rows:,} rows have a date of their source)" if source_after else ""
        raise WrongInput(f"{options}: {project.config.name} has no {told}{also}")
    project.only_keys = frozenset(keys)
    return [f"{told}: {len(keys):,} of {rows:,}"]


def _is_chosen(line: RowHistory, since: str | None, source_after: str | None) -> bool:
    if source_after is not None and (line.source_date is None or line.source_date <= source_after):
        return False
    if since is None:
        return True
    if is_version(since):
        return parsed_version(line.since) >= parsed_version(since)
    return line.since_date is not None and line.since_date >= since


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def source_dates_of(out: Path) -> dict[str, str]:
    """Return the dates of the sources of a released version's rows, by key, where they state one."""
    return {line.key: line.source_date for line in read_history(out) if line.source_date and line.retired is None}
