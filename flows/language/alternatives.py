"""Substitutes for an answer or a name: near years and quantities, invented persons, Chinese words of the same kind."""

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache

from flows.language.en.names import gender
from flows.language.en.tokens import CARDINALS, ORDINALS
from flows.language.tables import invented_names, rows

FEW = 8
YEAR = re.compile(r"(?<![\d.,])(?:1\d|20)\d\d(?![\d.,–-])")
"""The only number of several that is moved: "15 February 1763"."""
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_QUANTITY = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
YEARS = 3
"""The most years by which a year is moved; never beyond `LAST_YEAR`."""
LAST_YEAR = 2024
MOST_TIMES = 1.1
"""Largest ratio between two plausible quantities."""
NEAR = 0.05
"""The largest share of a quantity by which it is moved."""
NEIGHBOURS = 2
"""The most steps by which a number in words is moved."""
CENTURY = re.compile(r"\d+\s*(?:世纪|世紀|(?:st|nd|rd|th)\b)")
"""Ordinals run out: there is no 54th century yet."""
_COUNTS = tuple(CARDINALS)[2:13]
_PLACES = tuple(ORDINALS)[:10]


def counted_anew(answer: str, rng: random.Random) -> Iterator[str]:
    """An answer with a number in words ("three museums", "the fourth season") with other numbers in its place."""
    words = answer.split()
    for series in (_COUNTS, _PLACES):
        at = [place for place, word in enumerate(words) if word in series]
        if len(at) == 1:
            before, number, after = words[: at[0]], words[at[0]], words[at[0] + 1 :]
            for other in rng.sample(series, len(series)):
                if 0 < abs(series.index(other) - series.index(number)) <= NEIGHBOURS:
                    yield " ".join([*before, other, *after])


def is_plausible(answer: str, other: str) -> bool:
    """True if a number could replace the answer's: a near year, a quantity of its order; always True of other texts."""
    years = [YEAR.findall(side) for side in (answer, other)]
    if all(len(side) == 1 for side in years):
        return abs(int(years[0][0]) - int(years[1][0])) <= YEARS
    sizes = [NUMBER.findall(side) for side in (answer, other)]
    if any(years) or not all(len(side) == 1 and _QUANTITY.fullmatch(side[0]) for side in sizes):
        return True
    first, second = (float(side[0].replace(",", "")) for side in sizes)
    return second <= MOST_TIMES * first and first <= MOST_TIMES * second


def moved(answer: str, numbers: re.Pattern[str], rng: random.Random) -> str:
    """The answer with its number changed to another as long; a year or a decade moves by `YEARS` at most."""

    def other(match: re.Match[str]) -> str:
        digits = match[0]
        if answer[match.end() :].startswith("s"):
            return str(int(digits) + 10 * rng.choice([-1, 1]))
        if len(digits) == 4 and digits.isdigit() and 1000 <= int(digits) <= 2100:
            year = int(digits) + rng.choice([-1, 1]) * rng.randint(1, YEARS)
            return str(year if year <= LAST_YEAR else int(digits) - (year - int(digits)))
        return _near(digits, rng)

    return numbers.sub(other, answer, count=1)


def _near(digits: str, rng: random.Random) -> str:
    """A number near the given number and as long, with as many zeros at its end and the same point and commas."""
    plain = re.sub(r"\D", "", digits)
    figures = plain.rstrip("0") or plain
    value, length = int(figures), len(figures)
    reach = max(1, round(value * NEAR))
    near = range(max(1, value - reach), value + reach + 1)
    values = [number for number in near if number != value and len(str(number)) == length and number % 10] or [value]
    figure = iter(str(rng.choice(values)).zfill(length) + plain[len(figures) :])
    return "".join(next(figure) if sign.isdigit() else sign for sign in digits)


# ---- invented names ----

_HE, _SHE = re.compile(r"\b(?:he|his|him)\b", re.IGNORECASE), re.compile(r"\b(?:she|hers?)\b", re.IGNORECASE)


def persons(answer: str, text: str, shape: Sequence[str], rng: random.Random, people: str = "") -> Iterator[str]:
    """Invented persons of the answer's gender with as many names; none for kings, saints and lists.

    Their names are of `people` ("german"), where the table has those.
    """
    if shape[1] not in ("single", "full") or shape[2]:
        return
    names, of = invented_names("en"), shape[0]
    if of not in ("male", "female"):
        told = [bool(pronoun.search(text)) for pronoun in (_HE, _SHE)]
        of = "female" if told == [False, True] else "male"
    theirs = f"{people}-" if f"{people}-surname" in names else ""
    surnames = rng.sample(names[f"{theirs}surname"], FEW)
    if shape[1] == "full":
        first_names = rng.sample(names[theirs + of], FEW)
        yield from (f"{first} {last}" for first, last in zip(first_names, surnames, strict=True))
    else:
        yield from rng.sample(names[theirs + of], FEW) if gender(answer) else surnames


# ---- Chinese words that can replace each other: of the same kind and form (`sisters.tsv`) ----


@cache
def _groups() -> dict[str, list[str]]:
    return {word: group.split() for (group,) in reversed(rows("zh", "sisters")) for word in group.split()}


@cache
def _known() -> re.Pattern[str]:
    longest_first = sorted(_groups(), key=len, reverse=True)
    return re.compile(f"(?<![粉橙银金灰深浅淡暗青长短扁东西南北大])(?:{'|'.join(longest_first)})")


def sisters(text: str) -> Iterator[str]:
    """Yield the text with one of the first words that have a sister replaced by it, word by word."""
    for match in _known().finditer(text):
        group = _groups()[match[0]]
        at = group.index(match[0])
        for other in group[at + 1 :] + group[:at]:
            if other not in text:
                yield text[: match.start()] + other + text[match.end() :]
                break
