"""What the other pairs of a dataset name and say: names and sentences to confuse with, and to replace by."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from flows.families.lveval.library import is_yes_or_no
from flows.language import language_of
from schemas.base import Frozen
from schemas.lveval import Pair

NameType = Literal["person", "place", "organisation"]
NAMED: tuple[NameType, ...] = get_args(NameType)
OTHERS = 24
"""Names that are offered in place of one, at most."""
SENTENCES = 12
"""Sentences of other pairs that are offered, at most."""
LONGEST = {"en": 45, "zh": 90}
SHORTEST = {"en": 5, "zh": 10}
"""Words (characters) of such a sentence."""
_KEPT = 16384


class Alternatives(Frozen):
    """Something that is named, and what else of its kind other documents name."""

    name: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class Said:
    """A sentence of a supporting document."""

    text: str
    pair_id: str
    words: frozenset[str]
    opens_with: tuple[str, NameType] | None
    """The name that it begins with."""


@lru_cache(_KEPT)
def names(language: str, text: str) -> tuple[tuple[str, NameType], ...]:
    """The persons, places and organisations that `text` names, in order, each once."""
    module = language_of(language)
    spans = [(*span, of) for of in NAMED for span in module.spans_of_type(text, of)]
    found: dict[str, NameType] = {}
    for start, end, of in sorted(spans):
        found.setdefault(text[start:end], of)
    return tuple((name, of) for name, of in found.items() if len(name) > 1)


@dataclass(frozen=True)
class Pool:
    """Names and sentences of all pairs of a dataset."""

    language: str
    names: Mapping[NameType, tuple[str, ...]]
    answers: Mapping[str, tuple[str, ...]]
    """Kind -> answers of that kind."""
    said: tuple[Said, ...]
    holding: Mapping[str, tuple[int, ...]]
    """Content word -> the sentences that hold it."""

    def candidates(self, pair: Pair, texts: Sequence[str], rng: random.Random) -> tuple[Alternatives, ...]:
        """For the answers and every name of question and texts, others of its kind that the pair's texts lack."""
        module = language_of(self.language)
        known = "\n".join((pair.question, *pair.answers, *(document.text for document in pair.documents)))
        wanted: dict[str, Sequence[str]] = {}
        for text in (pair.question, *texts):
            for name, of in names(self.language, text):
                wanted.setdefault(name, self.names[of])
        for answer in pair.answers:
            if not is_yes_or_no(answer):
                kind = self.answers.get(module.kind(answer, pair.question), ())
                wanted[answer] = [*kind, *wanted.get(answer, ())]
        return tuple(
            Alternatives(name=name, others=others)
            for name, these in wanted.items()
            if (others := self._unknown(name, these, known, rng))
        )

    def _unknown(self, name: str, others: Sequence[str], known: str, rng: random.Random) -> tuple[str, ...]:
        module = language_of(self.language)
        drawn = rng.sample(others, min(len(others), 3 * OTHERS))
        own = module.content_words(name)
        fit = (one for one in drawn if not module.contains(known, one) and not own & module.content_words(one))
        return tuple(dict.fromkeys(fit))[:OTHERS]

    def like(self, pair: Pair) -> tuple[str, ...]:
        """The sentences on other pairs' documents that share most content words with the question."""
        asked = language_of(self.language).content_words(pair.question)
        shared = Counter(number for word in sorted(asked) for number in self.holding.get(word, ()))
        ranked = sorted(shared, key=lambda number: (-shared[number], number))
        found = (self.said[number] for number in ranked[: 4 * SENTENCES])
        return tuple(one.text for one in found if not _own(one, pair))[:SENTENCES]

    def of_others(self, pair: Pair, rng: random.Random) -> tuple[Alternatives, ...]:
        """For each name of the question: sentences of other pairs that begin with a name of its type.

        Each is given as the name that it begins with, and the sentence.
        """
        found = []
        for name, of in names(self.language, pair.question):
            told = [one for one in self.said if one.opens_with and one.opens_with[1] == of and not _own(one, pair)]
            for one in rng.sample(told, min(len(told), SENTENCES)):
                assert one.opens_with is not None
                found.append(Alternatives(name=name, others=(one.opens_with[0], one.text)))
        return tuple(found)


def _own(said: Said, pair: Pair) -> bool:
    """Whether the pair's own documents say it: several pairs may be about one document."""
    return said.pair_id == pair.id or any(said.text in document.text for document in pair.documents)


def pool_of(language: str, pairs: Iterable[Pair]) -> Pool:
    """The pool of a dataset's pairs."""
    module = language_of(language)
    named: dict[NameType, set[str]] = {of: set() for of in NAMED}
    answers: dict[str, set[str]] = defaultdict(set)
    said: list[Said] = []
    for pair in pairs:
        for answer in pair.answers[:1]:
            if not is_yes_or_no(answer):
                answers[module.kind(answer, pair.question)].add(answer)
        for text in (pair.question, *(document.text for document in pair.documents)):
            for name, of in names(language, text):
                named[of].add(name)
        for sentence in dict.fromkeys(one for document in pair.documents for one in module.sentences(document.text)):
            if SHORTEST[language] <= module.count(sentence) <= LONGEST[language] and "\n" not in sentence:
                first = next(((name, of) for name, of in names(language, sentence) if sentence.startswith(name)), None)
                said.append(Said(sentence, pair.id, module.content_words(sentence), first))
    holding: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(said):
        for word in one.words:
            holding[word].append(number)
    return Pool(
        language,
        {of: tuple(sorted(own)) for of, own in named.items()},
        {kind: tuple(sorted(own)) for kind, own in answers.items()},
        tuple(said),
        {word: tuple(numbers) for word, numbers in holding.items()},
    )
