"""Numbers that are written in digits, as a ratio or in English words, by their value."""

import re
from fractions import Fraction

LONGEST_NUMBER = 200
"""Characters; a longer text is a runaway answer."""

_ONES = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_VALUES = {
    **{word: value for value, word in enumerate(f"{_ONES} {_TEENS}".split(), 1)},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
}
_SCALES = {"thousand": 10**3, "million": 10**6}
_ONE, _TEEN, _TEN = (f"(?:{words.replace(' ', '|')})" for words in (_ONES, _TEENS, _TENS))
_BELOW_100 = f"(?:{_TEN}(?: {_ONE})?|{_TEEN}|{_ONE})"
_BELOW_1000 = f"(?:{_ONE} hundred(?: (?:and )?{_BELOW_100})?|{_BELOW_100})"
_NUMBER_WORDS = re.compile(
    rf"(?:{_BELOW_1000} million)?(?:(?:^| ){_BELOW_1000} thousand)?(?:(?:^| )(?:(?<!^)and )?{_BELOW_1000})?"
)
_DIGITS = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?")
_RATIO = re.compile(r"([+-]?\d+)\s*/\s*(\d+)")


def number_value(text: str) -> Fraction | None:
    """The value of a text that is a number and nothing else, or None.

    Read are digits with a sign, a decimal point and thousands commas ("-1,234.50"), ratios ("3/4") and
    English number words below a thousand million ("twenty-five", "two hundred and six"); one full stop may
    follow. Anything beside the number, a unit too, makes it something else.
    """
    stripped = text.strip().replace("−", "-").removesuffix(".")
    if len(stripped) > LONGEST_NUMBER:
        return None
    if (ratio := _RATIO.fullmatch(stripped)) and int(ratio[2]):
        return Fraction(int(ratio[1]), int(ratio[2]))
    if re.search("[0-9]", stripped):
        return Fraction(stripped.replace(",", "")) if _DIGITS.fullmatch(stripped) else None
    return _value_of_words(" ".join(stripped.lower().replace("-", " ").split()))


def _value_of_words(text: str) -> Fraction | None:
    if text == "zero":
        return Fraction(0)
    if text.startswith("minus "):
        positive = _value_of_words(text.removeprefix("minus "))
        return None if positive is None else -positive
    if not text or not _NUMBER_WORDS.fullmatch(text):
        return None
    total = group = 0
    for word in text.split():
        if word in _SCALES:
            total, group = total + group * _SCALES[word], 0
        elif word == "hundred":
            group *= 100
        elif word != "and":
            group += _VALUES[word]
    return Fraction(total + group)
