"""Compares texts regardless of quotation marks, dashes, blanks and tokenisation."""

import re
from functools import lru_cache

from flows.language import Language
from flows.language.agreement import WORD

_MARKS = str.maketrans("‘’ʼ´“”„«»‐‑–—−", '\'\'\'\'"""""-----')
_TOKEN = re.compile(rf"``|''|{WORD.pattern}")
_BEFORE_SIGN = re.compile(r"\s+(?=[,.;:!?%)\]'，。；：！？）](?!\w*\d)|n't\b)")
_AFTER_SIGN = re.compile(r"(?<=[(\[（])\s+")


def tokens_of(text: str) -> list[re.Match[str]]:
    """The words, Chinese characters and signs of a text."""
    return list(_TOKEN.finditer(text))


def same(token: str) -> str:
    """The form that equal tokens share."""
    return '"' if token in ("``", "''") else token.translate(_MARKS)


@lru_cache(256)
def plain(text: str) -> str:
    """`text` with straight quotation marks, single blanks, and no blank before a sign that ends a word."""
    straight = " ".join(text.replace("``", '"').replace("''", '"').translate(_MARKS).split())
    return _AFTER_SIGN.sub("", _BEFORE_SIGN.sub("", straight))


def holds(language: Language, text: str, phrase: str) -> bool:
    """True if `phrase` occurs in `text` as whole words."""
    return language.contains(text, phrase) or language.contains(plain(text), plain(phrase))


def stretch_of(text: str, quote: str) -> str | None:
    """Return the stretch of `text` that `quote` repeats, as written there; None if there is none."""
    if quote.strip() and quote in text:
        return quote.strip()
    wanted = [same(token[0]).casefold() for token in tokens_of(quote)]
    text_tokens = tokens_of(text)
    forms = [same(token[0]).casefold() for token in text_tokens]
    if not wanted:
        return None
    for place in range(len(forms) - len(wanted) + 1):
        if forms[place] == wanted[0] and forms[place : place + len(wanted)] == wanted:
            return text[text_tokens[place].start() : text_tokens[place + len(wanted) - 1].end()]
    return None
