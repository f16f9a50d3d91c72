"""Mentions of an answer in a Chinese text, in any form."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from flows.language import Mention, MentionForm
from flows.language.tables import rows
from flows.language.zh.numbers import LARGEST_SPELT, NUMBER, date_of, spelt, value_of
from flows.language.zh.text import Normal, is_known_word, normal, occurrences, tagged
from flows.language.zh.types import answer_type, given_name, is_nominal, surname, trimmed

Role = Literal["whole", "surname", "given name", "date part", "short"]
_COURTESY = ("先生", "女士", "小姐", "夫人", "教授", "博士", "氏", "某", "将军", "总统", "主席", "老师", "爵士")
_OPTIONAL_ENDINGS = ("市", "省", "县", "特别行政区", "自治区")
_DYNASTY = re.compile(r"([\u4e00-\u9fff]{1,2})[朝代]")
_SHORT_NAME = re.compile(r"[(（]?[^。；()（）]{0,6}?简称为?[:：]?[\"「『“]?([\u4e00-\u9fffA-Za-z]{2,8})[\"」』”)）]")


class Found(NamedTuple):
    """A mention, its place, and the part of the answer that it gives."""

    start: int
    end: int
    form: MentionForm
    role: Role
    text: str
    """The mention in normal form."""


class _Variant(NamedTuple):
    phrase: str
    form: MentionForm
    role: Role


class _Plan(NamedTuple):
    variants: tuple[_Variant, ...]
    person: str
    """The person's name in normal form; empty for an answer that names none."""
    lone: bool
    """True if the answer is one character, which many other words have."""


def mentions(text: str, answer: str, aliases: Sequence[str] = ()) -> list[Mention]:
    return [Mention(mention.start, mention.end, mention.form) for mention in find(text, answer, tuple(aliases))]


@lru_cache(512)
def find(text: str, answer: str, aliases: tuple[str, ...] = ()) -> tuple[Found, ...]:
    """The mentions with the part of the answer that each gives."""
    plan = _plan(answer, aliases)
    body = normal(text)
    candidates = [
        (start, end, variant)
        for variant in plan.variants
        for start, end in occurrences(body.text, variant.phrase)
        if not plan.lone or _is_word(text, body, start, end)
    ]
    candidates.extend(_shortened(body.text, candidates))
    if plan.person:
        candidates.extend(_of_person(body.text, plan.person))
    return tuple(_longest_first(body, candidates))


def _longest_first(body: Normal, candidates: list[tuple[int, int, _Variant]]) -> list[Found]:
    candidates.sort(key=lambda candidate: (candidate[0] - candidate[1], candidate[0]))
    chosen: list[Found] = []
    spans: list[tuple[int, int]] = []
    for start, end, variant in candidates:
        if all(end <= left or start >= right for left, right in spans):
            spans.append((start, end))
            first, last = body.places[start], body.places[end - 1] + 1
            chosen.append(Found(first, last, variant.form, variant.role, body.text[start:end]))
    return sorted(chosen)


def _is_word(text: str, body: Normal, start: int, end: int) -> bool:
    """True if a lone character is a word of its own, by the segmenter."""
    if body.text[start:end].isdigit() or body.text[start:end].isascii():
        return True
    wanted, at = body.places[start], 0
    for word, _ in tagged(text):
        if at == wanted:
            return len(word) == 1
        if at > wanted:
            return False
        at += len(word)
    return False


@lru_cache(8192)
def _plan(answer: str, aliases: tuple[str, ...]) -> _Plan:
    main = normal(trimmed(answer)).text
    names: list[tuple[str, MentionForm]] = [(main, "full")]
    wider = [normal(trimmed(alias)).text for alias in aliases]
    # An alias that contains a noun names it more fully, or says something about it ("出售石油").
    is_name = answer_type(answer) != "other"
    names.extend(
        (alias, "alias")
        for alias in wider
        if is_name or main not in alias or (alias.endswith(main) and is_nominal(alias))
    )
    for group in rows("zh", "same_names"):
        if any(name in group for name, _ in names):
            names.extend((name, "alias") for name in group)
    variants: dict[str, _Variant] = {}
    for name, form in names:
        for variant in _variants(name, form):
            if variant.phrase:
                variants.setdefault(variant.phrase, variant)
    person = main if answer_type(answer) == "person" else ""
    return _Plan(tuple(variants.values()), person, len(main) == 1)


