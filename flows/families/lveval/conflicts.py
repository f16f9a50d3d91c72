"""Conflicts of replacement rules (section 3.2.3), found by a program and shown to people until none is left.

This module checks the confusing facts and distractors of a pair; the conflicts with its own texts are in
`replacement_checks.py`.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np

from flows.families.lveval.distractor_index import BETWEEN, DistractorIndex, Numbers, batches
from flows.families.lveval.name_forms import is_common_word, longer_name
from flows.families.lveval.replacement_checks import INSIDE, STANDS, PairTexts, objections, remove_harmful
from flows.language.keywords import PhraseFinder, occurs, readable
from schemas.lveval import Conflict, Pair, Rule

FREQUENT = 0.03
"""Share of the documents that a rule cannot be applied to, up to which they are left out of the pair's contexts.
Above it, the rule is in conflict. A year occurs in one or two of a hundred pages of an encyclopedia."""
HEADER = "it touches the headers of documents"


def conflicts(rules: Sequence[Rule], pair: Pair, facts: Sequence[str], index: DistractorIndex) -> tuple[Conflict, ...]:
    """Return the conflicts of a pair's rules, in their order, and those that follow once other rules are left out."""
    return _resolve(rules, pair, facts, index)[1]


def usable_rules(rules: Sequence[Rule], pair: Pair, facts: Sequence[str], index: DistractorIndex) -> tuple[Rule, ...]:
    """Return the rules that have no conflict once the others are left out."""
    return _resolve(rules, pair, facts, index)[0]


def _resolve(
    rules: Sequence[Rule], pair: Pair, facts: Sequence[str], index: DistractorIndex
) -> tuple[tuple[Rule, ...], tuple[Conflict, ...]]:
    documents = tuple(document.text for document in pair.documents)
    texts = PairTexts(pair.question, pair.answers, documents, pair.language, tuple(facts))
    return remove_harmful(rules, lambda left: [*objections(left, texts), *_of_index(left, index)], pair.language)


def _of_index(rules: Sequence[Rule], index: DistractorIndex) -> Iterator[Conflict]:
    """Yield the conflicts of rules with headers and distracting documents."""
    sound = [rule for rule in rules if readable(rule.old) and readable(rule.new)]
    yield from (Conflict(old=rule.old, kind=HEADER, excerpt=index.header.strip()) for rule in _in_header(sound, index))
    for rule in sound:
        if (number := len(index.holding(rule.new))) > FREQUENT * len(index):
            where = f"{rule.new}: in {number:,} of {len(index):,} documents"
            yield Conflict(old=rule.old, kind=STANDS, excerpt=where)
        if (number := len(unfit(rule, index))) > FREQUENT * len(index):
            yield Conflict(old=rule.old, kind=INSIDE, excerpt=f"in {number:,} and more of {len(index):,} documents")


def _in_header(rules: Sequence[Rule], index: DistractorIndex) -> list[Rule]:
    """Return the rules with a side that occurs in the headers of documents."""
    header = index.header.casefold()
    near = [rule for rule in rules if any(side.casefold() in header for side in (rule.old, rule.new))]
    sides = [side for rule in near for side in (rule.old, rule.new)]
    standing = occurs(index.header, sides, index.language) if near else frozenset()
    return [rule for rule in near if not standing.isdisjoint((rule.old, rule.new))]


def unfit(rule: Rule, index: DistractorIndex) -> Numbers:
    """Return the documents in which the keyword is part of a longer name; the search stops once they are too many."""
    find_unfit([rule.old], index)
    return index.unfit[rule.old]


def find_unfit(keywords: Iterable[str], index: DistractorIndex) -> None:
    """Find what `unfit` returns for many keywords, in one pass over the documents that contain them."""
    wanted = sorted({keyword for keyword in keywords if readable(keyword)} - index.unfit.keys())
    if not wanted:
        return
    unfit_of: list[dict[int, None]] = [{} for _ in wanted]
    finder = PhraseFinder(wanted, index.language)
    holding = np.unique(np.concatenate([index.holding(keyword) for keyword in wanted])).tolist()
    for first, batch in batches([index.texts[number] for number in holding]):
        texts = [text.decode() for text in batch]
        together = BETWEEN.join(texts)
        ends = list(accumulate(len(text) + len(BETWEEN) for text in texts))
        for which, start, end in finder.find(together):
            if len(unfit_of[which]) <= FREQUENT * len(index):
                number = holding[first + bisect_right(ends, start)]
                common = index.language == "en" and is_common_word(together[start:end], wanted[which])
                if number not in unfit_of[which] and (common or longer_name(together, start, end, index.language)):
                    unfit_of[which][number] = None
    for keyword, numbers in zip(wanted, unfit_of, strict=True):
        index.unfit[keyword] = np.fromiter(numbers, np.int64, len(numbers))
