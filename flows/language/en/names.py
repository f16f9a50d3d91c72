"""Names in English texts: first names and family names of people, countries, states and cities.

First names and family names are those of a US census (`census_*.tsv`), with the commonest of other languages in
`first_names.tsv`; places are those of GeoNames (`places.tsv`), and `countries.tsv` has the words made from countries'
names. All are read when first needed.
"""

import re
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from flows.language import Gender
from flows.language.en.tokens import normal, tokens, word_set
from flows.language.tables import read, rows, word_list

PlaceClass = Literal["country", "state", "city", "continent"]
_FAMILIAR_CITY = 100_000
"""The fewest inhabitants of a city whose name alone means the city."""
_COMMON_SURNAMES = 5000
_SURE = 4.0
"""A first name shows a gender if it is this many times commoner for it."""
_KEPT = 16384
_NOT_FIRST_NAMES = word_list("en", "no first names")
_FURTHER_COUNTRIES = word_list("en", "further countries")
_CONTINENTS = word_list("en", "continents")
TITLES = word_list("en", "titles")
_FEMALE_TITLES = word_set("mrs ms miss dame lady queen princess empress sister duchess countess baroness aunt")
_GENDERLESS_TITLES = word_list("en", "titles of either gender")
SUFFIXES = word_set("jr sr ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi")
PARTICLES = word_set("de da di du del della van von der den la le bin ibn al el st dos das ten ter af av zu")


@cache
def _first_names() -> dict[str, Gender | None]:
    """First names in normal form, and the gender they show."""
    genders_told: dict[str, Gender | None] = {}
    for name, *shares in read("en", "census_first_names"):
        male, female = map(float, shares)
        genders_told[name] = "male" if male > _SURE * female else "female" if female > _SURE * male else None
    by_letter: dict[str, Gender | None] = {"m": "male", "f": "female"}
    for name, letter in rows("en", "first_names"):
        genders_told[normal(name)] = by_letter[letter]
    return {name: gender for name, gender in genders_told.items() if name not in _NOT_FIRST_NAMES}


@cache
def _surnames() -> dict[str, int]:
    return {name: rank for rank, (name,) in enumerate(read("en", "census_surnames"))}


def is_first_name(word: str) -> bool:
    return normal(word) in _first_names()


def is_surname(word: str) -> bool:
    return normal(word) in _surnames()


def is_common_surname(word: str) -> bool:
    return _surnames().get(normal(word), _COMMON_SURNAMES) < _COMMON_SURNAMES


@lru_cache(_KEPT)
def gender(name: str) -> Gender | None:
    """The gender that a person's title or first name shows; None if it shows none."""
    for form in tokens(name).normals:
        if form in TITLES:
            if form not in _GENDERLESS_TITLES:
                return "female" if form in _FEMALE_TITLES else "male"
        elif len(form) > 1:
            return _first_names().get(form)
    return None


@cache
def cities() -> dict[str, tuple[int, str]]:
    """Inhabitants of the largest city of each name, and the code of its country."""
    largest: dict[str, tuple[int, str]] = {}
    for kind, place, inhabitants, country in read("en", "places"):
        name, size = place_key(place), int(inhabitants)
        if kind == "city" and (name not in largest or largest[name][0] < size):
            largest[name] = (size, country)
    return largest


@cache
def _places() -> dict[str, tuple[PlaceClass, int]]:
    """Names of places in lower case; of two places of a name the country, the state, then the larger city."""
    named = {kind: [name for of, name, *_ in read("en", "places") if of == kind] for kind in ("state", "country")}
    places: dict[str, tuple[PlaceClass, int]] = {name: ("city", size) for name, (size, _) in cities().items()}
    places |= {place_key(name): ("continent", 0) for name in _CONTINENTS}
    places |= {place_key(name): ("state", 0) for name in named["state"]}
    places |= {place_key(name): ("country", 0) for name in (*named["country"], *_FURTHER_COUNTRIES)}
    places |= {"new york city": ("city", _FAMILIAR_CITY), "new york": ("city", _FAMILIAR_CITY)}
    return places


def place_key(name: str) -> str:
    """The form in which spellings of a place's name meet."""
    return " ".join(form for form in tokens(name).normals if form != "the")


@lru_cache(_KEPT)
def place_class(name: str) -> PlaceClass | None:
    """Return the class of the place with this name, or None; towns with common names are included."""
    place = _places().get(place_key(name))
    return place[0] if place and name[:1].isupper() else None


@lru_cache(_KEPT)
def is_familiar_place(name: str) -> bool:
    """True if the name alone means the place: a country, state, continent or large city."""
    kind, inhabitants = _places().get(place_key(name), (None, 0))
    return kind is not None and name[:1].isupper() and (kind != "city" or inhabitants >= _FAMILIAR_CITY)


@cache
def classes(part: str) -> dict[str, tuple[str, str]]:
    """Type and class of the nouns in a part of `classes.tsv`: "head", "focus", "common", "mass" or "the"."""
    return {word: (kind, group) for where, word, kind, group in rows("en", "classes") if where == part}


_PEOPLE = re.compile(
    r"[a-z]+(?:ish|ese|ian|ean|ican)|dutch|french|german|welsh|irish|greek|roman|swiss|czech|arabs?|arabic|thai|latin"
)
_LEAST_SPELT = 6
"""The fewest letters of a name of which two spellings may differ in one letter."""


def is_of_a_people(word: str) -> bool:
    """True if a capitalised word names a people or a language, and no person or thing by itself ("English")."""
    return _PEOPLE.fullmatch(normal(word)) is not None


def same_name(word: str, other: str) -> bool:
    """True if two words are the same name, apart from accents and one letter of a long name ("Celeron", "Céloron")."""
    first, second = normal(word), normal(other)
    if first == second or len(first) != len(second) or len(first) < _LEAST_SPELT or first[0] != second[0]:
        return first == second
    return sum(a != b for a, b in zip(first, second, strict=True)) <= 1


class Country(NamedTuple):
    """A country that English texts speak of often."""

    code: str
    name: str
    adjectives: tuple[str, ...]
    """Words for things from it and for its people: "Danish", "Danes"."""
    region: str
    """Countries of the same region may replace each other; empty if no other is similar."""
    people: str
    """The people whose invented names (`invented_names.tsv`) sound like its own; empty if there is none."""


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
    """The countries that a text names, or whose people or things it mentions, in order."""
    return [countries()[name] for name in _named().findall(text)]


def country_of_city(name: str) -> Country | None:
    """The country of a city; None if neither is known."""
    _, code = cities().get(place_key(name), (0, ""))
    return next((country for country in countries().values() if country.code == code), None)
