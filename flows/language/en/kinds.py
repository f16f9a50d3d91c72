"""The kind of an English answer: answers of the same kind can replace each other, in grammar and in sense."""

import re
from functools import lru_cache

from flows.language.en import phrases, questions, types
from flows.language.en.names import PARTICLES, classes, gender, is_familiar_place, is_first_name, place_class
from flows.language.en.numbers import SCALES, is_year, ordinal_value, value_of
from flows.language.en.tokens import CARDINALS, MONTHS, Tokens, tokens
from flows.language.tables import rows

_TWO_SENTENCES = re.compile(r"\w{4,}\s?[.!?;:]\s+\S")


@lru_cache(65536)
def kind(answer: str, question: str = "") -> str:
    """Return a name for the set of answers that can replace this answer, in grammar and in sense.

    The type, then what two answers must share to replace each other: unit and size of a number, form and century
    of a date, gender and length of a personal name, what sort of place or organisation; of another noun
    phrase its article, number, capital and class. An answer that is neither a name nor a noun phrase gets a kind of
    its own, which no other answer shares.
    """
    of = types.answer_type(answer, question)
    if _TWO_SENTENCES.search(answer):
        return f"{of}:alone:{answer}"
    shapes = {"number": _number_shape, "date": _date_shape, "person": _person_shape, "place": _place_shape}
    shape = shapes.get(of, _name_shape if of == "organisation" else _other_shape)(answer, question)
    return f"{of}:{shape or 'alone:' + answer}"


def shape(answer: str, question: str = "") -> str:
    """The part of `kind` after the type: "year:19", "count:2:mile", "male:full"."""
    return kind(answer, question).partition(":")[2]


def _number_shape(answer: str, question: str) -> str | None:
    inner = phrases.unintroduced(answer)
    words = tokens(inner)
    forms = words.normals
    start = 0
    while start < len(forms) - 1 and forms[start] in types.APPROXIMATE:
        start += 1
    approximate = " ".join(forms[:start])
    ordinal = ordinal_value(forms[start])
    if ordinal is not None:
        return f"ordinal:{len(str(ordinal))}:{_tail(words, start + 1)}:{approximate}"
    end = start
    while end < len(forms) and (value_of((forms[end],)) is not None or forms[end] in SCALES):
        end += 1
    value = value_of(tuple(forms[start:end]))
    if value is None or "–" in inner or any(form[0].isdigit() for form in forms[end:]):
        return None
    unit = _tail(words, end) or ("%" if "%" in inner else "")
    unit = {"percent": "%", "per cent": "%"}.get(unit, unit)
    money = next((sign for sign in "$£€¥" if sign in inner), "")
    size = "one" if value == 1 else len(f"{value:.0f}")
    whole = "whole" if value.is_integer() else "decimal"
    if 1000 <= value < 10_000 and "," in inner:
        whole = "with thousands"
    asked = questions.NUMBER_QUESTION.search(question)
    age = "old" if not unit and asked and "old" in asked.group() else ""
    return f"{money}{size}:{whole}:{unit}:{approximate}:{age}"


def _tail(words: Tokens, place: int) -> str:
    return " ".join(words.word(at).lower() for at in range(place, len(words)))


def _date_shape(answer: str, question: str) -> str | None:
    """The expression with its figures left out, and the century it lies in."""
    inner = phrases.unintroduced(answer)
    words = tokens(inner)
    pattern, century = [], ""
    for place, form in enumerate(words.normals):
        word = words.word(place).lower()
        if form in MONTHS:
            pattern.append("month")
        elif is_year(form):
            century = century or form[:2]
            pattern.append("year")
        elif form.isdigit():
            pattern.append("figure")
        elif ordinal_value(form):
            pattern.append("ordinal")
        elif types.DATE_STRONG.match(form) and form[0].isdigit():
            century = century or form[:2]
            pattern.append("decade")
        elif form in ("spring", "summer", "autumn", "winter"):
            pattern.append("season")
        elif form.endswith("day") and types.DATE_STRONG.match(form):
            pattern.append("weekday")
        else:
            pattern.append(word)
    ranged = "range:" if pattern.count("year") > 1 else ""
    gaps = "-" if "–" in inner or "-" in inner else ""
    return f"{ranged}{' '.join(pattern)}{gaps}:{century}"


