"""Words of an English sentence or question that point at something outside it: "this attempt", "his manuscript"."""

import re
from itertools import islice

from flows.language import en
from flows.language.en.definites import bare_definite, is_complete
from flows.language.en.names import classes
from flows.language.en.numbers import date_of
from flows.language.en.phrases import PREPOSITIONS, is_dictionary_word, parts_of_speech
from flows.language.en.tokens import Tokens, tokens, word_set
from flows.language.tables import word_list

_PERSONAL = frozenset(["he", "him", "his", "himself", "she", "her", "hers", "herself"])
_PERSONS = word_list("en", "persons")
_PEOPLE = re.compile(r".+(?:er|or|ist|ian|man|woman|eur|ant|ee|ess|ete|ive)s?")
_CLAUSE = re.compile(
    r"[,;:.!?–—]|\b(?:and|but|or|when|while|who|which|that|where|if|because|as|after|before|than)\b", re.I
)
_TEMPORAL = word_list("en", "of today")
"""Nouns that "this" fits without a text before: "this year"."""
_THIS = re.compile(r"\b(this|these)\s+((?:[\w'’-]+\s+)?[\w'’-]+)", re.IGNORECASE)


def en_points_outside(sentence: str) -> str | None:
    """See `flows.language.pointing.points_outside`."""
    subject = en.dangling_subject(sentence)
    if subject is not None and not _is_clear_subject(sentence, subject):
        return subject
    return unnamed(tokens(sentence)) or this(sentence)


def _is_clear_subject(sentence: str, subject: str) -> bool:
    """True if a subject means something general, or a thing in the introduction: "As the French empire grew, the new
    empire", "Although Hart played minor roles, he".
    """
    words, match = tokens(sentence), re.search(rf"\b{re.escape(subject)}\b", sentence)
    start = match.start() if match is not None else 0
    if _EMPTY_SUBJECT.match(sentence, start) or is_complete(sentence, start, subject):
        return True
    if subject in ("he", "she"):
        return any(person < start for person, _ in _persons(sentence))
    earlier = {en.lemma(words.word(at).lower()) for at in range(len(words)) if words.starts[at] < start}
    return subject.lower().startswith("the ") and _is_clear(subject, earlier)


def _persons(sentence: str) -> list[tuple[int, int]]:
    """Return the spans that name persons; a small word that opens the sentence is not part of a name."""
    first = sentence.partition(" ")[0]
    opens = first.lower() in _GRAMMAR
    return en.spans_of_type(first.lower() + sentence[len(first) :] if opens else sentence, "person")


_EMPTY_SUBJECT = re.compile(
    r"[Ii]t (?:is|was|has been) (?:[a-z]+ly )?"
    r"(?:convenient|helpful|interesting|observed|seen|sufficient|tempting|useful|usual) (?:to|that|if|whether)\b|"
    r"(?:Some|Many) (?:(?:have|also) )*(?:argu|believ|call|claim|consider|critici|describ|suggest|think|view)[a-z]*\b"
)
""" "It is tempting to think ...", "Some have described ..."."""
_AT_THE_TIME = re.compile(
    r"^(?:At (?:the|that) time|By (?:then|that time))\b(?=,| however)|\bat (?:the|that) time(?=\s*[.,;:)—–])"
)
_TELLS_TIME = re.compile(r"\d{2}|\b(?:century|when|while|during|after|before|until|age|era|war|reign)\b", re.I)
_DID_SO = re.compile(r"(?:[A-Z][\w'’.-]*|[Tt]he|[a-z]+) (?:[\w'’.-]+ ){0,2}?(did so)\b")
""" "Germany did so, and ...": before this subject nothing was done."""


def points_back(sentence: str) -> str | None:
    """A time or deed that only the text before gives: "at the time" in a sentence without a time, "did so"."""
    time, deed = _AT_THE_TIME.search(sentence), _DID_SO.match(sentence)
    if time is not None and not _TELLS_TIME.search(sentence):
        return time[0]
    return deed[1] if deed is not None else None


_OPENING = 4
"""Words at the start of a sentence in which a pronoun may precede the name that it means."""


