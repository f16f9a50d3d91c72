"""Rebuilds a dataset, previews a rebuild, and clears its store, with output for a terminal."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from data.publish.changelog import summary
from data.store import Store
from flows.prefect_server.embedded import begin_prefect
from flows.project.console import LEFT, make_console
from flows.project.gc import look, remove, time_in
from flows.project.locks import no_build
from flows.project.output_files import LAST, open_built
from flows.project.settings import load_config
from flows.rebuild.changes import NO_BUILD, Drift, Incomplete, Rebuilt
from flows.rebuild.finished import rebuild_finished
from flows.release.version import AS_BEFORE, Prepared, withdrawn_in_words
from flows.run.summary import print_estimate
from flows.run.terminal import Terminal
from schemas.base import counted, visible

if TYPE_CHECKING:
    from flows.rebuild.preview import Preview

SHOWN = 20
"""Most stages that a preview lists."""
SHOWN_DOCUMENTS = 20


def rebuild_in_terminal(config: Path, out: Path, to: Path | None, hub: str | None, *, refresh: bool) -> None:
    """Rebuild, and print what was done."""
    console = make_console()
    started = time.monotonic()
    settings = load_config(config)
    console.print(f"[bold]{escape(settings.name)}[/] · {escape(f'{config} → {out}')}")
    if not refresh:  # moving a pin twice would hide that it moved
        with Terminal(console) as listener:
            finished = rebuild_finished(config, out, to, hub, listener)
        if finished is not None:
            _print_rebuilt(console, finished)
            console.print(f"[dim]{time.monotonic() - started:.1f} s, without the engine[/]")
            return
    console.print("[dim]starting the engine ...[/]")
    begin_prefect(settings.state)
    from flows.rebuild.flow import run_rebuild

    with Terminal(console) as listener:
        try:
            done = run_rebuild(config, out, to, hub, refresh=refresh, listener=listener)
        except Incomplete as incomplete:
            _print_rebuilt(console, incomplete.rebuilt)
            raise
    _print_rebuilt(console, done)
    engine_s, total_s = done.began - started, time.monotonic() - started
    console.print(f"[dim]{total_s - engine_s:.1f} s, and {engine_s:.1f} s to start the engine[/]")


def _print_rebuilt(console: Console, done: Rebuilt) -> None:
    for moved in done.moved:
        console.print(f"pin moved: {escape(moved)}", soft_wrap=True)
    if done.since == NO_BUILD:
        console.print("rows: the first build here, nothing to compare with")
    else:
        _print_drift(console, done.drift, done.since)
    for line in done.told:
        console.print(f"- {escape(line)}", soft_wrap=True)
    if done.released is not None:
        console.print(f"  {done.released.folder}", soft_wrap=True, markup=False)


def _print_drift(console: Console, differing: Sequence[Drift], since: str) -> None:
    if not differing:
        console.print(f"rows: none differs from {since}, before verdicts on them", markup=False)
    for part_drift in differing:
        console.print(f"rows since {since}: {part_drift}, before verdicts on them", soft_wrap=True, markup=False)


def print_preview(config: Path, out: Path, to: Path | None, hub: str | None, *, refresh: bool) -> None:
    """Print what a rebuild would do."""
    from flows.rebuild.preview import preview

    console = make_console()
    with console.status("looking ..."):
        outlook = preview(config, out, to, hub, refresh=refresh)
    for moved in outlook.moved:
        console.print(f"a pin would move: {escape(moved)}", soft_wrap=True)
    _print_stages(console, outlook)
    if not outlook.exact:
        console.print(
            "a model costs money here: these are the source records, not the rows that would come of them; "
            "what was answered before is in the cache and costs nothing",
            soft_wrap=True,
        )
    _print_drift(console, outlook.drift, outlook.since)
    for change in outlook.documents[:SHOWN_DOCUMENTS]:
        console.print(f"document {escape(visible(str(change)))}", highlight=False, soft_wrap=True)
    if len(outlook.documents) > SHOWN_DOCUMENTS:
        console.print(f"and {len(outlook.documents) - SHOWN_DOCUMENTS:,} more documents")
    if outlook.reasons is None and outlook.drift:
        console.print("why rows changed is not known: an earlier touchstone rebuilt here; the next rebuild notes it")
    for line in (*(outlook.reasons or ()), *(f"retire? {line}" for line in outlook.retire)):
        console.print(escape(str(line)), highlight=False, soft_wrap=True)
    if outlook.tasks is None:
        console.print("people: known once the rows are; each row that differs in what people see goes to them again")
    elif outlook.tasks:
        table = Table("rubric", "tasks on new or changed rows", "on other rows, not done yet", "minutes a task",
                      "hours for new or changed", box=SIMPLE_HEAD, **LEFT)  # fmt: skip
        for tasks in outlook.tasks:
            basis = f"median of {tasks.measured:,}" if tasks.measured else "assumed"
            minutes = f"{tasks.minutes:.1f} ({basis})"
            table.add_row(escape(tasks.rubric), f"{tasks.new:,}", f"{tasks.waiting:,}", minutes, f"{tasks.hours:.1f}")
        console.print(table)
    if not outlook.stages:
        console.print("money: none, no model would be asked")
    elif outlook.exact:
        console.print("money: none, the models are free")
    else:
        print_estimate(outlook.estimate, console)
    _print_release(console, outlook)
    console.print("[dim]nothing was done[/]")


def _print_release(console: Console, outlook: "Preview") -> None:
    release, reasons = outlook.release, []
    if outlook.stops:
        reasons.append(f"it would stop before anything goes to people or out: {outlook.stops}")
    if isinstance(release, str):
        reasons += release.splitlines()
    elif release is not None and release.withdrawn:
        gone = withdrawn_in_words(release.withdrawn)
        reasons.append(f"it would stop before {gone} would be gone: `touchstone release` withdraws that")
    due = f", although version {release.version} is due" if isinstance(release, Prepared) and release.is_new else ""
    for place, reason in enumerate(reasons):
        outcome = "  " if place else f"none{due}: "
        console.print(f"[yellow]release: {outcome}{escape(reason)}[/]", soft_wrap=True)
    if release is None:
        console.print("release: known once the rows are")
    elif isinstance(release, Prepared):
        if not reasons:
            outcome = "would come" if release.is_new else "stays: nothing differs"
            console.print(f"release: version {release.version} {outcome}, by the verdicts that are here")
        _print_version(console, release)


def _print_version(console: Console, release: Prepared) -> None:
    """Print what a version would have."""
    if release.difference is not None:
        console.print(f"release: {escape(summary(release.difference))}", highlight=False, soft_wrap=True)
    if release.as_before:
        console.print(f"release: {AS_BEFORE}", soft_wrap=True)
    for line in (*release.kept, *release.private):
        console.print(f"release: {escape(line)}", soft_wrap=True)
    for name, reasons in release.held_back.items():
        for reason, count in reasons.items():
            console.print(f"release: {name}: {count:,} held back: {reason}", soft_wrap=True, markup=False)


def _print_stages(console: Console, outlook: "Preview") -> None:
    if outlook.drawn.told:
        console.print(escape(outlook.drawn.told), soft_wrap=True)
    stages = outlook.stages
    if not stages:
        console.print("no stage would run again")
    for ref in stages[:SHOWN]:
        console.print(f"would run: {ref}")
    if len(stages) > SHOWN:
        console.print(f"and {counted(len(stages) - SHOWN, 'more stage')}")


def collect_garbage(out: Path | None, keep: int, *, dry_run: bool) -> None:
    """Remove stages that are not needed, and print the space that this frees."""
    console = make_console()
    project = open_built(out)
    console.print(f"store: {project.config.store}", style="dim", soft_wrap=True, markup=False)
    outs = {project.out} | ({Path(LAST.read_text(encoding="utf-8"))} if LAST.is_file() else set())
    store: Store = project.store
    with no_build(project.state):
        stages = look(store, keep, outs, datetime.now(UTC) if dry_run else time_in(store))
        for stage in stages.unneeded:
            console.print(f"{stage.name}  {decimal(stage.bytes)}", highlight=False, markup=False, soft_wrap=True)
        freed = decimal(sum(stage.bytes for stage in stages.unneeded))
        if not dry_run:
            remove(store, stages.unneeded)
    what = "would free" if dry_run else "freed"
    console.print(f"{what} {freed}: {counted(len(stages.unneeded), 'stage')}; needed: {len(stages.needed):,}")
    if stages.at_work:
        console.print(f"kept since written to within a day: {counted(len(stages.at_work), 'stage')}")
