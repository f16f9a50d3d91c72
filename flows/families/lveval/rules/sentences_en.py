"""The sentences of an English collection that make sense alone, with their subjects.

Departure from the paper, whose annotators and GPT-4 write their confusing facts (section 3.2.2): the rules lift such
sentences, unchanged or with a name changed. A document with such a sentence is no distractor of its pair.
"""

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import fsum, log
from typing import NamedTuple

from flows.families.lveval.rules import entities_en
from flows.families.lveval.rules.vocabulary import pattern, vocabulary
from flows.language import en
from flows.language.en.phrases import AUXILIARIES, PREPOSITIONS, is_dictionary_word
from flows.language.en.statements import is_finite
from flows.language.pointing import points_outside

LEAST_WORDS = 6
LONGEST = 45  # the most words of a lifted sentence
COMMON = 0.2  # share of the documents from which a word is uninformative
RARE = 100  # number of documents that may always have an informative word
LONGEST_LEAD = 12  # the most words before the verb of a sentence
_KEPT = 8192
_PRONOUN = pattern("pronouns", re.IGNORECASE)
_OWN = re.compile(r"\b(?:its|his|her|their|it|he|she|they|also|later|other|both|former)\b", re.IGNORECASE)
"""Words that may follow the name that a sentence begins with."""
_LOWER, _WORD, _WORDS = re.compile(r" [a-z]"), re.compile(r"\w"), re.compile(r"\w+")
_JOINING = re.compile(r"[)\]]\w")
_GARBLED = re.compile(r',,|""|;|\[|\]|\n|\(|\bor ,|^[^"]*"[^"]*(?:"[^"]*"[^"]*)*$')
"""Leftovers of brackets, and unpaired quotation marks."""
_LEANS = pattern("leaning_openings")
_INTRODUCED = pattern("introductions")
_TRAILING_DATE = re.compile(r" (?:in|on) (?:[A-Z][a-z]+ )?(?:\d{1,2} )?(?:1\d|20)\d\d\.$")
_JOINED = re.compile(r",| (?:and|is|are|has|have|that|which|who|but|or) ")
"""A time at the end of such a sentence may belong to a part of it."""
_LINKED = pattern("removable_links")
_CLAUSE_ENDS = pattern("clause_ends")
_SET_OFF = re.compile(rf"(?P<of>(?:The )?{entities_en.NAME.pattern}), [^,]+, (?P<verb>[a-z]+)(?= )")
"""A name, the phrase set off after it, and its verb."""
_WHO = re.compile(rf"{entities_en.NAME.pattern}, who (?P<verb>[a-z]+)(?P<said> [^,;]+)(?=,|\.$)")
_JOINS = re.compile(r", (?:and|but|while|whereas) (?=(?:the |an? )?[A-Z])")
"""The place where a sentence continues with a clause on another subject."""
_DONE, _STATE = ("|".join(vocabulary(name).split()) for name in ("done", "lasting"))
_AFTER_NOUN = re.compile(
    rf",| (?:that|which|who|whose|where|in|from|best|most|widely|starring|featuring|located|(?:{_DONE}|{_STATE})"
    rf"(?: and (?:{_DONE}))?(?= (?:by|in|at|on|for|to|from|as)\b))(?= )"
)
"""The end of the first noun phrase of a definition."""
_PARTICIPLE = re.compile(
    rf"(?:^|,(?: and)?|(?<=[a-z]) and) (?P<said>(?:(?P<done>{_DONE})(?: and (?:{_DONE}))?|(?:{_STATE})) "
    rf"(?:by|in|at|on|for|to|from|as) (?:(?!(?: and)? (?:that|which|who|whose|where|starring|featuring|with|"
    rf"{_DONE}|{_STATE})\b)[^,;])+)"
)
"""The continuation of a definition: "directed by Ida Holm"."""


