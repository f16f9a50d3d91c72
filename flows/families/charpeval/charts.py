"""CHARPEval's distributions: what waits for whom, what is suggested, how long the options are."""

from collections import Counter
from collections.abc import Sequence

from flows.construct.view import Bars, Chart, ChartContext, Histogram
from flows.families.charpeval.checks import problems_of
from flows.language import en
from schemas.charpeval import DISTRACTOR_TYPES, OPTION_TYPES, SUBSETS, Authored, CharpEvalItem, UtterancePair

READY = "nothing: ready for distractors"


def pair_charts(ctx: ChartContext[UtterancePair]) -> Sequence[Chart]:
    """Chart the missing parts of the pairs, turns before the last utterance, and length of knowledge and response."""
    states: Counter[str] = Counter()
    turns: Counter[float] = Counter()
    lengths: dict[str, Counter[float]] = {"knowledge": Counter(), "response": Counter()}
    for pair in ctx.records:
        states.update([name.replace("_", " ") for name, _ in problems_of(pair)] or [READY])
        turns[len(pair.history)] += 1
        lengths["knowledge"][en.count(pair.knowledge)] += 1
        lengths["response"][en.count(pair.response)] += 1
    return [
        Bars(title="What the dialogues wait for", counts=dict(states.most_common())),
        Histogram(title="Turns before the last utterance", series={"dialogues": turns}, unit="turns"),
        Histogram(title="Length", series=lengths, unit="words", counted="texts"),
    ]


def authored_charts(ctx: ChartContext[Authored]) -> Sequence[Chart]:
    """Chart how many distractors of each type are written and suggested, and how many suggestions left out."""
    written: Counter[str] = Counter()
    suggested: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for record in ctx.records:
        written.update(record.distractors.keys())
        suggested.update(record.drafts.keys())
        left_out.update(record.left_out.keys())
    counted = {"Written": written, "Suggested by the builder": suggested, "Not suggested": left_out}
    return [
        Bars(title=title, counts={kind: counts[kind] for kind in DISTRACTOR_TYPES}) for title, counts in counted.items()
    ]


def item_charts(ctx: ChartContext[CharpEvalItem]) -> Sequence[Chart]:
    """Chart the items of each subset, and the length of the options by type."""
    subsets: Counter[str] = Counter()
    lengths: dict[str, Counter[float]] = {kind: Counter() for kind in OPTION_TYPES}
    for item in ctx.records:
        subsets[item.subset] += 1
        for kind, text in item.texts.items():
            lengths[kind][en.count(text)] += 1
    return [
        Bars(title="Subsets", counts={subset: subsets[subset] for subset in SUBSETS}),
        Histogram(title="Length of the options", series=lengths, unit="words", counted="options"),
    ]
