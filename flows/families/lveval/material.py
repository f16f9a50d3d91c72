"""The facts, rules and keywords of a pair, and the pair after replacement."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from flows.construct.engine import StepContext
from flows.families.lveval.answer_keywords import keywords_after
from flows.families.lveval.distractor_index import BETWEEN
from flows.families.lveval.mixing import Text
from flows.families.lveval.replacement_checks import sides_of
from flows.families.lveval.settings import LVEvalSettings
from flows.language.keywords import apply
from schemas.base import Provenance
from schemas.lveval import AnswerKeywords, ConfusingFact, Pair, Replacements, Rule, RuleConflicts, SourceDocument


@dataclass(frozen=True)
class PairMaterial:
    """The confusing facts, rules and keywords of one pair."""

    facts: tuple[Text, ...] = ()
    rules: tuple[Rule, ...] = ()
    keywords: str = ""
    provenance: tuple[Provenance, ...] = ()
    reviewed: bool = True  # people accepted all of it


def collect_material(
    step: StepContext[LVEvalSettings, Any],
    rules: Iterable[Replacements | RuleConflicts],
    keywords: Iterable[AnswerKeywords],
) -> Mapping[str, PairMaterial]:
    """Collect the facts, rules and keywords of each pair, by the pair's id."""
    parts = [part for part in ("confusing-facts", "conflicts", "keywords") if part in step.uses]
    reviewed = frozenset().union(*map(step.reviewed, parts))
    collected: dict[str, PairMaterial] = defaultdict(PairMaterial)

    def add(record: ConfusingFact | Replacements | RuleConflicts | AnswerKeywords, **changes: Any) -> None:
        before = collected[record.pair_id]
        collected[record.pair_id] = replace(
            before,
            provenance=(*before.provenance, record.provenance),
            reviewed=before.reviewed and record.key in reviewed,
            **changes,
        )

    for fact in step.used("confusing-facts", ConfusingFact):
        add(fact, facts=(*collected[fact.pair_id].facts, Text(fact.id, fact.fact, fact.language)))
    for proposal in rules:
        add(proposal, rules=proposal.rules)
    for marked in keywords:
        add(marked, keywords=marked.keywords)
    return collected


@dataclass(frozen=True)
class ResolvedPair:
    """A pair after replacement, as its rows have it: the same at every level."""

    question: str
    answers: tuple[str, ...]
    keywords: str
    facts: tuple[Text, ...]
    support: tuple[Text, ...]
    rules: tuple[Rule, ...]
    sources: tuple[SourceDocument, ...]
    provenance: dict[str, Any]
    reviewed: bool

    @classmethod
    def of(cls, pair: Pair, material: PairMaterial) -> "ResolvedPair":
        """Replace in question, answers, keywords, supporting documents and facts alike (section 3.2.3)."""
        sides = sides_of(material.rules)
        texts = [
            pair.question,
            *pair.answers,
            *(document.text for document in pair.documents),
            *(fact.text for fact in material.facts),
        ]
        replaced = iter(apply(BETWEEN.join(texts), sides, pair.language).split(BETWEEN) if sides else texts)
        return cls(
            question=next(replaced),
            answers=tuple(islice(replaced, len(pair.answers))),
            keywords=keywords_after(material.keywords, pair.answers[0], sides, pair.language),
            support=tuple(Text(document.id, next(replaced), pair.language) for document in pair.documents),
            facts=tuple(Text(fact.id, next(replaced), pair.language) for fact in material.facts),
            rules=material.rules,
            sources=tuple(SourceDocument.of(document) for document in pair.documents),
            provenance=_provenance(pair, material.provenance).model_dump(mode="json"),
            reviewed=material.reviewed and bool(material.provenance),
        )


def _provenance(pair: Pair, of_material: tuple[Provenance, ...]) -> Provenance:
    every = (pair.provenance, *of_material)
    return Provenance(
        sources=pair.provenance.sources,
        prompts=tuple(dict.fromkeys(prompt for part in every for prompt in part.prompts)),
        parents=tuple(dict.fromkeys((pair.id, *(parent for part in of_material for parent in part.parents)))),
        seed=pair.provenance.seed,
        notes=tuple(dict.fromkeys(note for part in every for note in part.notes)),
    )
