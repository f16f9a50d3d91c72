"""LV-Eval's distributions: what was selected, how long documents are, how far facts are from the original."""

from collections import Counter
from collections.abc import Sequence

from flows.construct.view import Bars, Chart, ChartContext, Histogram
from flows.families.lveval.datasets import BY_RELEASED
from flows.families.lveval.distractor_index import count
from flows.language import language_of
from schemas.lveval import ConfusingFact, Pair, PoolDocument, Replacements


def pair_charts(ctx: ChartContext[Pair]) -> Sequence[Chart]:
    """Pairs of each dataset, and the length of their supporting documents."""
    pairs: Counter[str] = Counter()
    lengths: dict[str, Counter[float]] = {}
    for pair in ctx.records:
        pairs[pair.dataset] += 1
        words = sum(count(one.text, pair.language) for one in pair.documents)
        lengths.setdefault(pair.language, Counter())[words] += 1
    return [
        Bars(title="Pairs", counts=dict(pairs.most_common())),
        Histogram(title="Supporting documents together", series=lengths, unit="words (characters in Chinese)"),
    ]


def document_charts(ctx: ChartContext[PoolDocument]) -> Sequence[Chart]:
    """Words of each dataset's documents together: what its longest level can be."""
    words: Counter[str] = Counter()
    lengths: dict[str, Counter[float]] = {}
    for document in ctx.records:
        own = count(document.text, document.language)
        words[document.dataset] += own
        lengths.setdefault(document.language, Counter())[own] += 1
    return [
        Bars(title="Words to distract with (characters in Chinese)", counts=dict(words.most_common())),
        Histogram(title="Document length", series=lengths, unit="words (characters in Chinese)"),
    ]


def fact_charts(ctx: ChartContext[ConfusingFact]) -> Sequence[Chart]:
    """How many content words a confusing fact shares with the question."""
    shared: dict[str, Counter[float]] = {"subject changed": Counter(), "object changed": Counter()}
    for fact in ctx.records:
        language = language_of(fact.language)
        common = language.content_words(fact.question) & language.content_words(fact.fact)
        shared[f"{fact.changes} changed"][len(common)] += 1
    return [Histogram(title="Words shared with the question", series=shared, unit="content words")]


def rule_charts(ctx: ChartContext[Replacements]) -> Sequence[Chart]:
    """Rules a pair."""
    rules: dict[str, Counter[float]] = {}
    for one in ctx.records:
        rules.setdefault(one.dataset, Counter())[len(one.rules)] += 1
    return [Histogram(title="Replacement rules", series=rules, unit="rules a pair")]


def context_charts(ctx: ChartContext) -> Sequence[Chart]:
    """Lengths by level (table 2), where what answers the question begins, and how many pairs have confusing facts."""
    lengths: dict[str, Counter[float]] = {}
    begins: dict[str, Counter[float]] = {}
    facts: dict[tuple[str, str], int] = {}
    for row in ctx.columns(("level", "length", "positions", "dataset", "pair_id", "confusing_facts")):
        dataset = BY_RELEASED[row["dataset"].removesuffix(f"_{row['level']}")]
        if dataset.confusing_facts:
            facts[dataset.name, row["pair_id"]] = len(row["confusing_facts"])
        lengths.setdefault(row["level"], Counter())[row["length"]] += 1
        own = begins.setdefault(row["level"], Counter())
        own.update(one["start"] for one in row["positions"] if one["kind"] == "support")
    having = Counter(f"{dataset}: {('none', 'one', 'two')[number]}" for (dataset, _), number in facts.items())
    shown = [Bars(title="Pairs by their confusing facts", counts=dict(sorted(having.items())))] if having else []
    return [
        *shown,
        Histogram(title="Context length", series=lengths, unit="words (characters in Chinese)"),
        Histogram(title="Where supporting documents begin", series=begins, unit="characters from the beginning"),
    ]
