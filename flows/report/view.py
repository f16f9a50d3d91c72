"""The page as data: what the template writes down, ready to be read. Pure functions."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from flows.construct.engine import Family
from flows.construct.stages import PEOPLE, SOURCE
from flows.construct.view import Bars, Chart, Line, Listing, View
from flows.report import svg
from flows.report.bins import Bin, Summary, binned, number, summaries
from flows.report.read import Refusal
from schemas.base import Record
from schemas.manifest import BuildManifest, PartManifest, StageManifest, UsageOfPrompt, sum_usage

TEXT_CHARACTERS = 600
"""Of a longer text the beginning is shown, with how much follows."""
LISTED_TEXTS = 12
"""Of a longer listing the first ones are shown, and the marked one."""
LISTED_CHARACTERS = 200
SLACK = 1.2
"""Times the limit: up to there a text is shown whole."""
RECORD_LINES = 16
SHOWN_BARS = 12
"""Of more kinds the most frequent are shown, and the others as one."""
SHOWN_REASONS = 30
"""Of more reasons of one step, likewise."""
ALIKE = 0.4
"""Two texts with at least this share of their words in common are compared word by word."""

_WORD = re.compile(r"\s*(?:[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s])|\s+")


@dataclass(frozen=True)
class Segment:
    """A stretch of a text, and whether it is not in the text beside it."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class RecordLine:
    """A line of a record view, its cells in segments."""

    label: str
    cells: tuple[tuple[Segment, ...], ...]
    strong: bool
    same: bool
    """Whether two cells are compared and say the same."""


@dataclass(frozen=True)
class ListedText:
    """A numbered text of a listing."""

    number: int
    text: str
    marked: bool


@dataclass(frozen=True)
class ListingView:
    """A listing, cut to what is shown."""

    title: str
    texts: tuple[ListedText, ...]
    hidden: int


@dataclass(frozen=True)
class RecordView:
    """A record as the page shows it."""

    title: str
    tags: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[RecordLine, ...]
    listing: ListingView | None
    more_lines: int
    id: str


@dataclass(frozen=True)
class ExampleView:
    """A dropped record: itself, beside it what it collides with, and what shows the reason."""

    record: RecordView | None
    evidence: str
    value: str | None
    item_id: str
    related_id: str | None


@dataclass(frozen=True)
class ReasonView:
    """Why records were dropped, how many, and some of them."""

    reason: str
    count: int
    share: str
    width: float
    examples: tuple[ExampleView, ...]


@dataclass(frozen=True)
class FunnelStep:
    """A bar of the funnel: what passed a step and what did not. Widths are percent of the whole."""

    label: str
    kept: int
    dropped: int
    kept_width: float
    dropped_width: float
    remark: str
    reasons: tuple[ReasonView, ...]
    more_reasons: int
    more_dropped: int


@dataclass(frozen=True)
class BarView:
    """One of several bars: percent of the longest (none for what is left over), and of all."""

    label: str
    count: int
    width: float | None
    share: str


@dataclass(frozen=True)
class ChartView:
    """A distribution, drawn: an SVG and its numbers, or bars."""

    title: str
    caption: str
    drawing: Markup | None
    bars: tuple[BarView, ...]
    series: tuple[str, ...]
    summaries: tuple[Summary, ...]
    unit: str
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class PartView:
    """One part of a family."""

    anchor: str
    family: str
    name: str
    manifest: PartManifest
    asks_people: bool
    kept_share: str
    funnel: tuple[FunnelStep, ...]
    notes: tuple[str, ...]
    charts: tuple[ChartView, ...]
    records: tuple[RecordView, ...]


@dataclass(frozen=True)
class CostLine:
    """What a prompt took in a stage."""

    part: str
    step: str
    prompt: str
    usage: UsageOfPrompt


@dataclass(frozen=True)
class Page:
    """The whole page."""

    manifest: BuildManifest
    lede: tuple[str, ...]
    facts: tuple[str, ...]
    notes: tuple[tuple[str, str], ...]
    """(what it is about, note)."""
    parts: tuple[PartView, ...]
    cost: tuple[CostLine, ...]
    total: UsageOfPrompt
    config: str


# ---- texts ----


