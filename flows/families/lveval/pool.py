"""What the other pairs of a dataset name and say: names and sentences to confuse with, and to replace by."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, get_args

from flows.construct.retrieve import BM25Index
from flows.families.lveval.library import is_yes_or_no
from flows.language import language_of
from schemas.base import Frozen
from schemas.lveval import Pair

NameType = Literal["person", "place", "organisation"]
NAMED: tuple[NameType, ...] = get_args(NameType)
OTHERS = 24
"""Names that are offered in place of one, at most."""
RANKED = 100
"""Sentences of other documents that are looked at for one pair, at most."""
LONGEST = {"en": 45, "zh": 90}
SHORTEST = {"en": 5, "zh": 10}
"""Words (characters) of such a sentence."""
_KEPT = 16384


class Alternatives(Frozen):
    """Something that is named, and what else of its kind other documents name."""

    name: str
    others: tuple[str, ...]


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
    """Names of all pairs of a dataset, and sentences of all its documents."""

    language: str
    names: Mapping[NameType, tuple[str, ...]]
    answers: Mapping[str, tuple[str, ...]]
    """Kind -> answers of that kind."""
    documents: tuple[str, ...]

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

    @cached_property
    def _sentences(self) -> BM25Index:
        module = language_of(self.language)
        shortest, longest = SHORTEST[self.language], LONGEST[self.language]
        found = (one for text in self.documents for one in module.sentences(text))
        return BM25Index([one for one in dict.fromkeys(found) if shortest <= module.count(one) <= longest])

    def sentences_like(self, text: str, pair: Pair) -> list[str]:
        """The sentences that share most words with the text, the rare ones above all; none of the pair's documents."""
        texts = self._sentences.texts
        ranked = (texts[place] for place in self._sentences.rank([text], RANKED)[0].tolist() if place >= 0)
        return [one for one in ranked if not any(one in document.text for document in pair.documents)]


def pool_of(language: str, pairs: Iterable[Pair], documents: Iterable[str] = ()) -> Pool:
    """The pool of a dataset's pairs, and of its other documents."""
    module = language_of(language)
    named: dict[NameType, set[str]] = {of: set() for of in NAMED}
    answers: dict[str, set[str]] = defaultdict(set)
    texts: list[str] = []
    for pair in pairs:
        texts += [document.text for document in pair.documents]
        for answer in pair.answers[:1]:
            if not is_yes_or_no(answer):
                answers[module.kind(answer, pair.question)].add(answer)
        for text in (pair.question, *(document.text for document in pair.documents)):
            for name, of in names(language, text):
                named[of].add(name)
    return Pool(
        language,
        {of: tuple(sorted(own)) for of, own in named.items()},
        {kind: tuple(sorted(own)) for kind, own in answers.items()},
        (*texts, *documents),
    )
