"""English definites ("the film"), and which of them say by themselves what is meant.

Two tests: `bare_definite` reads a definite at the subject by its words and their parts of speech; `is_complete` knows
forms of a whole sentence, and lets more pass. They stay separate because `dangling_subject` uses only the first: of 243
bare definites in SQuAD's development set, the second would let 17 more pass ("the expedition led by ...").
"""

import re

from flows.language.en.names import place_class
from flows.language.en.phrases import PREPOSITIONS, parts_of_speech
from flows.language.en.tokens import Tokens, word_set
from flows.language.tables import word_list

_COMPLETED_BY = PREPOSITIONS | word_set("that who which whose whom where when why how whether")
_NOT_COMPLETED_BY = word_set("by with in on at from to for as after before during since until than via off")
_UNIQUE = word_list("en", "unique")
_OF_SOMETHING = {
    "for": word_set("record reason need award prize name term word basis support cause cure recipe"),
    "to": word_set("answer solution key response reaction alternative introduction threat"),
}
"""Nouns that these prepositions complete: "the record for the most titles", "the answer to the question"."""
_ORDERING = word_set("first last only largest smallest highest lowest oldest longest best worst earliest latest")
_CLASSES_AS_NAMES = word_list("en", "classes as names")
"""Nouns that texts capitalise when they mention the thing again: "The Island was ..."."""
_JOINED_NOUNS = r" (?:and|or) [a-z]+ ([a-z]+) [a-z]+s\b"
"""Nouns joined before the noun that both belong to."""
_SIGNS = (" {", ' "', " “", " ‘")
"""Signs with which a name that follows the noun begins: "the word “sarod”", "the language {xx | x is a string}"."""
_SHORTEST_NOUN = 4
"""A noun that the dictionary lacks has more letters: shorter words belong to the grammar."""


def phrase_end(words: Tokens, place: int) -> int:
    """The last word of the noun phrase that begins at `place`: words up to the first that cannot be part of it."""
    last = place
    while last + 1 < len(words) and words.adjacent(last):
        of = parts_of_speech(words.word(last + 1))
        follows = words.word(last + 1).lower()
        if _is_unknown_noun(words, last + 1):
            last += 1
            continue
        if follows in _COMPLETED_BY or not of & {"NOUN", "ADJ"} or "AUX" in of or "ADV" in of:
            break
        if "VERB" in of and "NOUN" in parts_of_speech(words.word(last)) and not _noun_goes_on(words, last + 1):
            break
        last += 1
    return last


def _is_unknown_noun(words: Tokens, place: int) -> bool:
    """True if a word that the dictionary lacks must be the noun after an adjective: "the new empire"."""
    word = words.word(place)
    if word in _COMPLETED_BY or len(word) <= _SHORTEST_NOUN or not word.islower() or parts_of_speech(word):
        return False
    return "ADJ" in parts_of_speech(words.word(place - 1))


def _noun_goes_on(words: Tokens, place: int) -> bool:
    """True if a word that can be a noun or a verb is a noun: a verb comes right after it."""
    follows = words.word(place + 1).lower()
    return "AUX" in parts_of_speech(follows) or follows in ("is", "was", "are", "were", "has", "had", "of")


def _is_one_of_several(words: Tokens, place: int) -> bool:
    """True if an adjective has another after its comma or hyphen: "the sweet, overtone-rich texture"."""
    if place + 2 >= len(words) or words.gap(place) not in (", ", "-") or not words.word(place + 1).islower():
        return False
    follows = words.word(place + 1)
    if words.gap(place) == "-":
        return bool(parts_of_speech(follows) & {"ADJ", "VERB"}) and words.adjacent(place + 1)
    if "ADJ" not in parts_of_speech(words.word(place)) or follows in _COMPLETED_BY:
        return False
    return words.gap(place + 1) == "-" or ("ADJ" in parts_of_speech(follows) and words.adjacent(place + 1))


