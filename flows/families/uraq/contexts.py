"""The contexts of evaluation rows, drawn from texts that have nothing to do with a question (section 4.2).

The paper draws contexts from knowledge "that excludes any information directly related to the current question". A
question of four steps rests on more facts than its pair states: beside a question that needs the storming
of the Bastille, "Parisian crowds stormed the Bastille in 1816" is a second relevant context.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flows.construct.draws import Members, members_of, random_order
from flows.construct.embed import Embedder
from flows.construct.engine import StepContext
from flows.construct.rows_on_disk import RowsOnDisk
from flows.construct.sequences_on_disk import SequenceOnDisk
from flows.construct.word_index import WordIndex
from flows.families.uraq import conflicts
from flows.families.uraq.settings import UraqSettings
from flows.language import en
from schemas.base import Record, content_hash
from schemas.uraq import Conflict, StatementPair, UraqItem

IntArray = NDArray[np.int32]

EMBEDDED_AT_ONCE = 256
"""Questions whose texts are embedded together, some 14 of each: with fewer, passes of the model are half empty."""

NEARBY = 0.3
"""Above this cosine a statement is related to a question that it shares a word with (our choice; by the packaged
model, unrelated statements mostly stay below it)."""
COMMON_ABOVE, COMMON_FROM = 0.5, 10
"""A word that more than this share of so many pairs or more have tells no fact from another (our choice): all that is
said in the manual of a product has the product's name, and of such a pool no context would be left."""
DIGITS_OF_A_NAME = 3
"""A number with this many digits (a year, say) identifies a fact like a name."""
URAQ = "uraq"
"""The data set of URAQ's own items; a conflict's data set is its source."""
MORE = "more statements fill them, or lower families.uraq.context_counts"


def dataset_of(record: UraqItem | Conflict) -> str:
    """The data set that a question belongs to."""
    return URAQ if isinstance(record, UraqItem) else record.source


# ---- drawing ----


@dataclass(frozen=True)
class DrawnContexts:
    """The contexts drawn for every question, and the counts that cannot be filled."""

    texts: Mapping[str, Sequence[str]]
    """By data set, the texts that its contexts are drawn from."""
    counts: Mapping[str, tuple[int, ...]]
    """By data set, the context counts that at least one of its questions can fill."""
    drawn: Mapping[str, Mapping[str, IntArray]]
    """By data set and question, the places in `texts` of its contexts in the order drawn; at most the largest count."""
    notes: tuple[str, ...]


def draw_contexts(step: StepContext[UraqSettings, UraqItem | Conflict]) -> DrawnContexts:
    """Section 4.2: draw each question's contexts from unrelated texts, without replacement.

    Items draw on every statement kept by dedupe and its manipulated variant; conflicts on the evidence, both ways, of
    the conflicts of the same source. So all contexts of a row are of a kind, as in table 1 (whose DisentQA rows have
    59,000 tokens at 64 contexts: documents, not statements). A count that no question of a data set can fill is left
    out; if only some can, the rows of the others are dropped.

    A question draws from the texts that were there when it came. The place of a text in the draw depends on the two
    alone, so texts that are added or removed, and other counts, leave the rest of the draw as it was.
    """
    names = sorted({dataset_of(record) for record in step.inputs})
    datasets = {name: _draw(name, step) for name in names}
    return DrawnContexts(
        {name: drawn.texts for name, drawn in datasets.items()},
        {name: drawn.counts for name, drawn in datasets.items()},
        {name: drawn.places for name, drawn in datasets.items()},
        tuple(drawn.note for drawn in datasets.values() if drawn.note),
    )


class _Drawn(NamedTuple):
    """The contexts drawn for the questions of one data set; see `DrawnContexts`."""

    texts: Sequence[str]
    counts: tuple[int, ...]
    places: Mapping[str, IntArray]
    note: str


def _draw(dataset: str, step: StepContext[UraqSettings, UraqItem | Conflict]) -> _Drawn:
    settings = step.settings
    pairs: Iterable[StatementPair | Conflict] = (
        step.used("statements", StatementPair)
        if dataset == URAQ
        else (conflict for conflict in step.used("conflicts", Conflict) if conflict.source == dataset)
    )
    records = (record for record in step.inputs if dataset_of(record) == dataset)
    wanted = sorted(set(settings.context_counts if dataset == URAQ else conflicts.context_counts(dataset)))
    candidates = ContextCandidates(pairs, step.embedder, settings.related_above, step.arrival)
    most = 0

    def drawn() -> Iterator[tuple[str, IntArray]]:
        nonlocal most
        for record, unrelated in candidates.unrelated_to(records, step.embedder):
            available = unrelated[candidates.arrivals[unrelated] <= step.arrival(record)]
            most = max(most, len(available))
            seed = int(content_hash(step.seed, "contexts", record.key), 16)
            yield record.id, available[random_order(candidates.members[available], seed)[: max(wanted)]]

    places = RowsOnDisk(drawn())
    left_out = ", ".join(str(count) for count in wanted if count > most)
    note = (
        f"context counts left out for {dataset}: {left_out} (of the pool of {len(candidates.texts)}, at most {most} "
        f"contexts are unrelated to a question): {MORE if dataset == URAQ else 'more questions of it fill them'}"
    )
    counts = tuple(count for count in wanted if count <= most)
    return _Drawn(candidates.texts, counts, places, note if left_out else "")


