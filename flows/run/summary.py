"""Prints the summary of a finished build (its table, its files, the next commands) and estimates."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.families import load_family
from flows.llm.rules import RulesSettings
from flows.project.annotation_settings import LOCAL
from flows.project.console import LEFT, make_console, money
from flows.project.installation import local_servers
from flows.project.models import rules_of
from flows.project.project import Project
from flows.project.settings import sample_path
from flows.run.estimate import Estimate
from schemas.base import counted
from schemas.manifest import BuildManifest, PartManifest, UsageOfPrompt, sum_usage, total_usage

DEFAULT_OUT = Path("out")
"""The default output folder of `touchstone run`."""


def one_item(project: Project) -> str | None:
    """Return an item from the middle of the part of the first family that a person would read first."""
    family, _ = next(project.build.parts())
    parts = [part.name for other, part in project.build.parts() if other is family]
    items = project.build.accepted(family.name, family.reads if family.reads in parts else parts[-1])
    middle = items.slice(len(items) // 2, len(items) // 2 + 1)
    return next((family.view_of(item).in_markdown() for item in middle), None)


def print_summary(
    console: Console,
    manifest: BuildManifest,
    seconds: Mapping[tuple[str, str], float],
    asked: Mapping[tuple[str, str], UsageOfPrompt],
) -> None:
    """Print the table of a finished build: its rows, and the usage (`asked`) and `seconds` of this run."""
    waits = any(part.waiting for part in manifest.parts)
    title = f"{manifest.name}: drafted = kept + dropped{'; some of the kept wait for people' if waits else ''}"
    table = Table(title=f"\n{title}", box=SIMPLE_HEAD, **LEFT)
    numbers = ("model calls", "cached", "money", "seconds")
    # Rows that wait for people are in the accepted files, so they count as kept.
    for column in ("family", "drafted", "kept", *(["waiting"] if waits else []), "dropped, by reason", *numbers):
        is_text = column in ("family", "dropped, by reason")
        table.add_column(column, justify="left" if is_text else "right", no_wrap=column != "dropped, by reason")
    for part in manifest.parts:
        if not part.planned and not any(stage.notes for stage in part.stages):
            continue
        usage = asked.get((part.family, part.part), UsageOfPrompt())
        counts = (count for step in part.dropped.values() for count in step.items())
        reasons = sorted(counts, key=itemgetter(1), reverse=True)
        table.add_row(
            f"{part.family} {part.part}",
            f"{part.planned:,}",
            f"{part.kept + part.waiting:,}",
            *([f"{part.waiting:,}" if part.waiting else "-"] if waits else []),
            "\n".join(f"{count:,} {reason}" for reason, count in reasons) or "-",
            f"{usage.calls:,}",
            f"{usage.cached:,}",
            money(usage),
            f"{seconds.get((part.family, part.part), 0.0):.1f}",
        )
    console.print(table)
    now, whole = total_usage(asked.values()), total_usage(usage_by_prompt(manifest.parts).values())
    if whole.cut_off:
        console.print(
            f"[yellow]cut off at their limit of tokens: {counted(whole.cut_off, 'answer')}; "
            "the report says to which prompts[/]",
            soft_wrap=True,
        )
    if now != whole:
        console.print(
            f"calls, cache and money are of this run; the whole build took {counted(whole.calls, 'model call')}, "
            f"{counted(whole.cached, 'answer')} from the cache{f', {money(whole)}' if whole.cost_usd != 0 else ''}",
            soft_wrap=True,
        )


def print_next(console: Console, project: Project, manifest: BuildManifest, report: Path) -> None:
    """Print the paths of the files written, and the commands to run next."""
    console.print("\n[bold]Written[/]")
    for part in manifest.parts:
        for file in part.files:
            if file.path.startswith("accepted/") and part.planned:
                rows = f"{counted(file.rows, 'row')}"
                console.print(f"  {project.out / file.path}  ({rows})", soft_wrap=True)
    if any(part.waiting for part in manifest.parts):
        console.print("  [dim]rows that wait for people are in these files too, with `reviewed: false`[/]")
    console.print(f"  {report}  (open it in a browser)", soft_wrap=True)
    console.print(
        f"  {project.out / 'manifest.json'}, {project.out / 'sifted'}/, {project.out / 'dropped'}/", soft_wrap=True
    )
    kept = [part for part in manifest.parts if part.kept + part.waiting]
    kept_names = {(part.family, part.part) for part in kept}
    console.print("\n[bold]Next[/]")
    for part in [part for part in manifest.parts if part.planned and part not in kept]:
        console.print(
            f"  [yellow]nothing of {part.family} {part.part} was kept; the report opens each reason to examples[/]"
        )
        advice = load_family(part.family).rules_advice
        if advice and all(model == "rules" for model in manifest.models.values()):
            console.print(f"  [yellow]{advice}, see below[/]")
    if kept:
        family = kept[0].family
        last = [part.part for part in kept if part.family == family][-1]
        _advise(console, project, f"show {family}-{last} --sample 5", "read what was made")
        _advise(console, project, f"verify {family}", "prove every row from the files alone")
    _advise_evaluations(console, project, kept)
    if all(model == "rules" for model in manifest.models.values()):
        console.print(
            "  your own endpoint: copy the sample configuration and put these two lines in place of its model:"
        )
        console.print(
            "    [cyan]model: {provider: endpoint, name: gpt-4o-mini, api_key_env: OPENAI_API_KEY}[/]", soft_wrap=True
        )
        console.print("    [cyan]budget_usd: 5[/]")
        if project.config_path == sample_path():
            console.print(
                f"    cp {sample_path()} my.yaml && touchstone run my.yaml --out pilot --limit 5", soft_wrap=True
            )
        for server, url, model in local_servers():
            console.print(
                f"  {server} answers here: [cyan]model: {{provider: endpoint, name: {model}, base_url: {url}}}[/]"
            )
    if any(
        part.people is not None and (family.name, part.name) in kept_names for family, part in project.build.parts()
    ):
        config = "" if project.config_path == sample_path() else f" {shlex.quote(str(project.config_path))}"
        start = f"touchstone label-studio up{config} && " if project.config.annotation.url == LOCAL else ""
        console.print("  people read it, and write what is theirs to write; this opens the forms, and tells where:")
        console.print(f"    {start}touchstone annotate push --out {shlex.quote(str(project.out))}", soft_wrap=True)


def _advise_evaluations(console: Console, project: Project, kept: Sequence[PartManifest]) -> None:
    """Print the commands that evaluate a model on the families, and that score dialogues of the build."""
    by_rules = isinstance(project.config.model_for("default"), RulesSettings)
    for name in dict.fromkeys(part.family for part in kept):
        family = load_family(name)
        kept_parts = {part.part for part in kept if part.family == name}
        if kept_parts.isdisjoint(family.evaluation.parts):
            continue
        dialogues = family.evaluation.dialogues
        if dialogues is not None and kept_parts.issuperset(dialogues.parts):
            _advise(console, project, f"score {name}", "tables of the dialogues that were built")
        asked = family.prompts if dialogues is not None else family.evaluation.prompts
        answers = not by_rules or any(prompt.name in rules_of(name) for prompt in asked)
        model, more = ("default", "") if answers else ("NAME", ", of provider endpoint")
        _advise(console, project, f"evaluate {name} --model {model}", f"ask a model about the rows{more}, and score it")


def _advise(console: Console, project: Project, command: str, what_for: str) -> None:
    """Print a command on this build: without `--out` it would read the last build, which may be another one by then."""
    out = "" if project.out.resolve() == DEFAULT_OUT.resolve() else f" --out {shlex.quote(str(project.out))}"
    line = f"touchstone {command}{out}"
    console.print(f"  {escape(f'{line:<46}')}  {what_for}", soft_wrap=True)


def print_estimate(result: Estimate, console: Console | None = None, basis: str | None = None) -> None:
    """Print an estimate as a table; `basis` says in words what it is based on."""
    console = console or make_console()
    basis = basis or (
        "by the pilot's yields"
        if result.measured
        else "before a pilot: nothing dropped or cached, answers of usual length"
    )
    table = Table(title=f"estimate ({basis})", box=SIMPLE_HEAD, **LEFT)
    for column in ("step", "records", "calls", "tokens in", "tokens out", "money"):
        table.add_column(column, justify="left" if column == "step" else "right")
    for line in result.lines:
        records = f"{line.records:,}" if line.records else ""
        money = "?" if line.cost_usd is None else f"${line.cost_usd:.2f}" if line.cost_usd else "-"
        counts = (line.calls, line.input_tokens, line.output_tokens)
        table.add_row(line.step, records, *(f"{count:,}" for count in counts), money)
    console.print(table)
    for note in result.notes:
        console.print(f"[yellow]{note}[/]")


def usage_by_prompt(parts: Iterable[PartManifest]) -> dict[str, UsageOfPrompt]:
    """Return the usage of all stages of these parts, by prompt."""
    return sum_usage(stage.usage for part in parts for stage in part.stages)