def vague_phrase(sentence: str, answer: str) -> str | None:
    words = tokens(sentence)
    if (counted := _COUNTED.search(sentence)) is not None:
        return counted[0]
    persons = _persons(sentence)
    for place in range(len(words)):
        low = words.word(place).lower()
        if low in _PERSONAL and not (
            any(start < words.starts[place] for start, _ in persons)
            or any(_begins_name(words, at) for at in range(1, place))
        ):
            if place < _OPENING and _names_after_comma(words, place):
                continue  # "In his report, Céloron wrote ..."
            return words.word(place)
        empty = _EMPTY_IT.match(sentence, words.starts[place])
        if low == "it" and not empty and not any(_may_be_thing(words, at) for at in range(place)):
            return words.word(place)
        phrase = bare_definite(words, place) if low == "the" else _that(words, place) if low == "that" else None
        if phrase is None or phrase.split()[-1].lower() in _OF_ALL:
            continue
        if is_complete(sentence, words.starts[place], phrase):
            continue
        if en.content_words(phrase) <= en.content_words(answer):
            continue  # the answer itself is the name: "the therefore sign"
        if not _is_clear(phrase, {en.lemma(words.word(at).lower()) for at in range(place)}):
            return phrase
    return None


def _begins_name(words: Tokens, place: int) -> bool:
    """True if a name that may be a person's begins there: not "the First World War", "in Paris"."""
    before = words.word(place - 1)
    return (
        words.capitalised(place)
        and date_of(words.word(place)) is None
        and not words.capitalised(place - 1)
        and before.lower() not in _LOCATING | {"the"}
    )


_COUNTED = re.compile(r"\b[Tt]he (?:first|second|third|fourth|last|next|only) [a-z]+(?= (?:is|was|are|were|has|had)\b)")
""" "The first president was ...": of what?"""
_EMPTY_IT = re.compile(r"it\s+(?:is|was|has|had|will|would|may|takes?|took|seems?|rains?|snows?)\b", re.IGNORECASE)


def _may_be_thing(words: Tokens, place: int) -> bool:
    """True if "it" may stand for the word at `place`: a noun in the singular or a name, not a person or date."""
    word = words.word(place)
    low = word.lower()
    if _is_person_noun(low) or date_of(word) is not None or low in _GRAMMAR or word[:1].isdigit():
        return False
    named = place > 0 and word[:1].isupper()
    of = parts_of_speech(low)
    return named or ("NOUN" in of and "ADJ" not in of and en.lemma(low) == low and low != "people")


def _that(words: Tokens, place: int) -> str | None:
    """ "That" with its noun: "reached that summit in June"; not "said that it ...", "the book that people read"."""
    before, noun = parts_of_speech(words.word(place - 1).lower()) if place else set(), words.word(place + 1)
    if "NOUN" not in parts_of_speech(noun.lower()) or "NOUN" in before or noun[:1].isupper():
        return None
    ends = not words.adjacent(place + 1) or words.word(place + 2).lower() in PREPOSITIONS
    return f"{words.word(place)} {noun}" if ends else None


def names_what_is_asked(question: str, answer: str, sentence: str) -> bool:
    sentence_words = set(re.findall(r"[^\W_]+", sentence))
    if _names_in(question):
        return all(name & sentence_words for name in _names_in(question, answer))  # the sentence holds the answer's
    nouns = {word for word in en.content_words(question) - en.content_words(answer) if "NOUN" in parts_of_speech(word)}
    return not nouns or bool(nouns & en.content_words(sentence))


_IN_NAMES = word_set("van von der den de del della da di la le du")


def _names_in(question: str, answer: str = "") -> list[set[str]]:
    """The names of a question, each as its capitalised words; without those of the answer."""
    words = tokens(question)
    answer_words = {word.casefold() for word in re.findall(r"[^\W_]+", answer)}
    names: list[set[str]] = []
    last = None
    for place in range(len(words)):
        word = words.word(place)
        low = word.lower()
        opens = place == 0 and (low in _GRAMMAR or is_dictionary_word(low))
        if not word[:1].isupper() or opens or low in en.STOP_WORDS | _GRAMMAR or date_of(word) is not None:
            continue
        between = [words.word(at) for at in range(place if last is None else last + 1, place)]
        goes_on = last is not None and all(words.adjacent(at) for at in range(last, place))
        if not goes_on or any(word not in _IN_NAMES for word in between):
            names.append(set())
        names[-1] |= {part for part in re.findall(r"[^\W_]+", word) if len(part) > 1}
        last = place
    without = ({part for part in name if part.casefold() not in answer_words} for name in names)
    return [name for name in without if name]