def _variants(name: str, form: MentionForm) -> Iterator[_Variant]:
    yield _Variant(name, form, "whole")
    if (dynasty := _DYNASTY.fullmatch(name)) is not None:
        yield from (_Variant(dynasty.group(1) + ending, "alias", "whole") for ending in "朝代")
    for ending in _OPTIONAL_ENDINGS:
        if name.endswith(ending) and len(name) >= len(ending) + 2:
            yield _Variant(name.removesuffix(ending), "abbreviation", "short")
    if date_of(name) is not None:
        yield from _dates(name)
    else:
        yield from _numbers(name, form)


def _numbers(name: str, form: MentionForm) -> Iterator[_Variant]:
    """The number in Arabic and in Chinese figures, with its measure word."""
    match = NUMBER.fullmatch(name)
    if match is None or (value := value_of(match.group(2))) is None:
        return
    ordinal, scale, tail = match.group(1) or "", match.group(3), match.group(4)
    if value != int(value):
        return
    figures = {str(int(value)), f"{int(value):,}"}
    if 0 < value <= LARGEST_SPELT and (tail or ordinal or scale):
        figures |= {spelt(int(value)), spelt(int(value), before_measure=not ordinal)}
    for figure in figures:
        yield _Variant(f"{ordinal}{figure}{scale}{tail}", form, "whole")


def _dates(name: str) -> Iterator[_Variant]:
    """The parts of a date that name it, and its year without 年."""
    date = date_of(name)
    if date is None:
        return
    if date.year and date.month:
        yield _Variant(f"{date.era}{date.year}年", "part", "date part")
    if date.year and date.month and date.day:
        yield _Variant(f"{date.era}{date.year}年{date.month}月", "part", "date part")
    if date.month and date.day:
        for ending in "日号":
            yield _Variant(f"{date.month}月{date.day}{ending}", "part", "date part")
            if date.year:
                yield _Variant(f"{date.era}{date.year}年{date.month}月{date.day}{ending}", "full", "whole")
    if len(date.year) == 4 and date.year.isdigit():
        yield _Variant(date.year, "part", "date part")


def _shortened(text: str, full: list[tuple[int, int, _Variant]]) -> Iterator[tuple[int, int, _Variant]]:
    """Every occurrence of the short name that the text gives right after a mention ("……（简称北大）")."""
    if "简称" not in text:
        return
    for _, end, variant in full:
        match = _SHORT_NAME.match(text, end) if variant.role == "whole" else None
        if match is not None:
            short = _Variant(match.group(1), "abbreviation", "short")
            yield from ((start, stop, short) for start, stop in occurrences(text, short.phrase))


def _of_person(text: str, name: str) -> Iterator[tuple[int, int, _Variant]]:
    """Mentions by a part of the name that nobody else in the text bears."""
    family = surname(name)
    if not family:
        return
    if "·" in name:
        yield from _of_foreigner(text, name, family)
        return
    personal = given_name(name)
    if len(personal) == 2 and name in text and not is_known_word(personal):
        alone = _Variant(personal, "part", "given name")
        yield from (
            (start, end, alone)
            for start, end in occurrences(text, personal)
            if not surname(text[max(0, start - 1) : end])
        )
    for courtesy in _COURTESY:
        for start, end in occurrences(text, family + courtesy):
            yield start, end - len(courtesy), _Variant(family, "part", "surname")


def _of_foreigner(text: str, name: str, family: str) -> Iterator[tuple[int, int, _Variant]]:
    parts: tuple[tuple[str, Role], ...] = ((family, "surname"), (name.partition("·")[0], "given name"))
    for part, role in parts:
        if len(part) < 2:
            continue
        places = occurrences(text, part)
        reach = len(name)
        outside = [(at, end) for at, end in places if name not in text[max(0, at - reach + 1) : at + reach]]
        if any(text[start - 1 : start] == "·" or text[end : end + 1] == "·" for start, end in outside):
            continue
        yield from ((start, end, _Variant(part, "part", role)) for start, end in outside)
