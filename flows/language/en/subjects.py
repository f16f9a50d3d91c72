"""Whether an English sentence needs the text before it: a pronoun or a bare definite as its subject."""

import re

from flows.language.en.names import place_class
from flows.language.en.phrases import PREPOSITIONS, parts_of_speech
from flows.language.en.tokens import Tokens, tokens, word_set

_PRONOUNS = word_set("he she it they this these those that his her its their such")
_OWNING = word_set("his her its their this these those that such")
_OPENERS = word_set(
    "however moreover furthermore therefore thus also then later meanwhile but and yet so nevertheless "
    "consequently additionally finally eventually subsequently instead still indeed similarly nonetheless "
    "afterwards although while when after before since because if as though once unless until where in on at "
    "during from by for under despite following with between among throughout through over upon through within "
    "without along according due originally initially today recently currently historically traditionally"
)
_COMPLETED_BY = PREPOSITIONS | word_set("that who which whose whom where when why how whether")
_NOT_COMPLETED_BY = word_set("by with in on at from to for as after before during since until than via off")
_UNIQUE = word_set(
    "world sun moon earth sky universe internet bible quran pope sea ocean equator atmosphere human heart brain "
    "kidney kidneys liver lungs lung skin stomach eye ear nose law rich poor public environment future past "
    "present"
)
_OF_SOMETHING = {
    "for": word_set("record reason need award prize name term word basis support cause cure recipe"),
    "to": word_set("answer solution key response reaction alternative introduction threat"),
}
"""Nouns that these prepositions complete: "the record for the most titles", "the answer to the question"."""
_ORDERING = word_set("first last only largest smallest highest lowest oldest longest best worst earliest latest")
_LONGEST_OPENING = 14
_EXPLETIVE = re.compile(
    r"it\s+(?:(?:is|was|has been|had been|will be|would be|may be|seems|appears|seemed|appeared|can be|could be|became)"
    r"\s+(?:(?:not|also|now|still|often|widely|generally|commonly|sometimes|usually|very|quite|later)\s+)*"
    r"(?:known|unknown|believed|thought|said|reported|estimated|argued|claimed|suggested|assumed|considered|possible|"
    r"impossible|likely|unlikely|clear|unclear|important|necessary|difficult|hard|easy|common|customary|true|certain|"
    r"uncertain|obvious|decided|agreed|announced|confirmed|revealed|established|shown|proved|proven|found|held|noted|"
    r"hoped|expected|feared|rumou?red|rare|desirable|illegal|legal|customary|natural|in|on|at|by|during|until|only)\b"
    r".*?\b(?:that|to|whether|who|which|when|where|how|why)\b|takes\b|rains\b|snows\b)",
    re.IGNORECASE,
)
"""An "it" that stands for what follows: "It is known that ...", "It was in 1066 that ..."."""
_CLASSES_AS_NAMES = word_set(
    "island company university college church club society museum act treaty order school album film song series show"
)
"""Nouns that texts capitalise when they speak of one again: "The Island was ..."."""


_QUANTIFIERS = word_set("most some many all both each several few none neither either others")
_LEANING = re.compile(
    r"(?:[\w'’-]+\s+){1,5}?(?:of|among|amongst|between)\s+(?:them|these|this|it|its|his|her|their|"
    r"those(?!\s+(?:who|that|which|in|of|with|from)\b))\b",
    re.IGNORECASE,
)
""" "Most of them", "The best known of these": part of what was named before."""
_PRECEDING = word_set("of among amongst between them these those this it its his her their")
_LATER = re.compile(
    r"(?:\w+|a few|a couple of)\s+(?:years?|months?|weeks?|days?|hours?|minutes?|decades?|"
    r"centuries|century|time|seasons?)"
    r"\s+(?:later|earlier|afterwards?|before that|after that|prior)\b",
    re.IGNORECASE,
)
_JOINED_NOUNS = r" (?:and|or) [a-z]+ ([a-z]+) [a-z]+s\b"
"""Nouns joined before the noun that both belong to."""
_SIGNS = (" {", ' "', " “", " ‘")
"""With which the name of what is meant begins: "the word “sarod”", "the language {xx | x is a string}"."""
_SHORTEST_NOUN = 4
"""Letters that a noun outside of the dictionary has more of: shorter words are of the grammar."""
_LONGEST_PAIR = 12
"""Words in which "both" has its "and"."""


def dangling_subject(sentence: str) -> str | None:  # noqa: PLR0911 - one for each form
    """What at the subject of `sentence` needs the text before it; else None.

    A pronoun, a bare definite, a part of what was named before ("most of them"), or a time counted from it.
    """
    words = tokens(sentence)
    if len(words) and (later := _LATER.match(words.text, words.starts[0])) is not None:
        return later.group()
    place = _subject(words)
    if place is None:
        return None
    form = words.word(place).lower()
    if (leaning := _leaning(words, place)) is not None:
        return leaning
    if form in _QUANTIFIERS and (phrase := _bare_quantity(words, place, form)) is not None:
        return phrase
    if form in _PRONOUNS:
        return _pronoun(words, place, form)
    if form == "the":
        return bare_definite(words, place)
    return None


def _leaning(words: Tokens, place: int) -> str | None:
    """A part of what was named before; a name on the way to it may be what it is a part of."""
    found = _LEANING.match(words.text, words.starts[place])
    if found is None:
        return None
    inside = [at for at in range(place + 1, len(words)) if words.ends[at] <= found.end()]
    before = {words.word(at).lower() for at in inside} - _PRECEDING
    said = (parts_of_speech(word) for word in before)
    if any(words.capitalised(at) for at in inside) or any("AUX" in of or of == {"VERB"} for of in said):
        return None
    return found.group()


