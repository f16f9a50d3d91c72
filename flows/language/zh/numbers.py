"""Chinese numbers and dates: the value of an expression, and the other ways to write it."""

import re
from functools import lru_cache
from typing import NamedTuple

_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_TENS = {"十": 10, "百": 100, "千": 1000}
_SCALES = {"万": 10**4, "亿": 10**8}
_PLAIN = "零一二三四五六七八九"
_KEPT = 16384
LARGEST_SPELT = 9999
FIGURE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|[零〇一二三四五六七八九十百千两]+")
NUMBER = re.compile(rf"(第)?({FIGURE.pattern})([万亿]*)(.*)", re.DOTALL)
DATE = re.compile(
    r"(公元前|公元|西元前|西元)?(?:([\d]{1,4}|[一二三四五六七八九〇零]{4})年)?(?:(\d{1,2}|[一二三四五六七八九十]{1,2})月(?:份)?)?(?:(\d{1,2}|[一二三四五六七八九十]{1,3})[日号])?"
)


@lru_cache(_KEPT)
def value_of(figure: str) -> float | None:
    """The number that Arabic or Chinese figures give; None if they give none."""
    if re.fullmatch(r"\d+(?:,\d{3})*(?:\.\d+)?", figure):
        return float(figure.replace(",", ""))
    if not figure or any(sign not in _DIGITS and sign not in _TENS and sign not in _SCALES for sign in figure):
        return None
    if len(figure) > 1 and all(sign in _DIGITS for sign in figure):
        return float("".join(str(_DIGITS[sign]) for sign in figure))
    total = section = digit = 0
    for sign in figure:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _TENS:
            section += (digit or 1) * _TENS[sign]
            digit = 0
        else:
            total += (section + digit) * _SCALES[sign]
            section = digit = 0
    return float(total + section + digit)


def spelt(value: int, before_measure: bool = False) -> str:
    """`value` in Chinese figures, up to `LARGEST_SPELT`; 2 before a measure word is 两."""
    if value < 10:
        return "两" if value == 2 and before_measure else _PLAIN[value]
    if value < 20:
        return "十" + (_PLAIN[value - 10] if value > 10 else "")
    written, left = "", value
    for name, size in (("千", 1000), ("百", 100), ("十", 10)):
        count, left = divmod(left, size)
        if count:
            written += _PLAIN[count] + name
        elif written and left and not written.endswith("零"):
            written += "零"
    return written + (_PLAIN[left] if left else "")


class Date(NamedTuple):
    """The parts of a date, as figures."""

    era: str
    year: str
    month: str
    day: str


@lru_cache(_KEPT)
def date_of(phrase: str) -> Date | None:
    """The date that the normal phrase is; None if it is anything else."""
    match = DATE.fullmatch(phrase)
    if match is None or not any(match.group(at) for at in (2, 3, 4)):
        return None
    return Date(*(match.group(at) or "" for at in (1, 2, 3, 4)))


def like(value: float, written: str, before_measure: bool) -> str | None:
    """A number in the figures of `written`; None if it cannot be written so."""
    if written[:1].isascii():
        plain = f"{value:,}" if "," in written else f"{value:f}".rstrip("0").rstrip(".")
        return plain.removesuffix(".0")
    return spelt(int(value), before_measure) if value == int(value) and 0 < value <= LARGEST_SPELT else None
