"""English sentences that need the text before them: a pronoun or a bare definite as the subject."""

import re

from flows.language.en.definites import bare_definite, phrase_end
from flows.language.en.phrases import parts_of_speech
from flows.language.en.tokens import Tokens, tokens, word_set
from flows.language.tables import word_list

_PRONOUNS = word_set("he she it they this these those that his her its their such")
_OWNING = word_set("his her its their this these those that such")
_OPENERS = word_list("en", "sentence openers")
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
_LONGEST_PAIR = 12
"""Words in which "both" has its "and"."""


def dangling_subject(sentence: str) -> str | None:  # noqa: PLR0911 - one for each form
    """Return the words at the subject of `sentence` that need the text before it; else None.

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
    """A part of what was named before; a name before it in the sentence may be the whole."""
    match = _LEANING.match(words.text, words.starts[place])
    if match is None:
        return None
    inside = [at for at in range(place + 1, len(words)) if words.ends[at] <= match.end()]
    before = {words.word(at).lower() for at in inside} - _PRECEDING
    kinds = (parts_of_speech(word) for word in before)
    if any(words.capitalised(at) for at in inside) or any("AUX" in of or of == {"VERB"} for of in kinds):
        return None
    return match.group()


def _bare_quantity(words: Tokens, place: int, form: str) -> str | None:
    """ "All declared ...", "Both teams ...": only the text before shows who or what is meant."""
    if form == "both":
        pair = (words.word(at).lower() for at in range(place + 1, min(len(words), place + _LONGEST_PAIR)))
        return None if "and" in pair else words.word(place)
    of = parts_of_speech(words.word(place + 1))
    alone = "AUX" in of or of == {"VERB"} or words.word(place + 1).lower() == "however"
    return words.word(place) if alone and words.word(place + 1).islower() else None


def _subject(words: Tokens) -> int | None:
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
    """The word before the first comma that ends the introduction; commas inside dates and lists are skipped."""
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
        last = phrase_end(words, place + 1)
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