def this(text: str) -> str | None:
    """ "This" or "these" with a noun, in the first clause; clear if the noun came before, or names a time."""
    match = _THIS.search(text)
    if match is None or text[: match.start()].count('"') % 2:
        return None
    if _CLAUSE.search(text, len(text.split(maxsplit=1)[0]), match.start()):
        return None
    first, *more = match[2].split()
    noun = more[0] if more and not parts_of_speech(first.lower()) & {"NOUN"} else first
    of = parts_of_speech(noun.lower())
    if {first.lower().partition("'")[0], noun.lower()} & _TEMPORAL or ("NOUN" not in of and of) or noun[:1].isupper():
        return None
    return None if noun.lower() in text[: match.start()].lower() else f"{match[1]} {match[2]}"


def unnamed(words: Tokens) -> str | None:
    """A pronoun for a person where the sentence names no person before it, nor right after its clause."""
    for place in range(len(words)):
        low = words.word(place).lower()
        if low not in _PERSONAL or words.text[: words.starts[place]].count('"') % 2:
            continue
        if any(_may_be_person(words, at) for at in range(place)):
            return None
        return None if _names_after_comma(words, place) else words.word(place)
    return None


_COMMA = re.compile(r",(?! \d)")
"""A date that no year follows: "In his lecture on April 16, 2003, Edward Said"."""


def _names_after_comma(words: Tokens, place: int) -> bool:
    """True if the clause after a pronoun's begins with the person it means: "By the time he died, Lincoln ..."."""
    comma = _COMMA.search(words.text, words.ends[place])
    following = (at for at in range(place + 1, len(words)) if comma is not None and words.starts[at] > comma.start())
    return any(_may_be_person(words, at) for at in islice(following, 1))


_GRAMMAR = PREPOSITIONS | word_list("en", "grammar")
"""Words that begin sentences and are no names."""
_LOCATING = frozenset(["in", "at", "near", "from"])
"""A name after them is more likely a place's."""


def _may_be_person(words: Tokens, place: int) -> bool:
    word = words.word(place)
    low = word.lower()
    if low in _PERSONS or low.removesuffix("s") in _PERSONS or _is_person_noun(low):
        return True
    before = words.word(place - 1).lower() if place else ""
    if not word[:1].isupper() or date_of(word) is not None or before in _LOCATING:
        return False
    of = parts_of_speech(low)
    if place or not of:
        return place > 0 or low not in _GRAMMAR
    # "Hazel is forced ..." begins with a name; "Hurt after ..." and "After ..." do not.
    follows = parts_of_speech(words.word(1).lower())
    return low not in _GRAMMAR and "ADV" not in of and (not of & {"VERB", "ADJ"} or "VERB" in follows)


def _is_person_noun(word: str) -> bool:
    kind = classes("focus").get(word.removesuffix("s"), classes("head").get(word, ("", "")))[0]
    return kind == "person" or (_PEOPLE.fullmatch(word) is not None and "NOUN" in parts_of_speech(word))


def _is_clear(definite: str, earlier: set[str]) -> bool:
    """True if the words before a definite name the thing, or the whole that it must be a part of."""
    noun = en.lemma(definite.rpartition(" ")[2].lower())
    return noun in earlier or bool(_WHOLES.get(noun, frozenset()) & earlier)


_GAMES = word_list("en", "games")
_FILMS = word_set("film movie series sitcom show play musical opera episode sequel drama comedy thriller documentary")
_SONGS = word_set("song single album track musical opera anthem hymn")
_WHOLES = {
    **dict.fromkeys(word_set("game sport"), _GAMES),
    **dict.fromkeys(word_set("screenplay script cast soundtrack score plot dialogue"), _FILMS),
    **dict.fromkeys(word_set("lyric vocal melody tune"), _SONGS),
}
"""Nouns for what belongs to a kind of thing or person, with the nouns for that kind: cricketers play the game."""
_OF_ALL = word_list("en", "clear with the")
"""Nouns that are clear with "the" in any sentence, like those of a kind: "the texture of the sitar"."""


