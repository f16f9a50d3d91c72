"""Countries, the words made from their names, and whose names sound like theirs (`countries.tsv`)."""

import re
from functools import cache
from typing import NamedTuple

from flows.language.en.names import cities, place_key
from flows.language.tables import rows


class Country(NamedTuple):
    """A country that English texts speak of often."""

    code: str
    name: str
    adjectives: tuple[str, ...]
    """Words for what is from it, and for its people: "Danish", "Danes"."""
    region: str
    """Countries of one region may replace each other; empty if no other is like it."""
    people: str
    """Whose invented names sound like its own (`invented_names.tsv`); empty if there are none."""


@cache
def countries() -> dict[str, Country]:
    """By name, and by each word made from it."""
    by_name: dict[str, Country] = {}
    for code, name, adjectives, region, people in rows("en", "countries"):
        country = Country(code, name, tuple(_ADJECTIVES.findall(adjectives)), region, people)
        by_name |= dict.fromkeys((name, *country.adjectives), country)
    return by_name


_ADJECTIVES = re.compile(r"South \w+|\w+")


@cache
def _named() -> re.Pattern[str]:
    longest_first = sorted(countries(), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(longest_first)})\b")


def named_in(text: str) -> list[Country]:
    """The countries that a text names, or whose people or things it speaks of, in order."""
    return [countries()[name] for name in _named().findall(text)]


def country_of_city(name: str) -> Country | None:
    """The country of a city; None if neither is known."""
    _, code = cities().get(place_key(name), (0, ""))
    return next((country for country in countries().values() if country.code == code), None)
