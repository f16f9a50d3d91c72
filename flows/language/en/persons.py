"""Mentions of a person by part of the name: the family name, the first name, a shorter name."""

from functools import lru_cache
from typing import Literal, NamedTuple

from flows.language import MentionForm
from flows.language.en.names import PARTICLES, SUFFIXES, TITLES, classes, is_familiar_place, is_first_name
from flows.language.en.phrases import is_dictionary_word, is_list, parts_of_speech, split_article, trimmed, unintroduced
from flows.language.en.tokens import Tokens, normal, tokens
from flows.language.en.types import answer_type
from flows.language.tables import word_list

Role = Literal["whole", "plural", "initials", "spelt out", "surname", "first name", "date part", "year", "city"]
"""The part of the answer that a mention gives; `flows.language.en.replace` takes the same part of the new answer."""
_MIDDLE_NAMES = 3
FUNCTION_WORDS = word_list("en", "function words")
"""Words that are no mention of a lone answer when in lower case ("us" is not "US")."""


class Found(NamedTuple):
    """A mention: its first and last words, and the part of the answer that it gives."""

    first: int
    last: int
    start: int
    end: int
    form: MentionForm
    role: Role


class PersonalName(NamedTuple):
    """The words of a person's name, in normal form."""

    first: str
    last: str
    last_forms: tuple[str, ...]
    """The family name with its particles ("van", "gogh") and all its parts ("berners", "lee")."""


@lru_cache(8192)
def personal_name(answer: str) -> PersonalName | None:
    """First and family name of an answer of several words that can be a person's name."""
    phrase = trimmed(answer)
    words = tokens(phrase)
    places = list(range(len(words)))
    while len(places) > 1 and words.normals[places[0]] in TITLES:
        places = places[1:]
    while len(places) > 1 and words.normals[places[-1]] in SUFFIXES and words.word(places[-1]) != "I":
        places = places[:-1]
    if len(places) < 2 or not _is_name_of_person(answer, words, places):
        return None
    if "of" in words.normals or "the" in words.normals or (words.normals[-1] in SUFFIXES and len(places) == 1):
        return PersonalName(words.normals[places[0]], "", ())
    last = places[-1]
    begin = last
    while begin - 1 > places[0] and (words.normals[begin - 1] in PARTICLES or words.gap(begin - 1) == "-"):
        begin -= 1
    return PersonalName(words.normals[places[0]], words.normals[last], tuple(words.normals[begin : last + 1]))


def _is_name_of_person(answer: str, words: Tokens, places: list[int]) -> bool:
    if is_list(words.text) or len(places) > 5 or "," in words.text:
        return False
    of = answer_type(answer)
    if of == "person":
        return True
    if of != "other" or is_familiar_place(words.text) or split_article(unintroduced(answer))[0]:
        return False
    named = all(words.capitalised(place) or words.normals[place] in PARTICLES for place in places)
    inner = [words.word(place) for place in places]
    return (
        named
        and len(inner) <= 3
        and not any(
            is_dictionary_word(word) or word.lower() in classes("head") or (len(word) == 1 and word == inner[-1])
            for word in inner
        )
    )


def of_person(words: Tokens, name: PersonalName, chosen: list[Found], taken: set[int]) -> list[Found]:
    """Mentions of the person by a part of the name that nobody else in the text bears."""
    partial = _by_surname(words, name, taken) if name.last else []
    for mention in partial:
        taken.update(range(mention.first, mention.last + 1))
    if (chosen or partial) and not is_dictionary_word(name.first) and len(name.first) > 1:
        partial = partial + _by_first_name(words, name, taken)
    return partial


def _by_surname(words: Tokens, name: PersonalName, taken: set[int]) -> list[Found]:
    mentions: list[Found] = []
    common = is_dictionary_word(name.last)
    for place in words.places(name.last):
        if place in taken or not words.capitalised(place):
            continue
        begin, bearer = _name_before(words, place, name, taken)
        if bearer == "another":
            return []
        if bearer == "same":
            mentions.append(Found(begin, place, words.starts[begin], words.ends[place], "part", "whole"))
        elif not _goes_on(words, place) and not (common and words.opens_sentence(begin) and not _acts(words, place)):
            mentions.append(Found(begin, place, words.starts[begin], words.ends[place], "part", "surname"))
    return mentions


def _name_before(words: Tokens, place: int, name: PersonalName, taken: set[int]) -> tuple[int, str]:
    """Return where the name that ends in the surname at `place` begins, and its bearer: "same", "another" or "bare"."""
    begin = place
    for particle in reversed(name.last_forms[:-1]):
        if begin and words.normals[begin - 1] == particle:
            begin -= 1
    first = begin
    while first and first - 1 not in taken and begin - first < _MIDDLE_NAMES and words.capitalised(first - 1):
        gap = words.gap(first - 1)
        initial = words.ends[first - 1] - words.starts[first - 1] == 1
        if not (gap.isspace() or (initial and gap.strip() == ".") or gap == "-"):
            break
        first -= 1
    while first < begin and (words.normals[first] in TITLES or _is_no_name(words, first)):
        first += 1
    if first == begin:
        return begin, "bare"
    form = words.normals[first]
    if form == name.first or (len(form) == 1 and name.first.startswith(form)):
        return first, "same"
    return begin, "another"


def _is_no_name(words: Tokens, place: int) -> bool:
    """True if a capitalised word before a surname is no first name: it begins the sentence, or is an adjective."""
    word = words.word(place)
    if is_first_name(word) or len(word) == 1:
        return False
    return is_dictionary_word(word) or word.lower() in FUNCTION_WORDS or words.opens_sentence(place)


def _goes_on(words: Tokens, place: int) -> bool:
    """True if a name goes on after the word at `place` ("Churchill College", "Luther King")."""
    if place + 1 >= len(words) or not words.capitalised(place + 1):
        return False
    gap = words.gap(place)
    return (gap.isspace() or gap == "-") and words.normals[place + 1] not in SUFFIXES


_ADVERBS = word_list("en", "adverbs")


def _acts(words: Tokens, place: int) -> bool:
    """True if the word after a name that begins a sentence can follow a person's name."""
    gap, follows = words.gap(place).strip(), words.word(place + 1).lower()
    if gap == "," or (gap in ("'", "’") and follows == "s"):
        return True
    if follows in _ADVERBS:
        follows = words.word(place + 2).lower()
    of = parts_of_speech(follows)
    return follows in FUNCTION_WORDS or follows.endswith("ed") or ("VERB" in of and "NOUN" not in of)


_AFTER_ANOTHERS_NAME = PARTICLES | {"of", "the", "i", "ii", "iii", "iv"}


def _by_first_name(words: Tokens, name: PersonalName, taken: set[int]) -> list[Found]:
    mentions: list[Found] = []
    for place in words.places(name.first):
        if place in taken:
            continue
        if not words.capitalised(place):
            return []
        follows = normal(words.word(place + 1)) if words.adjacent(place) else ""
        if _goes_on(words, place) or follows in _AFTER_ANOTHERS_NAME or _is_second_name(words, place):
            return []
        mentions.append(Found(place, place, words.starts[place], words.ends[place], "part", "first name"))
    return mentions


def _is_second_name(words: Tokens, place: int) -> bool:
    """True if another name comes before the word, so that both belong to one person ("Mary Ada")."""
    before = place - 1
    if before < 0 or not words.adjacent(before) or words.opens_sentence(before):
        return False
    return words.capitalised(before) and words.normals[before] not in TITLES