# ---- questions ----

_BARE_THIS = re.compile(
    r"\b(?:of|in|to|by|for|with|from|about|after|before|during|under|at|on)\s+(?:this|these)(?=\s*(?:[?,.;]|$)|"
    r"\s+(?:appear|happen|occur|take|took|come|came|begin|began|start|end|become|became)\w*)",
    re.IGNORECASE,
)
_AUX = r"(?:did|does|do|was|is|were|are|has|had|have|can|could|would|will|should)"
_INVERTED = re.compile(
    rf"^(?:(?:in|on|at|to|from|for|with|by|during|under|of)\s+)?(?:who|whom|whose|what|when|where|why|how|which)\b"
    rf"(?:\s+[\w'’-]+){{0,4}}?\s+{_AUX}(?:n['’]t)?\s+(he|she|his|her|that(?=\s+\w+\s+\w))\b(?!['’])",
    re.IGNORECASE,
)
""" "When did he die?", "What was her name?"; the pronoun may mean a person named before it."""
_ASKED_OF_THIS = re.compile(
    rf"^(?:in |on |at )?(?:who|whom|what|when|where|why|how|which)\b(?:\s+[\w'’-]+){{0,2}}?\s+{_AUX}\s+th(?:is|ese)\b"
)
"""For questions without capitals, which show no titles: "when did this case ..."; not "i go down with this ship"."""
_THINGS = re.compile(
    rf"^(?:in |on |at |from |for )?(?:who|whom|what|when|where|why|how|which)\b(?:\s+[\w'’-]+){{0,3}}?\s+{_AUX}\s+"
    r"(it|its|they|their)\b(?!.*\b(?:to|that|if|when|for|takes?|mean|cost|rain|snow|called|like)\b)",
    re.IGNORECASE,
)
""" "When was it built?"; not "how long does it take to ..."."""
_LISTED = re.compile(
    r"\b(?:which|what|one|any|all|none) of the following\b|\b(?:in|to|by|from) the (?:passage|text|article|paragraph)\b"
    r"(?=\s*[?,.]|$)|\bthe (?:former|latter|above)(?=\s*[?,.]|$)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    rf"^(?:(?:He|She|It|They|This|These|His|Her|Their|Its)\b|The [a-z]\w*(?= {_AUX.replace('(?:', '(?:may|might|')}\b))"
)
_ASKS = re.compile(r"\b(?:who|whom|whose|what|when|where|why|how|which)\b", re.IGNORECASE)


def en_question_points_outside(question: str, evidence: str) -> str | None:
    """See `flows.language.pointing.question_points_outside`."""
    capitals = any(sign.isupper() for sign in question)
    if not capitals and not _ASKS.search(question):
        return None  # a riddle: "this type of decay turns a proton into a neutron"
    pointing = _match(_LISTED, question, 0) or _match(_INVERTED, question, 1)
    if pointing is None and (capitals or _ASKED_OF_THIS.match(question)):
        pointing = _match(_BARE_THIS, question, 0) or this(question)
    if capitals and pointing is None:
        pointing = _in_sentence_case(question)
    return None if pointing is None or _is_title(question, pointing, evidence) else pointing


def _in_sentence_case(question: str) -> str | None:
    named = any(sign.isupper() for sign in question[1:])
    pointing = unnamed(tokens(question)) if named else _match(_THINGS, question, 1)
    if pointing is None and en.dangling_subject(question) is not None:
        return _match(_SUBJECT, question, 0)
    return pointing


def _match(pattern: re.Pattern[str], text: str, group: int) -> str | None:
    match = pattern.search(text.strip())
    return match[group] if match else None


def _is_title(question: str, pointing: str, evidence: str) -> bool:
    place = question.find(pointing)
    following = question[place:].split()[:3]
    titled = r"\W+".join(re.escape(word.strip("?.,")[:1].upper() + word.strip("?.,")[1:]) for word in following[:2])
    return len(following) > 1 and re.search(rf"[\w,'\"“]\s+['\"“(]*{titled}|['\"“]\s*{titled}", evidence) is not None
