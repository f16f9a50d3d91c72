"""Where any of thousands of phrases stand in a text, in one pass, as whole words and whatever the case.

Texts and phrases are compared folded: every character in lower case where that is one character, every white space as
a space and a run of it as one, ’ as '. Folding maps characters one to one and runs keep the place they had, so the
stretches found are stretches of the text as it is. Nothing is normalised beyond that: a composed é is not a decomposed
one, a full-width letter is not a half-width one.

The search. Each character has a random weight of 64 bits; the sum of the weights of a stretch is a difference of two
running sums. A phrase is anchored in one of its words (in Chinese, one of its pairs of characters): the one that the
fewest other phrases have. The sums of all words of a text are looked up at once; where one is the sum of an anchor, the
phrase is compared letter for letter, and its edges are looked at. So the time grows with the text and with what is
found in it, and hardly with the number of phrases.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
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
_MARGIN = 4
"""Spaces beside the codes of a text, so that a look at its neighbours needs no look at its ends."""
_SPACE, _APOSTROPHE = ord(" "), ord("'")
_CASED_BELOW = 0x20000
_ASSIGNED = tuple(chain(range(0x40000), range(0xE0000, 0xE0200)))
"""Every letter, digit and mark of Unicode is one of these."""
_SLOTS_PER_PHRASE = 64
_STRETCH = 1 << 17
"""Characters of a long text that are searched together: few enough to stay in the processor's cache."""
_BATCH = 1 << 20
"""Characters of short documents that are searched together."""

