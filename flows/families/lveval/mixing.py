"""Mixing up (section 3.2.1): distracting documents around a pair's supporting ones, at every level.

The part that all levels of a pair share is made once (`mix`): the order in which distractors are drawn, their texts
after replacement, and their lengths. `measure` decides how many of them a level takes, and `lay_out` where
everything goes in its context. Texts are UTF-8.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

import numpy as np
import numpy.typing as npt
import xxhash

from flows.construct.draws import random_order
from flows.construct.engine import Drop
from flows.families.lveval.distractor_index import BETWEEN, DistractorIndex, Numbers, count
from flows.language.boundaries import boundaries
from schemas.lveval import Position

TOLERANCE = 0.01
"""Share of its level by which a context may be longer or shorter. A departure: the paper's contexts have 11,896 to
387,406 words (table 1), since it does not cut the last document."""
SHORT_LEVEL, LONGEST_SENTENCE = 16_000, {"en": 60, "zh": 120}
"""Below this level, a context may miss it by one sentence instead."""
JOINT = "\n\n"
LEAST_CUT = 10  # the fewest words (characters) of a document that is cut
GENEROUS = 1.05  # text drawn, as a multiple of the longest level: replacement changes lengths

LACKING = "not enough text"  # the reason for a drop

Seeds = Callable[..., int]  # (purpose of a random choice) -> a number that depends on nothing else


def slack(level: int, language: str) -> float:
    """Return by how many words a context may miss its level."""
    return max(TOLERANCE * level, LONGEST_SENTENCE[language] if level < SHORT_LEVEL else 0)


def drawn(number: int, seed: int) -> Numbers:
    """Return a random order of `number` things. NumPy keeps the generator's raw stream across versions."""
    order: Numbers = np.argsort(np.random.PCG64(seed).random_raw(number))
    return order


class Headers:
    """The headers of a context's documents in order, each with the separator before it."""

    def __init__(self, form: str, language: str, number: int) -> None:
        texts = [f"{JOINT if place > 1 else ''}{form.format(number=place)}" for place in range(1, number + 1)]
        self.bytes = [text.encode() for text in texts]
        self.lengths: Numbers = np.array([len(text) for text in texts], np.int64)  # characters of each
        self.counts: Numbers = np.cumsum([0, *(count(text, language) for text in texts)])  # words of the first `n`


@lru_cache(8)
def _headers(form: str, language: str, number: int) -> Headers:
    return Headers(form, language, number)


@dataclass(frozen=True)
class Text:
    """A text that goes into a context, after replacement."""

    id: str
    text: str
    language: str

    @cached_property
    def bytes(self) -> bytes:
        """In UTF-8."""
        return self.text.encode()

    @cached_property
    def count(self) -> int:
        """Words, or characters."""
        return count(self.text, self.language)


@dataclass(frozen=True)
class Mixture:
    """The parts that all contexts of a pair share."""

    language: str
    support: tuple[Text, ...]
    scattered: bool
    facts: tuple[Text, ...]
    texts: list[bytes]  # the distracting documents in the order in which they are drawn, after replacement
    counts: Numbers
    lengths: Numbers
    ends: Callable[[int], Sequence[int]]
    """For the n-th distractor drawn, the offsets at which a sentence begins after another."""

    @cached_property
    def fixed(self) -> int:
        """Words of the supporting documents and the confusing facts."""
        return sum(text.count for text in (*self.support, *self.facts))

    @cached_property
    def cumulative(self) -> Numbers:
        """Words of the first `n` distractors in total."""
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.counts)))

    def headers(self, form: str) -> Headers:
        """Return headers for all documents; those of a power of two are made once, for many pairs."""
        return _headers(form, self.language, 1 << (len(self.texts) + len(self.support)).bit_length())


