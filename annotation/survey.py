"""The questionnaire for whoever has done a rubric's tasks. Its answers are about the work, and no part of the data."""

from collections import Counter
from collections.abc import Iterable
from statistics import fmean
from typing import NamedTuple

from annotation.latest import time_of
from annotation.review import derived_name
from annotation.wording import say
from schemas.annotation import Annotation
from schemas.base import key_of
from schemas.rubric import Rubric, Shown, Survey, Task, guideline_in

GUIDELINE = "guideline.survey.md"
ABOUT = "about"
NO_RECORD = "survey"


class SurveyAnswers(NamedTuple):
    """The answers to one question or box of a questionnaire."""

    question: str
    people: int
    mean: float | None
    """Of a scale, its options taken as 1, 2, ..."""
    counts: tuple[tuple[str, int], ...]
    """How many chose each option; empty for a box."""
    texts: tuple[tuple[str, str], ...]
    """(person's code, text) of a box."""


def survey_of(rubric: Rubric, survey: Survey) -> Rubric:
    """Return the rubric of a questionnaire on the work under a rubric."""
    return Rubric(
        name=derived_name(rubric.name, "-survey"),
        language=rubric.language,
        title=say(rubric.language, "Your view: {}", rubric.title or rubric.name),
        version=survey.version,
        guideline=guideline_in(rubric.language, GUIDELINE),
        shows=(Shown(name=ABOUT, title=say(rubric.language, "You have done all your tasks")),),
        asks=survey.asks,
        writes=survey.writes,
    )


def survey_task(form: Rubric, rubric: Rubric) -> Task:
    """Return the only task of a questionnaire; it is the same for everybody, each in a queue of their own."""
    return Task(
        key=key_of("task", form.name, NO_RECORD, None),
        rubric=form.name,
        version=form.version,
        item_id=NO_RECORD,
        item_key=NO_RECORD,
        item_view=NO_RECORD,
        language=form.language,
        shown={ABOUT: f"{rubric.title or rubric.name}\n\n{say(form.language, 'Please tell us how the work was.')}"},
    )


def survey_answers(form: Rubric, annotations: Iterable[Annotation]) -> list[SurveyAnswers]:
    """Return the answers to each question, box and the question to the engineer; each person's last counts.

    Of a question that was reworded since, without a new version, only answers that are still options count.
    """
    done = [work for work in annotations if work.version == form.version and not work.cancelled]
    last = {work.by: work for work in sorted(done, key=lambda work: time_of(work.at))}
    people = sorted(last.items())
    rows = []
    for ask in form.asks:
        answers = [work.answers.get(ask.name) for _, work in people]
        options = [answer for answer in answers if answer in ask.options]
        mean = fmean(ask.options.index(option) + 1 for option in options) if ask.ordered and options else None
        counts = Counter(options)
        rows.append(
            SurveyAnswers(ask.question, len(options), mean, tuple((name, counts[name]) for name in ask.options), ())
        )
    boxes = [(write.title, {by: work.answers.get(write.name, "") for by, work in people}) for write in form.writes]
    for title, by_person in [*boxes, ("Question to the engineer", {by: work.question for by, work in people})]:
        texts = tuple((by, text.strip()) for by, text in by_person.items() if text.strip())
        rows.append(SurveyAnswers(title, len(texts), None, (), texts))
    return [row for row in rows if row.people]
