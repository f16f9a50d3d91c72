"""RefuteBench's distributions: how long seeds are, what refutations are about, and how answers are rated."""

from collections import Counter
from collections.abc import Sequence

from flows.construct.view import Bars, Chart, ChartContext, Histogram
from flows.language import language_of
from schemas.refutebench import FOCUSES, RATINGS, TASKS, Rating, RefutationDialogue, Seed


def seed_charts(ctx: ChartContext[Seed]) -> Sequence[Chart]:
    """Seeds a task and kind, and how long they are."""
    kinds: Counter[str] = Counter()
    lengths: dict[str, Counter[float]] = {task: Counter() for task in TASKS}
    for seed in ctx.records:
        kinds[f"{seed.task}: {seed.kind}"] += 1
        lengths[seed.task][language_of(seed.language).count(seed.text)] += 1
    return [
        Bars(title="Seeds by what they ask for", counts=dict(sorted(kinds.items()))),
        Histogram(title="Length of what a query is about", series=lengths, unit="words"),
    ]


def dialogue_charts(ctx: ChartContext[RefutationDialogue]) -> Sequence[Chart]:
    """What refutations are about, which dialogues are whole, and what was cut of prompts and answers."""
    focuses: Counter[str] = Counter()
    cut_off: Counter[str] = Counter()
    prompts_cut: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for one in ctx.records:
        kinds[f"{one.protocol} · {one.model} · {one.refuter} · style: {one.style}"] += 1
        focuses.update(turn.focus for turn in one.turns if turn.focus)
        cut_off[one.model] += sum(turn.cut_off for turn in one.turns)
        prompts_cut[one.model] += sum(turn.prompt_cut for turn in one.turns)
    cut = {"Answers cut off at their tokens": cut_off, "Prompts cut in their middle": prompts_cut}
    return [
        Bars(title="Dialogues", counts=dict(sorted(kinds.items()))),
        Bars(title="What refutations are about", counts={focus: focuses[focus] for focus in FOCUSES}),
        *(Bars(title=title, counts=dict(sorted(counts.items()))) for title, counts in cut.items() if +counts),
    ]


def rating_charts(ctx: ChartContext[Rating]) -> Sequence[Chart]:
    """Ratings of answers to a refutation, of later answers, and of the task."""
    given: dict[str, Counter[float]] = {}
    for one in ctx.records:
        kind = f"{one.evaluator}: "
        if one.refutation_number is None:
            kind += "the task"
        else:
            kind += "the answer to it" if one.answer_number == one.refutation_number + 1 else "a later answer"
        given.setdefault(kind, Counter())[one.rating] += 1
    return [
        Bars(title=f"Ratings · {kind}", counts={str(rating): counts[rating] for rating in RATINGS})
        for kind, counts in sorted(given.items())
    ]
