"""Charts as SVG files, for a release. Equal charts give equal bytes."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from data.publish.card_facts import Plot
from flows.construct.view import Bars, Chart, Histogram
from flows.report import svg
from flows.report.bins import number, summaries
from schemas.annotation import Agreement

FOLDER: Final = "plots"
WIDTH: Final = 640
EDGE: Final = 24
HEAD: Final = 56
"""Height of the title and the line under it."""
SCALE: Final = (WIDTH - 2 * EDGE) / svg.WIDTH
ROW: Final = 26
LABELS: Final = 220
"""Width of the names beside bars and intervals."""
NUMBERS: Final = 90
LABEL_CHARACTERS: Final = 32
TITLE_CHARACTERS: Final = 70
MOST_ROWS: Final = 14
"""If there are more bars, the most frequent are drawn, and the others are combined."""
COLOURS: Final = ("#0c6a5d", "#d98c1f", "#4a78b5", "#b3476d", "#7d8f2e", "#6b6f76")
"""In the order of the series, from the start again if there are more."""
MOST_SERIES: Final = 24

STYLE: Final = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif;fill:#1c2024;"
    "font-size:14px}.title{font-size:17px;font-weight:600}.quiet{fill:#59616b;font-size:13px}"
    ".plot text{font-size:7px;fill:#59616b}.plot .threshold-label{fill:#1c2024;font-weight:600}"
    ".grid{stroke:#e3e0d9;stroke-width:.6}.axis{stroke:#a9a49a;stroke-width:.8}"
    ".threshold{stroke:#1c2024;stroke-dasharray:4 3}.interval{stroke:#0c6a5d;stroke-width:3;stroke-linecap:round}"
    + "".join(f".series-{n}{{fill:{COLOURS[n % len(COLOURS)]}}}" for n in range(MOST_SERIES))
)


class DrawnPlot(NamedTuple):
    """A plot for the card, and the content of its file."""

    plot: Plot
    content: bytes


def plots_of(config: str, charts: Sequence[Chart]) -> list[DrawnPlot]:
    """Return the plots of a configuration's charts that have a value, in their order."""
    drawn = [(chart, content) for chart in charts if (content := _drawing(config, chart)) is not None]
    return [
        DrawnPlot(
            Plot(
                path=f"{FOLDER}/{_slug(config)}-{_slug(chart.title)}-{place}.svg",
                config=config,
                title=chart.title,
                caption=chart.caption,
            ),
            content,
        )
        for place, (chart, content) in enumerate(drawn, start=1)
    ]


class Interval(NamedTuple):
    """A value with its interval, if it has one."""

    name: str
    value: float
    low: float | None
    high: float | None
    shown: str


def agreement_plot(config: str, rows: Sequence[Agreement]) -> DrawnPlot | None:
    """Return a plot of people's agreement with 95 % intervals; None if no measure has a value."""
    marks = [
        Interval(f"{row.question}, {row.measure}", row.value, row.low, row.high, f"{row.value:.2f} ({row.items:,})")
        for row in rows
        if row.value is not None
    ]
    if not marks:
        return None
    caption = "Each measure with its 95 % bootstrap interval over items; in brackets, items that several people did."
    about = "Agreement by question; the numbers are in the table"
    return intervals_plot(f"{_slug(config)}-agreement", config, "Agreement", caption, marks, about)


def intervals_plot(
    name: str, config: str, title: str, caption: str, rows: Sequence[Interval], about: str = ""
) -> DrawnPlot:
    """Return a plot of values of at most 1 with their intervals, line by line; `name` is its file's."""
    low = min(0.0, *(row.value for row in rows), *(row.low or 0.0 for row in rows))
    left, right = LABELS + EDGE, WIDTH - EDGE - NUMBERS

    def x(value: float) -> float:
        return round(left + (value - low) / (1 - low) * (right - left), 2)

    floor = HEAD + len(rows) * ROW
    marks = [
        svg.line("grid", x(at), x(at), HEAD, floor) + svg.text("quiet", x(at), floor + 18, number(at))
        for at in sorted({low, 0.0, 0.5, 1.0})
    ]
    for place, row in enumerate(rows):
        middle = HEAD + (place + 0.5) * ROW
        if row.low is not None and row.high is not None:
            marks.append(
                Markup('<line class="interval" opacity=".4" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
                    x(row.low), x(row.high), middle, middle
                )
            )
        marks.append(Markup('<circle class="series-0" cx="{}" cy="{}" r="5"/>').format(x(row.value), middle))
        marks.append(_label(row.name, middle))
        marks.append(svg.text("quiet", WIDTH - EDGE, middle + 5, row.shown, "end"))
    return DrawnPlot(
        Plot(path=f"{FOLDER}/{name}.svg", config=config, title=title, caption=caption),
        _page(title, config, about or f"{title}; the numbers are in the table", marks, floor + 30),
    )


