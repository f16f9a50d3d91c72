"""Shared by the replacement rules of both languages: a pair's texts, genders, and years that move."""

import random
import re
from collections.abc import Callable, Sequence

from flows.families.lveval.inputs import ToRename
from flows.families.lveval.rules.vocabulary import pattern
from flows.language import language_of
from flows.language.en.numbers import spelt
from flows.language.en.tokens import MONTHS
from schemas.lveval import Rule

_NEIGHBOUR_YEARS = 3  # the most years by which a year moves: nobody should play for his country at thirteen
_YEAR = re.compile(r"(?<![\d.,])(?:1[0-9]{3}|20[0-2][0-9])(?![\d.,]*\d|s|年代)")
_ONLY_DATE_ZH = re.compile(r"(?:约|于|在)?[0-9]{4}年(?:[0-9]{1,2}月)?(?:[0-9]{1,2}[日号])?")
_ONLY_DATE_EN = re.compile(
    rf"(?:(?:in|on|about|around|circa|c\.) )?(?:(?:early|late|mid) )?(?:(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)})"
    r"(?: \d{1,2})?,? )?\d{4}",
    re.IGNORECASE,
)
_KNOWN_EVENT = pattern("known_events")
_IN_A_WAR = re.compile(r"World War|Nazi|Uprising|世界大战|二战|纳粹")
_COUNTS = {spelt(number): number for number in range(1, 100)} | {str(number): number for number in range(1, 1000)}
_YEARS_LONG = re.compile(
    r"(?<![\d,.-])(\d{1,3}|[a-z]+(?:-[a-z]+)?)(?: [a-z-]+)?[ -]years?\b|(?<!\d)(\d{1,3})(?:周年|年[后前来间])",
    re.IGNORECASE,
)
Maker = Callable[[random.Random], list[Rule]]  # makes rules for a name, different rules each time


def asked_years(asked: ToRename) -> list[str]:
    """Return the year that is the answer, with or without day and month.

    None if a sentence has it beside an event whose year everybody knows, or the texts count years from it.
    """
    answer = asked.answers[0].strip(" .。")
    years = _YEAR.findall(answer)
    dated = (_ONLY_DATE_ZH if asked.language == "zh" else _ONLY_DATE_EN).fullmatch(answer)
    asks_date = language_of(asked.language).answer_type(answer, asked.question) == "date"
    if len(years) != 1 or not dated or not asks_date:
        return []
    texts = "\n".join(asked.texts)
    sentences = [sentence for sentence in language_of(asked.language).sentences(texts) if years[0] in sentence]
    if any(_KNOWN_EVENT.search(sentence) for sentence in sentences) or _counted_from(int(years[0]), texts):
        return []
    everywhere = "\n".join((asked.question, *asked.answers, texts))
    if _IN_A_WAR.search(everywhere) or re.search(rf"{years[0]}(?:年代|s)", everywhere):
        return []
    return years


def _counted_from(year: int, texts: str) -> bool:
    """Return whether the texts name another year, and the number of years between."""
    others = set(map(int, _YEAR.findall(texts))) - {year}
    numbers = ((match[1] or match[2]).casefold() for match in _YEARS_LONG.finditer(texts))
    counts = {_COUNTS[number] for number in numbers if number in _COUNTS}
    return any(abs(year - other) in counts for other in others)


def moved(year: str, unit: str, texts: str, rng: random.Random) -> list[Rule]:
    """Return a rule that moves the year by a few, between the same years of the texts as before."""
    value = int(year)
    others = set(map(int, _YEAR.findall(texts))) - {value}
    least = max([value - _NEIGHBOUR_YEARS - 1, *(other for other in others if other < value)])
    most = min([value + _NEIGHBOUR_YEARS + 1, *(other for other in others if other > value)])
    free = [moved_year for moved_year in range(least + 1, most) if moved_year != value]
    return [Rule(old=f"{year}{unit}", new=f"{rng.choice(free)}{unit}")] if free else []


def gender_of(texts: str, patterns: tuple[str, str]) -> str | None:
    """Return the gender of the pronouns, if all have the same."""
    male, female = (len(re.findall(pattern, texts, re.IGNORECASE)) for pattern in patterns)
    return "male" if male and not female else "female" if female and not male else None


def substituted(name: str, others: Sequence[str], rng: random.Random) -> list[Rule]:
    return [Rule(old=name, new=rng.choice(others))]