def mix(
    index: DistractorIndex,
    excluded: npt.NDArray[np.bool_],
    support: tuple[Text, ...],
    facts: tuple[Text, ...],
    replaced: Callable[[str], str] | None,
    holding: Numbers,
    *,
    scattered: bool,
    longest: int,
    seed: int,
) -> Mixture:
    """Draw the distractors of a pair one by one, as many as its longest level may take, and apply the rules to them.

    `excluded` says of each document of the index whether it must not distract from this pair; `holding` are those that
    hold a keyword, the only ones that are rewritten by `replaced`. A document's place in the draw depends on the
    document alone, so one that is added or removed moves no other.
    """
    allowed = np.flatnonzero(~excluded)
    order = allowed[random_order(index.members[allowed], seed)]
    needed = int(np.searchsorted(np.cumsum(index.counts[order]), GENEROUS * longest)) + 1
    order = order[:needed]
    texts = list(map(index.texts.__getitem__, order.tolist()))
    counts, lengths = index.counts[order], index.lengths[order]
    rewritten: dict[int, str] = {}
    if replaced is not None and len(holding):
        counts, lengths = counts.copy(), lengths.copy()
        holds = np.zeros(len(index), np.bool_)
        holds[holding] = True
        places = np.flatnonzero(holds[order]).tolist()
        together = replaced(BETWEEN.join(index.text(int(order[place])) for place in places))
        for place, text in zip(places, together.split(BETWEEN) if places else (), strict=True):
            rewritten[place] = text
            texts[place], counts[place], lengths[place] = text.encode(), count(text, index.language), len(text)

    def ends(place: int) -> Sequence[int]:
        if place in rewritten:
            return boundaries(rewritten[place], index.language)
        return index.boundaries(int(order[place]))

    return Mixture(index.language, support, scattered, facts, texts, counts, lengths, ends)


@dataclass(frozen=True)
class Laid:
    """A context laid out."""

    pieces: Sequence[bytes]  # the parts that are joined
    length: int  # words, or characters
    positions: tuple[Position, ...]

    @cached_property
    def joined(self) -> bytes:
        """The context in UTF-8."""
        return b"".join(self.pieces)

    @cached_property
    def checksum(self) -> str:
        """Of the context: XXH3, 128 bits, in hexadecimal."""
        return xxhash.xxh3_128_hexdigest(self.joined)


@dataclass(frozen=True)
class Measured:
    """How much goes into a context."""

    whole: int  # distractors that go in whole
    filling: tuple[str, ...]  # later distractors, each cut at a sentence's end or whole
    length: int  # words, or characters, of all


def measure(mixture: Mixture, level: int, headers: Headers) -> Measured:
    """Return how much a context of `level` words takes. Raises `Drop` for long supporting documents or lacking text.

    Distractors go in as they are drawn until the next would be too long; sentences of that one go in up to the level,
    or, if the context is still too short, of those after it as well.
    """
    supporting = len(mixture.support)
    whole = _whole(mixture, level, headers)
    length = int(mixture.fixed + mixture.cumulative[whole] + headers.counts[whole + supporting])
    filling: list[str] = []
    for place in range(whole, len(mixture.texts)):
        if place > whole and level - length <= slack(level, mixture.language):
            break
        before = whole + supporting + len(filling)
        header = int(headers.counts[before + 1] - headers.counts[before])
        if (cut := _cut(mixture, place, level - length - header)) is not None:
            filling.append(cut[0])
            length += header + cut[1]
    if (missing := level - length) > slack(level, mixture.language):
        raise Drop(LACKING, f"{missing:,} words are missing", value=float(missing))
    with_sentences = (place for place in range(whole) if mixture.ends(place))
    if sum(1 for _ in islice(with_sentences, len(mixture.facts))) < len(mixture.facts):
        raise Drop("no place for the confusing facts", "too few distracting documents have two sentences")
    return Measured(whole, tuple(filling), length)