def _person_shape(answer: str, question: str) -> str | None:
    inner = phrases.core(answer)
    words = tokens(inner)
    if phrases.is_list(inner):
        return f"list:{len(words)}"
    if not all(
        words.capitalised(place) or words.normals[place] in PARTICLES | {"of", "the"} for place in range(len(words))
    ):
        return None
    titled = words.normals[0] if types.is_titled(words) else ""
    titled = titled if titled in ("", "king", "queen", "pope", "saint", "emperor", "prince", "princess") else "titled"
    length = "single" if len(words) == 1 else "of" if "of" in words.normals else "full"
    return f"{gender(inner) or questions.asked_gender(question)}:{titled or length}:{_comma(inner)}"


def _comma(inner: str) -> str:
    return f"{inner.count(',')}," if "," in inner else ""


def _place_shape(answer: str, question: str) -> str | None:
    inner = phrases.core(answer)
    words = tokens(inner)
    class_of_place, asked, of_head = place_class(inner), questions.focus(question), types.class_of_name(inner, words)
    if (
        phrases.is_list(inner)
        or not words.capitalised(0)
        or len(words) > 6
        or any(form[0].isdigit() for form in words.normals)
    ):
        return None
    if class_of_place is not None:
        group: str = class_of_place
    elif of_head is not None:
        group = of_head[1]
    elif asked is not None and asked.type == "place" and asked.group:
        group = asked.group
    else:
        group = "town" if "," in inner else ""
    if class_of_place is None and _is_of_people(words):
        group = "people"
    group = _parted(group, inner, asked)
    if not group:
        return None
    return f"{group}:{_article_class(answer)}:{_comma(inner)}"


def _article_class(answer: str) -> str:
    """Return the article that the name takes in a sentence: "the", none, or certainly none."""
    the = phrases.takes_the(answer)
    if the is None:
        inner = phrases.core(answer)
        lone = len(tokens(inner)) == 1 and not inner.isupper() and not phrases.is_plural(inner)
        return "bare" if lone else "bare?"
    return "the" if the else "bare"


def _name_shape(answer: str, question: str) -> str | None:
    inner = phrases.core(answer)
    asked, of_head = questions.focus(question), types.class_of_name(inner, tokens(inner))
    if phrases.is_list(inner) and of_head is None:
        return None
    if of_head is not None:
        group = of_head[1]
    elif asked and asked.type == "organisation":
        group = str(asked.group)
    else:
        group = "team" if questions.TEAM_QUESTION.search(question) and _can_be_team(inner, tokens(inner)) else ""
    if questions.BAND_QUESTION.search(question):
        group = "band"
    group = _parted(group, inner, asked)
    if not group:
        return None
    group = f"people of {group}" if _is_of_people(tokens(inner)) else f"{_described(inner)}{group}"
    acronym = "acronym" if types.ACRONYM.fullmatch(inner) else "name"
    return f"{group}:{acronym}:{_article_class(answer)}:{'plural' if phrases.is_plural(inner) else ''}"


_PARTS = {group: parts for group, *parts in rows("en", "parts")}
"""Classes whose members are too different to replace each other, with the words that tell them apart."""


def _parted(group: str, inner: str, asked: questions.Focus | None) -> str:
    """The part of a class that a name belongs to, by its own words or by the question; empty if neither shows it."""
    if group not in _PARTS:
        return group
    words = tokens(inner).normals
    for nouns in ((words[-1], words[0], phrases.head(inner).lower()), (asked.noun,) if asked else ()):
        for part in _PARTS[group]:
            if set(nouns) & set(part.split()):
                return part.split()[0]
    return asked.noun if asked and asked.group == group and asked.noun not in (group, "place", "area") else ""


_LONGEST_PHRASE = 4


