"""People's work for a reader: lines for the terminal, rows for artifacts, and the page `annotation.html`.

People appear by their codes. Their questions to the engineer are shown as they wrote them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from annotation.adjudicate import nameless
from annotation.label_studio.task_data import listed
from annotation.survey import survey_answers
from data.whole_file import write_whole
from flows.annotate.guidelines import EXAMPLE
from flows.annotate.progress import QueueProgress
from flows.annotate.work import Collected, read_annotations
from flows.project.output_files import PEOPLE_REPORT
from flows.project.project import Project
from flows.report.template import style, template
from schemas.annotation import Agreement, Annotation, Comparison, Means
from schemas.base import counted
from schemas.rubric import ENGLISH

TEMPLATE = Path(__file__).parent / "report.html.j2"
NOTHING = "–"
SURE = 0.9
"""A verdict of a lower probability is worth another look."""
MOST_DIFFERENCES = 200
"""The page shows this many of the tasks on which people differ, and the number of the others."""
SHORTEST = 0.1
"""Fewer minutes are not told apart."""
LEGEND = (
    "rejected: share of the returned work that a reviewer or a check sent back; known right: share of the gold "
    "questions answered correctly; agrees: share of the answers that others gave too and that are the same; "
    "as suggested: a program's suggestions that were submitted unchanged; new: submitted since the last pull, and not "
    "yet counted as done; to do again: changed after the person did it; no longer asked: done, and then withdrawn"
)
"""The meaning of the columns."""
CHANGED = "changed"
"""The note on a queue that was changed since the last pull."""


def write_annotation(project: Project, collected: Sequence[Collected], progress: Sequence[QueueProgress]) -> Path:
    """Write `annotation.html` into the build's output folder."""
    views = [
        {**_view(work, [line for line in progress if line.work == work.rubric], project.config.seed),
         "survey": _survey_cells(project, work)}
        for work in collected
    ]  # fmt: skip
    page = template(TEMPLATE).render(title=project.config.name, legend=LEGEND, style=style(), rubrics=views)
    path = project.out / PEOPLE_REPORT
    write_whole(path, page.encode())
    return path


def progress_row(line: QueueProgress) -> Mapping[str, str | int]:
    """Return one person's progress on one form, by the names of the tables' columns."""
    return {
        "rubric": line.work,
        "form": line.form,
        "person": line.by,
        "done": line.done,
        "left": line.left,
        "minutes an item": minutes_text(line.minutes),
        "rejected": NOTHING if line.rejected is None else f"{line.rejected:.0%} of {line.returned}",
        "known right": NOTHING if line.gold.share is None else f"{line.gold.share:.0%} of {line.gold.answered}",
        "agrees": NOTHING if line.agreement is None else f"{line.agreement:.0%}",
        "as suggested": line.unchanged,
        "note": ", ".join([*(["suspended"] if line.suspended else []), *_news(line)]),
    }


def outdated_notes(line: QueueProgress) -> list[str]:
    """Return how many of a person's tasks are to be done again, and how many are no longer asked."""
    return [
        f"{number:,} {what}"
        for number, what in ((line.changed_since, "to do again"), (line.no_longer_asked, "no longer asked"))
        if number
    ]


def _news(line: QueueProgress) -> list[str]:
    outdated = outdated_notes(line)
    if line.to_pull:
        return [*outdated, f"{line.to_pull:,} new"]
    return [*outdated, CHANGED] if line.changed else outdated


def agreement_lines(rows: Sequence[Agreement]) -> list[str]:
    """Return people's agreement, a line per question; questions with a single measure share a line.

    If no question has a value, one line says why.
    """
    if not any(row.value is not None for row in rows):
        return list(dict.fromkeys(row.reason for row in rows))[:1]
    measures = Counter(row.question for row in rows)
    lines: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        head, name = (row.measure, row.question) if measures[row.question] == 1 else (row.question, row.measure)
        lines.setdefault((head, row.items), []).append(f"{name} {_decimals(row.value)}")
    return [f"{head} ({counted(items, 'item')}): {', '.join(values)}" for (head, items), values in lines.items()]


