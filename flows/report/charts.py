"""Charts as the page shows them: an SVG with its numbers, or bars."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from flows.construct.view import Bars, Chart
from flows.report import svg
from flows.report.bins import Bin, Summary, binned, summaries
from flows.report.texts import LISTED_CHARACTERS, clip, percent, width

SHOWN_BARS = 12
"""Of more kinds, the most frequent are shown, and the others as one."""


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
        bars.append(BarView(f"{others:,} other{'s' * (others != 1)}", rest, None, percent(rest, total)))
    return tuple(bars)
