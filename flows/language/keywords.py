"""Keyword and phrase replacement: LV-Eval, section 3.2.3.

A rule is a keyword or phrase and its substitute. All rules are applied in a single pass: no substitute is
replaced again. Of rules that overlap in a text, the longest keyword wins, then the first in the text; the
order of the rules changes nothing. `PhraseFinder` defines whole words and equal spellings.

A substitute takes the case that its keyword has in the text, and the text beside the keyword stays, so that a
possessive keeps its ending ("EINSTEIN’S" gives "BEETHOVEN’S"). White space and apostrophes inside a phrase that differ
from those in the rule are kept, the first of the keyword for the first of the substitute and so on: a phrase broken
by a line end is still broken there. If the substitute has fewer of them, the rest is lost, and the text cannot be
restored. `Replacer.reversible` says whether a text can be, `Replacer.unreturned` which rules prevent it.

Departures: the paper's annotators replaced by hand and reread the result. Here "a" and "an" before a keyword, and
verbs and pronouns that go with it, are not made to agree, since the text must be restorable; `problems` and `met` find
the conflicts among rules, and of rules with a text, that the paper leaves to readers.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from operator import ne
from typing import Literal, NamedTuple

import numpy as np

from flows.language.folding import Integers, folded, lower, readable, upper
from flows.language.phrase_finder import PhraseFinder

__all__ = [
    "Edit", "PhraseFinder", "Problem", "Replacer", "Rule", "apply", "met", "occurs", "problems", "readable",
    "replacer", "undo",
]  # fmt: skip
Rule = tuple[str, str]
"""A keyword or phrase, and its substitute."""
ProblemName = Literal["empty side", "no letter or digit", "unchanged", "keyword twice", "substitute twice", "chain"]
_KEPT = 16
_KEPT_SPELLINGS = 1 << 16
_GAP = re.compile(r"\s+")
_APOSTROPHE = re.compile("['’]")
_WORD = re.compile(r"\S+")
_INITIAL = re.compile(r"(?<![\w'’\u0300-\u036f])[^\W_]")


class Edit(NamedTuple):
    """A stretch of a text before replacement, and its substitute as written there."""

    start: int
    end: int
    old: str
    new: str


class Problem(NamedTuple):
    """A fault of a rule, and the rule that it conflicts with, if any (possibly itself)."""

    name: ProblemName
    rule: Rule
    other: Rule | None = None

    def __str__(self) -> str:
        old, new = self.rule
        theirs = self.other or ("", "")
        says = {
            "empty side": "one side is empty; write a keyword and a substitute",
            "no letter or digit": "one side has no letter or digit, so it cannot be found as a whole word",
            "unchanged": "the substitute is the keyword, whatever the case; write another",
            "keyword twice": f"the keyword has another substitute as well, {theirs[1]!r}; keep one",
            "substitute twice": f"the substitute stands for {theirs[0]!r} too, so it cannot be undone; write another",
            "chain": f"the substitute holds the keyword {theirs[0]!r}; write one that holds no keyword",
        }
        return f"{old!r} -> {new!r}: {says[self.name]}"


class Replacer:
    """Rules ready to be applied to texts of a language ("en", "zh") and to be undone.

    Of rules with the same keyword (or substitute, when undoing), the first in order is used; `problems` lists them.
    """

    def __init__(self, rules: Sequence[Rule], language: str) -> None:
        """Raises `ValueError` if a side of a rule has no letter or digit, `KeyError` for an unknown language."""
        self.rules = tuple((old, new) for old, new in rules)
        self.language = language
        for rule in self.rules:
            if not all(map(readable, rule)):
                raise ValueError(str(Problem(_unreadable(rule), rule)))
        self._forth = _OneWay(self.rules, language)

    @cached_property
    def _back(self) -> "_OneWay":
        return _OneWay([(new, old) for old, new in self.rules], self.language)

    def apply(self, text: str) -> str:
        """`text` with the keywords replaced by their substitutes."""
        return self._forth.apply(text)

    def undo(self, text: str) -> str:
        """`text` with the substitutes replaced by their keywords: undoes `apply` on a reversible text."""
        return self._back.apply(text)

    def edits(self, text: str) -> list[Edit]:
        """Return the edits that `apply` makes, in order, without overlap; also those that change no letter."""
        return self._forth.edits(text)

    def reversible(self, text: str) -> bool:
        """True if `undo(apply(text)) == text`."""
        return self.undo(self.apply(text)) == text

    def unreturned(self, text: str) -> list[Rule]:
        """The rules that cannot be undone in `text`, in the order given; empty if it is reversible.

        A rule cannot be undone if its substitute is in the text already, or arises next to another substitute; if
        the case, white space or apostrophes of the keyword cannot be derived from the substitute; if
        another rule has the same substitute; or if the substitute is not found again because it forms a word or a
        longer substitute with its neighbours.
        """
        applied = self.apply(text)
        if self.undo(applied) == text:
            return []
        put, moved = {}, 0
        for edit in self._forth.edits(text):
            start, moved = edit.start + moved, moved + len(edit.new) - len(edit.old)
            put[start, edit.end + moved] = edit
        back = {(edit.start, edit.end): edit for edit in self._back.edits(applied)}
        lost = [edit for span, edit in put.items() if span not in back or back[span].new != edit.old]
        strays = [edit for span, edit in back.items() if span not in put]
        blamed = {self._forth.number(edit.old) for edit in lost} | {self._back.number(edit.old) for edit in strays}
        return [self.rules[number] for number in sorted(blamed)]


class _OneWay:
    """Rules for one direction."""

    def __init__(self, rules: Sequence[Rule], language: str) -> None:
        self._rules = rules
        self._numbers: dict[str, int] = {}
        for rule, number in sorted(zip(rules, range(len(rules)), strict=True)):
            self._numbers.setdefault(folded(rule[0]), number)
        self._finder = PhraseFinder(list(self._numbers), language)
        self._lengths = np.array([len(key) for key in self._numbers], np.int64)
        self._substitute = lru_cache(_KEPT_SPELLINGS)(self.put)

    def number(self, spelling: str) -> int:
        """Return the index of the rule whose keyword has this spelling."""
        return self._numbers[folded(spelling)]

    def put(self, spelling: str) -> str:
        """Return the substitute in the case and spacing of `spelling`."""
        old, new = map(str.strip, self._rules[self.number(spelling)])
        return new if spelling == old else _put(spelling, old, new)

    def apply(self, text: str) -> str:
        starts, ends = self._stretches(text)
        if not starts:
            return text
        pieces = [""] * (2 * len(starts) + 1)
        pieces[::2] = [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
        pieces[1::2] = map(self._substitute, _slices(text, starts, ends))
        return "".join(pieces)

    def edits(self, text: str) -> list[Edit]:
        starts, ends = self._stretches(text)
        stretches = zip(starts, ends, _slices(text, starts, ends), strict=True)
        return [Edit(start, end, old, self._substitute(old)) for start, end, old in stretches]

    def _stretches(self, text: str) -> tuple[list[int], list[int]]:
        """Starts and ends of the stretches to be replaced, in order, without overlap."""
        located = self._finder.locate(text)
        chosen = _longest(located.starts, located.ends, self._lengths[located.phrases])
        return located.starts[chosen].tolist(), located.ends[chosen].tolist()


def _slices(text: str, starts: Sequence[int], ends: Sequence[int]) -> Iterator[str]:
    return (text[start:end] for start, end in zip(starts, ends, strict=True))


def _longest(starts: Integers, ends: Integers, lengths: Integers) -> Integers:
    """Which stretches to take so that none overlap: the longest first, then the earliest. They are in order."""
    if not len(starts):
        return starts
    apart = np.append(True, starts[1:] >= np.maximum.accumulate(ends)[:-1])
    alone = apart & np.append(apart[1:], True)
    chosen = np.flatnonzero(alone).tolist()
    taken = bytearray(int(ends.max()))
    contested = np.flatnonzero(~alone)
    for at in contested[np.lexsort((starts[contested], -lengths[contested]))].tolist():
        start, end = int(starts[at]), int(ends[at])
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\1" * (end - start)
            chosen.append(at)
    return np.array(sorted(chosen), np.int64)


def _put(spelling: str, old: str, new: str) -> str:
    """Return `new` in the case and spacing that `spelling` has for `old`."""
    cased = _cased(_plain(spelling), _plain(old), new)
    return _kept(_APOSTROPHE, spelling, old, _kept(_GAP, spelling, old, cased))


def _plain(phrase: str) -> str:
    return " ".join(phrase.replace("’", "'").split())


def _kept(mark: re.Pattern[str], spelling: str, old: str, new: str) -> str:
    """Return `new` with the marks of `spelling` that differ from those of `old`, one for one."""
    marks = zip(mark.findall(spelling), mark.findall(old), strict=True)

    def put(match: re.Match[str]) -> str:
        stood, written = next(marks, ("", ""))
        return match.group() if stood == written else stood

    return mark.sub(put, new)


def _cased(spelling: str, old: str, new: str) -> str:
    """Return `new` in the case that `old` has as `spelling`.

    It is that of the whole phrase if it is one of `_FORMS`; else each word takes that of its counterpart if there
    are as many words; else it is the nearest form, by the letters that differ.
    """
    for form in _FORMS:
        if form(old) == spelling:
            return form(new)
    pairs = list(zip(spelling.split(), old.split(), strict=True))
    if len(pairs) == len(new.split()) > 1:
        counterparts = iter(pairs)
        return _WORD.sub(lambda match: _cased(*next(counterparts), match.group()), new)
    nearest = min(_FORMS, key=lambda form: sum(map(ne, form(old), spelling)))
    return nearest(new)


def _as_written(phrase: str) -> str:
    return phrase


def _lower(phrase: str) -> str:
    return "".join(map(lower, phrase))


def _upper(phrase: str) -> str:
    return "".join(map(upper, phrase))


def _opening(phrase: str) -> str:
    """As written, but with a capital to begin a sentence."""
    return _INITIAL.sub(lambda match: upper(match.group()), phrase, count=1)


def _sentence(phrase: str) -> str:
    return _opening(_lower(phrase))


def _title(phrase: str) -> str:
    return _INITIAL.sub(lambda match: upper(match.group()), _lower(phrase))


_FORMS: tuple[Callable[[str], str], ...] = (_as_written, _lower, _opening, _sentence, _title, _upper)
"""Each keeps the length of its text. In this order, so that "I" for "i" begins a sentence and is not all capitals."""


def replacer(rules: Sequence[Rule], language: str) -> Replacer:
    """The `Replacer` of the rules; the last few are kept."""
    return _replacer(tuple((old, new) for old, new in rules), language)


@lru_cache(_KEPT)
def _replacer(rules: tuple[Rule, ...], language: str) -> Replacer:
    return Replacer(rules, language)


@lru_cache(_KEPT)
def _finder(phrases: tuple[str, ...], language: str) -> PhraseFinder:
    return PhraseFinder(phrases, language)


def apply(text: str, rules: Sequence[Rule], language: str) -> str:
    """`text` with the rules applied; see `Replacer.apply`."""
    return replacer(rules, language).apply(text)


def undo(text: str, rules: Sequence[Rule], language: str) -> str:
    """`text` with the rules undone; see `Replacer.undo`."""
    return replacer(rules, language).undo(text)


def occurs(text: str, phrases: Sequence[str], language: str) -> frozenset[str]:
    """Return the phrases that occur in `text`, as rules would find them."""
    phrases = tuple(phrases)
    return frozenset(phrases[index] for index in _finder(phrases, language).among(text))


def met(text: str, rules: Sequence[Rule], language: str) -> list[Rule]:
    """Return the rules whose substitutes already occur in `text`, in the order given."""
    finder = _finder(tuple(new for _, new in rules), language)
    return [(rules[index][0], rules[index][1]) for index in finder.among(text)]


def problems(rules: Sequence[Rule], language: str) -> list[Problem]:
    """Return the rules that are ambiguous or cannot be undone, in their order; empty if all are sound.

    - "empty side", "no letter or digit": a side that cannot be found in a text. Such a rule is not checked further.
    - "unchanged": keyword and substitute are the same whatever the case.
    - "keyword twice": a rule above has the same keyword with another substitute.
    - "substitute twice": a rule above has the same substitute for another keyword.
    - "chain": the substitute is or holds, as whole words, a keyword of a rule (its own too, unless "unchanged").

    The same rule twice is no problem, nor is a keyword that is part of another, since the longest goes first.
    """
    return list(_problems([(old, new) for old, new in rules], language))


def _problems(rules: Sequence[Rule], language: str) -> Iterator[Problem]:
    sound = [rule for rule in rules if all(map(readable, rule))]
    by_keyword: dict[str, Rule] = {}
    by_substitute: dict[str, Rule] = {}
    for old, new in sound:
        by_keyword.setdefault(folded(old), (old, new))
        by_substitute.setdefault(folded(new), (old, new))
    substitutes = list(by_substitute)
    held: dict[str, list[str]] = {substitute: [] for substitute in substitutes}
    for keyword, holders in zip(by_keyword, _holding(list(by_keyword), substitutes, language), strict=True):
        for holder in holders:
            held[substitutes[holder]].append(keyword)
    for rule in rules:
        if not all(map(readable, rule)):
            yield Problem(_unreadable(rule), rule)
            continue
        old, new = map(folded, rule)
        if old == new:
            yield Problem("unchanged", rule)
        if folded((other := by_keyword[old])[1]) != new:
            yield Problem("keyword twice", rule, other)
        if folded((other := by_substitute[new])[0]) != old:
            yield Problem("substitute twice", rule, other)
        yield from (Problem("chain", rule, by_keyword[keyword]) for keyword in held[new] if not old == new == keyword)


def _holding(phrases: Sequence[str], documents: Sequence[str], language: str) -> Iterator[list[int]]:
    together = "\n".join(documents)
    if not any(phrase in together for phrase in phrases):  # as with most rules; a search costs more than a look
        return ([] for _ in phrases)
    held = PhraseFinder(phrases, language).holding(documents)
    return (held.get(index, []) for index in range(len(phrases)))


def _unreadable(rule: Rule) -> ProblemName:
    return "no letter or digit" if all(map(str.strip, rule)) else "empty side"
