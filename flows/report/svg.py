"""Histograms, stacked bars and heatmaps as inline SVG. Colours come from the style sheet and follow its theme."""

import math
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

from flows.construct.view import Histogram
from flows.report.bins import Bin, binned, edge, number, ticks, whole

WIDTH, HEIGHT = 300, 194
LEFT, RIGHT, TOP, BOTTOM = 36, 12, 36, 36
FLOOR = HEIGHT - BOTTOM

Scale = Callable[[float], float]
"""Maps a value to a position in the drawing."""


# ---- elements ----


def drawing(width: float, height: float, label: str, marks: Iterable[Markup], kind: str = "") -> Markup:
    """Return an `svg` element; `label` describes it for people who cannot see it."""
    named = Markup('class="{}" ').format(kind) if kind else ""
    return Markup('<svg {}viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        named, width, height, label, Markup("").join(marks)
    )


def text(kind: str, x: float, y: float, content: str, anchor: str = "middle") -> Markup:
    """Return a text that starts, ends or has its middle at a point."""
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(kind, x, y, anchor, content)


def line(kind: str, x1: float, x2: float, y1: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(kind, x1, x2, y1, y2)


def grid_line(left: float, right: float, y: float, label: str) -> Markup:
    """Return a line across the drawing, with its label on the left."""
    return line("grid", left, right, y, y) + text("tick", left - 6, y + 4, label, "end")


def bar(kind: str, x: float, y: float, width: float, height: float, title: str) -> Markup:
    """Return a rectangle that shows its title when pointed at."""
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>').format(
        kind, x, y, width, height, title
    )


def heat(x: float, y: float, width: float, height: float, value: float, title: str) -> Markup:
    """Return a cell of a heatmap: the higher the value, from 0 to 1, the darker."""
    return Markup(
        '<rect class="heat" x="{}" y="{}" width="{}" height="{}" fill-opacity="{}"><title>{}</title></rect>'
    ).format(x, y, width, height, round(value, 3), title)


# ---- histograms ----


def histogram(chart: Histogram) -> Markup:
    """Return the chart as an `svg` element; series are stacked, the threshold is a dashed line."""
    return drawing(WIDTH, HEIGHT, described(chart), [columns(chart)])


def columns(chart: Histogram) -> Markup:
    """Return the contents of a histogram, `WIDTH` by `HEIGHT`."""
    bins = binned(chart)
    names = list(chart.series)
    low, high = bins[0].low, bins[-1].high
    most = max(sum(bin_.counts) for bin_ in bins)

    def x(value: float) -> float:
        return round(LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT), 2)

    def y(count: float) -> float:
        return round(FLOOR - count / most * (FLOOR - TOP), 2)

    marks = [grid_line(LEFT, WIDTH - RIGHT, y(count), number(count)) for count in ticks(0, most, 3, integers=True)]
    marks += [_column(bin_, names, chart.unit, x, y) for bin_ in bins]
    marks += [text("tick", x(at), FLOOR + 15, number(at)) for at in ticks(low, high, 5, integers=whole(chart))]
    marks.append(text("unit", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, chart.unit))
    marks.append(text("unit", 0, 11, chart.counted, "start"))
    threshold = edge(chart)
    if threshold is not None and chart.threshold is not None:
        marks.append(_threshold(x(threshold), number(chart.threshold)))
    return Markup("").join([*marks, line("axis", LEFT, WIDTH - RIGHT, FLOOR, FLOOR)])


def _column(bin_: Bin, names: Sequence[str], unit: str, x: Scale, y: Scale) -> Markup:
    """Return a bin's stacked bars, with a gap to the next bin."""
    left, width = x(bin_.low), max(1.0, round(x(bin_.high) - x(bin_.low) - 1, 2))
    bars, base = [], 0
    for series, count in enumerate(bin_.counts):
        if count:
            top = y(base + count)
            height = max(1.0, round(y(base) - top, 2))
            title = f"{bin_.label} {unit}: {count:,} {names[series]}"
            bars.append(bar(f"series-{series}", left, top, width, height, title))
            base += count
    return Markup("").join(bars)


