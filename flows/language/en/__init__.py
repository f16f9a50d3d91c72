"""English: words, sentences and base forms; the types of answers, their mentions, and their replacement."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

import lemminflect
import syntok.segmenter

from flows.language.en.kinds import kind, shape
from flows.language.en.mentions import mentions
from flows.language.en.names import gender
from flows.language.en.nouns import Entity, entities, names
from flows.language.en.phrases import article, head, is_plural
from flows.language.en.replace import replace
from flows.language.en.spans import spans_of_type
from flows.language.en.subjects import dangling_subject
from flows.language.en.types import answer_type
from flows.language.tables import word_list

__all__ = [
    "STOP_WORDS", "Entity", "answer_type", "article", "contains", "content_lemmas", "content_words", "count",
    "dangling_subject", "each_sentence", "entities", "gender", "head", "is_plural", "kind", "lemma", "mentions",
    "names", "replace", "sentences", "shape", "spans_of_type", "words",
]  # fmt: skip
STOP_WORDS = word_list("en", "stop words")
"""Words that carry no meaning of their own. Negations, quantifiers, comparatives and prepositions that
order or place things (before, after, over, under, without) are not among them: exchanging one changes
what a sentence says."""
_WORD = re.compile(r"\d+(?:[.,]\d+)*[^\W\d_]*|[^\W\d_][^\W_]*(?:'[^\W\d_]+)*")
_IRREGULAR_NEGATIONS = {"cannot": ("can", "not"), "can't": ("can", "not"), "won't": ("will", "not"),
                        "shan't": ("shall", "not"), "ain't": ("be", "not")}  # fmt: skip
_CLITICS = ("'s", "'re", "'ve", "'ll", "'d", "'m")


def count(text: str) -> int:
    """Words in `text`: stretches between white space that hold a letter or a digit."""
    return sum(any(character.isalnum() for character in word) for word in text.split())


def sentences(text: str) -> list[str]:
    return list(each_sentence(text))


def each_sentence(text: str) -> Iterator[str]:
    """Yield the sentences as they are found: the first alone takes a part of the time."""
    start: int | None = None
    for paragraph in syntok.segmenter.analyze(text):
        for tokens in map(list, paragraph):
            if tokens:
                if start is not None and (stretch := text[start : tokens[0].offset].strip()):
                    yield stretch
                start = tokens[0].offset
    if start is not None and (stretch := text[start:].strip()):
        yield stretch


def words(text: str) -> list[str]:
    """The lower-cased words of `text` in order; contractions are undone ("can't" gives "can", "not")."""
    listed: list[str] = []
    for match in _WORD.finditer(text.replace("’", "'").lower()):
        word = match.group()
        if word in _IRREGULAR_NEGATIONS:
            listed.extend(_IRREGULAR_NEGATIONS[word])
        elif word.endswith("n't"):
            listed.extend((word.removesuffix("n't"), "not"))
        elif "'" in word:
            for clitic in _CLITICS:
                word = word.removesuffix(clitic)
            listed.append(word)
        else:
            listed.append(word)
    return listed


@cache
def lemma(word: str) -> str:
    """The base form of the lower-cased `word`, as a verb where it can be one, else as a noun.

    Of several ("found") the shortest, then the first by the alphabet. Comparatives and superlatives stay
    as they are, since "taller" does not say "tall"; so does a word that the dictionary lacks.
    """
    lemmas = lemminflect.getAllLemmas(word)
    forms = lemmas.get("VERB") or lemmas.get("NOUN") or (word,)
    return min((form.lower() for form in forms), key=lambda form: (len(form), form))


def content_lemmas(text: str) -> list[str]:
    """The base forms of the words that carry meaning, in order and as often as they occur."""
    return [lemma(word) for word in words(text) if word not in STOP_WORDS]


def content_words(text: str) -> frozenset[str]:
    """The lower-cased base forms of the words that carry meaning; negations are among them ("not")."""
    return frozenset(content_lemmas(text))


def contains(text: str, phrase: str) -> bool:
    """True if `phrase` occurs in `text` as whole words, in any case and with any white space between.

    A number is whole only with its decimals and thousands: "3" does not occur in "3.5". An empty phrase
    occurs nowhere.
    """
    parts = phrase.split()
    if not parts:
        return False
    low = _lower(text)
    if not all(part.lower() in low for part in parts if part.isascii()):
        return False
    if (stands := _stands(text, low, phrase)) is not None:
        return stands
    pattern = r"\s+".join(map(re.escape, parts))
    return re.search(rf"(?<!\w)(?<!\d[.,]){pattern}(?![.,]?\d|\w)", text, re.IGNORECASE) is not None


_BEFORE = re.compile(r"(?<!\w)(?<!\d[.,])")
_AFTER = re.compile(r"(?![.,]?\d|\w)")


@lru_cache(8)  # a text is searched for many phrases
def _lower(text: str) -> str:
    """The lower-cased text. What a pattern takes for an ASCII letter in any case is that letter."""
    if not text.isascii():
        for character, letter in (("ı", "i"), ("İ", "i"), ("ſ", "s"), ("\N{KELVIN SIGN}", "k")):
            text = text.replace(character, letter)
    return text.lower()


def _stands(text: str, low: str, phrase: str) -> bool | None:
    """True if an ASCII phrase occurs in an ASCII text letter for letter; None if that does not settle it.

    Compiling a pattern for each phrase costs more than searching most texts. `low` is the lower-cased text.
    """
    if not (phrase.isascii() and text.isascii()):
        return None
    wanted = phrase.lower()
    place = low.find(wanted)
    while place >= 0:
        if _BEFORE.match(text, place) and _AFTER.match(text, place + len(phrase)):
            return True
        place = low.find(wanted, place + 1)
    return None if len(phrase.split()) > 1 or phrase != phrase.strip() else False
