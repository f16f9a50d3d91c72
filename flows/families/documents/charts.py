"""The documents family's distributions: its passages and questions, for a reader of a build."""

from collections import Counter
from collections.abc import Sequence

from flows.construct.view import Bars, Chart, ChartContext, Histogram
from flows.families.documents.plan import document_of
from flows.language import language_of
from schemas.documents import KINDS, DocumentConflict, DocumentPair
from schemas.source import Passage

MOST_DOCUMENTS = 20
"""Documents that a chart names; the others are one bar."""


def passage_charts(ctx: ChartContext[Passage]) -> Sequence[Chart]:
    """Length of the passages, and how many each document has."""
    words: Counter[float] = Counter()
    documents: Counter[str] = Counter()
    for passage in ctx.records:
        words[language_of(passage.language).count(passage.text)] += 1
        documents[document_of(passage)] += 1
    return [
        Histogram(title="Passage length", series={"passages": words}, unit="words"),
        Bars(title="Passages by document", counts=_most(documents)),
    ]


def pair_charts(ctx: ChartContext[DocumentPair]) -> Sequence[Chart]:
    """Kinds of the questions, their length, and how many each document has."""
    words: Counter[float] = Counter()
    kinds: Counter[str] = Counter()
    documents: Counter[str] = Counter()
    for pair in ctx.records:
        words[language_of(pair.language).count(pair.question)] += 1
        kinds[pair.kind] += 1
        documents[pair.places[0].document if pair.places else pair.title or "without a title"] += 1
    return [
        Bars(title="Kinds of question", counts={kind: kinds[kind] for kind in KINDS}),
        Histogram(title="Question length", series={"questions": words}, unit="words"),
        Bars(title="Questions by document", counts=_most(documents)),
    ]


def conflict_charts(ctx: ChartContext[DocumentConflict]) -> Sequence[Chart]:
    """How often which documents contradict each other."""
    documents: Counter[str] = Counter()
    for conflict in ctx.records:
        names = {place.document for place in conflict.places}
        titles = {title or "without a title" for title in (conflict.first_title, conflict.second_title)}
        documents[" / ".join(sorted(names or titles))] += 1
    return [Bars(title="Contradictions by documents", counts=_most(documents))]


def _most(counts: Counter[str]) -> dict[str, int]:
    """Those with the most, and all others together."""
    shown = dict(counts.most_common(MOST_DOCUMENTS))
    others = counts.total() - sum(shown.values())
    return {**shown, "others": others} if others else shown
