"""What speaks against replacement rules (section 3.2.3): found by program, shown to people, until nothing is left."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np

from flows.families.lveval.library import BETWEEN, Library, Numbers, batches
from flows.language import language_of
from flows.language.boundaries import boundaries
from flows.language.en_names import TITLES
from flows.language.keywords import PhraseFinder, Replacer, met, occurs, problems, readable, replacer
from flows.language.zh_text import words
from schemas.lveval import Conflict, Pair, Rule

FREQUENT = 0.01
"""Share of a dataset's documents up to which those that a rule cannot be applied to are left out of its pair's
contexts; above it, the rule is in conflict."""
INSIDE = "the keyword stands inside a longer name"
STANDS = "the substitute stands there already"
FOLLOWS = "the answer no longer follows"
UNDONE = "it cannot be undone"
PART = "a part of the name goes on to stand there"
HEADER = "it touches the headers of documents"
AMONG_RULES = "it does not go with another rule"

_BEFORE = re.compile(r"([A-Z][\w’'.-]*)[ \u00a0]$")
_AFTER = re.compile(r"[ \u00a0]([A-Z][\w’'-]*)")
_PARTS = re.compile(r"[ ·・•‧]")
_SHOWN = 200
_NEAR = 12
"""Characters on either side of a Chinese keyword in which a longer word is looked for."""


def sides_of(rules: Sequence[Rule]) -> tuple[tuple[str, str], ...]:
    """The rules as pairs of keyword and substitute."""
    return tuple((rule.old, rule.new) for rule in rules)


def conflicts(rules: Sequence[Rule], pair: Pair, facts: Sequence[str], library: Library) -> list[Conflict]:
    """All that speaks against the rules of a pair, in the order of the rules."""
    found = dict.fromkeys(_found(rules, pair, facts, library))
    order = {rule.old: place for place, rule in enumerate(rules)}
    return sorted(found, key=lambda one: order[one.old])


def settled(rules: Sequence[Rule], pair: Pair, facts: Sequence[str], library: Library) -> tuple[Rule, ...]:
    """The rules without those in conflict, until none is: a rule left out can bring another into conflict.

    With a rule go those for the same name in full or for a part of it, so that nobody is named in two ways.
    """
    left = tuple(rules)
    while left and (harmful := {one.old for one in conflicts(left, pair, facts, library)}):
        while more := {rule.old for rule in left if any(_of_one_name(rule.old, one) for one in harmful)} - harmful:
            harmful |= more
        kept = tuple(rule for rule in left if rule.old not in harmful)
        assert len(kept) < len(left), f"a conflict of no rule: {harmful}"
        left = kept
    return left


def _of_one_name(keyword: str, other: str) -> bool:
    first, second = sorted((keyword.casefold(), other.casefold()), key=len)
    return first in second


def _found(rules: Sequence[Rule], pair: Pair, facts: Sequence[str], library: Library) -> Iterator[Conflict]:
    for problem in problems(sides_of(rules), pair.language):
        yield Conflict(old=problem.rule[0], kind=AMONG_RULES, excerpt=str(problem))
    readable = [rule for rule in rules if _readable(rule)]
    sides = sides_of(readable)
    if not sides:
        return
    way = replacer(sides, pair.language)
    own = BETWEEN.join((pair.question, *pair.answers, *(one.text for one in pair.documents), *facts))
    folded = own.casefold()
    for old, _ in _in_header(sides, library):
        yield Conflict(old=old, kind=HEADER, excerpt=library.header.strip())
    for old, new in met(own, sides, pair.language):
        yield Conflict(old=old, kind=STANDS, excerpt=excerpt(own, folded.find(new.casefold()), pair.language))
    for old, _ in way.unreturned(own):
        yield Conflict(old=old, kind=UNDONE, excerpt=excerpt(own, folded.find(old.casefold()), pair.language))
    for edit in way.edits(own):
        if longer_name(own, edit.start, edit.end, pair.language):
            old = _rule_of(edit.old, sides)
            yield Conflict(old=old, kind=INSIDE, excerpt=excerpt(own, edit.start, pair.language))
    for rule in readable:
        if (number := len(library.holding(rule.new))) > FREQUENT * len(library):
            yield Conflict(old=rule.old, kind=STANDS, excerpt=f"in {number:,} of {len(library):,} documents")
        if (number := len(unfit(rule, library))) > FREQUENT * len(library):
            yield Conflict(old=rule.old, kind=INSIDE, excerpt=f"in {number:,} and more of {len(library):,} documents")
    yield from _named_in_part(readable, way, own)
    yield from _unanswered(readable, way, pair)


def _in_header(sides: Sequence[tuple[str, str]], library: Library) -> list[tuple[str, str]]:
    """The rules of which a side stands in the headers of documents."""
    header = library.header.casefold()
    near = [rule for rule in sides if any(side.casefold() in header for side in rule)]
    there = occurs(library.header, [side for rule in near for side in rule], library.language) if near else frozenset()
    return [rule for rule in near if not there.isdisjoint(rule)]


def _named_in_part(rules: Sequence[Rule], way: Replacer, own: str) -> Iterator[Conflict]:
    """Rules for a person whose family name goes on to stand in the texts after replacement."""
    family_names = {rule.old: _PARTS.split(rule.old)[-1] for rule in rules}
    several = [rule for rule in rules if family_names[rule.old] != rule.old]
    people = [rule for rule in several if language_of(way.language).answer_type(rule.old) == "person"]
    applied = way.apply(own) if people else ""
    for rule in people:
        if occurs(applied, [family_names[rule.old]], way.language):
            place = applied.casefold().find(family_names[rule.old].casefold())
            yield Conflict(old=rule.old, kind=PART, excerpt=excerpt(applied, place, way.language))


def _readable(rule: Rule) -> bool:
    return readable(rule.old) and readable(rule.new)


def _rule_of(found: str, sides: Sequence[tuple[str, str]]) -> str:
    """The keyword as its rule has it."""
    folded = " ".join(found.replace("’", "'").casefold().split())
    return next((old for old, _ in sides if " ".join(old.replace("’", "'").casefold().split()) == folded), sides[0][0])


def _unanswered(rules: Sequence[Rule], way: Replacer, pair: Pair) -> Iterator[Conflict]:
    """Rules after which an answer that stood in the documents stands there no more."""
    language = language_of(pair.language)
    for answer in pair.answers:
        holding = [one.text for one in pair.documents if language.contains(one.text, answer)]
        put = way.apply(answer)
        if holding and not any(language.contains(way.apply(text), put) for text in holding):
            for rule in rules:
                if any(language.contains(text, rule.old) for text in (answer, holding[0])):
                    yield Conflict(old=rule.old, kind=FOLLOWS, excerpt=f"{answer} would be {put}")


def unfit(rule: Rule, library: Library) -> Numbers:
    """The documents in which the keyword stands inside a longer name; looked for until they are too many."""
    look_for_unfit([rule.old], library)
    return library.unfit[rule.old]


def look_for_unfit(keywords: Iterable[str], library: Library) -> None:
    """Find what `unfit` tells of many keywords in one pass over the documents that hold them."""
    wanted = sorted({one for one in keywords if readable(one)} - library.unfit.keys())
    if not wanted:
        return
    found: list[dict[int, None]] = [{} for _ in wanted]
    finder = PhraseFinder(wanted, library.language)
    holding = np.unique(np.concatenate([library.holding(one) for one in wanted])).tolist()
    for first, texts in batches([library.texts[number] for number in holding]):
        decoded = [text.decode() for text in texts]
        together = BETWEEN.join(decoded)
        ends = list(accumulate(len(text) + len(BETWEEN) for text in decoded))
        for which, start, end in finder.find(together):
            if len(found[which]) <= FREQUENT * len(library):
                number = holding[first + bisect_right(ends, start)]
                if number not in found[which] and longer_name(together, start, end, library.language):
                    found[which][number] = None
    for keyword, numbers in zip(wanted, found, strict=True):
        library.unfit[keyword] = np.fromiter(numbers, np.int64, len(numbers))


def longer_name(text: str, start: int, end: int, language: str) -> str | None:
    """The name that goes on before or after `text[start:end]`; None where there is none.

    In English, capitalised words that stand beside a capitalised keyword, but for a title before it and a
    word that opens a sentence; in Chinese, a word of which it is a part.
    """
    if language == "zh":
        return _longer_word(text, start, end)
    if not text[start:end][:1].isupper():
        return None
    after = _AFTER.match(text, end)
    if after:
        return text[start : after.end(1)]
    before = _BEFORE.search(text, max(0, start - 40), start)
    if before is None or before[1].rstrip(".").casefold() in TITLES:
        return None
    return None if _opens(text, before.start()) else text[before.start() : end]


def _opens(text: str, place: int) -> bool:
    """Whether a sentence begins at `place`."""
    left = text[:place].rstrip(" \n\t\"'“‘(")
    return not left or left[-1] in '.!?:;\n”’"' or text[:place].endswith("\n")


def _longer_word(text: str, start: int, end: int) -> str | None:
    first = max(0, start - _NEAR)
    for word, begin, finish in words(text[first : end + _NEAR]):
        if first + begin <= start and end <= first + finish and finish - begin > end - start:
            return word
    return None


def excerpt(texts: str, place: int, language: str) -> str:
    """The sentence that holds the place, in texts that stand together."""
    place = max(0, place)
    first, last = texts.rfind(BETWEEN, 0, place), texts.find(BETWEEN, place)
    begin = first + len(BETWEEN) if first >= 0 else 0
    text = texts[begin : last if last >= 0 else len(texts)]
    ends = [0, *boundaries(text, language), len(text)]
    sentence = next((text[one:other] for one, other in pairwise(ends) if one <= place - begin < other), text)
    return sentence.strip()[:_SHOWN]
