"""Confusing facts without a model (section 3.2.2): the first of a language's rules that pass the checks."""

import random
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from flows.families.lveval.confusing_facts import CHANGES, CandidateFact, fact_problem, subjects
from flows.families.lveval.inputs import ConfusingFacts, ToConfuse
from flows.families.lveval.rules.facts_en import EnglishFacts
from flows.families.lveval.rules.facts_zh import facts as chinese_facts
from flows.families.lveval.rules.sentences_en import Collection
from flows.language import language_of
from flows.language.choices import is_yes_or_no
from flows.llm.model import Invalid
from schemas.lveval import Changed

OFFERED = 3  # facts of each kind to choose from
LEAST_COMMON = 2
"""Content words, apart from names, that a fact shares with question or original unless it restates the question."""
MOST_OF_ANSWER, MOST_OF_ORIGINAL = 0.5, 0.75
"""Share of the content words of an answer, and of the original, that a lifted fact may have."""
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]")


def confusing_facts(asked: ToConfuse, rng: random.Random) -> ConfusingFacts:
    """Return the best fact of each kind, empty if there is none. Raises `Invalid` if both are missing."""
    subject_facts, object_facts = candidate_facts(asked, random.Random(asked.seed))
    if not subject_facts and not object_facts:
        raise Invalid("nothing parallel to be said", asked.fact)
    return ConfusingFacts(
        subject=next(iter(subject_facts), ""),
        object=next((fact for fact in object_facts if fact not in subject_facts[:1]), ""),
    )


def candidate_facts(asked: ToConfuse, rng: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the subject and object facts that pass, best first; no object fact repeats the first subject fact."""
    if asked.language == "zh":
        candidates = chinese_facts(asked, asked.documents, rng)
    else:
        english = EnglishFacts(asked, asked.documents, _collection(asked.collection), rng)
        candidates = english.subject_facts(), english.object_facts()
    subject_facts, object_facts = (_passing(asked, *of_kind) for of_kind in zip(CHANGES, candidates, strict=True))
    for first in subject_facts:
        if others := tuple(fact for fact in object_facts if not _says_no_more(asked.language, first, fact)):
            return tuple(sorted(subject_facts, key=lambda fact: fact != first)), others
    return subject_facts, () if subject_facts else object_facts


@lru_cache(2)  # the English datasets with confusing facts
def _collection(documents: tuple[str, ...]) -> Collection:
    return Collection(tuple(dict.fromkeys(documents)))


def _says_no_more(language: str, fact: str, other: str) -> bool:
    """Return whether either fact has all content words of the other."""
    words, others = (language_of(language).content_words(text) for text in (fact, other))
    return words <= others or others <= words


def _passing(asked: ToConfuse, change: Changed, candidates: Iterable[CandidateFact]) -> tuple[str, ...]:
    """Return the first few facts that pass, each once."""
    answers = [_ASIDE.sub("", answer).strip(" .。") for answer in asked.answers]
    answers = [answer for answer in answers if not is_yes_or_no(answer)]
    contains = language_of(asked.language).contains
    passing: dict[str, None] = {}
    for fact, stated, lifted in candidates:
        if (
            fact_problem(asked, change, fact) is None
            and (stated or _bears_on(asked, fact))
            and not (lifted and _tells_again(asked, change, answers, fact))
            and not any(fact in document for document in asked.documents)
            and not any(contains(fact, answer) for answer in answers)
        ):
            passing[fact] = None
            if len(passing) == OFFERED:
                break
    return tuple(passing)


def _bears_on(asked: ToConfuse, fact: str) -> bool:
    """Return whether a fact shares more with question or original than the names of the question."""
    words = language_of(asked.language).content_words
    common = words(fact) & words(f"{asked.question}\n{asked.fact}")
    named = subjects(asked.language, asked.question)
    return sum(not any(word in name for name in named) for word in common) >= LEAST_COMMON


def _tells_again(asked: ToConfuse, change: Changed, answers: Sequence[str], fact: str) -> bool:
    """Return whether it has most words of an answer ("Cobham's thesis": "Cobham–Edmonds thesis"), or the original."""
    words = language_of(asked.language).content_words
    words_of_fact, of_question, original = words(fact), words(asked.question), words(asked.fact)
    new_in_answers = [words(answer) - of_question for answer in answers]
    return any(
        new and (new <= words_of_fact or len(new & words_of_fact) > MOST_OF_ANSWER * len(new)) for new in new_in_answers
    ) or (change == "object" and len(original & words_of_fact) > MOST_OF_ORIGINAL * len(original))
