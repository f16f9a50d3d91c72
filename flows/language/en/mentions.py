"""Mentions of an answer in an English text, in any form."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from flows.language import Mention
from flows.language.en.persons import FUNCTION_WORDS, Found, of_person
from flows.language.en.phrases import SMALL_WORDS
from flows.language.en.tokens import MONTHS, Tokens, gap_fits, tokens, word_set
from flows.language.en.variants import CURRENCIES, Plan, Variant, plan_of


def mentions(text: str, answer: str, aliases: Sequence[str] = ()) -> list[Mention]:
    return [Mention(mention.start, mention.end, mention.form) for mention in find(text, answer, tuple(aliases))]


@lru_cache(512)
def find(text: str, answer: str, aliases: tuple[str, ...] = ()) -> tuple[Found, ...]:
    """The mentions, with their words."""
    plan = plan_of(answer, aliases)
    words = tokens(text)
    candidates = [
        mention
        for variant in plan.variants
        if not variant.explained or f"({''.join(variant.forms).upper()})" in text
        for mention in _of_variant(words, variant, plan)
    ]
    for acronym in plan.acronyms:
        candidates.extend(_explained(words, acronym))
    taken: set[int] = set()
    chosen = _longest_first(candidates, taken)
    if plan.person is not None:
        chosen.extend(of_person(words, plan.person, chosen, taken))
    chosen.sort(key=lambda mention: mention.start)
    return tuple(chosen)


def _longest_first(candidates: list[Found], taken: set[int]) -> list[Found]:
    candidates.sort(key=lambda mention: (mention.first - mention.last, mention.start))
    chosen = []
    for mention in candidates:
        places = range(mention.first, mention.last + 1)
        if taken.isdisjoint(places):
            taken.update(places)
            chosen.append(mention)
    return chosen


def _of_variant(words: Tokens, variant: Variant, plan: Plan) -> Iterator[Found]:
    forms, length = variant.forms, len(variant.forms)
    for first in words.places(forms[0]):
        last = first + length - 1
        if last >= len(words) or (length > 1 and not _rest_fits(words, variant, first)):
            continue
        if (variant.capitals or plan.lone) and not _case_fits(words, first, last, variant):
            continue
        stretch = _with_signs(words, variant, first, last)
        if stretch is None or (length == 1 and _is_day_of_month(words, first)):
            continue
        if variant.role == "year" and not _is_bare_year(words, first):
            continue
        start, end = stretch
        led = plan.article and variant.role == "whole" and words.adjacent(first - 1)
        begin = first - 1 if led and words.normals[first - 1] == plan.article else first
        start = start if begin == first else words.starts[begin]
        yield Found(begin, last, start, end, variant.form, variant.role)


def _rest_fits(words: Tokens, variant: Variant, first: int) -> bool:
    same = tuple(words.normals[first + 1 : first + len(variant.forms)]) == variant.forms[1:]
    return same and all(
        gap_fits(words.gap(first + offset), gap, variant.forms[offset], variant.forms[offset + 1])
        for offset, gap in enumerate(variant.gaps)
    )


def _case_fits(words: Tokens, first: int, last: int, variant: Variant) -> bool:
    if variant.capitals:
        return all(words.word(place).isupper() for place in range(first, last + 1))
    word = words.word(first)
    return not (len(variant.forms) == 1 and word.islower() and word in FUNCTION_WORDS)


def _with_signs(words: Tokens, variant: Variant, first: int, last: int) -> tuple[int, int] | None:
    """Start and end of the mention with the signs that belong to it ("$5", "5 %"); None if they are missing."""
    start, end = words.starts[first], words.ends[last]
    if variant.prefix:
        before = words.gap(first - 1)
        if before.rstrip().endswith(variant.prefix):
            start -= len(before) - before.rindex(variant.prefix)
        elif variant.prefix in CURRENCIES:
            return None
    if variant.suffix:
        after = words.gap(last)
        if after.lstrip().startswith(variant.suffix):
            end += after.index(variant.suffix) + len(variant.suffix)
        elif variant.suffix == "%":
            return None
    return start, end


def _is_day_of_month(words: Tokens, place: int) -> bool:
    """True if a lone figure is the day in a date, and so no count or measure."""
    form = words.normals[place]
    if not (form.isdigit() and len(form) <= 2):
        return False
    beside = [words.normals[near] for near in (place - 1, place + 1) if 0 <= near < len(words)]
    return any(form in MONTHS for form in beside if form != "may") or (
        "may" in beside and (words.word(place - 1) == "May" or words.word(place + 1) == "May")
    )


_BEFORE_YEAR = word_set("in since by until till during from late early mid of around")


def _is_bare_year(words: Tokens, place: int) -> bool:
    """True if a year alone is the time, and not part of another date or of a name ("2018 Olympics")."""
    if place == 0 or words.normals[place - 1] not in _BEFORE_YEAR or not words.adjacent(place - 1):
        return False
    if place >= 2 and words.normals[place - 1] == "of" and words.normals[place - 2] in MONTHS:
        return False
    return not (words.adjacent(place) and words.capitalised(place + 1))


def _explained(words: Tokens, acronym: str) -> Iterator[Found]:
    """The names that the text abbreviates by the acronym: "World Bank (WB)", "WB (World Bank)"."""
    form = acronym.lower()
    for place in words.places(form):
        if place and words.gap(place - 1).strip() == "(" and words.word(place) == acronym:
            first = _spelt_before(words, place, form)
            if first is not None:
                yield Found(first, place - 1, words.starts[first], words.ends[place - 1], "alias", "spelt out")


def _spelt_before(words: Tokens, place: int, form: str) -> int | None:
    """The first of the words before `place` whose initials are `form`."""
    at = place - 1
    for letter in reversed(form):
        while (
            at >= 0
            and not words.capitalised(at)
            and words.normals[at] in SMALL_WORDS
            and words.normals[at][0] != letter
        ):
            at -= 1
        if at < 0 or words.normals[at][0] != letter:
            return None
        at -= 1
    return at + 1
