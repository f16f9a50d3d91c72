"""English noun phrases: the head, its number, its article, and other forms of it."""

import re
from functools import lru_cache

import lemminflect

from flows.language.en.names import PARTICLES, SUFFIXES, TITLES, classes, is_first_name, place_class
from flows.language.en.tokens import tokens, word_set
from flows.language.tables import word_list

_KEPT = 16384
ARTICLES = frozenset(("a", "an", "the"))
_QUOTES = "\"'“”‘’`«» \t\r\n\u00a0"
_CLOSED_BY = {")": "(", "]": "["}
PREPOSITIONS = word_list("en", "prepositions")
_COMPLEMENT = PREPOSITIONS | {"that", "who", "which", "whose", "where", "when", "de", "di", "du", "des", "von", "der"}
AUXILIARIES = word_list("en", "auxiliaries")
SMALL_WORDS = word_set("of the and for in on at to a an de la le du des di von van der den & by with from")
_SINGULAR_IN_S = re.compile(r"(?:ss|us|is|ics|news|series|species|means|gas|lens|chess|atlas|bias|canvas|Texas)$", re.I)
_PLURAL_NAMES = word_set("states netherlands philippines bahamas maldives seychelles emirates")
_PLURAL_HEADS = word_set("islands mountains alps hills wars brothers sisters beatles stones games")
"""Heads of names that take a plural verb."""
_IRREGULAR_PLURALS = word_set("people police men women children feet teeth geese mice cattle alumni criteria")
_VOWEL_SOUND = re.compile(
    r"(?:[aeiou](?<!u)|u(?!ni(?!n|m|d)|s[aeiu]|t[aeio]|r[aeiou]|k|bi|fo)|hon(?:est|o[ur])|hour|heir|8|11(?!\d)|18(?!\d))",
    re.IGNORECASE,
)
_CONSONANT_SOUND = re.compile(r"(?:eu|ew|one(?:\b|s|-)|once|ouija|u\.?[snk]\b\.?)", re.IGNORECASE)
_SPOKEN_WITH_VOWEL = frozenset("AEFHILMNORSX")
_TAKES_THE_WORDS = word_list("en", "names with the")
_TAKES_NONE_WORDS = word_list("en", "names without the")
MASS_ENDINGS = ("ness", "ism", "ology", "ics")


@lru_cache(_KEPT)
def trimmed(answer: str) -> str:
    """The phrase without outer white space, quotation marks, end punctuation and a possessive's ending."""
    phrase = answer.strip()
    while phrase and (phrase[-1] in ".,;:!?" or phrase[-1] in _QUOTES) and not _is_abbreviation(phrase):
        phrase = phrase[:-1]
    phrase = phrase.lstrip(_QUOTES + ",;:")
    if phrase[:1] in _CLOSED_BY.values() and not any(closing in phrase for closing in _CLOSED_BY):
        phrase = phrase[1:].lstrip()
    if phrase and (opening := _CLOSED_BY.get(phrase[-1])) and opening not in phrase:
        phrase = phrase[:-1]
    return re.sub(r"(?<=\w)['’]s$", "", phrase) or answer.strip()


def _is_abbreviation(phrase: str) -> bool:
    return re.search(r"(?:\b\w\.\s?\w\.|\b(?:Jr|Sr|Inc|Ltd|Co|St)\.)$", phrase) is not None


@lru_cache(_KEPT)
def split_article(phrase: str) -> tuple[str, str]:
    """The leading article ("the ", with its white space) and the rest of the trimmed phrase."""
    words = tokens(phrase)
    if len(words) > 1 and words.starts[0] == 0 and words.word(0).lower() in ARTICLES and words.adjacent(0):
        return phrase[: words.starts[1]], phrase[words.starts[1] :]
    return "", phrase


_INTRODUCING = word_list("en", "introducing")
_INTRODUCED_WORD = re.compile(r"(?:the\s+)?(?:[A-Z0-9$£€]|early|late|mid)")


