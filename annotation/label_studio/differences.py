"""The difference between two texts, with the words that changed marked."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from markupsafe import escape

CHARACTER = r"\u3040-\u30ff\u3400-\u9fff"
TOKENS = re.compile(rf"[{CHARACTER}]|[^\W{CHARACTER}]+|\s+|[^\w\s]")
"""A Chinese or Japanese character, a word, white space, or a sign."""
AROUND = 16
"""Tokens that are shown before a change and after it: about eight words."""
MOST = 120
"""Tokens that are shown of a stretch that was removed or added."""
GAP = " […] "
SPACES = "only spaces or line breaks"


@lru_cache(1024)
def marked(before: str, after: str) -> str:
    """Return what changed in a text as HTML: removed words in `del`, added ones in `ins`, and a few words around them.

    All that belongs to the texts is escaped.
    """
    if before.split() == after.split():
        return SPACES
    old, new = TOKENS.findall(before), TOKENS.findall(after)
    pieces = []
    stretches = _stretches(old, new)
    for place, (is_same, i1, i2, j1, j2) in enumerate(stretches):
        if is_same:
            # Before the first stretch and after the last one there is no change.
            head, tail = (AROUND if place else 0), (AROUND if place < len(stretches) - 1 else 0)
            pieces.append(_shortened(old[i1:i2], head, tail))
            continue
        for tag, tokens in (("del", old[i1:i2]), ("ins", new[j1:j2])):
            if tokens:
                pieces.append(f"<{tag}>{_shortened(tokens, MOST // 2, MOST // 2)}</{tag}>")
    return "".join(pieces)


def _stretches(old: Sequence[str], new: Sequence[str]) -> list[tuple[bool, int, int, int, int]]:
    """Return the stretches of two texts in turn: whether they are the same, and where they are in both.

    The common start and end are found first, since the rest takes time with the square of the length. Changes with no
    word between them are one.
    """
    least = min(len(old), len(new))
    start = next((place for place in range(least) if old[place] != new[place]), least)
    most = least - start
    end = next((place for place in range(most) if old[-1 - place] != new[-1 - place]), most)
    middle = SequenceMatcher(None, old[start : len(old) - end], new[start : len(new) - end])
    stretches = [(True, 0, start, 0, start)]
    for tag, i1, i2, j1, j2 in middle.get_opcodes():
        is_same = tag == "equal" and any(token[0].isalnum() for token in old[start + i1 : start + i2])
        stretches.append((is_same, start + i1, start + i2, start + j1, start + j2))
    stretches.append((True, len(old) - end, len(old), len(new) - end, len(new)))
    joined: list[tuple[bool, int, int, int, int]] = []
    for stretch in stretches:
        if stretch[1::2] == stretch[2::2]:
            continue  # it is empty
        if joined and joined[-1][0] == stretch[0]:
            is_same, i1, _, j1, _ = joined.pop()
            joined.append((is_same, i1, stretch[2], j1, stretch[4]))
        else:
            joined.append(stretch)
    return joined


def _shortened(tokens: Sequence[str], head: int, tail: int) -> str:
    """Return the first and the last tokens as HTML, with a gap for the rest."""
    if len(tokens) > head + tail:
        text = "".join(tokens[:head]) + GAP + "".join(tokens[len(tokens) - tail :])
    else:
        text = "".join(tokens)
    return str(escape(text)).replace("\n", "<br>")
