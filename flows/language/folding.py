"""The form that all spellings of a phrase share, and the edges at which it is a whole word, for `PhraseFinder`."""

import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from flows.language.zh.text import NUMERALS

Integers = NDArray[np.int64]
Codes = NDArray[np.uint32]
Sums = NDArray[np.uint64]
Kinds = NDArray[np.uint8]
Mask = NDArray[np.bool_]
_CODES = 0x110000
MARGIN = 4
"""Spaces on both sides of a text's codes, so that looking at neighbours needs no check for the ends."""
_SPACE, _APOSTROPHE = ord(" "), ord("'")
_CASED_BELOW = 0x20000
_ASSIGNED = tuple(chain(range(0x40000), range(0xE0000, 0xE0200)))
"""Every letter, digit and mark of Unicode is one of these."""


# The kinds of characters at the edge of a phrase.
_OTHER, _LETTER, _DIGIT, _NUMERAL = 0, 1, 2, 3


def folded(phrase: str) -> str:
    """The form that all spellings of a phrase share: folded, without outer white space."""
    return " ".join(phrase.translate(_folds()).split())


def readable(phrase: str) -> bool:
    """True if the phrase holds a letter or a digit."""
    return any(character.isalnum() for character in phrase)


def lower(character: str) -> str:
    """A character in lower case; itself if its lower case is several characters ('İ')."""
    low = character.lower()
    return low if len(low) == 1 else character


def upper(character: str) -> str:
    """A character in upper case; itself if that is several characters ('ß') or has another lower case ('ı')."""
    up = character.upper()
    return up if folded(up) == folded(character) else character


@cache
def _folds() -> dict[int, int]:
    """The characters that folding changes."""
    characters = map(chr, range(_CASED_BELOW))
    folds = {ord(character): ord(lower(character)) for character in characters if lower(character) != character}
    spaces = {code: _SPACE for code in range(_CASED_BELOW) if chr(code).isspace()}
    return folds | spaces | {ord("’"): _APOSTROPHE, ord("ς"): ord("σ")}


class Text(NamedTuple):
    """A text ready to be searched. Its codes and kinds have `MARGIN` spaces on both sides."""

    codes: Codes
    kinds: Kinds
    sums: Sums
    """Sums of the weights before each code, and of all weights; without margins."""
    places: Integers | None
    """The place of each code in the original text; None if no place changed."""

    def inner(self) -> Codes:
        return self.codes[MARGIN:-MARGIN]

    def codes_from(self, place: int) -> int:
        """Return the number of codes from a place of the text to its end."""
        codes = len(self.sums) - 1
        return codes - (place if self.places is None else int(np.searchsorted(self.places, place)))

    def place(self, at: Integers) -> Integers:
        return at if self.places is None else self.places[at]


class _Script(Protocol):
    """The facts about a language that the search needs."""

    def read(self, text: str) -> Text: ...

    def windows(self, text: Text) -> list[tuple[Integers, Integers, Sums]]:
        """Starts, ends and sums of the stretches that can anchor a phrase; each list is in order."""
        ...

    def may_anchor(self, windows: Integers, phrases: Integers) -> Mask:
        """True if a window of this length may be the anchor of a phrase of that length."""
        ...

    def cut(self, text: Text, starts: Integers, ends: Integers) -> Mask:
        """True if the stretches cut a word in two. Places count the margin."""
        ...


