"""A Chinese text in the form that all spellings share, with a map back to its own characters."""

import logging
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

_KEPT_TEXTS = 512
_WIDE = {0xFF01 + offset: 0x21 + offset for offset in range(94)} | {0x3000: 0x20}
_DOTS = dict.fromkeys(map(ord, "•‧・∙⋅"), "·")
_QUOTES = dict.fromkeys(map(ord, "「」『』“”‘’＂＇"), '"')
_DASHES = dict.fromkeys(map(ord, "–—－─～〜~"), "-")
_FOLDED: dict[int, int | str] = {**_WIDE, **_DOTS, **_QUOTES, **_DASHES}
_LOOSE_SPACE = re.compile(r"(?<![A-Za-z0-9])[\s\u200b\ufeff]+|[\s\u200b\ufeff]+(?![A-Za-z0-9])")
NUMERALS = "零〇一二三四五六七八九十百千万亿两"
PERSON_TAGS = ("nr", "nrt", "nrfg")
NAME_TAGS = (*PERSON_TAGS, "ns", "nt", "nz", "eng")
"""The tags with which the segmenter marks names."""


class Normal(NamedTuple):
    """A text in half width and lower case, without white space beside Chinese characters."""

    text: str
    places: range | list[int]
    """The place of each character in the original text, and of the end."""


@lru_cache(_KEPT_TEXTS)
def normal(text: str) -> Normal:
    """`text` with half-width letters and digits, one sort of quotation mark, dot and dash, in lower case."""
    folded = text.translate(_FOLDED)
    lower = folded.lower()
    if len(lower) != len(folded):  # one Turkish letter grows
        lower = "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in folded)
    if not _LOOSE_SPACE.search(lower):
        return Normal(lower, range(len(lower) + 1))
    dropped = {at for match in _LOOSE_SPACE.finditer(lower) for at in range(*match.span())}
    kept = [at for at in range(len(lower)) if at not in dropped]
    return Normal("".join(lower[at] for at in kept), [*kept, len(lower)])


def whole(text: str, start: int, end: int) -> bool:
    """True if the stretch cuts no number and no Latin word in two."""
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start : start + 1], text[end - 1 : end]
    if before and first and _continues(before, first, text[max(start - 2, 0) : start - 1]):
        return False
    return not (after and last and _continues(last, after, text[end + 1 : end + 2], forward=True))


def _continues(left: str, right: str, beyond: str, forward: bool = False) -> bool:
    inner, outer = (left, right) if forward else (right, left)
    if inner in NUMERALS and outer in NUMERALS:
        return True
    if not (inner.isascii() and inner.isalnum()):
        return False
    if outer.isascii() and outer.isalnum():
        return inner.isdigit() == outer.isdigit() or (inner.isalpha() and outer.isalpha()) or inner.isdigit()
    return inner.isdigit() and outer in ".," and beyond.isdigit()


def occurrences(text: str, phrase: str) -> list[tuple[int, int]]:
    """Return the spans of `phrase` in `text`, both normal, without cutting a number or Latin word."""
    spans, at = [], text.find(phrase)
    while at >= 0 and phrase:
        end = at + len(phrase)
        if whole(text, at, end):
            spans.append((at, end))
            at = text.find(phrase, end)
        else:
            at = text.find(phrase, at + 1)
    return spans


@cache
def segmenter() -> Any:
    """Return a tokenizer of our own, read from jieba's dictionary.

    jieba would read what it made of it from a file in the shared temporary folder, which anybody may have written.
    """
    import jieba

    jieba.setLogLevel(logging.WARNING)
    tokenizer: Any = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


@cache
def _tagger() -> Any:
    import jieba.posseg

    tagger = jieba.posseg.dt  # another would read the tags again
    tagger.tokenizer = segmenter()
    return tagger


@lru_cache(_KEPT_TEXTS)
def tagged(text: str) -> tuple[tuple[str, str], ...]:
    """The words of `text` with their parts of speech."""
    return tuple((pair.word, pair.flag) for pair in _tagger().cut(text))


@lru_cache(_KEPT_TEXTS)
def is_known_word(word: str) -> bool:
    """True if the segmenter's dictionary has the word."""
    return bool(segmenter().FREQ.get(word))


def words(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of `text` that the dictionary has, and what is left, with start and end; no unknown word is guessed."""
    yield from segmenter().tokenize(text, HMM=False)
