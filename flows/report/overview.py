"""The head of the page, its notes, and the cost of the prompts."""

from collections.abc import Iterable, Mapping, Sequence

from flows.construct.engine import Family
from flows.report.funnel import step_label
from flows.report.texts import clip
from schemas.base import counted
from schemas.manifest import BuildManifest, PartManifest, UsageOfPrompt, total_usage


def lede(families: Iterable[Family]) -> tuple[str, ...]:
    """Return what the build asks, and by which methods."""
    papers = [family.paper for family in families]
    *others, last = (paper.short for paper in papers)
    names = f"{', '.join(others)} and {last}" if others else last
    methods = "; ".join(f"“{paper.title}” ({paper.authors}, {paper.year})" for paper in papers)
    verb, method = ("asks", "method") if len(papers) == 1 else ("ask", "methods")
    return f"{names} {verb} whether a language model uses the context it is given.", f"By the {method} of {methods}."


def facts(manifest: BuildManifest, makers: Sequence[str]) -> tuple[str, ...]:
    """Return seed, makers, pilot and totals in short phrases."""
    total = usage_in_all(manifest)
    return (
        f"seed {manifest.seed}",
        f"made by {', '.join(makers) or 'no model'}",
        *([f"pilot of {manifest.limit:,}"] if manifest.limit is not None else []),
        f"{total.calls:,} prompts answered" + (f", {total.cached:,} more from the cache" if total.cached else ""),
        _spent(total.cost_usd)
        + (f" ({_spent(total.cached_cost_usd)} before, for what the cache gave)" if total.cached_cost_usd != 0 else ""),
    )


def notes(
    manifest: BuildManifest, makers: Sequence[str], asks: Iterable[tuple[str, str]], private: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Return (subject, note) of what a reader should know first.

    `asks` names the parts that ask people, `private` has the number of rows of private sources by part.
    """
    first: list[tuple[str, str]] = []
    if manifest.limit is not None:
        first.append(("pilot", f"drawn from each source: {counted(manifest.limit, 'record')} only, to try things out"))
    if list(makers) == ["rules"]:
        first.append(
            (
                "made by rules",
                "no language model was asked: rules made these from our facts or the sources' own text, as a baseline",
            )
        )
    for family, name in asks:
        part = manifest.part(family, name)
        if part is not None and part.sifted > part.reviewed:
            reviewed = f"{part.reviewed:,}" if part.reviewed else "none"
            first.append((f"{family} {name}", f"people have reviewed {reviewed} of {counted(part.sifted, 'record')}"))
    for name, rows in private.items():
        first.append(
            (name.replace("-", " ", 1), f"{counted(rows, 'row')} of private sources: no release publishes them")
        )
    return [*first, *stage_notes(manifest.parts), *cut_off_notes(manifest.parts)]


def cut_off_notes(parts: Iterable[PartManifest]) -> list[tuple[str, str]]:
    """Return (stage, note) for prompts with answers that ended at their token limit."""
    return [
        (
            f"{part.family} {part.part}, {step_label(stage.step)}",
            f"{usage.cut_off:,} of {usage.calls + usage.cached:,} answers to {prompt} ended at their token limit; "
            "it is set by max_tokens and reasoning_tokens of the model",
        )
        for part in parts
        for stage in part.stages
        for prompt, usage in sorted(stage.usage.items())
        if usage.cut_off
    ]


def stage_notes(parts: Iterable[PartManifest]) -> list[tuple[str, str]]:
    """Return (stage, note) for all notes of stages."""
    return [
        (f"{part.family} {part.part}, {step_label(stage.step)}", clip(note))
        for part in parts
        for stage in part.stages
        for note in stage.notes
    ]


def usage_in_all(manifest: BuildManifest) -> UsageOfPrompt:
    """Return the usage of all prompts together."""
    return total_usage(usage for part in manifest.parts for stage in part.stages for usage in stage.usage.values())


def _spent(usd: float | None) -> str:
    if usd is None:
        return "money spent at an unknown price"
    return money(usd) if usd else "no money spent"


def money(usd: float | None) -> str:
    """Return an amount in dollars and cents, with more decimals below a cent; `?` if a price is not known."""
    if usd is None:
        return "?"
    return f"${usd:,.2f}" if usd >= 0.01 or not usd else f"${usd:.4f}"