@lru_cache(_KEPT)
def unintroduced(answer: str) -> str:
    """The trimmed phrase without a preposition or approximation before a name, a date or a number."""
    phrase = trimmed(answer)
    words = tokens(phrase)
    if len(words) > 1 and words.starts[0] == 0 and words.word(0).islower() and words.normals[0] in _INTRODUCING:
        rest = phrase[words.starts[1] :]
        signed = re.search(r"[$£€~]\s*$", words.gap(0))
        rest = signed.group() + rest if signed else rest
        if _INTRODUCED_WORD.match(rest) or words.normals[1][0].isdigit():
            return rest
    return phrase


@lru_cache(_KEPT)
def core(answer: str) -> str:
    """The phrase without its introduction (a preposition or approximation) and its article."""
    return split_article(unintroduced(answer))[1]


@lru_cache(_KEPT)
def head(phrase: str) -> str:
    """The head noun: the last word before a preposition or relative ("type of engine" gives "type")."""
    words = tokens(core(phrase))
    for place in range(1, len(words)):
        gap = words.gap(place - 1)
        if words.word(place).lower() in _COMPLEMENT or "(" in gap or "," in gap:
            return words.word(place - 1)
    return words.word(len(words) - 1)


@lru_cache(_KEPT)
def parts_of_speech(word: str) -> frozenset[str]:
    """Return the parts of speech of a word in the dictionary ("NOUN", "VERB", "ADJ", "ADV", "AUX")."""
    return frozenset(lemminflect.getAllLemmas(word.lower()))


@lru_cache(_KEPT)
def is_dictionary_word(word: str) -> bool:
    return bool(parts_of_speech(word))


@lru_cache(_KEPT)
def is_plural_noun(word: str) -> bool:
    """True if the noun is a plural by its form."""
    low = word.lower()
    if low in _IRREGULAR_PLURALS or low in _PLURAL_NAMES:
        return True
    lemmas = lemminflect.getAllLemmas(low).get("NOUN", ())
    if lemmas:
        return low not in lemmas
    if not low.endswith("s") or _SINGULAR_IN_S.search(word):
        return False
    return word[:1].islower()


@lru_cache(_KEPT)
def is_plural(phrase: str) -> bool:
    """True if the noun phrase takes a plural verb: several things, or a head in the plural."""
    inner = core(phrase)
    if is_list(inner):
        return True
    noun = head(inner)
    if place_class(inner) is not None or len(noun) < 3:
        return False
    if noun[:1].isupper() and len(tokens(inner)) > 1:
        return noun.lower() in _IRREGULAR_PLURALS or (is_plural_noun(noun) and noun.lower() in _PLURAL_HEADS)
    if noun[:1].isupper() and not is_dictionary_word(noun):
        return noun.endswith("ns") and not is_first_name(noun)
    return is_plural_noun(noun)


def is_list(phrase: str) -> bool:
    """True if the phrase names several things joined by "and" or a comma ("France and Spain")."""
    words = tokens(phrase)
    return any(words.normals[place] in ("and", "or") or "&" in words.gap(place - 1) for place in range(1, len(words)))


@lru_cache(_KEPT)
def is_mass(noun: str) -> bool:
    """True if the dictionary knows the noun in the singular without an article ("oxygen")."""
    low = noun.lower()
    forms = lemminflect.getInflection(low, "NNS", inflect_oov=False)
    return low in forms or low.endswith(MASS_ENDINGS)


@lru_cache(_KEPT)
def takes_no_article(noun: str) -> bool:
    """True if the noun hardly ever takes "a": a substance, a field, a quality."""
    low = noun.lower()
    return low in classes("mass") or (low.endswith(MASS_ENDINGS) and is_mass(low))


@lru_cache(_KEPT)
def other_number(word: str) -> str | None:
    """The plural of a singular noun and the singular of a plural one; None if the dictionary has none."""
    low = word.lower()
    if low.endswith("s") or low in _IRREGULAR_PLURALS:
        lemmas = lemminflect.getAllLemmas(low).get("NOUN", ())
        if lemmas and low not in lemmas:
            return _cased(lemmas[0], word)
        if not lemmas and is_plural_noun(word):
            return word[:-1]
        if low.endswith("s") and not lemmas:
            return None
    plurals = [form for form in lemminflect.getInflection(low, "NNS", inflect_oov=False) if form != low]
    if plurals:
        return _cased(plurals[0], word)
    return None if not word.isalpha() else _regular_plural(word)


