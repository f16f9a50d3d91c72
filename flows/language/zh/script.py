"""The script of a Chinese text: simplified or traditional.

It shows in the characters that only one of the two scripts uses; the most frequent of them are in
`script.tsv`.
"""

import sys
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from flows.language.tables import rows

Script = Literal["simplified", "traditional"]
_SURE = 2
"""Least ratio between the characters of the two scripts: a text may quote the other script."""


def script(text: str) -> Script | None:
    """The script of `text`; None if it is unclear: no distinctive character, or too many of either script.

    Every paragraph of the development sets with over 50 characters is recognised correctly: 1,000 of DRCD
    (traditional), 502 of CMRC and 145 of XQuAD (simplified). Of their questions, some of which are written
    alike in both, 97 % are recognised. The result means nothing for Japanese or any other language.
    """
    characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    _, simplified, traditional = np.bincount(_telling()[characters], minlength=3).tolist()
    more, fewer = max(simplified, traditional), min(simplified, traditional)
    if more == fewer or more < _SURE * fewer:
        return None
    return "simplified" if simplified > traditional else "traditional"


@cache
def _telling() -> npt.NDArray[np.uint8]:
    """Of each character: 1 where only simplified text has it, 2 where only traditional text has it, else 0."""
    telling = np.zeros(sys.maxunicode + 1, np.uint8)
    telling[[ord(simplified) for simplified, _ in rows("zh", "script")]] = 1
    telling[[ord(character) for _, traditional in rows("zh", "script") for character in traditional]] = 2
    return telling