def reliability_lines(collected: Collected) -> list[str]:
    """Return how probably each person decides rightly, and how sure the verdicts are; none if it is unknown."""
    if collected.reliabilities is None:
        return []
    people = collected.reliabilities.people.values()
    lines = [f"decides rightly: {', '.join(f'{person.by} {person.right:.0%}' for person in people)}"]
    sure = [verdict.posterior for verdict in collected.settlement.verdicts if verdict.posterior is not None]
    if sure:
        unsure = sum(posterior < SURE for posterior in sure)
        lines.append(f"verdicts: right with a probability of {fmean(sure):.0%} on average, {unsure:,} under {SURE:.0%}")
    return lines


def mean_lines(rows: Sequence[Means]) -> list[str]:
    """Return people's mean ratings, a line per sample."""
    return [
        f"{_prefix(row.sample)}({counted(row.items, 'item')}, {counted(len(row.people), 'person', 'people')}): "
        + ", ".join(f"{question} {value:.2f}" for question, value in row.means.items())
        for row in rows
    ]


def comparison_lines(rows: Sequence[Comparison]) -> list[str]:
    """Return, for each sample, how far programs agree with the mean of people, and people with each other."""
    people: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        people.setdefault((row.sample, row.question), set()).update(row.people)
    lines: dict[str, list[str]] = {}
    for row in rows:
        if not row.program or set(row.people) == people[row.sample, row.question]:
            head = f"{_prefix(row.sample)}{row.question}: {_compared(row)} ({counted(row.items, 'item')})"
            lines.setdefault(head, []).append(f"{row.measure} {_decimals(row.value)}")
    return [f"{head}: {', '.join(values)}" for head, values in lines.items()]


def verdict_counts(collected: Collected) -> str:
    """Return the number of verdicts by decision."""
    if not collected.work.rubric.decides:
        return "none; ratings decide nothing"
    return counts(verdict.decision for verdict in collected.settlement.verdicts) or "none yet"


def state_counts(collected: Collected) -> str:
    """Return the number of tasks by state."""
    return counts(outcome.state for outcome in collected.settlement.outcomes) or "none"


def excluded_counts(collected: Collected) -> list[tuple[str, str, str]]:
    """Return each reason for exclusion, the number of annotations, and how many are whose."""
    people: dict[str, Counter[str]] = {}
    for annotation in collected.excluded:
        people.setdefault(annotation.reason, Counter())[annotation.by] += 1
    return [
        (reason, f"{by.total():,}", ", ".join(f"{code} {number:,}" for code, number in sorted(by.items())))
        for reason, by in sorted(people.items())
    ]


def notes_of(collected: Collected) -> list[str]:
    """Return what a reader should know: what somebody did by hand, who is suspended, and where people differ."""
    notes = list(collected.notes)
    if collected.suspended:
        people = ", ".join(sorted(collected.suspended))
        notes.append(
            f"{people}: suspended, with too few gold questions answered correctly; what they judged goes out again"
        )
    if differing := collected.disagreements:
        decided = sum(one.decided is not None for one in differing)
        of_which = f", of which {decided:,} {'is' if decided == 1 else 'are'} decided" if decided else ""
        notes.append(f"people differ on {counted(len(differing), 'task')}{of_which}")
    return notes


def question_line(asked: Annotation) -> str:
    """Return a person's question to the engineer, with what it is about."""
    return f"{asked.by} asks about {asked_about(asked)}: {asked.question}"


def asked_about(asked: Annotation) -> str:
    """Return the key of the record that a question is about; worked examples, on which people practise, are none."""
    return f"an example of {asked.rubric}" if asked.item == EXAMPLE else asked.item or asked.key


