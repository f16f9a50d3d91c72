"""The page on people's work: by rubric who has done what, how far they agree, what does not count and why, verdicts.

People stand on it by their codes. What they ask the engineer is shown as they wrote it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.store import Store
from flows.annotate.progress import Standing
from flows.annotate.work import Collected
from flows.project.output_files import PEOPLE_REPORT
from flows.project.project import Project
from flows.report.template import style, template
from schemas.annotation import Agreement, Annotation, Comparison, Means

TEMPLATE = Path(__file__).parent / "report.html.j2"
NOTHING = "–"
LEGEND = (
    "rejected: of the work that came back, what a reviewer or a check sent back; known right: of the questions whose "
    "answer is known, those answered so; agrees: of the answers that others gave too, those that are the same; "
    "as suggested: a program's suggestions that were handed in unchanged"
)
"""What the columns of figures mean."""
CHANGED = "changed"
"""Said of a queue in which somebody worked since the last pull."""


@dataclass(frozen=True)
class RubricView:
    """A rubric's work as it is shown."""

    name: str
    title: str
    version: int
    records: str
    """Where its records are from, with their number: `uraq-items 400`."""
    columns: tuple[str, ...]
    people: Sequence[tuple[str, ...]]
    states: str
    verdicts: str
    agreement: Sequence[tuple[str, ...]]
    rated: Sequence[tuple[str, ...]]
    """What people gave on scales, a line a sample, under `scales`."""
    scales: tuple[str, ...]
    compared: Sequence[tuple[str, ...]]
    apart: Sequence[tuple[str, ...]]
    questions: Sequence[Annotation]
    notes: Sequence[str]


def write_annotation(project: Project, collected: Sequence[Collected], standings: Sequence[Standing]) -> Path:
    """Write `annotation.html` into the build's output folder."""
    page = template(TEMPLATE).render(
        title=project.config.name,
        legend=LEGEND,
        style=style(),
        rubrics=[
            _view(
                one,
                [line for line in standings if line.work == one.rubric],
                one.agreement(project.config.seed),
                one.compared(project.config.seed),
            )
            for one in collected
        ],
    )
    path = project.out / PEOPLE_REPORT
    Store(str(project.out)).write(str(path.resolve()), page.encode())
    return path


def figures_of(one: Standing) -> Mapping[str, str | int]:
    """One person's figures on one form, by what they are called in tables."""
    return {
        "rubric": one.work,
        "form": one.form,
        "person": one.by,
        "done": one.done,
        "left": one.left,
        "minutes an item": NOTHING if one.minutes is None else f"{one.minutes:.1f}",
        "rejected": NOTHING if one.rejected is None else f"{one.rejected:.0%} of {one.returned}",
        "known right": NOTHING if one.known.share is None else f"{one.known.share:.0%} of {one.known.answered}",
        "agrees": NOTHING if one.agreement is None else f"{one.agreement:.0%}",
        "as suggested": one.unchanged,
        "note": ", ".join([*(["set aside"] if one.aside else []), *([CHANGED] if one.changed else [])]),
    }


def agreed(rows: Sequence[Agreement]) -> list[str]:
    """How far people agree, a line a question; of texts, for which there is one measure, all in one line.

    Where nothing is to be told of any question, one line says why.
    """
    if not any(row.value is not None for row in rows):
        return list(dict.fromkeys(row.reason for row in rows))[:1]
    lines: dict[tuple[str, ...], list[Agreement]] = {}
    measures = Counter(row.question for row in rows)
    for row in rows:
        alone = measures[row.question] == 1
        lines.setdefault((row.measure, str(row.items)) if alone else (row.question, str(row.items)), []).append(row)
    told = []
    for (head, items), found in lines.items():
        alone = measures[found[0].question] == 1
        values = [
            f"{row.question if alone else row.measure} {NOTHING if row.value is None else f'{row.value:.2f}'}"
            for row in found
        ]
        told.append(f"{head} ({items} items): {', '.join(values)}")
    return told


