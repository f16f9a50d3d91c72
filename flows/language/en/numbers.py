"""English numbers and dates: the value of an expression, and the other ways to write it."""

import re
from functools import lru_cache
from typing import NamedTuple

from flows.language.en.tokens import CARDINALS, MONTHS, ORDINALS, normal, ordinal_ending

SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORD_OF = {int(value): word for word, value in CARDINALS.items()}
_ORDINAL_WORD_OF = {value: word for word, value in ORDINALS.items()}
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
LARGEST_SPELT = 999
"""The largest number that is written in words."""
FIRST_YEAR, LAST_YEAR = 1000, 2100
_ONES, _TEENS, _TENS = (
    "|".join(words) for words in (list(CARDINALS)[1:10], list(CARDINALS)[10:20], list(CARDINALS)[20:])
)
_SCALE = "|".join(name for name in SCALES if name != "trillion")
NUMBER_WORDS = (
    rf"(?<![\w-])(?:(?:{_TENS})-(?:{_ONES})|{_TENS}|{_TEENS}|{_ONES})"
    rf"(?: (?:{_SCALE})|(?<=hundred) and (?:(?:{_TENS})-(?:{_ONES})|{_TENS}|{_TEENS}|{_ONES}))*(?![\w-])"
)
"""Pattern of a number in words, as `value_of` reads it once its hyphens are spaces."""


def spelt(value: int) -> str:
    """`value` in words, from 0 to `LARGEST_SPELT`: "twenty-one", "three hundred and five"."""
    if value in _WORD_OF:
        return _WORD_OF[value]
    if value < 100:
        return f"{_WORD_OF[value // 10 * 10]}-{_WORD_OF[value % 10]}"
    hundreds = f"{_WORD_OF[value // 100]} hundred"
    return hundreds if value % 100 == 0 else f"{hundreds} and {spelt(value % 100)}"


def spelt_ordinal(value: int) -> str | None:
    """`value` as an ordinal in words, up to the twentieth."""
    return _ORDINAL_WORD_OF.get(f"{value}{ordinal_ending(value)}")


def value_of(words: tuple[str, ...]) -> float | None:
    """Return the number that the words give ("2", "million"; "twenty", "one"; "1,000"); None if they give none."""
    forms = [normal(word) for word in words if word != "and"]
    if not forms:
        return None
    total, current = 0.0, None
    for form in forms:
        if _DIGITS.fullmatch(form):
            figure = float(form)
            if (
                current is not None
                and not (20 <= current % 100 < 100 and current % 10 == 0 and figure < 10)
                and (current % 100 or figure >= 100)
            ):
                return None
            current = figure if current is None else current + figure
        elif form == "hundred":
            current = 100 * (1 if current is None else current)
        elif form in SCALES:
            total += SCALES[form] * (1 if current is None else current)
            current = 0.0
        else:
            return None
    return total + (current or 0.0)


def ordinal_value(word: str) -> int | None:
    """1 of "first" and of "1st"."""
    match = _ORDINAL.fullmatch(normal(word))
    return int(match.group(1)) if match else None


def is_year(form: str) -> bool:
    """True if the word alone can be a year of four digits."""
    return len(form) == 4 and form.isdigit() and FIRST_YEAR <= int(form) <= LAST_YEAR


class Date(NamedTuple):
    """The parts of a date that an expression names."""

    day: int | None
    month: str | None
    year: int | None


@lru_cache(16384)
def date_of(forms: tuple[str, ...]) -> Date | None:
    """The date that the words give, in any order of day, month and year; None if they are anything else."""
    day = month = year = None
    for form in forms:
        if form in MONTHS and month is None:
            month = form
        elif is_year(form) and year is None:
            year = int(form)
        elif (number := form if form.isdigit() else str(ordinal_value(form) or "")) and day is None:
            if not 1 <= int(number) <= 31:
                return None
            day = int(number)
        else:
            return None
    if (day and not month) or not (month or year):
        return None
    return Date(day, month, year)


def like(number: float, written: str) -> str:
    """A number in the style of `written`: in words, with thousands, or in plain digits."""
    if written[:1].isalpha() and number == int(number) and 0 <= number <= LARGEST_SPELT:
        return spelt(int(number))
    if number != int(number):
        return f"{number:,}" if "," in written or number >= 10_000 else str(number)
    plain = not ("," in written or number >= 10_000)
    return str(int(number)) if plain else f"{int(number):,}"