def clip(text: str, most: int = TEXT_CHARACTERS) -> str:
    """`text`, or its beginning and how many characters follow; a short rest is not worth cutting."""
    return text if len(text) <= most * SLACK else f"{text[:most].rstrip()} … (+{len(text) - most:,} characters)"


def compared(left: str, right: str) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """Both texts in segments; words that the other lacks are marked, unless the texts have little in common."""
    words = _WORD.findall(left), _WORD.findall(right)
    bare = [[word.strip() for word in side] for side in words]
    matcher = difflib.SequenceMatcher(None, bare[0], bare[1], autojunk=False)
    if matcher.ratio() < ALIKE:
        return (Segment(left),), (Segment(right),)
    sides: tuple[list[Segment], list[Segment]] = ([], [])
    for kind, *spans in matcher.get_opcodes():
        for side, tokens, (start, stop) in zip(sides, words, (spans[:2], spans[2:]), strict=True):
            if text := "".join(tokens[start:stop]):
                gap = text[: len(text) - len(text.lstrip())]
                side.extend([Segment(gap)] * bool(gap) + [Segment(text[len(gap) :], kind != "equal")])
    return tuple(sides[0]), tuple(sides[1])


def words_of(name: str) -> str:
    """A Python name in words."""
    return name.replace("_", " ")


def percent(part: float, whole: float) -> str:
    """A share for a reader; empty where it would be one of nothing."""
    if not whole:
        return ""
    share = 100 * part / whole
    return f"{share:.0f}%" if share in (0, 100) or 1 <= share <= 99 else f"{share:.1f}%"


def width(part: float, whole: float) -> float:
    """Percent, for drawing."""
    return round(100 * part / whole, 2) if whole else 0.0


# ---- records ----


def view_of(record: Record, family: Family) -> View:
    """The record as its family lays out its items, or by the fields that make it what it is."""
    if family.view is not None and isinstance(record, tuple(part.item for part in family.parts)):
        return family.view(record)
    return View(lines=tuple(Line(words_of(name), (text,)) for name, text in _fields(record).items()))


def side_by_side(record: Record, related: Record) -> View:
    """A dropped record beside the one it collides with, field by field."""
    left, right = _fields(record), _fields(related)
    return View(
        columns=("dropped", "collides with"),
        lines=tuple(
            Line(words_of(name), (left.get(name, ""), right.get(name, ""))) for name in dict.fromkeys([*left, *right])
        ),
    )


def record_view(view: View, record_id: str = "") -> RecordView:
    """The view cut to what is shown, its cells compared; `record_id` is written beside its tags."""
    return RecordView(
        title=clip(view.title),
        tags=tuple(clip(tag, LISTED_CHARACTERS) for tag in view.tags),
        columns=view.columns,
        lines=tuple(_line(line, bool(view.columns)) for line in view.lines[:RECORD_LINES]),
        listing=_listing(view.listing) if view.listing else None,
        more_lines=max(0, len(view.lines) - RECORD_LINES),
        id=record_id,
    )


def example_view(refusal: Refusal, family: Family) -> ExampleView:
    """A drop as the page shows it. Evidence that stands in the record anyway is not said twice."""
    dropped, record, related = refusal.dropped, refusal.record, refusal.related
    view = None
    if record is not None and type(related) is type(record):
        view = side_by_side(record, related)
    elif (only := record or related) is not None:
        view = view_of(only, family)
    said = {text for line in view.lines for text in line.cells} if view else set()
    value = None
    if dropped.value is not None:
        value = f"{'similarity' if dropped.related_id else 'measured'} {number(dropped.value)}"
    return ExampleView(
        record=record_view(view) if view else None,
        evidence="" if dropped.evidence in said else clip(dropped.evidence),
        value=value,
        item_id=dropped.item_id,
        related_id=dropped.related_id,
    )


def _fields(record: Record) -> dict[str, str]:
    """The fields that make a record what it is, as texts; without empty ones."""
    values = {name: _text(getattr(record, name)) for name in record.DEFINES}
    return {name: text for name, text in values.items() if text}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_text(one)}" for name, one in value.items())
    if isinstance(value, tuple | list):
        return " | ".join(map(_text, value))
    return str(value)


