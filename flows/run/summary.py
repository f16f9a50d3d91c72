"""Prints the summary of a finished build (its table, its files, the next commands) and estimates."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.construct.settings import sources_in
from flows.families import load_family
from flows.llm.endpoint_settings import HOSTED
from flows.llm.rules import RulesSettings
from flows.project.annotation_settings import LOCAL
from flows.project.console import LEFT, make_console, money
from flows.project.evaluated import advice_on_rules
from flows.project.installation import local_servers
from flows.project.project import Project
from flows.project.settings import sample_path
from flows.run.estimate import Estimate
from schemas.base import counted
from schemas.manifest import BuildManifest, PartManifest, UsageOfPrompt, sum_usage, total_usage

DEFAULT_OUT = Path("out")
"""The default output folder of `touchstone run`."""


def one_item(project: Project) -> str | None:
    """Return an item from the middle of the part of the first family that a person would read first.

    None if a source is private: what a build prints may go to a log.
    """
    if any(spec.private for spec in sources_in(project.config.families)):
        return None
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
    """Print the counts of a finished build, why rows were dropped, and what this run `asked` and took in `seconds`."""
    waits = any(part.waiting for part in manifest.parts)
    counts = ("planned", "kept", *(["waiting"] if waits else []), "dropped")
    title = f"{manifest.name}: planned = {' + '.join(counts[1:])}"
    table = Table(title=f"\n{title}", box=SIMPLE_HEAD, pad_edge=False, **LEFT)
    table.add_column("part")
    for column in (*counts, "calls", "money", "seconds"):
        table.add_column(column, justify="right", no_wrap=True)
    parts = [part for part in manifest.parts if part.planned or any(stage.notes for stage in part.stages)]
    for part in parts:
        usage = asked.get((part.family, part.part), UsageOfPrompt())
        table.add_row(
            f"{part.family} {part.part}",
            f"{part.planned:,}",
            f"{part.kept:,}",
            *([f"{part.waiting:,}"] if waits else []),
            f"{part.refused:,}",
            f"{usage.calls:,}",
            money(usage),
            f"{seconds.get((part.family, part.part), 0.0):.1f}",
        )
    console.print(table)
    for part in parts:
        reasons: Counter[str] = Counter()
        for step in part.dropped.values():
            reasons.update(step)
        for reason, count in reasons.most_common():
            console.print(f"  {part.family} {part.part}: {count:,} dropped: {escape(reason)}", soft_wrap=True)
    now, whole = total_usage(asked.values()), total_usage(usage_by_prompt(manifest.parts).values())
    if whole.cut_off:
        console.print(
            f"[yellow]cut off at their limit of tokens: {counted(whole.cut_off, 'answer')}; "
            "the report says to which prompts[/]",
            soft_wrap=True,
        )
    runs = {"this run": now, "the whole build": whole} if now != whole else {"in all": now}
    for name, usage in runs.items():
        if usage.calls or usage.cached or name != "in all":
            console.print(
                f"{name}: {counted(usage.calls, 'model call')}, {counted(usage.cached, 'answer')} from the cache"
                f"{f', {money(usage)}' if usage.cost_usd != 0 else ''}",
                soft_wrap=True,
            )


def print_next(console: Console, project: Project, manifest: BuildManifest, report: Path) -> None:
    """Print the paths of the files written, and the commands to run next."""
    console.print("\n[bold]Written[/]")
    for part in manifest.parts:
        for file in part.files:
            if file.path.startswith("accepted/") and part.planned:
                rows = f"{counted(file.rows, 'row')}"
                console.print(f"  {escape(str(project.out / file.path))}  ({rows})", soft_wrap=True)
    if any(part.waiting for part in manifest.parts):
        console.print("  [dim]rows that wait for people are in these files too, with `reviewed: false`[/]")
    console.print(f"  {escape(str(report))}  (open it in a browser)", soft_wrap=True)
    console.print(
        f"  {project.out / 'manifest.json'}, {project.out / 'sifted'}/, {project.out / 'dropped'}/",
        markup=False,
        soft_wrap=True,
    )
    kept = [part for part in manifest.parts if part.sifted]
    console.print("\n[bold]Next[/]")
    is_by_rules = all(model == "rules" for model in manifest.models.values())
    empty = [part for part in manifest.parts if part.planned and not part.sifted]
    for part in empty:
        console.print(
            f"  [yellow]nothing of {part.family} {part.part} was kept; the report opens each reason to examples[/]"
        )
    for advice in dict.fromkeys(load_family(part.family).rules_advice for part in empty if is_by_rules):
        if advice:
            console.print(f"  [yellow]{advice}, see below[/]")
    if kept:
        family = kept[0].family
        parts = [part.part for part in kept if part.family == family]
        read_first = load_family(family).reads
        shown = read_first if read_first in parts else parts[-1]
        _advise(console, project, f"show {family}-{shown} --sample 5", "read what was made")
        _advise(console, project, f"verify {family}", "prove every row from the files alone")
    is_sample = project.config_path == sample_path()
    config = shlex.quote("my.yaml" if is_sample else str(project.config_path))
    if manifest.limit is not None and kept:
        whole = "" if is_sample else f" {config}"
        _advise(console, project, f"run{whole}", "build the whole; no question is asked twice")
    if is_by_rules:
        _advise_a_model(console, project, config, is_sample)
    _advise_evaluations(console, project, kept, config)
    kept_names = {(part.family, part.part) for part in kept}
    if any(
        part.people is not None and (family.name, part.name) in kept_names for family, part in project.build.parts()
    ):
        started = "" if is_sample else f" {config}"
        start = f"touchstone label-studio up{started} && " if project.config.annotation.url == LOCAL else ""
        console.print("  people read it, and write what is theirs to write, in forms that this opens:")
        console.print(
            f"    {start}touchstone annotate push --out {shlex.quote(str(project.out))}", soft_wrap=True, markup=False
        )


def _advise_a_model(console: Console, project: Project, config: str, is_sample: bool) -> None:
    """Print how to build with a model instead of the rules: with one that answers here, if one does."""
    console.print("  a model writes more, and better, than the rules: put it in place of theirs")
    if is_sample:
        console.print(f"    cp {sample_path()} {config}", soft_wrap=True, markup=False)
    servers = [
        (name, f"{{provider: endpoint, name: {model}, base_url: {url}}}") for name, url, model in local_servers()
    ]
    for name, settings in servers:
        console.print(f"    [cyan]model: {escape(settings)}[/]  # {name} answers here", soft_wrap=True)
    if not servers:
        console.print(f"    [cyan]model: {HOSTED}[/]", soft_wrap=True)
        console.print("    [cyan]budget_usd: 5[/]")
    console.print(f"    touchstone run {config} --out pilot --limit 5", soft_wrap=True, markup=False)


def _advise_evaluations(console: Console, project: Project, kept: Sequence[PartManifest], config: str) -> None:
    """Print the commands that evaluate a model on the families, and that score dialogues of the build.

    The rules are not evaluated: they would be asked about what they wrote. A model is named beside them first.
    """
    families = dict.fromkeys(part.family for part in kept)
    evaluated = []
    for name in families:
        family = load_family(name)
        kept_parts = {part.part for part in kept if part.family == name}
        if kept_parts.isdisjoint(family.evaluation.parts):
            continue
        dialogues = family.evaluation.dialogues
        if dialogues is not None and kept_parts.issuperset(dialogues.parts):
            _advise(console, project, f"score {name}", "tables of the dialogues that were built")
        if dialogues is not None and (advice := advice_on_rules(project, family)):
            console.print(f"  {name} is not for a model to be evaluated on yet: {advice}", soft_wrap=True, markup=False)
            continue
        evaluated.append(name)
    models = [name for name, model in project.config.models.items() if not isinstance(model, RulesSettings)]
    if not isinstance(project.config.model_for("default"), RulesSettings):
        models = ["default"]
    if evaluated and not models and project.config_path != sample_path():
        console.print(f"  to ask a model about these rows, name it beside the rules, in {escape(config)}:")
        console.print(f"    [cyan]models: {{mine: {HOSTED}}}[/]", soft_wrap=True)
        models = ["mine"]
    for name in evaluated if models else ():
        _advise(console, project, f"evaluate {name} --model {models[0]}", "ask a model about the rows, and score it")


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
    was_asked = any(line.cached for line in result.lines)
    columns = (
        "step",
        "records",
        "calls",
        *(["answered before"] if was_asked else []),
        "tokens in",
        "tokens out",
        "money",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "step" else "right")
    for line in result.lines:
        records = f"{line.records:,}" if line.records else ""
        money = "?" if line.cost_usd is None else f"${line.cost_usd:.2f}" if line.cost_usd else "-"
        cached = [line.cached] if was_asked else []
        counts = (line.calls, *cached, line.input_tokens, line.output_tokens)
        table.add_row(escape(line.step), records, *(f"{count:,}" for count in counts), money)
    console.print(table)
    if was_asked:
        total = result.lines[-1]
        console.print(
            f"about {counted(total.calls - total.cached, 'call')} would be made; what was answered before is in the "
            "cache and costs nothing",
            soft_wrap=True,
        )
    for note in result.notes:
        console.print(f"[yellow]{escape(note)}[/]")


def usage_by_prompt(parts: Iterable[PartManifest]) -> dict[str, UsageOfPrompt]:
    """Return the usage of all stages of these parts, by prompt."""
    return sum_usage(stage.usage for part in parts for stage in part.stages)
