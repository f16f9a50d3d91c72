"""What bears on a question, and so must not stand beside its relevant context (section 4.2).

The paper draws contexts from knowledge "that excludes any information directly related to the current
question". A question of four steps rests on more facts than the one that its pair states: beside a question that
needs the storming of the Bastille, "Parisian crowds stormed the Bastille in 1816" is a second relevant context.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flows.construct.embed import Embedder
from flows.language import en
from schemas.uraq import Conflict, StatementPair, UraqItem

IntArray = NDArray[np.int32]

NEARBY = 0.3
"""Above this cosine a statement bears on a question that it shares a word with (our choice; by the packaged
model, statements that have nothing to do with each other mostly stay below it)."""
DIGITS_OF_A_NAME = 3
"""A number of so many digits (a year, say) tells a fact as a name does."""


@dataclass(frozen=True)
class Rests:
    """What a question rests on."""

    texts: tuple[str, ...]
    """What a context may be near to: the question, both sides, and each step with its result on either side."""
    names: frozenset[str]
    """The words of the names in it, and its long numbers: what tells a fact that is worded otherwise."""
    words: frozenset[str]
    """Its words that carry meaning; of documents none, since two documents always share some."""

    @classmethod
    def of(cls, record: UraqItem | Conflict) -> "Rests":
        """What an item rests on with all its steps; what a question of other data rests on as far as it tells."""
        own = (record.question, record.original, record.manipulated)
        if isinstance(record, Conflict):
            answers = () if record.answer_type == "boolean" else (record.answer_original, record.answer_manipulated)
            return cls(own, _names([record.question], answers), frozenset())
        results = [result for step in record.steps for result in (step.original, step.manipulated)]
        said = [*own, *(step.text for step in record.steps), *results]
        steps = [f"{step.text}: {result}" for step in record.steps for result in (step.original, step.manipulated)]
        return cls(
            tuple(dict.fromkeys([*own, *steps])),
            _names(said, results),
            frozenset().union(*map(en.content_words, said)),
        )


def _names(texts: Iterable[str], results: Iterable[str]) -> frozenset[str]:
    """The words of the names in `texts`, the capitalised words of `results`, and the long numbers of both."""
    named = [entity.text for text in texts for entity in en.entities(text) if entity.is_name]
    named += [word for result in results for word in result.split() if word[:1].isupper()]
    found = {word for name in named for word in en.words(name) if word not in en.STOP_WORDS}
    numbers = {word for text in (*texts, *results) for word in en.words(text)}
    return frozenset(found | {word for word in numbers if word.isdigit() and len(word) >= DIGITS_OF_A_NAME})


class Pool:
    """Pairs of texts that contexts are drawn from, to be asked which of them bear on a question.

    A pair bears on a question if either text does: what cannot be told of the manipulated variant of a fact is told
    of the original, and the other way round.
    """

    def __init__(self, pairs: Sequence[StatementPair | Conflict], embedder: Embedder, related_above: float) -> None:
        self._related_above = related_above
        self.texts = tuple(dict.fromkeys(text for pair in pairs for text in (pair.original, pair.manipulated)))
        place = {text: number for number, text in enumerate(self.texts)}
        self._sides = np.array([(place[one.original], place[one.manipulated]) for one in pairs], np.int32).reshape(
            -1, 2
        )
        self._vectors = embedder.embed(self.texts)
        self._with_word: dict[str, list[int]] = defaultdict(list)
        self._saying: dict[str, list[int]] = defaultdict(list)
        for number, pair in enumerate(pairs):
            both = pair.original, pair.manipulated
            for word in {word for text in both for word in en.words(text)}:
                self._with_word[word].append(number)
            for word in frozenset().union(*map(en.content_words, both)):
                self._saying[word].append(number)

    def unrelated(self, rests: Rests, vectors: NDArray[np.float32]) -> IntArray:
        """The places of the texts that have nothing to do with a question; `vectors` are those of `rests.texts`."""
        cosines = np.round((self._vectors @ vectors.T).max(axis=1), 5)[self._sides].max(axis=1)
        bears = cosines > self._related_above
        bears |= self._holding(self._with_word, rests.names)
        bears |= (cosines > NEARBY) & self._holding(self._saying, rests.words)
        left = np.ones(len(self.texts), bool)
        left[self._sides[bears].ravel()] = False
        return np.flatnonzero(left).astype(np.int32)

    def _holding(self, index: dict[str, list[int]], words: frozenset[str]) -> NDArray[np.bool_]:
        """Which of the pairs hold one of the words."""
        held = np.zeros(len(self._sides), bool)
        for word in words:
            held[index.get(word, [])] = True
        return held


def unrelated(pool: Pool, records: Sequence[UraqItem | Conflict], embedder: Embedder) -> list[IntArray]:
    """For each record, the places of the pool's texts that have nothing to do with it."""
    rests = [Rests.of(record) for record in records]
    vectors = embedder.embed([text for one in rests for text in one.texts])
    ends = np.cumsum([len(one.texts) for one in rests])
    return [
        pool.unrelated(one, vectors[end - len(one.texts) : end]) for one, end in zip(rests, ends.tolist(), strict=True)
    ]