class Sentence(NamedTuple):
    """A sentence that makes sense alone."""

    text: str
    lead: str  # the words before its verb: its subject
    page: str  # the title of its page; empty if its document has none
    type: entities_en.EntityType | None  # the type of the page's subject
    words: frozenset[str]
    leads: frozenset[str]  # the content words of the sentence, and of its lead


class Collection:
    """The documents of a dataset, searched for their sentences."""

    def __init__(self, documents: Sequence[str]) -> None:
        self._documents = documents
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, document in enumerate(documents):
            for word in en.content_words(document):
                self._places[word].append(place)
        number = len(documents)
        self._weights = {word: log(1 + number / (1 + len(places))) for word, places in self._places.items()}
        self._most = log(1 + number)

    def weight(self, words: Iterable[str]) -> float:
        """Return how informative words are: the fewer documents have a word, the more informative it is."""
        # The words come in any order, in every process in another: the sum must not depend on it.
        return fsum(self._weights.get(word, self._most) for word in words)

    def near(self, words: frozenset[str], most: int) -> list[str]:
        """Return the documents most similar to the words; words that occur everywhere do not count."""
        scores: dict[int, float] = defaultdict(float)
        for word in sorted(words):
            places = self._places.get(word, ())
            if len(places) <= max(RARE, len(self._documents) * COMMON):
                weight = self.weight((word,))
                for place in places:
                    scores[place] += weight
        best = heapq.nsmallest(most, scores, key=lambda place: (-scores[place], place))
        return [self._documents[place] for place in best]


@lru_cache(_KEPT)
def sentences(document: str) -> tuple[Sentence, ...]:
    """Return the sentences of a document that make sense alone."""
    return tuple(_standing_alone(*_page(document)))


@lru_cache(_KEPT)
def page_and_type(document: str) -> tuple[str, entities_en.EntityType | None]:
    """Return what the sentences of a document have as page and type. It takes a small part of their time."""
    page, text = _page(document)
    first = next(en.each_sentence(text), None) if page else None
    return page, opened(page, re.sub(r"\s+", " ", first))[0] if first is not None else None


def may_name(document: str, names: Iterable[str]) -> bool:
    """Return whether a sentence of a document may have one of the names: their words stand in it."""
    low = document.casefold()
    words = (_WORDS.findall(name.casefold()) for name in names if name)
    # Without brackets, the letters on both sides are one word.
    return _JOINING.search(document) is not None or any(all(word in low for word in of_name) for of_name in words)


def _page(document: str) -> tuple[str, str]:
    """Return the title of a document's page, and its text after that; without a page, the whole document."""
    title, _, body = document.partition("\n")
    page = re.sub(r"\s*\(.*$", "", title).strip() if body and len(title) < entities_en.LONGEST_TITLE else ""
    return page, body if page else document


