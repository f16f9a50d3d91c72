"""Means with their intervals as inline SVG: a line for each condition and model, wide enough for a phone."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from flows.report.svg import Scale, drawing, line, text

WIDTH = 460
"""Drawn at about this many pixels, so that its letters are as large as the page's."""
LEFT, RIGHT, TOP, BOTTOM = 128, 62, 6, 40
STEP, GAP = 20, 12
"""Between the lines of a condition, and between conditions."""
LONGEST_LABEL = 20
COLOURS = 6
"""Classes c0 to c5 of the style sheet."""


@dataclass(frozen=True)
class Mark:
    """A mean, with its interval if there is one."""

    name: str
    """Of the model."""
    colour: int
    value: float
    low: float | None
    high: float | None
    shown: str


def whiskers(
    groups: Sequence[tuple[str, Sequence[Mark]]],
    ends: tuple[float, float],
    ticks: Sequence[tuple[float, str]],
    unit: str,
) -> Markup:
    """Return a drawing of the marks of each group, on a scale between `ends` that is called `unit`."""
    low, high = ends
    height = TOP + BOTTOM + sum(GAP + STEP * len(marks) for _, marks in groups)

    def x(value: float) -> float:
        inside = min(max(value, low), high)
        return round(LEFT + (inside - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    floor = height - BOTTOM
    drawn = [Markup('<line class="grid" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(x(at), TOP, floor)
             for at, _ in ticks]  # fmt: skip
    drawn += [text("tick", x(at), floor + 16, name) for at, name in ticks]
    drawn.append(text("unit", (LEFT + WIDTH - RIGHT) / 2, height - 5, unit))
    y = float(TOP)
    for label, marks in groups:
        y += GAP / 2
        drawn.append(text("label", LEFT - 10, y + STEP * len(marks) / 2 + 4, _short(label), "end"))
        for mark in marks:
            drawn.append(_drawn(mark, x, y + STEP / 2))
            y += STEP
        y += GAP / 2
    told = "; ".join(f"{label}: {mark.name} {mark.shown}" for label, marks in groups for mark in marks)
    return drawing(WIDTH, height, f"{unit}. {told}", [*drawn, line("axis", LEFT, WIDTH - RIGHT, floor, floor)], "marks")


def _drawn(mark: Mark, x: Scale, y: float) -> Markup:
    whisker = Markup("")
    if mark.low is not None and mark.high is not None:
        whisker = line("whisker", x(mark.low), x(mark.high), y, y)
    return Markup('<g class="c{}"><title>{}: {}</title>{}<circle cx="{}" cy="{}" r="4.5"/>{}</g>').format(
        mark.colour % COLOURS,
        mark.name,
        mark.shown,
        whisker,
        x(mark.value),
        y,
        text("value", WIDTH - RIGHT + 8, y + 4, mark.shown.partition(" (")[0], "start"),
    )


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