def _line(line: Line, beside_columns: bool) -> RecordLine:
    pair = len(line.cells) == 2
    aside = beside_columns and len(line.cells) == 1
    cells = [clip(cell, LISTED_CHARACTERS if aside else TEXT_CHARACTERS) for cell in line.cells]
    segments = compared(cells[0], cells[1]) if pair else tuple((Segment(cell),) for cell in cells)
    return RecordLine(clip(line.label), segments, line.strong, pair and line.cells[0] == line.cells[1])


def _listing(listing: Listing) -> ListingView:
    texts = tuple(
        ListedText(place + 1, clip(text, LISTED_CHARACTERS), place == listing.marked)
        for place, text in enumerate(listing.texts)
        if place < LISTED_TEXTS or place == listing.marked
    )
    return ListingView(listing.title, texts, len(listing.texts) - len(texts))


# ---- funnel ----


def funnel(
    manifest: PartManifest,
    arrived: int,
    makes_more: Mapping[str, str],
    examples: Mapping[tuple[str, str], Sequence[ExampleView]],
) -> tuple[FunnelStep, ...]:
    """Planned, each stage, kept. `arrived` came in; `makes_more` says what a step that makes records does."""
    most = max([manifest.planned, *(stage.planned for stage in manifest.stages)])
    steps = [_total("planned", manifest.planned, most)]
    before = arrived
    for stage in manifest.stages:
        if stage.step == SOURCE and not stage.planned:
            continue
        remark = ""
        if before and stage.step in makes_more and stage.planned != before:
            remark = makes_more[stage.step].format(before=f"{before:,}", planned=f"{stage.planned:,}")
        ranked = sorted(stage.dropped.items(), key=lambda one: (-one[1], one[0]))
        reasons = tuple(
            ReasonView(
                reason=clip(reason, LISTED_CHARACTERS),
                count=count,
                share=percent(count, stage.planned),
                width=width(count, stage.planned),
                examples=tuple(examples.get((stage.step, reason), ())),
            )
            for reason, count in ranked[:SHOWN_REASONS]
        )
        dropped = stage.planned - stage.kept
        steps.append(
            FunnelStep(
                label=step_label(stage.step),
                kept=stage.kept,
                dropped=dropped,
                kept_width=width(stage.kept, most),
                dropped_width=width(dropped, most),
                remark=remark,
                reasons=reasons,
                more_reasons=len(ranked[SHOWN_REASONS:]),
                more_dropped=sum(count for _, count in ranked[SHOWN_REASONS:]),
            )
        )
        before = stage.kept
    if manifest.waiting:
        steps.append(_total("waiting for people", manifest.waiting, most))
    return (*steps, _total("kept", manifest.kept, most))


def step_label(step: str) -> str:
    """A stage for a reader."""
    return {SOURCE: "read sources", PEOPLE: "people's verdicts"}.get(step, words_of(step))


def _total(label: str, count: int, most: int) -> FunnelStep:
    return FunnelStep(label, count, 0, width(count, most), 0.0, "", (), 0, 0)


# ---- charts ----


def chart_view(chart: Chart) -> ChartView | None:
    """The chart, drawn; None where it holds nothing."""
    if isinstance(chart, Bars):
        bars = _bars(chart.counts)
        return ChartView(chart.title, chart.caption, None, bars, (), (), "", ()) if bars else None
    bins = tuple(binned(chart))
    if not bins:
        return None
    return ChartView(
        title=chart.title,
        caption=chart.caption,
        drawing=svg.histogram(chart),
        bars=(),
        series=tuple(chart.series),
        summaries=tuple(summaries(chart)),
        unit=chart.unit,
        bins=bins,
    )


def _bars(counts: Mapping[str, int]) -> tuple[BarView, ...]:
    total = sum(counts.values())
    if not total:
        return ()
    shown = set(sorted(counts, key=lambda label: -counts[label])[:SHOWN_BARS])
    most = max(counts.values())
    bars = [
        BarView(clip(label, LISTED_CHARACTERS), count, width(count, most), percent(count, total))
        for label, count in counts.items()
        if label in shown
    ]
    if others := len(counts) - len(shown):
        rest = total - sum(bar.count for bar in bars)
        bars.append(BarView(f"{others:,} other{'s' * (others != 1)}", rest, None, percent(rest, total)))
    return tuple(bars)