def _regular_plural(word: str) -> str:
    if re.search(r"(?:s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) and word.islower() else f"{word}s"


def _cased(form: str, like: str) -> str:
    return form[:1].upper() + form[1:] if like[:1].isupper() else form


@lru_cache(_KEPT)
def article(phrase: str) -> str:
    """ "a" or "an", by the sound that the phrase begins with."""
    first = re.match(r"\W*([\w.]*)", phrase)
    word = first.group(1) if first else ""
    letters = word.replace(".", "")
    if letters.isupper() and _is_spelt_out(letters):
        return "an" if letters[0] in _SPOKEN_WITH_VOWEL else "a"
    if _CONSONANT_SOUND.match(word):
        return "a"
    return "an" if _VOWEL_SOUND.match(word) else "a"


def _is_spelt_out(letters: str) -> bool:
    """True if an acronym is said letter by letter ("MVP"), not as a word ("NATO")."""
    if len(letters) <= 3:
        return len(letters) == 1 or not is_dictionary_word(letters) or letters in ("US", "UN", "EU")
    return re.search(r"[AEIOU]", letters[1:-1]) is None


@lru_cache(_KEPT)
def is_proper(phrase: str) -> bool:
    """True if the phrase is a name: its content words are capitalised, and not only because they begin a sentence."""
    lead, inner = split_article(unintroduced(phrase))
    words = tokens(inner)
    content = [words.word(place) for place in range(len(words)) if words.word(place).lower() not in SMALL_WORDS]
    letters = [word for word in content if word[0].isalpha()]
    if not letters or not _has_capital(letters[0]):
        return False
    if len(letters) == 1:
        return lead.islower() or not is_dictionary_word(letters[0]) or is_name_word(letters[0])
    if not (_has_capital(head(phrase)) and _has_capital(letters[-1])):
        return False
    return _has_capital(letters[1]) or not is_dictionary_word(letters[0])


def _has_capital(word: str) -> bool:
    return word[:2] != word[:2].lower() or word[:1].isdigit()


@lru_cache(_KEPT)
def is_name_word(word: str) -> bool:
    """True if a capitalised word can be a name although it is in the dictionary as well."""
    return place_class(word) is not None or is_first_name(word) or (len(word) > 1 and word.isupper())


@lru_cache(_KEPT)
def within_sentence(phrase: str) -> str:
    """The phrase as written within a sentence: a common noun loses the capital of a sentence's start."""
    if not phrase[:1].isupper() or phrase[1:2].isupper() or is_proper(phrase):
        return phrase
    return phrase[:1].lower() + phrase[1:]


_ALWAYS_WITH_THE = frozenset(("states", "netherlands", "kingdom", "philippines", "emirates"))
_NAMES_WITH_THE = frozenset(("US", "UK", "EU", "UN", "U.S.", "U.K.", "E.U.", "U.N.", "USA", "USSR", "Soviet Union"))


@lru_cache(_KEPT)
def takes_the(name: str) -> bool | None:  # noqa: PLR0911 - one for each form of a name
    """True if a name takes "the" as a noun phrase; None if its form does not show it."""
    inner = core(name)
    words = tokens(inner)
    if not len(words):
        return None
    noun = head(inner).lower()
    forms = [words.word(place).lower() for place in range(len(words))]
    if forms[-1] in _ALWAYS_WITH_THE or inner in _NAMES_WITH_THE:
        return True
    if place_class(inner) is not None and noun not in classes("the") and not split_article(unintroduced(name))[0]:
        return False
    if words.word(0)[:1].isupper() and (forms[0] in TITLES or (is_first_name(words.word(0)) and len(words) > 1)):
        return noun in _TAKES_THE_WORDS and noun not in SUFFIXES and forms[0] not in PARTICLES
    if "of" in forms[1:-1]:
        return noun[:1].isalpha() and inner[:1].isupper()
    if noun in _TAKES_NONE_WORDS or forms[0] in ("lake", "mount", "mt"):
        return False
    if noun in _TAKES_THE_WORDS or split_article(unintroduced(name))[0].lower().startswith("the"):
        return True
    if len(forms) == 1:
        return True if noun in classes("the") else None
    return True if is_dictionary_word(noun) and classes("head").get(noun) else None