def _drawing(config: str, chart: Chart) -> bytes | None:
    if isinstance(chart, Histogram):
        return _histogram(config, chart) if any(chart.series.values()) else None
    return _bars(config, chart) if sum(chart.counts.values()) else None


def _histogram(config: str, chart: Histogram) -> bytes:
    drawn = summaries(chart)
    ranges = [f"from {number(series.low)} to {number(series.high)}, median {number(series.median)}" for series in drawn]
    several = len(chart.series) > 1
    marks = [
        Markup('<g class="plot" transform="translate({} {}) scale({})">{}</g>').format(
            EDGE, HEAD, round(SCALE, 4), svg.columns(chart)
        )
    ]
    floor = HEAD + svg.HEIGHT * SCALE
    if several:
        for place, summary in enumerate(drawn):
            height = floor + 22 * place + 16
            series = list(chart.series).index(summary.name)
            text = f"{_cut(summary.name)}: {summary.n:,} {ranges[place]}"
            marks.append(
                Markup(
                    '<rect class="series-{}" x="{}" y="{}" width="14" height="14" rx="2"/><text x="{}" y="{}">{}</text>'
                ).format(series, EDGE, height - 7, EDGE + 22, height + 5, text)
            )
        floor += 22 * len(drawn) + 8
    total = sum(summary.n for summary in drawn)
    under = f"{config}: {total:,}" if several else f"{config}: {total:,} {ranges[0]}"
    return _page(chart.title, under, svg.described(chart), marks, floor + 10)


def _bars(config: str, chart: Bars) -> bytes:
    shown = list(chart.counts.items())
    if len(shown) > MOST_ROWS:
        kept = sorted(shown, key=lambda bar: -bar[1])[: MOST_ROWS - 1]
        rest = sum(chart.counts.values()) - sum(count for _, count in kept)
        shown = [*kept, (f"{len(chart.counts) - len(kept):,} others", rest)]
    total, most = sum(chart.counts.values()), max(count for _, count in shown)
    left, right = LABELS + EDGE, WIDTH - EDGE - NUMBERS
    marks = []
    for place, (name, count) in enumerate(shown):
        middle = HEAD + (place + 0.5) * ROW
        width = round(count / most * (right - left), 2)
        marks.append(
            Markup('<rect class="series-0" x="{}" y="{}" width="{}" height="16" rx="2"/>').format(
                left, middle - 8, max(1.0, width)
            )
            + _label(name, middle)
            + Markup('<text class="quiet" x="{}" y="{}">{}</text>').format(
                left + width + 8, middle + 5, f"{count:,} ({count / total:.0%})"
            )
        )
    description = f"Bars: {chart.title}, {total:,} in all"
    return _page(chart.title, f"{config}: {total:,}", description, marks, HEAD + len(shown) * ROW + 12)


def _page(title: str, under: str, description: str, marks: Sequence[Markup], height: float) -> bytes:
    page = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="{description}"><style>{style}</style>'
        '<rect width="100%" height="100%" fill="#ffffff"/>'
        '<text class="title" x="{edge}" y="26">{title}</text><text class="quiet" x="{edge}" y="45">{under}</text>'
        "{marks}</svg>\n"
    ).format(
        width=WIDTH,
        height=round(height),
        description=description,
        style=Markup(STYLE),  # noqa: S704 - ours
        edge=EDGE,
        title=_cut(title, TITLE_CHARACTERS),
        under=_cut(under, TITLE_CHARACTERS + LABEL_CHARACTERS),
        marks=Markup("").join(marks),
    )
    # Drop characters that XML forbids or that reverse the direction of text.
    return "".join(sign for sign in str(page) if sign.isprintable() or sign in " \n\u3000\u00a0").encode()


def _label(name: str, middle: float) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(LABELS + EDGE - 10, middle + 5, _cut(name))


def _cut(text: str, most: int = LABEL_CHARACTERS) -> str:
    plain = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-")[:LABEL_CHARACTERS] or "plot"
