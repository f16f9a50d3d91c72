"""The hours that people worked, by week, for whoever pays them."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import NamedTuple

from annotation.latest import time_of
from data.whole_file import write_whole
from flows.annotate.work import APART, whole_lines
from flows.project.project import Project
from schemas.annotation import Annotation

HOURS = "annotations/hours.csv"


class Hours(NamedTuple):
    """A person's work on one form in one week."""

    person: str
    week: str
    """ISO 8601, of the time in UTC: 2026-W48."""
    form: str
    submissions: int
    """Skipped tasks, practice, and what did not count in the end are among them: it was work too. What could not be
    read, or was taken back, is not."""
    hours: float
    longest_minutes: float
    """The longest submission: a form that was left open counts as long as it was open."""


def hours_of(annotations: Iterable[Annotation]) -> Iterator[Hours]:
    """Yield the hours in the order of people, weeks and forms."""
    seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for annotation in annotations:
        year, week, _ = time_of(annotation.at).astimezone(UTC).isocalendar()
        seconds[annotation.by, f"{year}-W{week:02}", annotation.rubric].append(annotation.seconds)
    for (person, of_week, form), took in sorted(seconds.items()):
        yield Hours(person, of_week, form, len(took), round(sum(took) / 3600, 2), round(max(took) / 60, 1))


def write_hours(project: Project) -> None:
    """Write `annotations/hours.csv` from all that was pulled, also for forms that the build no longer has.

    A pull has written the files of the build's forms anew; in others, lines that are no annotations do not count.
    """
    files = sorted(path for path in (project.out / "annotations").glob("*.jsonl") if not path.stem.endswith(APART))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(Hours._fields)
    table.writerows(hours_of(work for path in files for work in whole_lines(path.read_bytes(), Annotation)))
    write_whole(project.out / HOURS, text.getvalue().encode())
