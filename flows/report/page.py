"""Writes the build report: reads the finished stages, prepares the page, renders it, writes it whole."""

from collections import Counter
from pathlib import Path

import yaml

from flows.construct.engine import Family, Part, RecordStep, SetStep
from flows.construct.stages import Build
from flows.report import read, view
from flows.report.bins import number
from flows.report.template import style, template
from schemas.manifest import BuildManifest

TEMPLATE = Path(__file__).parent / "report.html.j2"
EXAMPLES = 5
"""Examples of a drop reason, at most; fewer where there are very many reasons."""
EXAMPLES_IN_ALL = 200
"""They bound the page: of a build with more reasons the rarest show no example."""
RECORDS = 5
"""Records of a part that are shown."""


def report_page(build: Build, manifest: BuildManifest, people: str | None = None) -> str:
    """The report as HTML, with a link to the page on people's work. The same build gives the same page, but for what it
    says of usage."""
    reasons = Counter(
        {
            (part.family, part.part, stage.step, reason): count
            for part in manifest.parts
            for stage in part.stages
            for reason, count in stage.dropped.items()
        }
    )
    opened = frozenset(sorted(reasons, key=lambda one: (-reasons[one], one))[:EXAMPLES_IN_ALL])
    each = min(EXAMPLES, EXAMPLES_IN_ALL // max(1, len(opened)))
    chosen = [(family, part) for family, part in build.parts() if manifest.part(family.name, part.name)]
    makers = sorted({name for family, part in chosen for name in _makers(build, family, part)})
    asks = [(family.name, part.name) for family, part in chosen if _decide(part)]
    page = view.Page(
        manifest=manifest,
        lede=view.lede(one.family for one in build.families.values()),
        facts=view.facts(manifest, makers),
        notes=tuple(view.notes(manifest, makers, asks)),
        parts=tuple(_part(build, manifest, family, part, opened, each) for family, part in chosen),
        cost=view.cost_lines(manifest.parts),
        total=view.total_usage(manifest.parts),
        config=yaml.safe_dump(dict(manifest.config), sort_keys=False, allow_unicode=True, width=100),
    )
    return template(TEMPLATE).render(
        page=page,
        people=people,
        style=style(),
        money=view.money,
        number=number,
        step_label=view.step_label,
        records=RECORDS,
        examples=EXAMPLES,
    )


def _part(
    build: Build,
    manifest: BuildManifest,
    family: Family,
    part: Part,
    opened: frozenset[tuple[str, str, str, str]],
    each: int,
) -> view.PartView:
    summary = manifest.part(family.name, part.name)
    assert summary is not None
    stages = build.stages(family, part)
    examples = {}
    for ref in stages:
        reasons = [reason for *place, reason in opened if tuple(place) == (ref.family, ref.part, ref.step)]
        for reason, refusals in read.refusals(build, ref, sorted(reasons), each).items():
            examples[ref.step, reason] = [view.example_view(one, family) for one in refusals]
    drawn = read.drawn_records(build, family, part, RECORDS)
    charts = read.charts(build, family, part) if summary.planned else []
    return view.PartView(
        anchor=f"{family.name}-{part.name}",
        family=family.name,
        name=part.name,
        manifest=summary,
        asks_people=_decide(part),
        kept_share=view.percent(summary.kept, summary.planned),
        funnel=view.funnel(summary, len(build.inputs(stages[0])), _makes_more(part), examples),
        notes=tuple(note for _, note in view.stage_notes([summary])),
        charts=tuple(seen for one in charts if (seen := view.chart_view(one)) is not None),
        records=tuple(view.record_view(view.view_of(record, family), record.id) for record in drawn),
    )


def _decide(part: Part) -> bool:
    """Whether people say what becomes of the part's records."""
    return part.people is not None and part.people.rubric.decides


def _makers(build: Build, family: Family, part: Part) -> set[str]:
    """The models that the steps of a part ask."""
    one = build.families[family.name]
    return {one.models[name].name for step in part.steps for name in step.models(one.settings)}


def _makes_more(part: Part) -> dict[str, str]:
    """What to say of a step that does not pass on as many records as came in."""
    texts = {}
    for step in part.steps:
        if isinstance(step, SetStep) and step.creates:
            texts[step.name] = "{before} came in, {planned} written"
        elif isinstance(step, RecordStep) and step.slots is not None:
            texts[step.name] = "{before} records came in, {planned} rows were planned of them"
    return texts