# What a character is at the edge of a phrase.
_OTHER, _LETTER, _DIGIT, _NUMERAL = 0, 1, 2, 3


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
        """Raises `KeyError` for a language that there is none of."""
        self._script = _script(language)
        keys = [folded(phrase) if readable(phrase) else "" for phrase in phrases]
        used = np.array([number for number, key in enumerate(keys) if key], np.int64)
        self._phrases = used
        self._lengths = np.array([len(keys[number]) for number in used], np.int64)
        self._longest = int(self._lengths.max(initial=0))
        # A space after each, so that the last word of a key does not run into the first of the next.
        text = self._script.read("".join(f"{keys[number]} " for number in used))
        self._codes = text.inner()
        self._at = np.cumsum(self._lengths + 1) - self._lengths - 1
        self._sums = text.sums[self._at + self._lengths] - text.sums[self._at]
        owners, leads, sums = self._anchors(text)
        bits = max(4096, _SLOTS_PER_PHRASE * len(used)).bit_length()
        self._shift = np.uint64(64 - bits)
        slots = (sums >> self._shift).astype(np.int64)
        order = np.argsort(slots, kind="stable")
        self._owners, self._leads = owners[order], leads[order]
        self._number_of = np.bincount(slots, minlength=1 << bits).astype(np.int32)
        self._first = (np.cumsum(self._number_of) - self._number_of).astype(np.int32)

    def _anchors(self, text: "_Text") -> tuple[Integers, Integers, Sums]:
        """One window of each phrase: whose it is, where in the phrase it starts, its sum."""
        starts, ends, sums = (np.concatenate(parts) for parts in zip(*self._script.windows(text), strict=True))
        owners = np.searchsorted(self._at, starts, side="right") - 1
        inside = ends <= self._at[owners] + self._lengths[owners]
        inside &= self._script.may_anchor(ends - starts, self._lengths[owners])
        starts, ends, sums, owners = starts[inside], ends[inside], sums[inside], owners[inside]
        _, which, shared = np.unique(sums, return_inverse=True, return_counts=True)
        order = np.lexsort((starts, starts - ends, shared[which], owners))
        best = order[np.unique(owners[order], return_index=True)[1]]
        return owners[best], starts[best] - self._at[owners[best]], sums[best]

    def find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """(phrase index, start, end) of every whole occurrence of every phrase, overlapping ones too.

        In order of start, end and phrase index; a phrase that is given twice is found twice.
        """
        found = self.locate(text)
        return zip(found.phrases.tolist(), found.starts.tolist(), found.ends.tolist(), strict=True)

    def holding(self, documents: Sequence[str]) -> dict[int, list[int]]:
        """Phrase index -> numbers of the documents it stands in, in order, each once; phrases of none are left out."""
        held: dict[int, list[int]] = {}
        for first, starts, ends, text in _batches(documents):
            found = self.locate(text)
            numbers = np.searchsorted(starts, found.starts, side="right") - 1
            within = found.ends <= ends[numbers]
            pairs = np.unique(found.phrases[within] * len(starts) + numbers[within])
            phrases, numbers = np.divmod(pairs, len(starts))
            borders = np.flatnonzero(np.diff(phrases, prepend=-1))
            for phrase, theirs in zip(phrases[borders].tolist(), np.split(numbers, borders)[1:], strict=True):
                held.setdefault(phrase, []).extend((theirs + first).tolist())
        return dict(sorted(held.items()))

    def among(self, text: str) -> list[int]:
        """The indices of the phrases that stand in `text`, in order."""
        indices: list[int] = np.unique(self.locate(text).phrases).tolist()
        return indices

    def locate(self, text: str) -> Found:
        """What `find` finds, as arrays."""
        if not (text and len(self._phrases)):
            return Found(*(np.zeros(0, np.int64) for _ in range(3)))
        found = [self._starting(text, first, first + _STRETCH) for first in range(0, len(text), _STRETCH)]
        return Found(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _starting(self, text: str, first: int, last: int) -> Found:
        """What starts between the two places, of which the text has the first."""
        begin = max(first - _MARGIN, 0)
        beyond = needed = self._longest + _MARGIN
        read = self._script.read(text[begin : last + beyond])
        while last + beyond < len(text) and read.codes_from(last - begin) < needed:
            beyond *= 2  # a long run of white space that folding has made one space
            read = self._script.read(text[begin : last + beyond])
        found = [self._compared(read, starts, sums) for starts, _, sums in self._script.windows(read)]
        which, starts = (np.concatenate(parts) for parts in zip(*found, strict=True))
        ends = starts + self._lengths[which]
        kept = ~self._script.cut(read, starts + _MARGIN, ends + _MARGIN)
        places = read.place(starts) + begin
        kept &= (places >= first) & (places < last)
        which, starts, ends = which[kept], starts[kept], ends[kept]
        order = np.lexsort((ends, starts))  # equal phrases are next to each other already, in the order given
        return Found(self._phrases[which[order]], places[kept][order], read.place(ends[order] - 1) + 1 + begin)

    def _compared(self, text: "_Text", starts: Integers, sums: Sums) -> tuple[Integers, Integers]:
        """The phrases that stand letter for letter around their anchors, and where they start."""
        slots = sums >> self._shift
        near = np.flatnonzero(self._number_of[slots])
        slots = slots[near]
        number_of = self._number_of[slots]
        anchored = _ranges(self._first[slots], number_of)
        which = self._owners[anchored]
        begins = np.repeat(starts[near], number_of) - self._leads[anchored]
        ends = begins + self._lengths[which]
        inside = (begins >= 0) & (ends < len(text.sums))
        which, begins, ends = which[inside], begins[inside], ends[inside]
        same = text.sums[ends] - text.sums[begins] == self._sums[which]
        which, begins = which[same], begins[same]
        if not len(which):
            return which, begins
        lengths = self._lengths[which]
        letters = text.codes[_ranges(begins + _MARGIN, lengths)]
        differ = letters != self._codes[_ranges(self._at[which], lengths)]
        same = ~np.logical_or.reduceat(differ, np.cumsum(lengths) - lengths)
        return which[same], begins[same]


def folded(phrase: str) -> str:
    """The form in which two spellings of a phrase meet: folded, without outer white space."""
    return " ".join(phrase.translate(_folds()).split())


def readable(phrase: str) -> bool:
    """Whether the phrase holds a letter or a digit."""
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
    """The characters that folding changes."""
    characters = map(chr, range(_CASED_BELOW))
    folds = {ord(character): ord(lower(character)) for character in characters if lower(character) != character}
    spaces = {code: _SPACE for code in range(_CASED_BELOW) if chr(code).isspace()}
    return folds | spaces | {ord("’"): _APOSTROPHE, ord("ς"): ord("σ")}


class _Text(NamedTuple):
    """A text as it is searched. Its codes and kinds have `_MARGIN` spaces on both sides."""

    codes: Codes
    kinds: Kinds
    sums: Sums
    """Of the weights before each code; one more for the end. Without margins."""
    places: Integers | None
    """Where each code stands in the text as it is; None where they all stand where they did."""

    def inner(self) -> Codes:
        return self.codes[_MARGIN:-_MARGIN]

    def codes_from(self, place: int) -> int:
        """How many codes there are from a place of the text on."""
        codes = len(self.sums) - 1
        return codes - (place if self.places is None else int(np.searchsorted(self.places, place)))

    def place(self, at: Integers) -> Integers:
        return at if self.places is None else self.places[at]


class _Script(Protocol):
    """What the search has to know of a language."""

    def read(self, text: str) -> _Text: ...

    def windows(self, text: _Text) -> list[tuple[Integers, Integers, Sums]]:
        """Starts, ends and sums of the stretches that a phrase can be anchored in; in lists that each are in order."""
        ...

    def may_anchor(self, windows: Integers, phrases: Integers) -> Mask:
        """Whether a window of so many codes may be the anchor of a phrase of so many."""
        ...

    def cut(self, text: _Text, starts: Integers, ends: Integers) -> Mask:
        """Whether the stretches cut a word in two. Places count the margin."""
        ...


class _Tables:
    """What each character is folded to, weighs, and is. A character of weight 0 is in no window."""

    def __init__(self, kinds: Kinds, weightless: Mask) -> None:
        folds = _folds()
        self._fold = np.arange(_CODES, dtype=np.uint32)
        self._fold[list(folds)] = list(folds.values())
        self._kinds = kinds
        self._weights = np.random.default_rng(0).integers(1, 2**64 - 1, _CODES, np.uint64)
        self._weights[weightless] = 0

    def read(self, text: str) -> _Text:
        codes = self._fold.take(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4"))
        spaces = codes == _SPACE
        repeated = spaces[1:] & spaces[:-1]
        places = None
        if repeated.any():
            places = np.flatnonzero(np.append(True, ~repeated))
            codes = codes[places]
        padded = np.full(len(codes) + 2 * _MARGIN, _SPACE, np.uint32)
        padded[_MARGIN:-_MARGIN] = codes
        sums = np.zeros(len(codes) + 1, np.uint64)
        np.cumsum(self._weights.take(codes), out=sums[1:])
        return _Text(padded, self._kinds.take(padded), sums, places)


class _English(_Tables):
    """Windows are words: letters, digits, marks and underscores without anything between."""

    _CLITICS = np.array([_CODES * ord(one[0]) + sum(map(ord, one[1:])) for one in ("s", "d", "m", "re", "ve", "ll")])

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

    def windows(self, text: _Text) -> list[tuple[Integers, Integers, Sums]]:
        word = text.kinds[_MARGIN - 1 : 1 - _MARGIN] != _OTHER
        edges = np.flatnonzero(word[1:] != word[:-1])
        starts, ends = edges[::2], edges[1::2]
        return [(starts, ends, text.sums[ends] - text.sums[starts])]

    def may_anchor(self, windows: Integers, phrases: Integers) -> Mask:
        return np.ones(len(windows), np.bool_)

    def cut(self, text: _Text, starts: Integers, ends: Integers) -> Mask:
        cut: Mask = self._goes_on(text, starts, -1) | self._goes_on(text, ends - 1, 1) & ~self._clitic(text, ends)
        return cut

    def _goes_on(self, text: _Text, inner: Integers, step: int) -> Mask:
        """Whether the word of the code at `inner` goes on in the direction of the step."""
        inside, outside, beyond = (text.kinds[inner + step * far] for far in range(3))
        next_to = text.codes[inner + step]
        joined = (next_to == _APOSTROPHE) & (inside != _OTHER) & (beyond == _LETTER)
        goes_on: Mask = (outside != _OTHER) | _decimal(next_to, inside, beyond) | joined
        return goes_on

    def _clitic(self, text: _Text, ends: Integers) -> Mask:
        """Whether an apostrophe and one of the endings that leave a word whole come next."""
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

    def windows(self, text: _Text) -> list[tuple[Integers, Integers, Sums]]:
        sums = text.sums
        every = np.arange(len(sums))
        return [(every[:-width], every[width:], sums[width:] - sums[:-width]) for width in self._WIDTHS]

    def may_anchor(self, windows: Integers, phrases: Integers) -> Mask:
        may: Mask = windows == np.minimum(phrases, self._WIDTHS[-1])
        return may

    def cut(self, text: _Text, starts: Integers, ends: Integers) -> Mask:
        return self._goes_on(text, starts, -1) | self._goes_on(text, ends - 1, 1)

    def _goes_on(self, text: _Text, inner: Integers, step: int) -> Mask:
        inside, outside, beyond = (text.kinds[inner + step * far] for far in range(3))
        latin = (outside == _LETTER) & ((inside == _LETTER) | (inside == _DIGIT))
        alike = (inside == outside) & (inside != _OTHER)
        goes_on: Mask = latin | alike | _decimal(text.codes[inner + step], inside, beyond)
        return goes_on


_POINTS = np.array([ord(point) for point in ".,．"])


def _decimal(next_to: Codes, inside: Kinds, beyond: Kinds) -> Mask:
    """Whether digits stand on both sides of a point or comma."""
    decimal: Mask = (inside == _DIGIT) & (beyond == _DIGIT) & _among(next_to, _POINTS)
    return decimal


def _among(values: NDArray[Any], few: NDArray[Any]) -> Mask:
    """Which values are one of a few; `np.isin` takes longer for all but the longest arrays."""
    among: Mask = (values[:, None] == few).any(axis=1)
    return among


@cache
def _script(language: str) -> _Script:
    scripts: dict[str, Callable[[], _Script]] = {"en": _English, "zh": _Chinese}
    return scripts[language]()


def _ranges(starts: Integers, lengths: Integers) -> Integers:
    """starts[0], starts[0] + 1, ... of lengths[0] numbers, then those of starts[1], and so on."""
    ends = np.cumsum(lengths)
    ranges = np.repeat(starts - ends + lengths, lengths)
    ranges += np.arange(len(ranges))
    return ranges


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
