"""The type of an English answer: a number, a date, a person, a place, an organisation, or something else."""

import re
from functools import lru_cache
from typing import NamedTuple

from flows.language import AnswerType
from flows.language.en import names, questions
from flows.language.en.numbers import SCALES, date_of, is_year, ordinal_value, value_of
from flows.language.en.phrases import core, head, is_dictionary_word, is_list, is_proper, split_article, unintroduced
from flows.language.en.tokens import MONTHS, Tokens, tokens, word_set
from flows.language.tables import word_list

_DATE_WORDS = word_list("en", "date words")
DATE_STRONG = re.compile(
    r"(?:(?:1\d|20)\d0s|\d0s|century|centuries|millennium|decade|monday|tuesday|wednesday|thursday|friday|saturday|"
    r"sunday|spring|summer|autumn|winter|christmas|easter)$"
)
APPROXIMATE = word_list("en", "approximate")
_FRACTIONS = word_set("half third thirds quarter quarters dozen dozens hundreds thousands millions twice once")
_NAMED: dict[str | None, AnswerType] = {"person": "person", "place": "place", "organisation": "organisation"}
ACRONYM = re.compile(r"[A-Z][A-Z0-9&]{1,6}")


@lru_cache(65536)
def answer_type(answer: str, question: str = "") -> AnswerType:
    inner = core(answer)
    words = tokens(inner)
    if not len(words):
        return "other"
    if _is_date(words, question):
        return "date"
    if _is_number(inner, words, question):
        return "number"
    if not is_proper(answer):
        return "other"
    return _name_type(_Name(answer, inner, words, question))


def _is_date(words: Tokens, question: str) -> bool:
    forms = tuple(words.normals)
    counted = questions.NUMBER_QUESTION.search(question) is not None
    if date_of(forms) is not None:
        return not (counted and len(forms) == 1 and forms[0] not in MONTHS) and _reads_as_date(words, question)
    strong = [form for form in forms if DATE_STRONG.match(form) or is_year(form) or form in MONTHS]
    if not strong or counted or value_of(forms) is not None:
        return False
    weak = (form for form in forms if form not in _DATE_WORDS and form not in strong)
    if all(form.isdigit() or ordinal_value(form) for form in weak):
        return len(forms) > 1 or bool(DATE_STRONG.match(forms[0]))
    return questions.DATE_QUESTION.search(question) is not None and len(forms) <= 6


def _reads_as_date(words: Tokens, question: str) -> bool:
    """True if a lone word that could be a month or a year is a date."""
    if len(words) > 1:
        return True
    if words.normals[0] in ("march", "may"):
        return words.capitalised(0) and (questions.DATE_QUESTION.search(question) is not None or "month" in question)
    return "," not in words.word(0)


def _is_number(inner: str, words: Tokens, question: str) -> bool:
    forms = words.normals
    start = 0
    while start < len(forms) - 1 and forms[start] in APPROXIMATE:
        start += 1
    first = forms[start]
    numeric = first[0].isdigit() or first in SCALES or first in _FRACTIONS
    if not numeric:
        return False
    rest = [words.word(place) for place in range(start + 1, len(forms))]
    if any(word[0].isupper() and not word.isupper() for word in rest):
        return False
    return len(rest) <= 3 or questions.NUMBER_QUESTION.search(question) is not None


class _Name(NamedTuple):
    """A name whose type is wanted, with the question that it answers."""

    answer: str
    inner: str
    """Without an article or an introduction."""
    words: Tokens
    question: str

    @property
    def asked(self) -> questions.Focus | None:
        return questions.focus(self.question)

    @property
    def place(self) -> names.PlaceClass | None:
        return names.place_class(self.inner)

    @property
    def last(self) -> str:
        return self.words.word(len(self.words) - 1)


def _name_type(name: _Name) -> AnswerType:
    evidence = (_as_country_or_title, _by_head, _as_who, _by_noun_asked, _as_where, _by_words)
    return next((of for tells in evidence if (of := tells(name)) is not None), "other")


def _as_country_or_title(name: _Name) -> AnswerType | None:
    """A country or continent; a state, unless a person is asked for ("Who ...?": "Virginia"); a person by a title."""
    place = name.place
    state = place == "state" and not questions.asks_person(name.question)
    if state or place in ("country", "continent"):
        return "place"
    return "person" if is_titled(name.words) else None


def _by_head(name: _Name) -> AnswerType | None:
    """The type of the head noun, unless the name reads as a person's ("Charlotte Church")."""
    of_head = class_of_name(name.inner, name.words)
    if of_head is None or of_head[0] == "person" or _is_personal(name):
        return None
    return _NAMED.get(of_head[0], "other")


def _as_who(name: _Name) -> AnswerType | None:
    """A person for "who", or a team if somebody wins or plays."""
    words, question = name.words, name.question
    if (
        not questions.asks_person(question)
        or name.asked is not None
        or not _can_be_person(words, unintroduced(name.answer))
    ):
        return None
    team = questions.TEAM_QUESTION.search(question) and not names.is_first_name(words.word(0))
    return "organisation" if team else "person"