def _bare_quantity(words: Tokens, place: int, form: str) -> str | None:
    """ "All declared ...", "Both teams ...": so many of whom or what stands before the sentence."""
    if form == "both":
        pair = (words.word(at).lower() for at in range(place + 1, min(len(words), place + _LONGEST_PAIR)))
        return None if "and" in pair else words.word(place)
    of = parts_of_speech(words.word(place + 1))
    alone = "AUX" in of or of == {"VERB"} or words.word(place + 1).lower() == "however"
    return words.word(place) if alone and words.word(place + 1).islower() else None


def _subject(words: Tokens) -> int | None:
    """Where the subject begins: at the start, or after the comma of an introduction."""
    if not len(words):
        return None
    place = 0
    for _ in range(2):
        if place >= len(words) or words.word(place).lower() not in _OPENERS:
            return place if place < len(words) else None
        comma = _comma_after(words, place)
        if comma is None:
            low = words.word(place).lower()
            return place + 1 if low in ("but", "and", "so", "yet", "then", "thus") and place + 1 < len(words) else None
        place = comma + 1
    return place if place < len(words) else None


def _comma_after(words: Tokens, place: int) -> int | None:
    """The word before the first comma that ends the introduction; commas inside dates and lists are passed."""
    for at in range(place, min(len(words) - 1, place + _LONGEST_OPENING)):
        if words.gap(at).lstrip().startswith(","):
            follows = words.word(at + 1)
            if follows[0].isdigit():
                continue
            return at
    return None


def _pronoun(words: Tokens, place: int, form: str) -> str | None:
    follows = words.word(place + 1)
    if (form == "it" and _EXPLETIVE.match(words.text, words.starts[place])) or (
        form == "such" and follows in ("that", "as")
    ):
        return None
    if form == "that" and not _is_noun_after(words, place):
        return words.word(place) if "AUX" in parts_of_speech(follows) else None
    if form in _OWNING and _is_noun_after(words, place):
        last = _phrase_end(words, place + 1)
        if form in ("these", "those", "that") and words.word(last + 1).lower() in ("who", "that", "which", "of"):
            return None
        return words.text[words.starts[place] : words.ends[last]]
    if form in ("those", "such"):
        return words.word(place) if "AUX" in parts_of_speech(follows) or follows in ("were", "are", "have") else None
    return words.word(place)


def _is_noun_after(words: Tokens, place: int) -> bool:
    follows = words.word(place + 1).lower()
    of = parts_of_speech(follows)
    return bool(follows) and words.adjacent(place) and (bool(of & {"NOUN", "ADJ"}) or not of) and "AUX" not in of


def _phrase_end(words: Tokens, place: int) -> int:
    """The last word of the noun phrase that begins at `place`: words on to the first that can only go on otherwise."""
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
    """Whether a word that the dictionary lacks must be the noun of the adjective before it: "the new empire"."""
    word = words.word(place)
    if word in _COMPLETED_BY or len(word) <= _SHORTEST_NOUN or not word.islower() or parts_of_speech(word):
        return False
    return "ADJ" in parts_of_speech(words.word(place - 1))


def _noun_goes_on(words: Tokens, place: int) -> bool:
    """Whether a word that can be noun and verb is the noun: a verb comes right after it."""
    follows = words.word(place + 1).lower()
    return "AUX" in parts_of_speech(follows) or follows in ("is", "was", "are", "were", "has", "had", "of")


def _is_one_of_several(words: Tokens, place: int) -> bool:
    """Whether an adjective has another after its comma or hyphen: "the sweet, overtone-rich texture"."""
    if place + 2 >= len(words) or words.gap(place) not in (", ", "-") or not words.word(place + 1).islower():
        return False
    follows = words.word(place + 1)
    if words.gap(place) == "-":
        return bool(parts_of_speech(follows) & {"ADJ", "VERB"}) and words.adjacent(place + 1)
    if "ADJ" not in parts_of_speech(words.word(place)) or follows in _COMPLETED_BY:
        return False
    return words.gap(place + 1) == "-" or ("ADJ" in parts_of_speech(follows) and words.adjacent(place + 1))


def _is_completed(words: Tokens, place: int, last: int) -> bool:
    """Whether what follows the definite from `place` to `last`, or a superlative in it, says which is meant."""
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
"""Before a name they tell which is meant; "in" does not before a place, where much can be."""


def bare_definite(words: Tokens, place: int) -> str | None:
    """ "The film"; None for a definite that is complete in itself."""
    if place + 1 >= len(words) or not words.adjacent(place):
        return None
    last = _phrase_end(words, place + 1)
    while _is_one_of_several(words, last):
        last = _phrase_end(words, last + 1)
    inside = range(place + 1, last + 1)
    forms = {words.word(at).lower() for at in inside}
    behind = words.text[words.ends[last] :]
    if _is_completed(words, place, last) or forms & _UNIQUE or words.capitalised(last + 1) or behind.startswith(_SIGNS):
        return None
    if last == place + 1 and not parts_of_speech(words.word(last).lower()) and words.word(last).islower():
        return None  # a word that no dictionary has names what it is: "the sarod"
    joined = re.match(_JOINED_NOUNS, behind)
    if joined is not None and "NOUN" in parts_of_speech(joined[1]):
        return None  # "the time and space hierarchy theorems"
    named = any(words.capitalised(at) or words.normals[at][0].isdigit() for at in inside)
    if named and not (last == place + 1 and forms <= _CLASSES_AS_NAMES):
        return None
    return words.text[words.starts[place] : words.ends[last]]