class _Tables:
    """The fold, weight and kind of each character. A character of weight 0 is in no window."""

    def __init__(self, kinds: Kinds, weightless: Mask) -> None:
        folds = _folds()
        self._fold = np.arange(_CODES, dtype=np.uint32)
        self._fold[list(folds)] = list(folds.values())
        self._kinds = kinds
        self._weights = np.random.default_rng(0).integers(1, 2**64 - 1, _CODES, np.uint64)
        self._weights[weightless] = 0

    def read(self, text: str) -> Text:
        codes = self._fold.take(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4"))
        spaces = codes == _SPACE
        repeated = spaces[1:] & spaces[:-1]
        places = None
        if repeated.any():
            places = np.flatnonzero(np.append(True, ~repeated))
            codes = codes[places]
        padded = np.full(len(codes) + 2 * MARGIN, _SPACE, np.uint32)
        padded[MARGIN:-MARGIN] = codes
        sums = np.zeros(len(codes) + 1, np.uint64)
        np.cumsum(self._weights.take(codes), out=sums[1:])
        return Text(padded, self._kinds.take(padded), sums, places)


class _English(_Tables):
    """Windows are words: letters, digits, marks and underscores without anything between."""

    _CLITICS = np.array(
        [_CODES * ord(ending[0]) + sum(map(ord, ending[1:])) for ending in ("s", "d", "m", "re", "ve", "ll")]
    )

    def __init__(self) -> None:
        kinds = np.full(_CODES, _OTHER, np.uint8)
        kinds[list(_ASSIGNED)] = [self._kind(chr(code)) for code in _ASSIGNED]
        super().__init__(kinds, weightless=kinds == _OTHER)

    @staticmethod
    def _kind(character: str) -> int:
        if character.isdecimal():
            return _DIGIT
        word = character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"
        return _LETTER if word else _OTHER

    def windows(self, text: Text) -> list[tuple[Integers, Integers, Sums]]:
        word = text.kinds[MARGIN - 1 : 1 - MARGIN] != _OTHER
        edges = np.flatnonzero(word[1:] != word[:-1])
        starts, ends = edges[::2], edges[1::2]
        return [(starts, ends, text.sums[ends] - text.sums[starts])]

    def may_anchor(self, windows: Integers, phrases: Integers) -> Mask:
        return np.ones(len(windows), np.bool_)

    def cut(self, text: Text, starts: Integers, ends: Integers) -> Mask:
        cut: Mask = self._goes_on(text, starts, -1) | self._goes_on(text, ends - 1, 1) & ~self._clitic(text, ends)
        return cut

    def _goes_on(self, text: Text, inner: Integers, step: int) -> Mask:
        """True if the word of the code at `inner` goes on in the direction of the step."""
        inside, outside, beyond = (text.kinds[inner + step * far] for far in range(3))
        next_to = text.codes[inner + step]
        joined = (next_to == _APOSTROPHE) & (inside != _OTHER) & (beyond == _LETTER)
        goes_on: Mask = (outside != _OTHER) | _decimal(next_to, inside, beyond) | joined
        return goes_on

    def _clitic(self, text: Text, ends: Integers) -> Mask:
        """True if an apostrophe and one of the endings that leave a word whole come next."""
        first, second = text.codes[ends + 1], text.codes[ends + 2]
        longer = text.kinds[ends + 2] != _OTHER
        ending = _CODES * first.astype(np.int64) + np.where(longer, second, 0)
        over = ~longer | (text.kinds[ends + 3] == _OTHER)
        clitic: Mask = (text.codes[ends] == _APOSTROPHE) & over & _among(ending, self._CLITICS)
        return clitic


class _Chinese(_Tables):
    """Windows are two characters next to each other; a phrase of one character is its own."""

    _WIDTHS = (1, 2)
    _BELOW_CHINESE = 0x2E80

    def __init__(self) -> None:
        kinds = np.full(_CODES, _OTHER, np.uint8)
        kinds[list(_ASSIGNED)] = [self._kind(chr(code)) for code in _ASSIGNED]
        super().__init__(kinds, weightless=np.zeros(_CODES, np.bool_))

    @classmethod
    def _kind(cls, character: str) -> int:
        if character in NUMERALS:
            return _NUMERAL
        if character.isdecimal():
            return _DIGIT
        latin = character.isalpha() and (ord(character) < cls._BELOW_CHINESE or "Ａ" <= character <= "ｚ")
        return _LETTER if latin or unicodedata.category(character)[0] == "M" else _OTHER

    def windows(self, text: Text) -> list[tuple[Integers, Integers, Sums]]:
        sums = text.sums
        every = np.arange(len(sums))
        return [(every[:-width], every[width:], sums[width:] - sums[:-width]) for width in self._WIDTHS]

    def may_anchor(self, windows: Integers, phrases: Integers) -> Mask:
        may: Mask = windows == np.minimum(phrases, self._WIDTHS[-1])
        return may

    def cut(self, text: Text, starts: Integers, ends: Integers) -> Mask:
        return self._goes_on(text, starts, -1) | self._goes_on(text, ends - 1, 1)

    def _goes_on(self, text: Text, inner: Integers, step: int) -> Mask:
        inside, outside, beyond = (text.kinds[inner + step * far] for far in range(3))
        latin = (outside == _LETTER) & ((inside == _LETTER) | (inside == _DIGIT))
        alike = (inside == outside) & (inside != _OTHER)
        goes_on: Mask = latin | alike | _decimal(text.codes[inner + step], inside, beyond)
        return goes_on


_POINTS = np.array([ord(point) for point in ".,．"])


def _decimal(next_to: Codes, inside: Kinds, beyond: Kinds) -> Mask:
    """True if a point or comma has digits on both sides."""
    decimal: Mask = (inside == _DIGIT) & (beyond == _DIGIT) & _among(next_to, _POINTS)
    return decimal


def _among(values: NDArray[Any], few: NDArray[Any]) -> Mask:
    """Which values are among a few; `np.isin` takes longer for all but the longest arrays."""
    among: Mask = (values[:, None] == few).any(axis=1)
    return among


@cache
def script(language: str) -> _Script:
    scripts: dict[str, Callable[[], _Script]] = {"en": _English, "zh": _Chinese}
    return scripts[language]()
