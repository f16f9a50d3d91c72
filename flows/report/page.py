"""Write the build report: read the finished stages, prepare the page, render it."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from flows.construct.engine import Family, Part, RecordStep, SetStep
from flows.construct.stages import Build
from flows.report import read
from flows.report.bins import number
from flows.report.charts import ChartView, chart_view
from flows.report.funnel import FunnelStep, funnel, step_label
from flows.report.overview import CostLine, cost_lines, facts, lede, money, notes, stage_notes, total_usage
from flows.report.records import RecordView, example_view, record_view
from flows.report.template import style, template
from flows.report.texts import percent
from schemas.manifest import BuildManifest, PartManifest, UsageOfPrompt

TEMPLATE = Path(__file__).parent / "report.html.j2"
EXAMPLES = 5
"""The most examples of a drop reason; fewer if there are very many reasons."""
EXAMPLES_IN_ALL = 200
"""They bound the page: in a build with more reasons, the rarest show no example."""
RECORDS = 5
"""The most records of a part that are shown."""


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
class Page:
    """The whole page."""

    manifest: BuildManifest
    lede: tuple[str, ...]
    facts: tuple[str, ...]
    notes: tuple[tuple[str, str], ...]
    """(subject, note)."""
    parts: tuple[PartView, ...]
    cost: tuple[CostLine, ...]
    total: UsageOfPrompt
    config: str


def report_page(build: Build, manifest: BuildManifest, people: str | None = None) -> str:
    """Return the report as HTML, with a link to the page `people` on people's work.

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
        for family, part in build.parts()
        if (summary := manifest.part(family.name, part.name)) is not None
    ]
    makers = sorted({name for family, part, _ in parts for name in _makers(build, family, part)})
    asking = [(family.name, part.name) for family, part, _ in parts if _asks_people(part)]
    page = Page(
        manifest=manifest,
        lede=lede(chosen.family for chosen in build.families.values()),
        facts=facts(manifest, makers),
        notes=tuple(notes(manifest, makers, asking)),
        parts=tuple(_part(build, summary, family, part, opened, examples) for family, part, summary in parts),
        cost=cost_lines(manifest.parts),
        total=total_usage(manifest.parts),
        config=yaml.safe_dump(dict(manifest.config), sort_keys=False, allow_unicode=True, width=100),
    )
    return template(TEMPLATE).render(
        page=page,
        people=people,
        style=style(),
        money=money,
        number=number,
        step_label=step_label,
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
        for reason, refusals in read.refusals(build, ref, sorted(reasons), most).items():
            examples[ref.step, reason] = [example_view(refusal, family) for refusal in refusals]
    charts = read.charts(build, family, part) if summary.planned else []
    drawn = read.drawn_records(build, family, part, RECORDS)
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
        records=tuple(record_view(family.view_of(record), record.id) for record in drawn),
    )


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