def _other_shape(answer: str, question: str) -> str | None:
    inner = phrases.core(answer)
    words = tokens(inner)
    if not len(words) or len(words) > _LONGEST_PHRASE + 2 or "," in inner or "(" in inner:
        return None
    if phrases.is_proper(answer):
        return _proper_shape(answer, inner, question)
    if phrases.is_list(inner) or not _is_common_noun_phrase(words):
        return _adjective_shape(words, question)
    noun = phrases.head(inner)
    if (
        len(words) == 1
        and "ADJ" in phrases.parts_of_speech(noun)
        and not phrases.split_article(phrases.unintroduced(answer))[0]
    ):
        return _adjective_shape(words, question)
    if phrases.is_plural(inner):
        number = "plural"
    elif phrases.takes_no_article(noun):
        number = "mass"
    else:
        number = "either" if phrases.is_mass(noun) else "count"
    if len(words) == 1 and words.capitalised(0):
        number = f"{number} or name"
    group = classes("common").get(noun.lower(), ("", ""))[1]
    ending = next((sort for sort, pattern in _ENDINGS if pattern.search(noun.lower())), "thing")
    sort = group or questions.asked_sort(question) or (ending if ending in _TELLING else "")
    if not sort and number.startswith("plural") and questions.asks_person(question):
        sort = "people"
    return f"common:{number}:{sort}:{ending}" if sort else None


_TELLING = frozenset(("doctrine", "disease", "field"))
"""Sorts of things that an ending shows by itself."""
_ENDINGS = (
    ("doctrine", re.compile(r"ism$")),
    ("abstract", re.compile(r"(?:tion|sion|ment|ance|ence|ity|ness|ship|hood|ty|cy)s?$")),
    ("agent", re.compile(r"(?:er|or|ist|ian|ant|man|men)s?$")),
    ("substance", re.compile(r"(?:ium|ine|gen|ol|ide|ate|ose|in)s?$")),
    ("disease", re.compile(r"(?:itis|osis|emia|oma)$")),
    ("field", re.compile(r"(?:logy|ics|graphy|nomy)$")),
)


def _proper_shape(answer: str, inner: str, question: str) -> str | None:
    of_head = classes("head").get(phrases.head(inner).lower())
    group = questions.asked_sort(question)
    if of_head is not None and len(tokens(inner)) > 1:
        group = of_head[1]
    elif not group and questions.asks_person(question) and answer[:4].lower() == "the ":
        group = "people" if types.is_plural_name(inner) or _is_of_people(tokens(inner)) else ""
    group = _parted(group, inner, questions.focus(question))
    number = "plural" if phrases.is_plural(inner) else "one"
    return f"name:{number}:{_described(inner)}{group}:{_article_class(answer)}" if group else None


def _described(inner: str) -> str:
    """Marks a name with words of description ("rock band Scorpions")."""
    words = tokens(inner)
    small = any(
        not words.capitalised(place)
        and words.normals[place] not in phrases.SMALL_WORDS
        and not words.word(place)[0].isdigit()
        for place in range(len(words))
    )
    return "described:" if small else ""


def _can_be_team(inner: str, words: Tokens) -> bool:
    """True if a name may be a team's: it is a place's or a plural, or ends in a word of the dictionary."""
    last = words.word(len(words) - 1)
    if is_familiar_place(inner) or place_class(inner) is not None or types.is_plural_name(last):
        return True
    return len(words) > 1 and phrases.is_dictionary_word(last) and not is_first_name(words.word(0))


_PEOPLE = re.compile(r"(?:ist|ian|ish|ese|ists|ians)$")


def _is_of_people(words: Tokens) -> bool:
    """True if the word says to what people or creed somebody belongs ("Jordanian"), and names no place or body."""
    return len(words) == 1 and _PEOPLE.search(words.normals[0]) is not None


def _adjective_shape(words: Tokens, question: str) -> str | None:
    """A single adjective shares a kind with those that answer the same sort of question."""
    asked = questions.focus(question)
    if len(words) == 1 and "ADJ" in phrases.parts_of_speech(words.word(0)) and asked is not None:
        return f"adjective:{asked.noun}:"
    return None


def _is_common_noun_phrase(phrase_words: Tokens) -> bool:
    words = [phrase_words.word(place) for place in range(len(phrase_words))]
    if len(words) > _LONGEST_PHRASE or "NOUN" not in phrases.parts_of_speech(words[-1]):
        return False
    if words[-1].lower().endswith("ing") or (len(words) > 1 and words[0].lower().endswith("ing")):
        return False
    for word in words:
        low = word.lower()
        of = phrases.parts_of_speech(low)
        if low in phrases.PREPOSITIONS or low in CARDINALS or not of & {"NOUN", "ADJ"}:
            return False
        if low in questions.NO_PART_OF_A_PHRASE:
            return False
    return True
