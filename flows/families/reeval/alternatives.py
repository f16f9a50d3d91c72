"""Answers to other questions, for an alternative answer to be taken from (ReEval, section 3.1).

The paper's model thinks of its own. The rules take one of the same kind, so that it fits the sentence; of a thing
that is neither a person, a number nor a date one that is close in meaning, so that it makes sense.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flows.construct.embed import Embedder
from flows.families.reeval import checks
from flows.language import en, language_of
from flows.language.en_phrases import parts_of_speech
from schemas.reeval import Case

CANDIDATES = 24
"""How many are offered for a case."""
LEAST_LIKE, MOST_LIKE = 0.2, 0.8
"""Cosines of an answer and an alternative: below the first they have nothing in common ("cadmium", "ceramic art"),
above the second they may be two names of one thing."""
NEAR_LIKE = 0.4
"""Cosine that makes up for a kind that is not the same, where the form is."""
LOOSE_PARTS = 3
"""Parts of a kind that must agree where there are too few of the whole kind: "other:common:count:theory"."""
LONGEST_NOUN_PHRASE = 3
FEW = 8
_DRAWN = ("person", "number", "date")
"""Types whose members are as good as each other: drawn, not compared."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
YEARS = 30
"""How far a year is moved at most, and never beyond `LAST_YEAR`."""
LAST_YEAR = 2024
_CENTURY = re.compile(r"\d+\s*(?:世纪|世紀|(?:st|nd|rd|th)\b)")
"""Ordinals run out: there is no 54th century yet."""


@dataclass(frozen=True)
class AnswerPool:
    """The answers of all cases, by what they can stand in for."""

    by_kind: Mapping[tuple[str, str], tuple[str, ...]]
    """(shelf, kind, or the first parts of it) -> answers, sorted."""
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
        counted = kind.partition(":")[0] in _DRAWN
        if counted or case.answer not in self.vectors:
            yield from rng.sample(own, len(own))
            movable = len(_NUMBER.findall(case.answer)) == 1 and not _CENTURY.search(case.answer)
            yield from (_moved(case.answer, rng) for _ in range(FEW if movable else 0))
            return
        yield from self._nearest(case.answer, own, LEAST_LIKE)
        if len(own) <= FEW:
            yield from self._nearest(case.answer, self.by_kind.get((_shelf(case), _loose(kind)), ()), LEAST_LIKE)
            yield from self._nearest(case.answer, self.by_kind.get((_shelf(case), _form(case.answer)), ()), NEAR_LIKE)

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
        for one in (kind, _loose(kind), _form(case.answer) if case.language == "en" else kind):
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


def _loose(kind: str) -> str:
    return ":".join(kind.split(":")[:LOOSE_PARTS])


def _form(answer: str) -> str:
    """Form of an English noun phrase: its article, whether it is a name and whether it is plural.

    Any other answer has a form of its own.
    """
    words = answer.split()
    article = words[0].lower() if words[0].lower() in ("a", "an", "the") else "no article"
    if not _is_noun_phrase(words[article != "no article" :]):
        return f"form:{answer}"
    name = all(word[:1].isupper() for word in words if len(word) > 3)
    return f"form:{article}:{'name' if name else 'common'}:{'plural' if en.is_plural(answer) else 'singular'}"


def _is_noun_phrase(words: Sequence[str]) -> bool:
    """Whether it is a noun, or one with an adjective or noun or two before it, by what the words can be."""
    if not 0 < len(words) <= LONGEST_NOUN_PHRASE or not all(word.isalpha() for word in words):
        return False
    *before, last = map(parts_of_speech, words)
    return "NOUN" in last <= {"NOUN", "VERB"} and all({"NOUN", "ADJ"} & word for word in before)


def _moved(answer: str, rng: random.Random) -> str:
    """The answer with its number changed to another as long; a year moves by `YEARS` at most, as does a decade."""

    def other(found: re.Match[str]) -> str:
        digits = found[0]
        if answer[found.end() :].startswith("s"):
            return str(int(digits) + 10 * rng.choice([-3, -2, -1, 1, 2, 3]))
        if len(digits) == 4 and digits.isdigit() and 1000 <= int(digits) <= 2100:
            moved = int(digits) + rng.choice([-1, 1]) * rng.randint(1, YEARS)
            return str(moved if moved <= LAST_YEAR else int(digits) - (moved - int(digits)))
        first = rng.choice([one for one in "123456789" if one != digits[0]])
        return first + "".join(rng.choice("0123456789") if one.isdigit() else one for one in digits[1:])

    return _NUMBER.sub(other, answer, count=1)
