"""The sequences of words by which an English text may name an answer."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from flows.language import MentionForm
from flows.language.en import phrases
from flows.language.en.names import place_class
from flows.language.en.numbers import LARGEST_SPELT, SCALES, Date, date_of, ordinal_value, spelt, value_of
from flows.language.en.persons import PersonalName, Role, personal_name
from flows.language.en.tokens import MONTHS, Tokens, normal, ordinal_ending, tokens
from flows.language.en.types import answer_type

_LONGEST_ACRONYM = 7
_ACRONYM = re.compile(r"[A-Z][A-Z0-9]{1,6}s?")
CURRENCIES = {"$": ("dollar", "dollars"), "£": ("pound", "pounds"), "€": ("euro", "euros"), "¥": ("yen", "yen")}
_SAME_NAMES = (
    ("United States", "United States of America", "US", "U.S.", "USA", "U.S.A."),
    ("United Kingdom", "UK", "U.K."),
    ("European Union", "EU", "E.U."),
    ("United Nations", "UN", "U.N."),
    ("Soviet Union", "USSR", "U.S.S.R."),
)


class Variant(NamedTuple):
    """A sequence of words by which the answer may be named."""

    forms: tuple[str, ...]
    gaps: tuple[str, ...]
    form: MentionForm
    role: Role
    prefix: str = ""
    suffix: str = ""
    capitals: bool = False
    """True if the words must be in capitals."""
    explained: bool = False
    """True if the text must have it in brackets, because it is too short to mean the answer by itself."""


class Plan(NamedTuple):
    """All the ways to name an answer; made once for an answer."""

    variants: tuple[Variant, ...]
    article: str
    person: PersonalName | None
    acronyms: tuple[str, ...]
    lone: bool


@lru_cache(8192)
def plan_of(answer: str, aliases: tuple[str, ...]) -> Plan:
    names = [(answer, "full"), *((alias, "alias") for alias in aliases if _is_name_too(alias, answer))]
    keys = {_key(name) for name, _ in names}
    for group in _same_names():
        if not keys.isdisjoint(group):
            names.extend((name, "alias") for key, name in group.items() if key not in keys)
    variants: dict[tuple[tuple[str, ...], str, str], Variant] = {}
    for name, form in names:
        for variant in _variants(name, "full" if form == "full" else "alias"):
            key = variant.forms, variant.prefix, variant.suffix
            if key not in variants or variants[key].explained:
                variants[key] = variant
    inner = phrases.split_article(phrases.unintroduced(answer))
    return Plan(
        tuple(variants.values()),
        normal(inner[0].strip()) if inner[0] else "",
        personal_name(answer),
        tuple(dict.fromkeys(phrases.trimmed(name) for name, _ in names if _ACRONYM.fullmatch(phrases.trimmed(name)))),
        len(tokens(inner[1])) == 1 and inner[1][:1].isupper(),
    )


@cache
def _same_names() -> tuple[dict[str, str], ...]:
    return tuple({_key(name): name for name in group} for group in _SAME_NAMES)


def _is_name_too(alias: str, answer: str) -> bool:
    """True if an alias is another name, and not a number, a date or a name with more words around it."""
    if not len(tokens(alias)):
        return False
    around = f" {_key(answer)} " in f" {_key(alias)} " and _key(alias) != _key(answer)
    if not around:
        return True
    answer_forms, more = tokens(answer).normals, tokens(alias)
    added = [more.word(place) for place in range(len(more)) if more.normals[place] not in answer_forms]
    if all(word.lower() in phrases.PREPOSITIONS or word.lower() in phrases.ARTICLES for word in added):
        return False
    described = any(word.islower() and word not in phrases.SMALL_WORDS for word in added)
    return not (answer_type(answer) in ("number", "date") or (phrases.is_proper(answer) and described))


def _key(name: str) -> str:
    return " ".join(tokens(phrases.split_article(phrases.unintroduced(name))[1]).normals)


def _variants(name: str, form: MentionForm) -> Iterator[Variant]:
    phrase = phrases.split_article(phrases.unintroduced(name))[1]
    words = tokens(phrase)
    if not len(words):
        return
    forms = tuple(words.normals)
    gaps = tuple(words.gap(place) for place in range(len(words) - 1))
    prefix, suffix = _signs(words)
    capitals = _needs_capitals(phrase, forms)
    yield Variant(forms, gaps, form, "whole", prefix, suffix, capitals)
    of = answer_type(name)
    if forms[0][0].isdigit() or forms[0] in MONTHS or of in ("number", "date"):
        date = date_of(forms)
        yield from _dates(forms, date, form) if date and of == "date" else _numbers(words, form, prefix, suffix)
        return
    if of in ("place", "organisation", "other"):
        yield from _initials(phrase)
    if of == "place" and (city := _city(words)):
        yield Variant(city, (" ",) * (len(city) - 1), "part", "city")
    if of == "other" or not phrases.is_proper(phrase):
        yield from _other_numbers(words, forms, gaps)


def _signs(words: Tokens) -> tuple[str, str]:
    """The currency or other sign before a phrase, and the one after it; brackets that it opens itself."""
    prefix, suffix = words.gap(-1).strip(), words.gap(len(words) - 1).strip()
    return ("" if prefix in ("(", "[", "-", "~") else prefix), suffix


def _needs_capitals(phrase: str, forms: tuple[str, ...]) -> bool:
    """True if the name is a word of the language when it is not in capitals ("US", "WHO")."""
    letters = phrase.replace(".", "")
    return letters.isupper() and (
        len(letters) == 1 or "." in phrase or phrases.is_dictionary_word(letters) or len(letters) == 2
    )


def _other_numbers(words: Tokens, forms: tuple[str, ...], gaps: tuple[str, ...]) -> Iterator[Variant]:
    """The phrase with its head in the plural instead of the singular, or the other way round."""
    noun = phrases.head(words.text)
    place = next((at for at in range(len(words)) if words.word(at) == noun), None)
    if place is None or noun[0].isdigit() or phrases.is_list(words.text):
        return
    other = phrases.other_number(noun)
    if other is not None and other.lower() != noun.lower() and len(other) > 2:
        changed = (*forms[:place], normal(other), *forms[place + 1 :])
        yield Variant(changed, gaps, "plural", "plural")


def initials(phrase: str) -> tuple[str, ...]:
    """The abbreviations of a name of several capitalised words, without and with its small words."""
    words = tokens(phrase)
    of = [words.word(place) for place in range(len(words))]
    capital = [word for word in of if word[0].isupper()]
    if len(capital) < 2 or any(word[0].islower() and word not in phrases.SMALL_WORDS for word in of) or "," in phrase:
        return ()
    short = "".join(word[0] for word in capital)
    long = "".join(word[0].upper() for word in of)
    return tuple(dict.fromkeys(name for name in (short, long) if len(name) <= _LONGEST_ACRONYM))


def _initials(phrase: str) -> Iterator[Variant]:
    for name in initials(phrase):
        yield Variant((name.lower(),), (), "abbreviation", "initials", capitals=True, explained=len(name) < 3)
        if len(name) < 3:
            continue
        yield Variant((f"{name.lower()}s",), (), "abbreviation", "initials", capitals=True)
        yield Variant(tuple(name.lower()), (".",) * (len(name) - 1), "abbreviation", "initials", "", ".", capitals=True)


def _city(words: Tokens) -> tuple[str, ...]:
    """The city of "Las Vegas, Nevada"."""
    for place in range(len(words) - 1):
        if words.gap(place).strip() == ",":
            rest = words.text[words.starts[place + 1] :]
            is_place = place_class(rest) is not None
            return tuple(words.normals[: place + 1]) if is_place and words.capitalised(0) else ()
    return ()


def _numbers(words: Tokens, form: MentionForm, prefix: str, suffix: str) -> Iterator[Variant]:
    forms = words.normals
    end = 0
    while end < len(forms) and (value_of((forms[end],)) is not None or forms[end] in SCALES):
        end += 1
    value = value_of(tuple(forms[:end])) if end else None
    ordinal = ordinal_value(forms[0])
    if ordinal is not None and ordinal > 20:
        return
    if value is None:
        return
    rest = tuple(forms[end:])
    figures = {tuple(forms[:end])}
    if value == int(value):
        figures.add((str(int(value)),))
        if value <= LARGEST_SPELT:
            figures.add(tuple(normal(word) for word in re.split(r"[ -]", spelt(int(value)))))
        for scale, size in SCALES.items():
            if size >= 10**6 and value >= size:
                figures.add((f"{value / size:g}", scale))
    units = [(rest, prefix, suffix)]
    if prefix in CURRENCIES:
        units.extend(((*rest, unit), "", "") for unit in dict.fromkeys(CURRENCIES[prefix]))
    if suffix == "%" or rest in (("percent",), ("per", "cent")):
        units = [((), "", "%"), (("percent",), "", ""), (("per", "cent"), "", "")]
    for figure in figures:
        for unit, before, after in units:
            row = (*figure, *unit)
            yield Variant(row, (" ",) * (len(row) - 1), form, "whole", before, after)


def _dates(forms: tuple[str, ...], date: Date, form: MentionForm) -> Iterator[Variant]:
    """The date in other orders, and those of its parts that name it in a text."""
    month = date.month
    year = str(date.year) if date.year else None
    orders: list[tuple[tuple[str | None, ...], Role]] = []
    if date.day and month:
        for day in (str(date.day), f"{date.day}{ordinal_ending(date.day)}"):
            if year:
                orders += [((day, month, year), "whole"), ((month, day, year), "whole")]
                orders += [((day, "of", month, year), "whole")]
            orders += [((day, month), "date part"), ((month, day), "date part"), ((day, "of", month), "date part")]
    if month and year:
        orders.append(((month, year), "date part"))
    if year and month:
        orders.append(((year,), "year"))
    for order, role in orders:
        row = tuple(part for part in order if part)
        if row != forms:
            whole = role == "whole" or len(row) >= len(forms)
            yield Variant(row, (" ",) * (len(row) - 1), form if whole else "part", "whole" if whole else role)
