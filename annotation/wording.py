"""What our forms and guidelines say themselves, in the languages that rubrics may have."""

import re
from collections.abc import Mapping
from functools import cache

from annotation.chinese import CHINESE
from schemas.rubric import ENGLISH, Rubric

TEXTS: Mapping[str, Mapping[str, str]] = {"zh": CHINESE}
"""By language, each text by the English one. `{}` stands for what is put in."""
LANGUAGES = (ENGLISH, *TEXTS)


def say(language: str, text: str, *values: object) -> str:
    """Return a text in a language, with values for its `{}`. Raises `KeyError` for a text that is not in `TEXTS`."""
    if language == ENGLISH:
        return text.format(*values)
    said = TEXTS[language][text]
    if said.startswith("{}：") and str(values[0]).endswith("？"):  # a question that stands for a title
        said = said.replace("：", "", 1)
    return said.format(*values)


def in_all_languages(text: str) -> frozenset[str]:
    """Return a text in each language."""
    return frozenset(say(language, text) for language in LANGUAGES)


def told(rubric: Rubric, text: str) -> str:
    """Return what a program says of a record in the rubric's language; what it does not know stays as it is.

    Its parts, which colons separate, are looked up one by one: names and sentences of the record are among them.
    """
    if rubric.language == ENGLISH:
        return text
    own = rubric.texts.get(rubric.language, {})
    return "\n".join(_told(own, line, rubric.language) for line in text.split("\n"))


def _told(own: Mapping[str, str], text: str, language: str) -> str:
    """Return a line in a language; `own` has the texts of the rubric."""
    if (said := own.get(text, TEXTS[language].get(text))) is not None:
        return said
    for pattern, said in own.items():
        if pattern.strip("{} ") and "{}" in pattern and (match := _pattern(pattern).fullmatch(text)):
            return said.format(*(_put_in(own, part, language) for part in match.groups()))
    first, colon, rest = text.partition(": ")
    if colon:
        parts = _told(own, first, language), _told(own, rest, language)
        return text if parts == (first, rest) else say(language, "{}: {}", *parts)
    return text


def _put_in(own: Mapping[str, str], part: str, language: str) -> str:
    """Return what stands for a `{}`: what is quoted stays as it is, and what has commas is a list."""
    if (said := _told(own, part, language)) != part:
        return said
    if quoted := re.fullmatch(r"""(['"])((?:(?!\1).)+)\1""", part):
        return f"“{quoted[2]}”"
    return part.replace(", ", say(language, ", "))


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a text in which something is put in, which has no colon."""
    return re.compile("((?:(?!: ).)+)".join(map(re.escape, text.split("{}"))))
