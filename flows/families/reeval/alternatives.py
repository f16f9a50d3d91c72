"""Alternative answers for the rules to choose from (ReEval, section 3.1).

The paper's model thinks of its own. The rules take one of which the passage is as true as of the old answer: persons,
places and organisations are invented, for what a passage tells of one that is known is not true of another; years and
quantities are near. Of anything else an answer to another question is taken that is close in meaning.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flows.construct.embed import Embedder
from flows.families.reeval import checks
from flows.language import language_of
from flows.language.en_names import classes, gender, place_class
from flows.language.en_phrases import is_dictionary_word
from flows.language.invented import invented_names
from schemas.reeval import Case

CANDIDATES = 24
"""How many are offered for a case."""
LEAST_LIKE, MOST_LIKE = 0.2, 0.8
"""Cosines of an answer and an alternative: below the first they have nothing in common ("cadmium", "ceramic art"),
above the second they may be two names of one thing."""
FEW = 8
_DRAWN = ("person", "number", "date")
"""Types whose members are as good as each other: drawn, not compared."""
_YEAR = re.compile(r"(?<![\d.,])(?:1\d|20)\d\d(?![\d.,–-])")
"""Moved alone where other numbers stand beside it: "15 February 1763"."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_QUANTITY = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
YEARS = 3
"""How far a year is moved at most, and never beyond `LAST_YEAR`."""
LAST_YEAR = 2024
MOST_TIMES = 1.1
"""How many times another quantity may be as large, or as small."""
NEAR = 0.05
"""Share of a quantity by which it is moved, at most."""
LEAST_WORDS = 2
"""Words of a name that says what kind of thing it is."""
NEIGHBOURS = 2
"""How far a number in words is moved, at most."""
_CENTURY = re.compile(r"\d+\s*(?:世纪|世紀|(?:st|nd|rd|th)\b)")
"""Ordinals run out: there is no 54th century yet."""


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
        if case.language == "en" and of in _INVENTED:
            yield from () if is_alone(kind) else _INVENTED[of](case, kind.split(":")[1:], rng)
            return
        if case.language == "en" and kind.split(":")[1] == "name":
            return  # a passage on a known work or event is not true of another, and an invented title says nothing
        counted = of in _DRAWN
        if counted or case.answer not in self.vectors:
            others = [one for one in rng.sample(own, len(own)) if _is_plausible(case.answer, one)]
            numbers = _YEAR if len(_YEAR.findall(case.answer)) == 1 else _NUMBER
            movable = len(numbers.findall(case.answer)) == 1 and not _CENTURY.search(case.answer)
            moved = (_moved(case.answer, numbers, rng) for _ in range(FEW if movable else 0))
            yield from (one for one in moved if _is_plausible(case.answer, one))
            yield from _counted_anew(case.answer, rng)
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


_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def _counted_anew(answer: str, rng: random.Random) -> Iterator[str]:
    """An answer with a number in words ("three museums", "the fourth season") with other numbers in its place."""
    words = answer.split()
    for series in (_COUNTS, _PLACES):
        at = [place for place, word in enumerate(words) if word in series]
        if len(at) == 1:
            others = rng.sample(series, len(series))
            near = [one for one in others if 0 < abs(series.index(one) - series.index(words[at[0]])) <= NEIGHBOURS]
            yield from (" ".join([*words[: at[0]], one, *words[at[0] + 1 :]]) for one in near)


def _is_plausible(answer: str, other: str) -> bool:
    """Whether a number could stand for the answer's: a year near it, a quantity of its order. Other texts could."""
    years = [_YEAR.findall(one) for one in (answer, other)]
    if all(len(one) == 1 for one in years):
        return abs(int(years[0][0]) - int(years[1][0])) <= YEARS
    sizes = [_NUMBER.findall(one) for one in (answer, other)]
    if any(years) or not all(len(one) == 1 and _QUANTITY.fullmatch(one[0]) for one in sizes):
        return True
    first, second = (float(one[0].replace(",", "")) for one in sizes)
    return second <= MOST_TIMES * first and first <= MOST_TIMES * second


