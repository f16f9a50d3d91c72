"""The entities of an English text: its names, and the heads of its noun phrases, also in lower-cased text.

It uses no tagger: the dictionary says what a word can be, and the words beside it decide what it
it. Of "Sugar and flour are used to make cake while bread is baked with water" the entities are sugar, flour, cake,
bread and water. Words that name nothing by themselves ("time", "way", "kind") are no entities.
If a text distinguishes things with the same noun ("black tea ... green tea"), each is an entity.
"""

import re
from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import lemminflect

from flows.language.en.mentions import mentions
from flows.language.en.phrases import AUXILIARIES, PREPOSITIONS, parts_of_speech
from flows.language.en.tokens import MONTHS, Tokens, tokens, word_set
from flows.language.tables import word_list

_KEPT = 4096
_DETERMINERS = word_list("en", "determiners")
_PRONOUNS = word_set("i you he she it we they me him us them who whom which that there what one ones")
_BEFORE_VERBS = word_list("en", "before verbs")
_CLOSED = _DETERMINERS | _PRONOUNS | PREPOSITIONS | AUXILIARIES | word_list("en", "closed")
_LIGHT = word_list("en", "light nouns")
"""Words that name nothing by themselves, or that occur in half of all idioms."""
_MOSTLY_VERBS = word_list("en", "mostly verbs")
"""Base forms that name something only after an article: "the look", "a move"."""
_PLURAL_FIRST = word_set("sports sales arms goods news savings works games women men")
"""Plurals that can precede a noun: "sports teams". Any other word in -s that can be a verb is a verb there."""
_PREPOSED = _DETERMINERS | PREPOSITIONS | {"and", "or", "as", "than"}
_SCALES = frozenset(("hundred", "thousand", "million", "billion", "trillion", "dozen"))
_ADJECTIVE_ENDINGS = ("ly", "ic", "ical", "al", "ous", "ed", "ive", "able", "ible", "ful", "less", "ish", "like")
"""Of words that the dictionary lacks."""
_JOINING = frozenset(("of", "the", "de", "la", "von", "van", "der", "and", "&"))


class Entity(NamedTuple):
    """Something that a text speaks of."""

    text: str
    """As first written, without an article."""
    head: str
    """The base form of a noun phrase's head, in lower case; of a name its last word."""
    is_name: bool
    kind: str = ""
    """The word, in lower case, that tells it from others with the same head in its text: "black" of "black tea"."""


@lru_cache(_KEPT)
def entities(text: str) -> tuple[Entity, ...]:
    """The entities of `text`, each once, in the order in which they come up."""
    words = tokens(text)
    every: list[tuple[Entity, str]] = []
    for first, last in words.stretches(_phrase):
        if (entity := _entity(words, first, last)) is not None:
            every.append((entity, "" if entity.is_name else _described(words, first, entity)))
    kinds: dict[str, set[str]] = defaultdict(set)
    for entity, described in every:
        if described:
            kinds[entity.head].add(described)
    named: dict[tuple[str, bool], Entity] = {}
    for entity, described in every:
        if entity.is_name:
            named.setdefault((entity.text.casefold(), True), entity)
        elif len(kinds[entity.head]) <= 1:
            named.setdefault((entity.head, False), entity)
        elif described:
            distinct = entity._replace(text=f"{described} {entity.text.split()[-1]}", kind=described)
            named.setdefault((f"{described} {entity.head}", False), distinct)
    return tuple(named.values())


def _described(words: Tokens, place: int, entity: Entity) -> str:
    """Return the words before the head of the noun phrase at `place`: its other nouns, or an adjective."""
    if nouns := entity.text.split()[:-1]:
        return " ".join(nouns).lower()
    before = words.before(place)
    can_describe = before.isalpha() and before not in _CLOSED | _SCALES | _LIGHT and "ADJ" in parts_of_speech(before)
    return before if can_describe else ""


@lru_cache(_KEPT)
def names(text: str, entity: Entity) -> bool:
    """True if `text` names the entity: a name in full or in part, a noun in the singular or plural."""
    if entity.is_name:
        return bool(mentions(text, entity.text)) or _names_by_its_own_word(text, entity)
    if entity.kind:
        described = rf"(?<![\w-]){re.escape(entity.kind)}[\s-]+(\w+)"
        return any(_base(match.group(1)) == entity.head for match in re.finditer(described, text, re.IGNORECASE))
    return entity.head in _noun_forms(text)


def _names_by_its_own_word(text: str, entity: Entity) -> bool:
    """True if the text has the last word of a longer name, and that word is no common noun: "Etna" for Mount Etna."""
    *before, last = entity.text.split()
    is_own = bool(before) and last[:1].isupper() and not parts_of_speech(last.lower())
    return is_own and re.search(rf"(?<![\w-]){re.escape(last)}(?![\w-])", text) is not None


