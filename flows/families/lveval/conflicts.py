"""What speaks against replacement rules (section 3.2.3): found by program, shown to people, until nothing is left.

What the pair's own texts say against a rule stands in `naming.py`; here is what its facts and distractors do.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np

from flows.families.lveval.library import BETWEEN, Library, Numbers, batches
from flows.families.lveval.naming import (
    INSIDE,
    STANDS,
    Texts,
    is_common_word,
    longer_name,
    objections,
    settle,
    sides_of,
)
from flows.language.keywords import PhraseFinder, occurs, readable
from schemas.lveval import Conflict, Pair, Rule

FREQUENT = 0.03
"""Share of a dataset's documents up to which those that a rule cannot be applied to are left out of its pair's
contexts; above it, the rule is in conflict. A year stands in one or two of a hundred pages of an encyclopedia."""
HEADER = "it touches the headers of documents"


def conflicts(rules: Sequence[Rule], pair: Pair, facts: Sequence[str], library: Library) -> tuple[Conflict, ...]:
    """All that speaks against the rules of a pair, in their order; what comes about since others are left out, too."""
    return _settle(rules, pair, facts, library)[1]


def settled(rules: Sequence[Rule], pair: Pair, facts: Sequence[str], library: Library) -> tuple[Rule, ...]:
    """The rules that nothing speaks against, once the others are left out."""
    return _settle(rules, pair, facts, library)[0]


def _settle(
    rules: Sequence[Rule], pair: Pair, facts: Sequence[str], library: Library
) -> tuple[tuple[Rule, ...], tuple[Conflict, ...]]:
    documents = tuple(document.text for document in pair.documents)
    texts = Texts(pair.question, pair.answers, documents, pair.language, tuple(facts))
    return settle(rules, lambda left: [*objections(left, texts), *_of_library(left, library)], pair.language)


def _of_library(rules: Sequence[Rule], library: Library) -> Iterator[Conflict]:
    """What headers and distracting documents have against rules."""
    sound = [rule for rule in rules if readable(rule.old) and readable(rule.new)]
    for old, _ in _in_header(sides_of(sound), library):
        yield Conflict(old=old, kind=HEADER, excerpt=library.header.strip())
    for rule in sound:
        if (number := len(library.holding(rule.new))) > FREQUENT * len(library):
            yield Conflict(
                old=rule.old, kind=STANDS, excerpt=f"{rule.new}: in {number:,} of {len(library):,} documents"
            )
        if (number := len(unfit(rule, library))) > FREQUENT * len(library):
            yield Conflict(old=rule.old, kind=INSIDE, excerpt=f"in {number:,} and more of {len(library):,} documents")


def _in_header(sides: Sequence[tuple[str, str]], library: Library) -> list[tuple[str, str]]:
    """The rules of which a side stands in the headers of documents."""
    header = library.header.casefold()
    near = [rule for rule in sides if any(side.casefold() in header for side in rule)]
    there = occurs(library.header, [side for rule in near for side in rule], library.language) if near else frozenset()
    return [rule for rule in near if not there.isdisjoint(rule)]


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
                common = library.language == "en" and is_common_word(together[start:end], wanted[which])
                if number not in found[which] and (common or longer_name(together, start, end, library.language)):
                    found[which][number] = None
    for keyword, numbers in zip(wanted, found, strict=True):
        library.unfit[keyword] = np.fromiter(numbers, np.int64, len(numbers))
