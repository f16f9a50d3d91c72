"""How well people work: majorities, items with known answers, practice, suggestions left as they stood, figures."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from statistics import median

from pydantic import Field

from schemas.annotation import Annotation, Finding
from schemas.base import Frozen, content_hash, key_of
from schemas.rubric import Rubric, Shown, Task, Written

PRACTICE = "practice"
PRACTICE_TASKS = 5
FEEDBACK = "feedback"
NO_FEEDBACK = "It will stand here when you have answered, if your answer is not the right one."
LONGEST_NAME = 40
LEAST_KNOWN = 5
"""Known questions that a person answers before the share of right answers is held against them."""
MOST_MINUTES = 30.0
"""A task that stood open for longer was not being worked on all the time."""
UNCHANGED = "handed back as it stood"
WHY_UNCHANGED = Written(
    name="why_unchanged",
    title="Why a suggestion stays as it stood",
    hint="Only where you leave a suggestion as it is: why is it right?",
    note=True,
)
"""The box that a rubric has whose boxes hold suggestions."""


def majority(judgements: Iterable[Annotation], rubric: Rubric) -> dict[str, dict[str, str | None]]:
    """By task and question, the answer that most people gave; None where there is none yet.

    It was given by more than half of those who judged the task, and by more than half of the people whom
    the rubric asks for. Of two judgements of one person on one task the last counts.
    """
    given: dict[str, dict[str, Mapping[str, str]]] = defaultdict(dict)
    for judgement in judgements:
        given[judgement.task][judgement.by] = judgement.answers
    return {
        task: {ask.name: most([one[ask.name] for one in by.values() if ask.name in one], rubric) for ask in rubric.asks}
        for task, by in given.items()
    }


def most(answers: Sequence[str], rubric: Rubric) -> str | None:
    """The answer of more than half of those who answered and of the people whom the rubric asks for, or None."""
    counted = Counter(answers).most_common(1)
    enough = max(len(answers), rubric.people_per_item) / 2
    return counted[0][0] if counted and counted[0][1] > enough else None


class Known(Frozen):
    """How a person answered the questions whose answer is known."""

    right: int = 0
    answered: int = 0

    @property
    def share(self) -> float | None:
        """The share answered rightly; None before the first."""
        return self.right / self.answered if self.answered else None


def known_answers(tasks: Iterable[Task], judgements: Iterable[Annotation]) -> dict[str, Known]:
    """By person, how the known questions were answered; people who judged none are not in it.

    Of two judgements of one person on one task the last counts; a known question left open is wrong.
    """
    known = {task.id: task.known for task in tasks if task.known}
    right: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    last = {(one.by, one.task): one.answers for one in judgements if one.task in known}
    for (by, task), answers in last.items():
        for ask, answer in known[task].items():
            right[by] += answers.get(ask) == answer
            answered[by] += 1
    return {by: Known(right=right[by], answered=number) for by, number in answered.items()}


def set_aside(tasks: Iterable[Task], judgements: Iterable[Annotation], rubric: Rubric) -> frozenset[str]:
    """The people who answered fewer of the known questions rightly than the rubric asks for.

    Practice tasks do not count. Nobody is set aside before `LEAST_KNOWN` answers, for chance is too great.
    """
    known = known_answers((task for task in tasks if task.sample != PRACTICE), judgements)
    return frozenset(by for by, one in known.items() if one.answered >= LEAST_KNOWN and not _passes(one, rubric))


def _passes(known: Known, rubric: Rubric) -> bool:
    # Exact, for the bar is met by the very number: 9 of 10 are nine tenths.
    return known.right >= Fraction(str(rubric.pass_share)) * known.answered


def practice_of(known: Iterable[Task], rubric: Rubric, seed: int, size: int = PRACTICE_TASKS) -> list[Task]:
    """A practice set out of tasks with known answers, under keys of their own: each right answer in turn.

    The tasks it is made of are not to be used for validation as well: see `not_in`. There are fewer where
    not so many are known.
    """
    by_answer: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(known, key=lambda task: content_hash(seed, PRACTICE, task.key)):
        if task.known:
            by_answer[content_hash(dict(task.known))].append(task)
    in_turn = [task for row in zip_longest(*(by_answer[one] for one in sorted(by_answer))) for task in row if task]
    return [
        task.model_copy(update={"key": key_of("task", rubric.name, task.key, {"sample": PRACTICE}), "sample": PRACTICE})
        for task in in_turn[:size]
    ]


def not_in(practice: Iterable[Task], known: Iterable[Task]) -> list[Task]:
    """The tasks with known answers whose answers nobody was told in practice."""
    told = {task.id for task in practice}
    return [task for task in known if task.id not in told]


def practice_rubric(rubric: Rubric) -> Rubric:
    """The form of the practice set: the rubric's, with the feedback on the person's last answer above all else."""
    return rubric.model_copy(
        update={
            "name": named(rubric.name, "-practice"),
            "title": f"Practice: {rubric.title or rubric.name}",
            "shows": (Shown(name=FEEDBACK, title="Feedback on your last answer"), *rubric.shows),
            "listed": rubric.lists_by,
            "people_per_item": 1,
            "overlaps": False,
            "samples": (),
            "validation_share": 0.0,
            "pass_share": 0.0,
        }
    )


def practice_for(by: str, practice: Iterable[Task], annotations: Iterable[Annotation], rubric: Rubric) -> list[Task]:
    """A person's practice tasks as they stand: what was answered wrongly is shown again, with what is right and why."""
    last = _practised(by, annotations, rubric)
    form = practice_rubric(rubric)
    made = []
    for task in practice:
        given = last.get(task.key)
        told = feedback(task, given, rubric) if given is not None and _is_wrong(task, given) else NO_FEEDBACK
        shown = {FEEDBACK: told, **task.shown}
        made.append(task.revised(rubric=form.name, version=form.version, shown=shown))
    return made


