"""The funnel of a part: how many records pass each step, and why the others were dropped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flows.construct.stages import PEOPLE, SOURCE
from flows.report.records import ExampleView
from flows.report.texts import LISTED_CHARACTERS, clip, percent, width, words_of
from schemas.manifest import PartManifest

SHOWN_REASONS = 30
"""If a step has more reasons, the most frequent are shown, and the others are combined."""


@dataclass(frozen=True)
class ReasonView:
    """A drop reason, the number of records, and examples."""

    reason: str
    count: int
    share: str
    width: float
    examples: tuple[ExampleView, ...]


@dataclass(frozen=True)
class FunnelStep:
    """A bar of the funnel: records kept and dropped by a step. Widths are in per cent of the whole."""

    label: str
    kept: int
    dropped: int
    kept_width: float
    dropped_width: float
    remark: str
    reasons: tuple[ReasonView, ...]
    more_reasons: int
    more_dropped: int


def funnel(
    manifest: PartManifest,
    arrived: int,
    remarks: Mapping[str, str],
    examples: Mapping[tuple[str, str], Sequence[ExampleView]],
) -> tuple[FunnelStep, ...]:
    """Return the bars: planned, each stage, kept. `arrived` records came in; `remarks` has the steps' templates."""
    most = max([manifest.planned, *(stage.planned for stage in manifest.stages)])
    steps = [_total("planned", manifest.planned, most)]
    before = arrived
    for stage in manifest.stages:
        if stage.step == SOURCE and not stage.planned:
            continue
        remark = ""
        if before and stage.step in remarks and stage.planned != before:
            remark = remarks[stage.step].format(before=f"{before:,}", planned=f"{stage.planned:,}")
        ranked = sorted(stage.dropped.items(), key=lambda reason: (-reason[1], reason[0]))
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
    """Return a stage's name for a reader."""
    return {SOURCE: "read sources", PEOPLE: "people's verdicts"}.get(step, words_of(step))


def _total(label: str, count: int, most: int) -> FunnelStep:
    return FunnelStep(label, count, 0, width(count, most), 0.0, "", (), 0, 0)
