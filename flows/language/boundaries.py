"""Certain ends of sentences: places at which a text can be cut, or something inserted.

`sentences` of a language finds all sentences; here only certain ends count, so
that a place found in a whole text is also found in the rest of the text after a cut.
"""

import re

from flows.language.tables import word_list

_ABBREVIATED = word_list("en", "abbreviations")
_END_EN = re.compile(r"[.!?]+[\"'”’)\]]*(\s+)(?=[\"'“‘(\[]*[A-Z0-9])")
_LAST_WORD = re.compile(r"([^\W\d_]+)\s*$")
_END_ZH = re.compile(
    r"(?:[。！？!?…]|(?<!\d)．(?!\d))+[\"'”’」』）)》〉]*(\s*)(?=[^\s。！？!?…．\"'”’」』）)》〉，、；：])"
)
_LONGEST_ABBREVIATION = 24


def boundaries(text: str, language: str) -> list[int]:
    """The offsets in `text` at which a sentence begins after another one ends, in order.

    In English the white space between them stands before the offset. Ends after an abbreviation ("Mr.")
    or an initial ("J.", also "J .") do not count, nor do any before a word in lower case.
    """
    if language == "zh":
        return [match.end() for match in _END_ZH.finditer(text)]
    return [match.end() for match in _END_EN.finditer(text) if _ends(text, match)]


def _ends(text: str, match: re.Match[str]) -> bool:
    if match[0][0] != ".":
        return True
    before = _LAST_WORD.search(text, max(0, match.start() - _LONGEST_ABBREVIATION), match.start())
    return before is None or (len(before[1]) > 1 and before[1].lower() not in _ABBREVIATED)
