"""Candidates for substitutes: names and answers of the dataset's other pairs; and what earlier versions had."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, get_args

from flows.construct.engine import StepContext
from flows.construct.refresh import drawn_before
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.settings import LVEvalSettings
from flows.language import language_of
from flows.language.choices import is_yes_or_no
from schemas.base import Frozen, content_hash
from schemas.lveval import Pair, PoolDocument, Replacements, Rule

EntityType = Literal["person", "place", "organisation"]
ENTITY_TYPES: tuple[EntityType, ...] = get_args(EntityType)
MOST_OTHERS = 24  # candidates offered for one name, at most
_CACHED_TEXTS = 16384


class Alternatives(Frozen):
    """A name, and others of its type from other documents."""

    name: str
    others: tuple[str, ...]


@lru_cache(_CACHED_TEXTS)
def named_entities(language: str, text: str) -> tuple[tuple[str, EntityType], ...]:
    """The persons, places and organisations that `text` names, in order, each once."""
    module = language_of(language)
    spans = [(*span, of) for of in ENTITY_TYPES for span in module.spans_of_type(text, of)]
    types: dict[str, EntityType] = {}
    for start, end, of in sorted(spans):
        types.setdefault(text[start:end], of)
    return tuple((name, of) for name, of in types.items() if len(name) > 1)


@dataclass(frozen=True)
class Candidates:
    """The names and answers of all pairs of a dataset."""

    language: str
    names: Mapping[EntityType, tuple[str, ...]]
    answers: Mapping[str, tuple[str, ...]]  # kind -> answers of that kind

    @classmethod
    def of(cls, language: str, pairs: Iterable[Pair]) -> "Candidates":
        """Collect the names and answers of `pairs`."""
        module = language_of(language)
        names: dict[EntityType, set[str]] = {of: set() for of in ENTITY_TYPES}
        answers: dict[str, set[str]] = defaultdict(set)
        for pair in pairs:
            if not is_yes_or_no(answer := pair.answers[0]):
                answers[module.kind(answer, pair.question)].add(answer)
            for text in (pair.question, *(document.text for document in pair.documents)):
                for name, of in named_entities(language, text):
                    names[of].add(name)
        return cls(
            language,
            {of: tuple(sorted(values)) for of, values in names.items()},
            {kind: tuple(sorted(values)) for kind, values in answers.items()},
        )

    def for_pair(self, pair: Pair, texts: Sequence[str], salt: float) -> tuple[Alternatives, ...]:
        """Return alternatives for the answers and for each name in the question and `texts`.

        They are of the same type, and stand nowhere in the pair's texts. `salt` shuffles them, each by itself: one more
        or less moves no other.
        """
        module = language_of(self.language)
        texts_of_pair = "\n".join((pair.question, *pair.answers, *(document.text for document in pair.documents)))
        wanted: dict[str, Sequence[str]] = {}
        for text in (pair.question, *texts):
            for name, of in named_entities(self.language, text):
                wanted.setdefault(name, self.names[of])
        for answer in pair.answers:
            if not is_yes_or_no(answer):
                same_kind = self.answers.get(module.kind(answer, pair.question), ())
                wanted[answer] = [*same_kind, *wanted.get(answer, ())]
        return tuple(
            Alternatives(name=name, others=others)
            for name, candidates in wanted.items()
            if (others := self._unknown(name, candidates, texts_of_pair, salt))
        )

    def _unknown(self, name: str, candidates: Sequence[str], texts_of_pair: str, salt: float) -> tuple[str, ...]:
        module = language_of(self.language)
        drawn = heapq.nsmallest(3 * MOST_OTHERS, candidates, key=lambda other: content_hash(salt, name, other))
        words = module.content_words(name)
        unlike = (other for other in drawn if words.isdisjoint(module.content_words(other)))
        return tuple(dict.fromkeys(other for other in unlike if not module.contains(texts_of_pair, other)))[
            :MOST_OTHERS
        ]


@dataclass(frozen=True)
class DatasetTexts:
    """The pairs of a dataset and the texts of its distractors; what is derived from them is computed on demand."""

    language: str
    pairs: Sequence[Pair]
    distractors: Sequence[str]

    @cached_property
    def candidates(self) -> Candidates:
        """Candidates for substitutes."""
        return Candidates.of(self.language, self.pairs)

    @cached_property
    def documents(self) -> tuple[str, ...]:
        """All documents: those of the pairs, then the distractors."""
        return (*(document.text for pair in self.pairs for document in pair.documents), *self.distractors)


@dataclass(frozen=True)
class TextsByDataset:
    """The datasets by name, and by name and release what was there when the pairs of that release came."""

    known: Mapping[str, Dataset]
    texts: Mapping[tuple[str, int], DatasetTexts]


def dataset_texts(step: StepContext[LVEvalSettings, Pair]) -> TextsByDataset:
    """Group the pairs and documents of a step by dataset."""
    pairs = [(step.arrival(pair), pair) for pair in step.inputs]
    used = step.used("documents", PoolDocument) if "documents" in step.uses else ()
    documents = [(step.arrival(document), document) for document in used]
    known = step.settings.known
    texts = {
        (name, release): DatasetTexts(
            known[name].language,
            [pair for came, pair in pairs if pair.dataset == name and came <= release],
            [document.text for came, document in documents if document.dataset == name and came <= release],
        )
        for name, release in sorted({(pair.dataset, came) for came, pair in pairs})
    }
    return TextsByDataset(known, texts)


@dataclass(frozen=True)
class RuleMaterial:
    """What rules are proposed from."""

    texts: TextsByDataset
    before: Mapping[str, tuple[tuple[Rule, ...], ...]]
    """By key, the rules of a pair in the releases before, the last ones last, if they are drawn anew."""

    @property
    def known(self) -> Mapping[str, Dataset]:
        """The datasets by their names in the configuration."""
        return self.texts.known


def rule_material(step: StepContext[LVEvalSettings, Pair]) -> RuleMaterial:
    """Group the pairs by dataset, and collect the rules that they had before."""
    return RuleMaterial(dataset_texts(step), drawn_before(step, Replacements, lambda made: made.rules))
