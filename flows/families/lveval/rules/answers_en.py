"""Other answers to an English question: near years and quantities, invented persons, places and names."""

import random
import re
from collections.abc import Iterator

from flows.families.lveval.rules.entities_en import NAME, TRIED, coined, renamed
from flows.language import en
from flows.language.alternatives import NUMBER, YEAR, counted_anew, moved, persons
from flows.language.en.names import classes, place_class
from flows.language.en.phrases import PREPOSITIONS, is_dictionary_word
from flows.language.tables import invented_names

_ASKS_WORK = re.compile(
    r"\b(?:what|which)(?: [\w'’-]+){0,4} (?:novel|film|movie|opera|book|song|album|play|poem|journal)\b", re.IGNORECASE
)


def other_answers(answer: str, question: str, text: str, rng: random.Random) -> Iterator[str]:
    """Yield other answers of the same kind."""
    bare = re.sub(r"^(?:the|an?)\s+(?=\S+\s)", "", answer.strip(' ."“”'), flags=re.IGNORECASE)
    if bare.endswith(("'s", "’s")):
        yield from (f"{other}'s" for other in other_answers(bare[:-2], question, text, rng))
        return
    kind = en.kind(bare, question)
    of, _, shape = kind.partition(":")
    if of in ("number", "date") or NUMBER.search(bare):
        yield from _counted(bare, rng)
    elif of == "person" and not re.search(rf"\bthe {re.escape(bare)}(?!\w)", text):
        yield from _persons(bare, text, shape, rng)
    elif _ASKS_WORK.search(question) and bare[:1].isupper() and of == "other":
        yield from rng.sample(invented_names("en")["title"], TRIED)
    else:
        yield from _named(bare, of, rng)


def _counted(answer: str, rng: random.Random) -> Iterator[str]:
    numbers = YEAR if len(YEAR.findall(answer)) == 1 else NUMBER
    if len(numbers.findall(answer)) == 1:
        yield from (other for _ in range(TRIED) if (other := moved(answer, numbers, rng)) != answer)
    yield from counted_anew(answer, rng)


def _persons(answer: str, text: str, shape: str, rng: random.Random) -> Iterator[str]:
    words = answer.split()
    if shape.strip(":").endswith(":titled") and len(words) == len(("Colonel", "Monckton")):
        yield from (f"{words[0]} {surname}" for surname in rng.sample(invented_names("en")["surname"], TRIED))
    elif not shape.startswith("alone"):
        yield from persons(answer, text, shape.split(":"), rng)


def _named(bare: str, of: str, rng: random.Random) -> Iterator[str]:
    """Yield other places, bodies and things, by the words of the name; "within the borders of Dornwick"."""
    words = bare.split()
    places = [run["name"] for run in NAME.finditer(bare) if place_class(run["name"]) in ("city", "country")]
    if (
        len(places) == 1
        and places[0] != bare
        and (bare[0].islower() or bare.split(maxsplit=1)[0].casefold() in PREPOSITIONS)
    ):
        table = "town" if place_class(places[0]) == "city" else "country"
        yield from (bare.replace(places[0], place) for place in rng.sample(invented_names("en")[table], TRIED))
        return
    if not bare[:1].isupper():
        return
    if of == "place" and place_class(bare) in ("country", "state"):
        yield from rng.sample(invented_names("en")["country"], TRIED)
    noun = en.head(bare)
    towns = rng.sample(invented_names("en")["town"], TRIED)
    made = [other for town in towns if (other := renamed(bare, town)) is not None] if len(words) > 1 else []
    if made:
        yield from made
    elif len(words) > 1 and noun.casefold() in classes("head") and noun[:1].isupper():
        yield from (f"{town} {noun}" for town in towns)
    elif place_class(bare) == "city":
        yield from towns
    elif len(words) == 1 and bare.isalpha() and len(bare) > 3 and not is_dictionary_word(bare.casefold()):
        yield from (coined(bare, rng) for _ in range(TRIED))
