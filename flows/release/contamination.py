"""Measures how much of a release is also in other data sets, for readers of the card to judge."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from data.sources import Entry, SourceSpec, read_entries
from flows.construct.embed import Embedder
from flows.construct.overlap import measure_of, nearest_cosines, shared_ngrams
from flows.construct.retrieve import REPEATS_ABOVE
from schemas.base import Record, texts_in
from schemas.release import Contamination

SHOWN = 5
"""Overlapping rows whose keys are listed."""
ASKED_AT_ONCE = 1 << 17
"""Questions whose vectors are held at once: 200 MB with the packaged model. The other data set is read for each lot."""
DECIMALS = 6
"""Decimals of a cosine that count; the rest is floating-point noise."""
_ASKED = ("question", "hard_utterance", "easy_utterance", "last_utterance", "text")
_SAID = ("evidence", "knowledge", "response", "reference")


class RowTexts(NamedTuple):
    """The texts of a released row that are compared."""

    key: str
    language: str
    asked: str
    """Its question, or its main text if it has none: it is also compared by meaning."""
    texts: tuple[str, ...]
    """All of its texts, including the question."""

    @classmethod
    def of(cls, record: type[Record], values: Mapping[str, Any]) -> "RowTexts":
        """Return the texts of a row that its record type lists in `TEXTS`; without a language, it is English."""
        texts = tuple(text for name in record.TEXTS for text in texts_in(values[name]))
        return cls(values["key"], values.get("language") or "en", texts[0] if texts else "", texts)


def contamination_of(
    config: str,
    rows: Callable[[], Iterable[RowTexts]],
    spec: SourceSpec,
    embedder: Embedder,
    languages: Collection[str],
) -> Contamination:
    """Compare the rows of a configuration with a data set, by n-grams (`flows/construct/overlap.py`) and by meaning.

    They are compared by meaning only if the embedder reads the data set's language, one of `languages`. `rows()` may
    be called several times. Raises `SourceError`.
    """
    measure = measure_of(spec.language)

    def ours() -> Iterator[RowTexts]:
        return (row for row in rows() if row.language == spec.language)

    overlap = shared_ngrams(
        lambda: ((row.key, row.texts) for row in ours()),
        (text for entry in read_entries(spec) for text in texts_of(entry)),
        measure,
    )
    near = None
    if spec.language in languages:
        near = 0
        asked = (row.asked for row in ours() if row.asked and embedder.reads(row.asked))
        while lot := Counter(islice(asked, ASKED_AT_ONCE)):
            theirs = (text for entry in read_entries(spec) if (text := _asked(entry)) and embedder.reads(text))
            cosines = nearest_cosines(list(lot), theirs, embedder)
            is_near = (round(float(cosine), DECIMALS) > REPEATS_ABOVE for cosine in cosines)
            near += sum(count for count, counts in zip(lot.values(), is_near, strict=True) if counts)
    return Contamination(
        config=config,
        dataset=spec.name,
        language=spec.language,
        unit=measure.unit,
        ngram=measure.ngram,
        shortest=measure.shortest,
        rows=overlap.rows,
        compared=overlap.compared,
        overlapping=len(overlap.overlapping),
        examples=tuple(sorted(overlap.overlapping)[:SHOWN]),
        cosine_above=None if near is None else REPEATS_ABOVE,
        near=near,
    )


def texts_of(entry: Entry) -> Iterator[str]:
    """Yield the texts of a source's row; of a row that its format refuses, the evidence."""
    values = entry.values
    yield from (values[name] for name in (*_ASKED, *_SAID) if values.get(name))
    yield from (turn.text for turn in values.get("history", ()))
    yield from (text for side in values.get("sides", ()) for text in side)
    if not values and entry.evidence:
        yield entry.evidence


def _asked(entry: Entry) -> str:
    return next((entry.values[name] for name in _ASKED if entry.values.get(name)), "")