def _is_completed(words: Tokens, place: int, last: int) -> bool:
    """True if what follows the definite from `place` to `last`, or a superlative in it, says which is meant."""
    if words.word(place + 1).lower() == "most":
        return True
    if not words.adjacent(last):
        return False
    noun, follows, then = (words.word(at).lower() for at in (last, last + 1, last + 2))
    if follows in ("and", "or"):  # "the largest and most important print rooms": the noun comes later
        return parts_of_speech(noun) == {"ADJ"} and (then == "most" or "ADJ" in parts_of_speech(then))
    if follows in _NOT_COMPLETED_BY:
        named = words.capitalised(last + 2)  # "the withdrawal from Fort William Henry"
        placed = follows == "in" and place_class(words.word(last + 2)) is not None
        ordered = follows == "to" and any(words.word(at).lower() in _ORDERING for at in range(place + 1, last + 1))
        of_something = noun in _OF_SOMETHING.get(follows, ())
        return of_something or ordered or (follows in _NAMING and named and not placed)
    return follows in _COMPLETED_BY or (follows in ("is", "was") and then == "that")


_NAMING = word_set("from in for between")
"""Before a name they show which is meant; "in" before a place does not, since many things can be there."""


def bare_definite(words: Tokens, place: int) -> str | None:
    """ "The film"; None for a definite that is complete in itself."""
    if place + 1 >= len(words) or not words.adjacent(place):
        return None
    last = phrase_end(words, place + 1)
    while _is_one_of_several(words, last):
        last = phrase_end(words, last + 1)
    inside = range(place + 1, last + 1)
    forms = {words.word(at).lower() for at in inside}
    behind = words.text[words.ends[last] :]
    if _is_completed(words, place, last) or forms & _UNIQUE or words.capitalised(last + 1) or behind.startswith(_SIGNS):
        return None
    if last == place + 1 and not parts_of_speech(words.word(last).lower()) and words.word(last).islower():
        return None  # a word that no dictionary has is a name for the thing: "the sarod"
    joined = re.match(_JOINED_NOUNS, behind)
    if joined is not None and "NOUN" in parts_of_speech(joined[1]):
        return None  # "the time and space hierarchy theorems"
    named = any(words.capitalised(at) or words.normals[at][0].isdigit() for at in inside)
    if named and not (last == place + 1 and forms <= _CLASSES_AS_NAMES):
        return None
    return words.text[words.starts[place] : words.ends[last]]


_COMPLETE = re.compile(
    r"\b(?:if|whether|unless|whenever) <[^>]*> (?:is|are|can|has|have)\b|\bone of <the [a-z]+est\b|"
    r"\bover <[^>]* (?:years|decades|centuries)>|(?:early|late)> \d|> and [a-z]+ of\b|"
    r">(?: (?:[a-z]+ed|built|drawn|found|given|held|known|led|made|taken|won|written) by\b|"
    r", (?:[a-z]+ed|built|founded|made|written) by (?:the )?[A-Z])|"
    r"> [a-z]{3,}ing (?:an? |the |[A-Z])|> (?:for|from|to|between|against) (?!\d)|"
    r"<the [a-z]+> and (?!is |was |has )[a-z]+ [a-z]+ of\b"
)
"""Definites in angle brackets that need nothing before them: a condition in general ("if the inclusion is strict"), one
of the most ("one of the poorest countries"), a time ("over the decades"), and those of which what follows tells which
("the expedition led by", "the engine, invented by Thomas Newcomen", "the treaties establishing the", "the benefits and
luxuries of", "the withdrawal from Fort William Henry", "the quick and decisive defeat of").
"""


def is_complete(sentence: str, start: int, phrase: str) -> bool:
    """True if the phrase at `start` is a definite that needs nothing before it."""
    if not phrase.lower().startswith("the "):
        return False
    before, after = sentence[:start], sentence[start + len(phrase) :]
    opened = f"{before[:1].lower()}{before[1:]}"
    return _COMPLETE.search(f"{opened}<{phrase[0].lower()}{phrase[1:]}>{after}") is not None
