"""The numbers and dates of a passage that are values, so that one can ask for them.

The others are part of a name (Debian 12, cron(8), 04:00.0), number a section, an item of a list or a place in an order,
or say no more than "a" does.
"""

import re

from flows.language import AnswerType, language_of
from flows.language.en import STOP_WORDS

_DATED: AnswerType = "date"
_COUNTED: tuple[AnswerType, ...] = ("number", _DATED)
_TOKEN = re.compile(r"\S+")
_AROUND = ".,;:!?()[]{}<>\"'“”‘’«»…*|"
_PLAIN = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*|[$€£¥~+±-]?(?!0\d)\d[\d.,]*(?:%|°?[^\W\d_]{1,3})?(?:-[^\W\d_]+)?")
"""A number in words, or in digits: with a currency, a unit, or as in "30-day"."""
_EMPTY = re.compile(
    r"one|(?:\w+-)?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)(?: one)?", re.IGNORECASE
)
_REFERENCE = {
    "en": re.compile(
        r"\b(?:sections?|chapters?|appendix|tables?|figures?|fig\.?|pages?|parts?|steps?|notes?|paragraphs?|articles?|"
        r"items?|no\.|nos\.|number|§+)\s*\Z", re.IGNORECASE,
    ),
    "zh": re.compile(r"(?:第|图|表|附录|章|节|页)\s*\Z"),
}  # fmt: skip
_ITEM = re.compile(r"(?:^|\n)[ \t]*\Z")
_NAME = re.compile(r"(\w[\w’'/+&.-]*)[ \t]+\Z")
_BEFORE = 40
"""Characters before a number that say what it counts."""


def values(text: str, language: str) -> list[str]:
    """Return the numbers and dates of a text that are values, in order."""
    module = language_of(language)
    spans = sorted((*span, type_) for type_ in _COUNTED for span in module.spans_of_type(text, type_))
    return [text[start:end] for start, end, type_ in spans if _is_value(text, start, end, type_, language)]


def _is_value(text: str, start: int, end: int, type_: AnswerType, language: str) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    after = text[end : end + 1]
    is_of_list = (after in (".", ")") and _ITEM.search(before)) or (before.endswith("[") and after == "]")
    if is_of_list or _REFERENCE[language].search(before):
        return False
    if language == "zh" or (type_ == _DATED and not text[start:end].isdigit()):
        return True
    name = _NAME.search(before)
    is_of_name = name is not None and name[1][:1].isupper() and name[1].casefold() not in STOP_WORDS
    token = next(match[0] for match in _TOKEN.finditer(text, _token_start(text, start)))
    return (
        not is_of_name and not _EMPTY.fullmatch(text[start:end]) and _PLAIN.fullmatch(token.strip(_AROUND)) is not None
    )


def _token_start(text: str, at: int) -> int:
    while at and not text[at - 1].isspace():
        at -= 1
    return at