# ---- relatedness ----


@dataclass(frozen=True)
class Basis:
    """The texts, names and words that a question rests on."""

    texts: tuple[str, ...]
    """The question, both sides, and each step with its result on either side: a related context is close to any."""
    names: frozenset[str]
    """Words of its names, and its long numbers: they identify a fact in other words."""
    words: frozenset[str]
    """Its content words; none for documents, since two documents always share some."""

    @classmethod
    def of(cls, record: UraqItem | Conflict) -> "Basis":
        """The basis of an item with all its steps; for a question of other data, as far as it is known."""
        sides = (record.question, record.original, record.manipulated)
        if isinstance(record, Conflict):
            answers = () if record.answer_type == "boolean" else (record.answer_original, record.answer_manipulated)
            return cls(sides, _names([record.question], answers), frozenset())
        results = [result for step in record.steps for result in (step.original, step.manipulated)]
        texts = [*sides, *(step.text for step in record.steps), *results]
        steps = [f"{step.text}: {result}" for step in record.steps for result in (step.original, step.manipulated)]
        return cls(
            tuple(dict.fromkeys([*sides, *steps])),
            _names(texts, results),
            frozenset().union(*map(en.content_words, texts)),
        )


def _names(texts: Iterable[str], results: Iterable[str]) -> frozenset[str]:
    """The words of the names in `texts`, the capitalised words of `results`, and the long numbers of both."""
    names = [entity.text for text in texts for entity in en.entities(text) if entity.is_name]
    names += [word for result in results for word in result.split() if word[:1].isupper()]
    numbers = {word for text in (*texts, *results) for word in en.words(text) if word.isdigit()}
    return frozenset(
        {word for name in names for word in en.words(name) if word not in en.STOP_WORDS}
        | {number for number in numbers if len(number) >= DIGITS_OF_A_NAME}
    )


class ContextCandidates:
    """Pairs of texts that contexts are drawn from. The texts are on disk, and so are their words and vectors if many.

    A pair is related to a question if either of its texts is: what the manipulated variant of a fact does not show,
    the original may, and the other way round.
    """

    def __init__(
        self,
        pairs: Iterable[StatementPair | Conflict],
        embedder: Embedder,
        related_above: float,
        arrival: Callable[[Record], int],
    ) -> None:
        came = array("i")
        self._sides_on_disk = SequenceOnDisk[str]()
        for pair in pairs:
            came.append(arrival(pair))
            self._sides_on_disk.append(pair.original)
            self._sides_on_disk.append(pair.manipulated)
        members = members_of(self._sides_on_disk)
        _, firsts, numbers = np.unique(members, return_index=True, return_inverse=True)
        ordered = np.sort(firsts)
        self.texts = self._sides_on_disk.at(ordered)
        """Each text once."""
        self.members: Members = members[ordered]
        self._sides = np.searchsorted(ordered, firsts)[numbers].astype(np.int32).reshape(-1, 2)
        self.arrivals = np.full(len(ordered), np.iinfo(np.int32).max, np.int32)
        """For each text, the release with which it came."""
        np.minimum.at(self.arrivals, self._sides, np.array(came)[:, None])
        self._related_above = related_above
        self._vectors = embedder.embed(self.texts)

    @cached_property
    def _by_word(self) -> WordIndex:
        return self._pairs_by(en.words)

    @cached_property
    def _by_content_word(self) -> WordIndex:
        return self._pairs_by(en.content_words)

    def _pairs_by(self, words_of: Callable[[str], Iterable[str]]) -> WordIndex:
        sides = self._sides_on_disk
        return WordIndex({*words_of(one), *words_of(other)} for one, other in zip(sides[::2], sides[1::2], strict=True))

    def unrelated_to(
        self, records: Iterable[UraqItem | Conflict], embedder: Embedder
    ) -> Iterator[tuple[UraqItem | Conflict, IntArray]]:
        """Each question with the places of the texts that are unrelated to it: most of all texts."""
        stream = iter(records)
        while some := list(islice(stream, EMBEDDED_AT_ONCE)):
            bases = [Basis.of(record) for record in some]
            vectors = embedder.embed([text for basis in bases for text in basis.texts])
            ends = np.cumsum([len(basis.texts) for basis in bases]).tolist()
            for record, basis, end in zip(some, bases, ends, strict=True):
                yield record, self._unrelated(basis, vectors[end - len(basis.texts) : end])

    def _unrelated(self, basis: Basis, vectors: NDArray[np.float32]) -> IntArray:
        cosines = np.round((self._vectors @ vectors.T).max(axis=1), 5)[self._sides].max(axis=1)
        related = cosines > self._related_above
        for word in basis.names:
            related[self._telling(self._by_word.places(word))] = True
        near = cosines > NEARBY
        for word in basis.words:
            places = self._telling(self._by_content_word.places(word))
            related[places] |= near[places]
        left = np.ones(len(self.texts), bool)
        left[self._sides[related].ravel()] = False
        return np.flatnonzero(left).astype(np.int32)

    def _telling(self, places: IntArray) -> IntArray:
        """The pairs that have a word; none if it is common."""
        pairs = len(self._sides)
        return places[:0] if pairs >= COMMON_FROM and len(places) > COMMON_ABOVE * pairs else places
