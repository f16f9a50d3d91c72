"""What of a release stands in other data sets too: for the card, so that its readers can judge by themselves."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from data.sources import Entry, SourceSpec, read_entries
from flows.construct.embed import Embedder
from flows.construct.overlap import measure_of, nearest_cosines, shared_ngrams
from flows.construct.retrieve import REPEATS_ABOVE
from schemas.base import Record
from schemas.release import Contamination

SHOWN = 5
"""Rows that overlap whose keys are told."""
DECIMALS = 6
"""To which cosines are counted: below it lies floating-point noise."""
_ASKED = ("question", "hard_utterance", "easy_utterance", "last_utterance", "text")
_SAID = ("evidence", "knowledge", "response", "reference")


class RowTexts(NamedTuple):
    """What of a released row is compared."""

    key: str
    language: str
    asked: str
    """What it asks, or says where it asks nothing: it is compared by meaning as well."""
    texts: tuple[str, ...]
    """All of its texts, the one that asks among them."""

    @classmethod
    def of(cls, record: type[Record], values: Mapping[str, Any]) -> "RowTexts":
        """Of a row's values, by what its record type declares in `TEXTS`; without a language it is English."""
        texts = tuple(text for name in record.TEXTS for text in _strings(values[name]))
        return cls(values["key"], values.get("language") or "en", texts[0] if texts else "", texts)


def contamination_of(
    config: str,
    rows: Callable[[], Iterable[RowTexts]],
    spec: SourceSpec,
    embedder: Embedder,
    languages: Collection[str],
) -> Contamination:
    """Compare the rows of a configuration with a data set, by n-grams (`flows/construct/overlap.py`) and by meaning.

    By meaning only where `languages`, those that the embedder reads, has the data set's. `rows()` may be called
    several times. Raises `SourceError`.
    """
    measure = measure_of(spec.language)

    def ours() -> Iterator[RowTexts]:
        return (row for row in rows() if row.language == spec.language)

    found = shared_ngrams(
        lambda: ((row.key, row.texts) for row in ours()),
        (text for entry in read_entries(spec) for text in texts_of(entry)),
        measure,
    )
    near = None
    if spec.language in languages:
        asked: dict[str, int] = {}
        for row in ours():
            if row.asked and embedder.reads(row.asked):
                asked[row.asked] = asked.get(row.asked, 0) + 1
        theirs = (text for entry in read_entries(spec) if (text := _asked(entry)) and embedder.reads(text))
        cosines = nearest_cosines(list(asked), theirs, embedder)
        above = (round(float(cosine), DECIMALS) > REPEATS_ABOVE for cosine in cosines)
        near = sum(count for count, one in zip(asked.values(), above, strict=True) if one)
    return Contamination(
        config=config,
        dataset=spec.name,
        language=spec.language,
        unit=measure.unit,
        ngram=measure.ngram,
        shortest=measure.shortest,
        rows=found.rows,
        compared=found.compared,
        overlapping=len(found.overlapping),
        examples=tuple(sorted(found.overlapping)[:SHOWN]),
        cosine_above=None if near is None else REPEATS_ABOVE,
        near=near,
    )


def texts_of(entry: Entry) -> Iterator[str]:
    """The texts of a source's row; of one that its format refuses, what it shows of it."""
    values = entry.values
    yield from (values[name] for name in (*_ASKED, *_SAID) if values.get(name))
    yield from (turn.text for turn in values.get("history", ()))
    yield from (text for side in values.get("sides", ()) for text in side)
    if not values and entry.evidence:
        yield entry.evidence


def _asked(entry: Entry) -> str:
    return next((entry.values[name] for name in _ASKED if entry.values.get(name)), "")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)
