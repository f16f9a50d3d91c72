"""Lines as a page breaks them, joined to paragraphs: words that were broken at a line's end become whole again."""

import re
from collections.abc import Iterable, Sequence

from data.sources.documents.document import WIDE

_SENTENCE_END = re.compile(r"""[.!?。！？…:：][”’"'」』》）)\]]*$""")
"""What a line ends with that ends a sentence. A colon ends one: what it announces may stand on lines of its own."""

_SOFT = "\u00ad\x02"
"""Hyphens that are there because a line ends, and for nothing else."""
_BROKEN = re.compile(rf"(?<![^\W\d_])([^\W\d_]+)[-\u2010{_SOFT}]$")
_FIRST = re.compile(r"[^\W\d_]+")
_HYPHENATED = re.compile(r"(?<![^\W\d_])[^\W\d_]+[-\u2010][^\W\d_]+")
_NO_SPACE = re.compile(rf"[{WIDE}]$|[-–—\u2010/]$")
_WIDE_START = re.compile(rf"[{WIDE}]")
LAST = 8
"""Characters of a line among which its sentence ends."""


def ends_sentence(line: str) -> bool:
    """Return whether a sentence ends with the line."""
    return _SENTENCE_END.search(line[-LAST:]) is not None


def hyphenated(lines: Iterable[str]) -> frozenset[str]:
    """Return the words that have a hyphen within a line, in lower case: theirs is not the line's."""
    with_hyphens = (line for line in lines if "-" in line or "\u2010" in line)
    return frozenset(word.lower() for line in with_hyphens for word in _HYPHENATED.findall(line))


def joined(lines: Sequence[str], hyphenated_words: frozenset[str]) -> str:
    """Return the lines as one.

    A word that is broken by a hyphen loses it if it goes on in lower case, unless the document has the word with a
    hyphen in the middle of a line. Between Chinese characters, and after a hyphen that stays, there is no space.
    """
    pieces = [lines[0]]
    for line in lines[1:]:
        last = pieces[-1]
        broken, first = _BROKEN.search(last), _FIRST.match(line)
        if broken and first and first[0][0].islower():
            stays = last[-1] not in _SOFT and f"{broken[1]}-{first[0]}".lower() in hyphenated_words
            pieces[-1] = last if stays else last[:-1]
        elif not _NO_SPACE.search(last) and not _WIDE_START.match(line):
            pieces.append(" ")
        pieces.append(line)
    return "".join(pieces)
