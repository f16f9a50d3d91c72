"""Chinese words that take each other's place: of one kind, and of one form (`sisters.tsv`)."""

import re
from collections.abc import Iterator
from functools import cache

from flows.language.tables import rows


@cache
def _groups() -> dict[str, list[str]]:
    return {word: group.split() for (group,) in reversed(rows("zh", "sisters")) for word in group.split()}


@cache
def _known() -> re.Pattern[str]:
    longest_first = sorted(_groups(), key=len, reverse=True)
    return re.compile(f"(?<![粉橙银金灰深浅淡暗青长短扁东西南北大])(?:{'|'.join(longest_first)})")


def sisters(text: str) -> Iterator[str]:
    """Yield the text with the first words that have a sister exchanged, one at a time."""
    for match in _known().finditer(text):
        group = _groups()[match[0]]
        at = group.index(match[0])
        for other in group[at + 1 :] + group[:at]:
            if other not in text:
                yield text[: match.start()] + other + text[match.end() :]
                break