def lay_out(mixture: Mixture, measured: Measured, headers: Headers, seeds: Seeds) -> Laid:
    """Lay out a context.

    All documents are shuffled (a pair's own as a unit, unless they are scattered), and each confusing fact is put
    between two sentences of a distractor.
    """
    texts, lengths = mixture.texts[: measured.whole], mixture.lengths[: measured.whole]
    texts += [text.encode() for text in measured.filling]
    lengths = np.concatenate((lengths, np.array([len(text) for text in measured.filling], np.int64)))
    lengths = np.concatenate((lengths, [len(document.text) for document in mixture.support]))
    placed = _facts(mixture, texts, lengths, measured.whole, seeds)
    order = _arranged(len(texts), mixture, seeds("shuffle"))
    first = len(texts)
    texts += [document.bytes for document in mixture.support]
    pieces: list[bytes] = [b""] * (2 * len(order))
    pieces[::2] = headers.bytes[: len(order)]
    pieces[1::2] = map(texts.__getitem__, order.tolist())
    arranged = lengths[order]
    start = np.empty_like(lengths)
    start[order] = np.cumsum(headers.lengths[: len(order)] + arranged) - arranged
    positions = [
        Position(kind="support", source=document.id, start=begin, end=begin + len(document.text))
        for document, begin in zip(mixture.support, start[first:].tolist(), strict=True)
    ]
    for fact, (place, offset) in zip(mixture.facts, placed, strict=True):
        begin = int(start[place]) + offset
        positions.append(Position(kind="confusing", source=fact.id, start=begin, end=begin + len(fact.text)))
    return Laid(pieces, measured.length, tuple(sorted(positions, key=lambda position: position.start)))


def _whole(mixture: Mixture, level: int, headers: Headers) -> int:
    """Return how many distractors go in whole."""
    supporting = len(mixture.support)
    totals = mixture.fixed + mixture.cumulative + headers.counts[supporting : supporting + len(mixture.cumulative)]
    if totals[0] > level:
        raise Drop("supporting documents too long", f"they have {int(totals[0]):,} words", value=float(totals[0]))
    return int(np.searchsorted(totals, level, side="right")) - 1


def _cut(mixture: Mixture, place: int, spare: int) -> tuple[str, int] | None:
    """Return the start of a distractor, up to a sentence's end, with at most `spare` words; None if it has none."""
    text = mixture.texts[place].decode()
    best: tuple[str, int] | None = None
    for end in (*mixture.ends(place), len(text)):
        stretch = text[:end].rstrip()
        words = count(stretch, mixture.language)
        if words > spare:
            break
        if words >= LEAST_CUT:
            best = stretch, words
    return best


def _arranged(distractors: int, mixture: Mixture, seed: int) -> Numbers:
    """Return the documents in the order of the context; those from `distractors` on are the supporting ones."""
    supporting = len(mixture.support)
    if mixture.scattered or supporting == 1:
        return drawn(distractors + supporting, seed)
    order = drawn(distractors + 1, seed)
    unit = int(np.flatnonzero(order == distractors)[0])
    return np.concatenate((order[:unit], np.arange(distractors, distractors + supporting), order[unit + 1 :]))


def _facts(mixture: Mixture, texts: list[bytes], lengths: Numbers, whole: int, seeds: Seeds) -> list[tuple[int, int]]:
    """Put each confusing fact between two sentences of a distractor; return (distractor, offset in it) of each."""
    placed: list[tuple[int, int]] = []
    joint = "" if mixture.language == "zh" else " "
    candidates = filter(mixture.ends, drawn(whole, seeds("facts")).tolist() if mixture.facts else ())
    for fact, place in zip(mixture.facts, candidates, strict=False):
        text, ends = texts[place].decode(), mixture.ends(place)
        offset = ends[seeds("place", fact.id) % len(ends)]
        texts[place] = f"{text[:offset]}{fact.text}{joint}{text[offset:]}".encode()
        lengths[place] += len(fact.text) + len(joint)
        placed.append((place, offset))
    return placed
