"""What the other pairs of a dataset name: names to replace by."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from flows.language import language_of
from flows.language.choices import is_yes_or_no
from schemas.base import Frozen
from schemas.lveval import Pair

NameType = Literal["person", "place", "organisation"]
NAMED: tuple[NameType, ...] = get_args(NameType)
OTHERS = 24
"""Names that are offered in place of one, at most."""
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
    """Names of all pairs of a dataset."""

    language: str
    names: Mapping[NameType, tuple[str, ...]]
    answers: Mapping[str, tuple[str, ...]]
    """Kind -> answers of that kind."""

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


def pool_of(language: str, pairs: Iterable[Pair]) -> Pool:
    """The pool of a dataset's pairs."""
    module = language_of(language)
    named: dict[NameType, set[str]] = {of: set() for of in NAMED}
    answers: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
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
    )
