"""Search of a text for thousands of phrases in one pass, as whole words and in any case.

Texts and phrases are compared folded: every character in lower case where that is one character, every white space as
a space and a run of it as one, ’ as '. Folding maps characters one to one and runs keep the place they had, so the
stretches found are stretches of the text as it is. Nothing is normalised beyond that: a composed é is not a decomposed
one, a full-width letter is not a half-width one.

An Aho-Corasick automaton finds every phrase at every place; the edges of each stretch are looked at afterwards.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import ahocorasick
import numpy as np
from numpy.typing import NDArray

from flows.language.zh.text import NUMERALS

Integers = NDArray[np.int64]
Codes = NDArray[np.uint32]
Kinds = NDArray[np.uint8]
Mask = NDArray[np.bool_]
_CODES = 0x110000
MARGIN = 4
"""Spaces beside the codes of a text, so that a look at its neighbours needs no look at its ends."""
_SPACE, _APOSTROPHE = ord(" "), ord("'")
_CASED_BELOW = 0x20000
_ASSIGNED = tuple(chain(range(0x40000), range(0xE0000, 0xE0200)))
"""Every letter, digit and mark of Unicode is one of these."""
_BATCH = 1 << 20
"""Characters of short documents that are searched together."""
_OTHER, _LETTER, _DIGIT, _NUMERAL = 0, 1, 2, 3
"""What a character is at the edge of a phrase."""


def folded(phrase: str) -> str:
    """The form in which two spellings of a phrase meet: folded, without outer white space."""
    return " ".join(phrase.translate(_folds()).split())


def readable(phrase: str) -> bool:
    """True if the phrase holds a letter or a digit."""
    return any(character.isalnum() for character in phrase)


def lower(character: str) -> str:
    """A character in lower case; itself where that is more than one ('İ')."""
    low = character.lower()
    return low if len(low) == 1 else character


def upper(character: str) -> str:
    """A character in upper case; itself where that is more than one ('ß') or has another lower case ('ı')."""
    up = character.upper()
    return up if folded(up) == folded(character) else character


@cache
def _folds() -> dict[int, int]:
    characters = map(chr, range(_CASED_BELOW))
    folds = {ord(character): ord(lower(character)) for character in characters if lower(character) != character}
    spaces = {code: _SPACE for code in range(_CASED_BELOW) if chr(code).isspace()}
    return folds | spaces | {ord("’"): _APOSTROPHE, ord("ς"): ord("σ")}


class Text(NamedTuple):
    """A text as it is searched, and its codes and kinds with `MARGIN` spaces on both sides."""

    text: str
    codes: Codes
    kinds: Kinds
    places: Integers | None
    """The place of each character in the original text; None if no place changed."""

    def place(self, at: Integers) -> Integers:
        return at if self.places is None else self.places[at]


class Script:
    """The fold and the kind of each character of a language, and the words that a stretch of its texts may cut."""

    def __init__(self) -> None:
        folds = _folds()
        self._fold = np.arange(_CODES, dtype=np.uint32)
        self._fold[list(folds)] = list(folds.values())
        self._kinds = np.full(_CODES, _OTHER, np.uint8)
        self._kinds[list(_ASSIGNED)] = [self.kind(chr(code)) for code in _ASSIGNED]

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
        return Text(codes.tobytes().decode("utf-32-le", "surrogatepass"), padded, self._kinds.take(padded), places)

    def cut(self, text: Text, starts: Integers, ends: Integers) -> Mask:
        """True if the stretches cut a word in two."""
        starts, ends = starts + MARGIN, ends + MARGIN
        before = self.goes_on(text, starts, -1)
        cut: Mask = before | self.goes_on(text, ends - 1, 1) & ~self.ends_whole(text, ends)
        return cut

    @staticmethod
    def kind(character: str) -> int:
        """The kind of a character at the edge of a phrase."""
        raise NotImplementedError

    def goes_on(self, text: Text, inner: Integers, step: int) -> Mask:
        """True if the word of the code at `inner` goes on in the direction of the step."""
        raise NotImplementedError

    def ends_whole(self, text: Text, ends: Integers) -> Mask:
        """True if a word that goes on is whole all the same."""
        return np.zeros(len(ends), np.bool_)


class _English(Script):
    _CLITICS = np.array(
        [_CODES * ord(ending[0]) + sum(map(ord, ending[1:])) for ending in ("s", "d", "m", "re", "ve", "ll")]
    )

    @staticmethod
    def kind(character: str) -> int:
        if character.isdecimal():
            return _DIGIT
        word = character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"
        return _LETTER if word else _OTHER

    def goes_on(self, text: Text, inner: Integers, step: int) -> Mask:
        inside, outside, beyond = (text.kinds[inner + step * far] for far in range(3))
        next_to = text.codes[inner + step]
        joined = (next_to == _APOSTROPHE) & (inside != _OTHER) & (beyond == _LETTER)
        goes_on: Mask = (outside != _OTHER) | _decimal(next_to, inside, beyond) | joined
        return goes_on

    def ends_whole(self, text: Text, ends: Integers) -> Mask:
        """True if an apostrophe and one of the endings that leave a word whole come next."""
        first, second = text.codes[ends + 1], text.codes[ends + 2]
        longer = text.kinds[ends + 2] != _OTHER
        ending = _CODES * first.astype(np.int64) + np.where(longer, second, 0)
        over = ~longer | (text.kinds[ends + 3] == _OTHER)
        clitic: Mask = (text.codes[ends] == _APOSTROPHE) & over & _among(ending, self._CLITICS)
        return clitic


class _Chinese(Script):
    _BELOW_CHINESE = 0x2E80

    @staticmethod
    def kind(character: str) -> int:
        if character in NUMERALS:
            return _NUMERAL
        if character.isdecimal():
            return _DIGIT
        latin = character.isalpha() and (ord(character) < _Chinese._BELOW_CHINESE or "Ａ" <= character <= "ｚ")
        return _LETTER if latin or unicodedata.category(character)[0] == "M" else _OTHER

    def goes_on(self, text: Text, inner: Integers, step: int) -> Mask:
        inside, outside, beyond = (text.kinds[inner + step * far] for far in range(3))
        latin = (outside == _LETTER) & ((inside == _LETTER) | (inside == _DIGIT))
        alike = (inside == outside) & (inside != _OTHER)
        goes_on: Mask = latin | alike | _decimal(text.codes[inner + step], inside, beyond)
        return goes_on


_POINTS = np.array([ord(point) for point in ".,．"])


def _decimal(next_to: Codes, inside: Kinds, beyond: Kinds) -> Mask:
    decimal: Mask = (inside == _DIGIT) & (beyond == _DIGIT) & _among(next_to, _POINTS)
    return decimal


def _among(values: NDArray[Any], few: NDArray[Any]) -> Mask:
    """Which values are one of a few; `np.isin` takes longer for all but the longest arrays."""
    among: Mask = (values[:, None] == few).any(axis=1)
    return among


@cache
def script(language: str) -> Script:
    return {"en": _English, "zh": _Chinese}[language]()


class Found(NamedTuple):
    """Stretches of a text, in order of start and end, and the number of the phrase each is; of one length."""

    phrases: Integers
    starts: Integers
    ends: Integers


class PhraseFinder:
    """Finds phrases in texts of a language ("en", "zh").

    In English a phrase stands where no word goes on at its edges: no letter, digit, combining mark or underscore; at a
    digit no decimals or thousands ("3" does not stand in "3.5" or "1,300"); and no apostrophe that joins letters
    ("clock" does not stand in "o'clock", nor "don" in "don't"), unless what it joins is 's, 're, 've, 'll, 'd or 'm
    ("Einstein" stands in "Einstein’s"). Hyphens part words. In Chinese only numbers and Latin words are whole: 三 does
    not stand in 十三, nor "Java" in "JavaScript"; a line break inside a word of Chinese characters breaks it.

    This is what `contains` of the language says, but for four things: apostrophes as above; decimals are looked for at
    digits only ("Rome" stands in "Rome,1990"); combining marks belong to the letter before them; and in Chinese width
    and white space count. A phrase without a letter or digit stands nowhere.
    """

    def __init__(self, phrases: Sequence[str], language: str) -> None:
        """Raises `KeyError` for an unknown language."""
        self._script = script(language)
        numbers: dict[str, list[int]] = {}
        for number, phrase in enumerate(phrases):
            if readable(phrase):
                numbers.setdefault(folded(phrase), []).append(number)
        self._lengths = np.array([len(key) for key in numbers], np.int64)
        self._numbers = np.array([*chain.from_iterable(numbers.values())], np.int64)
        self._times = np.array([len(same) for same in numbers.values()], np.int64)
        """How often each key is given, as `_numbers` has them in a row."""
        self._automaton = ahocorasick.Automaton()
        for place, key in enumerate(numbers):
            self._automaton.add_word(key, place)
        self._automaton.make_automaton()

    def find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """(phrase index, start, end) of every whole occurrence of every phrase, overlapping ones too.

        In order of start, end and phrase index; a phrase that is given twice is found twice.
        """
        located = self.locate(text)
        return zip(located.phrases.tolist(), located.starts.tolist(), located.ends.tolist(), strict=True)

    def holding(self, documents: Sequence[str]) -> dict[int, list[int]]:
        """Return phrase index -> numbers of the documents that have it, in order; phrases in none are left out."""
        held: dict[int, list[int]] = {}
        for first, starts, ends, text in _batches(documents):
            located = self.locate(text)
            numbers = np.searchsorted(starts, located.starts, side="right") - 1
            within = located.ends <= ends[numbers]
            pairs = np.unique(located.phrases[within] * len(starts) + numbers[within])
            phrases, numbers = np.divmod(pairs, len(starts))
            borders = np.flatnonzero(np.diff(phrases, prepend=-1))
            for phrase, theirs in zip(phrases[borders].tolist(), np.split(numbers, borders)[1:], strict=True):
                held.setdefault(phrase, []).extend((theirs + first).tolist())
        return dict(sorted(held.items()))

    def among(self, text: str) -> list[int]:
        """Return the indices of the phrases that occur in `text`, in order."""
        indices: list[int] = np.unique(self.locate(text).phrases).tolist()
        return indices

    def locate(self, text: str) -> Found:
        """Return what `find` yields, as arrays."""
        if not (text and len(self._lengths)):
            return Found(*(np.zeros(0, np.int64) for _ in range(3)))
        read = self._script.read(text)
        hits = np.fromiter(chain.from_iterable(self._automaton.iter(read.text)), np.int64).reshape(-1, 2)
        keys, ends = hits[:, 1], hits[:, 0] + 1
        starts = ends - self._lengths[keys]
        whole = ~self._script.cut(read, starts, ends)
        keys, starts, ends = keys[whole], starts[whole], ends[whole]
        order = np.lexsort((ends, starts))
        keys, starts, ends = keys[order], read.place(starts[order]), read.place(ends[order] - 1) + 1
        times = self._times[keys]
        return Found(self._given(keys, times), np.repeat(starts, times), np.repeat(ends, times))

    def _given(self, keys: Integers, times: Integers) -> Integers:
        """The numbers of the phrases that have these keys, all those of a key in a row."""
        first = (np.cumsum(self._times) - self._times)[keys]
        ends = np.cumsum(times)
        given: Integers = self._numbers[np.repeat(first - ends + times, times) + np.arange(times.sum())]
        return given


def _batches(documents: Sequence[str]) -> Iterator[tuple[int, Integers, Integers, str]]:
    """Documents searched together: the number of the first, where each starts and ends in the text, and the text.

    A character that is neither white space nor part of a word stands between them.
    """
    first = 0
    while first < len(documents):
        last, size = first, 0
        while last < len(documents) and (last == first or size + len(documents[last]) <= _BATCH):
            size += len(documents[last]) + 1
            last += 1
        lengths = np.array([len(document) for document in documents[first:last]], np.int64)
        starts = np.cumsum(lengths + 1) - lengths - 1
        yield first, starts, starts + lengths, "\0".join(documents[first:last])
        first = last