def _by_noun_asked(name: _Name) -> AnswerType | None:
    return None if name.asked is None else _NAMED.get(name.asked.type)


def _as_where(name: _Name) -> AnswerType | None:
    """A place for "where", except for peoples and the like ("Where ...?": "with the Seljuk Turks")."""
    if not questions.PLACE_QUESTION.search(name.question) or ACRONYM.fullmatch(name.inner):
        return None
    return "other" if is_plural_name(name.last) and name.place is None else "place"


def _by_words(name: _Name) -> AnswerType | None:
    inner, asked = name.inner, name.asked
    if _is_personal(name):
        return "person"
    if _is_city_and_state(inner) or (names.is_familiar_place(inner) and not _is_called_so_too(inner, asked)):
        return "place"
    untyped = asked is None or asked.type is None
    return "organisation" if ACRONYM.fullmatch(inner) and untyped and len(inner) > 2 else None


def _is_personal(name: _Name) -> bool:
    """True if the words are a person's name; one that may be a place's counts only if a person is asked for."""
    if split_article(unintroduced(name.answer))[0] or not _is_personal_name(name.words):
        return False
    of_head = class_of_name(name.inner, name.words)
    return of_head is None or of_head[1] not in _PLACE_HEADS or questions.asks_person(name.question)


_PLACE_HEADS = frozenset(("river", "water", "mountain", "island", "street", "building", "region", "settlement"))


def class_of_name(inner: str, words: Tokens) -> tuple[str, str] | None:
    """Type and class of a name by its head, or by a first word such as "Museum" or "Lake"."""
    if len(words) < 2:
        return names.classes("the").get(inner.lower())
    if words.normals[0] in ("house", "chamber") and words.normals[1] == "of":
        return "organisation", "body"
    of_head = names.classes("head").get(head(inner).lower())
    of_first = names.classes("head").get(words.normals[0])
    if of_head is not None or of_first is None:
        return of_head
    natural = of_first[1] in ("water", "mountain")
    built = of_first[1] in ("building", "school", "street", "team") and not names.is_surname(words.word(0))
    return of_first if natural or built else None


def _is_called_so_too(inner: str, asked: questions.Focus | None) -> bool:
    """True if a city's name is a personal name as well, or the question asks for something else."""
    if names.place_class(inner) != "city":
        return False
    return (asked is not None and asked.type != "place") or names.is_first_name(inner)


def is_titled(words: Tokens) -> bool:
    """ "Queen Victoria", "Pope John", "Governor Vaudreuil"."""
    if len(words) < 2 or words.normals[0] not in names.TITLES or not words.capitalised(0) or words.normals[0] == "st":
        return False
    return words.normals[1] != "of" or words.normals[0] in _TITLES_OF_PLACES


_TITLES_OF_PLACES = word_set("king queen prince princess duke duchess earl count countess emperor empress")


def _is_personal_name(words: Tokens) -> bool:
    """True if the words are a first name and a family name, with what may come between and after them."""
    if len(words) == 2 and not words.adjacent(0):
        return False
    if not 2 <= len(words) <= 5 or not names.is_first_name(words.word(0)) or not words.capitalised(0):
        return False
    last = words.word(len(words) - 1)
    if (is_plural_name(last) and is_dictionary_word(last)) or words.normals[0] in ("house", "court"):
        return False
    if words.normals[-1] in ("catholic", "orthodox"):  # "Roman Catholic"
        return False
    if words.normals[-1] in names.classes("head") and not (names.is_common_surname(last) and len(words) == 2):
        return False
    return all(
        words.capitalised(place) or words.normals[place] in names.PARTICLES or words.normals[place] == "of"
        for place in range(1, len(words))
    ) and (not is_dictionary_word(last) or names.is_surname(last) or words.normals[-1] in names.SUFFIXES)


def _can_be_person(words: Tokens, inner: str) -> bool:
    """True if a capitalised answer to "who" can be one person, and not a people, a band or a company."""
    if is_list(inner) or len(words) > 6 or not words.capitalised(0) or any(form[0].isdigit() for form in words.normals):
        return False
    last = words.word(len(words) - 1)
    no_surname = (is_dictionary_word(last) and not names.is_surname(last)) or names.is_familiar_place(last)
    if len(words) > 1 and not names.is_first_name(words.word(0)) and no_surname:
        return False
    has_first_name = names.is_first_name(words.word(0)) and not is_dictionary_word(last)
    return (
        (has_first_name or not is_plural_name(last))
        and not (ACRONYM.fullmatch(inner) and len(inner) > 1)
        and not split_article(inner)[0]
    )


def is_plural_name(last: str) -> bool:
    """True if a name's last word is the plural of a people or a band ("Seljuk Turks", "Bee Gees")."""
    ends = re.search(r"[^aious']s$", last) is not None
    return ends and not names.is_first_name(last) and not names.is_common_surname(last)


def _is_city_and_state(inner: str) -> bool:
    """ "Las Vegas, Nevada": a place within another."""
    first, comma, second = inner.partition(",")
    return bool(comma) and names.place_class(second.strip()) is not None and first[:1].isupper()
