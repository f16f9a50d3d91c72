"""LV-Eval's distributions: pairs selected, lengths of documents and contexts, how far facts are from the original."""

from collections import Counter
from collections.abc import Sequence

from flows.construct.view import Bars, Chart, ChartContext, Histogram
from flows.families.lveval.datasets import OF_DATASET, dataset_of_row
from flows.families.lveval.distractor_index import count
from flows.language import language_of
from schemas.lveval import ConfusingFact, Pair, PoolDocument, Replacements


def pair_charts(ctx: ChartContext[Pair]) -> Sequence[Chart]:
    """Chart the pairs of each dataset, and the length of their supporting documents."""
    pairs: Counter[str] = Counter()
    lengths: dict[str, Counter[float]] = {}
    for pair in ctx.records:
        pairs[pair.dataset] += 1
        words = sum(count(document.text, pair.language) for document in pair.documents)
        lengths.setdefault(pair.language, Counter())[words] += 1
    return [
        Bars(title="Pairs", counts=dict(pairs.most_common())),
        Histogram(title="Supporting documents together", series=lengths, unit="words (characters in Chinese)"),
    ]


def document_charts(ctx: ChartContext[PoolDocument]) -> Sequence[Chart]:
    """Chart the words of each dataset's documents together, which limit its longest level."""
    words: Counter[str] = Counter()
    lengths: dict[str, Counter[float]] = {}
    for document in ctx.records:
        length = count(document.text, document.language)
        words[document.dataset] += length
        lengths.setdefault(document.language, Counter())[length] += 1
    return [
        Bars(title="Words to distract with (characters in Chinese)", counts=dict(words.most_common())),
        Histogram(title="Document length", series=lengths, unit="words (characters in Chinese)"),
    ]


def fact_charts(ctx: ChartContext[ConfusingFact]) -> Sequence[Chart]:
    """Chart how many content words a confusing fact shares with the question."""
    shared: dict[str, Counter[float]] = {"subject changed": Counter(), "object changed": Counter()}
    for fact in ctx.records:
        language = language_of(fact.language)
        common = language.content_words(fact.question) & language.content_words(fact.fact)
        shared[f"{fact.changes} changed"][len(common)] += 1
    return [Histogram(title="Words shared with the question", series=shared, unit="content words")]


def rule_charts(ctx: ChartContext[Replacements]) -> Sequence[Chart]:
    """Chart the number of rules a pair has."""
    rules: dict[str, Counter[float]] = {}
    for record in ctx.records:
        rules.setdefault(record.dataset, Counter())[len(record.rules)] += 1
    return [Histogram(title="Replacement rules", series=rules, unit="rules a pair")]


def context_charts(ctx: ChartContext) -> Sequence[Chart]:
    """Chart lengths by level (table 2), where supporting documents begin, and how many pairs have confusing facts."""
    lengths: dict[str, Counter[float]] = {}
    begins: dict[str, Counter[float]] = {}
    facts: dict[tuple[str, str], int] = {}
    for row in ctx.columns((*OF_DATASET, "level", "length", "positions", "pair_id", "confusing_facts")):
        dataset = dataset_of_row(row)
        if dataset.confusing_facts:
            facts[dataset.name, row["pair_id"]] = len(row["confusing_facts"])
        lengths.setdefault(row["level"], Counter())[row["length"]] += 1
        starts = (place["start"] for place in row["positions"] if place["kind"] == "support")
        begins.setdefault(row["level"], Counter()).update(starts)
    having = Counter(f"{dataset}: {('none', 'one', 'two')[number]}" for (dataset, _), number in facts.items())
    shown = [Bars(title="Pairs by their confusing facts", counts=dict(sorted(having.items())))] if having else []
    return [
        *shown,
        Histogram(title="Context length", series=lengths, unit="words (characters in Chinese)"),
        Histogram(
            title="Where supporting documents begin",
            series=begins,
            unit="characters from the beginning",
            counted="supporting documents",
        ),
    ]
