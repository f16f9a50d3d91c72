"""English entities and answers: their types, and invented substitutes."""

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from flows.families.lveval.rules.vocabulary import pattern, vocabulary
from flows.language import en
from flows.language.alternatives import NUMBER, YEAR, counted_anew, moved, persons
from flows.language.en.names import TITLES, classes, is_first_name, is_of_a_people, is_surname, place_class
from flows.language.en.phrases import PREPOSITIONS, is_dictionary_word
from flows.language.en.tokens import word_set
from flows.language.tables import invented_names

TRIED = 3  # substitutes tried for a name
_NOUNS_OF_TYPES = vocabulary("nouns_of_types")
_TYPE_OF_NOUN = {noun: type_ for type_, nouns in _NOUNS_OF_TYPES.items() for noun in nouns.split()}
_HEADS = vocabulary("types_of_heads")
_TABLES = vocabulary("invented_tables")
NAME = re.compile(
    r"(?:[Tt]he\s+)?(?P<name>[A-ZÀ-Þ][\w’'&-]*(?:\.(?=\s+[A-Z]))?"
    r"(?:\s+(?:(?:of|the|and|on|de|la|von|van|for)\s+){0,2}[A-ZÀ-Þ][\w’'&-]*(?:\.(?=\s+[A-Z]))?)*)"
)
DEFINED = re.compile(
    r"\s*(?:(?:in|on|of|near|at) [^,.]{1,40} )?(?:,[^,]{1,60},\s+)?(?:is|was|are|were)\s+"
    r"(?P<article>an?\s|the\s|one of the\s)?(?P<what>.+)",
    re.DOTALL,
)
ASIDE = re.compile(r"\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\])")
_NO_NAMES = word_set("along after before name both aside despite though although all most")
"""Capitalised words that can begin a question and do not begin a name."""
_LINKS = word_set("of the and de la von van for in")
_FIRST = vocabulary("types_of_first_words")
_ENDS_OF_NOUNS = pattern("ends_of_nouns")
LEAST_LETTERS = 4
LONGEST_TITLE = 80  # the most characters of a first line that is a title
LEAST_IN_NAME = 2  # words of a name, without a lower-case word after it
_IN_NO_NAME = word_set("body service tank firm station place network organization organisation")
"""Nouns that show a type but end few names."""
_ASKS_WORK = re.compile(
    r"\b(?:what|which)(?: [\w'’-]+){0,4} (?:novel|film|movie|opera|book|song|album|play|poem|journal)\b", re.IGNORECASE
)


class EntityType(NamedTuple):
    """The type of an entity, and the noun that shows it."""

    of: str
    noun: str


def without_asides(sentence: str) -> str:
    """Return a sentence without its brackets."""
    return re.sub(r"\s+", " ", ASIDE.sub("", sentence)).replace(" ,", ",").replace(" .", ".")


def names(question: str, documents: Sequence[str]) -> list[str]:
    """Return the subjects of the pages and the names of the question, whole and in parts."""
    candidates = [name for document in documents if (name := _about(document))]
    for run in NAME.finditer(question):
        name = re.sub(r"['’]s?(?: .*)?$", "", run["name"].rstrip(".,"))
        words = name.split()
        if run.start("name") == 0 and (not is_opening_name(words) or _only_begins(words)):
            name = " ".join(words[1:]).removeprefix("both ")
        if len(name.split()) > LEAST_IN_NAME and is_of_a_people(name.split()[-1]):
            name = name.rpartition(" ")[0]
        parts = [name, *re.split(r" and | of ", name)]
        candidates += [part for whole in parts if len(part := whole.removeprefix("the ").removeprefix("The ")) > 1]
        if run[0].startswith("The ") and run.start():
            candidates.append(run[0])
    return [name for name in dict.fromkeys(candidates) if name and _is_of_something(name)]


def whole_names(question: str, documents: Sequence[str]) -> list[str]:
    """Return the names of the question in order, each whole; "Ed Wood and Jim Beam" as two."""
    pages = "\n".join(documents)
    titles = [title for document in documents if (title := _about(document)) and title in question]
    named = dict.fromkeys((*(title for title in titles if title[0].isupper()), *names(question, ())))
    whole = [name for name in named if " and " not in name or name in pages]

    def is_part(name: str) -> bool:
        return any(name != other and stands_whole(other, name) is not None for other in whole)

    return [name for name in whole if not is_part(name)]


def stands_whole(text: str, name: str) -> bool | None:
    """Return whether a name is never part of a longer name in the text; None if it does not occur."""
    matches = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text))
    return all(_is_whole(text[: match.start()], text[match.end() :]) for match in matches) if matches else None


