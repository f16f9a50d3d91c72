"""RefuteBench's distributions: the length of seeds, the focus of refutations, and the ratings of answers."""

from collections import Counter
from collections.abc import Sequence

from flows.construct.view import Bars, Chart, ChartContext, Histogram
from flows.language import language_of
from schemas.refutebench import FOCUSES, RATINGS, TASKS, Rating, RefutationDialogue, Seed


def seed_charts(ctx: ChartContext[Seed]) -> Sequence[Chart]:
    """Chart the seeds by task and kind, and their length."""
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
    """Chart the finished dialogues, the focus of refutations, and the prompts and answers that were cut."""
    focuses: Counter[str] = Counter()
    cut_off: Counter[str] = Counter()
    prompts_cut: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for dialogue in ctx.records:
        kinds[f"{dialogue.protocol} · {dialogue.model} · {dialogue.refuter} · style: {dialogue.style}"] += 1
        focuses.update(turn.focus for turn in dialogue.turns if turn.focus)
        cut_off[dialogue.model] += sum(turn.cut_off for turn in dialogue.turns)
        prompts_cut[dialogue.model] += sum(turn.prompt_cut for turn in dialogue.turns)
    cut = {"Answers cut off at their tokens": cut_off, "Prompts cut in their middle": prompts_cut}
    return [
        Bars(title="Dialogues", counts=dict(sorted(kinds.items()))),
        Bars(title="What refutations are about", counts={focus: focuses[focus] for focus in FOCUSES}),
        *(Bars(title=title, counts=dict(sorted(counts.items()))) for title, counts in cut.items() if +counts),
    ]


def rating_charts(ctx: ChartContext[Rating]) -> Sequence[Chart]:
    """Chart the ratings of answers to a refutation, of later answers, and of the task."""
    by_kind: dict[str, Counter[float]] = {}
    for rating in ctx.records:
        kind = f"{rating.evaluator}: "
        if rating.refutation_number is None:
            kind += "the task"
        else:
            kind += "the answer to it" if rating.answer_number == rating.refutation_number + 1 else "a later answer"
        by_kind.setdefault(kind, Counter())[rating.rating] += 1
    return [
        Bars(title=f"Ratings · {kind}", counts={str(value): counts[value] for value in RATINGS})
        for kind, counts in sorted(by_kind.items())
    ]
