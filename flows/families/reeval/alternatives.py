"""Alternative answers for the rules to choose from (ReEval, section 3.1).

The paper's model thinks of its own. The rules take one of which the passage is as true as of the old answer: persons,
places and organisations are invented, for what a passage tells of one that is known is not true of another; years and
quantities are near. Of anything else an answer to another question is taken that is close in meaning.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flows.construct.embed import Embedder
from flows.families.reeval import checks
from flows.language import language_of
from flows.language.alternatives import CENTURY, FEW, INVENTED, NUMBER, YEAR, counted_anew, is_plausible, moved
from schemas.reeval import Case

CANDIDATES = 24
"""How many are offered for a case."""
LEAST_LIKE, MOST_LIKE = 0.2, 0.8
"""Cosines of an answer and an alternative: below the first they have nothing in common ("cadmium", "ceramic art"),
above the second they may be two names of one thing."""
_DRAWN = ("person", "number", "date")
"""Types whose members are as good as each other: drawn, not compared."""


@dataclass(frozen=True)
class AnswerPool:
    """The answers of all cases, by what they can stand in for."""

    by_kind: Mapping[tuple[str, str], tuple[str, ...]]
    """(shelf, kind, or the kind without its last part) -> answers, sorted."""
    vectors: Mapping[str, NDArray[np.float32]]
    """Unit vectors of the English answers that are compared; of a Chinese one any of its kind may do."""

    def candidates(self, case: Case, rng: random.Random) -> tuple[str, ...]:
        """Up to `CANDIDATES` alternatives, the best first."""
        fitting = (one for one in self._ordered(case, rng) if checks.alternative_problem(case, one) is None)
        return tuple(one for one, _ in zip(dict.fromkeys(fitting), range(CANDIDATES), strict=False))

    def _ordered(self, case: Case, rng: random.Random) -> Iterator[str]:
        language = language_of(case.language)
        kind = language.kind(case.answer, case.question)
        own = self.by_kind.get((_shelf(case), kind), ())
        of = kind.partition(":")[0]
        if case.language == "en" and of in INVENTED:
            yield from () if is_alone(kind) else INVENTED[of](case.answer, case.evidence, kind.split(":")[1:], rng)
            return
        if case.language == "en" and kind.split(":")[1] == "name":
            return  # a passage on a known work or event is not true of another, and an invented title says nothing
        counted = of in _DRAWN
        if counted or case.answer not in self.vectors:
            others = [one for one in rng.sample(own, len(own)) if is_plausible(case.answer, one)]
            numbers = YEAR if len(YEAR.findall(case.answer)) == 1 else NUMBER
            movable = len(numbers.findall(case.answer)) == 1 and not CENTURY.search(case.answer)
            near = (moved(case.answer, numbers, rng) for _ in range(FEW if movable else 0))
            yield from (one for one in near if is_plausible(case.answer, one))
            yield from counted_anew(case.answer, rng)
            yield from others
            return
        yield from self._nearest(case.answer, own, LEAST_LIKE)
        yield from self._nearest(case.answer, self.by_kind.get((_shelf(case), _sort(kind)), ()), LEAST_LIKE)

    def _nearest(self, answer: str, others: Sequence[str], least: float) -> list[str]:
        """Those close enough in meaning, the closest first, of equals by the alphabet."""
        known = [other for other in others if other in self.vectors]
        likeness = {other: round(float(self.vectors[answer] @ self.vectors[other]), 5) for other in known}
        near = [other for other in known if least <= likeness[other] <= MOST_LIKE]
        return sorted(near, key=lambda other: (-likeness[other], other))


def pool_of(cases: Sequence[Case], embedder: Embedder) -> AnswerPool:
    """Collect the answers of the cases."""
    pool: dict[tuple[str, str], set[str]] = {}
    compared: set[str] = set()
    for case in cases:
        kind = language_of(case.language).kind(case.answer, case.question)
        if kind.startswith("person:") and language_of(case.language).answer_type(case.answer) != "person":
            continue  # "who" asks for companies and believers as well
        for one in (kind, _sort(kind)):
            pool.setdefault((_shelf(case), one), set()).add(case.answer)
        if case.language == "en" and kind.partition(":")[0] not in _DRAWN and embedder.reads(case.answer):
            compared.add(case.answer)
    texts = sorted(compared)
    vectors = embedder.embed(texts) if texts else ()
    by_kind = {kind: tuple(sorted(answers)) for kind, answers in pool.items()}
    return AnswerPool(by_kind, dict(zip(texts, vectors, strict=True)))


def _shelf(case: Case) -> str:
    """Answers of one shelf may stand for each other: in English all; in Chinese those of a source, of one script."""
    return case.language if case.language == "en" else f"{case.language} {case.source}"


def _sort(kind: str) -> str:
    """A kind without its last part, which says of a noun what it ends in and of a name how it stands in a sentence.

    A kind of its own stays what it is: nothing else is of it.
    """
    return kind if is_alone(kind) else kind.rpartition(":")[0]


def is_alone(kind: str) -> bool:
    """Whether a kind holds one answer only: no words told what else could stand in its place."""
    return kind.partition(":")[2].startswith("alone:")