def _is_whole(before: str, after: str) -> bool:
    last = before.rsplit(maxsplit=1)[-1] if before.endswith(" ") else before[-1:]
    joined = last[:1].isupper() and last.casefold() not in en.STOP_WORDS | PREPOSITIONS | TITLES
    joined = joined and not is_first_name(last)
    return not joined and last != "-" and re.match(r"-|\.\d| (?:of (?:the )?)?[A-Z0-9]", after) is None


def _is_of_something(name: str) -> bool:
    """Return whether a name is a person's or a thing's, not that of a people, a language or a belief."""
    words = name.split()
    if len(words) == 1 and (is_of_a_people(name.removesuffix("s")) or is_of_a_people(name)):
        return False
    if len(words) == 1 and name.casefold().endswith(("ist", "ists", "ism", "islam")):
        return False
    return words[0].casefold() not in _LINKS - {"the"}


def _about(document: str) -> str:
    """Return the subject of a page: its title without the bracket, else the beginning of its first sentence."""
    title, _, body = document.partition("\n")
    if body and len(title) < LONGEST_TITLE:
        return re.sub(r"\s*\(.*$", "", title)
    begins = re.match(r"(?:The |An? )?((?:[\w'’.-]+ ){0,3}[\w'’.-]+?),? (?:is|was|are|were) ", document)
    return begins[1] if begins else ""


def is_opening_name(words: Sequence[str]) -> bool:
    first = words[0].casefold()
    return first not in en.STOP_WORDS and first not in PREPOSITIONS and first not in _NO_NAMES


def _only_begins(words: Sequence[str]) -> bool:
    """Return whether a question's first word is capitalised only by its place: "Despite the Presburger problem"."""
    alone = len(words) == 1 or words[1].islower()
    return alone and is_dictionary_word(words[0].casefold()) and place_class(words[0]) is None and words[1:2] != ["of"]


@cache
def entity_type(name: str, documents: tuple[str, ...], question: str = "") -> EntityType | None:  # noqa: PLR0911 - one for each
    """Return the type of an entity: by the page that begins with it, as a person, by its words, as a place."""
    words, place = name.split(), place_class(name)
    if place in ("city", "country"):
        return EntityType(place, "")
    if (type_ := _type_by_page(name, documents)) is not None:
        return type_
    if "v." in words or re.search(rf"\bv\.? {re.escape(name)}|{re.escape(name)} v\b", question):
        return None
    if question and re.search(rf"(?<!\w){re.escape(name)} by [A-Z]", question):
        return EntityType("work", "")
    pages = "\n".join(documents)
    if is_personal(name) and not re.search(rf"\b[Tt]he {re.escape(name)}", pages):
        return EntityType("person", "")
    for word in (words[-1], words[0], *(before for before, link in pairwise(words) if link in _LINKS)):
        if len(words) > 1 and (type_ := _type_of_head(word.casefold())) is not None:
            return type_
    if place is not None:
        return EntityType("region" if place == "state" else place, "")
    if name.isupper():
        return EntityType("organisation", "")
    return _type_of_word(name, pages, question) if len(words) == 1 else None


def _type_of_word(name: str, pages: str, question: str) -> EntityType | None:
    """Return the type of an entity with a one-word name, by the words beside it."""
    called = re.findall(rf"\b(\w+) {re.escape(name)}\b", pages)
    if any(name.casefold() in TITLES or (is_first_name(name) and name[0].isupper()) for name in called):
        return EntityType("person", "surname")
    if not name.isalpha() or len(name) < LEAST_LETTERS or is_dictionary_word(name.casefold()):
        return None
    if is_surname(name) and re.search(rf"\b[A-Z][a-z]+ {name}\b|\bdeath of {name}\b", pages):
        return EntityType("person", "surname")
    if re.search(rf"\b[Tt]he {name}\b", f"{pages}\n{question}") and name.endswith("s"):
        return EntityType("people", "")
    is_place = re.search(rf"\b(?:in|at|near|from|to|attack\w*|invaded) {name}\b", pages)
    return EntityType("city" if is_place else "thing", "")


def _type_by_page(name: str, documents: Sequence[str]) -> EntityType | None:
    for document in documents:
        for text in (document.partition("\n")[2], document):
            begins = re.match(rf"(?:The |An? )?{re.escape(name)}(?!\w)", text, re.IGNORECASE)
            plain = ASIDE.sub("", text[begins.end() : begins.end() + 400]) if begins else ""
            defined = DEFINED.match(plain)
            if defined is not None and (type_ := type_defined(defined["what"])) is not None:
                return type_
    return None