def averaged(rows: Sequence[Means]) -> list[str]:
    """What people gave on scales, a line a sample."""
    return [
        f"{_of(row.sample)}({row.items} items, {len(row.people)} people): "
        + ", ".join(f"{question} {value:.2f}" for question, value in row.means.items())
        for row in rows
    ]


def likened(rows: Sequence[Comparison]) -> list[str]:
    """How far programs agree with the mean of people, and people among themselves: a line for each on each sample."""
    people = {(row.sample, row.question): set(row.people) for row in rows if row.program}
    for row in rows:
        people[row.sample, row.question] = people.get((row.sample, row.question), set()) | set(row.people)
    lines: dict[tuple[str, str, str, int], list[Comparison]] = {}
    for row in rows:
        if not row.program or set(row.people) == people[row.sample, row.question]:
            lines.setdefault((row.sample, row.question, _between(row), row.items), []).append(row)
    return [
        f"{_of(sample)}{question}: {between} ({items} items): "
        + ", ".join(f"{row.measure} {NOTHING if row.value is None else f'{row.value:.2f}'}" for row in found)
        for (sample, question, between, items), found in lines.items()
    ]


def _of(sample: str) -> str:
    return f"{sample} " if sample else ""


def _between(row: Comparison) -> str:
    """Whose ratings are compared."""
    if not row.program:
        return "people among themselves"
    return f"{row.program} and {'the mean of ' if len(row.people) > 1 else ''}{', '.join(row.people) or 'people'}"


def _view(
    one: Collected, standings: Sequence[Standing], agreement: Sequence[Agreement], likened: Sequence[Comparison]
) -> RubricView:
    lines = [figures_of(line) for line in standings]
    columns = tuple(name for name in (lines[0] if lines else ()) if name != "rubric")
    apart: dict[str, Counter[str]] = {}
    for unused in (*one.apart, *one.settlement.apart):
        apart.setdefault(unused.reason, Counter())[unused.by] += 1
    records = Counter(one.work.parts.values())
    scales = tuple(ask.name for ask in one.work.rubric.asks if ask.ordered)
    return RubricView(
        name=one.rubric,
        title=one.work.rubric.title or one.rubric,
        version=one.work.rubric.version,
        records=", ".join(f"{part} {number:,}" for part, number in sorted(records.items())),
        columns=columns,
        people=[tuple(str(line[name]) for name in columns) for line in lines],
        states=counted(outcome.state for outcome in one.settlement.outcomes),
        verdicts=decided(one),
        agreement=[_agreement(row) for row in agreement],
        rated=[
            (
                row.sample or "all",
                *(f"{row.means[name]:.2f}" if name in row.means else NOTHING for name in scales),
                f"{row.items:,}",
                ", ".join(row.people),
            )
            for row in one.means()
        ],
        scales=scales,
        compared=[(row.sample or "all", _between(row), *_agreement(row)) for row in likened],
        apart=[
            (reason, f"{people.total():,}", ", ".join(f"{by} {number:,}" for by, number in sorted(people.items())))
            for reason, people in sorted(apart.items())
        ],
        questions=one.questions,
        notes=[*one.notes, *_aside(one)],
    )


def decided(one: Collected) -> str:
    """The verdicts, counted."""
    if not one.work.rubric.decides:
        return "none, for ratings decide nothing"
    return counted(verdict.decision for verdict in one.settlement.verdicts) or "none yet"


def counted(names: Iterable[str]) -> str:
    """`3 accept, 1 reject`."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(Counter(names).items()))


def _aside(one: Collected) -> list[str]:
    if not one.aside:
        return []
    return [f"{', '.join(sorted(one.aside))} answered too few of the known questions rightly: what they judged goes "
            "out again"]  # fmt: skip


def _agreement(row: Agreement) -> tuple[str, ...]:
    value = NOTHING if row.value is None else f"{row.value:.2f}"
    interval = NOTHING if row.low is None or row.high is None else f"{row.low:.2f} to {row.high:.2f}"
    return row.question, row.measure, value, interval, f"{row.items:,}", ", ".join(row.people) or NOTHING, row.reason
