"""Confusing facts for the builder without a model (section 3.2.2): `parallels_en.py`, `parallels_zh.py`.

Of what the rules of a language make, the first few that pass the check of facts are offered. What cannot be said
soundly is left out.
"""

import random
import re
from collections.abc import Iterable, Sequence

from flows.families.lveval import parallels_en, parallels_zh
from flows.families.lveval.confusing import CHANGES, fact_problem, subjects
from flows.families.lveval.parallels_en import Made
from flows.families.lveval.prompts import ToConfuse
from flows.families.lveval.sayings_en import Collection
from flows.language import language_of
from flows.language.choices import is_yes_or_no
from schemas.lveval import Changed, Pair

OFFERED = 3
"""Facts of either kind that the rules may choose from."""
LEAST_COMMON = 2
"""Content words, but names, of question or original in a fact that is not the question's own statement."""
MOST_OF_ANSWER, MOST_OF_ORIGINAL = 0.5, 0.75
"""Share of an answer's content words, and of the original's, in a fact that is not the question's own statement."""
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]")


class Parallels:
    """What confusing facts can be made of, for each of a dataset's pairs."""

    def __init__(self, language: str, documents: Iterable[str]) -> None:
        every = list(dict.fromkeys(documents))
        self._collection = Collection(every if language == "en" else [])

    def facts(self, asked: ToConfuse, pair: Pair, rng: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Subject and object facts that pass, the best first; no object fact says what the first subject fact says."""
        documents = [document.text for document in pair.documents]
        if asked.language == "zh":
            made = parallels_zh.facts(asked, documents, rng)
        else:
            made = parallels_en.facts(asked, documents, self._collection, rng)
        subject, other = (_sound(asked, change, of, documents) for change, of in zip(CHANGES, made, strict=True))
        for one in subject:
            if rest := tuple(fact for fact in other if not _is_held(asked.language, one, fact)):
                return tuple(sorted(subject, key=lambda fact: fact != one)), rest
        return subject, () if subject else other


def _is_held(language: str, fact: str, other: str) -> bool:
    """Whether one of two facts says no more than the other."""
    said, again = (language_of(language).content_words(one) for one in (fact, other))
    return said <= again or again <= said


def _sound(asked: ToConfuse, change: Changed, made: Iterable[Made], documents: Sequence[str]) -> tuple[str, ...]:
    """The first few that pass, each once."""
    answers = [_ASIDE.sub("", answer).strip(" .。") for answer in asked.answers]
    answers = [answer for answer in answers if not is_yes_or_no(answer)]
    module = language_of(asked.language)
    found: dict[str, None] = {}
    for fact, stated, lifted in made:
        passes = fact_problem(asked, change, fact) is None and (stated or _bears_on(asked, fact))
        passes = passes and not (lifted and _tells_again(asked, change, answers, fact))
        if (
            passes
            and not any(fact in one for one in documents)
            and not any(module.contains(fact, one) for one in answers)
        ):
            found[fact] = None
            if len(found) == OFFERED:
                break
    return tuple(found)


def _bears_on(asked: ToConfuse, fact: str) -> bool:
    """Whether it is like question or original by more than the names of the question."""
    words = language_of(asked.language).content_words
    common = words(fact) & words(f"{asked.question}\n{asked.fact}")
    named = subjects(asked.language, asked.question)
    return len([one for one in common if not any(one in name for name in named)]) >= LEAST_COMMON


def _tells_again(asked: ToConfuse, change: Changed, answers: Sequence[str], fact: str) -> bool:
    """Whether it has most words of an answer ("Cobham's thesis" of "Cobham–Edmonds thesis"), or of the original."""
    words = language_of(asked.language).content_words
    said, known = words(fact), words(asked.question)
    near = [words(answer) - known for answer in answers]
    original = words(asked.fact)
    return any(one and (one <= said or len(one & said) > MOST_OF_ANSWER * len(one)) for one in near) or (
        change == "object" and len(original & said) > MOST_OF_ORIGINAL * len(original)
    )