@lru_cache(_KEPT)
def _noun_forms(text: str) -> frozenset[str]:
    words = tokens(text)
    return frozenset(_base(words.word(place)) for place in range(len(words)))


@lru_cache(_KEPT)
def _base(word: str) -> str:
    low = word.lower()
    forms = lemminflect.getAllLemmas(low).get("NOUN", ())
    return min((form.lower() for form in forms), key=lambda form: (len(form), form), default=low)


def _phrase(words: Tokens, place: int) -> int | None:
    """The last word of the name or noun phrase whose nouns begin at `place`."""
    if _is_name(words, place):
        last = place
        while (end := _goes_on(words, last)) is not None:
            last = end
        return last
    if not _is_noun(words, place):
        return None
    last = place
    while words.adjacent(last) and not _is_name(words, last + 1) and _is_noun(words, last + 1):
        last += 1
    return last


def _goes_on(words: Tokens, place: int) -> int | None:
    if not words.joins_name(place):
        return None
    if _is_name(words, place + 1):
        return place + 1
    after = place + 2
    if words.word(place + 1) in _JOINING - {"and", "&"} and words.adjacent(place + 1) and _is_name(words, after):
        return after
    return None


def _is_name(words: Tokens, place: int) -> bool:
    word = words.word(place)
    if not words.capitalised(place) or word.lower() in _CLOSED or words.normals[place] in MONTHS:
        return False
    if not words.opens_sentence(place):
        return True
    return not parts_of_speech(word) or (words.adjacent(place) and words.capitalised(place + 1))


def _is_noun(words: Tokens, place: int) -> bool:  # noqa: PLR0911 - one for each form
    low = words.word(place).lower()
    if len(low) < 2 or not low.isalpha() or low in _CLOSED or low in _SCALES or low in MONTHS:
        return False
    if words.normals[place][0].isdigit():
        return False
    kinds = parts_of_speech(low)
    if not kinds:
        return not low.endswith(_ADJECTIVE_ENDINGS)
    if "NOUN" not in kinds:
        return False
    if kinds == {"NOUN"}:
        return True
    before = words.before(place)
    after = words.after(place)
    if "VERB" in kinds and _is_verb(low, before, after):
        return False
    if kinds & {"ADJ", "ADV"}:
        described = before in _DETERMINERS and after not in _PREPOSED and _can_be_noun(after)
        return before in _PREPOSED and not described and not (after and _can_be_noun(after))
    return True


def _is_verb(low: str, before: str, after: str) -> bool:  # noqa: PLR0911 - one for each form
    """True if a word that can be a noun or a verb is a verb between these two."""
    if before in _BEFORE_VERBS or low.endswith("ed"):
        return True
    if next(iter(lemminflect.getAllLemmas(low).get("VERB", ())), low) in _MOSTLY_VERBS:
        described = bool(before) and before not in _CLOSED and parts_of_speech(before) == {"ADJ"}
        return before not in _DETERMINERS and not described
    plural = _base(low) != low
    begins_noun = _can_be_noun(after) and "ADV" not in parts_of_speech(after)
    if plural and low.endswith("s") and before not in _DETERMINERS and low not in _PLURAL_FIRST and begins_noun:
        return True  # "and hunts mice": the first noun of two stands in the singular
    opens_object = after in _DETERMINERS or after in ("it", "them", "him", "you", "me", "us")
    if before in _SCALES or before[:1].isdigit():
        return False
    if before in _PREPOSED and not low.endswith("ing"):
        return before in ("and", "or") and opens_object
    if low.endswith("ing"):
        return not (before in ("the", "a", "of") or after in AUXILIARIES)
    if opens_object:
        return True
    after_noun = bool(before) and before not in _CLOSED and _can_be_noun(before)
    if after_noun and (after in PREPOSITIONS or after == "to" or _can_be_noun(after)):
        return plural != (_base(before) != before)  # "the sun sets in", "bees make wax"; not "ice cream in"
    return False


def _can_be_noun(word: str) -> bool:
    return bool(word) and word not in _CLOSED and (not (kinds := parts_of_speech(word)) or "NOUN" in kinds)


def _entity(words: Tokens, first: int, last: int) -> Entity | None:
    if _is_name(words, first):
        text = words.text[words.starts[first] : words.ends[last]]
        return Entity(text, words.word(last).lower(), True)
    while last >= first and _base(words.word(last)) in _LIGHT:
        last -= 1
    if last < first:
        return None
    text = re.sub(r"\s+", " ", words.text[words.starts[first] : words.ends[last]])
    return Entity(text, _base(words.word(last)), False)