def _threshold(at: float, label: str) -> Markup:
    anchor = "end" if at > WIDTH * 0.75 else "start" if at < WIDTH * 0.25 else "middle"
    label = f"threshold {label}"
    return line("threshold", at, at, TOP - 6, FLOOR) + text("threshold-label", at, TOP - 10, label, anchor)


def described(chart: Histogram) -> str:
    """Return a description of the chart for people who cannot see it."""
    total = sum(count for counts in chart.series.values() for count in counts.values())
    return f"Histogram: {chart.title}, {total:,} values; the numbers are in the table below it"


# ---- stacked bars ----

STACK_WIDTH, STACK_HEIGHT, STACK_LEFT = 640, 240, 44
MOST_LABELS = 16
"""The most bars that are all labelled; of more, some are."""


def stack(parts: Sequence[str], bars: Sequence[tuple[str, Sequence[float]]]) -> Markup:
    """Return a stacked bar for each of `bars`, (name, shares of the parts); parts have the classes c0, c1, ...

    Bars are in their order from left to right. The shares of each add up to its height, at most 1.
    """
    floor, step = STACK_HEIGHT - BOTTOM, (STACK_WIDTH - STACK_LEFT - RIGHT) / max(1, len(bars))

    def y(share: float) -> float:
        return round(floor - share * (floor - TOP), 2)

    marks = [
        grid_line(STACK_LEFT, STACK_WIDTH - RIGHT, y(share), f"{round(100 * share)}%")
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    every = -(-len(bars) // MOST_LABELS)
    for place, (name, shares) in enumerate(bars):
        left, base = round(STACK_LEFT + (place + 0.1) * step, 2), 0.0
        for part, share in enumerate(shares):
            top = y(base + share)
            title = f"{name}: {share:.1%} {parts[part]}"
            marks.append(bar(f"c{part}", left, top, round(0.8 * step, 2), round(y(base) - top, 2), title))
            base += share
        if place % every == 0:
            marks.append(text("tick", round(left + 0.4 * step, 2), floor + 15, name.rpartition(" ")[2]))
    if bars:
        unit = bars[0][0].rpartition(" ")[0]
        marks.append(text("unit", (STACK_LEFT + STACK_WIDTH - RIGHT) / 2, STACK_HEIGHT - 5, unit))
    label = f"Shares of {', '.join(parts)}; the numbers are in the table"
    return drawing(STACK_WIDTH, STACK_HEIGHT, label, marks, "stack")


# ---- heatmaps ----

GRID_LEFT, GRID_TOP, CELL_HEIGHT = 40, 24, 26


def grid(names: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]]) -> Markup:
    """Return a heatmap with a cell for each value of the rows, from 0 to 1; darker is higher, NaN has no cell."""
    width = (STACK_WIDTH - GRID_LEFT - RIGHT) / max(1, len(names))
    marks = [
        text("tick", round(GRID_LEFT + (place + 0.5) * width, 2), GRID_TOP - 8, name)
        for place, name in enumerate(names)
    ]
    for row, (name, values) in enumerate(rows):
        top = GRID_TOP + row * CELL_HEIGHT
        marks.append(text("tick", GRID_LEFT - 6, top + CELL_HEIGHT / 2 + 4, name, "end"))
        for place, value in enumerate(values):
            if not math.isnan(value):
                left, title = round(GRID_LEFT + place * width, 2), f"{name} at {names[place]}: {value:.3f}"
                marks.append(heat(left, top, round(width - 1, 2), CELL_HEIGHT - 1, value, title))
    height = GRID_TOP + len(rows) * CELL_HEIGHT
    return drawing(STACK_WIDTH, height, "Heatmap; the numbers are in the table", marks, "heatmap")
