"""Search of a text for thousands of phrases in one pass, as whole words and in any case.

Texts and phrases are compared folded: every character in lower case if that is a single character, every run of
white space as a single space, ’ as '. Folding maps characters one to one and runs keep their place, so the
stretches found are stretches of the text as it is. Nothing is normalised beyond that: a composed é is not a decomposed
one, a full-width letter is not a half-width one.

The search. Each character has a random weight of 64 bits; the sum of the weights of a stretch is a difference of two
running sums. A phrase is anchored in one of its words (in Chinese, one of its pairs of characters): the one that the
fewest other phrases have. The sums of all words of a text are looked up at once; if a sum is that of an anchor, the
phrase is compared letter for letter, and its edges are checked. So the time grows with the text and the number of
matches, and hardly with the number of phrases.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from flows.language.folding import MARGIN, Integers, Sums, Text, folded, readable, script

_SLOTS_PER_PHRASE = 64
_STRETCH = 1 << 17
"""Characters of a long text searched together: few enough to stay in the processor's cache."""
_BATCH = 1 << 20
"""Characters of short documents that are searched together."""


class Found(NamedTuple):
    """Stretches of a text, in order of start and end, and the number of each one's phrase; all of equal length."""

    phrases: Integers
    starts: Integers
    ends: Integers


class PhraseFinder:
    """Finds phrases in texts of a language ("en", "zh").

    In English a phrase occurs where no word continues at its edges: no letter, digit, mark or underscore; at a
    digit no decimals or thousands ("3" does not occur in "3.5" or "1,300"); and no apostrophe that joins letters
    ("clock" does not occur in "o'clock", nor "don" in "don't"), unless it joins 's, 're, 've, 'll, 'd or 'm
    ("Einstein" occurs in "Einstein’s"). Hyphens separate words. In Chinese only numbers and Latin words are whole: 三
    does not occur in 十三, nor "Java" in "JavaScript"; a line break inside a word of Chinese characters breaks it.

    This agrees with the language's `contains`, with four exceptions: apostrophes as above; decimals are looked for at
    digits only ("Rome" occurs in "Rome,1990"); combining marks belong to the letter before them; and in Chinese width
    and white space count. A phrase without a letter or digit occurs nowhere.
    """

    def __init__(self, phrases: Sequence[str], language: str) -> None:
        """Raises `KeyError` for an unknown language."""
        self._script = script(language)
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

    def _anchors(self, text: "Text") -> tuple[Integers, Integers, Sums]:
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
        if not (text and len(self._phrases)):
            return Found(*(np.zeros(0, np.int64) for _ in range(3)))
        parts_found = [self._starting(text, first, first + _STRETCH) for first in range(0, len(text), _STRETCH)]
        return Found(*(np.concatenate(parts) for parts in zip(*parts_found, strict=True)))

    def _starting(self, text: str, first: int, last: int) -> Found:
        """Return the phrases that start between the two places."""
        begin = max(first - MARGIN, 0)
        beyond = needed = self._longest + MARGIN
        read = self._script.read(text[begin : last + beyond])
        while last + beyond < len(text) and read.codes_from(last - begin) < needed:
            beyond *= 2  # a long run of white space that folding has made one space
            read = self._script.read(text[begin : last + beyond])
        compared = [self._compared(read, starts, sums) for starts, _, sums in self._script.windows(read)]
        which, starts = (np.concatenate(parts) for parts in zip(*compared, strict=True))
        ends = starts + self._lengths[which]
        kept = ~self._script.cut(read, starts + MARGIN, ends + MARGIN)
        places = read.place(starts) + begin
        kept &= (places >= first) & (places < last)
        which, starts, ends = which[kept], starts[kept], ends[kept]
        order = np.lexsort((ends, starts))  # equal phrases are next to each other already, in the order given
        return Found(self._phrases[which[order]], places[kept][order], read.place(ends[order] - 1) + 1 + begin)

    def _compared(self, text: "Text", starts: Integers, sums: Sums) -> tuple[Integers, Integers]:
        """Return the phrases that match letter for letter around their anchors, and where they start."""
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
        letters = text.codes[_ranges(begins + MARGIN, lengths)]
        differ = letters != self._codes[_ranges(self._at[which], lengths)]
        same = ~np.logical_or.reduceat(differ, np.cumsum(lengths) - lengths)
        return which[same], begins[same]


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