def passed_practice(by: str, practice: Iterable[Task], annotations: Iterable[Annotation], rubric: Rubric) -> bool:
    """Whether a person has answered the whole practice set, and rightly so far as its answers are known.

    Who answered wrongly reads the feedback and answers again: of several annotations the last counts.
    """
    last = _practised(by, annotations, rubric)
    return all(task.key in last and not _is_wrong(task, last[task.key]) for task in practice)


def _practised(by: str, annotations: Iterable[Annotation], rubric: Rubric) -> dict[str, Annotation]:
    """A person's last answer to each practice task, by the task's key, whatever feedback stood there."""
    form = practice_rubric(rubric).name
    given = [one for one in annotations if one.by == by and one.rubric == form and not one.cancelled]
    return {one.key: one for one in sorted(given, key=lambda one: (one.at, one.source))}


def _is_wrong(task: Task, annotation: Annotation) -> bool:
    return any(annotation.answers.get(ask) != answer for ask, answer in task.known.items())


def feedback(task: Task, annotation: Annotation, rubric: Rubric) -> str:
    """What a person is told after a practice task: each answer beside the known one, and why that is right."""
    lines = []
    for ask in rubric.asks:
        if ask.name in task.known:
            answer, right = annotation.answers.get(ask.name, "nothing"), task.known[ask.name]
            said = f"{answer} is right." if answer == right else f"you chose {answer}; the right answer is {right}."
            lines.append(f"{ask.question} {said[0].upper()}{said[1:]}")
    return "\n".join([*lines, f"Why: {task.why}"] if task.why else lines)


def unchanged(task: Task, annotation: Annotation, rubric: Rubric) -> tuple[str, ...]:
    """The suggestions that were handed back as they stood. A text of the record that stays is none."""
    return tuple(
        write.name
        for write in rubric.writes
        if write.name in task.suggested
        and task.drafts.get(write.name, "").strip()
        and (write.name in annotation.untouched or _same(task.drafts[write.name], annotation.answers.get(write.name)))
    )


def unconfirmed(task: Task, annotation: Annotation, rubric: Rubric) -> list[Finding]:
    """Suggestions handed back as they stood, without a word on why: they go back for the author to confirm."""
    if annotation.answers.get(WHY_UNCHANGED.name, "").strip():
        return []
    return [Finding(name=name, problem=UNCHANGED, rejects=True) for name in unchanged(task, annotation, rubric)]


def _same(draft: str, text: str | None) -> bool:
    return text is not None and " ".join(draft.split()) == " ".join(text.split())


class Figures(Frozen):
    """How one person's work on one rubric stands."""

    by: str
    done: int = Field(description="Tasks of the person's queue that were handed in")
    left: int
    minutes: float | None = Field(description="Median minutes an item, each at most `MOST_MINUTES`")
    returned: int = Field(description="Pieces of work that a reviewer or a check sent back, or a reviewer accepted")
    rejected: float | None = Field(description="Share of those that was sent back; None where nothing came back yet")
    known: Known = Field(description="Questions whose answer is known, practice apart")
    validation_share: float | None = Field(description="Share of the queue whose answer is known, practice apart")
    unchanged: int = Field(description="Suggestions handed back as they stood, confirmed or not")


def figures(
    queues: Mapping[str, Sequence[Task]],
    annotations: Sequence[Annotation],
    rubric: Rubric,
    sent_back: Collection[tuple[str, str]] = (),
    accepted: Collection[tuple[str, str]] = (),
) -> list[Figures]:
    """Each person's figures, by code. `annotations` are those that count; `sent_back` and `accepted` name
    reviewed work by (task's key, author's code)."""
    tasks = {task.id: task for queue in queues.values() for task in queue}
    by_person: dict[str, dict[str, Annotation]] = defaultdict(dict)
    for one in annotations:
        by_person[one.by][one.task] = one
    known = known_answers((task for task in tasks.values() if task.sample != PRACTICE), annotations)
    result = []
    for by in sorted({*queues, *by_person}):
        queue, given = queues.get(by, ()), by_person[by]
        real = [task for task in queue if task.sample != PRACTICE]
        back, good = (sum(author == by for _, author in work) for work in (sent_back, accepted))
        minutes = [min(one.seconds / 60, MOST_MINUTES) for one in given.values() if one.seconds]
        result.append(
            Figures(
                by=by,
                done=sum(task.id in given for task in queue),
                left=sum(task.id not in given for task in queue),
                minutes=median(minutes) if minutes else None,
                returned=back + good,
                rejected=back / (back + good) if back + good else None,
                known=known.get(by, Known()),
                validation_share=sum(bool(task.known) for task in real) / len(real) if real else None,
                unchanged=sum(
                    len(unchanged(tasks[one.task], one, rubric)) for one in given.values() if one.task in tasks
                ),
            )
        )
    return result


def named(name: str, what: str) -> str:
    """The rubric's name with `what` after it, cut to the longest that a name may be and still its own."""
    if len(name) + len(what) <= LONGEST_NAME:
        return name + what
    mark = f"-{content_hash(name)[:6]}"
    return name[: LONGEST_NAME - len(what) - len(mark)].rstrip("-") + mark + what
