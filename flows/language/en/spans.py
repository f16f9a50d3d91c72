"""Mentions of a type in an English text: a first look for rivals of an answer."""

import re

from flows.language import AnswerType
from flows.language.en.names import PARTICLES, TITLES
from flows.language.en.numbers import SCALES, is_year, ordinal_value, value_of
from flows.language.en.phrases import SMALL_WORDS, is_dictionary_word
from flows.language.en.tokens import MONTHS, Tokens, tokens
from flows.language.en.types import answer_type as type_of

_DECADE = re.compile(r"\d+0s")
_JOINING = SMALL_WORDS - {"in", "on", "at", "by", "with", "from", "to", "and", "a", "an"} | PARTICLES


def spans_of_type(text: str, answer_type: AnswerType) -> list[tuple[int, int]]:
    words = tokens(text)
    if answer_type == "date":
        return [(words.starts[first], words.ends[last]) for first, last in words.stretches(_date_end)]
    if answer_type == "number":
        return _numbers(words)
    return [
        (words.starts[first], words.ends[last])
        for first, last in words.stretches(_name_end)
        if type_of(text[words.starts[first] : words.ends[last]]) == answer_type
    ]


def _date_end(words: Tokens, place: int) -> int | None:
    last, strong = place, False
    while last < len(words):
        form = words.normals[last]
        near = [words.normals[at] for at in (last - 1, last + 1) if 0 <= at < len(words)]
        beside_figure = any(other[:1].isdigit() for other in near)
        month = form in MONTHS and words.capitalised(last) and (form not in ("may", "march") or beside_figure)
        day = (form.isdigit() and 1 <= int(form) <= 31) or bool(ordinal_value(form))
        year = is_year(form) and "," not in words.word(last)
        if month or year or _DECADE.fullmatch(form) or (form == "century" and last > place):
            strong = True
        elif not (day and any(other in MONTHS or other == "century" for other in near)):
            break
        last += 1
        if last < len(words) and words.gap(last - 1).strip() not in ("", ","):
            break
    return last - 1 if strong else None


def _numbers(words: Tokens) -> list[tuple[int, int]]:
    dated = {place for first, last in words.stretches(_date_end) for place in range(first, last + 1)}

    def end(words: Tokens, first: int) -> int | None:
        last = first
        while last < len(words) and last not in dated and _counts(words, last, first):
            last += 1
        return last - 1 if last > first else None

    return [_signed(words, first, last) for first, last in words.stretches(end)]


def _counts(words: Tokens, place: int, first: int) -> bool:
    form = words.normals[place]
    if place > first and not (words.gap(place - 1).isspace() or words.gap(place - 1) == "-"):
        return False
    if form in SCALES:
        return place > first
    return value_of((form,)) is not None or (place == first and ordinal_value(form) is not None)


def _signed(words: Tokens, first: int, last: int) -> tuple[int, int]:
    start, end = words.starts[first], words.ends[last]
    if words.text[start - 1 : start] in ("$", "£", "€", "¥"):
        start -= 1
    if words.text[end : end + 1] == "%":
        end += 1
    return start, end


def _name_end(words: Tokens, place: int) -> int | None:
    """The last of a row of capitalised words, joined by small ones; a common word that begins a sentence is no name."""
    if not words.capitalised(place) or (words.opens_sentence(place) and _is_common(words, place)):
        return None
    while (end := _next_of_name(words, place)) is not None:
        place = end
    return place


def _is_common(words: Tokens, place: int) -> bool:
    word = words.word(place)
    if word.lower() in SMALL_WORDS:
        return True
    return word.lower() not in TITLES and is_dictionary_word(word) and not words.capitalised(place + 1)


def _next_of_name(words: Tokens, place: int) -> int | None:
    if not words.joins_name(place):
        return None
    if words.capitalised(place + 1):
        return place + 1
    if place + 2 < len(words) and words.normals[place + 1] in _JOINING and words.adjacent(place + 1):
        return place + 2 if words.capitalised(place + 2) else None
    return None
