"""URAQ's distributions: its statements, questions and rows, for a reader of a build."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from flows.construct.embed import Embedder
from flows.construct.records import Records
from flows.construct.view import Bars, Chart, ChartContext, Histogram
from flows.families.uraq.settings import UraqSettings
from flows.language import en
from schemas.base import content_hash
from schemas.source import Statement
from schemas.uraq import SETTINGS, Conflict, EvaluationRow, StatementPair, UraqItem

COMPARED = 4_000
"""The most survivors whose nearest survivor is looked up; from more, this many are drawn, and the caption says so."""
DECIMALS = 6
"""The precision of counted values: enough to show on which side of the threshold they lie."""
_TILE = 4_096
"""Statements embedded at once."""


def statement_charts(ctx: ChartContext[StatementPair, UraqSettings]) -> Sequence[Chart]:
    """Length, manipulation and topic of the pairs, and how close the statements are to each other."""
    words: Counter[float] = Counter()
    manipulations: Counter[str] = Counter()
    topics: Counter[str] = Counter()
    for pair in ctx.records:
        words[en.count(pair.original)] += 1
        manipulations[pair.manipulation] += 1
        topics[pair.topic or "none given"] += 1
    charts: list[Chart] = [
        Histogram(title="Statement length", series={"statements": words}, unit="words"),
        _similarity(ctx),
        Bars(title="Manipulation", counts=_by_count(manipulations)),
    ]
    return [*charts, Bars(title="Topics", counts=_by_count(topics))] if len(topics) > 1 else charts


def item_charts(ctx: ChartContext[UraqItem]) -> Sequence[Chart]:
    """Length and hops of the questions, kinds of their steps and answers."""
    words: Counter[float] = Counter()
    hops: Counter[int] = Counter()
    answers: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    manipulations: Counter[str] = Counter()
    for item in ctx.records:
        words[en.count(item.question)] += 1
        hops[item.hops] += 1
        answers[item.answer_type] += 1
        manipulations[item.manipulation] += 1
        steps.update(step.kind for step in item.steps)
    return [
        Histogram(title="Question length", series={"questions": words}, unit="words"),
        Bars(title="Hops", counts={_counted(number, "step"): hops[number] for number in sorted(hops)}),
        Bars(title="Answer types", counts=_by_count(answers)),
        Bars(title="Kinds of step", counts=_by_count(steps), caption="Over all steps of all questions."),
        Bars(title="Manipulation", counts=_by_count(manipulations)),
    ]


def conflict_charts(ctx: ChartContext[Conflict]) -> Sequence[Chart]:
    """Answer types and sources of the conflicts."""
    answers: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    for conflict in ctx.records:
        answers[conflict.answer_type] += 1
        sources[conflict.source] += 1
    return [
        Bars(title="Answer types", counts=_by_count(answers)),
        Bars(title="Sources", counts=_by_count(sources)),
    ]


def evaluation_charts(ctx: ChartContext[EvaluationRow]) -> Sequence[Chart]:
    """Settings and contexts of the rows, and the place of the relevant context among the others."""
    settings: Counter[str] = Counter()
    contexts: Counter[int] = Counter()
    places: Counter[float] = Counter()
    for row in ctx.records:
        settings[row.setting] += 1
        contexts[row.n_contexts] += 1
        if row.relevant_index is not None and row.n_contexts > 1:
            places[round(row.relevant_index / (row.n_contexts - 1), DECIMALS)] += 1
    return [
        Bars(title="Contexts per row", counts={_counted(n, "context"): contexts[n] for n in sorted(contexts)}),
        Bars(title="Settings", counts={setting: settings[setting] for setting in SETTINGS}),
        Histogram(
            title="Place of the relevant context",
            series={"rows": places},
            unit="of the way through the contexts",
            caption="0 is the first context, 1 the last; rows with one context or no relevant one are not counted.",
        ),
    ]


def _similarity(ctx: ChartContext[StatementPair, UraqSettings]) -> Histogram:
    """Dropped statements by the cosine they were dropped for, kept statements by that to the nearest kept statement."""
    dropped: Counter[float] = Counter(
        round(drop.value, DECIMALS) for drop in ctx.dropped("deduplicate") if drop.value is not None
    )
    survivors: Records[Statement] = ctx.kept("deduplicate")
    caption = "Dropped: cosine with the statement named in the drop. Kept: cosine with the nearest kept statement"
    if len(survivors) > COMPARED:
        caption += f", for {COMPARED:,} drawn out of {len(survivors):,}"
    return Histogram(
        title="Similarity",
        series={"kept": _nearest(survivors, ctx.embedder, ctx.seed), "dropped": dropped},
        unit="cosine",
        threshold=ctx.settings.cosine_above,
        caption=f"{caption}.",
    )


def _nearest(survivors: Records[Statement], embedder: Embedder, seed: int) -> Counter[float]:
    """Cosines of at most `COMPARED` survivors with the nearest of all others."""
    total = len(survivors)
    if total < 2:
        return Counter()
    rng = random.Random(content_hash(seed, "similarity"))
    drawn = sorted(rng.sample(range(total), min(COMPARED, total)))
    wanted = set(drawn)
    vectors = np.concatenate(
        [
            embedder.embed(texts)
            for texts in _tiles(statement.text for n, statement in enumerate(survivors) if n in wanted)
        ]
    )
    places = np.array(drawn)
    nearest = np.full(len(drawn), -1.0, np.float32)
    start = 0
    for texts in _tiles(statement.text for statement in survivors):
        cosines = vectors @ embedder.embed(texts).T
        same = np.flatnonzero((places >= start) & (places < start + len(texts)))
        cosines[same, places[same] - start] = -1.0
        np.maximum(nearest, cosines.max(axis=1), out=nearest)
        start += len(texts)
    return Counter(round(float(cosine), DECIMALS) for cosine in nearest)


def _tiles(texts: Iterator[str]) -> Iterator[list[str]]:
    while tile := list(islice(texts, _TILE)):
        yield tile


def _by_count(counts: Counter[str]) -> Mapping[str, int]:
    """Most frequent first, by the alphabet among equals."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
