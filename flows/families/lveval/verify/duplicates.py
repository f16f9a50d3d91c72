"""Proves that no distracting document nearly repeats a supporting one."""

from collections import Counter
from collections.abc import Iterator

from flows.families.lveval.verify.case import Case
from flows.families.lveval.verify.search import DUPLICATE_FROM, SHINGLE, SearchableTexts
from flows.families.lveval.verify.texts import short, units


def duplicate_problems(case: Case, distracting: SearchableTexts) -> Iterator[str]:
    """Check that no distracting document nearly repeats a supporting one, and none stands twice."""
    times = Counter(text.strip() for text in distracting.texts)
    if not case.dataset.recalls_fact and len(times) != len(distracting.texts):
        yield f"a distracting document stands twice: {short(times.most_common(1)[0][0])}"
    for position, _ in case.of_kind("support"):
        text = case.text(position)
        for other in distracting.like(text):
            if (share := _common(text, other, case.code)) >= DUPLICATE_FROM:
                yield (
                    f"a distracting document has {share:.0%} of its shingles in common with {position.source!r}, "
                    f"expected less than {DUPLICATE_FROM:.0%}: {short(other)}"
                )


def _common(text: str, other: str, code: str) -> float:
    """Return the share of the shingles of the shorter text that the other has as well."""
    sets = [_shingles(each, code) for each in (text, other)]
    return len(sets[0] & sets[1]) / max(1, min(map(len, sets)))


def _shingles(text: str, code: str) -> frozenset[tuple[str, ...]]:
    """Return each run of so many words (characters); of a shorter text, the whole."""
    words = units(text, code)
    return frozenset(tuple(words[at : at + SHINGLE[code]]) for at in range(max(1, len(words) - SHINGLE[code] + 1)))