def counts(names: Iterable[str]) -> str:
    """Return how often each name occurs: `3 accept, 1 reject`."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(Counter(names).items()))


def minutes_text(minutes: float | None) -> str:
    """Return minutes with one decimal."""
    if minutes is None:
        return NOTHING
    return f"{minutes:.1f}" if minutes >= SHORTEST else f"under {SHORTEST}"


def _decimals(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _prefix(sample: str) -> str:
    return f"{sample} " if sample else ""


def _compared(row: Comparison) -> str:
    """Return whose ratings are compared."""
    if not row.program:
        return "people among themselves"
    return f"{row.program} and {'the mean of ' if len(row.people) > 1 else ''}{', '.join(row.people) or 'people'}"


def _view(collected: Collected, progress: Sequence[QueueProgress], seed: int) -> Mapping[str, object]:
    """Return a rubric's work as the page's template takes it; mean ratings have a line for each sample."""
    rubric = collected.work.rubric
    rows = [progress_row(line) for line in progress]
    columns = tuple(name for name in (rows[0] if rows else ()) if name != "rubric")
    scales = tuple(ask.name for ask in rubric.asks if ask.ordered)
    parts = sorted(collected.work.sizes.items())
    agreement = collected.agreement(seed)
    return {
        "name": rubric.name,
        "title": rubric.title or rubric.name,
        "version": rubric.version,
        "records": ", ".join(f"{part} {number:,}" for part, number in parts),
        "columns": columns,
        "people": [tuple(str(row[name]) for name in columns) for row in rows],
        "states": state_counts(collected),
        "verdicts": verdict_counts(collected),
        "reliability": reliability_lines(collected),
        "agreement": [agreement_cells(row) for row in agreement if row.items],
        "not_agreed": "; ".join(agreement_lines([row for row in agreement if not row.items])),
        "rated": [_mean_cells(row, scales) for row in collected.means()],
        "scales": scales,
        "compared": [(row.sample or "all", _compared(row), *agreement_cells(row)) for row in collected.compared(seed)],
        "more_differences": max(0, len(collected.disagreements) - MOST_DIFFERENCES),
        "differences": _differences(collected, {key: url for line in progress for key, url in line.links.items()}),
        "excluded": excluded_counts(collected),
        "questions": [(asked.by, asked_about(asked), asked.question) for asked in collected.questions],
        "notes": notes_of(collected),
    }


def _survey_cells(project: Project, collected: Collected) -> list[tuple[str, str, str, str]]:
    """Return the answers to the rubric's questionnaire: question, people, mean, and answers; each text has a line."""
    form = collected.work.survey
    if form is None:
        return []
    cells = []
    for row in survey_answers(form, read_annotations(project, form.name)):
        counts = ", ".join(f"{option} {number:,}" for option, number in row.counts)
        if counts:
            cells.append((row.question, f"{row.people:,}", "" if row.mean is None else _decimals(row.mean), counts))
        cells += [(row.question, by, "", text) for by, text in row.texts]
    return cells


def _differences(collected: Collected, links: Mapping[str, str]) -> list[Mapping[str, object]]:
    """Return where people differ, as the page's template takes it: the first are those that it is worth most to decide.

    `links` has the address of the task of deciding, by its key.
    """
    return [
        {
            "worth": f"{collected.worth(one):.2f}" if one.decided is None else NOTHING,
            "about": listed(one.task.shown[collected.work.rubric.lists_by]),
            "record": one.task.item_key,
            "stands": collected.decisions.get(one.task.key, "undecided"),
            "decided": one.decided,
            "people": nameless(len(one.decisions), ENGLISH),
            "answers": one.asked.compared,
            "url": links.get(one.asked.key, ""),
        }
        for one in collected.disagreements[:MOST_DIFFERENCES]
    ]


def _mean_cells(row: Means, scales: Sequence[str]) -> tuple[str, ...]:
    means = (_decimals(row.means.get(name)) for name in scales)
    return row.sample or "all", *means, f"{row.items:,}", ", ".join(row.people)


def agreement_cells(row: Agreement) -> tuple[str, ...]:
    """Return question, measure, value, interval, items, people, and why there is no value."""
    interval = NOTHING if row.low is None or row.high is None else f"{row.low:.2f} to {row.high:.2f}"
    people = ", ".join(row.people) or NOTHING
    return row.question, row.measure, _decimals(row.value), interval, f"{row.items:,}", people, row.reason
