"""The practice set that a person completes before any real task, with feedback on wrong answers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from annotation.review import same_form
from annotation.wording import say
from schemas.annotation import Annotation
from schemas.base import content_hash, key_of
from schemas.rubric import Choice, Rubric, Shown, Task

PRACTICE = "practice"
PRACTICE_TASKS = 5
FEEDBACK = "feedback"
NO_FEEDBACK = "If your answer is wrong, you will find the right one here afterwards."


def practice_of(gold: Iterable[Task], rubric: Rubric, seed: int) -> list[Task]:
    """Return a practice set made of gold tasks, under keys of its own, with the different right answers in turn.

    It is smaller than `PRACTICE_TASKS` if there are fewer gold tasks. Do not use its tasks as gold tasks too: see
    `not_practised`.
    """
    by_answer: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(gold, key=lambda task: content_hash(seed, PRACTICE, task.key)):
        if task.right_answers:
            by_answer[content_hash(dict(task.right_answers))].append(task)
    rounds = zip_longest(*(by_answer[answer] for answer in sorted(by_answer)))
    in_turn = [task for tasks in rounds for task in tasks if task]
    return [
        task.model_copy(update={"key": key_of("task", rubric.name, task.key, {"sample": PRACTICE}), "sample": PRACTICE})
        for task in in_turn[:PRACTICE_TASKS]
    ]


def not_practised(practice: Iterable[Task], gold: Iterable[Task]) -> list[Task]:
    """Return the gold tasks whose answers the practice set does not reveal."""
    revealed = {task.id for task in practice}
    return [task for task in gold if task.id not in revealed]


def practice_rubric(rubric: Rubric) -> Rubric:
    """Return the form of the practice set: the rubric's, with the feedback on the last answer at the top."""
    title = say(rubric.language, "Feedback on your last answer")
    return same_form(rubric, "-practice", "Practice: {}", Shown(name=FEEDBACK, title=title))


def practice_for(by: str, practice: Iterable[Task], annotations: Iterable[Annotation], rubric: Rubric) -> list[Task]:
    """Return a person's practice tasks; those answered wrongly come again with the right answer and the reason.

    One that was answered rightly in the end stays as it was then: as another task, the answer would be to one that is
    no longer asked. The feedback is in the language of the rubric.
    """
    form, practice = practice_rubric(rubric), list(practice)
    by_key = {task.key: task for task in practice}
    wrong = [work for work in annotations if work.key in by_key and _is_wrong(by_key[work.key], work, rubric)]
    last = _last_answers(by, wrong, rubric)
    tasks = []
    for task in practice:
        told = last.get(task.key)
        text = say(rubric.language, NO_FEEDBACK) if told is None else feedback(task, told, rubric)
        tasks.append(task.revised(rubric=form.name, version=form.version, shown={FEEDBACK: text, **task.shown}))
    return tasks


def practice_left(by: str, practice: Sequence[Task], annotations: Iterable[Annotation], rubric: Rubric) -> list[Task]:
    """Return the practice tasks that a person has yet to answer rightly; an answer in another language counts."""
    last = _last_answers(by, annotations, rubric)
    left = _left(practice, last, rubric)
    return [task for task in practice_for(by, practice, last.values(), rubric) if task.key in left]


def passed_practice(by: str, practice: Sequence[Task], annotations: Iterable[Annotation], rubric: Rubric) -> bool:
    """Return whether a person's last answer to each practice task is right; on a scale, a neighbour is right too."""
    return not _left(practice, _last_answers(by, annotations, rubric), rubric)


def _left(practice: Iterable[Task], last: Mapping[str, Annotation], rubric: Rubric) -> set[str]:
    """Return the keys of the practice tasks whose last answers are not right, or that have none."""
    return {task.key for task in practice if task.key not in last or _is_wrong(task, last[task.key], rubric)}


def failed_practice(by: str, practice: Iterable[Task], annotations: Iterable[Annotation], rubric: Rubric) -> bool:
    """Return whether a person answered a practice task wrongly again after being told what is right, and why."""
    form, tasks = practice_rubric(rubric).name, {task.key: task for task in practice}
    wrong: dict[str, set[str]] = defaultdict(set)
    for answer in annotations:
        is_practice = answer.by == by and answer.rubric == form and not answer.cancelled and answer.key in tasks
        if is_practice and _is_wrong(tasks[answer.key], answer, rubric):
            wrong[answer.key].add(answer.task)  # with what is told, it is another task
    return any(len(tries) > 1 for tries in wrong.values())


def _last_answers(by: str, annotations: Iterable[Annotation], rubric: Rubric) -> dict[str, Annotation]:
    """Return a person's last answer to each practice task, by the task's key."""
    form = practice_rubric(rubric).name
    answers = [answer for answer in annotations if answer.by == by and answer.rubric == form and not answer.cancelled]
    return {answer.key: answer for answer in sorted(answers, key=lambda answer: (answer.at, answer.source))}


def _is_wrong(task: Task, annotation: Annotation, rubric: Rubric) -> bool:
    return any(
        annotation.answers.get(ask.name) not in _right_options(ask, task.right_answers[ask.name])
        for ask in rubric.asks
        if ask.name in task.right_answers
    )


def _right_options(ask: Choice, right: str) -> tuple[str, ...]:
    """Return the options that are right: on a scale, where no two people agree on every point, also the neighbours."""
    if not ask.ordered:
        return (right,)
    place = ask.options.index(right)
    return ask.options[max(0, place - 1) : place + 2]


def feedback(task: Task, annotation: Annotation, rubric: Rubric) -> str:
    """Return each answer beside the right one, and the reason."""
    lines, language = [], rubric.language
    for ask in rubric.asks:
        if ask.name in task.right_answers:
            answer, correct = annotation.answers.get(ask.name, ""), task.right_answers[ask.name]
            shown = ask.label(answer), ask.label(correct)
            if answer == correct:
                text = say(language, "Your answer “{}” is correct.", shown[0])
            elif answer in _right_options(ask, correct):
                text = say(language, "Your answer “{}” is near enough to “{}”.", *shown)
            elif answer:
                text = say(language, "Your answer was “{}”. The correct answer is “{}”.", *shown)
            else:
                text = say(language, "You gave no answer. The correct answer is “{}”.", shown[1])
            lines.append(say(language, "{} {}", ask.question, text))
    return "\n".join([*lines, say(language, "Why: {}", task.why)] if task.why else lines)