def _moved(answer: str, numbers: re.Pattern[str], rng: random.Random) -> str:
    """The answer with its number changed to another as long; a year moves by `YEARS` at most, as does a decade."""

    def other(found: re.Match[str]) -> str:
        digits = found[0]
        if answer[found.end() :].startswith("s"):
            return str(int(digits) + 10 * rng.choice([-1, 1]))
        if len(digits) == 4 and digits.isdigit() and 1000 <= int(digits) <= 2100:
            moved = int(digits) + rng.choice([-1, 1]) * rng.randint(1, YEARS)
            return str(moved if moved <= LAST_YEAR else int(digits) - (moved - int(digits)))
        return _near(digits, rng)

    return numbers.sub(other, answer, count=1)


def _near(digits: str, rng: random.Random) -> str:
    """A number near the given one and as long, with as many noughts at its end and the same point and commas."""
    plain = re.sub(r"\D", "", digits)
    figures = plain.rstrip("0") or plain
    value, length = int(figures), len(figures)
    reach = max(1, round(value * NEAR))
    values = [
        one for one in range(max(1, value - reach), value + reach + 1) if one != value and len(str(one)) == length
    ]
    values = [one for one in values if one % 10] or [value]
    moved = iter(str(rng.choice(values)).zfill(length) + plain[len(figures) :])
    return "".join(next(moved) if one.isdigit() else one for one in digits)


# ---- invented names ----

_HE, _SHE = re.compile(r"\b(?:he|his|him)\b", re.IGNORECASE), re.compile(r"\b(?:she|hers?)\b", re.IGNORECASE)


def _persons(case: Case, shape: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Persons whom nobody knows, of the answer's gender, by as many names; none for kings, saints and lists."""
    if shape[1] not in ("single", "full") or shape[2]:
        return
    names, of = invented_names("en"), shape[0]
    if of not in ("male", "female"):
        told = [bool(pronoun.search(case.evidence)) for pronoun in (_HE, _SHE)]
        of = "female" if told == [False, True] else "male"
    surnames = rng.sample(names["surname"], FEW)
    if shape[1] == "full":
        yield from (f"{first} {last}" for first, last in zip(rng.sample(names[of], FEW), surnames, strict=True))
    else:
        yield from rng.sample(names[of], FEW) if gender(case.answer) else surnames


def _places(case: Case, shape: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Places that are nowhere: a town by a name alone, others with the words that say what they are."""
    words = case.answer.split()
    if shape[0] in ("city", "town") and not any(shape[2:]) and all(word[:1].isupper() for word in words):
        yield from rng.sample(invented_names("en")["town"], FEW)
        return
    yield from _with_its_kind(case, shape, rng)


def _with_its_kind(case: Case, _: Sequence[str], rng: random.Random) -> Iterator[str]:
    """The name with an invented word for its own one, where the others say what kind of thing it is."""
    words = case.answer.split()
    own = [place for place, word in enumerate(words) if _is_own(word)]
    if len(words) < LEAST_WORDS or len(own) != 1 or len(own) == len(words):
        return
    for name in rng.sample(invented_names("en")["town"], FEW):
        yield " ".join([*words[: own[0]], name, *words[own[0] + 1 :]])


def _is_own(word: str) -> bool:
    """Whether a word of a name is what it is called, not what it is."""
    folded = word.casefold()
    if not word[:1].isupper() or folded in classes("head"):
        return False
    return place_class(word) is not None or not is_dictionary_word(folded)


_INVENTED: Mapping[str, Callable[[Case, Sequence[str], random.Random], Iterator[str]]] = {
    "person": _persons,
    "place": _places,
    "organisation": _with_its_kind,
}