# ---- the page's head and foot ----


def lede(families: Iterable[Family]) -> tuple[str, ...]:
    """What was built, in a sentence a family."""
    return tuple(
        f"{family.paper.short} asks whether a language model uses the context it is given, by the method of "
        f"“{family.paper.title}” ({family.paper.authors}, {family.paper.year})."
        for family in families
    )


def facts(manifest: BuildManifest, makers: Sequence[str]) -> tuple[str, ...]:
    """Seed, makers, pilot and totals in short phrases."""
    total = total_usage(manifest.parts)
    return (
        f"seed {manifest.seed}",
        f"made by {', '.join(makers) or 'no model'}",
        *([f"pilot of {manifest.limit:,}"] if manifest.limit is not None else []),
        f"{total.calls:,} prompts answered" + (f", {total.cached:,} more from the cache" if total.cached else ""),
        _spent(total.cost_usd)
        + (f" ({_spent(total.cached_cost_usd)} before, for what the cache gave)" if total.cached_cost_usd != 0 else ""),
    )


def notes(manifest: BuildManifest, makers: Sequence[str], asks: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """(about, note): what a reader should know before anything else. `asks` names the parts that want people."""
    found: list[tuple[str, str]] = []
    if manifest.limit is not None:
        found.append(("pilot", f"only {manifest.limit:,} records for each source were drawn, to try things out"))
    if list(makers) == ["rules"]:
        found.append(
            (
                "made by rules",
                "no language model was asked: rules made these of our facts or the sources' own text, as a baseline",
            )
        )
    for family, name in asks:
        part = manifest.part(family, name)
        sifted = part.kept + part.waiting if part is not None else 0
        if part is not None and sifted > part.reviewed:
            seen = f"{part.reviewed:,} of {sifted:,}" if part.reviewed else f"none of {sifted:,}"
            found.append((f"{family} {name}", f"people have reviewed {seen} records"))
    return [*found, *stage_notes(manifest.parts), *cut_off_notes(manifest.parts)]


def cut_off_notes(parts: Iterable[PartManifest]) -> list[tuple[str, str]]:
    """(stage, note) wherever answers ended at their limit of tokens."""
    return [
        (
            f"{part.family} {part.part}, {step_label(stage.step)}",
            f"{usage.cut_off:,} of {usage.calls + usage.cached:,} answers to {prompt} ended at their limit of tokens; "
            "max_tokens and reasoning_tokens of the model set it",
        )
        for part in parts
        for stage in part.stages
        for prompt, usage in sorted(stage.usage.items())
        if usage.cut_off
    ]


def stage_notes(parts: Iterable[PartManifest]) -> list[tuple[str, str]]:
    """(stage, note) of everything that stages have to say."""
    return [
        (f"{part.family} {part.part}, {step_label(stage.step)}", clip(note))
        for part in parts
        for stage in part.stages
        for note in stage.notes
    ]


def cost_lines(parts: Iterable[PartManifest]) -> tuple[CostLine, ...]:
    """What each prompt took in each stage."""
    return tuple(
        CostLine(f"{part.family} {part.part}", step_label(stage.step), words_of(prompt), usage)
        for part in parts
        for stage in part.stages
        for prompt, usage in sorted(stage.usage.items())
    )


def total_usage(parts: Iterable[PartManifest]) -> UsageOfPrompt:
    """All that was asked."""
    stages: list[StageManifest] = [stage for part in parts for stage in part.stages]
    sums = sum_usage({"all": usage} for stage in stages for usage in stage.usage.values())
    return sums.get("all", UsageOfPrompt())


def _spent(usd: float | None) -> str:
    if usd is None:
        return "money spent at a price that is not known"
    return money(usd) if usd else "no money spent"


def money(usd: float | None) -> str:
    """An amount: cents, and smaller where it is below a cent; `?` where a price is not known."""
    if usd is None:
        return "?"
    return f"${usd:,.2f}" if usd >= 0.01 or not usd else f"${usd:.4f}"
