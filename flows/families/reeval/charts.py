"""ReEval's distributions: answers, evidence and passages of the finished cases."""

from collections import Counter
from collections.abc import Sequence

from flows.construct.view import Bars, Chart, ChartContext, Histogram
from flows.language import language_of
from schemas.reeval import EnrichedCase, SwapCase
from schemas.source import Passage

POSITIONS = ("first", "middle", "last")


def swap_charts(ctx: ChartContext[SwapCase]) -> Sequence[Chart]:
    """Types of the answers, where the new one starts, mentions replaced, length of the evidence."""
    types: Counter[str] = Counter()
    positions: Counter[str] = Counter()
    mentions: Counter[float] = Counter()
    lengths: dict[str, Counter[float]] = {}
    for case in ctx.records:
        language = language_of(case.language)
        types[language.answer_type(case.original_answer, case.question)] += 1
        positions[f"{case.answer_position} third" if case.answer_position else "not exactly once"] += 1
        mentions[len(case.replacements)] += 1
        lengths.setdefault(case.language, Counter())[language.count(case.evidence)] += 1
    order = [*(f"{third} third" for third in POSITIONS), "not exactly once"]
    return [
        Bars(title="Answer types", counts=dict(types.most_common())),
        Bars(
            title="Where the answer starts",
            counts={place: positions[place] for place in order if positions[place]},
            caption="Section 4.4 has 56, 24 and 20 % of the cases in which it occurs once.",
        ),
        Histogram(title="Mentions replaced", series={"cases": mentions}, unit="mentions"),
        Histogram(title="Evidence length", series=lengths, unit="words (characters in Chinese)"),
    ]


def enriched_charts(ctx: ChartContext[EnrichedCase]) -> Sequence[Chart]:
    """Length of the evidence before and after, and how many passages both expansions share."""
    lengths: dict[str, Counter[float]] = {
        name: Counter() for name in ("original", "question-focused", "evidence-focused")
    }
    shared: Counter[float] = Counter()
    for case in ctx.records:
        count = language_of(case.language).count
        lengths["original"][count(case.original_evidence)] += 1
        lengths["question-focused"][count(case.evidence_question_focused)] += 1
        lengths["evidence-focused"][count(case.evidence_evidence_focused)] += 1
        ids = {passage.id for passage in case.passages_question_focused}
        shared[len(ids.intersection(passage.id for passage in case.passages_evidence_focused))] += 1
    return [
        Histogram(title="Evidence length", series=lengths, unit="words (characters in Chinese)", counted="texts"),
        Histogram(title="Passages in both expansions", series={"cases": shared}, unit="passages"),
    ]


def passage_charts(ctx: ChartContext[Passage]) -> Sequence[Chart]:
    """Length of the passages."""
    lengths: dict[str, Counter[float]] = {}
    for passage in ctx.records:
        lengths.setdefault(passage.language, Counter())[language_of(passage.language).count(passage.text)] += 1
    return [Histogram(title="Passage length", series=lengths, unit="words (characters in Chinese)")]
