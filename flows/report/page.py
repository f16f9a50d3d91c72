"""Write the build report: read the finished stages, prepare the page, render it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

import yaml
from markupsafe import Markup

from flows.construct.engine import Family, Part, RecordStep, SetStep
from flows.construct.stages import Build
from flows.construct.view import Bars, Chart, View
from flows.report import svg
from flows.report.bins import Bin, Summary, binned, number, summaries
from flows.report.funnel import FunnelStep, funnel, step_label
from flows.report.overview import facts, lede, money, notes, stage_notes, usage_in_all
from flows.report.records import (
    RECORD_LINES,
    charts_of,
    compared_cells,
    drawn_records,
    example_view,
    is_repeated,
    refusals,
)
from flows.report.template import style, template
from flows.report.texts import LISTED_CHARACTERS, clip, percent, width, words_of
from schemas.base import counted
from schemas.manifest import BuildManifest, PartManifest

TEMPLATE = Path(__file__).parent / "report.html.j2"
EXAMPLES = 5
"""The most examples of a drop reason; fewer if there are very many reasons."""
EXAMPLES_IN_ALL = 200
"""They bound the page: in a build with more reasons, the rarest show no example."""
RECORDS = 5
"""The most records of a part that are shown."""
SHOWN_BARS = 12
"""If there are more kinds, the most frequent are shown, and the others are combined."""


@dataclass(frozen=True)
class BarView:
    """One of several bars: its width in per cent of the longest (None for the others), and its share."""

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
    records: tuple[tuple[str, View], ...]
    """(id, view)."""


def report_page(
    build: Build, manifest: BuildManifest, people: str | None = None, private: Mapping[str, int] = MappingProxyType({})
) -> str:
    """Return the report as HTML, with a link to the page `people` on people's work.

    `private` has, by part (`uraq-items`), how many of its rows a release will keep out for their private sources.

    The same build gives the same page, except for its usage.
    """
    reasons = Counter(
        {
            (part.family, part.part, stage.step, reason): count
            for part in manifest.parts
            for stage in part.stages
            for reason, count in stage.dropped.items()
        }
    )
    opened = frozenset(sorted(reasons, key=lambda reason: (-reasons[reason], reason))[:EXAMPLES_IN_ALL])
    examples = min(EXAMPLES, EXAMPLES_IN_ALL // max(1, len(opened)))
    parts = [
        (family, part, summary)
        for family, part in in_reading_order(build.parts())
        if (summary := manifest.part(family.name, part.name)) is not None
    ]
    makers = sorted({name for family, part, _ in parts for name in _makers(build, family, part)})
    asking = [(family.name, part.name) for family, part, _ in parts if _asks_people(part)]
    return template(TEMPLATE).render(
        manifest=manifest,
        lede=lede(chosen.family for chosen in build.families.values()),
        facts=facts(manifest, makers),
        notes=notes(manifest, makers, asking, private),
        parts=[_part(build, summary, family, part, opened, examples) for family, part, summary in parts],
        cost=[
            (part, stage, prompt, usage)
            for part in manifest.parts
            for stage in part.stages
            for prompt, usage in sorted(stage.usage.items())
        ],
        total=usage_in_all(manifest),
        config=yaml.safe_dump(dict(manifest.config), sort_keys=False, allow_unicode=True, width=100),
        people=people,
        style=style(),
        money=money,
        number=number,
        step_label=step_label,
        words_of=words_of,
        clip=clip,
        listed=LISTED_CHARACTERS,
        compared_cells=compared_cells,
        is_repeated=is_repeated,
        record_lines=RECORD_LINES,
        records=RECORDS,
        examples=EXAMPLES,
    )


def _part(
    build: Build,
    summary: PartManifest,
    family: Family,
    part: Part,
    opened: Collection[tuple[str, str, str, str]],
    most: int,
) -> PartView:
    """Return the view of a part, with at most `most` examples of each reason in `opened`."""
    stages = build.stages(family, part)
    examples = {}
    for ref in stages:
        reasons = [reason for *place, reason in opened if tuple(place) == (ref.family, ref.part, ref.step)]
        for reason, drops in refusals(build, ref, sorted(reasons), most).items():
            examples[ref.step, reason] = [example_view(refusal, family) for refusal in drops]
    charts = charts_of(build, family, part) if summary.planned else []
    drawn = drawn_records(build, family, part, RECORDS)
    return PartView(
        anchor=f"{family.name}-{part.name}",
        family=family.name,
        name=part.name,
        manifest=summary,
        asks_people=_asks_people(part),
        kept_share=percent(summary.kept, summary.planned),
        funnel=funnel(summary, len(build.inputs(stages[0])), _remarks(part), examples),
        notes=tuple(note for _, note in stage_notes([summary])),
        charts=tuple(view for chart in charts if (view := chart_view(chart)) is not None),
        records=tuple((record.id, family.view_of(record)) for record in drawn),
    )


def in_reading_order(parts: Iterable[tuple[Family, Part]]) -> list[tuple[Family, Part]]:
    """Return the parts of each family as a reader wants them.

    First comes the part that a person reads first, then the others that are released, then what they are made from,
    in the order of building.
    """

    def rank(pair: tuple[Family, Part]) -> int:
        family, part = pair
        return 0 if part.name == family.reads else 1 if part.released is not None else 2

    by_family = groupby(parts, key=lambda pair: pair[0].name)
    return [pair for _, pairs in by_family for pair in sorted(pairs, key=rank)]


def _asks_people(part: Part) -> bool:
    """Return whether people decide on the part's records."""
    return part.people is not None and part.people.rubric.decides


def _makers(build: Build, family: Family, part: Part) -> set[str]:
    """Return the names of the models that the steps of a part ask."""
    built = build.families[family.name]
    return {built.models[role].name for step in part.steps for role in step.models(built.settings)}


def _remarks(part: Part) -> Mapping[str, str]:
    """Return a remark on each step that does not pass on as many records as came in."""
    remarks = {}
    for step in part.steps:
        if isinstance(step, SetStep) and step.creates:
            remarks[step.name] = "{before} came in, {planned} written"
        elif isinstance(step, RecordStep) and step.slots is not None:
            remarks[step.name] = "{before} records came in, {planned} rows were planned of them"
    return remarks


def chart_view(chart: Chart) -> ChartView | None:
    """Return the chart, drawn; None if it is empty."""
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
        bars.append(BarView(f"{counted(others, 'other')}", rest, None, percent(rest, total)))
    return tuple(bars)
