"""ReEval's human evaluation (section 4.3): is the perturbed evidence readable, and does it support the answer?"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence

from flows.families.reeval.chinese import CHINESE
from flows.language import language_of
from schemas.base import content_hash
from schemas.reeval import EnrichedCase, SwapCase
from schemas.rubric import Choice, Rubric, Sample, Shown, Task, task_of

YES, NO = "yes", "no"
SUPPORTS = "supports"
CATEGORY_1, QUESTION_FOCUSED, EVIDENCE_FOCUSED = "category1", "question-focused", "evidence-focused"
VALIDATION = "validation"

SUPPORT = Rubric(
    name="reeval-support",
    title="Does the passage support the answer?",
    version=2,
    guideline="guideline.md",
    texts={"zh": CHINESE},
    shows=(
        Shown(name="evidence", title="Passage", around="answer"),
        Shown(name="question", title="Question"),
        Shown(name="answer", title="Answer"),
    ),
    listed="question",
    asks=(
        Choice(name="readable", question="Can the passage be read and understood?", options=(YES, NO), accepts=(YES,)),
        Choice(
            name=SUPPORTS,
            question="Does the passage support this answer to the question?",
            options=(YES, NO),
            accepts=(YES,),
        ),
    ),
    people_per_item=3,  # "Each question is judged by three annotators"
    samples=(
        Sample(name=CATEGORY_1, size=500),  # "500 cases from Category 1"
        Sample(name=QUESTION_FOCUSED, size=500),  # "1000 cases from Category 2 with 500 examples for
        Sample(name=EVIDENCE_FOCUSED, size=500),  # question-focused expansion, and 500 for evidence-focused"
    ),
    validation_share=0.1,  # "10% of the data is used as validation checks"
    pass_share=0.9,  # "at least 90% accuracy on the validation check"
)
"""The paper asks for support and calls supportive evidence readable; we ask for both."""

Case = SwapCase | EnrichedCase


def tasks(cases: Iterable[Case], seed: int, rubric: Rubric = SUPPORT) -> list[Task]:
    """The samples of finished cases; all of them, if there are fewer than a sample's size.

    The run seed and the cases' keys decide, not their order. In memory are twice as many tasks as are drawn.
    """
    sizes = {sample.name: sample.size for sample in rubric.samples}
    drawn: dict[str, dict[str, Task]] = {sample: {} for sample in sizes}

    def first(sample: str) -> list[Task]:
        return heapq.nsmallest(sizes[sample], drawn[sample].values(), key=_order(seed, sample))

    for case in cases:
        for sample, evidence in _perturbed(case).items():
            task = _task(case, sample, evidence, case.answer, rubric)
            same = drawn[sample].setdefault(task.id, task)
            if (task.item_key, task.item_id) < (same.item_key, same.item_id):
                drawn[sample][task.id] = task
            if len(drawn[sample]) > 2 * sizes[sample]:
                drawn[sample] = {task.id: task for task in first(sample)}
    return [task for sample in sizes for task in first(sample)]


def validation_tasks(cases: Iterable[Case], sampled: Sequence[Task], seed: int, rubric: Rubric = SUPPORT) -> list[Task]:
    """Tasks with known answers, to make up the rubric's share of all that people see; at least two.

    Half are original passages, which support the source's answer; half are such passages without the
    sentences that contain the answer, which do not. Cases that are not in a sample go first, and each gives one
    task; there are fewer tasks if the cases do not give enough.
    """
    wanted = max(2, round(len(sampled) * rubric.validation_share / (1 - rubric.validation_share)))
    left = {YES: wanted - wanted // 2, NO: wanted // 2}
    seen = {task.item_id for task in sampled}
    unique = {content_hash(case.question, case.original_evidence): case for case in sorted(cases, key=_place)}.values()
    known_tasks: list[Task] = []
    for case in sorted(unique, key=lambda case: (case.id in seen, content_hash(seed, VALIDATION, case.key))):
        without = without_answer(case) if left[NO] else None
        right_answer, evidence = (YES, case.original_evidence) if without is None else (NO, without)
        if left[right_answer]:
            left[right_answer] -= 1
            known_tasks.append(
                _task(case, VALIDATION, evidence, _answers(case)[0], rubric, right_answers={SUPPORTS: right_answer})
            )
    return sorted(known_tasks, key=_order(seed, VALIDATION))


def without_answer(case: Case) -> str | None:
    """The original evidence without the sentences that contain its answer, in any wording; None if nothing is left."""
    language = language_of(case.language)

    def held(text: str) -> bool:
        return any(language.contains(text, answer) for answer in _answers(case))

    sentences = language.sentences(case.original_evidence)
    rest = ("" if case.language == "zh" else " ").join(sentence for sentence in sentences if not held(sentence))
    return None if not rest or held(rest) else rest


def _perturbed(case: Case) -> Mapping[str, str]:
    """The perturbed evidence that each sample shows of a case."""
    if isinstance(case, SwapCase):
        return {CATEGORY_1: case.evidence}
    return {QUESTION_FOCUSED: case.evidence_question_focused, EVIDENCE_FOCUSED: case.evidence_evidence_focused}


def _answers(case: Case) -> tuple[str, ...]:
    """The answers that the original evidence supports."""
    return (case.original_answer if isinstance(case, SwapCase) else case.answer, *case.aliases)


def _task(
    case: Case, sample: str, evidence: str, answer: str, rubric: Rubric, right_answers: Mapping[str, str] | None = None
) -> Task:
    shown = {"evidence": evidence, "question": case.question, "answer": answer}
    return task_of(case, rubric, shown, sample=sample, right_answers=right_answers)


def _order(seed: int, sample: str) -> Callable[[Task], str]:
    """A sort key that puts tasks in a random order of the run seed, whatever order they came in."""
    return lambda task: content_hash(seed, sample, task.id)


def _place(case: Case) -> tuple[str, str]:
    return case.key, case.id
