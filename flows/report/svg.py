"""Histograms, stacked bars and heatmaps as inline SVG. Colours come from the style sheet and follow its theme."""

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup

from flows.construct.view import Histogram
from flows.report.bins import Bin, binned, edge, number, ticks, whole

WIDTH, HEIGHT = 300, 180
LEFT, RIGHT, TOP, BOTTOM = 36, 12, 22, 36
FLOOR = HEIGHT - BOTTOM

Scale = Callable[[float], float]
"""Maps a value to a position in the drawing."""


def histogram(chart: Histogram) -> Markup:
    """Return the chart as an `svg` element; series are stacked, the threshold is a dashed line."""
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, described(chart), columns(chart)
    )


def columns(chart: Histogram) -> Markup:
    """Return the contents of a histogram, `WIDTH` by `HEIGHT`."""
    bins = binned(chart)
    names = list(chart.series)
    low, high = bins[0].low, bins[-1].high
    most = max(sum(one.counts) for one in bins)

    def x(value: float) -> float:
        return round(LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT), 2)

    def y(count: float) -> float:
        return round(FLOOR - count / most * (FLOOR - TOP), 2)

    marks = [_grid(count, y(count)) for count in ticks(0, most, 3, integers=True)]
    marks += [_column(one, names, chart.unit, x, y) for one in bins]
    marks += [
        Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(x(at), FLOOR + 15, number(at))
        for at in ticks(low, high, 5, integers=whole(chart))
    ]
    marks.append(
        Markup('<text class="unit" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, chart.unit
        )
    )
    threshold = edge(chart)
    if threshold is not None and chart.threshold is not None:
        marks.append(_threshold(x(threshold), number(chart.threshold)))
    axis = Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(LEFT, WIDTH - RIGHT, FLOOR, FLOOR)
    return Markup("").join([*marks, axis])


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
        Markup(
            '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
            '<text class="tick" x="{}" y="{}" text-anchor="end">{}%</text>'
        ).format(STACK_LEFT, STACK_WIDTH - RIGHT, y(share), y(share), STACK_LEFT - 6, y(share) + 4, round(100 * share))
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    every = -(-len(bars) // MOST_LABELS)
    for place, (name, shares) in enumerate(bars):
        left, base = round(STACK_LEFT + (place + 0.1) * step, 2), 0.0
        for part, share in enumerate(shares):
            marks.append(
                Markup('<rect class="c{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>').format(
                    part, left, y(base + share), round(0.8 * step, 2), round(y(base) - y(base + share), 2),
                    f"{name}: {share:.1%} {parts[part]}",
                )
            )  # fmt: skip
            base += share
        if place % every == 0:
            marks.append(
                Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                    round(left + 0.4 * step, 2), floor + 15, name.rpartition(" ")[2]
                )
            )
    if bars:
        marks.append(
            Markup('<text class="unit" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                (STACK_LEFT + STACK_WIDTH - RIGHT) / 2, STACK_HEIGHT - 5, bars[0][0].rpartition(" ")[0]
            )
        )
    return Markup('<svg class="stack" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        STACK_WIDTH, STACK_HEIGHT, f"Shares of {', '.join(parts)}; the numbers are in the table", Markup("").join(marks)
    )


GRID_LEFT, GRID_TOP, CELL_HEIGHT = 40, 24, 26


def grid(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]]) -> Markup:
    """Return a heatmap with a cell for each value of the rows, from 0 to 1; darker is higher, NaN has no cell."""
    width = (STACK_WIDTH - GRID_LEFT - RIGHT) / max(1, len(columns))
    marks = [
        Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            round(GRID_LEFT + (place + 0.5) * width, 2), GRID_TOP - 8, name
        )
        for place, name in enumerate(columns)
    ]
    for line, (name, values) in enumerate(rows):
        top = GRID_TOP + line * CELL_HEIGHT
        marks.append(
            Markup('<text class="tick" x="{}" y="{}" text-anchor="end">{}</text>').format(
                GRID_LEFT - 6, top + CELL_HEIGHT / 2 + 4, name
            )
        )
        marks += [
            Markup(
                '<rect class="heat" x="{}" y="{}" width="{}" height="{}" fill-opacity="{}"><title>{}</title></rect>'
            ).format(
                round(GRID_LEFT + place * width, 2), top, round(width - 1, 2), CELL_HEIGHT - 1, round(value, 3),
                f"{name} at {columns[place]}: {value:.3f}",
            )
            for place, value in enumerate(values)
            if not math.isnan(value)
        ]  # fmt: skip
    return Markup('<svg class="heatmap" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        STACK_WIDTH, GRID_TOP + len(rows) * CELL_HEIGHT, "Heatmap; the numbers are in the table", Markup("").join(marks)
    )


def _grid(count: float, height: float) -> Markup:
    return Markup(
        '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text class="tick" x="{}" y="{}" text-anchor="end">{}</text>'
    ).format(LEFT, WIDTH - RIGHT, height, height, LEFT - 6, height + 4, number(count))


def _column(one: Bin, names: Sequence[str], unit: str, x: Scale, y: Scale) -> Markup:
    """Return a bin's stacked bars, with a gap to the next bin."""
    left, width = x(one.low), max(1.0, round(x(one.high) - x(one.low) - 1, 2))
    bars, base = [], 0
    for series, count in enumerate(one.counts):
        if count:
            top = y(base + count)
            bars.append(
                Markup('<rect class="series-{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>').format(
                    series, left, top, width, max(1.0, round(y(base) - top, 2)),
                    f"{one.label} {unit}: {count:,} {names[series]}",
                )
            )  # fmt: skip
            base += count
    return Markup("").join(bars)


def _threshold(at: float, label: str) -> Markup:
    anchor = "end" if at > WIDTH * 0.75 else "start" if at < WIDTH * 0.25 else "middle"
    return Markup(
        '<line class="threshold" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text class="threshold-label" x="{}" y="{}" text-anchor="{}">threshold {}</text>'
    ).format(at, at, TOP - 6, FLOOR, at, TOP - 10, anchor, label)


def described(chart: Histogram) -> str:
    """Return a description of the chart for people who cannot see it."""
    total = sum(count for counts in chart.series.values() for count in counts.values())
    return f"Histogram: {chart.title}, {total:,} values; the numbers are in the table below it"