def _standing_alone(page: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences; a pronoun at the beginning is replaced by the subject of the sentence before."""
    type_: entities_en.EntityType | None = None
    of = ""
    for number, sentence in enumerate(en.sentences(text)):
        plain = re.sub(r"\s+", " ", sentence)
        if page and number == 0:
            type_, opening = opened(page, plain)
            plain = opening or plain
        if (linked := _LINKED.match(plain)) is not None:
            plain = plain[linked.end() :][:1].upper() + plain[linked.end() + 1 :]
        named = _named_again(of, plain, type_) if of else plain
        of = of if named != plain else _whom(page, plain)
        plain = entities_en.without_asides(named)
        held = parts(plain) if len(plain.split()) >= LEAST_WORDS else ()
        for alone in dict.fromkeys((plain, *held)):
            if stands_alone(alone, page):
                first = lead(alone)
                yield Sentence(alone, first, page, type_, en.content_words(alone), en.content_words(first))


def _named_again(name: str, sentence: str, type_: entities_en.EntityType | None) -> str:
    """Return the sentence with the entity's name in place of the first word."""
    personal = type_.of == "person" if type_ else entities_en.is_personal(name)
    pronouns, possessives = (("He", "She"), ("His", "Her")) if personal else (("It",), ("Its",))
    last = name.rsplit(maxsplit=1)[-1] if personal else name
    genitive = f"{name}'" if name.endswith("s") else f"{name}'s"
    for opening, named in (*((word, name) for word in (*pronouns, last)), *((word, genitive) for word in possessives)):
        if sentence.startswith(opening) and _LOWER.match(sentence, len(opening)) and not sentence.startswith(name):
            return f"{named}{sentence[len(opening) :]}"
    return sentence


def _whom(page: str, sentence: str) -> str:
    """Return the name of a sentence's only subject."""
    if page and _end_of(page, sentence) is not None:
        return page
    first = lead(sentence)
    alone = entities_en.NAME.fullmatch(first) is not None and " and " not in first
    return first if alone and entities_en.is_opening_name(first.removeprefix("The ").split()) else ""


def opened(page: str, sentence: str) -> tuple[entities_en.EntityType | None, str | None]:
    """Return the type that a page's first sentence gives its subject, and that sentence without asides."""
    plain = entities_en.without_asides(sentence)
    last = re.escape(page.rsplit(maxsplit=1)[-1])
    begins = re.match(rf"(?P<the>The )?(?:{re.escape(page)}|(?:[A-Z“][^ ,]* ){{1,4}}{last})(?=[ ,])", plain)
    defined = entities_en.DEFINED.match(plain, begins.end()) if begins is not None else None
    if begins is None or defined is None:
        return None, None
    type_ = entities_en.type_defined(defined["what"])
    if not plain.removeprefix("The ").startswith(page) and (type_ is None or type_.of != "person"):
        return type_, None
    return type_, f"{begins['the'] or ''}{page}{plain[begins.end() :]}"


def stands_alone(sentence: str, of: str = "") -> bool:
    """Return whether a sentence makes sense alone and names its subject."""
    named = _named(sentence) if not of else None
    end = _end_of(of, sentence) if of else named.end() if named is not None else None
    return (
        LEAST_WORDS <= len(sentence.split()) <= LONGEST
        and sentence[:1].isupper()
        and sentence.endswith(".")
        and not _GARBLED.search(sentence)
        and ((end is not None and bool(of)) or _LEANS.match(sentence) is None)
        and not _PRONOUN.search(sentence if end is None else _OWN.sub("", sentence[end:]))
        and _has_a_verb(sentence)
        and en.dangling_subject(sentence) is None
        and points_outside("en", sentence) is None
    )


def _end_of(name: str, sentence: str) -> int | None:
    """Return where a name ends that a sentence begins with, with or without an article; None if it does not."""
    for opening in (f"The {name}", name):
        if sentence.startswith(opening) and not _WORD.match(sentence, len(opening)):
            return len(opening)
    return None


def _has_a_verb(sentence: str) -> bool:
    """Return whether it has a verb outside a relative clause after its first noun: "A court that deals with cases"."""
    first = lead(sentence)
    rest = sentence[sentence.index(first) + len(first) :].rstrip(".")
    if first.endswith((", which", ", who", " whose")) or " – " in first or " whose " in first:
        return "," in rest
    return any(is_verb(word) for word in rest.split()[first.endswith((" that", " which", " who")) :])


def _named(sentence: str) -> re.Match[str] | None:
    """Match the name that a sentence begins with."""
    name = entities_en.NAME.match(sentence)
    first = name["name"].split()[0].casefold() if name else ""
    return name if first and not is_dictionary_word(first) and first not in PREPOSITIONS | en.STOP_WORDS else None


def leading_name(text: str) -> str:
    """Return the name that a text begins with, without its article; empty if there is none."""
    name = _named(text)
    return name["name"] if name is not None and entities_en.stands_whole(text, name["name"]) else ""


def lead(sentence: str) -> str:
    """Return the words before the verb, after an introductory time or place; else the first words."""
    introduced = _INTRODUCED.match(sentence)
    words = sentence[introduced.end() if introduced else 0 :].split()
    verb = next((at for at, word in enumerate(words[:LONGEST_LEAD]) if at and is_verb(word)), LONGEST_LEAD // 2)
    return " ".join(words[:verb])


def is_verb(word: str) -> bool:
    """Return whether a word is the verb that follows a subject."""
    return word in AUXILIARIES or is_finite(word)


def parts(sentence: str) -> Iterator[str]:
    """Yield parts and reorderings of a sentence: its first clause, its last, a statement about a person in it."""
    plain = entities_en.without_asides(sentence)
    first = _INTRODUCED.match(plain)
    start = len(first[0]) if first else 0
    rest = plain[start:]
    if (end := _CLAUSE_ENDS.search(plain, start + len(lead(plain)))) is not None and _is_whole(plain[: end.start()]):
        yield f"{plain[: end.start()].rstrip(' ,')}."
    if first is not None and not first[0].startswith(("Under", "For ", "Within")):
        yield f"{rest[:1].upper()}{rest[1:]}"
        if "," not in rest:
            yield f"{rest[:1].upper()}{rest[1:].rstrip('.')} {first[0][:1].lower()}{first[0][1:].rstrip(', ')}."
    elif (dated := _TRAILING_DATE.search(plain)) is not None and not _JOINED.search(plain):
        time = dated[0].strip(" .")
        yield f"{time[:1].upper()}{time[1:]}, {within(plain[: dated.start()])}."
    if (set_off := _SET_OFF.match(rest)) is not None and is_verb(set_off["verb"]):
        yield f"{set_off['of']} {set_off['verb']}{rest[set_off.end() :]}"
    for other in _WHO.finditer(plain):
        if is_verb(other["verb"]):
            yield f"{other['name']} {other['verb']}{other['said']}."
    for other in _JOINS.finditer(plain, start + len(lead(plain))):
        if "," not in (last := plain[other.end() :]) and lead(last) != last:
            yield f"{last[:1].upper()}{last[1:]}"


def definition(sentence: str, page: str) -> str:
    """Return the definition of its subject that a page's first sentence gives; empty if there is none."""
    begins = _defining(sentence, page)
    if begins is None:
        return ""
    end = _AFTER_NOUN.search(begins["what"])
    return f"{begins['of']} {begins['be']} {begins['what'][: end.start()] if end else begins['what']}".rstrip(" ,")


def clauses(sentence: str, page: str) -> Iterator[str]:
    """Yield what else a page's first sentence says about its subject, clause by clause; the definition last."""
    begins = _defining(sentence, page)
    if begins is None:
        return
    what, alone = begins["what"], definition(sentence, page)
    rest = what[len(alone) - len(f"{begins['of']} {begins['be']} ") :]
    if (relative := re.match(r" (?:that|who) (?P<said>[a-z]+ [^,;]+)", rest)) is not None:
        yield f"{begins['of']} {relative['said']}."
    for part in _PARTICIPLE.finditer(rest):
        be = {"is": "was", "are": "were"}.get(begins["be"], begins["be"]) if part["done"] else begins["be"]
        if _is_whole(candidate := f"{begins['of']} {be} {part['said']}"):
            yield f"{candidate}."
    if rest and _is_whole(alone):
        yield f"{alone}."


def _defining(sentence: str, page: str) -> re.Match[str] | None:
    return re.fullmatch(
        rf"(?P<of>(?:The )?{re.escape(page)})(?:, [^,]+,)? (?P<be>is|was|are|were) (?P<what>(?:an?|the) .+)\.",
        entities_en.without_asides(sentence),
    )


def _is_whole(text: str) -> bool:
    return len(text.split()) >= LEAST_WORDS and not re.search(r"\b\d{1,3}$|\b(?:of|in|to|and|with|by|for|both)$", text)


def within(text: str) -> str:
    """Return a sentence in the form that continues other words: with a small letter, unless it begins with a name."""
    low = text.split(maxsplit=1)[0].lower()
    if low not in en.STOP_WORDS and (not is_dictionary_word(low) or text.split()[1][:1].isupper()):
        return text
    return text[0].lower() + text[1:]
