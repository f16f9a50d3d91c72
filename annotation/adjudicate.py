"""Adjudication: tasks that people answered differently go to somebody else, who decides.

The rubric for it is made from theirs, so every form, check and queue works for it too. Whoever decides sees what each
person answered, side by side, and not who it was. The decision is about the record: it stands as long as the record is
shown unchanged, whatever people answer later.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from annotation.review import derived_key, labels_in, parts_of, record_text, same_form, text_of
from annotation.verdicts import Course, changes_of, trimmed
from annotation.wording import say
from schemas.annotation import Annotation
from schemas.base import key_of
from schemas.rubric import Choice, Compared, Rubric, Task, Written, guideline_in
from schemas.verdict import Decision

GUIDELINE = "guideline.adjudication.md"
USE, WHY = "use_as", "why_decided"
NOTHING, KNOWN_ANSWER, WORKED_EXAMPLE = "nothing", "a known answer", "a worked example"
ASKED = "People answered this differently. Decide what is right; it may be the answer of none of them."
AGAIN = "A decision on this does not count, for the reasons below. Its texts are in the boxes: correct them and submit."
UNCHANGED = "(not changed)"
KNOWN, EXAMPLE = "known", "example"


class Disagreement(NamedTuple):
    """A task that people answered differently, or that somebody else decided since they did."""

    task: Task
    asked: Task
    """The task of whoever decides; `compared` has the answers of those who finished, side by side."""
    people: tuple[str, ...]
    """The codes of all who answered."""
    decisions: tuple[Decision, ...]
    """The decisions of those who finished, in the order of `compared`."""
    decided: Course | None
    """The decision of somebody else, if there is one that counts."""


def adjudication_of(rubric: Rubric) -> Rubric:
    """Return the rubric for deciding where people differ: theirs, with what else the decision is good for."""
    form, in_words = same_form(rubric, "-adjudication", "People disagree: {}"), partial(say, rubric.language)
    use = Choice(
        name=USE,
        question=in_words("Use it also as"),
        options=(NOTHING, KNOWN_ANSWER, WORKED_EXAMPLE),
        labels=labels_in(rubric, NOTHING, KNOWN_ANSWER, WORKED_EXAMPLE),
    )
    why = Written(
        name=WHY,
        title=in_words("Why"),
        hint=in_words("Why this is right. It goes with a known answer or example."),
        note=True,
    )
    texts = tuple(write for write in rubric.writes if write.corrects or not write.note)
    more = {
        "guideline": guideline_in(rubric.language, GUIDELINE),
        "asks": (*rubric.asks, use),
        "writes": (*texts, why),
        "for_all": "",
    }
    return form.model_copy(update=more)


def adjudication_task(rubric: Rubric, form: Rubric, task: Task, courses: Sequence[Course]) -> Task:
    """Return the task of deciding; its id depends on the record alone, its key on the task's.

    Its boxes have the record's own texts; where it has none, the first person's.
    """
    drafts = {}
    for part in form.writes:
        texts = [text_of(course.work, part, task) for course in courses]
        if text := record_text(task, part.name) if part.corrects else next(filter(None, texts), ""):
            drafts[part.name] = text
    return Task(
        key=adjudication_key(form, task),
        rubric=form.name,
        version=form.version,
        item_id=task.item_id,
        item_key=task.item_key,
        item_view=task.item_view,
        language=task.language,
        shown=task.shown,
        drafts=drafts,
        compared=tuple(_compared(rubric.in_language(task.language), task, [course.work for course in courses])),
    )


def decided_again(asked: Task, form: Rubric, work: Annotation, problems: Iterable[str], language: str) -> Task:
    """Return the task of deciding after checks refused a decision: with the reasons, and its texts in the boxes."""
    texts = {write.name: text for write in form.writes if (text := work.answers.get(write.name, ""))}
    news = "\n".join([say(language, AGAIN), *problems])
    return asked.model_copy(update={"drafts": {**asked.drafts, **texts}, "news": news})


def adjudication_key(form: Rubric, task: Task) -> str:
    """Return the key of the task of deciding on a task."""
    return derived_key(form, task.key, "")


def nameless(number: int, language: str) -> list[str]:
    """Return the names of that many people: whoever decides does not learn their codes."""
    first = [say(language, name) for name in ("First person", "Second person", "Third person")]
    return first[:number] + [say(language, "Person {}", place) for place in range(4, number + 1)]


def differ(rubric: Rubric, task: Task, courses: Sequence[Course]) -> bool:
    """Return whether people who have finished do not agree.

    They agree if they decide the same and, where they correct texts, write the same. People who reject a record for
    different reasons, or accept it with different notes, agree on all that a build uses.
    """
    results = set()
    for course in courses:
        changes = changes_of(task, course.work, rubric) if course.decision == "fix" else {}
        results.add((course.decision, *sorted((name, trimmed(text)) for name, text in changes.items())))
    return len(results) > 1


def _compared(rubric: Rubric, task: Task, works: Sequence[Annotation]) -> Iterator[Compared]:
    """Yield what people answered, wrote, marked and noted, without what nobody filled in."""
    for ask in rubric.asks:
        yield Compared(title=ask.question, answers=tuple(ask.label(work.answers.get(ask.name, "")) for work in works))
    changes = [changes_of(task, work, rubric) for work in works]
    for part in parts_of(rubric):
        if not part.corrects:
            texts = tuple(text_of(work, part, task) for work in works)
        elif any(part.name in changed for changed in changes):
            unchanged = say(rubric.language, UNCHANGED)
            texts = tuple(changed.get(part.name, unchanged) for changed in changes)
        else:
            continue
        if any(texts):
            yield Compared(title=part.title, answers=texts)
    for note in rubric.writes:
        texts = tuple(work.answers.get(note.name, "").strip() for work in works)
        if note.note and any(texts):
            yield Compared(title=note.title, answers=texts)
    if any(work.question for work in works):
        title = say(rubric.language, "Question to the engineer")
        yield Compared(title=title, answers=tuple(work.question for work in works))


# ---- what else a decision is good for ----


def known_answers(disagreements: Iterable[Disagreement], rubric: Rubric) -> list[Task]:
    """Return the gold tasks that adjudicators made, under keys of their own.

    A person who did such a task before has not done the gold task, and is not judged by it.
    """
    return [task for task in _used_as(KNOWN_ANSWER, KNOWN, disagreements, rubric) if task.right_answers]


def worked_examples(disagreements: Iterable[Disagreement], rubric: Rubric) -> list[Task]:
    """Return the worked examples that adjudicators made; their drafts are the texts that were corrected."""
    return list(_used_as(WORKED_EXAMPLE, EXAMPLE, disagreements, rubric))


def _used_as(use: str, name: str, disagreements: Iterable[Disagreement], rubric: Rubric) -> Iterator[Task]:
    for task, _, _, _, decided in disagreements:
        if decided is not None and decided.work.answers.get(USE) == use:
            yield task.model_copy(
                update={
                    "key": key_of("task", rubric.name, task.key, {"sample": name}),
                    "right_answers": {ask.name: decided.work.answers[ask.name] for ask in rubric.asks},
                    "why": decided.work.answers.get(WHY, ""),
                    **({"drafts": changes_of(task, decided.work, rubric)} if use == WORKED_EXAMPLE else {}),
                }
            )


# ---- who decides, and who may not do the task any more ----


def may_decide(disagreement: Disagreement, lead: str | None, others: Collection[str]) -> set[str]:
    """Return who decided, or who may: the lead, or those among `others` who have not done the task."""
    if disagreement.decided is not None:
        return {disagreement.decided.by}
    if lead is not None and lead not in disagreement.people:
        return {lead}
    return set(others).difference(disagreement.people)


def who_knows(
    disagreements: Iterable[Disagreement],
    gold: Iterable[Task],
    deciding: Mapping[str, Collection[str]],
    held: Mapping[str, Collection[str]],
) -> dict[str, set[str]]:
    """Return, by task, who may not do it: they see or saw what others answered, or have it as another task.

    `deciding` has the keys of the tasks of deciding that each person holds, `held` those of all others. A gold task
    that was made of a task shows the same.
    """
    twins: dict[str, list[str]] = defaultdict(list)
    for task in gold:
        twins[task.id].append(task.key)
    barred: dict[str, set[str]] = defaultdict(set)
    for one in disagreements:
        deciders = {by for by, keys in deciding.items() if one.asked.key in keys}
        barred[one.task.key] |= deciders
        for key in twins[one.task.id]:
            barred[key] |= {*deciders, *one.people}
            barred[one.task.key] |= {by for by, keys in held.items() if key in keys}
    return barred