def is_personal(name: str) -> bool:
    """Return whether a name of two or three words is a person's."""
    words = name.split()
    return (
        len(words) in (2, 3)
        and all(word[:1].isupper() for word in words)
        and is_first_name(words[0])
        and en.answer_type(name) == "person"
        and words[-1].casefold() not in classes("head")
    )


def _type_of_head(word: str) -> EntityType | None:
    if word in _FIRST or word == "canal":
        return EntityType(_FIRST.get(word, "building"), word)
    of, group = classes("head").get(word, ("", ""))
    type_ = _HEADS.get(group, group if group in _NOUNS_OF_TYPES else "")
    if word in ("tribes", "people", "peoples"):
        return EntityType("people", word)
    if not type_ or of == "person" or word in ("town", "games", "olympics", "cup"):
        return None
    return EntityType(type_, word)


def type_defined(what: str) -> EntityType | None:
    """Return the type of the first noun of a definition."""
    if re.match(r"(?:\w+ )?series of\b", what):
        return None
    phrase = _ENDS_OF_NOUNS.split(what)[0]
    nouns = [word.casefold().strip(",") for word in re.split(r"[\s/]+", phrase)]
    nouns = [noun if noun in _TYPE_OF_NOUN else re.sub("ies$", "y", noun).removesuffix("s") for noun in nouns]
    class_nouns = [noun for noun in nouns if noun in _TYPE_OF_NOUN]
    return EntityType(_TYPE_OF_NOUN[class_nouns[-1]], class_nouns[-1]) if class_nouns else None


def others_than(name: str, type_: EntityType, text: str, rng: random.Random) -> list[str]:
    """Return invented names of the same type."""
    words, invented = name.split(), invented_names("en")
    towns = rng.sample(invented["town"], TRIED)
    if type_ == EntityType("person", "surname"):
        return rng.sample(invented["surname"], TRIED)
    if type_.of == "person":
        kind = en.kind(name).split(":")[1:]
        shape = kind if len(kind) > len(("male", "full")) and kind[1] == "full" else ["unknown", "full", ""]
        return list(persons(name, text, shape, rng))
    if type_.of in _TABLES:
        return rng.sample(invented[_TABLES[type_.of]], TRIED)
    if type_.of == "species" and len(words) > 1:
        marked = rng.sample(invented["marked"], TRIED)
        return [f"{word.capitalize() if words[0][0].isupper() else word} {words[-1]}" for word in marked]
    if len(words) > 1 and (made := [other for town in towns if (other := renamed(name, town))]):
        return made
    return _others_than_word(name, type_, text, towns, rng)


def _others_than_word(name: str, type_: EntityType, text: str, towns: list[str], rng: random.Random) -> list[str]:
    if type_.of == "people":
        leads = text.startswith((f"The {name}", name))
        return [coined("Normans", rng) for _ in towns] if leads else []
    if type_.of in ("thing", "drink", "species"):
        return [coined(name, rng) for _ in towns] if name[0].isupper() and name.isalpha() else []
    if name.isupper():
        return rng.sample(invented_names("en")["acronym"], TRIED)
    if type_.of in ("city", "river", "mountain", "water", "island", "region"):
        return towns
    noun = type_.noun.capitalize() if type_.noun not in _IN_NO_NAME else ""
    kind = name.rsplit(maxsplit=1)[-1] if type_.of == "team" and " " in name else noun
    return [f"{town} {kind}" for town in towns] if kind else []


def renamed(name: str, town: str) -> str | None:
    """Return a name of several words with its distinctive word replaced."""
    words = name.split()
    if words[0].casefold().rstrip(".") in ("st", "saint", "san", "santa"):
        return None
    if words[0].casefold() in _FIRST:
        return f"{words[0]} {town}"
    if words[-1].islower() and len(words) > LEAST_IN_NAME:
        made = renamed(" ".join(words[:-1]), town)
        return f"{made} {words[-1]}" if made else None
    at = next((at for at, word in enumerate(words) if word in ("of", "for")), len(words))
    if not at or words[at - 1].casefold() not in classes("head") or not words[at - 1][0].isupper():
        return None
    if at == 1:
        return " ".join((words[0], "of", town)) if words[1:2] == ["of"] else None
    kind = next(place for place in range(1, at) if is_dictionary_word(words[place].casefold()) or place == at - 1)
    return " ".join((town, *words[kind:]))


def coined(word: str, rng: random.Random) -> str:
    """Return an invented word with the ending of `word`."""
    start = "".join(rng.sample(invented_names("en")["syllable"], 2)).capitalize()
    ending = re.search(r"[aeiouy]+[^aeiouy]*$", word.casefold())
    return start + (ending[0] if ending else "a")


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
