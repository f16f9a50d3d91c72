"""Rebuilds a dataset, tells before what that would do, and clears its store, for a person at a terminal."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from data.store import Store
from flows.construct.stages import StageRef
from flows.prefect_server.embedded import begin_prefect
from flows.project.console import LEFT, make_console
from flows.project.gc import look, remove
from flows.project.locks import no_build
from flows.project.output_files import LAST, open_built
from flows.project.settings import load_config
from flows.rebuild.changes import Drift, Incomplete, Rebuilt
from flows.release.version import AS_BEFORE, Prepared, withdrawn_in_words
from flows.run.summary import print_estimate
from flows.run.terminal import Terminal

SHOWN = 20
"""Stages that are listed."""


def rebuild_in_terminal(config: Path, out: Path, to: Path | None, hub: str | None, *, refresh: bool) -> None:
    """Rebuild, and tell what was done."""
    console = make_console()
    started = time.monotonic()
    settings = load_config(config)
    console.print(f"[bold]{settings.name}[/] · {config} → {out}")
    console.print("[dim]starting the engine ...[/]")
    begin_prefect(settings.state)
    from flows.rebuild.flow import run_rebuild

    with Terminal(console) as listener:
        try:
            done = run_rebuild(config, out, to, hub, refresh=refresh, listener=listener)
        except Incomplete as incomplete:
            _tell(console, incomplete.rebuilt, started)
            raise
    _tell(console, done, started)


def _tell(console: Console, done: Rebuilt, started: float) -> None:
    for moved in done.moved:
        console.print(f"pin moved: {escape(moved)}", soft_wrap=True)
    if done.drift is None:
        console.print("rows: the first rebuild here, nothing to compare with")
    else:
        _print_drift(console, done.drift, "the last rebuild")
    for told in done.told:
        console.print(f"- {escape(told)}", soft_wrap=True)
    if done.released is not None:
        console.print(f"  {done.released.folder}", soft_wrap=True)
    up, all_in = done.began - started, time.monotonic() - started
    console.print(f"[dim]{all_in - up:.1f} s, and {up:.1f} s to start the engine[/]")


def _print_drift(console: Console, differing: Iterable[Drift], since: str) -> None:
    given = list(differing)
    if not given:
        console.print(f"rows: none differs from {since}")
    for one in given:
        console.print(f"rows since {since}: {one}", soft_wrap=True)


def print_preview(config: Path, out: Path, to: Path | None, hub: str | None, *, refresh: bool) -> None:
    """Tell what a rebuild would do."""
    from flows.rebuild.preview import preview

    console = make_console()
    with console.status("looking ..."):
        seen = preview(config, out, to, hub, refresh=refresh)
    for moved in seen.moved:
        console.print(f"a pin would move: {escape(moved)}", soft_wrap=True)
    _print_stages(console, seen.stages)
    if not seen.exact:
        console.print(
            "a model costs money here: these are the source records, not the rows that would come of them; "
            "what was answered before is in the cache and costs nothing",
            soft_wrap=True,
        )
    _print_drift(console, seen.drift, seen.since)
    if seen.tasks is None:
        console.print("people: known once the rows are; each row that differs in what people see goes to them again")
    elif seen.tasks:
        table = Table("rubric", "new tasks", "still to be done", "minutes a task", "hours for the new",
                      box=SIMPLE_HEAD, **LEFT)  # fmt: skip
        for one in seen.tasks:
            basis = f"median of {one.measured:,}" if one.measured else "assumed"
            table.add_row(
                one.rubric, f"{one.new:,}", f"{one.waiting:,}", f"{one.minutes:.1f} ({basis})", f"{one.hours:.1f}"
            )
        console.print(table)
    if not seen.stages:
        console.print("money: none, no model would be asked")
    elif seen.exact:
        console.print("money: none, the models are free")
    else:
        print_estimate(seen.estimate, console)
    _print_release(console, seen.release)
    if seen.stops:
        console.print(f"[yellow]it would stop before anything goes to people or out: {escape(seen.stops)}[/]",
                      soft_wrap=True)  # fmt: skip
    console.print("[dim]nothing was done[/]")


def _print_release(console: Console, release: Prepared | str | None) -> None:
    if release is None:
        console.print("release: known once the rows are")
        return
    if isinstance(release, str):
        console.print(f"release: none: {escape(release)}", soft_wrap=True)
        return
    told = "would come" if release.is_new else "stays: nothing differs"
    console.print(f"release: version {release.version} {told}, by the verdicts that are here")
    if release.as_before:
        console.print(f"release: {AS_BEFORE}", soft_wrap=True)
    for name, reasons in release.held_back.items():
        for reason, count in reasons.items():
            console.print(f"release: {name}: {count:,} held back: {reason}", soft_wrap=True)
    if release.withdrawn:
        console.print(
            f"[bold red]! release: it would stop before {escape(withdrawn_in_words(release.withdrawn))} would be gone: "
            "`touchstone release` withdraws that[/]",
            soft_wrap=True,
        )


def _print_stages(console: Console, stages: tuple[StageRef, ...]) -> None:
    if not stages:
        console.print("no stage would run again")
    for ref in stages[:SHOWN]:
        console.print(f"would run: {ref}")
    if len(stages) > SHOWN:
        console.print(f"and {len(stages) - SHOWN} stages more")


def collect_garbage(out: Path | None, keep: int, *, dry_run: bool) -> None:
    """Remove stages that are not needed, and tell what that frees."""
    console = make_console()
    project = open_built(out)
    console.print(f"[dim]store: {project.config.store}[/]", soft_wrap=True)
    outs = {project.out} | ({Path(LAST.read_text(encoding="utf-8"))} if LAST.is_file() else set())
    store: Store = project.store
    with no_build(project.state):
        found = look(store, keep, outs, datetime.now(UTC))
        for one in found.unneeded:
            console.print(f"{one.name}  {decimal(one.bytes)}", highlight=False, markup=False, soft_wrap=True)
        freed = decimal(sum(one.bytes for one in found.unneeded))
        if not dry_run:
            remove(store, found.unneeded)
    what = "would free" if dry_run else "freed"
    console.print(f"{what} {freed}: {len(found.unneeded):,} stages; {len(found.needed):,} are needed")
    if found.at_work:
        console.print(f"{len(found.at_work):,} stages stay because they were written to within a day")
